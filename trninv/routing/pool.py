"""How far a place reaches: hops and widest path to every node, and what a set can deliver into it at once."""

from collections.abc import Collection

import networkx as nx

from trninv.routing.flow import minimum_cut
from trninv.routing.graph import Graph, capacities


def hops_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Links to the nearest source, for every node that can be reached."""
    layers = nx.bfs_layers(graph, [node for node in sources if node in graph])
    return {node: hops for hops, layer in enumerate(layers) for node in layer}


def widest_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Capacity of the widest path from any source, for every other node that can be reached."""
    widest: dict[int, int] = {}
    for floor in sorted({carries for _, _, carries in capacities(graph)}, reverse=True):
        wide = Graph([(a, b) for a, b, carries in capacities(graph) if carries >= floor])
        for node in hops_from(wide, sources).keys() - set(sources):
            widest.setdefault(node, floor)
    return widest


def delivery(graph: Graph, ring: Collection[int], place: Collection[int]) -> int:
    """Bytes per second that a ring of chips can send into a place at once."""
    return minimum_cut(graph, ring, place)[0] if ring else 0
