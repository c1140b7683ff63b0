"""Compute maximum flows, minimum cuts (Dinic), Gomory-Hu trees and disjoint paths in exact integers.

The method is Dinic's (Soviet Mathematics Doklady 11, 1970), with levels counted from the targets. When no source has a
level any more, the nodes that have one are the smallest target side of a minimum cut, whichever maximum flow was found.
The worst case is O(V²·E); between chips with a few links each it takes few rounds.

The maximum flow of two nodes is the least weight on the tree's path between them.
"""

from collections.abc import Collection
from itertools import pairwise

import networkx as nx

from trninv import deadline
from trninv.solvers.adjacency import Links, directed_adjacency
from trninv.solvers.graph import Graph
from trninv.solvers.shortest_paths import NodePath

Residual = dict[int, dict[int, int]]
"""Residual capacity of each link, by the node it leaves and the one it reaches."""


def minimum_cut(graph: Graph, sources: Collection[int], targets: Collection[int]) -> tuple[int, set[int]]:
    """Return the value of a maximum flow and the source side of a minimum cut (Dinic 1970); O(V²·E).

    Both have the same capacity (Ford & Fulkerson 1956), which is checked.

    Parameters
    ----------
    sources, targets
        Disjoint. Nodes that are not in the graph, as failed ones, carry nothing.

    Returns
    -------
    Bytes per second in one direction, and the nodes on the sources' side.

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> minimum_cut(graph, [1], [3])
    (30, {1, 2})

    """
    value, source_side = minimum_cut_directed(
        directed_adjacency(graph.nodes, dict(graph.adjacency())).successors, sources, targets
    )
    return value, source_side.intersection(graph)


def minimum_cut_directed(links: Links, sources: Collection[int], targets: Collection[int]) -> tuple[int, set[int]]:
    """Return the same for directed links, by the node they leave (Dinic 1970); O(V²·E).

    Examples
    --------
    >>> wide, narrow = {"capacity": 30}, {"capacity": 10}
    >>> links = {1: {2: wide, 4: narrow}, 2: {3: wide}, 3: {}, 4: {3: wide}}
    >>> minimum_cut_directed(links, [1], [3])
    (40, {1, 2})
    >>> minimum_cut_directed(links, [3], [1])
    (0, {2, 3, 4})

    """
    residual = {
        node: {neighbor: link["capacity"] for neighbor, link in successors.items()}
        for node, successors in links.items()
    }
    for node, successors in links.items():
        for neighbor in successors:
            residual[neighbor].setdefault(node, 0)
    starts = [node for node in sources if node in residual]
    value = 0
    while True:
        deadline.raise_if_expired()
        levels = _levels(residual, targets)
        if levels.keys().isdisjoint(starts):
            break
        value += _blocking_flow(residual, levels, starts)
    source_side = residual.keys() - levels.keys()
    crossing = sum(link["capacity"] for a in source_side for b, link in links[a].items() if b not in source_side)
    if crossing != value:
        raise AssertionError(f"the maximum flow is {value}, but its minimum cut carries {crossing}")
    return value, set(source_side)


def _levels(residual: Residual, targets: Collection[int]) -> dict[int, int]:
    """Return the hops to the nearest target in the residual graph, for each node that reaches one."""
    queue = [node for node in targets if node in residual]
    levels = dict.fromkeys(queue, 0)
    for node in queue:  # the loop appends to it
        for neighbor in residual[node]:
            if neighbor not in levels and residual[neighbor][node]:
                levels[neighbor] = levels[node] + 1
                queue.append(neighbor)
    return levels


def _blocking_flow(residual: Residual, levels: dict[int, int], starts: Collection[int]) -> int:
    """Saturate a link on every path down the levels and return the flow that this sends."""
    next_nodes = {
        node: [neighbor for neighbor in residual[node] if levels.get(neighbor) == level - 1]
        for node, level in levels.items()
    }
    sent = 0
    for start in starts:
        path = [start]
        while start in levels:
            node = path[-1]
            if not levels[node]:
                sent += _send(residual, path)
                path = [start]
            elif not next_nodes[node]:  # a dead end: retreat and do not come back
                if len(path) == 1:
                    break
                path.pop()
                next_nodes[path[-1]].pop()
            elif residual[node][next_nodes[node][-1]]:
                path.append(next_nodes[node][-1])
            else:
                next_nodes[node].pop()
    return sent


def _send(residual: Residual, path: list[int]) -> int:
    bottleneck = min(residual[a][b] for a, b in pairwise(path))
    for a, b in pairwise(path):
        residual[a][b] -= bottleneck
        residual[b][a] += bottleneck
    return bottleneck


def gomory_hu_tree(graph: Graph) -> Graph:
    """Return a graph's Gomory-Hu tree (1961), its components joined by edges of weight 0; V - 1 maximum flows.

    Examples
    --------
    Two separate links, so that pairs across them have no flow:

    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (3, 4, 20)], weight="capacity")
    >>> list(gomory_hu_tree(graph).edges(data="weight"))
    [(1, 2, 30), (1, 3, 0), (3, 4, 20)]

    """
    parts = [Graph(graph.subgraph(part)) for part in sorted(nx.connected_components(graph), key=min)]
    tree = Graph()
    tree.add_nodes_from(graph)
    for part in parts:
        tree.add_weighted_edges_from(nx.gomory_hu_tree(part).edges(data="weight"))
    tree.add_weighted_edges_from((min(parts[0]), min(part), 0) for part in parts[1:])
    return tree


def minimum_edge(tree: Graph, endpoints: set[int]) -> tuple[int, set[int]]:
    """Return the maximum flow of the worst connected pair of endpoints and one side of their cut; O(V²).

    It is the lightest edge of a Gomory-Hu tree that separates endpoints. Without a pair the result is 0 and all nodes.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> minimum_edge(gomory_hu_tree(graph), {1, 2, 3, 4})
    (30, {1, 2})

    """
    edges: list[tuple[int, int, int]] = list(tree.edges(data="weight"))
    for a, b, weight in sorted(edges, key=lambda edge: (edge[2], edge[:2])):
        rest = tree.copy()
        rest.remove_edge(a, b)
        side = nx.node_connected_component(rest, a)
        if side & endpoints and endpoints - side:
            return int(weight), side
    return 0, set(tree)


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


def set_to_set_flow(graph: Graph, senders: Collection[int], receivers: Collection[int]) -> int:
    """Return the maximum flow from one set of nodes to another in bytes per second (Dinic 1970); O(V²·E).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> set_to_set_flow(graph, [1, 2], [3, 4])
    30

    """
    return minimum_cut(graph, senders, receivers)[0] if senders else 0
