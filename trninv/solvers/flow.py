"""Maximum flow and the minimum cut that proves it, between two sets of nodes, in exact integers.

The method is Dinic's (Soviet Mathematics Doklady 11, 1970) with levels counted from the targets, so that the last of
them are the nodes that still lead there: the smallest targets' side of a minimum cut, whichever flow was found.
O(nodes² · edges) at worst, and next to nothing where ends have a handful of links.
"""

from collections.abc import Collection
from itertools import pairwise

from trninv import deadline
from trninv.solvers.arcs import arcs
from trninv.solvers.graph import Graph
from trninv.solvers.paths import Links

Left = dict[int, dict[int, int]]
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
    value, side = least_cut(arcs(graph.nodes, dict(graph.adjacency())).ahead, sources, targets)
    return value, side.intersection(graph)


def least_cut(links: Links, sources: Collection[int], targets: Collection[int]) -> tuple[int, set[int]]:
    """The same of links by the node they lead on from, which may lead one way only."""
    left = {node: {near: of["capacity"] for near, of in ahead.items()} for node, ahead in links.items()}
    for node, ahead in links.items():
        for near in ahead:
            left[near].setdefault(node, 0)
    starts = [node for node in sources if node in left]
    value = 0
    while True:
        deadline.check()
        levels = _levels(left, targets)
        if levels.keys().isdisjoint(starts):
            break
        value += _blocking_flow(left, levels, starts)
    inside = left.keys() - levels.keys()
    crossing = sum(of["capacity"] for a in inside for b, of in links[a].items() if b not in inside)
    if crossing != value:
        raise AssertionError(f"flow {value} is not the cut's {crossing}")
    return value, set(inside)


def _levels(left: Left, targets: Collection[int]) -> dict[int, int]:
    """Hops to the nearest target over what may still be carried, from where there is a way."""
    ring = [node for node in targets if node in left]
    levels = dict.fromkeys(ring, 0)
    for node in ring:  # it grows
        for near in left[node]:
            if near not in levels and left[near][node]:
                levels[near] = levels[node] + 1
                ring.append(near)
    return levels


def _blocking_flow(left: Left, levels: dict[int, int], starts: Collection[int]) -> int:
    """Send what goes down the levels until every such way has a full link; returns how much."""
    ahead = {node: [near for near in left[node] if levels.get(near) == level - 1] for node, level in levels.items()}
    sent = 0
    for start in starts:
        path = [start]
        while start in levels:
            node = path[-1]
            if not levels[node]:
                sent += _send(left, path)
                path = [start]
            elif not ahead[node]:  # nothing goes on from here
                if len(path) == 1:
                    break
                path.pop()
                ahead[path[-1]].pop()
            elif left[node][ahead[node][-1]]:
                path.append(ahead[node][-1])
            else:
                ahead[node].pop()
    return sent


def _send(left: Left, path: list[int]) -> int:
    most = min(left[a][b] for a, b in pairwise(path))
    for a, b in pairwise(path):
        left[a][b] -= most
        left[b][a] += most
    return most
