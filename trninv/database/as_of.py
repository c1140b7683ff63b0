"""Show the tables as they were after an earlier event.

An engine with an earlier event reads views under the names of ``server``, ``node``, ``link`` and ``state_event``. These
undo later changes: a part's state is what its first later event recorded as the state before, or its present state if
there is none. Jobs, allocations, cordons and bindings carry their own times: rows that began later are hidden, and rows
that ended later are still open. Every reader therefore sees the past, SQL from users included, and nothing is copied.

On SQLite these are temporary views, created when a transaction begins and dropped when it ends. PostgreSQL keeps them
in the schema ``trninv_past``, since neither a standby nor a read-only transaction can create any. The transaction has
that schema on its search path, the event in the setting ``trninv.at`` and the time in ``trninv.time``.

Conditions on such a state cannot use an index; `maybe_unhealthy` narrows them to parts that may have been unhealthy.

Clusters that were seeded later have no history at the event and are omitted with all their rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, Engine, Table, column, select, table, true

from trninv.database.tables import BITMASK_WORDS, NODE_KINDS, TABLES
from trninv.units import format_timestamp

SCHEMA: Final = "trninv_past"
_AS_OF_EVENT: Final = "moment"
_AS_OF_TIME: Final = "time_of_moment"
_OMITTED: Final = "unknown_at_moment"
PARTS: Final = ("server", "node", "link")
"""The tables of parts with a state."""
_IN_BLOCKS: Final[Mapping[str, str]] = {
    **{name: name for name in ("cluster", "domain", "rack", "server", "tray", "node", "core", "link")},
    **dict.fromkeys(NODE_KINDS, "node"),
}
"""The block of ids, by table, that holds a cluster's rows; the cluster's own id counts as a block."""
_BEFORE: Final = {
    "state": "before",
    "factor_ppm": "factor_ppm_before",
    "own_state": "own_before",
    "own_factor_ppm": "own_factor_ppm_before",
}
"""The columns of a part, each with the column of an event that holds its earlier value."""
_INTERVAL_TABLES: Final = {
    "job": ("started_at", {"ended_at": "ended_at"}),
    "allocation": ("started_at", {"ended_at": "ended_at"}),
    "cordon": ("started_at", {"ended_at": "ended_at"}),
    "binding": ("started_at", {"ended_at": "ended_at", "ending": "ended_at", "ended_by": "ended_at"}),
}
"""The column with the start of a row, and the columns written when it ends, each with the column of that time."""
_MOVED: Final = {"place": "address", "moved_at": "at", "chip_ids": "chip_ids"}
"""The columns of a job that change when it moves, each with the column of an event that holds the earlier value."""


@dataclass(frozen=True, slots=True)
class OmittedCluster:
    """A cluster without history at a point in time.

    Attributes
    ----------
    since
        When its history begins; None: it has none.
    event
        The last event before that.
    ids
        Name, first and last id of each of its blocks.
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
    """Return an engine for the same database and connections that sees the tables as they were after an event.

    Parameters
    ----------
    time
        The time that answers report.
    omitted
        Clusters without history at that event.
    """
    engine_then: Engine = engine.execution_options(**{_AS_OF_EVENT: event, _AS_OF_TIME: time, _OMITTED: omitted})
    return engine_then


def omitted_clusters(source: Engine | Connection) -> tuple[OmittedCluster, ...]:
    """Return the clusters that an engine or a connection omits."""
    omitted: tuple[OmittedCluster, ...] = source.get_execution_options().get(_OMITTED, ())
    return omitted


def as_of_time(engine: Engine) -> datetime | None:
    """Return the time as of which an engine reads, or None if it reads the present."""
    time: datetime | None = engine.get_execution_options().get(_AS_OF_TIME)
    return time


def as_of_event(source: Engine | Connection) -> int | None:
    """Return the event as of which an engine or a connection reads, or None if it reads the present."""
    event: int | None = source.get_execution_options().get(_AS_OF_EVENT)
    return event


