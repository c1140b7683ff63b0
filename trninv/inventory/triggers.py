"""Triggers that keep an event of every change of a state, of every job that begins to hold chips, moves or gives them
back, and of every server that is closed or opened, whoever does it: nothing else writes ``state_event``.

Who, why and from where stand in the one row of ``_change`` while trninv makes a change. A statement of SQL has none:
PostgreSQL then tells the login; SQLite knows no users, and whoever it is is written ``sqlite3``. PostgreSQL keeps the
events of a statement as one change. SQLite's triggers see one row at a time: each is a change of its own.

Rows of jobs, of what they hold and of closings end and are not deleted: other triggers refuse that, but to trninv.

On PostgreSQL whoever changes states, jobs, what they hold or closings holds a lock until the end of the transaction,
taken before any row's, so that the order of the events is that in which they were committed. Like views, triggers have
no versions: migrations drop and create them (``migrations/env.py``).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, literal_column, make_url, select, text

from trninv.inventory.address import address_of, address_of_node
from trninv.inventory.schema import TABLES

LOCK: Final = 7475
"""PostgreSQL's advisory lock of whoever changes states, jobs or closings."""

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
_LITE: Final = """
CREATE TRIGGER {name}_state_event AFTER {verb} ON {table}
WHEN {changed}
BEGIN
    INSERT INTO state_event ({written})
    SELECT last.id + 1, coalesce(said.batch, last.id + 1), coalesce(said.at, {now}), coalesce(said.who, 'sqlite3'),
        coalesce(said.why, 'plain SQL'), coalesce(said.source, 'sql'),
        coalesce(coalesce(said.at, {now}) < (SELECT at FROM state_event WHERE id = last.id), false), {part}
    FROM (SELECT coalesce(max(id), 0) AS id FROM state_event) AS last LEFT JOIN _change AS said ON true;
    UPDATE _change SET batch = (SELECT max(id) FROM state_event) WHERE batch IS NULL;
END"""
_FUNCTION: Final = """
CREATE FUNCTION {name}_state_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
AS $$ DECLARE last bigint; said _change%ROWTYPE; BEGIN
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
        UPDATE _change SET batch = last + 1 WHERE batch IS NULL;
    END IF;
    RETURN NULL;
END $$"""
_READ_BACK: Final = """
    IF said.id IS NULL AND starts_with(lower(current_query()), 'copy') THEN RETURN NULL; END IF;"""
"""Rows of a dump that is read back, whose events come with it."""
_TRIGGER: Final = """
CREATE TRIGGER {name}_state_event AFTER {verb} ON {table} REFERENCING {tables}
FOR EACH STATEMENT EXECUTE FUNCTION {name}_state_event()"""
_ONE_AT_A_TIME: Final = f"""
CREATE FUNCTION one_state_writer() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN PERFORM pg_advisory_xact_lock({LOCK}); RETURN NULL; END $$"""
_FIRST: Final = """
CREATE TRIGGER {table}_one_state_writer BEFORE {verbs} ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION one_state_writer()"""
_KEEPING_LITE: Final = """
CREATE TRIGGER {table}_not_deleted BEFORE DELETE ON {table} WHEN NOT EXISTS (SELECT * FROM _change)
BEGIN SELECT RAISE(ABORT, '{refusal}'); END"""
_KEEPING: Final = """
CREATE FUNCTION {table}_not_deleted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
AS $$ BEGIN
    IF EXISTS (SELECT FROM _change) THEN RETURN NULL; END IF;
    RAISE EXCEPTION '{refusal}';
END $$"""
_KEPT: Final = """
CREATE TRIGGER {table}_not_deleted BEFORE DELETE OR TRUNCATE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION {table}_not_deleted()"""
_STANDING: Final = {
    "sqlite": """
        SELECT name, sql FROM sqlite_master
        WHERE type = 'trigger' AND substr(name, -12) IN ('_state_event', '_not_deleted')""",
    "postgresql": """
        SELECT tgname AS name, prosrc AS sql FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
        JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = to_regnamespace(current_schema()) AND tgenabled = 'O'
        AND (right(tgname, 12) IN ('_state_event', '_not_deleted') OR right(tgname, 17) = '_one_state_writer')""",
}
"""Names of the triggers that there are and run, and what tells whether they are as they should be."""


