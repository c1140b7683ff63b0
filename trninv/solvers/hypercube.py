"""Tori of sides two and four as hypercubes: what k of their chips must cut, undamaged in closed form.

A ring of four is the square, so each axis of side four gives two dimensions of its links' capacity and a 4×4×4 torus is
the 6-cube. Sort the dimensions by capacity, w₁ ≥ … ≥ wₘ, the heaviest as the lowest bit, and let e(k) be the capacity
inside the first k numbers: e(0) = 0, e(k+1) = e(k) + Σ wᵢ over the set bits i of k. Then no k nodes have more inside:

    The lightest dimension m parts a set into a ≥ b nodes of two subcubes. By induction at most e(a) + e(b) + wₘ·b is
    inside, and that is at most e(a+b) — a finite check, made for each set of capacities that is used (`_is_proven`).

So k nodes cut at least k·Σw - 2·e(k), which the first k attain. (For equal capacities: Harper, SIAM Journal 12, 1964;
Hart, Discrete Mathematics 14, 1976.)
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import gcd

import numpy as np
from numpy.typing import NDArray

from trninv.solvers.graph import Graph, weighted_edges
from trninv.topology.torus import node_number, torus_links

Ints = NDArray[np.int64]
_GRAY_CODE: dict[int, tuple[tuple[int, ...], ...]] = {1: ((),), 2: ((0,), (1,)), 4: ((0, 0), (0, 1), (1, 1), (1, 0))}
"""Bits of a position on a ring of one, two or four nodes: neighbours differ in one."""
_MAX_FAILED = 8
"""Failed chips whose subsets are all looked at."""


@dataclass(frozen=True, slots=True)
class PartialHypercube:
    """What is left of a torus of sides two and four.

    Attributes
    ----------
    weights
        Capacity of each dimension, the heaviest first, before anything failed.
    label
        The living chips, by their numbers in the cube.
    degree
        What each of them still carries to the others, by chip.
    lost
        What links between living chips carry less than before.

    """

    weights: tuple[int, ...]
    label: Mapping[int, int]
    degree: Mapping[int, int]
    lost_capacity: int

    @classmethod
    def from_graph(cls, graph: Graph, chips: Collection[int]) -> "PartialHypercube | None":
        """See the links among chips so; None if they are not what is left of such a torus.

        Parameters
        ----------
        graph
            A chip's ``position`` is its coordinates, ``sides`` those of its torus. Each axis is taken to have had the
            highest capacity that is left on it.

        """
        sides = {tuple(graph.nodes[chip].get("sides") or ()) for chip in chips}
        positions = {chip: tuple(graph.nodes[chip].get("position") or ()) for chip in chips}
        shape = next(iter(sides), ())
        if len(sides) != 1 or not shape or not set(shape) <= set(_GRAY_CODE) or not all(positions.values()):
            return None
        links = {(link.a, link.b): link.axis for link in torus_links(shape)}
        number_of = {chip: node_number(position, shape) for chip, position in positions.items()}
        axis_capacity = dict.fromkeys(range(len(shape)), 0)
        for a, b, capacity in weighted_edges(graph.subgraph(chips)):
            axis = links.get((min(number_of[a], number_of[b]), max(number_of[a], number_of[b])))
            if axis is None:
                return None
            axis_capacity[axis] = max(axis_capacity[axis], capacity)
        bits = [
            (axis_capacity[axis], axis, bit)
            for axis, side in enumerate(shape)
            for bit in range(len(_GRAY_CODE[side][0]))
        ]
        order = sorted(bits, key=lambda each: (-each[0], each[1:]))
        weights = tuple(capacity for capacity, _, _ in order)
        if not _is_proven(weights):
            return None
        label = {
            chip: sum(_GRAY_CODE[shape[axis]][position[axis]][bit] << i for i, (_, axis, bit) in enumerate(order))
            for chip, position in positions.items()
        }
        degree = {
            chip: sum(edge["capacity"] for neighbor, edge in graph[chip].items() if neighbor in label)
            for chip in positions
        }
        whole = cls(weights, label, degree, 0)
        return replace(
            whole, lost_capacity=(whole._capacity_between(label.values(), label.values()) - sum(degree.values())) // 2
        )

    @property
    def method(self) -> str:
        """Why `least` holds."""
        cube = f"the {len(self.weights)}-cube that the torus is"
        return f"closed form of {cube}: no set of its chips has more links inside than an initial segment, checked"

    @property
    def is_whole(self) -> bool:
        """Whether nothing has failed."""
        return not self.lost_capacity and len(self.label) == 1 << len(self.weights)

    def lower_bounds(self) -> Ints:
        """For each number of living chips a capacity that any so many of them cut at least; what they cut if whole."""
        count, failed_labels = len(self.label), self._failed_labels()
        cuts, inner_capacity = hypercube_profile(self.weights), induced_capacity(self.weights)
        undamaged = cuts[: count + 1] if not failed_labels else self._bounds_around_failures(cuts, failed_labels)
        degrees = np.sort(list(self.degree.values()))
        by_degree = np.r_[0, np.cumsum(degrees)] - 2 * inner_capacity[: count + 1]
        # the others' cut is the same one
        bounds = np.maximum(undamaged - self.lost_capacity, np.maximum(by_degree, by_degree[::-1]))
        unit = gcd(*self.weights, *map(int, degrees)) or 1
        rounded: Ints = np.maximum(-(-bounds // unit) * unit, 0)
        return rounded

    def _failed_labels(self) -> list[int]:
        return sorted(set(range(1 << len(self.weights))).difference(self.label.values()))

    def _bounds_around_failures(self, cuts: Ints, failed_labels: Sequence[int]) -> Ints:
        """Of the living chips in the undamaged torus.

        Let F be the failed chips and T some of them. S with T cuts no more than S does, what leads from S to the others
        of F, from the rest to T, and between T and the others; S with the others of F alike. Together that is all that
        is between F and the living, and twice what is between T and the others.
        """
        count, boundary = len(self.label), self._capacity_between(failed_labels, self.label.values())
        best = np.zeros(count + 1, dtype=np.int64)
        sizes = range(len(failed_labels) // 2 + 1) if len(failed_labels) <= _MAX_FAILED else range(1)
        for size in sizes:
            separation = min(
                self._capacity_between(subset, set(failed_labels).difference(subset))
                for subset in combinations(failed_labels, size)
            )
            cut_sums = (
                cuts[size : size + count + 1] + cuts[len(failed_labels) - size : len(failed_labels) - size + count + 1]
            )
            best = np.maximum(best, -((boundary + 2 * separation - cut_sums) // 2))
        return best

    def _capacity_between(self, labels: Collection[int], others: Collection[int]) -> int:
        """What the undamaged links from numbers to others carry."""
        other_labels = set(others)
        return sum(w for label in labels for i, w in enumerate(self.weights) if label ^ (1 << i) in other_labels)

    def orders(self) -> list[list[int]]:
        """Orders of the living chips whose beginnings are cheap to cut off: the cube's numbers, from each corner."""
        corners = range(1 << len(self.weights))
        return [sorted(self.label, key=lambda chip: self.label[chip] ^ corner) for corner in corners]


@lru_cache(maxsize=64)
def induced_capacity(weights: tuple[int, ...]) -> Ints:
    """e(k): the capacity inside the first k nodes of a cube, for 0 … 2^dimensions."""
    capacity_gains = [sum(w for i, w in enumerate(weights) if node >> i & 1) for node in range(1 << len(weights))]
    totals: Ints = np.r_[0, np.cumsum(capacity_gains)].astype(np.int64)
    return totals


def hypercube_profile(weights: tuple[int, ...]) -> Ints:
    """What k nodes of an undamaged cube cut at least, for 0 … 2^dimensions."""
    inner_capacity = induced_capacity(weights)
    cuts: Ints = np.arange(len(inner_capacity)) * sum(weights) - 2 * inner_capacity
    return cuts


@lru_cache(maxsize=64)
def _is_proven(weights: tuple[int, ...]) -> bool:
    """Whether e(a+b) ≥ e(a) + e(b) + wₘ·b for all a ≥ b of a subcube, for each dimension m."""
    inner_capacity = induced_capacity(weights)
    for m, w in enumerate(weights):
        a, b = np.tril_indices((1 << m) + 1)
        if (inner_capacity[a + b] < inner_capacity[a] + inner_capacity[b] + w * b).any():
            return False
    return True
