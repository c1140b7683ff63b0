"""The graph that solvers take: a networkx graph of node ids whose links have an integer ``capacity``."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx

if TYPE_CHECKING:
    Graph = nx.Graph[Any]
else:
    Graph = nx.Graph


def capacities(graph: Graph) -> list[tuple[int, int, int]]:
    """Both ends of every link, and what it carries in one direction."""
    return [(a, b, link["capacity"]) for a, b, link in graph.edges(data=True)]


def cut(graph: Graph, side: Collection[int]) -> Iterator[tuple[int, int]]:
    """The links between a set of nodes and all the others, by their ends."""
    inside = set(side)
    return ((a, b) for a, b in graph.edges if (a in inside) != (b in inside))
