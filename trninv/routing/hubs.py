"""Group a cluster's network nodes into hubs, and find the links that join the hubs.

An uplink that carries at least as much as all links below it never limits traffic, so its two network nodes count as
one hub. A healthy fabric is one hub. A fabric with failures, or an adopted one with several nodes at its top, may be
several hubs: a narrow uplink joins two hubs, a failed one does not.
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
from trninv.routing.wiring_cache import SnapshotReader
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.hubs import NarrowUplink

_T = TABLES


@dataclass(frozen=True, slots=True)
class _Fabric:
    """The fabric of a cluster as the tables have it, without a scenario.

    Attributes
    ----------
    nodes
        Condition of each network node.
    uplinks
        Rows of ``link`` that lead up from a network node.
    capacity_below
        Nominal capacity of the carrying links below each network node, in bytes per second.

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
        The hub of each network node that carries traffic, by node id; a hub is named by one of its nodes.
    narrow_links
        The links between hubs.
    domains
        Ids of the domains with an uplink to a network node outside the first hub.

    """

    hub_by_node: Mapping[int, int]
    narrow_links: "Sequence[NarrowUplink]"
    domains: Collection[int]


def find_hubs(reader: SnapshotReader, cluster: int) -> Hubs:
    """Return a cluster's hubs, with the reader's scenario applied."""
    if not reader.changes.network_nodes:
        return reader.cached(("hubs", cluster), lambda: _group_into_hubs(reader, cluster, ScenarioChanges()))
    return _group_into_hubs(reader, cluster, reader.changes)


def _group_into_hubs(reader: SnapshotReader, cluster: int, changes: ScenarioChanges) -> Hubs:
    fabric = reader.cached(("fabric", cluster), lambda: _fabric(reader.connection, cluster))
    capacity_ppm = {
        node: _capacity_ppm(condition) * changes.nodes.get(node, PPM) // PPM for node, condition in fabric.nodes.items()
    }
    wide, narrow = list[tuple[int, int]](), list[tuple[int, tuple[int, int], int]]()
    for row in fabric.uplinks:
        ends = row.a_id, row.b_id
        own = Condition(row.state, row.factor_ppm), *(fabric.nodes[end] for end in ends)
        carries = carried_bandwidth(row.bandwidth_bytes_per_s, *own) * changes.link_capacity_ppm(row.id, *ends) // PPM
        if carries >= fabric.capacity_below.get(row.a_id, 0) * capacity_ppm[row.a_id] // PPM and carries:
            wide.append(ends)
        elif carries:
            narrow.append((row.id, ends, carries))
    groups = solvers.hubs.group_connected([node for node, factor in capacity_ppm.items() if factor], wide)
    hub_by_node = {node: group[0] for group in groups for node in group}
    others = sorted(fabric.nodes.keys() - set(groups[0] if groups else ()))
    links = [
        solvers.hubs.NarrowUplink(link, (hub_by_node[a], hub_by_node[b]), carries)
        for link, (a, b), carries in narrow
        if hub_by_node[a] != hub_by_node[b]
    ]
    return Hubs(hub_by_node, links, _domains_below(reader.connection, others) if others else frozenset())


def _capacity_ppm(condition: Condition) -> int:
    """Return the millionths of its capacity that a node carries."""
    return (condition.factor_ppm or PPM) if condition.carries else 0


def _fabric(connection: Connection, cluster: int) -> _Fabric:
    node, link = _T["node"], _T["link"]
    below = select(func.sum(link.c.bandwidth_bytes_per_s)).where(
        link.c.b_id == node.c.id, link.c.state.in_(CARRYING_STATES)
    )
    in_cluster = node.c.cluster_id == cluster, node.c.kind == "network_node"
    # a scalar subquery per node instead of GROUP BY, which would sort all links
    query = select(node.c.id, node.c.state, node.c.factor_ppm, below.scalar_subquery().label("carries")).where(
        *in_cluster
    )
    rows = connection.execute(query).all()
    uplinks = connection.execute(select(link).join(node, node.c.id == link.c.a_id).where(*in_cluster)).all()
    return _Fabric(
        {row.id: Condition(row.state, row.factor_ppm) for row in rows},
        uplinks,
        {row.id: int(row.carries or 0) for row in rows},
    )


def _domains_below(connection: Connection, nodes: Collection[int]) -> frozenset[int]:
    link = _T["link"]
    query = select(link.c.domain_id).distinct().where(link.c.b_id.in_(nodes), link.c.domain_id.is_not(None))
    return frozenset(connection.scalars(query))


def uplinks_between(reader: SnapshotReader, cluster_hubs: Hubs, links: Collection[int]) -> list[LinkRef]:
    """Return links between hubs, chosen by id, as references with their capacity."""
    link, carries = _T["link"], {uplink.link: uplink.capacity for uplink in cluster_hubs.narrow_links}
    rows = reader.connection.execute(select(link).where(link.c.id.in_(links)).order_by(link.c.id)).all()
    ends = {end for row in rows for end in (row.a_id, row.b_id)}
    query = node_addresses().where(_T["node"].c.id.in_(ends))
    address_by_node = {row.id: row.address for row in reader.connection.execute(query)} if ends else {}
    return [
        LinkRef(row.id, address_by_node[row.a_id], address_by_node[row.b_id], Bandwidth(carries[row.id]))
        for row in rows
    ]
