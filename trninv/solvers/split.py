"""A split of a graph's nodes in two, with proven bounds on the best split there is."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from trninv.solvers.graph import Graph, cut_edges

NO_TARGET: Final = 2**62
"""More than any cut: the least is asked for, whatever it is."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Bounds in bytes per second, one direction; ``side`` is one side of a split that has the upper one."""

    lower: int
    upper: int
    side: frozenset[int]
    method: str

    @classmethod
    def from_side(cls, graph: Graph, side: Collection[int], method: str, lower: int | None = None) -> "Cut":
        """The split that has these nodes on one side, its links summed in integers; exact unless ``lower`` is less."""
        upper = cut_capacity(graph, side)
        return cls(upper if lower is None else min(lower, upper), upper, frozenset(side), method)


def cut_capacity(graph: Graph, side: Collection[int]) -> int:
    """What the links between a set of nodes and the rest carry."""
    return sum(graph[a][b]["capacity"] for a, b in cut_edges(graph, side))
