"""The revision that a plan is of: a digest of who holds what in a cluster, and of what is closed or not up.

Rows of ``allocation`` begin with a new id, end once, and change in nothing else. So of one database the newest that has
not ended and their number tell any two sets of them apart: whatever began since has a higher id, and if none of it is
left, as many as before are the same ones. They are counted in the index of held chips, and not read one by one.
"""

from collections.abc import Iterator
from hashlib import sha256

from sqlalchemy import Connection, Executable, func, select

from trninv.errors import StalePlanError
from trninv.inventory.past import among_lost
from trninv.inventory.schema import TABLES, is_not_up

_T = TABLES


def revision(connection: Connection, cluster: int) -> str:
    """Equal for equal states of a cluster, whichever process asks."""
    job, closing, server, domain, node, link = (
        _T[name] for name in ("job", "closing", "server", "domain", "node", "link")
    )
    here = node.c.cluster_id + 0 == cluster  # the few that are not up go first, not the cluster's millions
    ours = select(closing.c.server_id).join(server, server.c.id == closing.c.server_id)
    parts = (
        *_held(cluster),
        select(job.c.id)
        .where(job.c.ended.is_(None), job.c.cluster_id == cluster, job.c.pinned == 1)
        .order_by(job.c.id),
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


def _held(cluster: int) -> Iterator[Executable]:
    """What tells apart who holds which chips: the held ones by domain, the newest holding, and how many there are."""
    allocation, node, domain, held = (_T[name] for name in ("allocation", "node", "domain", "domain_held"))
    yield select(held).join(domain, domain.c.id == held.c.id).where(domain.c.cluster_id == cluster).order_by(held.c.id)
    chips = node.c.cluster_id == cluster, node.c.kind == "chip"
    first, last = (select(end(node.c.id)).where(*chips) for end in (func.min, func.max))
    here = allocation.c.chip_id.between(first.scalar_subquery(), last.scalar_subquery())
    yield select(func.count(), func.max(allocation.c.id)).where(allocation.c.ended.is_(None), here)


def require(connection: Connection, cluster: int, wanted: str) -> None:
    """Refuse what was planned for another state; nothing may change it while the connection's transaction writes.

    Raises
    ------
    StalePlanError

    """
    if (found := revision(connection, cluster)) != wanted:
        raise StalePlanError(f"the plan is of revision {wanted[:40]}, the fleet is at {found}: ask for a new plan")
