"""Digest the state that a move plan depends on, and refuse a plan that was made for another state.

The state is the allocations, pinned jobs, cordons, reservations and unhealthy parts of a cluster. Its digest is the
plan's revision: `trninv make-room` prints it, and carrying the plan out compares it with the revision at that time.

Allocations are not read one by one. A new row of ``allocation`` gets an id above all others, ends once, and otherwise
never changes. So the highest id and the number of the open rows identify them within one database: the highest id grows
while any newer row is open; without newer rows, each row that ended makes the number smaller.
"""

from collections.abc import Iterator
from hashlib import sha256

from sqlalchemy import Connection, Executable, func, select

from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import TABLES, is_unhealthy
from trninv.errors import StalePlanError

_T = TABLES


def plan_revision(connection: Connection, cluster: int) -> str:
    """Return a digest that is equal for equal states of a cluster (its id), in any process."""
    job, cordon_table, reservation, server, domain, node, link = (
        _T[name] for name in ("job", "cordon", "reservation", "server", "domain", "node", "link")
    )
    # With "+ 0" the database uses the index of the few unhealthy nodes, not those of the cluster's millions of nodes.
    in_cluster = node.c.cluster_id + 0 == cluster
    cordoned_servers = select(cordon_table.c.server_id).join(server, server.c.id == cordon_table.c.server_id)
    queries = (
        *_allocation_queries(cluster),
        select(job.c.id)
        .where(job.c.ended_at.is_(None), job.c.cluster_id == cluster, job.c.pinned == 1)
        .order_by(job.c.id),
        cordoned_servers.join(domain, domain.c.id == server.c.domain_id)
        .where(cordon_table.c.ended_at.is_(None), domain.c.cluster_id == cluster)
        .order_by(cordon_table.c.server_id),
        select(reservation.c.id)
        .where(reservation.c.ended_at.is_(None), reservation.c.cluster_id == cluster)
        .order_by(reservation.c.id),
        select(node.c.id, node.c.state, node.c.factor_ppm)
        .where(is_unhealthy(node), maybe_unhealthy(connection, node), in_cluster)
        .order_by(node.c.id + 0),
        select(link.c.id, link.c.state, link.c.factor_ppm)
        .join(node, node.c.id == link.c.a_id)
        .where(is_unhealthy(link), maybe_unhealthy(connection, link), in_cluster)
        .order_by(link.c.id + 0),
    )
    digest = sha256()
    for query in queries:
        for row in connection.execute(query):
            digest.update(repr(tuple(row)).encode())
        digest.update(b";")
    return digest.hexdigest()[:16]


def _allocation_queries(cluster: int) -> Iterator[Executable]:
    """Yield queries whose results identify all open allocations: chips by domain, their number and the highest id."""
    allocation, node, domain, allocated_bits = (
        _T[name] for name in ("allocation", "node", "domain", "domain_allocated")
    )
    yield (
        select(allocated_bits)
        .join(domain, domain.c.id == allocated_bits.c.id)
        .where(domain.c.cluster_id == cluster)
        .order_by(allocated_bits.c.id)
    )
    chips = node.c.cluster_id == cluster, node.c.kind == "chip"
    first, last = (select(extreme(node.c.id)).where(*chips) for extreme in (func.min, func.max))
    in_cluster = allocation.c.chip_id.between(first.scalar_subquery(), last.scalar_subquery())
    yield select(func.count(), func.max(allocation.c.id)).where(allocation.c.ended_at.is_(None), in_cluster)


def require_plan_revision(connection: Connection, cluster: int, expected: str) -> None:
    """Refuse a plan that was made for another state; call it inside the transaction that carries out the plan.

    Raises
    ------
    StalePlanError

    """
    if (current := plan_revision(connection, cluster)) != expected:
        raise StalePlanError(f"the plan has revision {expected[:40]}, but the fleet is at {current}; make a new plan")
