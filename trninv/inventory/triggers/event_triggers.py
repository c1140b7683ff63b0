"""Declare the triggers that record changes as events.

They cover changes of states, jobs that are allocated chips, move or release them, and servers that are cordoned or
uncordoned, whoever makes the change.

While trninv makes a change, the one row of ``_change`` names its author, reason and source. Plain SQL has no such row:
PostgreSQL then records the login, and SQLite, which has no users, the word ``sqlite3``. PostgreSQL records the events
of a statement as one change. SQLite's triggers see single rows, so that each row is a change of its own.

On PostgreSQL, writers of states, jobs, allocations and cordons take a lock before they lock any row and keep it until
their transaction ends, so that the order of events is the order of commits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, literal_column, make_url, select

from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import address_expression, node_address_expression
from trninv.inventory.triggers.cascade_triggers import cascaded, own_state_lite
from trninv.inventory.triggers.declaration import Function, Trigger
from trninv.inventory.triggers.guards import GUARDS

LOCK: Final = 7475
"""The key of PostgreSQL's advisory lock for writers of states, jobs and cordons."""

_TABLES: Final = ("server", "node", "link")
_CONDITION: Final = ("state", "factor_ppm")
_OWN: Final = ("own_state", "own_factor_ppm")
_WRITTEN: Final = (
    "id, batch, at, who, why, source, clock_went_back, kind, part_id, previous_id, address, before, factor_ppm_before, "
    "state, factor_ppm, own_before, own_factor_ppm_before, own_state, own_factor_ppm, action, job, chip_ids"
)
_NOW: Final = {
    "sqlite": "strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000+00:00'",
    "postgresql": """to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')""",
}
_LITE: Final = """{before}
    INSERT INTO state_event ({written})
    SELECT last.id + 1, coalesce(said.batch, last.id + 1), coalesce(said.at, {now}), coalesce(said.who, 'sqlite3'),
        coalesce(said.why, 'plain SQL'), coalesce(said.source, 'sql'),
        coalesce(coalesce(said.at, {now}) < (SELECT at FROM state_event WHERE id = last.id), false), {part}
    FROM (SELECT coalesce(max(id), 0) AS id FROM state_event) AS last LEFT JOIN _change AS said ON true{row};
    UPDATE _change SET batch = (SELECT max(id) FROM state_event) WHERE batch IS NULL;{after}"""
_ROW_OF_NODE: Final = """
    JOIN node AS became ON became.id = NEW.id WHERE {changed}"""
"""Reads the row again: the trigger itself has changed it by then."""
_FUNCTION: Final = """ DECLARE last bigint; said _change%ROWTYPE; BEGIN
    SELECT coalesce(max(id), 0) INTO last FROM state_event;
    SELECT * INTO said FROM _change;{unless}
    said.at := coalesce(said.at, {now});
    INSERT INTO state_event ({written})
    SELECT last + number, coalesce(said.batch, last + 1), said.at, coalesce(said.who, session_user),
        coalesce(said.why, 'plain SQL'), coalesce(said.source, 'sql'),
        number = 1 AND coalesce(said.at < (SELECT at FROM state_event WHERE id = last), false), {part}
    FROM (
        SELECT row_number() OVER (ORDER BY became.id) AS number, became.* FROM {rows}
        WHERE {changed}
    ) AS became {with_was} ORDER BY number;
    IF FOUND THEN
        UPDATE _change SET batch = last + 1 WHERE batch IS NULL;{after}
    END IF;
    RETURN NULL;
END """
_READ_BACK: Final = """
    IF said.id IS NULL AND starts_with(lower(current_query()), 'copy') THEN RETURN NULL; END IF;"""
"""Skips rows that a dump brings back with COPY, since the dump contains their events too."""
_ONE_AT_A_TIME: Final = Function("one_state_writer", f" BEGIN PERFORM pg_advisory_xact_lock({LOCK}); RETURN NULL; END ")