@dataclass(frozen=True, slots=True)
class _Trigger:
    """What is watched of a table: columns that are updated, or, where there are none, rows that are inserted."""

    name: str
    table: str
    columns: tuple[str, ...]

    @property
    def verb(self) -> str:
        return f"UPDATE OF {', '.join(self.columns)}" if self.columns else "INSERT"

    def in_sqlite(self) -> str:
        return _LITE.format(
            name=self.name,
            verb=self.verb,
            table=self.table,
            changed=self._changed("OLD", "NEW", "IS NOT"),
            written=_WRITTEN,
            now=_NOW["sqlite"],
            part=self._part("OLD", "NEW", "sqlite"),
        ).strip()

    def in_postgresql(self) -> Iterator[str]:
        """The function, and the trigger that calls it."""
        yield _FUNCTION.format(
            name=self.name,
            rows="was JOIN became ON became.id = was.id" if self.columns else "became",
            with_was="JOIN was ON was.id = became.id" if self.columns else "",
            unless="" if self.columns else _READ_BACK,
            changed=self._changed("was", "became", "IS DISTINCT FROM"),
            written=_WRITTEN,
            now=_NOW["postgresql"],
            part=self._part("was", "became", "postgresql"),
        )
        yield _TRIGGER.format(
            name=self.name,
            verb=self.verb.partition(" ")[0],
            table=self.table,
            tables="OLD TABLE AS was NEW TABLE AS became" if self.columns else "NEW TABLE AS became",
        )

    def _changed(self, was: str, became: str, differs: str) -> str:
        if self.table in _LASTING:
            ended = _LASTING[self.table]
            if not self.columns:
                return f"{became}.{ended} IS NULL"
            ended_or_not = f"({was}.{ended} IS NULL) <> ({became}.{ended} IS NULL)"
            if self.table == "closing":
                return ended_or_not
            moved = " OR ".join(f"{was}.{column} {differs} {became}.{column}" for column in _MOVES)
            return f"{ended_or_not} OR {was}.{ended} IS NULL AND ({moved})"
        return " OR ".join(f"{was}.{column} {differs} {became}.{column}" for column in self.columns)

    def _part(self, was: str, became: str, dialect: str) -> str:
        """What a row is of, and what became of it, in the order of `_WRITTEN`."""
        if self.table == "job":
            begun = f"CASE WHEN {became}.first_began IS NULL THEN 'hold' ELSE 'move' END"
            goes_on = f"{became}.ended IS NULL OR {became}.moved = {became}.ended"
            again = f"WHEN {was}.ended IS NOT NULL THEN 'hold'"
            action = f"CASE {again} WHEN {goes_on} THEN 'move' ELSE 'release' END" if self.columns else begun
            address = f"coalesce({became}.place, (SELECT slug FROM cluster WHERE id = {became}.cluster_id))"  # noqa: S608 # of ours
            chips = f"CASE WHEN {became}.ended IS NULL THEN coalesce({became}.chip_ids, '') END"
            return _done(f"{became}.id", address, action, f"{became}.name", chips)
        if self.table == "closing":
            address = _server(f"{became}.server_id", dialect)
            action = f"CASE WHEN {became}.until IS NULL THEN 'close' ELSE 'open' END"
            return _done(f"{became}.server_id", address, action, "NULL", "NULL")
        return _of_part(self.table, was, became, dialect)


_LASTING: Final = {"job": "ended", "closing": "until", "allocation": "ended"}
"""Tables whose rows begin and end, and what tells when they did."""
_MOVES: Final = ("moved", "place", "chip_ids")
"""Columns of a job that change where it moves within its row."""
_PARTS: Final = tuple(_Trigger(name, name, (*_CONDITION, *_OWN) if name == "node" else _CONDITION) for name in _TABLES)
_TRIGGERS: Final = (
    *_PARTS,
    _Trigger("job_begun", "job", ()),
    _Trigger("job", "job", ("ended", *_MOVES)),
    _Trigger("closing_begun", "closing", ()),
    _Trigger("closing", "closing", ("until",)),
)
_NAMES: Final = (*(f"{each.name}_state_event" for each in _TRIGGERS), *(f"{table}_not_deleted" for table in _LASTING))


def _in_sqlite() -> dict[str, str]:
    """Triggers by name."""
    kept = (_keeping(_KEEPING_LITE, table) for table in _LASTING)
    return dict(zip(_NAMES, (*(each.in_sqlite() for each in _TRIGGERS), *kept), strict=True))


