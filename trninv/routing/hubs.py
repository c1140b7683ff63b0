"""Group a cluster's network nodes into hubs, and find the links between the hubs.

An uplink joins a network node to the one above it. If it carries at least as much as all links below the lower node, it
never limits traffic, so the two nodes belong to one hub. A healthy fabric is one hub. A fabric with failures, or an
observed fabric with several nodes at its top, may be several hubs. A narrow uplink, which carries less than the links
below the lower node, joins two hubs; a failed uplink joins nothing. `trninv.routing.cluster_islands` bisects clusters
by their hubs.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, select

from trninv import solvers
from trninv.database.tables import CARRYING_STATES, TABLES
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.state.condition import PPM, Condition, carried_bandwidth
from trninv.routing.answer import LinkRef
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.snapshot import Snapshot
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.hubs import NarrowUplink


@dataclass(frozen=True, slots=True)
class _Fabric:
    """The fabric of a cluster as the tables describe it, without a scenario.

    Attributes
    ----------
    nodes
        Condition of each network node.
    uplinks
        Rows of ``link`` from a network node (``a_id``) to the one above it (``b_id``).
    capacity_below
        Nominal capacity of the links below each network node that carry traffic, in bytes per second.

    """

    nodes: Mapping[int, Condition]
    uplinks: Sequence[Any]
    capacity_below: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Hubs:
    """A cluster's network nodes grouped into hubs.

    Attributes
    ----------
    hub_by_node
        The hub of each network node that carries traffic, by node id; a hub's id is the lowest of its nodes' ids.
    narrow_links
        The narrow uplinks that join different hubs.
    domains
        Ids of the domains with an uplink to a network node outside the first hub, which has the most network nodes.

    """

    hub_by_node: Mapping[int, int]
    narrow_links: "Sequence[NarrowUplink]"
    domains: Collection[int]


def find_hubs(snapshot: Snapshot, cluster: int) -> Hubs:
    """Return a cluster's hubs, with the snapshot's scenario applied."""
    if not snapshot.changes.network_nodes:  # changes within domains do not affect the hubs
        return snapshot.cached(("hubs", cluster), lambda: _group_into_hubs(snapshot, cluster, ScenarioChanges()))
    return _group_into_hubs(snapshot, cluster, snapshot.changes)


def _group_into_hubs(snapshot: Snapshot, cluster: int, changes: ScenarioChanges) -> Hubs:
    """Return a cluster's hubs with some changes applied."""
    fabric = snapshot.cached(("fabric", cluster), lambda: _read_fabric(snapshot.connection, cluster))
    capacity_ppm = {
        node: _capacity_ppm(condition) * changes.nodes.get(node, PPM) // PPM for node, condition in fabric.nodes.items()
    }
    wide_uplinks, narrow_uplinks = list[tuple[int, int]](), list[tuple[int, tuple[int, int], int]]()
    for row in fabric.uplinks:
        ends = row.a_id, row.b_id
        conditions = Condition(row.state, row.factor_ppm), *(fabric.nodes[end] for end in ends)
        scenario_ppm = changes.link_capacity_ppm(row.id, *ends)
        capacity = carried_bandwidth(row.bandwidth_bytes_per_s, *conditions) * scenario_ppm // PPM
        if capacity >= fabric.capacity_below.get(row.a_id, 0) * capacity_ppm[row.a_id] // PPM and capacity:
            wide_uplinks.append(ends)
        elif capacity:
            narrow_uplinks.append((row.id, ends, capacity))
    groups = solvers.hubs.group_connected([node for node, factor in capacity_ppm.items() if factor], wide_uplinks)
    hub_by_node = {node: group[0] for group in groups for node in group}
    outside_first_hub = sorted(fabric.nodes.keys() - set(groups[0] if groups else ()))
    narrow_links = [
        solvers.hubs.NarrowUplink(link, (hub_by_node[a], hub_by_node[b]), capacity)
        for link, (a, b), capacity in narrow_uplinks
        if hub_by_node[a] != hub_by_node[b]
    ]
    domains = _domains_below(snapshot.connection, outside_first_hub) if outside_first_hub else frozenset[int]()
    return Hubs(hub_by_node, narrow_links, domains)


def _capacity_ppm(condition: Condition) -> int:
    """Return the millionths of its capacity that a node in some condition carries."""
    return (condition.factor_ppm or PPM) if condition.carries else 0


def _read_fabric(connection: Connection, cluster: int) -> _Fabric:
    node, link = TABLES["node"], TABLES["link"]
    below = select(func.sum(link.c.bandwidth_bytes_per_s)).where(
        link.c.b_id == node.c.id, link.c.state.in_(CARRYING_STATES)
    )
    in_cluster = node.c.cluster_id == cluster, node.c.kind == "network_node"
    # a scalar subquery per node instead of GROUP BY, which would sort all links
    query = select(node.c.id, node.c.state, node.c.factor_ppm, below.scalar_subquery().label("capacity_below")).where(
        *in_cluster
    )
    rows = connection.execute(query).all()
    uplinks = connection.execute(select(link).join(node, node.c.id == link.c.a_id).where(*in_cluster)).all()
    return _Fabric(
        {row.id: Condition(row.state, row.factor_ppm) for row in rows},
        uplinks,
        {row.id: int(row.capacity_below or 0) for row in rows},
    )


def _domains_below(connection: Connection, nodes: Collection[int]) -> frozenset[int]:
    """Return the ids of the domains with a NIC linked to one of some network nodes."""
    link = TABLES["link"]
    query = select(link.c.domain_id).distinct().where(link.c.b_id.in_(nodes), link.c.domain_id.is_not(None))
    return frozenset(connection.scalars(query))


def uplinks_between(snapshot: Snapshot, cluster_hubs: Hubs, links: Collection[int]) -> list[LinkRef]:
    """Return the narrow uplinks between hubs whose ids are in ``links``, in the order of their ids."""
    link, capacity_by_link = TABLES["link"], {uplink.link: uplink.capacity for uplink in cluster_hubs.narrow_links}
    rows = snapshot.connection.execute(select(link).where(link.c.id.in_(links)).order_by(link.c.id)).all()
    ends = {end for row in rows for end in (row.a_id, row.b_id)}
    query = node_addresses().where(TABLES["node"].c.id.in_(ends))
    address_by_node = {row.id: row.address for row in snapshot.connection.execute(query)} if ends else {}
    return [
        LinkRef(row.id, address_by_node[row.a_id], address_by_node[row.b_id], Bandwidth(capacity_by_link[row.id]))
        for row in rows
    ]
