"""Define the capacitated graph that all solvers take: cuts, their capacity and NIC ports.

It is an undirected networkx graph of node ids; each link has an integer ``capacity`` (bytes per second, one direction).

A NIC is two nodes, an out-port and an in-port (`trninv.solvers.adjacency`). Let S be a set of nodes and T all others,
c(S) the capacity of the NIC's links to chips in S and u(S) that of its uplinks to network nodes in S. Traffic from S to
T through the out-port is cut before it, at c(S), or behind it, at u(T); through the in-port at u(S) or c(T). Each port
goes to its cheaper side, so the NIC adds

    min(c(S), u(T)) + min(u(S), c(T))

to the cut, the same seen from T. If S is chips only and the fabric is in T, that is min(c(S), u). A single node would
add min(c(S), c(T) + u). That is too much if three chips share the NIC: two of them could send through it to the third.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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

    A NIC is on neither side: it is cut at its ports (`trninv.solvers.graph`), at its uplinks if both cost the same.
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


NO_TARGET: Final = 2**62
"""More than any cut carries: the search goes on until the least cut is proven."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Bounds on a least cut in bytes per second, one direction; ``side`` is a side of a cut that attains ``upper``."""

    lower: int
    upper: int
    side: frozenset[int]
    method: str

    @classmethod
    def from_side(cls, graph: Graph, side: Collection[int], method: str, lower: int | None = None) -> "Cut":
        """Build the cut with these nodes on one side, its links summed in integers; exact unless ``lower`` is less."""
        upper = cut_capacity(graph, side)
        return cls(upper if lower is None else min(lower, upper), upper, frozenset(side), method)


def cut_capacity(graph: Graph, side: Collection[int]) -> int:
    """Return the capacity of the links between a set of nodes and the rest; O(links of the side and of its NICs).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> cut_capacity(graph, [1, 2])
    30

    """
    return sum(graph[a][b]["capacity"] for a, b in cut_edges(graph, side))


def without_dead_nics(graph: Graph) -> Graph:
    """Copy a graph without the NICs that have no uplink; O(V + E).

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_nodes_from([(1, {"kind": "chip"}), (2, {"kind": "nic"}), (3, {"kind": "nic"})])
    >>> graph.add_node(4, kind="network_node")
    >>> graph.add_edges_from([(1, 2), (1, 3), (2, 4)])
    >>> list(without_dead_nics(graph))
    [1, 2, 4]

    """
    copy = Graph(graph)
    for nic in nics_in(graph):
        if not any(graph.nodes[neighbor]["kind"] == "network_node" for neighbor in graph[nic]):
            copy.remove_node(nic)
    return copy


def contract_nics(graph: Graph) -> Graph:
    """Copy a graph, replacing each NIC with one chip and one uplink by a link between chip and network node; O(V + E).

    Several NICs between the same chip and network node become one link of their summed capacity.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_nodes_from([(1, {"kind": "chip"}), (2, {"kind": "nic"}), (3, {"kind": "nic"})])
    >>> graph.add_node(4, kind="network_node")
    >>> graph.add_weighted_edges_from([(1, 2, 12), (2, 4, 10), (1, 3, 12), (3, 4, 10)], weight="capacity")
    >>> list(contract_nics(graph).edges(data="capacity"))
    [(1, 4, 20)]

    """
    contracted = without_dead_nics(graph)
    for nic in nics_in(contracted):
        network_nodes = [
            neighbor for neighbor in contracted[nic] if contracted.nodes[neighbor]["kind"] == "network_node"
        ]
        chips = set(contracted[nic]).difference(network_nodes)
        if len(chips) > 1 or len(network_nodes) > 1:
            continue
        for chip in chips:
            direct = (
                contracted.edges[chip, network_nodes[0]]["capacity"]
                if contracted.has_edge(chip, network_nodes[0])
                else 0
            )
            nic_capacity = min(link["capacity"] for link in contracted[nic].values())
            contracted.add_edge(chip, network_nodes[0], capacity=direct + nic_capacity)
        contracted.remove_node(nic)
    return contracted


def component_sizes(
    links: NDArray[np.int64], members: NDArray[np.int64], is_counted: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the number of counted members in the component of each member.

    Breadth-first search by SciPy; O(V·log V + E).

    Parameters
    ----------
    links
        Ids of both ends, shape (links, 2).
    members
        Ids of nodes, in any order; they may have no links.
    is_counted
        Whether each member counts.

    Examples
    --------
    Node 7 is alone; node 3 does not count:

    >>> links, members = np.array([[1, 2], [2, 3]]), np.array([1, 2, 3, 7])
    >>> component_sizes(links, members, np.array([True, True, False, True])).tolist()
    [2, 2, 2, 1]

    """
    nodes = np.unique(np.concatenate([links.ravel(), members]))
    a, b = np.searchsorted(nodes, links.T)
    graph = coo_array((np.ones(len(links)), (a, b)), shape=(len(nodes), len(nodes)))
    component = connected_components(graph, directed=False)[1][np.searchsorted(nodes, members)]
    member_sizes: NDArray[np.int64] = np.bincount(component[is_counted], minlength=len(nodes))[component]
    return member_sizes
