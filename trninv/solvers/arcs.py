"""Links by direction, in which a NIC is a port and no way between the chips that share it.

Each NIC is two ports: one out, which chips lead to and which leads up, and one in, from above to the chips. So nothing
passes from chip to chip through a host.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from trninv.solvers.paths import Links

L = TypeVar("L")

_IN = 2**62
"""A NIC's id less this is its in-port, below all nodes and in the order of the NICs; its out-port has its own id."""


class Arcs(NamedTuple):
    """Links by direction: those that lead on from each node or port, and those that lead to it."""

    ahead: Links
    behind: Links


def place(node: int) -> int:
    """The node that a port belongs to; every other node is its own."""
    return node + _IN if node < 0 else node


def arcs(nodes: Mapping[int, Mapping[str, Any]], links: Links) -> Arcs:
    """What leads where, of nodes with a ``kind``; O(links of the NICs and of what they are attached to)."""
    nics = {node for node, of in nodes.items() if of.get("kind") == "nic"}
    ahead, behind = dict(links), dict(links)
    for nic in nics:
        up = {near: of for near, of in links[nic].items() if nodes[near]["kind"] == "network_node"}
        users = {near: of for near, of in links[nic].items() if near not in up}
        ahead[nic], behind[nic] = up, users
        ahead[nic - _IN], behind[nic - _IN] = users, up
    for node in {near for nic in nics for near in links[nic]}:
        others = {near: of for near, of in links[node].items() if near not in nics}
        out = {near: of for near, of in links[node].items() if near in nics}
        into = {near - _IN: of for near, of in out.items()}
        to, back = (into, out) if nodes[node]["kind"] == "network_node" else (out, into)
        ahead[node], behind[node] = others | to, others | back
    return Arcs(ahead, behind)


def join_links(parts: Sequence[Mapping[int, Mapping[int, L]]]) -> dict[int, Mapping[int, L]]:
    """Links of graphs that share some of their nodes."""
    found: dict[int, Mapping[int, L]] = {}
    for part in parts:
        shared = found.keys() & part.keys()
        found |= {**part, **{node: {**found[node], **part[node]} for node in shared}}
    return found
