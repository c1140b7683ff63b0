"""Bound the cuts of tori of sides two and four, in closed form as hypercubes.

A ring of four is a square, so each axis of side four gives two dimensions of its links' capacity and a 4×4×4 torus is
the 6-cube. Sort the dimensions by capacity, w₁ ≥ … ≥ wₘ, the heaviest as the lowest bit, and let e(k) be the capacity
between the first k nodes: e(0) = 0, e(k+1) = e(k) + Σ wᵢ over the set bits i of k. No k nodes have more between them:

    The lightest dimension m divides a set into a ≥ b nodes of two subcubes. By induction at most e(a) + e(b) + wₘ·b is
    between them, and that is at most e(a+b): a finite check, made for each set of capacities in use (`_is_proven`).

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
"""Bits of a position on a ring of one, two or four nodes: neighbours differ in one bit (a Gray code)."""
_MAX_FAILED = 8
"""Limit of failed chips of which all subsets are tried."""


@dataclass(frozen=True, slots=True)
class PartialHypercube:
    """A torus of sides two and four, some of whose chips and links may have failed.

    Attributes
    ----------
    weights
        Capacity of each dimension before any failure, the heaviest first.
    label
        Number in the cube of each healthy chip.
    degree
        Capacity of each healthy chip to the others.
    lost_capacity
        Capacity that the links between healthy chips have lost.

    """

    weights: tuple[int, ...]
    label: Mapping[int, int]
    degree: Mapping[int, int]
    lost_capacity: int

    @classmethod
    def from_graph(cls, graph: Graph, chips: Collection[int]) -> "PartialHypercube | None":
        """Build it from the links between chips; None if these are not part of such a torus.

        Parameters
        ----------
        graph
            A chip's ``position`` holds its coordinates, ``sides`` those of its torus. Each axis is assumed to have had
            the highest capacity that remains on it.

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
        order = sorted(bits, key=lambda bit_key: (-bit_key[0], bit_key[1:]))
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
        """Why `lower_bounds` holds."""
        cube = f"the {len(self.weights)}-cube that the torus is"
        return f"closed form of {cube}: no set of its chips has more links inside than an initial segment, checked"

    @property
    def is_whole(self) -> bool:
        """Whether nothing has failed."""
        return not self.lost_capacity and len(self.label) == 1 << len(self.weights)

    def lower_bounds(self) -> Ints:
        """Return, for each number of healthy chips, a lower bound on their cut; exact if nothing has failed."""
        count, failed_labels = len(self.label), self._failed_labels()
        cuts, inner_capacity = hypercube_profile(self.weights), induced_capacity(self.weights)
        undamaged = cuts[: count + 1] if not failed_labels else self._bounds_around_failures(cuts, failed_labels)
        degrees = np.sort(list(self.degree.values()))
        by_degree = np.r_[0, np.cumsum(degrees)] - 2 * inner_capacity[: count + 1]
        # k chips and the other n - k have the same cut, so either bound holds for both
        bounds = np.maximum(undamaged - self.lost_capacity, np.maximum(by_degree, by_degree[::-1]))
        unit = gcd(*self.weights, *map(int, degrees)) or 1
        rounded: Ints = np.maximum(-(-bounds // unit) * unit, 0)
        return rounded

    def _failed_labels(self) -> list[int]:
        return sorted(set(range(1 << len(self.weights))).difference(self.label.values()))

    def _bounds_around_failures(self, cuts: Ints, failed_labels: Sequence[int]) -> Ints:
        """Bound the cuts of the healthy chips with the links that they had in the undamaged torus.

        Let F be the failed chips and T a subset. S ∪ T cuts at most the cut of S plus the links from S to F∖T, from the
        other healthy chips to T, and between T and F∖T; the same holds for S ∪ (F∖T) with T and F∖T exchanged. The sum
        of both is twice the cut of S plus all links between F and the healthy chips plus twice those between T and F∖T.
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
        """Return the capacity of the undamaged links between two sets of cube numbers."""
        other_labels = set(others)
        return sum(w for label in labels for i, w in enumerate(self.weights) if label ^ (1 << i) in other_labels)

    def orders(self) -> list[list[int]]:
        """Return orders of the healthy chips whose prefixes are cheap to cut off: cube numbers from each corner."""
        corners = range(1 << len(self.weights))
        return [sorted(self.label, key=lambda chip: self.label[chip] ^ corner) for corner in corners]


@lru_cache(maxsize=64)
def induced_capacity(weights: tuple[int, ...]) -> Ints:
    """Return e(k), the capacity between the first k nodes of a cube, for k = 0 … 2^dimensions (Harper 1964).

    O(dimensions · 2^dimensions).

    Examples
    --------
    A square with links of 3 along one dimension and 1 along the other: nodes 0 and 1 share a 3.

    >>> induced_capacity((3, 1)).tolist()
    [0, 0, 3, 4, 8]

    """
    capacity_gains = [sum(w for i, w in enumerate(weights) if node >> i & 1) for node in range(1 << len(weights))]
    totals: Ints = np.r_[0, np.cumsum(capacity_gains)].astype(np.int64)
    return totals


def hypercube_profile(weights: tuple[int, ...]) -> Ints:
    """Return the least cut of k nodes of an undamaged cube, k·Σw - 2·e(k), for k = 0 … 2^dimensions (Harper 1964).

    O(dimensions · 2^dimensions).

    Examples
    --------
    >>> hypercube_profile((3, 1)).tolist()
    [0, 4, 2, 4, 0]

    """
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
