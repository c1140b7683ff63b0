"""Declare the triggers that record changes as events.

They cover changes of states, jobs that are allocated chips, jobs that move or release their chips, servers that are
cordoned or uncordoned, and reservations that are made or cancelled, whoever makes the change.

While trninv makes a change, the one row of ``_change`` names its author, reason and source. Plain SQL has no such row:
PostgreSQL then records the login, and SQLite, which has no users, the word ``sqlite3``. The events of such a statement
are one change (a batch) on PostgreSQL. SQLite's triggers run once per row, so that each row is a separate change.

In the SQL text, ``was`` and ``became`` are the changed rows before and after, ``said`` is the row of ``_change``, and
``last`` is the number of the last event before the change.

On PostgreSQL, writers of states, jobs, allocations, cordons and reservations take a lock before they lock any row and
keep it until their transaction ends, so that the order of events is the order of commits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, literal_column, make_url

from trninv.inventory.address.expressions import address_by_id, node_address_expression
from trninv.inventory.triggers.cascade_triggers import cascade_statements, own_state_statement
from trninv.inventory.triggers.declaration import Function, Trigger
from trninv.inventory.triggers.guards import GUARDS

LOCK: Final = 7475
"""The key of PostgreSQL's advisory lock for writers of states, jobs and cordons."""

_PART_TABLES: Final = ("server", "node", "link")
_CONDITION: Final = ("state", "factor_ppm")
_OWN_CONDITION: Final = ("own_state", "own_factor_ppm")
_EVENT_COLUMNS: Final = (
    "id, batch, at, who, why, source, clock_went_back, kind, part_id, previous_id, address, before, factor_ppm_before, "
    "state, factor_ppm, own_before, own_factor_ppm_before, own_state, own_factor_ppm, action, job, chip_ids"
)
"""The columns of ``state_event`` in the order in which the triggers write them."""
_NOW: Final = {
    "sqlite": "strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000+00:00'",
    "postgresql": """to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')""",
}
"""The present time in UTC as text with six decimals, of which SQLite's clock has three."""
_INSERT_EVENT_SQLITE: Final = """{before}
    INSERT INTO state_event ({columns})
    SELECT last.id + 1, coalesce(said.batch, last.id + 1), coalesce(said.at, {now}), coalesce(said.who, 'sqlite3'),
        coalesce(said.why, 'plain SQL'), coalesce(said.source, 'sql'),
        coalesce(coalesce(said.at, {now}) < (SELECT at FROM state_event WHERE id = last.id), false), {values}
    FROM (SELECT coalesce(max(id), 0) AS id FROM state_event) AS last LEFT JOIN _change AS said ON true{row};
    UPDATE _change SET batch = (SELECT max(id) FROM state_event) WHERE batch IS NULL;{after}"""
"""Writes the event of one changed row; the first event of a change gives ``_change`` its batch."""
_REREAD_NODE: Final = """
    JOIN node AS became ON became.id = NEW.id WHERE {changed}"""
"""Reads the node again, since the statements in `before` have changed it."""
_INSERT_EVENTS_POSTGRESQL: Final = """ DECLARE last bigint; said _change%ROWTYPE; BEGIN
    SELECT coalesce(max(id), 0) INTO last FROM state_event;
    SELECT * INTO said FROM _change;{skip}
    said.at := coalesce(said.at, {now});
    INSERT INTO state_event ({columns})
    SELECT last + number, coalesce(said.batch, last + 1), said.at, coalesce(said.who, session_user),
        coalesce(said.why, 'plain SQL'), coalesce(said.source, 'sql'),
        number = 1 AND coalesce(said.at < (SELECT at FROM state_event WHERE id = last), false), {values}
    FROM (
        SELECT row_number() OVER (ORDER BY became.id) AS number, became.* FROM {rows}
        WHERE {changed}
    ) AS became {with_was} ORDER BY number;
    IF FOUND THEN
        UPDATE _change SET batch = last + 1 WHERE batch IS NULL;{after}
    END IF;
    RETURN NULL;
END """
"""Writes the events of all rows that a statement changed."""
_SKIP_RESTORED_ROWS: Final = """
    IF said.id IS NULL AND starts_with(lower(current_query()), 'copy') THEN RETURN NULL; END IF;"""
