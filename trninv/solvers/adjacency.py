"""Represent links by direction, with each NIC as an out-port and an in-port.

The solvers of flows and collectives build these directed links from a graph; `trninv.routing` builds them for paths.

A NIC connects chips to the network nodes of the fabric. Chips send into its out-port, which leads up to network nodes
only; the in-port leads from there down to the chips. So no path or flow passes from chip to chip through a NIC.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

Links = Mapping[int, Mapping[int, Mapping[str, Any]]]
"""Adjacency by node id, as networkx's ``Graph.adj``: a link has ``capacity`` and, for searches by time, ``latency``."""
L = TypeVar("L")
"""The attributes of a link."""
_IN_PORT_OFFSET = 2**62
"""An in-port's id is its NIC's id minus this number, so it is negative. The out-port has the NIC's id."""


class Adjacency(NamedTuple):
    """The links that leave each node or port (successors), and those that reach it (predecessors)."""

    successors: Links
    predecessors: Links


def node_of_port(node: int) -> int:
    """Return the NIC of an in-port or out-port, and any other node unchanged; O(1).

    Examples
    --------
    >>> node_of_port(7), node_of_port(7 - 2**62)
    (7, 7)

    """
    return node + _IN_PORT_OFFSET if node < 0 else node


def directed_adjacency(nodes: Mapping[int, Mapping[str, Any]], links: Links) -> Adjacency:
    """Return the links by direction, each NIC split into its two ports.

    The split is derived in docs/explanation/routing-methods.md. O(links of the NICs and of their neighbors).

    Parameters
    ----------
    nodes
        Attributes of each node, such as its ``kind``.
    links
        Links in both directions.

    Examples
    --------
    Chips 1 and 2 share NIC 3, whose uplink leads to network node 4:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_nodes_from([(1, {"kind": "chip"}), (2, {"kind": "chip"}), (3, {"kind": "nic"})])
    >>> graph.add_node(4, kind="network_node")
    >>> graph.add_edges_from([(1, 3), (2, 3), (3, 4)])
    >>> successors = directed_adjacency(graph.nodes, dict(graph.adjacency())).successors
    >>> in_port = min(successors)
    >>> list(successors[1]), list(successors[3]), list(successors[in_port])
    ([3], [4], [1, 2])

    """
    nics = {node for node, attributes in nodes.items() if attributes.get("kind") == "nic"}
    successors, predecessors = dict(links), dict(links)
    for nic in nics:
        uplinks = {
            neighbor: attributes
            for neighbor, attributes in links[nic].items()
            if nodes[neighbor]["kind"] == "network_node"
        }
        chip_links = {neighbor: attributes for neighbor, attributes in links[nic].items() if neighbor not in uplinks}
        successors[nic], predecessors[nic] = uplinks, chip_links
        successors[nic - _IN_PORT_OFFSET], predecessors[nic - _IN_PORT_OFFSET] = chip_links, uplinks
    for node in {neighbor for nic in nics for neighbor in links[nic]}:
        others = {neighbor: attributes for neighbor, attributes in links[node].items() if neighbor not in nics}
        to_nics = {neighbor: attributes for neighbor, attributes in links[node].items() if neighbor in nics}
        from_nics = {neighbor - _IN_PORT_OFFSET: attributes for neighbor, attributes in to_nics.items()}
        forward, backward = (from_nics, to_nics) if nodes[node]["kind"] == "network_node" else (to_nics, from_nics)
        successors[node], predecessors[node] = others | forward, others | backward
    return Adjacency(successors, predecessors)


def join_links(parts: Sequence[Mapping[int, Mapping[int, L]]]) -> dict[int, Mapping[int, L]]:
    """Merge the links of graphs that share some of their nodes; O(V + links of shared nodes).

    Examples
    --------
    Two graphs that share node 2:

    >>> join_links([{1: {2: "a"}, 2: {1: "a"}}, {2: {3: "b"}, 3: {2: "b", 4: "c"}, 4: {3: "c"}}])
    {1: {2: 'a'}, 2: {1: 'a', 3: 'b'}, 3: {2: 'b', 4: 'c'}, 4: {3: 'c'}}

    """
    joined: dict[int, Mapping[int, L]] = {}
    for part in parts:
        shared = joined.keys() & part.keys()
        joined |= {**part, **{node: {**joined[node], **part[node]} for node in shared}}
    return joined
