"""Read the tables as they were after an earlier event.

An engine of `engine_as_of` reads views under the names of tables. Those of ``server``, ``node`` and ``link`` undo
later changes: a part's state is what its first later event recorded as the state before, or its current state if there
is no later event. The view ``state_event`` omits later events. Jobs, allocations, cordons, reservations and bindings
carry their own times: rows that began later are hidden, and rows that ended later are still open. Counts of parts are
the current ones without the later changes. Every query, including users' SQL, therefore reads the earlier state, and
nothing is copied.

On SQLite these are temporary views, created when a transaction begins and dropped when it ends. PostgreSQL keeps them
in a schema, named after that of the tables: ``public_past`` for ``public``. Neither a standby nor a read-only
transaction could create views. The transaction has that schema on its search path, the event in the setting
``trninv.at`` and the time in ``trninv.time``.

Conditions on such a state cannot use an index. `maybe_unhealthy` first selects parts that may have been unhealthy, from
the views ``maybe_unhealthy_server``, ``maybe_unhealthy_node`` and ``maybe_unhealthy_link``.

Clusters that were seeded later have no history at the event and are omitted with all their rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Engine, Table, and_, column, or_, select, table, true

from trninv.database.part_counts import as_of_query
from trninv.database.tables import BITMASK_WORDS, NODE_KINDS, TABLES
from trninv.units import format_timestamp

PAST_SCHEMA: Final = "(current_schema() || '_past')"
"""The SQL of the name of the PostgreSQL schema that contains the views."""
PAST_SEARCH_PATH: Final = f"quote_ident({PAST_SCHEMA}) || ', ' || current_setting('search_path')"
"""The SQL of a search path on which names of tables mean those views."""
_CREATE_SCHEMA: Final = f"""
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = {PAST_SCHEMA}) THEN
        EXECUTE format('CREATE SCHEMA %I', {PAST_SCHEMA});
    END IF;
END $$"""
_AS_OF_EVENT: Final = "as_of_event"
_AS_OF_TIME: Final = "as_of_time"
_OMITTED: Final = "omitted_clusters"
"""Names of the execution options of an engine that reads an earlier state."""
PARTS: Final = ("server", "node", "link")
"""The tables of parts with a state."""
_ID_BLOCKS: Final[Mapping[str, str]] = {
    **{name: name for name in ("cluster", "domain", "rack", "server", "tray", "node", "core", "link")},
    **dict.fromkeys(NODE_KINDS, "node"),
}
"""The block of ids that contains a cluster's rows, by table; the cluster's own id counts as a block."""
_EARLIER_VALUES: Final = {
    "state": "before",
    "factor_ppm": "factor_ppm_before",
    "own_state": "own_before",
    "own_factor_ppm": "own_factor_ppm_before",
}
"""The columns of a part, each with the column of an event that holds its earlier value."""
_END_COLUMNS: Final = {
    "job": ("ended_at",),
    "allocation": ("ended_at",),
    "cordon": ("ended_at",),
    "reservation": ("ended_at",),
    "binding": ("ended_at", "ending", "ended_by"),
}
"""The tables whose rows have a start and an end, each with the columns that are null until the end."""
_EARLIER_JOB_VALUES: Final = {"place": "address", "moved_at": "at", "chip_ids": "chip_ids"}
"""The columns of a job that change when it moves, each with the column of an event that holds the earlier value."""


@dataclass(frozen=True, slots=True)
class OmittedCluster:
    """A cluster without history at a point in time.

    Attributes
    ----------
    since
        When its history begins; None if it has none.
    event
        The last event before its history begins.
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
            return f"{self.slug} has no recorded history: an older version of trninv seeded it"
        return f"the history of {self.slug} starts at {self.since}"


def engine_as_of(engine: Engine, event: int, time: datetime, omitted: tuple[OmittedCluster, ...] = ()) -> Engine:
    """Return an engine with the same connections that reads the tables as they were after an event.

    Parameters
    ----------
    time
        The time that answers report.
    omitted
        Clusters without history at that event.
    """
    earlier: Engine = engine.execution_options(**{_AS_OF_EVENT: event, _AS_OF_TIME: time, _OMITTED: omitted})
    return earlier


