"""How far a set of nodes reaches: hops and widest path to every node, and what a set can deliver at once."""

from collections.abc import Collection

from trninv.solvers.flow import minimum_cut
from trninv.solvers.graph import Graph
from trninv.solvers.paths import Links
from trninv.solvers.toward import widest_capacities


def hops_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Links to the nearest source, for every node that can be reached."""
    return directed_hops(dict(graph.adjacency()), sources)


def directed_hops(links: Links, sources: Collection[int]) -> dict[int, int]:
    """The same of links by the node they lead on from, which may lead one way only."""
    queue = [node for node in sources if node in links]
    hops = dict.fromkeys(queue, 0)
    for node in queue:  # it grows
        for neighbor in links[node]:
            if neighbor not in hops:
                hops[neighbor] = hops[node] + 1
                queue.append(neighbor)
    return hops


def widest_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Capacity of the widest path from any source, for every other node that can be reached."""
    return widest_capacities(dict(graph.adjacency()), [node for node in sources if node in graph])


def set_to_set_flow(graph: Graph, senders: Collection[int], receivers: Collection[int]) -> int:
    """Bytes per second that one set of nodes can send into another at once."""
    return minimum_cut(graph, senders, receivers)[0] if senders else 0
