"""Define the graph that all solvers take, the capacity of its cuts, and how a cut treats NICs.

A graph is an undirected networkx graph of node ids. Each link has an integer ``capacity`` (bytes per second in one
direction), and a node may have a ``kind``, such as "chip", "switch", "nic" or "network_node".

A NIC connects chips to network nodes of the fabric. A cut treats it as two nodes, an out-port and an in-port
(`trninv.solvers.adjacency`). Let S be a set of nodes and T all others, c(S) the capacity of the NIC's links to chips in
S, and u(S) the capacity of its uplinks to network nodes in S. Traffic from S to T through the out-port is cut before
the port, at c(S), or behind it, at u(T); traffic through the in-port is cut at u(S) or at c(T). Each port goes to its
cheaper side, so the NIC adds

    min(c(S), u(T)) + min(u(S), c(T))

to the cut. The sum is the same with S and T exchanged. If S has only chips and the fabric is in T, the sum is
min(c(S), u), where u is the capacity of all uplinks. If the NIC were a single node, it would add min(c(S), c(T) + u).
That is too much if three chips share the NIC, because two of them could send through it to the third.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

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
    return [(u, v, link["capacity"]) for u, v, link in graph.edges(data=True)]


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
    """Yield both ends of each link that separates a set of nodes from all others.

    A NIC is on neither side. It is cut at its ports (see the module docstring); if links to chips and uplinks cost the
    same, the uplinks are cut.
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
        out_port = uplinks - side_nodes, chips & side_nodes
        in_port = uplinks & side_nodes, chips - side_nodes
        for upper_ends, lower_ends in (out_port, in_port):
            if upper_ends and lower_ends:
                cheaper = min(upper_ends, lower_ends, key=lambda ends: sum(nic_links[end]["capacity"] for end in ends))
                yield from ((nic, end) for end in cheaper)


NO_TARGET: Final = 2**62
"""More than any cut carries. A search with this target goes on until the least cut is proven."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Bounds on a least cut, in bytes per second of one direction.

    Attributes
    ----------
    side
        The nodes on one side of a cut that attains ``upper``.
    method
        How the bounds were computed, as text for users.

    """

    lower: int
    upper: int
    side: frozenset[int]
    method: str

    @classmethod
    def from_side(cls, graph: Graph, side: Collection[int], method: str, lower: int | None = None) -> "Cut":
        """Build the cut with these nodes on one side; it is exact unless ``lower`` is less than its capacity."""
        upper = cut_capacity(graph, side)
        return cls(upper if lower is None else min(lower, upper), upper, frozenset(side), method)


def cut_capacity(graph: Graph, side: Collection[int]) -> int:
    """Return the capacity of the links between a set of nodes and the rest; O(links of the side and of its NICs).

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> cut_capacity(graph, [1, 2])
    30

    """
    return sum(graph[u][v]["capacity"] for u, v in cut_edges(graph, side))


def without_dead_nics(graph: Graph) -> Graph:
    """Copy a graph without the NICs that have no uplink; O(V + E).

    Examples
    --------
    NIC 3 has lost its uplink:

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

    Several NICs between the same chip and network node become one link of their summed capacity. NICs without an uplink
    or without a chip are removed.

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
