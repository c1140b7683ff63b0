"""Links by direction, in which a NIC is a port and no way between the chips that share it.

Each NIC is two ports: one out, which chips lead to and which leads up, and one in, from above to the chips. So nothing
passes from chip to chip through a host.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from trninv.solvers.paths import Links

L = TypeVar("L")

_IN_PORT_OFFSET = 2**62
"""A NIC's id less this is its in-port, below all nodes and in the order of the NICs; its out-port has its own id."""


class Adjacency(NamedTuple):
    """Links by direction: those that lead on from each node or port, and those that lead to it."""

    successors: Links
    predecessors: Links


def node_of_port(node: int) -> int:
    """The node that a port belongs to; every other node is its own."""
    return node + _IN_PORT_OFFSET if node < 0 else node


def directed_adjacency(nodes: Mapping[int, Mapping[str, Any]], links: Links) -> Adjacency:
    """What leads where, of nodes with a ``kind``; O(links of the NICs and of what they are attached to)."""
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
    """Links of graphs that share some of their nodes."""
    found: dict[int, Mapping[int, L]] = {}
    for part in parts:
        shared = found.keys() & part.keys()
        found |= {**part, **{node: {**found[node], **part[node]} for node in shared}}
    return found
