"""Maximum flow and the minimum cut that proves it, between two sets of nodes, in exact integers.

The method is Dinic's (Soviet Mathematics Doklady 11, 1970) with levels counted from the targets, so that the last of
them are the nodes that still lead there: the smallest targets' side of a minimum cut, whichever flow was found.
O(nodes² · edges) at worst, and next to nothing where ends have a handful of links.
"""

from collections.abc import Collection
from itertools import pairwise

from trninv import deadline
from trninv.solvers.arcs import directed_adjacency
from trninv.solvers.graph import Graph
from trninv.solvers.paths import Links

Residual = dict[int, dict[int, int]]
"""What each link may still carry, by the node it leaves and the one it reaches."""


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
    value, source_side = minimum_cut_directed(
        directed_adjacency(graph.nodes, dict(graph.adjacency())).successors, sources, targets
    )
    return value, source_side.intersection(graph)


def minimum_cut_directed(links: Links, sources: Collection[int], targets: Collection[int]) -> tuple[int, set[int]]:
    """The same of links by the node they lead on from, which may lead one way only."""
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
    """Hops to the nearest target over what may still be carried, from where there is a way."""
    queue = [node for node in targets if node in residual]
    levels = dict.fromkeys(queue, 0)
    for node in queue:  # it grows
        for neighbor in residual[node]:
            if neighbor not in levels and residual[neighbor][node]:
                levels[neighbor] = levels[node] + 1
                queue.append(neighbor)
    return levels


def _blocking_flow(residual: Residual, levels: dict[int, int], starts: Collection[int]) -> int:
    """Send what goes down the levels until every such way has a full link; returns how much."""
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
            elif not next_nodes[node]:  # nothing goes on from here
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
