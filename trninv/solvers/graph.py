"""The graph that solvers take: a networkx graph of node ids whose links have an integer ``capacity``."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx

if TYPE_CHECKING:
    Graph = nx.Graph[Any]
else:
    Graph = nx.Graph


def weighted_edges(graph: Graph) -> list[tuple[int, int, int]]:
    """Both ends of every link, and what it carries in one direction."""
    return [(a, b, link["capacity"]) for a, b, link in graph.edges(data=True)]


def nics_in(graph: Graph) -> list[int]:
    """List the NICs of a graph, whose nodes may have a ``kind``."""
    return [node for node, attributes in graph.nodes(data=True) if attributes.get("kind") == "nic"]


def cut_edges(graph: Graph, side: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the links whose loss parts a set of nodes from all the others, by their ends.

    A NIC is on neither side: it is cut at its ports (`trninv.solvers.ports`), of equal cuts at its uplinks.
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
