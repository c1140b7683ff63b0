"""Arrange the hubs of a fabric as a tree, for the bisection of a cluster (`trninv.solvers.quotient`).

A hub is a group of network nodes joined by uplinks that carry at least the capacity of all links below them. A least
cut need not cut such an uplink, because moving the network node below it to the other side costs no more. A narrower
uplink may be cut, so it is a link between two hubs. The domains below the hubs are islands (`trninv.solvers.islands`).
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import networkx as nx

from trninv.solvers.graph import Graph
from trninv.solvers.share_selection import Hub


class NarrowUplink(NamedTuple):
    """A link between two hubs that carries less than the links below it; ``link`` is the link's id."""

    link: int
    ends: tuple[int, int]
    capacity: int


def group_connected(nodes: Collection[int], links: Collection[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components of some nodes, largest first; breadth-first search, O(V·log V + E).

    Examples
    --------
    >>> group_connected([1, 2, 3, 4], [(4, 2), (2, 3)])
    [[2, 3, 4], [1]]

    """
    graph = Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(links)
    return sorted(map(sorted, nx.connected_components(graph)), key=lambda group: (-len(group), group))


def connected_islands(hubs_by_island: Sequence[Collection[int]], narrow: Sequence[NarrowUplink]) -> list[list[int]]:
    """Group islands that are connected through hubs and links between hubs.

    Breadth-first search, O(islands·hubs + uplinks).

    Parameters
    ----------
    hubs_by_island
        The hubs above each island. An island's index in this sequence identifies it in the result.
    narrow
        Links between hubs; a failed link has the capacity 0 and connects nothing.

    Examples
    --------
    Islands 0 and 1 are below hubs 7 and 8, which a narrow uplink joins; island 2 is below no hub:

    >>> connected_islands([{7}, {8}, set()], [NarrowUplink(99, (7, 8), 10)])
    [[0, 1], [2]]

    """
    graph = Graph()
    graph.add_nodes_from(range(len(hubs_by_island)))
    # an island's node is its index and a hub's node a tuple of its id, so that they can't be equal
    graph.add_edges_from((island, (hub,)) for island, hubs in enumerate(hubs_by_island) for hub in hubs)
    graph.add_edges_from(((u,), (v,)) for _, (u, v), capacity in narrow if capacity)
    components = nx.connected_components(graph)
    groups = (sorted(node for node in component if isinstance(node, int)) for component in components)
    return [islands for islands in groups if islands]


def contract_hubs(hubs_by_island: Sequence[Collection[int]], narrow: Sequence[NarrowUplink]) -> Hub:
    """Return the hubs of some islands, with all connected hubs merged into one hub.

    In the result, links between merged hubs are never cut, so its least cut is an upper bound for the real fabric.
    Breadth-first search, O(islands·hubs + uplinks).

    Examples
    --------
    Islands 0 and 1 are below hubs 7 and 8, which a narrow uplink joins; island 2 is below no hub:

    >>> top = contract_hubs([{7}, {8}, set()], [NarrowUplink(99, (7, 8), 10)])
    >>> top.islands, [(hub.islands, capacity, link) for hub, capacity, link in top.children]
    ([0, 1], [([2], 0, None)])

    """
    return _join_trees([Hub(islands) for islands in connected_islands(hubs_by_island, narrow)])


def hub_tree(hubs_by_island: Sequence[Collection[int]], narrow: Sequence[NarrowUplink]) -> Hub:
    """Return the tree of the hubs of some islands; an island below several hubs is attached to the first.

    Each tree is rooted at the hub with the most islands. Depth-first search, O(islands·hubs + uplinks).

    Examples
    --------
    Islands 0 and 2 below hub 7, island 1 below hub 8, and a narrow uplink of capacity 10 between the hubs:

    >>> top = hub_tree([{7}, {8}, {7}], [NarrowUplink(99, (7, 8), 10)])
    >>> top.islands, [(hub.islands, capacity, link) for hub, capacity, link in top.children]
    ([0, 2], [([1], 10, 99)])

    """
    graph, isolated, islands = Graph(), list[Hub](), dict[int, list[int]]()
    for island, hubs in enumerate(hubs_by_island):
        if hubs:
            islands.setdefault(min(hubs), []).append(island)
        else:
            isolated.append(Hub([island]))
    graph.add_nodes_from(islands)
    graph.add_edges_from((*ends, {"capacity": capacity, "link": link}) for link, ends, capacity in narrow if capacity)

    def root_at(hub: int, parent: int | None) -> Hub:
        children = sorted(set(graph[hub]) - {parent})
        uplinks = [graph.edges[hub, child] for child in children]
        children_with_links = [
            (root_at(child, hub), uplink["capacity"], uplink["link"])
            for child, uplink in zip(children, uplinks, strict=True)
        ]
        return Hub(islands.get(hub, []), children_with_links)

    roots = (max(part, key=lambda hub: (len(islands.get(hub, [])), -hub)) for part in nx.connected_components(graph))
    return _join_trees([*(root_at(root, None) for root in roots), *isolated])


def _join_trees(roots: Sequence[Hub]) -> Hub:
    """Join separate trees into one: the other roots become children of the largest, over links of capacity 0."""
    largest, *others = sorted(roots, key=lambda hub: -len(hub.islands))
    return Hub(largest.islands, (*largest.children, *((hub, 0, None) for hub in others)))
