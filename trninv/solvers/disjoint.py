"""Paths that share no link, or no node but their ends."""

from collections.abc import Collection

import networkx as nx

from trninv.solvers.paths import Links, NodePath


def disjoint(
    links: Links, sources: Collection[int], targets: Collection[int], *, nodes: bool, most: int
) -> list[NodePath]:
    """Up to ``most`` paths that share no link, or no node but their ends; of the least total length.

    Ends of several nodes are joined, so that paths may begin and end at different ones. A flow of least cost over unit
    capacities (Menger 1927; Suurballe, Networks 4, 1974).
    """
    ends = frozenset(sources) & links.keys(), frozenset(targets) & links.keys()
    if not all(ends) or ends[0] & ends[1]:
        return []
    outer = ends[0] | ends[1]
    graph: nx.DiGraph[object] = nx.DiGraph()
    for node, near in links.items():
        if node not in outer:
            graph.add_edge((node, "in"), (node, "out"), weight=0, **({"capacity": 1} if nodes else {}))
        for other in near:
            if node not in ends[1] and other not in ends[0]:
                leaves = node if node in outer else (node, "out")
                graph.add_edge(leaves, other if other in outer else (other, "in"), capacity=1, weight=1)
    graph.add_edges_from(("source", node, {"weight": 0}) for node in ends[0])
    graph.add_edges_from((node, "target", {"weight": 0}) for node in ends[1])
    graph.add_edge("most", "source", capacity=most, weight=0)
    flow = nx.max_flow_min_cost(graph, "most", "target")
    found = []
    while any(flow["source"].values()):
        walk: list[object] = ["source"]
        while walk[-1] != "target":
            onward = min((node for node, units in flow[walk[-1]].items() if units), key=str)
            flow[walk[-1]][onward] -= 1
            walk.append(onward)
        whole = (step[0] if isinstance(step, tuple) else step for step in walk[1:-1])
        found.append(tuple(dict.fromkeys(int(str(node)) for node in whole)))
    return sorted(found, key=lambda path: (len(path), path))
