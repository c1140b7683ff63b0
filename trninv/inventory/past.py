"""The tables as they were: an engine with a moment sees the states that held after an event.

What is read under the names of ``server``, ``node``, ``link`` and ``state_event`` is then a view that undoes what
happened since: a part's state is what its first event after the moment says was so before, and its own where there is
none. Jobs, what they hold, closed servers and bindings have times of their own: what began later is not there, and what
ended later has not ended. So whatever reads them reads those of the moment, SQL included, and nothing is copied.

On SQLite they are temporary views of the connection, made where a transaction begins and gone where it ends. PostgreSQL
has them in the schema ``trninv_past``, since neither a standby nor a transaction that only reads can make any; the
transaction has that schema on its path, the event in the setting ``trninv.at`` and the time in ``trninv.time``.

A condition on the state can't use an index then: `among_lost` narrows it to what may not have been up.

A cluster of which nothing is known at the moment, since it was seeded later, is left out with all its rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, Engine, Table, column, select, table, true

from trninv.inventory.held import BITMASK_WORDS
from trninv.inventory.schema import NODE_KINDS, TABLES
from trninv.timestamps import format_timestamp

SCHEMA: Final = "trninv_past"
_AS_OF_EVENT: Final = "moment"
_AS_OF_TIME: Final = "time_of_moment"
_OMITTED: Final = "unknown_at_moment"
PARTS: Final = ("server", "node", "link")
"""Tables with states."""
_IN_BLOCKS: Final[Mapping[str, str]] = {
    **{name: name for name in ("cluster", "domain", "rack", "server", "tray", "node", "core", "link")},
    **dict.fromkeys(NODE_KINDS, "node"),
}
"""Tables with rows of clusters, and in which block of a cluster's ids theirs are; its own id is a block too."""
_BEFORE: Final = {
    "state": "before",
    "factor_ppm": "factor_ppm_before",
    "own_state": "own_before",
    "own_factor_ppm": "own_factor_ppm_before",
}
"""Columns of a part, and those of an event that tell what they were before it."""
_INTERVAL_TABLES: Final = {
    "job": ("began", {"ended": "ended"}),
    "allocation": ("began", {"ended": "ended"}),
    "closing": ("since", {"until": "until"}),
    "binding": ("since", {"until": "until", "ending": "until", "ended_by": "until"}),
}
"""The column that says since when a row holds, and those that are filled later, each with the one that says when."""
_MOVED: Final = {"place": "address", "moved": "at", "chip_ids": "chip_ids"}
"""Columns of a job that change as it moves within its row, and those of its events that tell what they were."""


@dataclass(frozen=True, slots=True)
class OmittedCluster:
    """A cluster of which nothing is known at a moment.

    Attributes
    ----------
    since
        When what is known of it begins; None: it never does.
    event
        The last event before that.
    ids
        Of each block of its ids the first and the last.

    """

    id: int
    slug: str
    since: str | None
    event: int
    ids: tuple[tuple[str, int, int], ...]

    def __str__(self) -> str:
        if self.since is None:
            return f"no history is known of {self.slug}: it was not seeded by this trninv"
        return f"the history of {self.slug} is known since {self.since}"


def engine_as_of(engine: Engine, event: int, time: datetime, omitted: tuple[OmittedCluster, ...] = ()) -> Engine:
    """The same database, on the same connections, as it was after an event; the time is that of its answers.

    Parameters
    ----------
    unknown
        Clusters that are left out.

    """
    engine_then: Engine = engine.execution_options(**{_AS_OF_EVENT: event, _AS_OF_TIME: time, _OMITTED: omitted})
    return engine_then


def omitted_clusters(source: Engine | Connection) -> tuple[OmittedCluster, ...]:
    """The clusters that an engine or a connection leaves out."""
    omitted: tuple[OmittedCluster, ...] = source.get_execution_options().get(_OMITTED, ())
    return omitted


def as_of_time(engine: Engine) -> datetime | None:
    """When what an engine sees was the newest state; None: it still is."""
    time: datetime | None = engine.get_execution_options().get(_AS_OF_TIME)
    return time


def as_of_event(source: Engine | Connection) -> int | None:
    """The event after which an engine or a connection sees the tables; None: the last one."""
    event: int | None = source.get_execution_options().get(_AS_OF_EVENT)
    return event


def install_views(connection: Connection) -> None:
    """Let a transaction that begins see the tables as they were, if its engine has a moment."""
    for statement in view_statements(connection):
        connection.exec_driver_sql(statement)


def view_statements(source: Engine | Connection) -> Iterator[str]:
    """Statements with which a transaction sees the tables as they were, if there is a moment."""
    options = source.get_execution_options()
    if _AS_OF_EVENT not in options:
        return
    event, time = int(options[_AS_OF_EVENT]), format_timestamp(options[_AS_OF_TIME])
    omitted = {
        block: [ids for cluster in omitted_clusters(source) for ids in _block_ranges(cluster, block)]
        for block in _IN_BLOCKS.values()
    }
    if source.dialect.name == "postgresql":
        settings = {"at": event, "time": time} | {
            f"unknown_{block}": f"{{{','.join(f'[{first},{last}]' for first, last in ids)}}}"
            for block, ids in omitted.items()
        }
        calls = ", ".join(f"set_config('trninv.{name}', '{value}', true)" for name, value in settings.items())
        yield f"SELECT {calls}, set_config('search_path', '{SCHEMA}, ' || current_setting('search_path'), true)"
        return
    conditions = {
        block: " AND ".join(f"part.id NOT BETWEEN {first} AND {last}" for first, last in ids)
        for block, ids in omitted.items()
    }
    for name, query in _view_queries("main", str(event), f"'{time}'", conditions):
        yield f"CREATE TEMP VIEW {name} AS {query}"


