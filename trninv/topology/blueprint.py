"""The blueprint of one scale-up domain: what it is made of and how that is wired, in local numbers.

A cluster is stamped from the blueprint of its domain crossed with the domains. Node numbers are local: chips first,
server by server, then switches, then NICs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from trninv.topology.switched import Switched
from trninv.topology.torus import torus

NodeKind = Literal["chip", "switch", "nic"]
Wiring = Literal["single", "torus", "switched"]


@dataclass(frozen=True, slots=True)
class Node:
    """A vertex. ``server`` is None for a rack's switch, ``ordinal`` counts within the address's parent."""

    kind: NodeKind
    server: int | None
    rack: int
    ordinal: int


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """An edge between two local node numbers, a < b; ``role`` names the wires' kind within the domain."""

    a: int
    b: int
    role: str


@dataclass(frozen=True, slots=True)
class Blueprint:
    """Nodes by local number and the links between them.

    Attributes
    ----------
    sides
        Sides of a torus (the first counts the servers where there are three), else empty.
    servers_by_rack
        How many servers each rack of the domain holds, in order.

    """

    wiring: Wiring
    sides: tuple[int, ...]
    servers_by_rack: tuple[int, ...]
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    @property
    def chips(self) -> int:
        return sum(node.kind == "chip" for node in self.nodes)

    @property
    def servers(self) -> int:
        return sum(self.servers_by_rack)

    def rack_of(self, server: int) -> int:
        return _rack_of(server, self.servers_by_rack)


def torus_domain(
    sides: Sequence[int], roles: Sequence[str], *, chips_per_nic: int, servers_by_rack: Sequence[int] = (1,)
) -> Blueprint:
    """A torus whose leading axis, if there are three, runs over the servers; sides (1,) is a single chip."""
    servers = sum(servers_by_rack)
    chips = _chips(prod(sides) // servers, servers_by_rack)
    links = [Link(link.a, link.b, roles[link.axis]) for link in torus(sides)]
    wiring: Wiring = "torus" if links else "single"
    return _with_nics(wiring, tuple(sides) if links else (), chips, links, chips_per_nic, tuple(servers_by_rack))


def switched_domain(fabric: Switched, *, chips_per_nic: int) -> Blueprint:
    """A switched domain; the switches' ordinals run on from the servers' to the racks'."""
    by_rack = (fabric.servers_per_rack,) * fabric.racks
    switches = [Node("switch", s, s // fabric.servers_per_rack, s) for s in range(fabric.servers)]
    switches += [Node("switch", None, r, fabric.servers + r) for r in range(fabric.racks)]
    nodes = _chips(fabric.chips_per_server, by_rack) + switches
    links = [Link(link.a, link.b, link.level) for link in fabric.links()]
    return _with_nics("switched", (), nodes, links, chips_per_nic, by_rack)


def _rack_of(server: int, servers_by_rack: Sequence[int]) -> int:
    return next(r for r in range(len(servers_by_rack)) if server < sum(servers_by_rack[: r + 1]))


def _chips(per_server: int, servers_by_rack: Sequence[int]) -> list[Node]:
    return [
        Node("chip", server, _rack_of(server, servers_by_rack), ordinal)
        for server in range(sum(servers_by_rack))
        for ordinal in range(per_server)
    ]


def _with_nics(
    wiring: Wiring,
    sides: tuple[int, ...],
    nodes: list[Node],
    links: list[Link],
    chips_per_nic: int,
    servers_by_rack: tuple[int, ...],
) -> Blueprint:
    """Add NIC k of each server, attached to its chips k·chips_per_nic and on."""
    nodes, links = list(nodes), list(links)
    for local, chip in enumerate(tuple(nodes)):
        if chip.kind == "chip":
            if chip.ordinal % chips_per_nic == 0:
                nodes.append(Node("nic", chip.server, chip.rack, chip.ordinal // chips_per_nic))
            links.append(Link(local, len(nodes) - 1, "nic"))
    return Blueprint(wiring, sides, servers_by_rack, tuple(nodes), tuple(sorted(links)))
