"""A `trninv.routing.wiring.Wiring` as a networkx graph: its nodes and edges have the same attributes."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import networkx as nx

from trninv.routing.results import LinkRef
from trninv.routing.wiring import link_ref

if TYPE_CHECKING:
    Graph = nx.Graph[Any]
else:
    Graph = nx.Graph


def capacities(graph: Graph) -> list[tuple[int, int, int]]:
    """Both ends of every edge, and what it carries in one direction."""
    return [(a, b, edge["capacity"]) for a, b, edge in graph.edges(data=True)]


def cut_links(graph: Graph, side: Collection[int]) -> tuple[LinkRef, ...]:
    """Links between a set of nodes and the rest, by id."""
    inside = set(side)
    crossing = (link_ref(graph.nodes, graph.adj, a, b) for a, b in graph.edges if (a in inside) != (b in inside))
    return tuple(sorted(crossing, key=lambda link: link.id))
