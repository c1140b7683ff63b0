"""The hubs of a cluster's fabric: which network nodes act as one, and what joins them.

An uplink that carries at least what is below it never limits anything, so it makes two network nodes one hub. An intact
fabric is one hub. One that is damaged, or was adopted and has several nodes on top, is several: a narrow uplink joins
two of them, one that is down none.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, select

from trninv import solvers
from trninv.inventory.address import node_addresses
from trninv.inventory.schema import CARRYING_STATES, TABLES
from trninv.inventory.state import PPM, Condition, carried_bandwidth
from trninv.routing.answer import LinkRef
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.wiring import SnapshotReader
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.hubs import Narrow

_T = TABLES


@dataclass(frozen=True, slots=True)
class _Fabric:
    """Network nodes, their uplinks (rows of ``link``), and what those links carry at most that lead up to each."""

    nodes: Mapping[int, Condition]
    uplinks: Sequence[Any]
    below: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Hubs:
    """Network nodes as hubs.

    Attributes
    ----------
    of
        The hub of each network node that is up.
    narrow
        The links between hubs.
    domains
        Domains that have a NIC below a network node that is not of the hub of most network nodes.

    """

    of: Mapping[int, int]
    narrow: "Sequence[Narrow]"
    domains: Collection[int]


def hubs(reader: SnapshotReader, cluster: int) -> Hubs:
    """Return a cluster's hubs, with what the reader supposes."""
    supposed = frozenset(reader.changes.network_nodes)
    if not supposed:
        return reader.cached(("hubs", cluster), lambda: _hubs(reader, cluster, ScenarioChanges()))
    return _hubs(reader, cluster, reader.changes)


def _hubs(reader: SnapshotReader, cluster: int, changes: ScenarioChanges) -> Hubs:
    fabric = reader.cached(("fabric", cluster), lambda: _fabric(reader.connection, cluster))
    left = {node: _left(condition) * changes.nodes.get(node, PPM) // PPM for node, condition in fabric.nodes.items()}
    wide, narrow = list[tuple[int, int]](), list[tuple[int, tuple[int, int], int]]()
    for row in fabric.uplinks:
        ends = row.a_id, row.b_id
        own = Condition(row.state, row.factor_ppm), *(fabric.nodes[end] for end in ends)
        carries = carried_bandwidth(row.bandwidth_bytes_per_s, *own) * changes.link_capacity_ppm(row.id, *ends) // PPM
        if carries >= fabric.below.get(row.a_id, 0) * left[row.a_id] // PPM and carries:
            wide.append(ends)
        elif carries:
            narrow.append((row.id, ends, carries))
    groups = solvers.hubs.together([node for node, factor in left.items() if factor], wide)
    of = {node: group[0] for group in groups for node in group}
    others = sorted(fabric.nodes.keys() - set(groups[0] if groups else ()))
    links = [solvers.hubs.Narrow(link, (of[a], of[b]), carries) for link, (a, b), carries in narrow if of[a] != of[b]]
    return Hubs(of, links, _domains_below(reader.connection, others) if others else frozenset())


def _left(condition: Condition) -> int:
    """Return the millionths that a node carries."""
    return (condition.factor_ppm or PPM) if condition.carries else 0


def _fabric(connection: Connection, cluster: int) -> _Fabric:
    node, link = _T["node"], _T["link"]
    below = select(func.sum(link.c.bandwidth_bytes_per_s)).where(
        link.c.b_id == node.c.id, link.c.state.in_(CARRYING_STATES)
    )
    ours = node.c.cluster_id == cluster, node.c.kind == "network_node"
    # a sum for each, so that nothing has to be sorted
    query = select(node.c.id, node.c.state, node.c.factor_ppm, below.scalar_subquery().label("carries")).where(*ours)
    rows = connection.execute(query).all()
    uplinks = connection.execute(select(link).join(node, node.c.id == link.c.a_id).where(*ours)).all()
    return _Fabric(
        {row.id: Condition(row.state, row.factor_ppm) for row in rows},
        uplinks,
        {row.id: int(row.carries or 0) for row in rows},
    )


def _domains_below(connection: Connection, nodes: Collection[int]) -> frozenset[int]:
    link = _T["link"]
    query = select(link.c.domain_id).distinct().where(link.c.b_id.in_(nodes), link.c.domain_id.is_not(None))
    return frozenset(connection.scalars(query))


def uplinks_between(reader: SnapshotReader, found: Hubs, links: Collection[int]) -> list[LinkRef]:
    """Return links between hubs as an answer names them."""
    link, carries = _T["link"], {each.link: each.carries for each in found.narrow}
    rows = reader.connection.execute(select(link).where(link.c.id.in_(links)).order_by(link.c.id)).all()
    ends = {end for row in rows for end in (row.a_id, row.b_id)}
    query = node_addresses().where(_T["node"].c.id.in_(ends))
    named = {row.id: row.address for row in reader.connection.execute(query)} if ends else {}
    return [LinkRef(row.id, named[row.a_id], named[row.b_id], Bandwidth(carries[row.id])) for row in rows]
