"""Define the capacitated graph that all solvers take, and the links of a cut.

It is an undirected networkx graph of node ids; each link has an integer ``capacity`` (bytes per second, one direction).
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx

if TYPE_CHECKING:
    Graph = nx.Graph[Any]
else:
    Graph = nx.Graph


def weighted_edges(graph: Graph) -> list[tuple[int, int, int]]:
    """Return both ends and the capacity of every link; O(E).

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> weighted_edges(graph)
    [(1, 2, 30), (1, 4, 10), (2, 3, 20), (3, 4, 30)]

    """
    return [(a, b, link["capacity"]) for a, b, link in graph.edges(data=True)]


def nics_in(graph: Graph) -> list[int]:
    """List the NICs of a graph, the nodes whose ``kind`` is "nic"; O(V).

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_nodes_from([(1, {"kind": "chip"}), (2, {"kind": "chip"}), (3, {"kind": "nic"}), (4, {})])
    >>> nics_in(graph)
    [3]

    """
    return [node for node, attributes in graph.nodes(data=True) if attributes.get("kind") == "nic"]


def cut_edges(graph: Graph, side: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the links that separate a set of nodes from all others, by their ends.

    A NIC is on neither side: it is cut at its ports (`trninv.solvers.ports`), at its uplinks if both cost the same.
    O(links of the side and of its NICs).

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> sorted(cut_edges(graph, [1, 2]))
    [(1, 4), (2, 3)]

    """
    kind_of = graph.nodes(data="kind")
    side_nodes = {node for node in side if node in graph and kind_of[node] != "nic"}
    nics = dict[int, None]()
    for node in side_nodes:
        for neighbor in graph[node]:
            if neighbor in side_nodes:
                continue
            if kind_of[neighbor] == "nic":
                nics[neighbor] = None
            else:
                yield node, neighbor
    for nic in nics:
        nic_links = graph[nic]
        uplinks = {end for end in nic_links if kind_of[end] == "network_node"}
        chips = set(nic_links) - uplinks
        for upper, lower in ((uplinks - side_nodes, chips & side_nodes), (uplinks & side_nodes, chips - side_nodes)):
            if upper and lower:
                cheaper = min(upper, lower, key=lambda ends: sum(nic_links[end]["capacity"] for end in ends))
                yield from ((nic, end) for end in cheaper)
