"""Triggers that keep an event of every change of a state, whoever makes it: nothing else writes ``state_event``.

Who, why and from where stand in the one row of ``_change`` while trninv makes a change. A statement of SQL has none:
PostgreSQL then tells the login; SQLite knows no users, and whoever it is is written ``sqlite3``. PostgreSQL keeps the
events of a statement as one change. SQLite's triggers see one row at a time: each is a change of its own.

On PostgreSQL whoever changes states holds a lock until the end of the transaction, taken before any row's, so that the
order of the events is that in which they were committed. Like views, triggers have no versions: migrations drop and
create them (``migrations/env.py``).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, literal_column, make_url, select, text

from trninv.inventory.address import address_of, address_of_node
from trninv.inventory.schema import TABLES

LOCK: Final = 7475
"""PostgreSQL's advisory lock of whoever changes states."""

_TABLES: Final = ("server", "node", "link")
_CONDITION: Final = ("state", "factor_ppm")
_OWN: Final = ("own_state", "own_factor_ppm")
_WRITTEN: Final = (
    "id, batch, at, who, why, source, clock_went_back, kind, part_id, previous_id, address, before, factor_ppm_before, "
    "state, factor_ppm, own_before, own_factor_ppm_before, own_state, own_factor_ppm"
)
_NOW: Final = {
    "sqlite": "strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000+00:00'",
    "postgresql": """to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')""",
}
_LITE: Final = """
CREATE TRIGGER {table}_state_event AFTER UPDATE OF {columns} ON {table}
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
CREATE FUNCTION {table}_state_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
AS $$ DECLARE last bigint; said _change%ROWTYPE; BEGIN
    SELECT coalesce(max(id), 0) INTO last FROM state_event;
    SELECT * INTO said FROM _change;
    said.at := coalesce(said.at, {now});
    INSERT INTO state_event ({written})
    SELECT last + number, coalesce(said.batch, last + 1), said.at, coalesce(said.who, session_user),
        coalesce(said.why, 'plain SQL'), coalesce(said.source, 'sql'),
        number = 1 AND coalesce(said.at < (SELECT at FROM state_event WHERE id = last), false), {part}
    FROM (
        SELECT row_number() OVER (ORDER BY became.id) AS number, became.* FROM was JOIN became ON became.id = was.id
        WHERE {changed}
    ) AS became JOIN was ON was.id = became.id ORDER BY number;
    IF FOUND THEN
        UPDATE _change SET batch = last + 1 WHERE batch IS NULL;
    END IF;
    RETURN NULL;
END $$"""
_TRIGGER: Final = """
CREATE TRIGGER {table}_state_event AFTER UPDATE ON {table} REFERENCING OLD TABLE AS was NEW TABLE AS became
FOR EACH STATEMENT EXECUTE FUNCTION {table}_state_event()"""
_ONE_AT_A_TIME: Final = f"""
CREATE FUNCTION one_state_writer() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN PERFORM pg_advisory_xact_lock({LOCK}); RETURN NULL; END $$"""
_FIRST: Final = """
CREATE TRIGGER {table}_one_state_writer BEFORE UPDATE OF {columns} ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION one_state_writer()"""
_STANDING: Final = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND substr(name, -12) = '_state_event'",
    "postgresql": """
        SELECT tgname AS name, prosrc AS sql FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
        JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = to_regnamespace(current_schema()) AND tgenabled = 'O'
        AND (right(tgname, 12) = '_state_event' OR right(tgname, 17) = '_one_state_writer')""",
}
"""Names of the triggers that there are and run, and what tells whether they are as they should be."""


def dropping(dialect: str) -> Iterator[str]:
    """Statements that drop the triggers, where there are any."""
    if dialect == "sqlite":
        yield from (f"DROP TRIGGER IF EXISTS {table}_state_event" for table in _TABLES)
        return
    for function in (*(f"{table}_state_event" for table in _TABLES), "one_state_writer"):
        yield f"DROP FUNCTION IF EXISTS {function} CASCADE"


