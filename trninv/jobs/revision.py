"""The revision that a plan is of: a digest of who holds what in a cluster, and of what is closed or not up."""

from hashlib import sha256

from sqlalchemy import Connection, select

from trninv.errors import StalePlanError
from trninv.inventory.past import among_lost
from trninv.inventory.schema import TABLES, is_not_up

_T = TABLES


def revision(connection: Connection, cluster: int) -> str:
    """Equal for equal states of a cluster, whichever process asks."""
    job, allocation, closing, server, domain, node, link = (
        _T[name] for name in ("job", "allocation", "closing", "server", "domain", "node", "link")
    )
    here = node.c.cluster_id + 0 == cluster  # the few that are not up go first, not the cluster's millions
    live = job.c.ended.is_(None), job.c.cluster_id == cluster
    held = select(allocation.c.chip_id, allocation.c.job_id, allocation.c.role).join(
        job, job.c.id == allocation.c.job_id
    )
    ours = select(closing.c.server_id).join(server, server.c.id == closing.c.server_id)
    parts = (
        held.where(*live, allocation.c.ended.is_(None)).order_by(allocation.c.chip_id),
        select(job.c.id, job.c.pinned).where(*live).order_by(job.c.id),
        ours.join(domain, domain.c.id == server.c.domain_id)
        .where(closing.c.until.is_(None), domain.c.cluster_id == cluster)
        .order_by(closing.c.server_id),
        select(node.c.id, node.c.state, node.c.factor_ppm)
        .where(is_not_up(node), among_lost(connection, node), here)
        .order_by(node.c.id),
        select(link.c.id, link.c.state, link.c.factor_ppm)
        .join(node, node.c.id == link.c.a_id)
        .where(is_not_up(link), among_lost(connection, link), here)
        .order_by(link.c.id),
    )
    digest = sha256()
    for part in parts:
        for row in connection.execute(part):
            digest.update(repr(tuple(row)).encode())
        digest.update(b";")
    return digest.hexdigest()[:16]


def require(connection: Connection, cluster: int, wanted: str) -> None:
    """Refuse what was planned for another state; nothing may change it while the connection's transaction writes.

    Raises
    ------
    StalePlanError

    """
    if (found := revision(connection, cluster)) != wanted:
        raise StalePlanError(f"the plan is of revision {wanted[:40]}, the fleet is at {found}: ask for a new plan")
