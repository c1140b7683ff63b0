"""Read each domain's failures in local numbers, and what its chips can still send to the fabric.

The ids of a domain's nodes, and of its links, are consecutive. A local number counts from the first of them, so the
same failure pattern applied to any healthy domain of the model gives the same wiring.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import Connection, func, select

from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import TABLES, is_unhealthy
from trninv.inventory.address.expressions import node_address_expression
from trninv.inventory.state.condition import PPM, carried_bandwidth, carried_bandwidth_expression, condition_from_row
from trninv.routing.answer import LinkRef
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.wiring import Attributes, Wiring
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.islands import Island


_CHUNK_SIZE: Final = 1_000
FailurePattern = tuple[tuple[str, int, int], ...]
"""Sorted entries: "node" or "link", its local number, and the millionths of its capacity that it carries."""


def failures_by_domain(connection: Connection, cluster_id: int) -> dict[int, FailurePattern]:
    """Return the failure pattern of each domain that has an unhealthy part, by the domain's id."""
    node, link = TABLES["node"], TABLES["link"]
    in_cluster = (
        node.c.cluster_id + 0 == cluster_id
    )  # + 0 keeps the planner off the cluster's index: few rows are unhealthy
    nodes = select(node.c.id, node.c.domain_id, node.c.state, node.c.factor_ppm).where(
        is_unhealthy(node), maybe_unhealthy(connection, node), in_cluster
    )
    links = select(link.c.id, link.c.domain_id, link.c.state, link.c.factor_ppm)
    links = links.join(node, node.c.id == link.c.a_id).where(
        is_unhealthy(link), maybe_unhealthy(connection, link), in_cluster
    )
    failures: dict[int, list[tuple[str, int, int]]] = {}
    for table, query in (("node", nodes), ("link", links)):
        rows = [row for row in connection.execute(query) if row.domain_id is not None]
        first_id = first_ids(connection, table, {row.domain_id for row in rows})
        for row in rows:
            if (carried_ppm := carried_bandwidth(PPM, condition_from_row(row))) < PPM:
                failures.setdefault(row.domain_id, []).append((table, row.id - first_id[row.domain_id], carried_ppm))
    return {domain: tuple(sorted(entries)) for domain, entries in failures.items()}


def first_ids(connection: Connection, name: str, domains: Collection[int]) -> dict[int, int]:
    """Return the lowest id in a table (``node`` or ``link``) of each of some domains."""
    table, ordered = TABLES[name], sorted(domains)
    query = select(table.c.domain_id, func.min(table.c.id)).group_by(table.c.domain_id)
    chunks = (ordered[offset : offset + _CHUNK_SIZE] for offset in range(0, len(ordered), _CHUNK_SIZE))
    return {
        domain: first_id
        for chunk in chunks
        for domain, first_id in connection.execute(query.where(table.c.domain_id.in_(chunk)))
    }


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
