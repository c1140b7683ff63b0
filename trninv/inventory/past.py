"""The tables as they were: an engine with a moment sees the states that held after an event.

What is read under the names of ``server``, ``node``, ``link`` and ``state_event`` is then a view that undoes what
happened since: a part's state is what its first event after the moment says was so before, and its own where there is
none. So whatever reads states reads those of the moment, SQL included, and nothing is copied.

On SQLite they are temporary views of the connection, made where a transaction begins and gone where it ends. PostgreSQL
has them in the schema ``trninv_past``, since neither a standby nor a transaction that only reads can make any; the
transaction has that schema on its path, and the event in the setting ``trninv.at``.

A condition on the state can't use an index then: `among_lost` narrows it to what may not have been up.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, Engine, Table, column, select, table, true

from trninv.inventory.schema import NODE_KINDS, TABLES

SCHEMA: Final = "trninv_past"
_MOMENT: Final = "moment"
_TIME: Final = "time_of_moment"
_PARTS: Final = ("server", "node", "link")
_BEFORE: Final = {
    "state": "before",
    "factor_ppm": "factor_ppm_before",
    "own_state": "own_before",
    "own_factor_ppm": "own_factor_ppm_before",
}
"""Columns of a part, and those of an event that tell what they were before it."""


def past(engine: Engine, event: int, time: datetime) -> Engine:
    """The same database, on the same connections, as it was after an event; the time is that of its answers."""
    found: Engine = engine.execution_options(**{_MOMENT: event, _TIME: time})
    return found


def time_of(engine: Engine) -> datetime | None:
    """When what an engine sees was the newest state; None: it still is."""
    found: datetime | None = engine.get_execution_options().get(_TIME)
    return found


def moment(of: Engine | Connection) -> int | None:
    """The event after which an engine or a connection sees the tables; None: the last one."""
    found: int | None = of.get_execution_options().get(_MOMENT)
    return found


def enter(connection: Connection) -> None:
    """Let a transaction that begins see the tables as they were, if its engine has a moment."""
    event = moment(connection)
    if event is None:
        return
    for statement in entering(connection.dialect.name, event):
        connection.exec_driver_sql(statement)


def entering(dialect: str, event: int) -> Iterator[str]:
    """Statements with which a transaction sees the tables as they were."""
    if dialect == "postgresql":
        yield (
            f"SELECT set_config('trninv.at', '{int(event)}', true), "
            f"set_config('search_path', '{SCHEMA}, ' || current_setting('search_path'), true)"
        )
        return
    for name, query in _views("main", str(int(event))):
        yield f"CREATE TEMP VIEW {name} AS {query}"


def creating() -> Iterator[str]:
    """Statements that create PostgreSQL's schema of the past, with what is read in place of tables."""
    yield f"CREATE SCHEMA {SCHEMA}"
    for name, query in _views("", "current_setting('trninv.at')::int"):
        yield f"CREATE VIEW {SCHEMA}.{name} AS {query}"


def among_lost(connection: Connection, of: Table) -> ColumnElement[bool]:
    """A condition that every row meets which was not up, cheap to search by; none where the present is read."""
    if moment(connection) is None:
        return true()
    return of.c.id.in_(select(column("id")).select_from(table(f"lost_{of.name}", column("id"))))


def _views(schema: str, at: str) -> Iterator[tuple[str, str]]:
    prefix = schema and f"{schema}."
    for name in _PARTS:
        yield name, _part(name, prefix, at)
        yield f"lost_{name}", _lost(name, prefix, at)
    yield "state_event", f"SELECT * FROM {prefix}state_event WHERE id <= {at}"  # noqa: S608 # names of ours


def _part(name: str, prefix: str, at: str) -> str:
    kind = "part.kind" if name == "node" else f"'{name}'"
    first = f"FROM {prefix}state_event AS e WHERE e.kind = {kind} AND e.part_id = part.id AND e.id > {at}"

    def read(column: str) -> str:
        if column not in _BEFORE:
            return f"part.{column}"
        before = f"(SELECT e.{_BEFORE[column]} {first} ORDER BY e.id LIMIT 1)"
        if column == "state":
            return f"coalesce({before}, part.state) AS state"
        return f"CASE WHEN EXISTS (SELECT 1 {first}) THEN {before} ELSE part.{column} END AS {column}"

    columns = ", ".join(read(each.name) for each in TABLES[name].c)
    return f"SELECT {columns} FROM {prefix}{name} AS part"  # noqa: S608 # names of ours


def _lost(name: str, prefix: str, at: str) -> str:
    """Ids of what is not up now, and of what was not before its first event since; read in the order of events."""
    kinds = ", ".join(f"'{kind}'" for kind in (NODE_KINDS if name == "node" else (name,)))
    return (
        f"SELECT part_id AS id FROM {prefix}state_event "  # noqa: S608 # names of ours
        f"WHERE id > {at} AND before <> 'up' AND coalesce(previous_id, 0) <= {at} AND kind || '' IN ({kinds}) "
        f"UNION ALL SELECT id FROM {prefix}{name} WHERE state <> 'up'"
    )
