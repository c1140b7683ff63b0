"""Digest the state that a plan depends on, and refuse a plan of another state.

Rows of ``allocation`` start with a new id, end once, and otherwise never change. Within one database, the newest open
row and the number of open rows therefore identify the set: a later row has a higher id, and if none is open, the same
number means the same rows. They are counted in the index of allocated chips, not read one by one.
"""

from collections.abc import Iterator
from hashlib import sha256

from sqlalchemy import Connection, Executable, func, select

from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import TABLES, is_unhealthy
from trninv.errors import StalePlanError

_T = TABLES


def plan_revision(connection: Connection, cluster: int) -> str:
    """Return a digest that is equal for equal states of a cluster, in any process."""
    job, cordon_table, server, domain, node, link = (
        _T[name] for name in ("job", "cordon", "server", "domain", "node", "link")
    )
    in_cluster = (
        node.c.cluster_id + 0 == cluster
    )  # use the index of the few unhealthy nodes, not the cluster's millions
    cordoned_servers = select(cordon_table.c.server_id).join(server, server.c.id == cordon_table.c.server_id)
    queries = (
        *_digest_queries(cluster),
        select(job.c.id)
        .where(job.c.ended_at.is_(None), job.c.cluster_id == cluster, job.c.pinned == 1)
        .order_by(job.c.id),
        cordoned_servers.join(domain, domain.c.id == server.c.domain_id)
        .where(cordon_table.c.ended_at.is_(None), domain.c.cluster_id == cluster)
        .order_by(cordon_table.c.server_id),
        select(node.c.id, node.c.state, node.c.factor_ppm)
        .where(is_unhealthy(node), maybe_unhealthy(connection, node), in_cluster)
        .order_by(node.c.id),
        select(link.c.id, link.c.state, link.c.factor_ppm)
        .join(node, node.c.id == link.c.a_id)
        .where(is_unhealthy(link), maybe_unhealthy(connection, link), in_cluster)
        .order_by(link.c.id),
    )
    digest = sha256()
    for query in queries:
        for row in connection.execute(query):
            digest.update(repr(tuple(row)).encode())
        digest.update(b";")
    return digest.hexdigest()[:16]


def _digest_queries(cluster: int) -> Iterator[Executable]:
    """Return what identifies all allocations: chips by domain, the newest allocation and their number."""
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
    first, last = (select(end(node.c.id)).where(*chips) for end in (func.min, func.max))
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
