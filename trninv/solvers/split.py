"""Represent a split of a graph's nodes in two, with proven bounds on the least cut."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from trninv.solvers.graph import Graph, cut_edges

NO_TARGET: Final = 2**62
"""More than any cut carries: the search goes on until the least cut is proven."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Bounds on a least cut in bytes per second, one direction; ``side`` is a side of a cut that attains ``upper``."""

    lower: int
    upper: int
    side: frozenset[int]
    method: str

    @classmethod
    def from_side(cls, graph: Graph, side: Collection[int], method: str, lower: int | None = None) -> "Cut":
        """Build the cut with these nodes on one side, its links summed in integers; exact unless ``lower`` is less."""
        upper = cut_capacity(graph, side)
        return cls(upper if lower is None else min(lower, upper), upper, frozenset(side), method)


def cut_capacity(graph: Graph, side: Collection[int]) -> int:
    """Return the capacity of the links between a set of nodes and the rest; O(links of the side and of its NICs).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> cut_capacity(graph, [1, 2])
    30

    """
    return sum(graph[a][b]["capacity"] for a, b in cut_edges(graph, side))