"""Skips rows that COPY restores from a dump, since the dump contains their events too."""
_SERIALIZE_WRITERS: Final = Function(
    "one_state_writer", f" BEGIN PERFORM pg_advisory_xact_lock({LOCK}); RETURN NULL; END "
)


@dataclass(frozen=True, slots=True)
class _WatchedChange:
    """A change that triggers record as an event: an update of `columns` of a table or, without columns, an insert.

    The triggers are named after `name`.
    """

    name: str
    table: str
    columns: tuple[str, ...]

    @property
    def verb(self) -> str:
        return f"UPDATE OF {', '.join(self.columns)}" if self.columns else "INSERT"

    def in_sqlite(self) -> Trigger:
        changed, is_node = self._condition("OLD", "NEW", "IS NOT"), self.table == "node"
        row = "became" if is_node else "NEW"
        body = _INSERT_EVENT_SQLITE.format(
            before=own_state_statement() if is_node else "",
            row=_REREAD_NODE.format(changed=self._condition("OLD", row, "IS NOT")) if is_node else "",
            after=cascade_statements("sqlite", changed) if self.table == "server" else "",
            columns=_EVENT_COLUMNS,
            now=_NOW["sqlite"],
            values=self._values("OLD", row, "sqlite"),
        )
        when = f"AFTER {self.verb} | {changed}"
        return Trigger.in_sqlite(f"{self.name}_state_event", self.table, when, body)

    def in_postgresql(self) -> Trigger:
        changed = self._condition("was", "became", "IS DISTINCT FROM")
        body = _INSERT_EVENTS_POSTGRESQL.format(
            after=cascade_statements("postgresql", changed) if self.table == "server" else "",
            rows="was JOIN became ON became.id = was.id" if self.columns else "became",
            with_was="JOIN was ON was.id = became.id" if self.columns else "",
            skip="" if self.columns else _SKIP_RESTORED_ROWS,
            changed=changed,
            columns=_EVENT_COLUMNS,
            now=_NOW["postgresql"],
            values=self._values("was", "became", "postgresql"),
        )
        name, verb = f"{self.name}_state_event", f"AFTER {self.verb.partition(' ')[0]}"
        tables = "OLD TABLE AS was NEW TABLE AS became" if self.columns else "NEW TABLE AS became"
        return Trigger.statement_level(name, self.table, verb, Function(name, body, sees_change=True), tables=tables)

    def _condition(self, was: str, became: str, differs: str) -> str:
        """Return the condition for rows whose change is an event; `differs` is the dialect's operator."""
        if self.table in _END_COLUMNS:
            end = _END_COLUMNS[self.table]
            if not self.columns:
                return f"{became}.{end} IS NULL"
            began_or_ended = f"({was}.{end} IS NULL) <> ({became}.{end} IS NULL)"
            if self.table != "job":
                return began_or_ended
            moved = " OR ".join(f"{was}.{column} {differs} {became}.{column}" for column in _MOVE_COLUMNS)
            return f"{began_or_ended} OR {was}.{end} IS NULL AND ({moved})"
        return " OR ".join(f"{was}.{column} {differs} {became}.{column}" for column in self.columns)

    def _values(self, was: str, became: str, dialect: str) -> str:
        """Return the values of the event that describe the changed row, in the order of `_EVENT_COLUMNS`."""
        if self.table == "job":
            if self.columns:
                # a move by trninv ends the job's row, with moved_at = ended_at, and inserts another; one by an import
                # updates the row
                resumed = f"{was}.ended_at IS NOT NULL"
                moved = f"{became}.ended_at IS NULL OR {became}.moved_at = {became}.ended_at"
                action = f"CASE WHEN {resumed} THEN 'allocate' WHEN {moved} THEN 'move' ELSE 'release' END"
            else:
                action = f"CASE WHEN {became}.first_started_at IS NULL THEN 'allocate' ELSE 'move' END"
            address = f"coalesce({became}.place, (SELECT slug FROM cluster WHERE id = {became}.cluster_id))"  # noqa: S608 # only our own names
            chips = f"CASE WHEN {became}.ended_at IS NULL THEN coalesce({became}.chip_ids, '') END"
            return _action_values(f"{became}.id", address, action, f"{became}.name", chips)
        if self.table == "cordon":
            address = _compile(address_by_id("server", literal_column(f"{became}.server_id")), dialect)
            action = f"CASE WHEN {became}.ended_at IS NULL THEN 'cordon' ELSE 'uncordon' END"
            return _action_values(f"{became}.server_id", address, action, "NULL", "NULL")
        if self.table == "reservation":
            action = f"CASE WHEN {became}.ended_at IS NULL THEN 'reserve' ELSE 'unreserve' END"
            name, chips = f"{became}.name", f"{became}.chip_ids"
            return _action_values(f"{became}.id", f"{became}.place", action, name, chips)
        return _part_values(self.table, was, became, dialect)


