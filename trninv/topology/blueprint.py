"""Describe the nodes and links of one scale-up domain, in local node numbers.

A domain is the largest group of chips that NeuronLink connects: a server, or several servers in racks. All domains of a
cluster have the same blueprint; seeding (`trninv.inventory.seeding`) copies its nodes and links for each domain. Local
numbers start at 0 and count chips first, server by server, then switches, then NICs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

NodeKind = Literal["chip", "switch", "nic"]
Sides = tuple[int, ...]
"""Sizes that a wiring pattern's drawings and symmetries need, such as the sides of a torus; empty if they need none."""

NIC: Final = "nic"
"""The role of links between chips and NICs. Links of all other roles are scale-up links."""

_KIND_ORDER: Final = ("chip", "switch", "nic")


@dataclass(frozen=True, slots=True)
class BlueprintNode:
    """A node; ``ordinal`` is the last number of its address (5 in ``s0/c5``), and a rack's switch has no ``server``."""

    kind: NodeKind
    server: int | None
    rack: int
    ordinal: int


@dataclass(frozen=True, slots=True, order=True)
class BlueprintLink:
    """A link between two nodes, by local numbers a < b; ``role`` names its purpose in the pattern, such as an axis."""

    a: int
    b: int
    role: str


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The nodes of a domain by local number, and the links between them.

    Attributes
    ----------
    pattern
        Name of the wiring pattern that built the blueprint.
    sides
        Sizes such as the sides of a torus; see `Sides`.
    servers_by_rack
        The number of servers in each rack of the domain, in order.
    """

    pattern: str
    sides: Sides
    servers_by_rack: tuple[int, ...]
    nodes: tuple[BlueprintNode, ...]
    links: tuple[BlueprintLink, ...]

    @property
    def chips(self) -> int:
        """The number of chips."""
        return sum(node.kind == "chip" for node in self.nodes)

    @property
    def servers(self) -> int:
        """The number of servers."""
        return sum(self.servers_by_rack)

    @property
    def scale_up_links(self) -> tuple[BlueprintLink, ...]:
        """All links except those to NICs."""
        return tuple(link for link in self.links if link.role != NIC)

    def rack_of(self, server: int) -> int:
        """Return the rack of a server."""
        return _rack_of(server, self.servers_by_rack)


def chip_nodes(chips_per_server: int, servers_by_rack: Sequence[int]) -> list[BlueprintNode]:
    """Return the chips of a domain, server by server and rack by rack."""
    return [
        BlueprintNode("chip", server, _rack_of(server, servers_by_rack), ordinal)
        for server in range(sum(servers_by_rack))
        for ordinal in range(chips_per_server)
    ]


def assemble(
    pattern: str,
    nodes: Iterable[BlueprintNode],
    scale_up_links: Iterable[BlueprintLink],
    *,
    servers_by_rack: Sequence[int],
    chips_per_nic: int,
    sides: Sides = (),
) -> Blueprint:
    """Build a blueprint from chips, switches and links; add a NIC for every ``chips_per_nic`` chips of a server."""
    nodes, links = list(nodes), list(scale_up_links)
    for local, chip in enumerate(tuple(nodes)):
        if chip.kind == "chip":
            if chip.ordinal % chips_per_nic == 0:
                nodes.append(BlueprintNode("nic", chip.server, chip.rack, chip.ordinal // chips_per_nic))
            links.append(BlueprintLink(local, len(nodes) - 1, NIC))
    return Blueprint(pattern, sides, tuple(servers_by_rack), tuple(nodes), tuple(sorted(links)))


def without_nics(blueprint: Blueprint) -> Blueprint:
    """Return the blueprint without its NICs, which are its last nodes."""
    nodes = tuple(node for node in blueprint.nodes if node.kind != "nic")
    return replace(blueprint, nodes=nodes, links=blueprint.scale_up_links)


def violations(blueprint: Blueprint) -> Iterator[str]:
    """Yield a message for each violation of the rules that the blueprints of all patterns must follow."""
    yield from _numbering_violations(blueprint)
    pair_counts = Counter((link.a, link.b) for link in blueprint.links)
    if any(not 0 <= a < b < len(blueprint.nodes) for a, b in pair_counts):
        yield "a link does not go from a node to a node with a higher number"
        return
    if repeated := next((pair for pair, count in pair_counts.items() if count > 1), None):
        yield f"nodes {repeated[0]} and {repeated[1]} have more than one link"
    yield from _nic_violations(blueprint)
    if blueprint.nodes and (disconnected := _disconnected_nodes(blueprint)):
        size, first = len(disconnected), min(disconnected)
        yield f"chip 0 is not connected to {size} of the chips and switches; the first of them is node {first}"


def _rack_of(server: int, servers_by_rack: Sequence[int]) -> int:
    return next(rack for rack in range(len(servers_by_rack)) if server < sum(servers_by_rack[: rack + 1]))


def _numbering_violations(blueprint: Blueprint) -> Iterator[str]:
    """Yield violations in the order, numbers and racks of the nodes."""
    nodes, servers = blueprint.nodes, blueprint.servers
    if not blueprint.chips or min(blueprint.servers_by_rack, default=0) < 1:
        yield "it has no chips, or a rack has no servers"
        return
    if sorted(nodes, key=lambda node: _KIND_ORDER.index(node.kind)) != list(nodes):
        yield "nodes are not in the order of chips, switches, NICs"
    if list(nodes[: blueprint.chips]) != chip_nodes(blueprint.chips // servers, blueprint.servers_by_rack):
        yield f"its {blueprint.chips} chips are not numbered evenly over {servers} servers"
    if len(set(nodes)) < len(nodes):
        yield "two nodes have the same address"
    if any(node.server is not None and blueprint.rack_of(node.server) != node.rack for node in nodes):
        yield "a node is not in the rack of its server"


def _nic_violations(blueprint: Blueprint) -> Iterator[str]:
    """Yield violations in links to NICs.

    If there are NICs, each chip must have a link to exactly one NIC, which is in its server. NICs have no other links.
    """
    attached = Counter[int]()
    for link in blueprint.links:
        a, b = blueprint.nodes[link.a], blueprint.nodes[link.b]
        if link.role != NIC and "nic" in (a.kind, b.kind):
            yield f"a {link.role} link goes to a NIC"
        elif link.role == NIC and (a.kind, b.kind, a.server) != ("chip", "nic", b.server):
            yield "a NIC is linked to a node that is not a chip of its server"
        elif link.role == NIC:
            attached[link.a] += 1
    has_nics = any(node.kind == "nic" for node in blueprint.nodes)
    if sorted(attached.elements()) != list(range(blueprint.chips if has_nics else 0)):
        yield "not every chip has exactly one NIC"


def _disconnected_nodes(blueprint: Blueprint) -> set[int]:
    """Return the chips and switches that no scale-up links connect to chip 0."""
    neighbors: dict[int, list[int]] = defaultdict(list)
    for link in blueprint.scale_up_links:
        neighbors[link.a].append(link.b)
        neighbors[link.b].append(link.a)
    reached, frontier = {0}, [0]
    while frontier:
        new = set(neighbors[frontier.pop()]) - reached
        reached |= new
        frontier += new
    return {local for local, node in enumerate(blueprint.nodes) if node.kind != "nic"} - reached