def install_views(connection: Connection) -> None:
    """Install the views of the past in a transaction that begins, if its engine reads an earlier event."""
    for statement in view_statements(connection):
        connection.exec_driver_sql(statement)


def view_statements(source: Engine | Connection) -> Iterator[str]:
    """Yield the statements that let a transaction read the past; none if its engine reads the present."""
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
    """Yield the statements that create PostgreSQL's schema of views."""
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
    """Return a condition met by every row that was unhealthy, which is cheap to search by; always true for the
    present.
    """
    if as_of_event(connection) is None:
        return true()
    return table_.c.id.in_(select(column("id")).select_from(table(f"lost_{table_.name}", column("id"))))


def _view_queries(schema: str, event: str, time: str, conditions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield names and queries of the views; `conditions` select, by block of ids, the rows of clusters not omitted."""
    prefix = schema and f"{schema}."
    for name, block in _IN_BLOCKS.items():
        if name in PARTS:
            yield name, _part_query(name, prefix, event, conditions[block])
            yield f"lost_{name}", _unhealthy_ids(name, prefix, event)
        elif conditions[block]:
            yield name, f"SELECT * FROM {prefix}{name} AS part WHERE {conditions[block]}"  # noqa: S608 # only our own names
    yield "state_event", f"SELECT * FROM {prefix}state_event WHERE id <= {event}"  # noqa: S608 # only our own names
    for name, (start, ends) in _INTERVAL_TABLES.items():
        yield name, _interval_rows(name, start, ends, prefix, event, time)
    yield "domain_allocated", _allocation_bits_query(prefix, time)


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
    return f"SELECT {columns} FROM {prefix}{name} AS part{where}"  # noqa: S608 # only our own names


def _unhealthy_ids(name: str, prefix: str, event: str) -> str:
    """Select the ids of parts that are unhealthy now or were before their first later event; reads events in order."""
    kinds = ", ".join(f"'{kind}'" for kind in (NODE_KINDS if name == "node" else (name,)))
    return (
        f"SELECT part_id AS id FROM {prefix}state_event "  # noqa: S608 # only our own names
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
        actions = "'move'" if column == "moved_at" else "'allocate', 'move'"
        previous_value = (
            f"SELECT e.{_MOVED[column]} FROM {prefix}state_event AS e "  # noqa: S608 # only our own names
            f"WHERE e.action IN ({actions}) AND e.part_id = {name}.id AND e.id <= {event} ORDER BY e.id DESC LIMIT 1"
        )
        return f"CASE WHEN {name}.moved_at > {time} THEN ({previous_value}) ELSE {column} END AS {column}"

    columns = ", ".join(expression(column_.name) for column_ in TABLES[name].c)
    return f"SELECT {columns} FROM {prefix}{name} WHERE {start_column} <= {time}"  # noqa: S608 # only our own names


def _allocation_bits_query(prefix: str, time: str) -> str:
    """Select the allocation masks of domains; a chip allocated to two jobs within a second counts once."""
    words = ", ".join(
        f"CAST(sum(CASE WHEN bit BETWEEN {low} AND {low + 63} THEN CAST(1 AS BIGINT) << (bit - {low}) ELSE 0 END) "
        f"AS BIGINT) AS allocated_{word}"
        for word, low in enumerate(range(0, 64 * BITMASK_WORDS, 64))
    )
    return (
        f"SELECT id, {words} FROM (SELECT DISTINCT server.domain_id AS id, "  # noqa: S608 # only our own names
        "server.ordinal * server_model.chips + chip.ordinal AS bit "
        f"FROM {prefix}allocation JOIN {prefix}chip ON chip.id = allocation.chip_id "
        f"JOIN {prefix}server ON server.id = chip.server_id "
        f"JOIN {prefix}server_model ON server_model.id = server.server_model_id "
        f"WHERE started_at <= {time} AND (ended_at IS NULL OR ended_at > {time})) AS bits GROUP BY id"
    )
