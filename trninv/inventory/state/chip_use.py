"""Determine in SQL whether chips are allocated, free or unusable.

GraphQL's `Chip.use`, the SQL view of chips and the service's metrics share these expressions.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, cast, func, literal_column, select

from trninv.database.sql_constructs import OrderedJoin
from trninv.database.tables import BIGINT, CARRYING_STATES, TABLES

CHIP_USE_MEANINGS: Final[Mapping[str, str]] = {
    "allocated": "It is allocated to a job, even if it is down.",
    "free": "A new job can get it unless it is reserved: it is up or degraded, not allocated, on no cordoned server.",
    "unusable": "It is not allocated and can't be: it is down or in maintenance, or its server is cordoned.",
}
Sql = ColumnElement[Any]
_ALLOCATED, _FREE, _UNUSABLE = CHIP_USE_MEANINGS
_node, _chip, _cluster = TABLES["node"], TABLES["chip"], TABLES["cluster"]
_count, _cordoned = TABLES["part_count"], TABLES["cordon"]
_allocation, _cordon = TABLES["allocation"].alias("allocated_now"), _cordoned.alias("cordoned_now")


def is_allocated(chip: Sql = _chip.c.id) -> ColumnElement[bool]:
    """Return the condition that a chip is allocated, by the chip's id."""
    open_allocation = _allocation.c.chip_id == chip, _allocation.c.ended_at.is_(None)
    return select(literal_column("1")).where(*open_allocation).correlate_except(_allocation).exists()


def _carries(state: Sql) -> ColumnElement[bool]:
    return state.in_([literal_column(f"'{carrying}'") for carrying in CARRYING_STATES])


def takes_jobs(state: Sql = _node.c.state, server: Sql = _chip.c.server_id) -> ColumnElement[bool]:
    """Return the condition that a chip is up or degraded and its server is not cordoned."""
    open_cordon = _cordon.c.server_id == server, _cordon.c.ended_at.is_(None)
    is_cordoned = select(literal_column("1")).where(*open_cordon).correlate_except(_cordon).exists()
    return and_(_carries(state), ~is_cordoned)


def chip_use() -> ColumnElement[str]:
    """Return the use of a chip, in SQL, for a joined row of ``chip`` and ``node``."""
    uses: list[ColumnElement[str]] = [literal_column(f"'{use}'") for use in CHIP_USE_MEANINGS]
    allocated, free, unusable = uses
    return case((is_allocated(), allocated), (takes_jobs(), free), else_=unusable)


def chip_uses(connection: Connection) -> dict[tuple[str, str], int]:
    """Return the number of chips by cluster slug and use.

    All come from ``part_count``, except for the chips of cordoned servers, which are read.
    """
    use_counts = dict.fromkeys(product(connection.scalars(_CLUSTERS), CHIP_USE_MEANINGS), 0)
    for slug, kind, state, number in connection.execute(_CHIPS_BY_STATE):
        use = _FREE if state in CARRYING_STATES else _UNUSABLE
        is_chip = kind == "chip"
        use_counts[slug, use] += number if is_chip else -number
        use_counts[slug, _ALLOCATED] += 0 if is_chip else number
    for slug, number in connection.execute(_CORDONED_CHIPS):
        use_counts[slug, _FREE] -= number
        use_counts[slug, _UNUSABLE] += number
    return use_counts


_CLUSTERS: Final = select(_cluster.c.slug).order_by(_cluster.c.id)
_CHIPS_BY_STATE: Final = (
    select(_cluster.c.slug, _count.c.kind, _count.c.state, cast(func.sum(_count.c.number), BIGINT))
    .join(_cluster, _cluster.c.id == _count.c.cluster_id)
    .where(_count.c.kind.in_([literal_column("'chip'"), literal_column("'allocation'")]))
    .group_by(_cluster.c.slug, _count.c.kind, _count.c.state)
)
_CORDONED_CHIPS: Final = (
    select(_cluster.c.slug, func.count())
    # cordons first: they are few
    .select_from(OrderedJoin(_cordoned, _chip, _chip.c.server_id == _cordoned.c.server_id))
    .join(_node, _node.c.id == _chip.c.id)
    .join(_cluster, _cluster.c.id == _node.c.cluster_id)
    .where(_cordoned.c.ended_at.is_(None), ~is_allocated(), _carries(_node.c.state))
    .group_by(_cluster.c.slug)
)
"""Counts the chips that would be free if their servers were not cordoned."""
