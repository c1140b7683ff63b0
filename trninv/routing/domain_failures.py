"""Read each domain's failures in local numbers, and compute what its chips can still send to the fabric.

The ids of a domain's nodes are consecutive, and so are those of its links. A local number counts from the first id, so
the same failure pattern applied to any healthy domain of the model gives the same wiring. `cluster_islands` and
`cluster_overview` therefore need to read only one domain per failure pattern.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, func, select

from trninv.database.as_of import maybe_unhealthy
from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES, is_unhealthy
from trninv.inventory.address.expressions import node_address_expression
from trninv.inventory.state.condition import PPM, carried_bandwidth, carried_bandwidth_expression, condition_from_row
from trninv.routing.answer import LinkRef
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.wiring import Attributes, Wiring
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.islands import Island


FailurePattern = tuple[tuple[str, int, int], ...]
"""A domain's failures, sorted: "node" or "link", local number, and the millionths of its capacity that it carries."""


def failures_by_domain(connection: Connection, cluster_id: int) -> dict[int, FailurePattern]:
    """Return the failure pattern of each domain with a part that carries less than its full capacity, by domain id."""
    node, link = TABLES["node"], TABLES["link"]
    # + 0 keeps the database from using the index by cluster, which is slower than the index of the few unhealthy rows
    in_cluster = node.c.cluster_id + 0 == cluster_id
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


def add_scenario(
    connection: Connection, failures: Mapping[int, FailurePattern], changes: ScenarioChanges
) -> tuple[dict[int, FailurePattern], set[int]]:
    """Return the failure patterns with a scenario's changes, and the domains whose changes can't be part of a pattern.

    A scenario derates the present capacity, a pattern the full one. The two are the same in a healthy domain, and for
    parts that the scenario takes down. A domain with failures in which the scenario derates a part has no pattern.
    """
    domain_of: dict[tuple[str, int], int] = {}
    for name, ids in (("node", sorted(changes.nodes)), ("link", sorted(changes.links))):
        table = TABLES[name]
        for batch in batches(ids):
            in_batch = table.c.id.in_(batch), table.c.domain_id.is_not(None)
            rows = connection.execute(select(table.c.id, table.c.domain_id).where(*in_batch))
            domain_of.update(((name, row.id), row.domain_id) for row in rows)
    domains = set(domain_of.values())
    first_id = {name: first_ids(connection, name, domains) for name in ("node", "link")}
    changed: dict[int, dict[tuple[str, int], int]] = {domain: {} for domain in domains}
    for (name, part_id), domain in domain_of.items():
        carried_ppm = (changes.nodes if name == "node" else changes.links)[part_id]
        changed[domain][name, part_id - first_id[name][domain]] = carried_ppm
    separate = {domain for domain in domains if domain in failures and any(changed[domain].values())}
    patterns = dict(failures)
    for domain in domains - separate:
        carried_by_part = {(name, number): carried_ppm for name, number, carried_ppm in failures.get(domain, ())}
        carried_by_part |= changed[domain]
        patterns[domain] = tuple(sorted((*part, carried_ppm) for part, carried_ppm in carried_by_part.items()))
    return patterns, separate


def first_ids(connection: Connection, name: str, domains: Collection[int]) -> dict[int, int]:
    """Return each domain's lowest id in a table, which is ``node`` or ``link``, by domain id."""
    table = TABLES[name]
    query = select(table.c.domain_id, func.min(table.c.id)).group_by(table.c.domain_id)
    return {
        domain: first_id
        for batch in batches(sorted(domains))
        for domain, first_id in connection.execute(query.where(table.c.domain_id.in_(batch)))
    }


class _NicLink(NamedTuple):
    """A link of a NIC, with its ends and its capacity in bytes per second, one direction."""

    id: int
    endpoints: tuple[int, int]
    capacity: int

    def remaining_capacity(self, failures: ScenarioChanges) -> int:
        """Return the capacity that failures of the link or of its ends leave."""
        return self.capacity * failures.link_capacity_ppm(self.id, *self.endpoints) // PPM


class _PrivateNic(NamedTuple):
    """A NIC that only one chip uses: its link to the chip and its link to the network node."""

    chip: int
    chip_link: _NicLink
    uplink: _NicLink

    @property
    def part_ids(self) -> tuple[int, ...]:
        """Ids of the nodes that traffic through the NIC needs, and of the links, negated to differ from node ids."""
        return (*self.chip_link.endpoints, *self.uplink.endpoints, -self.chip_link.id, -self.uplink.id)


class DomainExits:
    """The capacity from each chip of a healthy domain to the fabric, and how failures reduce these capacities.

    ``wiring`` and ``island`` are those of the healthy domain.
    """

    def __init__(self, wiring: Wiring, island: "Island") -> None:
        self.wiring, self.island = wiring, island
        self._nics = _private_nics(wiring) if island.private_exits else None
        self._nics_by_part: dict[int, list[_PrivateNic]] = {}
        for nic in self._nics or ():
            for part in nic.part_ids:
                self._nics_by_part.setdefault(part, []).append(nic)

    def exit_capacities(self, failures: ScenarioChanges) -> dict[int, int] | None:
        """Return the bytes per second from each chip that is not down to the network node, one direction.

        Return None if the capacities have to be computed on the graph: there are no NICs, chips share them, or the
        failures affect every NIC, so that this method would save nothing.
        """
        degraded_nics = {
            nic
            for part in (*failures.nodes, *(-link for link in failures.links))
            for nic in self._nics_by_part.get(part, ())
        }
        if not self._nics or len(degraded_nics) == len(self._nics):
            return None
        capacities = dict(zip(self.island.chips, self.island.private_exits or (), strict=True))
        for nic in degraded_nics:
            capacities[nic.chip] += min(
                nic.chip_link.remaining_capacity(failures), nic.uplink.remaining_capacity(failures)
            ) - min(nic.chip_link.capacity, nic.uplink.capacity)
        down = failures.down
        return {chip: capacity for chip, capacity in capacities.items() if chip not in down}


def _private_nics(wiring: Wiring) -> list[_PrivateNic] | None:
    """Return every NIC of a wiring, or None if any NIC is not linked to exactly one chip and one network node."""
    nics = []
    for node, attributes in wiring.nodes.items():
        if attributes["kind"] == "nic":
            # the chip first: "chip" sorts before "network_node"
            neighbors = sorted(wiring.links[node], key=lambda neighbor: wiring.nodes[neighbor]["kind"])
            if [wiring.nodes[neighbor]["kind"] for neighbor in neighbors] != ["chip", "network_node"]:
                return None
            chip_link, uplink = (_nic_link(node, neighbor, wiring.links[node][neighbor]) for neighbor in neighbors)
            nics.append(_PrivateNic(neighbors[0], chip_link, uplink))
    return nics


def _nic_link(a: int, b: int, link: Attributes) -> _NicLink:
    return _NicLink(link["id"], (a, b), link["capacity"])


def read_uplinks(connection: Connection, domains: Collection[int]) -> dict[int, list[LinkRef]]:
    """Return the links from NICs to network nodes that carry traffic, by domain id and in the order of their ids."""
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
