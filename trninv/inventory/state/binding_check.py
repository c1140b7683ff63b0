"""Check that the rows of bindings can follow each other.

Ids have no gaps. A binding ends because another one replaces it, which then begins at that time, or because a person or
the removal of the cluster ends it. An open binding is of an existing server, under its address.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Select, and_, func, or_, select

from trninv.database.tables import BINDING_END_MEANINGS, TABLES
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.state.replay import MAX_EXAMPLES, HistoryMismatch

_BINDING, _SERVER, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("binding", "server", "domain", "cluster"))
_NEXT = _BINDING.alias("next")
_WITHOUT_SUCCESSOR = ("undone", "unseeded")
"""Endings that no other binding follows."""


def binding_problems(connection: Connection) -> Iterator[HistoryMismatch]:
    """Yield the rows that cannot follow from the others."""
    last, number = connection.execute(
        select(func.coalesce(func.max(_BINDING.c.id), 0), func.count(_BINDING.c.id))
    ).one()
    if last != number:
        yield HistoryMismatch("", "binding", "missing", f"{last - number} of {last} rows")
    wrong = [
        *connection.execute(_incomplete_ends()),
        *connection.execute(_missing_successors()),
        *connection.execute(_misplaced()),
    ]
    if wrong:
        listed = "; ".join(
            f"{row.instance or row.host} in {row.address} since {row.started_at}" for row in wrong[:MAX_EXAMPLES]
        )
        more = "; …" if len(wrong) > MAX_EXAMPLES else ""
        message = f"{len(wrong)} rows that do not follow from the others: {listed}{more}"
        yield HistoryMismatch("", "binding", "changed", message)


def _incomplete_ends() -> Select[Any]:
    """Select rows with some but not all of the columns that ending a binding writes."""
    ends = (_BINDING.c.ended_at, _BINDING.c.ending, _BINDING.c.ended_by)
    is_open = and_(*(column.is_(None) for column in ends))
    is_over = and_(*(column.is_not(None) for column in ends), _BINDING.c.ending.in_(tuple(BINDING_END_MEANINGS)))
    return select(_BINDING).where(~or_(is_open, is_over)).order_by(_BINDING.c.id)


def _missing_successors() -> Select[Any]:
    """Select rows that another binding ended, where that other is missing."""
    same = (_NEXT.c[name] == _BINDING.c[name] for name in ("server_id", "instance", "host"))
    follows = select(_NEXT.c.id).where(
        _NEXT.c.id > _BINDING.c.id, _NEXT.c.started_at == _BINDING.c.ended_at, or_(*same)
    )
    return (
        select(_BINDING).where(_BINDING.c.ending.not_in(_WITHOUT_SUCCESSOR), ~follows.exists()).order_by(_BINDING.c.id)
    )


def _misplaced() -> Select[Any]:
    """Select open rows whose server does not exist or has another address."""
    joined = _BINDING.outerjoin(_SERVER, _SERVER.c.id == _BINDING.c.server_id)
    joined = joined.outerjoin(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
    joined = joined.outerjoin(_CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id)
    address_differs = address_expression("server").is_distinct_from(_BINDING.c.address)
    return (
        select(_BINDING)
        .select_from(joined)
        .where(_BINDING.c.ended_at.is_(None), address_differs)
        .order_by(_BINDING.c.id)
    )
