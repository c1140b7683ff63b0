"""The tables as they were: an engine with a moment sees the states that held after an event.

What is read under the names of ``server``, ``node``, ``link`` and ``state_event`` is then a view that undoes what
happened since: a part's state is what its first event after the moment says was so before, and its own where there is
none. Jobs, what they hold, closed servers and bindings have times of their own: what began later is not there, and what
ended later has not ended. So whatever reads them reads those of the moment, SQL included, and nothing is copied.

On SQLite they are temporary views of the connection, made where a transaction begins and gone where it ends. PostgreSQL
has them in the schema ``trninv_past``, since neither a standby nor a transaction that only reads can make any; the
transaction has that schema on its path, the event in the setting ``trninv.at`` and the time in ``trninv.time``.

A condition on the state can't use an index then: `among_lost` narrows it to what may not have been up.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, Engine, Table, column, select, table, true

from trninv.inventory.held import WORDS
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
_LASTING: Final = {
    "job": ("began", "ended"),
    "allocation": ("began", "ended"),
    "closing": ("since", "until"),
    "binding": ("since", "until", "ending", "ended_by"),
}
"""Columns that say since when a row holds and until when, and those that go with its end."""


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
    for statement in entering(connection):
        connection.exec_driver_sql(statement)


def entering(of: Engine | Connection) -> Iterator[str]:
    """Statements with which a transaction sees the tables as they were, if there is a moment."""
    options = of.get_execution_options()
    if _MOMENT not in options:
        return
    event, time = int(options[_MOMENT]), options[_TIME].astimezone(UTC).isoformat(timespec="microseconds")
    if of.dialect.name == "postgresql":
        yield (
            f"SELECT set_config('trninv.at', '{event}', true), set_config('trninv.time', '{time}', true), "
            f"set_config('search_path', '{SCHEMA}, ' || current_setting('search_path'), true)"
        )
        return
    for name, query in _views("main", str(event), f"'{time}'"):
        yield f"CREATE TEMP VIEW {name} AS {query}"


def creating() -> Iterator[str]:
    """Statements that create PostgreSQL's schema of the past, with what is read in place of tables."""
    yield f"CREATE SCHEMA {SCHEMA}"
    for name, query in _views("", "current_setting('trninv.at')::int", "current_setting('trninv.time')"):
        yield f"CREATE VIEW {SCHEMA}.{name} AS {query}"


def among_lost(connection: Connection, of: Table) -> ColumnElement[bool]:
    """A condition that every row meets which was not up, cheap to search by; none where the present is read."""
    if moment(connection) is None:
        return true()
    return of.c.id.in_(select(column("id")).select_from(table(f"lost_{of.name}", column("id"))))


def _views(schema: str, at: str, time: str) -> Iterator[tuple[str, str]]:
    prefix = schema and f"{schema}."
    for name in _PARTS:
        yield name, _part(name, prefix, at)
        yield f"lost_{name}", _lost(name, prefix, at)
    yield "state_event", f"SELECT * FROM {prefix}state_event WHERE id <= {at}"  # noqa: S608 # names of ours
    for name, (began, ended, *more) in _LASTING.items():
        yield name, _lasting(name, began, [ended, *more], prefix, time)
    yield "domain_held", _held(prefix, time)


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


def _lasting(name: str, began: str, ends: Sequence[str], prefix: str, time: str) -> str:
    columns = ", ".join(
        f"CASE WHEN {ends[0]} <= {time} THEN {column.name} END AS {column.name}" if column.name in ends else column.name
        for column in TABLES[name].c
    )
    return f"SELECT {columns} FROM {prefix}{name} WHERE {began} <= {time}"  # noqa: S608 # names of ours


def _held(prefix: str, time: str) -> str:
    """The words of what was held: a chip that two jobs held in the same second counts once."""
    words = ", ".join(
        f"CAST(sum(CASE WHEN bit BETWEEN {low} AND {low + 63} THEN CAST(1 AS BIGINT) << (bit - {low}) ELSE 0 END) "
        f"AS BIGINT) AS held_{word}"
        for word, low in enumerate(range(0, 64 * WORDS, 64))
    )
    return (
        f"SELECT id, {words} FROM (SELECT DISTINCT server.domain_id AS id, "  # noqa: S608 # names of ours
        "server.ordinal * server_model.chips + chip.ordinal AS bit "
        f"FROM {prefix}allocation JOIN {prefix}chip ON chip.id = allocation.chip_id "
        f"JOIN {prefix}server ON server.id = chip.server_id "
        f"JOIN {prefix}server_model ON server_model.id = server.server_model_id "
        f"WHERE began <= {time} AND (ended IS NULL OR ended > {time})) AS bits GROUP BY id"
    )