@dataclass(frozen=True, slots=True)
class _Watch:
    """A watched change of a table: an update of `columns` or, if there are none, an insert."""

    name: str
    table: str
    columns: tuple[str, ...]

    @property
    def verb(self) -> str:
        return f"UPDATE OF {', '.join(self.columns)}" if self.columns else "INSERT"

    def in_sqlite(self) -> Trigger:
        changed, is_node = self._changed("OLD", "NEW", "IS NOT"), self.table == "node"
        row = "became" if is_node else "NEW"
        body = _LITE.format(
            before=own_state_lite() if is_node else "",
            row=_ROW_OF_NODE.format(changed=self._changed("OLD", row, "IS NOT")) if is_node else "",
            after=cascaded("sqlite", changed) if self.table == "server" else "",
            written=_WRITTEN,
            now=_NOW["sqlite"],
            part=self._part("OLD", row, "sqlite"),
        )
        when = f"AFTER {self.verb} | {changed}"
        return Trigger.lite(f"{self.name}_state_event", self.table, when, body)

    def in_postgresql(self) -> Trigger:
        changed = self._changed("was", "became", "IS DISTINCT FROM")
        body = _FUNCTION.format(
            after=cascaded("postgresql", changed) if self.table == "server" else "",
            rows="was JOIN became ON became.id = was.id" if self.columns else "became",
            with_was="JOIN was ON was.id = became.id" if self.columns else "",
            unless="" if self.columns else _READ_BACK,
            changed=changed,
            written=_WRITTEN,
            now=_NOW["postgresql"],
            part=self._part("was", "became", "postgresql"),
        )
        name, verb = f"{self.name}_state_event", f"AFTER {self.verb.partition(' ')[0]}"
        tables = "OLD TABLE AS was NEW TABLE AS became" if self.columns else "NEW TABLE AS became"
        return Trigger.statement_level(name, self.table, verb, Function(name, body, sees_change=True), tables=tables)

    def _changed(self, was: str, became: str, differs: str) -> str:
        if self.table in _LASTING:
            ended = _LASTING[self.table]
            if not self.columns:
                return f"{became}.{ended} IS NULL"
            ended_or_not = f"({was}.{ended} IS NULL) <> ({became}.{ended} IS NULL)"
            if self.table == "cordon":
                return ended_or_not
            moved = " OR ".join(f"{was}.{column} {differs} {became}.{column}" for column in _MOVES)
            return f"{ended_or_not} OR {was}.{ended} IS NULL AND ({moved})"
        return " OR ".join(f"{was}.{column} {differs} {became}.{column}" for column in self.columns)

    def _part(self, was: str, became: str, dialect: str) -> str:
        """Return the values that describe the changed row, in the order of `_WRITTEN`."""
        if self.table == "job":
            begun = f"CASE WHEN {became}.first_started_at IS NULL THEN 'allocate' ELSE 'move' END"
            goes_on = f"{became}.ended_at IS NULL OR {became}.moved_at = {became}.ended_at"
            again = f"WHEN {was}.ended_at IS NOT NULL THEN 'allocate'"
            action = f"CASE {again} WHEN {goes_on} THEN 'move' ELSE 'release' END" if self.columns else begun
            address = f"coalesce({became}.place, (SELECT slug FROM cluster WHERE id = {became}.cluster_id))"  # noqa: S608 # only our own names
            chips = f"CASE WHEN {became}.ended_at IS NULL THEN coalesce({became}.chip_ids, '') END"
            return _done(f"{became}.id", address, action, f"{became}.name", chips)
        if self.table == "cordon":
            address = _server(f"{became}.server_id", dialect)
            action = f"CASE WHEN {became}.ended_at IS NULL THEN 'cordon' ELSE 'uncordon' END"
            return _done(f"{became}.server_id", address, action, "NULL", "NULL")
        return _of_part(self.table, was, became, dialect)


_LASTING: Final = {table: guard.ended for table, guard in GUARDS.items() if guard.ended}
"""Tables whose rows end instead of being deleted, each with the column of the end."""
_MOVES: Final = ("moved_at", "place", "chip_ids")
"""Columns of a job that change when it moves."""
_PARTS: Final = tuple(_Watch(name, name, (*_CONDITION, *_OWN) if name == "node" else _CONDITION) for name in _TABLES)
_WATCHED: Final = (
    *_PARTS,
    _Watch("job_begun", "job", ()),
    _Watch("job", "job", ("ended_at", *_MOVES)),
    _Watch("cordon_begun", "cordon", ()),
    _Watch("cordon", "cordon", ("ended_at",)),
)


def event_triggers(dialect: str) -> Iterator[Trigger]:
    """Declare the triggers that write events and, on PostgreSQL, those that serialize their writers."""
    if dialect == "sqlite":
        yield from (watch.in_sqlite() for watch in _WATCHED)
        return
    yield from (watch.in_postgresql() for watch in _WATCHED)
    first = {watch.table: watch.verb for watch in _PARTS} | dict.fromkeys(_LASTING, "INSERT OR UPDATE")
    for table, verb in first.items():
        yield Trigger.statement_level(f"{table}_one_state_writer", table, f"BEFORE {verb}", _ONE_AT_A_TIME)


def _of_part(table: str, was: str, became: str, dialect: str) -> str:
    """Return the values for a change of a part: its kind, id and address, and its condition before and after."""
    kind = f"{became}.kind" if table == "node" else f"'{table}'"
    previous = f"(SELECT max(id) FROM state_event WHERE kind = {kind} AND part_id = {became}.id)"  # noqa: S608 # only our own names
    own = [f"{row}.{column}" if table == "node" else "NULL" for row in (was, became) for column in _OWN]
    conditions = [f"{row}.{column}" for row in (was, became) for column in _CONDITION]
    address = _address(table, became, dialect)
    return ", ".join((kind, f"{became}.id", previous, address, *conditions, *own, *("NULL",) * 3))


def _done(key: str, address: str, action: str, job: str, chips: str) -> str:
    """Return the values for an action on a job or a server."""
    return ", ".join(("NULL", key, "NULL", address, *("'up'", "NULL") * 2, *("NULL",) * 4, action, job, chips))


def _address(table: str, row: str, dialect: str) -> str:
    """Return the address of a row as SQL text in a dialect, without bound parameters."""

    def node(column: str) -> str:
        return _text(node_address_expression(literal_column(f"{row}.{column}")), dialect)

    if table == "link":
        return f"{node('a_id')} || '--' || {node('b_id')}"
    return node("id") if table == "node" else _server(f"{row}.id", dialect)


def _server(key: str, dialect: str) -> str:
    """Return the address of the server with this id as SQL text."""
    aliases = {name: TABLES[name].alias(f"at_{name}") for name in ("server", "domain", "cluster")}
    joined = aliases["server"].join(aliases["domain"], aliases["domain"].c.id == aliases["server"].c.domain_id)
    joined = joined.join(aliases["cluster"], aliases["cluster"].c.id == aliases["domain"].c.cluster_id)
    query = (
        select(address_expression("server", aliases))
        .select_from(joined)
        .where(aliases["server"].c.id == literal_column(key))
    )
    return _text(query.scalar_subquery(), dialect)


def _text(rule: ColumnElement[Any], dialect: str) -> str:
    make: Any = make_url(f"{dialect}://").get_dialect()
    return str(rule.compile(dialect=make(paramstyle="named")))
