"""Check that the rows of ``binding`` are consistent with each other, for `trninv verify`.

A binding links a slot (a server's place in the design) to the instance or host that runs there. Ids have no gaps. A
binding ends because another one replaces it, which then starts at the same time, or because a person or the removal of
the cluster ends it. An open binding names an existing server by its current address.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Select, and_, func, or_, select

from trninv.database.tables import BINDING_END_MEANINGS, TABLES, shared_alias
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.state.replay import MAX_EXAMPLES, HistoryMismatch

_BINDING, _SERVER, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("binding", "server", "domain", "cluster"))
_NEXT = shared_alias(_BINDING, "next")
"""The binding that may have replaced another."""
_WITHOUT_SUCCESSOR = ("undone", "unseeded")
"""The values of ``ending`` for bindings that no other one replaced."""


def binding_problems(connection: Connection) -> Iterator[HistoryMismatch]:
    """Yield at most one mismatch for all missing rows, and one for all rows that are inconsistent."""
    last_id, row_count = connection.execute(
        select(func.coalesce(func.max(_BINDING.c.id), 0), func.count(_BINDING.c.id))
    ).one()
    if last_id != row_count:
        yield HistoryMismatch("", "binding", "missing", f"{last_id - row_count} of {last_id} rows")
    inconsistent = [
        *connection.execute(_incomplete_ends()),
        *connection.execute(_missing_successors()),
        *connection.execute(_wrong_addresses()),
    ]
    if inconsistent:
        listed = "; ".join(
            f"{row.instance or row.host} in {row.address} since {row.started_at}" for row in inconsistent[:MAX_EXAMPLES]
        )
        more = "; …" if len(inconsistent) > MAX_EXAMPLES else ""
        message = f"{len(inconsistent)} inconsistent rows: {listed}{more}"
        yield HistoryMismatch("", "binding", "changed", message)


def _incomplete_ends() -> Select[Any]:
    """Select rows with some but not all of the columns that ending a binding writes, or with an unknown ending."""
    ends = (_BINDING.c.ended_at, _BINDING.c.ending, _BINDING.c.ended_by)
    is_open = and_(*(column.is_(None) for column in ends))
    is_over = and_(*(column.is_not(None) for column in ends), _BINDING.c.ending.in_(tuple(BINDING_END_MEANINGS)))
    return select(_BINDING).where(~or_(is_open, is_over)).order_by(_BINDING.c.id)


def _missing_successors() -> Select[Any]:
    """Select rows that ended because of another binding, where that other one is missing."""
    shares_name = (_NEXT.c[name] == _BINDING.c[name] for name in ("server_id", "instance", "host"))
    follows = select(_NEXT.c.id).where(
        _NEXT.c.id > _BINDING.c.id, _NEXT.c.started_at == _BINDING.c.ended_at, or_(*shares_name)
    )
    return (
        select(_BINDING).where(_BINDING.c.ending.not_in(_WITHOUT_SUCCESSOR), ~follows.exists()).order_by(_BINDING.c.id)
    )


def _wrong_addresses() -> Select[Any]:
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
