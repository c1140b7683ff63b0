"""Determine in SQL whether chips are allocated, free or unusable.

GraphQL's `Chip.use`, the SQL view of chips and the service's metrics share these expressions.
"""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, func, literal_column, select, union

from trninv.database.tables import CARRYING_STATES, TABLES, is_unhealthy

CHIP_USE_MEANINGS: Final[Mapping[str, str]] = {
    "allocated": "It is allocated to a job, even if it is down.",
    "free": "A new job can get it: it is up or degraded, not allocated, and its server is not cordoned.",
    "unusable": "It is not allocated and can't be: it is down or in maintenance, or its server is cordoned.",
}
Sql = ColumnElement[Any]
_ALLOCATED, _FREE, _UNUSABLE = CHIP_USE_MEANINGS
_node, _chip, _cluster = TABLES["node"], TABLES["chip"], TABLES["cluster"]
_allocation, _cordon = TABLES["allocation"].alias("allocated_now"), TABLES["cordon"].alias("cordoned_now")


def is_allocated(chip: Sql = _chip.c.id) -> ColumnElement[bool]:
    """Return the condition that a chip is allocated, by the chip's id."""
    open_allocation = _allocation.c.chip_id == chip, _allocation.c.ended_at.is_(None)
    return select(literal_column("1")).where(*open_allocation).correlate_except(_allocation).exists()


def takes_jobs(state: Sql = _node.c.state, server: Sql = _chip.c.server_id) -> ColumnElement[bool]:
    """Return the condition that a chip is up or degraded and its server is not cordoned."""
    open_cordon = _cordon.c.server_id == server, _cordon.c.ended_at.is_(None)
    is_cordoned = select(literal_column("1")).where(*open_cordon).correlate_except(_cordon).exists()
    return and_(state.in_([literal_column(f"'{carrying}'") for carrying in CARRYING_STATES]), ~is_cordoned)


def chip_use() -> ColumnElement[str]:
    """Return the use of a chip, in SQL, for a joined row of ``chip`` and ``node``."""
    uses: list[ColumnElement[str]] = [literal_column(f"'{use}'") for use in CHIP_USE_MEANINGS]
    allocated, free, unusable = uses
    return case((is_allocated(), allocated), (takes_jobs(), free), else_=unusable)


def chip_uses(connection: Connection, chips: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """Return the number of chips by cluster slug and use.

    Only unhealthy, cordoned and allocated chips are read; the others are free.

    Parameters
    ----------
    chips
        The number of all chips of each cluster, by its slug.
    """
    unhealthy = select(_node.c.id).where(is_unhealthy(_node))
    cordoned = select(_chip.c.id).join(_cordon, _cordon.c.server_id == _chip.c.server_id)
    ids = union(unhealthy, cordoned.where(_cordon.c.ended_at.is_(None)))
    is_unusable = and_(_chip.c.id.in_(ids), chip_use() == literal_column(f"'{_UNUSABLE}'"))
    is_allocated_now = _chip.c.id.in_(select(_allocation.c.chip_id).where(_allocation.c.ended_at.is_(None)))
    use_counts: dict[tuple[str, str], int] = {}
    for use, condition in ((_ALLOCATED, is_allocated_now), (_UNUSABLE, is_unusable)):
        query = select(_cluster.c.slug, func.count()).select_from(_chip).join(_node, _node.c.id == _chip.c.id)
        query = query.join(_cluster, _cluster.c.id == _node.c.cluster_id).where(condition).group_by(_cluster.c.slug)
        counts: dict[str, Any] = dict(map(tuple, connection.execute(query)))
        use_counts |= {(slug, use): counts.get(slug, 0) for slug in chips}
    free_counts = {
        slug: count - use_counts[slug, _ALLOCATED] - use_counts[slug, _UNUSABLE] for slug, count in chips.items()
    }
    return use_counts | {(slug, _FREE): count for slug, count in free_counts.items()}
