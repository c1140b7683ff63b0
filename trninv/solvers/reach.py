"""How far a set of nodes reaches: hops and widest path to every node, and what a set can deliver at once."""

from collections.abc import Collection

from trninv.solvers.flow import minimum_cut
from trninv.solvers.graph import Graph
from trninv.solvers.paths import Links
from trninv.solvers.toward import widths


def hops_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Links to the nearest source, for every node that can be reached."""
    return hops_over(dict(graph.adjacency()), sources)


def hops_over(links: Links, sources: Collection[int]) -> dict[int, int]:
    """The same of links by the node they lead on from, which may lead one way only."""
    ring = [node for node in sources if node in links]
    hops = dict.fromkeys(ring, 0)
    for node in ring:  # it grows
        for near in links[node]:
            if near not in hops:
                hops[near] = hops[node] + 1
                ring.append(near)
    return hops


def widest_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Capacity of the widest path from any source, for every other node that can be reached."""
    return widths(dict(graph.adjacency()), [node for node in sources if node in graph])


def delivery(graph: Graph, senders: Collection[int], receivers: Collection[int]) -> int:
    """Bytes per second that one set of nodes can send into another at once."""
    return minimum_cut(graph, senders, receivers)[0] if senders else 0
