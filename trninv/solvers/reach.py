"""Compute hops and widest paths from a set of nodes to every node, and the flow between two sets."""

from collections.abc import Collection

from trninv.solvers.flow import minimum_cut
from trninv.solvers.graph import Graph
from trninv.solvers.paths import Links
from trninv.solvers.toward import widest_capacities


def hops_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Return the hops from the nearest source for every node that one reaches: breadth-first search, O(V + E).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> hops_from(graph, [1])
    {1: 0, 2: 1, 4: 1, 3: 2}

    """
    return directed_hops(dict(graph.adjacency()), sources)


def directed_hops(links: Links, sources: Collection[int]) -> dict[int, int]:
    """Return the same for directed links, by the node they leave; O(V + E).

    Examples
    --------
    >>> directed_hops({1: {2: {}}, 2: {3: {}}, 3: {}, 4: {3: {}}}, [1])
    {1: 0, 2: 1, 3: 2}

    """
    queue = [node for node in sources if node in links]
    hops = dict.fromkeys(queue, 0)
    for node in queue:  # the loop appends to it
        for neighbor in links[node]:
            if neighbor not in hops:
                hops[neighbor] = hops[node] + 1
                queue.append(neighbor)
    return hops


def widest_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Return the bottleneck of the widest path from any source, for every other node that one reaches.

    Dijkstra's algorithm on bottlenecks instead of lengths (Pollack, Operations Research 8, 1960); O(E·log E).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> widest_from(graph, [1])
    {2: 30, 3: 20, 4: 20}

    """
    return widest_capacities(dict(graph.adjacency()), [node for node in sources if node in graph])


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
