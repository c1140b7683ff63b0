"""Compute maximum flows and minimum cuts between sets of nodes (Dinic), in exact integers.

The method is Dinic's (Soviet Mathematics Doklady 11, 1970), with levels counted from the targets. When no source has a
level any more, the nodes that have one are the smallest target side of a minimum cut, whichever maximum flow was found.
The worst case is O(V²·E); between chips with a few links each it takes few rounds.
"""

from collections.abc import Collection
from itertools import pairwise

from trninv import deadline
from trninv.solvers.arcs import directed_adjacency
from trninv.solvers.graph import Graph
from trninv.solvers.paths import Links

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
        raise AssertionError(f"flow {value} is not the cut's {crossing}")
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
