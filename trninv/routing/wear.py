"""How a domain leads out to the fabric: what wear leaves of that, and its uplinks as they are."""

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, select

from trninv.inventory.address import node_address_expression
from trninv.inventory.schema import TABLES
from trninv.inventory.state import PPM, carried_bandwidth_expression
from trninv.routing.answer import LinkRef
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.wiring import Attributes, Wiring
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.quotient import Island


class _UplinkEdge(NamedTuple):
    """A link, its ends, and what it carries."""

    id: int
    endpoints: tuple[int, int]
    capacity: int

    def remaining_capacity(self, failures: ScenarioChanges) -> int:
        return self.capacity * failures.link_capacity_ppm(self.id, *self.endpoints) // PPM


class _NicPort(NamedTuple):
    """A NIC's link to the chip that has it for itself, and its link to the network node."""

    chip: int
    chip_edge: _UplinkEdge
    uplink: _UplinkEdge

    @property
    def part_ids(self) -> tuple[int, ...]:
        """Nodes and links that it needs; their ids are told apart by sign."""
        return (*self.chip_edge.endpoints, *self.uplink.endpoints, -self.chip_edge.id, -self.uplink.id)


class DomainExits:
    """A healthy domain, and what its chips can still send to the fabric where some of it is not up.

    Attributes
    ----------
    wiring, island
        Of the healthy domain.

    """

    def __init__(self, wiring: Wiring, island: "Island") -> None:
        self.wiring, self.island = wiring, island
        self._ports = _nic_ports(wiring) if island.private_exits else None
        self._ports_by_part: dict[int, list[_NicPort]] = {}
        for port in self._ports or ():
            for part in port.part_ids:
                self._ports_by_part.setdefault(part, []).append(port)

    def exit_capacities(self, failures: ScenarioChanges) -> dict[int, int] | None:
        """What each chip that is left sends to the network node; None where it takes the graph to tell."""
        degraded_ports = {
            port
            for part in (*failures.nodes, *(-link for link in failures.links))
            for port in self._ports_by_part.get(part, ())
        }
        if not self._ports or len(degraded_ports) == len(self._ports):
            return None
        capacities = dict(zip(self.island.chips, self.island.private_exits or (), strict=True))
        for port in degraded_ports:
            capacities[port.chip] += min(
                port.chip_edge.remaining_capacity(failures), port.uplink.remaining_capacity(failures)
            ) - min(port.chip_edge.capacity, port.uplink.capacity)
        down = failures.down
        return {chip: capacity for chip, capacity in capacities.items() if chip not in down}


def _nic_ports(wiring: Wiring) -> list[_NicPort] | None:
    """Every NIC as a port, if each has one chip and one network node."""
    ports = []
    for nic, attributes in wiring.nodes.items():
        if attributes["kind"] == "nic":
            neighbors = sorted(wiring.links[nic], key=lambda neighbor: wiring.nodes[neighbor]["kind"])
            if [wiring.nodes[neighbor]["kind"] for neighbor in neighbors] != ["chip", "network_node"]:
                return None
            chip_edge, uplink = (_uplink_edge(nic, neighbor, wiring.links[nic][neighbor]) for neighbor in neighbors)
            ports.append(_NicPort(neighbors[0], chip_edge, uplink))
    return ports


def _uplink_edge(a: int, b: int, link: Attributes) -> _UplinkEdge:
    return _UplinkEdge(link["id"], (a, b), link["capacity"])


def read_uplinks(connection: Connection, domains: Collection[int]) -> dict[int, list[LinkRef]]:
    """Links from a domain's NICs to the fabric that carry anything, by domain."""
    link, node = TABLES["link"], TABLES["node"]
    lower_node, upper_node = node.alias("low"), node.alias("high")
    capacity = carried_bandwidth_expression(link, lower_node, upper_node)
    a, b = (node_address_expression(end).label(name) for name, end in (("a", link.c.a_id), ("b", link.c.b_id)))
    query = select(link.c.id, link.c.domain_id, a, b, capacity.label("carries"))
    query = query.join(lower_node, lower_node.c.id == link.c.a_id).join(upper_node, upper_node.c.id == link.c.b_id)
    query = query.where(link.c.domain_id.in_(domains), upper_node.c.kind == "network_node", capacity > 0)
    links_by_domain: dict[int, list[LinkRef]] = {}
    for row in connection.execute(query.order_by(link.c.id)):
        links_by_domain.setdefault(row.domain_id, []).append(LinkRef(row.id, row.a, row.b, Bandwidth(row.carries)))
    return links_by_domain
