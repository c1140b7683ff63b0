"""Find paths that share no link, or no node except their ends."""

from collections.abc import Collection

import networkx as nx

from trninv.solvers.paths import Links, NodePath


def disjoint_paths(
    links: Links, sources: Collection[int], targets: Collection[int], *, by_node: bool, max_paths: int
) -> list[NodePath]:
    """Return up to ``max_paths`` paths that share no link, or no node except their ends, of least total length.

    A minimum-cost flow over unit capacities (Menger 1927; Suurballe, Networks 4, 1974). Sources are joined and so are
    targets, so paths may begin and end at different ones. One maximum flow, O(V²·√E), and one network simplex.

    Parameters
    ----------
    by_node
        Whether paths share no node, instead of no link.

    Examples
    --------
    The two ways around a ring of four:

    >>> links = {1: [2, 4], 2: [1, 3], 3: [2, 4], 4: [3, 1]}
    >>> disjoint_paths({a: {b: {} for b in ends} for a, ends in links.items()}, [1], [3], by_node=True, max_paths=9)
    [(1, 2, 3), (1, 4, 3)]

    """
    end_sets = frozenset(sources) & links.keys(), frozenset(targets) & links.keys()
    if not all(end_sets) or end_sets[0] & end_sets[1]:
        return []
    outer = end_sets[0] | end_sets[1]
    graph: nx.DiGraph[object] = nx.DiGraph()
    for node, neighbors in links.items():
        if node not in outer:
            graph.add_edge((node, "in"), (node, "out"), weight=0, **({"capacity": 1} if by_node else {}))
        for neighbor in neighbors:
            if node not in end_sets[1] and neighbor not in end_sets[0]:
                exit_node = node if node in outer else (node, "out")
                graph.add_edge(exit_node, neighbor if neighbor in outer else (neighbor, "in"), capacity=1, weight=1)
    graph.add_edges_from(("source", node, {"weight": 0}) for node in end_sets[0])
    graph.add_edges_from((node, "target", {"weight": 0}) for node in end_sets[1])
    graph.add_edge("most", "source", capacity=max_paths, weight=0)
    flow = nx.max_flow_min_cost(graph, "most", "target")
    paths = []
    while any(flow["source"].values()):
        walk: list[object] = ["source"]
        while walk[-1] != "target":
            next_node = min((node for node, units in flow[walk[-1]].items() if units), key=str)
            flow[walk[-1]][next_node] -= 1
            walk.append(next_node)
        nodes_of_walk = (step[0] if isinstance(step, tuple) else step for step in walk[1:-1])
        paths.append(tuple(dict.fromkeys(int(str(node)) for node in nodes_of_walk)))
    return sorted(paths, key=lambda path: (len(path), path))
