"""How far a set of nodes reaches: hops and widest path to every node, and what a set can deliver at once."""

from collections.abc import Collection

import networkx as nx

from trninv.solvers.flow import minimum_cut
from trninv.solvers.graph import Graph
from trninv.solvers.toward import widths


def hops_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Links to the nearest source, for every node that can be reached."""
    layers = nx.bfs_layers(graph, [node for node in sources if node in graph])
    return {node: hops for hops, layer in enumerate(layers) for node in layer}


def widest_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Capacity of the widest path from any source, for every other node that can be reached."""
    return widths(dict(graph.adjacency()), [node for node in sources if node in graph])


def delivery(graph: Graph, senders: Collection[int], receivers: Collection[int]) -> int:
    """Bytes per second that one set of nodes can send into another at once."""
    return minimum_cut(graph, senders, receivers)[0] if senders else 0