def _keeping(statement: str, table: str) -> str:
    return statement.format(table=table, refusal=f"{table}: rows are kept: set {_LASTING[table]} instead").strip()


def dropping(dialect: str) -> Iterator[str]:
    """Statements that drop the triggers, where there are any."""
    if dialect == "sqlite":
        yield from (f"DROP TRIGGER IF EXISTS {name}" for name in _NAMES)
        return
    for function in (*_NAMES, "one_state_writer"):
        yield f"DROP FUNCTION IF EXISTS {function} CASCADE"


def creating(dialect: str) -> Iterator[str]:
    """Statements that create the triggers."""
    if dialect == "sqlite":
        yield from _in_sqlite().values()
        return
    yield _ONE_AT_A_TIME
    for each in _TRIGGERS:
        yield from each.in_postgresql()
    for each in _PARTS:
        yield _FIRST.format(table=each.table, verbs=each.verb)
    for table in _LASTING:
        yield _FIRST.format(table=table, verbs="INSERT OR UPDATE")
        yield from (_keeping(each, table) for each in (_KEEPING, _KEPT))


def outdated(connection: Connection) -> list[str]:
    """Names of triggers that are missing, do not run, or are not as this trninv makes them."""
    standing = {row.name: row.sql for row in connection.execute(text(_STANDING[connection.dialect.name]))}
    if connection.dialect.name == "sqlite":
        wanted = _in_sqlite()
    else:
        wanted = {f"{each.name}_state_event": _body(next(each.in_postgresql())) for each in _TRIGGERS}
        wanted |= {f"{table}_one_state_writer": _body(_ONE_AT_A_TIME) for table in (*_TABLES, *_LASTING)}
        wanted |= {f"{table}_not_deleted": _body(_keeping(_KEEPING, table)) for table in _LASTING}
    return sorted(name for name in {*wanted, *standing} if wanted.get(name) != standing.get(name))


def check(connection: Connection) -> str | None:
    """What is wrong with the triggers of a database, in one line, else None."""
    names = outdated(connection)
    return (
        f"changes leave no events: {', '.join(names)} not as trninv makes them: run trninv migrate" if names else None
    )


def _body(function: str) -> str:
    return function.split("$$")[1]


def _of_part(table: str, was: str, became: str, dialect: str) -> str:
    """What part a row is, and its condition before and after."""
    kind = f"{became}.kind" if table == "node" else f"'{table}'"
    previous = f"(SELECT max(id) FROM state_event WHERE kind = {kind} AND part_id = {became}.id)"  # noqa: S608 # names of ours
    own = [f"{row}.{column}" if table == "node" else "NULL" for row in (was, became) for column in _OWN]
    conditions = [f"{row}.{column}" for row in (was, became) for column in _CONDITION]
    address = _address(table, became, dialect)
    return ", ".join((kind, f"{became}.id", previous, address, *conditions, *own, *("NULL",) * 3))


def _done(key: str, address: str, action: str, job: str, chips: str) -> str:
    """What was done to a job or a server."""
    return ", ".join(("NULL", key, "NULL", address, *("'up'", "NULL") * 2, *("NULL",) * 4, action, job, chips))


def _address(table: str, row: str, dialect: str) -> str:
    """The address of a row, in the text of a dialect that no driver reads."""

    def node(column: str) -> str:
        return _text(address_of_node(literal_column(f"{row}.{column}")), dialect)

    if table == "link":
        return f"{node('a_id')} || '--' || {node('b_id')}"
    return node("id") if table == "node" else _server(f"{row}.id", dialect)


def _server(key: str, dialect: str) -> str:
    """The address of the server with a key."""
    at = {name: TABLES[name].alias(f"at_{name}") for name in ("server", "domain", "cluster")}
    joined = at["server"].join(at["domain"], at["domain"].c.id == at["server"].c.domain_id)
    joined = joined.join(at["cluster"], at["cluster"].c.id == at["domain"].c.cluster_id)
    query = select(address_of("server", at)).select_from(joined).where(at["server"].c.id == literal_column(key))
    return _text(query.scalar_subquery(), dialect)


def _text(rule: ColumnElement[Any], dialect: str) -> str:
    make: Any = make_url(f"{dialect}://").get_dialect()
    return str(rule.compile(dialect=make(paramstyle="named")))