_END_COLUMNS: Final = {table: guard.end_column for table, guard in GUARDS.items() if guard.end_column}
"""The tables whose rows end instead of being deleted, each with the column of the end."""
_MOVE_COLUMNS: Final = ("moved_at", "place", "chip_ids")
"""Columns of a job that change when it moves."""
_PART_CHANGES: Final = tuple(
    _WatchedChange(name, name, (*_CONDITION, *_OWN_CONDITION) if name == "node" else _CONDITION)
    for name in _PART_TABLES
)
_WATCHED_CHANGES: Final = (
    *_PART_CHANGES,
    _WatchedChange("job_begun", "job", ()),
    _WatchedChange("job", "job", ("ended_at", *_MOVE_COLUMNS)),
    _WatchedChange("cordon_begun", "cordon", ()),
    _WatchedChange("cordon", "cordon", ("ended_at",)),
    _WatchedChange("reservation_begun", "reservation", ()),
    _WatchedChange("reservation", "reservation", ("ended_at",)),
)


def event_triggers(dialect: str) -> Iterator[Trigger]:
    """Yield the triggers that write events and, on PostgreSQL, those that let one transaction at a time do so."""
    if dialect == "sqlite":
        yield from (change.in_sqlite() for change in _WATCHED_CHANGES)
        return
    yield from (change.in_postgresql() for change in _WATCHED_CHANGES)
    locked = {change.table: change.verb for change in _PART_CHANGES} | dict.fromkeys(_END_COLUMNS, "INSERT OR UPDATE")
    locked["reserved_chip"] = "INSERT"
    for table, verb in locked.items():
        yield Trigger.statement_level(f"{table}_one_state_writer", table, f"BEFORE {verb}", _SERIALIZE_WRITERS)


def _part_values(table: str, was: str, became: str, dialect: str) -> str:
    """Return the values for a change of a part: its kind, id and address, and its condition before and after."""
    no_action = ("NULL",) * 3  # action, job, chip_ids
    kind = f"{became}.kind" if table == "node" else f"'{table}'"
    previous = f"(SELECT max(id) FROM state_event WHERE kind = {kind} AND part_id = {became}.id)"  # noqa: S608 # only our own names
    own = [f"{row}.{column}" if table == "node" else "NULL" for row in (was, became) for column in _OWN_CONDITION]
    conditions = [f"{row}.{column}" for row in (was, became) for column in _CONDITION]
    address = _address(table, became, dialect)
    return ", ".join((kind, f"{became}.id", previous, address, *conditions, *own, *no_action))


def _action_values(key: str, address: str, action: str, job: str, chips: str) -> str:
    """Return the values for an action on a job or a server with the id `key`.

    The condition, which such an event does not have, is stored as up before and after.
    """
    kind = previous_id = "NULL"
    conditions = ("'up'", "NULL") * 2  # state and factor, before and after
    own = ("NULL",) * 4
    return ", ".join((kind, key, previous_id, address, *conditions, *own, action, job, chips))


def _address(table: str, row: str, dialect: str) -> str:
    """Return the address of a row as SQL text in a dialect, without bound parameters."""

    def node(column: str) -> str:
        return _compile(node_address_expression(literal_column(f"{row}.{column}")), dialect)

    if table == "link":
        return f"{node('a_id')} || '--' || {node('b_id')}"
    return node("id") if table == "node" else _compile(address_by_id("server", literal_column(f"{row}.id")), dialect)


def _compile(expression: ColumnElement[Any], dialect: str) -> str:
    dialect_class: Any = make_url(f"{dialect}://").get_dialect()
    return str(expression.compile(dialect=dialect_class(paramstyle="named")))
