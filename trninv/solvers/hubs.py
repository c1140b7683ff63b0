"""Group network nodes into hubs: nodes joined by uplinks that carry at least all that is below them.

Such an uplink never has to be cut: whatever is below it may as well be on the other side. A narrower uplink may have to
be, and joins two hubs. Islands that no link joins are separate pieces.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import networkx as nx

from trninv.solvers.graph import Graph
from trninv.solvers.share_selection import Hub


class NarrowUplink(NamedTuple):
    """A link between two hubs that carries less than all that is below it."""

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
    """Group islands that any link joins; breadth-first search, O(islands·hubs + uplinks).

    Parameters
    ----------
    hubs_by_island
        The hubs above each island. The result holds indices of this sequence.
    narrow
        Links between hubs; failed ones, of capacity 0, join nothing.

    Examples
    --------
    Islands 0 and 1 are below hubs 7 and 8, which a narrow uplink joins; island 2 is below no hub:

    >>> connected_islands([{7}, {8}, set()], [NarrowUplink(99, (7, 8), 10)])
    [[0, 1], [2]]

    """
    graph = Graph()
    graph.add_nodes_from(range(len(hubs_by_island)))
    # a hub is a tuple of its id, so that it differs from the island of that index
    graph.add_edges_from((island, (hub,)) for island, hubs in enumerate(hubs_by_island) for hub in hubs)
    graph.add_edges_from(((a,), (b,)) for _, (a, b), capacity in narrow if capacity)
    groups = (sorted(node for node in part if isinstance(node, int)) for part in nx.connected_components(graph))
    return [islands for islands in groups if islands]


def contract_hubs(hubs_by_island: Sequence[Collection[int]], narrow: Sequence[NarrowUplink]) -> Hub:
    """Return the hubs of some islands with all connected ones as one hub: no split cuts less in the real fabric.

    Breadth-first search, O(islands·hubs + uplinks).

    Examples
    --------
    >>> top = contract_hubs([{7}, {8}, set()], [NarrowUplink(99, (7, 8), 10)])
    >>> top.islands, [(hub.islands, capacity, link) for hub, capacity, link in top.below]
    ([0, 1], [([2], 0, None)])

    """
    return _forest([Hub(islands) for islands in connected_islands(hubs_by_island, narrow)])


def hub_tree(hubs_by_island: Sequence[Collection[int]], narrow: Sequence[NarrowUplink]) -> Hub:
    """Return the tree of the hubs of some islands; an island below several hubs is attached to the first.

    Each tree is rooted at the hub with the most islands. Depth-first search, O(islands·hubs + uplinks).

    Examples
    --------
    Islands 0 and 2 below hub 7, island 1 below hub 8, and a narrow uplink of capacity 10 between the hubs:

    >>> top = hub_tree([{7}, {8}, {7}], [NarrowUplink(99, (7, 8), 10)])
    >>> top.islands, [(hub.islands, capacity, link) for hub, capacity, link in top.below]
    ([0, 2], [([1], 10, 99)])

    """
    graph, alone, islands = Graph(), list[Hub](), dict[int, list[int]]()
    for island, hubs in enumerate(hubs_by_island):
        if hubs:
            islands.setdefault(min(hubs), []).append(island)
        else:
            alone.append(Hub([island]))
    graph.add_nodes_from(islands)
    graph.add_edges_from((*ends, {"capacity": capacity, "link": link}) for link, ends, capacity in narrow if capacity)

    def root_at(hub: int, parent: int | None) -> Hub:
        children = sorted(set(graph[hub]) - {parent})
        uplinks = [graph.edges[hub, child] for child in children]
        below = [
            (root_at(child, hub), uplink["capacity"], uplink["link"])
            for child, uplink in zip(children, uplinks, strict=True)
        ]
        return Hub(islands.get(hub, []), below)

    roots = (max(part, key=lambda hub: (len(islands.get(hub, [])), -hub)) for part in nx.connected_components(graph))
    return _forest([*(root_at(root, None) for root in roots), *alone])


def _forest(hubs: Sequence[Hub]) -> Hub:
    """Join separate trees into one: the others are below the largest, over uplinks of capacity 0."""
    first, *others = sorted(hubs, key=lambda hub: -len(hub.islands))
    return Hub(first.islands, (*first.below, *((hub, 0, None) for hub in others)))
