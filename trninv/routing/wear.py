"""Compute what a domain's chips can send to the fabric after failures, and read its uplinks."""

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
    """A link with its ends and its capacity in bytes per second, one direction."""

    id: int
    endpoints: tuple[int, int]
    capacity: int

    def remaining_capacity(self, failures: ScenarioChanges) -> int:
        """Return the capacity after failures."""
        return self.capacity * failures.link_capacity_ppm(self.id, *self.endpoints) // PPM


class _NicPort(NamedTuple):
    """A NIC of one chip: its link to the chip and its link to the network node."""

    chip: int
    chip_edge: _UplinkEdge
    uplink: _UplinkEdge

    @property
    def part_ids(self) -> tuple[int, ...]:
        """Ids of the nodes, and negated ids of the links, that the port needs."""
        return (*self.chip_edge.endpoints, *self.uplink.endpoints, -self.chip_edge.id, -self.uplink.id)


class DomainExits:
    """The exits of a healthy domain's chips to the fabric, and their capacities after failures.

    Attributes
    ----------
    wiring, island
        The healthy domain's.

    """

    def __init__(self, wiring: Wiring, island: "Island") -> None:
        self.wiring, self.island = wiring, island
        self._ports = _nic_ports(wiring) if island.private_exits else None
        self._ports_by_part: dict[int, list[_NicPort]] = {}
        for port in self._ports or ():
            for part in port.part_ids:
                self._ports_by_part.setdefault(part, []).append(port)

    def exit_capacities(self, failures: ScenarioChanges) -> dict[int, int] | None:
        """Return the capacity from each remaining chip to the network node, or None if only the graph determines it.

        That is so if chips share NICs, or if the failures affect every port.
        """
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
    """Return every NIC as a port, or None if one is not attached to exactly one chip and one network node."""
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
    """Return the carrying links from NICs to network nodes, in the order of their ids, by domain."""
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
