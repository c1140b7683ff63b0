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

from trninv.solvers.graph import Graph, capacities
from trninv.topology.torus import number, torus

Ints = NDArray[np.int64]
_GRAY: dict[int, tuple[tuple[int, ...], ...]] = {1: ((),), 2: ((0,), (1,)), 4: ((0, 0), (0, 1), (1, 1), (1, 0))}
"""Bits of a position on a ring of one, two or four nodes: neighbours differ in one."""
_MOST_FAILED = 8
"""Failed chips whose subsets are all looked at."""


@dataclass(frozen=True, slots=True)
class Cube:
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
    lost: int

    @classmethod
    def of(cls, graph: Graph, chips: Collection[int]) -> "Cube | None":
        """See the links among chips so; None if they are not what is left of such a torus.

        Parameters
        ----------
        graph
            A chip's ``position`` is its coordinates, ``sides`` those of its torus. Each axis is taken to have had the
            highest capacity that is left on it.

        """
        sides = {tuple(graph.nodes[chip].get("sides") or ()) for chip in chips}
        at = {chip: tuple(graph.nodes[chip].get("position") or ()) for chip in chips}
        shape = next(iter(sides), ())
        if len(sides) != 1 or not shape or not set(shape) <= set(_GRAY) or not all(at.values()):
            return None
        links = {(link.a, link.b): link.axis for link in torus(shape)}
        place = {chip: number(position, shape) for chip, position in at.items()}
        most = dict.fromkeys(range(len(shape)), 0)
        for a, b, carries in capacities(graph.subgraph(chips)):
            axis = links.get((min(place[a], place[b]), max(place[a], place[b])))
            if axis is None:
                return None
            most[axis] = max(most[axis], carries)
        bits = [(most[axis], axis, bit) for axis, side in enumerate(shape) for bit in range(len(_GRAY[side][0]))]
        order = sorted(bits, key=lambda each: (-each[0], each[1:]))
        weights = tuple(carries for carries, _, _ in order)
        if not _is_proven(weights):
            return None
        label = {
            chip: sum(_GRAY[shape[axis]][position[axis]][bit] << i for i, (_, axis, bit) in enumerate(order))
            for chip, position in at.items()
        }
        degree = {chip: sum(of["capacity"] for near, of in graph[chip].items() if near in label) for chip in at}
        whole = cls(weights, label, degree, 0)
        return replace(whole, lost=(whole._between(label.values(), label.values()) - sum(degree.values())) // 2)

    @property
    def method(self) -> str:
        """Why `least` holds."""
        cube = f"the {len(self.weights)}-cube that the torus is"
        return f"closed form of {cube}: no set of its chips has more links inside than an initial segment, checked"

    @property
    def is_whole(self) -> bool:
        """Whether nothing has failed."""
        return not self.lost and len(self.label) == 1 << len(self.weights)

    def least(self) -> Ints:
        """For each number of living chips a capacity that any so many of them cut at least; what they cut if whole."""
        count, failed = len(self.label), self._failed()
        cuts, inside = profile(self.weights), inside_of(self.weights)
        found = cuts[: count + 1] if not failed else self._around(cuts, failed)
        degrees = np.sort(list(self.degree.values()))
        few = np.r_[0, np.cumsum(degrees)] - 2 * inside[: count + 1]
        # the others' cut is the same one
        best = np.maximum(found - self.lost, np.maximum(few, few[::-1]))
        unit = gcd(*self.weights, *map(int, degrees)) or 1
        least: Ints = np.maximum(-(-best // unit) * unit, 0)
        return least

    def _failed(self) -> list[int]:
        return sorted(set(range(1 << len(self.weights))).difference(self.label.values()))

    def _around(self, cuts: Ints, failed: Sequence[int]) -> Ints:
        """Of the living chips in the undamaged torus.

        Let F be the failed chips and T some of them. S with T cuts no more than S does, what leads from S to the others
        of F, from the rest to T, and between T and the others; S with the others of F alike. Together that is all that
        is between F and the living, and twice what is between T and the others.
        """
        count, around = len(self.label), self._between(failed, self.label.values())
        best = np.zeros(count + 1, dtype=np.int64)
        sizes = range(len(failed) // 2 + 1) if len(failed) <= _MOST_FAILED else range(1)
        for size in sizes:
            apart = min(self._between(some, set(failed).difference(some)) for some in combinations(failed, size))
            both = cuts[size : size + count + 1] + cuts[len(failed) - size : len(failed) - size + count + 1]
            best = np.maximum(best, -((around + 2 * apart - both) // 2))
        return best

    def _between(self, some: Collection[int], others: Collection[int]) -> int:
        """What the undamaged links from numbers to others carry."""
        wanted = set(others)
        return sum(w for one in some for i, w in enumerate(self.weights) if one ^ (1 << i) in wanted)

    def orders(self) -> list[list[int]]:
        """Orders of the living chips whose beginnings are cheap to cut off: the cube's numbers, from each corner."""
        corners = range(1 << len(self.weights))
        return [sorted(self.label, key=lambda chip: self.label[chip] ^ corner) for corner in corners]


@lru_cache(maxsize=64)
def inside_of(weights: tuple[int, ...]) -> Ints:
    """e(k): the capacity inside the first k nodes of a cube, for 0 … 2^dimensions."""
    gained = [sum(w for i, w in enumerate(weights) if node >> i & 1) for node in range(1 << len(weights))]
    found: Ints = np.r_[0, np.cumsum(gained)].astype(np.int64)
    return found


def profile(weights: tuple[int, ...]) -> Ints:
    """What k nodes of an undamaged cube cut at least, for 0 … 2^dimensions."""
    inside = inside_of(weights)
    found: Ints = np.arange(len(inside)) * sum(weights) - 2 * inside
    return found


@lru_cache(maxsize=64)
def _is_proven(weights: tuple[int, ...]) -> bool:
    """Whether e(a+b) ≥ e(a) + e(b) + wₘ·b for all a ≥ b of a subcube, for each dimension m."""
    inside = inside_of(weights)
    for m, w in enumerate(weights):
        a, b = np.tril_indices((1 << m) + 1)
        if (inside[a + b] < inside[a] + inside[b] + w * b).any():
            return False
    return True