def omitted_clusters(source: Engine | Connection) -> tuple[OmittedCluster, ...]:
    """Return the clusters that an engine or a connection omits."""
    omitted: tuple[OmittedCluster, ...] = source.get_execution_options().get(_OMITTED, ())
    return omitted


def as_of_time(engine: Engine) -> datetime | None:
    """Return the time as of which an engine reads, or None if it reads the current state."""
    time: datetime | None = engine.get_execution_options().get(_AS_OF_TIME)
    return time


def current_time(connection: Connection) -> datetime:
    """Return the time as of which a connection reads: now, or an earlier time."""
    return as_of_time(connection.engine) or datetime.now(UTC)


def is_open_then(connection: Connection, start: ColumnElement[str], end: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a row is open at the time that the connection reads: now, or an earlier time."""
    if (earlier_time := as_of_time(connection.engine)) is None:
        return end.is_(None)
    timestamp = format_timestamp(earlier_time)
    return and_(start <= timestamp, or_(end.is_(None), end > timestamp))


def as_of_event(source: Engine | Connection) -> int | None:
    """Return the event as of which an engine or a connection reads, or None if it reads the current state."""
    event: int | None = source.get_execution_options().get(_AS_OF_EVENT)
    return event


def install_views(connection: Connection) -> None:
    """Make a new transaction read the earlier state, if its engine comes from `engine_as_of`."""
    for statement in view_statements(connection):
        connection.exec_driver_sql(statement)


def view_statements(source: Engine | Connection) -> Iterator[str]:
    """Yield the statements that make a transaction read the earlier state; none if its engine reads the current one."""
    options = source.get_execution_options()
    if _AS_OF_EVENT not in options:
        return
    event, time = int(options[_AS_OF_EVENT]), format_timestamp(options[_AS_OF_TIME])
    omitted = {
        block: [ids for cluster in omitted_clusters(source) for ids in _block_ranges(cluster, block)]
        for block in _ID_BLOCKS.values()
    }
    if source.dialect.name == "postgresql":
        settings = {"at": event, "time": time} | {
            f"unknown_{block}": f"{{{','.join(f'[{first},{last}]' for first, last in ids)}}}"
            for block, ids in omitted.items()
        }
        calls = ", ".join(f"set_config('trninv.{name}', '{value}', true)" for name, value in settings.items())
        yield f"SELECT {calls}, set_config('search_path', {PAST_SEARCH_PATH}, true)"
        return
    conditions = {
        block: " AND ".join(f"part.id NOT BETWEEN {first} AND {last}" for first, last in ids)
        for block, ids in omitted.items()
    }
    for name, query in _view_queries("main", str(event), f"'{time}'", conditions):
        yield f"CREATE TEMP VIEW {name} AS {query}"


def _block_ranges(cluster: OmittedCluster, block: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last id of a cluster's block, if it has that block."""
    yield from ((first, last) for name, first, last in cluster.ids if name == block)


def create_schema_statements() -> Iterator[str]:
    """Yield the statements that create PostgreSQL's schema of views, unless an administrator did, and its views."""
    yield _CREATE_SCHEMA
    conditions = {
        block: f"NOT part.id <@ (SELECT current_setting('trninv.unknown_{block}')::int4multirange)"
        for block in _ID_BLOCKS.values()
    }
    for name, query in _view_queries(
        "", "current_setting('trninv.at')::int", "current_setting('trninv.time')", conditions
    ):
        view = f"'CREATE VIEW ' || quote_ident({PAST_SCHEMA}) || $query$.{name} AS {query}$query$"
        yield f"DO $$ BEGIN EXECUTE {view}; END $$"


def maybe_unhealthy(connection: Connection, table_: Table) -> ColumnElement[bool]:
    """Return a condition that an index supports and every unhealthy row meets, for use with `is_unhealthy`.

    It is always true if the connection reads the current state.
    """
    if as_of_event(connection) is None:
        return true()
    return table_.c.id.in_(select(column("id")).select_from(table(f"maybe_unhealthy_{table_.name}", column("id"))))


def _view_queries(schema: str, event: str, time: str, conditions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the names and queries of the views.

    `conditions` holds, by block of ids, the SQL condition that a row belongs to no omitted cluster.
    """
    prefix = schema and f"{schema}."
    for name, block in _ID_BLOCKS.items():
        if name in PARTS:
            yield name, _part_query(name, prefix, event, conditions[block])
            yield f"maybe_unhealthy_{name}", _unhealthy_ids(name, prefix, event)
        elif conditions[block]:
            yield name, f"SELECT * FROM {prefix}{name} AS part WHERE {conditions[block]}"  # noqa: S608 # only our own names
    yield "state_event", f"SELECT * FROM {prefix}state_event WHERE id <= {event}"  # noqa: S608 # only our own names
    yield "incident_note", f"SELECT * FROM {prefix}incident_note WHERE written_at <= {time}"  # noqa: S608 # only our own names
    for name in _END_COLUMNS:
        yield name, _interval_rows(name, prefix, event, time)
    yield "domain_allocated", _allocation_bits_query(prefix, time)
    yield "part_count", as_of_query(prefix, event, conditions["cluster"])


def _part_query(name: str, prefix: str, event: str, condition: str) -> str:
    """Select parts with the state that their first later event recorded as the earlier state, or the current state."""
    kind = "part.kind" if name == "node" else f"'{name}'"
    later_events = f"FROM {prefix}state_event AS e WHERE e.kind = {kind} AND e.part_id = part.id AND e.id > {event}"

    def expression(column: str) -> str:
        if column not in _EARLIER_VALUES:
            return f"part.{column}"
        before = f"(SELECT e.{_EARLIER_VALUES[column]} {later_events} ORDER BY e.id LIMIT 1)"
        if column == "state":
            return f"coalesce({before}, part.state) AS state"  # only the state can use coalesce, since it is never null
        return f"CASE WHEN EXISTS (SELECT 1 {later_events}) THEN {before} ELSE part.{column} END AS {column}"

    columns = ", ".join(expression(column_.name) for column_ in TABLES[name].c)
    where = condition and f" WHERE {condition}"
    return f"SELECT {columns} FROM {prefix}{name} AS part{where}"  # noqa: S608 # only our own names


def _unhealthy_ids(name: str, prefix: str, event: str) -> str:
    """Select the ids of parts that are unhealthy now or were before their first later event.

    ``kind || ''`` rules out an index on the kind, so that the later events are read in the order of their ids.
    """
    kinds = ", ".join(f"'{kind}'" for kind in (NODE_KINDS if name == "node" else (name,)))
    return (
        f"SELECT part_id AS id FROM {prefix}state_event "  # noqa: S608 # only our own names
        f"WHERE id > {event} AND before <> 'up' AND coalesce(previous_id, 0) <= {event} AND kind || '' IN ({kinds}) "
        f"UNION ALL SELECT id FROM {prefix}{name} WHERE state <> 'up'"
    )


def _interval_rows(name: str, prefix: str, event: str, time: str) -> str:
    """Select rows that had begun at the time; a later end is null, and a job has the chips that it had then."""

    def expression(column: str) -> str:
        if column in _END_COLUMNS[name]:
            return f"CASE WHEN ended_at <= {time} THEN {column} END AS {column}"
        if name != "job" or column not in _EARLIER_JOB_VALUES:
            return column
        # a job's events record its place and chips since the allocation, but a time of moving only since the first move
        actions = "'move'" if column == "moved_at" else "'allocate', 'move'"
        previous_value = (
            f"SELECT e.{_EARLIER_JOB_VALUES[column]} FROM {prefix}state_event AS e "  # noqa: S608 # only our own names
            f"WHERE e.action IN ({actions}) AND e.part_id = {name}.id AND e.id <= {event} ORDER BY e.id DESC LIMIT 1"
        )
        return f"CASE WHEN {name}.moved_at > {time} THEN ({previous_value}) ELSE {column} END AS {column}"

    columns = ", ".join(expression(column_.name) for column_ in TABLES[name].c)
    return f"SELECT {columns} FROM {prefix}{name} WHERE started_at <= {time}"  # noqa: S608 # only our own names


def _allocation_bits_query(prefix: str, time: str) -> str:
    """Select each domain's bitmask of allocated chips; a chip that two jobs had at that time counts once."""
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