def creating(dialect: str) -> Iterator[str]:
    """Statements that create the triggers."""
    if dialect == "sqlite":
        yield from (_lite(table).strip() for table in _TABLES)
        return
    yield _ONE_AT_A_TIME
    for table in _TABLES:
        yield _function(table)
        yield _TRIGGER.format(table=table)
        yield _FIRST.format(table=table, columns=", ".join(_columns(table)))


def outdated(connection: Connection) -> list[str]:
    """Names of triggers that are missing, do not run, or are not as this trninv makes them."""
    standing = {row.name: row.sql for row in connection.execute(text(_STANDING[connection.dialect.name]))}
    if connection.dialect.name == "sqlite":
        wanted = {f"{table}_state_event": _lite(table).strip() for table in _TABLES}
    else:
        wanted = {f"{table}_state_event": _body(_function(table)) for table in _TABLES}
        wanted |= {f"{table}_one_state_writer": _body(_ONE_AT_A_TIME) for table in _TABLES}
    return sorted(name for name in {*wanted, *standing} if wanted.get(name) != standing.get(name))


def check(connection: Connection) -> str | None:
    """What is wrong with the triggers of a database, in one line, else None."""
    names = outdated(connection)
    return (
        f"changes of state leave no events: {', '.join(names)} not as trninv makes them: run trninv migrate"
        if names
        else None
    )


def _body(function: str) -> str:
    return function.split("$$")[1]


def _columns(table: str) -> tuple[str, ...]:
    return (*_CONDITION, *_OWN) if table == "node" else _CONDITION


def _lite(table: str) -> str:
    columns = _columns(table)
    return _LITE.format(
        table=table,
        columns=", ".join(columns),
        changed=" OR ".join(f"OLD.{column} IS NOT NEW.{column}" for column in columns),
        written=_WRITTEN,
        now=_NOW["sqlite"],
        part=_part(table, "OLD", "NEW", "sqlite"),
    )


def _function(table: str) -> str:
    columns = _columns(table)
    return _FUNCTION.format(
        table=table,
        changed=" OR ".join(f"was.{column} IS DISTINCT FROM became.{column}" for column in columns),
        written=_WRITTEN,
        now=_NOW["postgresql"],
        part=_part(table, "was", "became", "postgresql"),
    )


def _part(table: str, was: str, became: str, dialect: str) -> str:
    """What part a row is, and its condition before and after, in the order of `_WRITTEN`."""
    kind = f"{became}.kind" if table == "node" else f"'{table}'"
    previous = f"(SELECT max(id) FROM state_event WHERE kind = {kind} AND part_id = {became}.id)"  # noqa: S608 # names of ours
    own = [f"{row}.{column}" if table == "node" else "NULL" for row in (was, became) for column in _OWN]
    conditions = [f"{row}.{column}" for row in (was, became) for column in _CONDITION]
    found: Sequence[str] = (kind, f"{became}.id", previous, _address(table, became, dialect), *conditions, *own)
    return ", ".join(found)


def _address(table: str, row: str, dialect: str) -> str:
    """The address of a row, in the text of a dialect that no driver reads."""

    def node(column: str) -> str:
        return _text(address_of_node(literal_column(f"{row}.{column}")), dialect)

    if table == "link":
        return f"{node('a_id')} || '--' || {node('b_id')}"
    if table == "node":
        return node("id")
    at = {name: TABLES[name].alias(f"at_{name}") for name in ("server", "domain", "cluster")}
    joined = at["server"].join(at["domain"], at["domain"].c.id == at["server"].c.domain_id)
    joined = joined.join(at["cluster"], at["cluster"].c.id == at["domain"].c.cluster_id)
    query = select(address_of("server", at)).select_from(joined).where(at["server"].c.id == literal_column(f"{row}.id"))
    return _text(query.scalar_subquery(), dialect)


def _text(rule: ColumnElement[Any], dialect: str) -> str:
    make: Any = make_url(f"{dialect}://").get_dialect()
    return str(rule.compile(dialect=make(paramstyle="named")))
