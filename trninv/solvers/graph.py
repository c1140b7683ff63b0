"""The graph that solvers take: a networkx graph of node ids whose links have an integer ``capacity``."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx

if TYPE_CHECKING:
    Graph = nx.Graph[Any]
else:
    Graph = nx.Graph


def capacities(graph: Graph) -> list[tuple[int, int, int]]:
    """Both ends of every link, and what it carries in one direction."""
    return [(a, b, link["capacity"]) for a, b, link in graph.edges(data=True)]


def nics_in(graph: Graph) -> list[int]:
    """List the NICs of a graph, whose nodes may have a ``kind``."""
    return [node for node, attributes in graph.nodes(data=True) if attributes.get("kind") == "nic"]


def cut(graph: Graph, side: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the links whose loss parts a set of nodes from all the others, by their ends.

    A NIC is on neither side: it is cut at its ports (`trninv.solvers.ports`), of equal cuts at its uplinks.
    """
    kind_of = graph.nodes(data="kind")
    inside = {node for node in side if node in graph and kind_of[node] != "nic"}
    nics = dict[int, None]()
    for node in inside:
        for to in graph[node]:
            if to in inside:
                continue
            if kind_of[to] == "nic":
                nics[to] = None
            else:
                yield node, to
    for nic in nics:
        near = graph[nic]
        up = {end for end in near if kind_of[end] == "network_node"}
        users = set(near) - up
        for above, below in ((up - inside, users & inside), (up & inside, users - inside)):
            if above and below:
                least = min(above, below, key=lambda ends: sum(near[end]["capacity"] for end in ends))
                yield from ((nic, end) for end in least)
