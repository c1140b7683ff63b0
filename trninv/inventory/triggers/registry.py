"""List all triggers, create them and compare them with the database.

Like views, triggers have no versions: migrations drop and create them (``migrations/env.py``). A trigger counts as
present if it exists, is enabled and equals its declaration: its own text and, on PostgreSQL, that of its function. Any
other trigger or rule on the tables is reported, since it could keep a row or an event from being written.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, text

from trninv.database.tables import TABLES
from trninv.inventory.triggers import partial_indexes
from trninv.inventory.triggers.allocation_triggers import allocation_triggers
from trninv.inventory.triggers.cascade_triggers import cascade_triggers
from trninv.inventory.triggers.declaration import Function, Trigger, same_text
from trninv.inventory.triggers.event_triggers import event_triggers
from trninv.inventory.triggers.guards import author_triggers, evidence_triggers, guard_triggers

_STORED_TRIGGERS: Final = {
    "sqlite": "SELECT name, tbl_name AS table_name, sql AS statement FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": """
        SELECT tgname AS name, relname AS table_name, pg_get_triggerdef(pg_trigger.oid, true) AS statement,
            tgenabled IN ('O', 'A') AS runs, proname, prosrc, prosecdef, lanname,
            proconfig IS NOT NULL AS is_bound
        FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
        JOIN pg_language ON pg_language.oid = prolang
        WHERE relnamespace = to_regnamespace(current_schema()) AND NOT tgisinternal""",
}
_RULES: Final = """
    SELECT relname AS table_name, rulename AS name FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
    WHERE relnamespace = to_regnamespace(current_schema()) AND relkind IN ('r', 'p')"""


@cache
def declared(dialect: str) -> tuple[Trigger, ...]:
    """Return every trigger that a database must have."""
    kinds = (event_triggers, cascade_triggers, guard_triggers, evidence_triggers, author_triggers, allocation_triggers)
    return tuple(trigger for declare in kinds for trigger in declare(dialect))


def dropping(dialect: str) -> Iterator[str]:
    """Yield statements that drop the triggers, if they exist."""
    if dialect == "sqlite":
        yield from (f"DROP TRIGGER IF EXISTS {trigger.name}" for trigger in declared(dialect))
        return
    for name in _functions():
        yield f"DROP FUNCTION IF EXISTS {name} CASCADE"


def creating(dialect: str) -> Iterator[str]:
    """Yield statements that create the triggers."""
    if dialect == "postgresql":
        yield from (function.statement for function in _functions().values())
    yield from (trigger.statement for trigger in declared(dialect))


def outdated(connection: Connection) -> dict[str, str]:
    """Return the declared triggers that are missing, disabled or replaced, each with that word."""
    stored = {
        (row.table_name, row.name): row for row in connection.execute(text(_STORED_TRIGGERS[connection.dialect.name]))
    }
    wrong = {}
    for trigger in declared(connection.dialect.name):
        row = stored.get((trigger.table, trigger.name))
        if row is None:
            wrong[trigger.name] = "missing"
        elif not getattr(row, "runs", True):
            wrong[trigger.name] = "disabled"
        elif not (same_text(row.statement, trigger.statement) and _calls(row, trigger.function)):
            wrong[trigger.name] = "replaced"
    return wrong


def unknown(connection: Connection) -> dict[str, str]:
    """Return triggers and rules on the tables that are not declared: they may swallow rows or events."""
    names = {(trigger.table, trigger.name) for trigger in declared(connection.dialect.name)}
    rows = [
        (row.table_name, row.name, "trigger")
        for row in connection.execute(text(_STORED_TRIGGERS[connection.dialect.name]))
    ]
    if connection.dialect.name == "postgresql":
        rows += [(row.table_name, row.name, "rule") for row in connection.execute(text(_RULES))]
    return {
        name: f"{kind} on {table} is not trninv's"
        for table, name, kind in rows
        if table in TABLES and (table, name) not in names
    }


def check(connection: Connection) -> str | None:
    """Return one line about what is wrong with the triggers and partial indexes of a database, or None."""
    if wrong := outdated(connection):
        listed = ", ".join(f"{name} is {problem}" for name, problem in sorted(wrong.items()))
        return f"triggers do not keep the history: {listed}: run trninv migrate"
    if broken := partial_indexes.outdated(connection):
        listed = ", ".join(f"{name} is {problem}" for name, problem in sorted(broken.items()))
        return f"indexes are not as declared: {listed}: create them as trninv migrate --sql prints them"
    if others := unknown(connection):
        listed = ", ".join(f"{name} ({problem})" for name, problem in sorted(others.items()))
        return f"triggers may keep changes from the history: {listed}: drop what you do not know"
    return None


def _functions() -> dict[str, Function]:
    """Return the functions that PostgreSQL's triggers call, by name."""
    return {
        trigger.function.name: trigger.function for trigger in declared("postgresql") if trigger.function is not None
    }


def _calls(row: Any, function: Function | None) -> bool:
    """Return whether a PostgreSQL trigger calls a function that equals its declaration."""
    if function is None:
        return True
    actual = (row.proname, row.prosrc, row.prosecdef, row.lanname, row.is_bound)
    return actual == (function.name, function.body, function.sees_change, "plpgsql", True)