def _block_ranges(cluster: OmittedCluster, block: str) -> Iterator[tuple[int, int]]:
    yield from ((first, last) for name, first, last in cluster.ids if name == block)


def create_schema_statements() -> Iterator[str]:
    """Statements that create PostgreSQL's schema of the past, with what is read in place of tables."""
    yield f"CREATE SCHEMA {SCHEMA}"
    conditions = {
        block: f"NOT part.id <@ (SELECT current_setting('trninv.unknown_{block}')::int4multirange)"
        for block in _IN_BLOCKS.values()
    }
    for name, query in _view_queries(
        "", "current_setting('trninv.at')::int", "current_setting('trninv.time')", conditions
    ):
        yield f"CREATE VIEW {SCHEMA}.{name} AS {query}"


def maybe_unhealthy(connection: Connection, table_: Table) -> ColumnElement[bool]:
    """A condition that every row meets which was not up, cheap to search by; none where the present is read."""
    if as_of_event(connection) is None:
        return true()
    return table_.c.id.in_(select(column("id")).select_from(table(f"lost_{table_.name}", column("id"))))


def _view_queries(schema: str, event: str, time: str, conditions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names and queries; `known` are conditions, by blocks of ids, on what is not left out."""
    prefix = schema and f"{schema}."
    for name, block in _IN_BLOCKS.items():
        if name in PARTS:
            yield name, _part_query(name, prefix, event, conditions[block])
            yield f"lost_{name}", _unhealthy_ids(name, prefix, event)
        elif conditions[block]:
            yield name, f"SELECT * FROM {prefix}{name} AS part WHERE {conditions[block]}"  # noqa: S608 # names of ours
    yield "state_event", f"SELECT * FROM {prefix}state_event WHERE id <= {event}"  # noqa: S608 # names of ours
    for name, (began, later) in _INTERVAL_TABLES.items():
        yield name, _interval_rows(name, began, later, prefix, event, time)
    yield "domain_held", _allocation_bits_query(prefix, time)


def _part_query(name: str, prefix: str, event: str, condition: str) -> str:
    kind = "part.kind" if name == "node" else f"'{name}'"
    first = f"FROM {prefix}state_event AS e WHERE e.kind = {kind} AND e.part_id = part.id AND e.id > {event}"

    def expression(column: str) -> str:
        if column not in _BEFORE:
            return f"part.{column}"
        before = f"(SELECT e.{_BEFORE[column]} {first} ORDER BY e.id LIMIT 1)"
        if column == "state":
            return f"coalesce({before}, part.state) AS state"
        return f"CASE WHEN EXISTS (SELECT 1 {first}) THEN {before} ELSE part.{column} END AS {column}"

    columns = ", ".join(expression(column_.name) for column_ in TABLES[name].c)
    where = condition and f" WHERE {condition}"
    return f"SELECT {columns} FROM {prefix}{name} AS part{where}"  # noqa: S608 # names of ours


def _unhealthy_ids(name: str, prefix: str, event: str) -> str:
    """Ids of what is not up now, and of what was not before its first event since; read in the order of events."""
    kinds = ", ".join(f"'{kind}'" for kind in (NODE_KINDS if name == "node" else (name,)))
    return (
        f"SELECT part_id AS id FROM {prefix}state_event "  # noqa: S608 # names of ours
        f"WHERE id > {event} AND before <> 'up' AND coalesce(previous_id, 0) <= {event} AND kind || '' IN ({kinds}) "
        f"UNION ALL SELECT id FROM {prefix}{name} WHERE state <> 'up'"
    )


def _interval_rows(
    name: str, start_column: str, end_columns: Mapping[str, str], prefix: str, event: str, time: str
) -> str:
    def expression(column: str) -> str:
        if column in end_columns:
            return f"CASE WHEN {end_columns[column]} <= {time} THEN {column} END AS {column}"
        if name != "job" or column not in _MOVED:
            return column
        actions = "'move'" if column == "moved" else "'hold', 'move'"
        previous_value = (
            f"SELECT e.{_MOVED[column]} FROM {prefix}state_event AS e "  # noqa: S608 # names of ours
            f"WHERE e.action IN ({actions}) AND e.part_id = {name}.id AND e.id <= {event} ORDER BY e.id DESC LIMIT 1"
        )
        return f"CASE WHEN {name}.moved > {time} THEN ({previous_value}) ELSE {column} END AS {column}"

    columns = ", ".join(expression(column_.name) for column_ in TABLES[name].c)
    return f"SELECT {columns} FROM {prefix}{name} WHERE {start_column} <= {time}"  # noqa: S608 # names of ours


def _allocation_bits_query(prefix: str, time: str) -> str:
    """The words of what was held: a chip that two jobs held in the same second counts once."""
    words = ", ".join(
        f"CAST(sum(CASE WHEN bit BETWEEN {low} AND {low + 63} THEN CAST(1 AS BIGINT) << (bit - {low}) ELSE 0 END) "
        f"AS BIGINT) AS held_{word}"
        for word, low in enumerate(range(0, 64 * BITMASK_WORDS, 64))
    )
    return (
        f"SELECT id, {words} FROM (SELECT DISTINCT server.domain_id AS id, "  # noqa: S608 # names of ours
        "server.ordinal * server_model.chips + chip.ordinal AS bit "
        f"FROM {prefix}allocation JOIN {prefix}chip ON chip.id = allocation.chip_id "
        f"JOIN {prefix}server ON server.id = chip.server_id "
        f"JOIN {prefix}server_model ON server_model.id = server.server_model_id "
        f"WHERE began <= {time} AND (ended IS NULL OR ended > {time})) AS bits GROUP BY id"
    )
