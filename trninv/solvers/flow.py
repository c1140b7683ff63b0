"""Maximum flow and the minimum cut that proves it, between two sets of nodes, in exact integers."""

from collections.abc import Collection

import networkx as nx

from trninv import deadline
from trninv.solvers.graph import Graph, capacities


def minimum_cut(graph: Graph, sources: Collection[int], targets: Collection[int]) -> tuple[int, set[int]]:
    """Value of the maximum flow, and the source side of a cut of that capacity.

    Parameters
    ----------
    sources, targets
        Disjoint; those that are not in the graph (what is down) carry nothing.

    Returns
    -------
    Bytes per second in one direction, and the nodes on the sources' side (Ford & Fulkerson 1956: flow = cut).

    """
    deadline.check()
    joined = Graph(graph)
    ends = []
    for nodes in (sources, targets):
        end = object()
        joined.add_node(end)
        joined.add_edges_from((end, node) for node in nodes if node in graph)  # no capacity: unlimited
        ends.append(end)
    value, (side, _) = nx.minimum_cut(joined, ends[0], ends[1])
    inside = {node for node in side if node is not ends[0]}
    crossing = sum(carries for a, b, carries in capacities(graph) if (a in inside) != (b in inside))
    if crossing != value:
        raise AssertionError(f"flow {value} is not the cut's {crossing}")
    return int(value), inside
