"""How a domain leads out to the fabric: what wear leaves of that, and its uplinks as they are."""

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, select

from trninv.inventory.address import address_of_node
from trninv.inventory.schema import TABLES
from trninv.inventory.state import PPM, carried_in_sql
from trninv.routing.answer import LinkRef
from trninv.routing.scenario import Changes
from trninv.routing.wiring import Attributes, Wiring
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.quotient import Island


class _Wire(NamedTuple):
    """A link, its ends, and what it carries."""

    id: int
    ends: tuple[int, int]
    carries: int

    def left(self, lacks: Changes) -> int:
        return self.carries * lacks.of_link(self.id, *self.ends) // PPM


class _Port(NamedTuple):
    """A NIC's link to the chip that has it for itself, and its link to the network node."""

    chip: int
    user: _Wire
    up: _Wire

    @property
    def parts(self) -> tuple[int, ...]:
        """Nodes and links that it needs; their ids are told apart by sign."""
        return (*self.user.ends, *self.up.ends, -self.user.id, -self.up.id)


class Wear:
    """A healthy domain, and what its chips can still send to the fabric where some of it is not up.

    Attributes
    ----------
    wiring, island
        Of the healthy domain.

    """

    def __init__(self, wiring: Wiring, island: "Island") -> None:
        self.wiring, self.island = wiring, island
        self._ports = _ports(wiring) if island.own else None
        self._of: dict[int, list[_Port]] = {}
        for port in self._ports or ():
            for part in port.parts:
                self._of.setdefault(part, []).append(port)

    def exits(self, lacks: Changes) -> dict[int, int] | None:
        """What each chip that is left sends to the network node; None where it takes the graph to tell."""
        worn = {port for part in (*lacks.nodes, *(-link for link in lacks.links)) for port in self._of.get(part, ())}
        if not self._ports or len(worn) == len(self._ports):
            return None
        left = dict(zip(self.island.chips, self.island.own or (), strict=True))
        for port in worn:
            left[port.chip] += min(port.user.left(lacks), port.up.left(lacks)) - min(port.user.carries, port.up.carries)
        down = lacks.down
        return {chip: carries for chip, carries in left.items() if chip not in down}


def _ports(wiring: Wiring) -> list[_Port] | None:
    """Every NIC as a port, if each has one chip and one network node."""
    found = []
    for nic, of in wiring.nodes.items():
        if of["kind"] == "nic":
            near = sorted(wiring.links[nic], key=lambda end: wiring.nodes[end]["kind"])
            if [wiring.nodes[end]["kind"] for end in near] != ["chip", "network_node"]:
                return None
            user, up = (_wire(nic, end, wiring.links[nic][end]) for end in near)
            found.append(_Port(near[0], user, up))
    return found


def _wire(one: int, other: int, of: Attributes) -> _Wire:
    return _Wire(of["id"], (one, other), of["capacity"])


def uplinks(connection: Connection, domains: Collection[int]) -> dict[int, list[LinkRef]]:
    """Links from a domain's NICs to the fabric that carry anything, by domain."""
    link, node = TABLES["link"], TABLES["node"]
    low, high = node.alias("low"), node.alias("high")
    carries = carried_in_sql(link, low, high)
    a, b = (address_of_node(end).label(name) for name, end in (("a", link.c.a_id), ("b", link.c.b_id)))
    query = select(link.c.id, link.c.domain_id, a, b, carries.label("carries"))
    query = query.join(low, low.c.id == link.c.a_id).join(high, high.c.id == link.c.b_id)
    query = query.where(link.c.domain_id.in_(domains), high.c.kind == "network_node", carries > 0)
    found: dict[int, list[LinkRef]] = {}
    for row in connection.execute(query.order_by(link.c.id)):
        found.setdefault(row.domain_id, []).append(LinkRef(row.id, row.a, row.b, Bandwidth(row.carries)))
    return found
