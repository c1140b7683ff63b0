"""List all declared triggers, create them, and compare them with those in the database.

Like views, triggers have no versions: migrations drop and create them (``migrations/env.py``). A trigger counts as
present if it exists, is enabled and equals its declaration: its own text and, on PostgreSQL, that of its function. Any
other trigger or rule on the tables is reported, since it could prevent a row or an event from being written.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, text

from trninv.database.tables import TABLES
from trninv.inventory.triggers import partial_indexes
from trninv.inventory.triggers.allocation_triggers import allocation_triggers, reservation_triggers
from trninv.inventory.triggers.cascade_triggers import cascade_triggers
from trninv.inventory.triggers.count_triggers import count_triggers
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
        WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND NOT tgisinternal""",
}
_RULES: Final = """
    SELECT relname AS table_name, rulename AS name FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
    WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind IN ('r', 'p')"""
"""Selects PostgreSQL's rules on tables, which can replace or suppress a statement."""


@cache
def declared(dialect: str) -> tuple[Trigger, ...]:
    """Return every trigger that a database must have."""
    declarations = (
        event_triggers,
        cascade_triggers,
        guard_triggers,
        evidence_triggers,
        author_triggers,
        allocation_triggers,
        reservation_triggers,
        count_triggers,
    )
    return tuple(trigger for declare in declarations for trigger in declare(dialect))


def drop_statements(dialect: str) -> Iterator[str]:
    """Yield statements that drop the triggers, if they exist."""
    if dialect == "sqlite":
        yield from (f"DROP TRIGGER IF EXISTS {trigger.name}" for trigger in declared(dialect))
        return
    for name in _functions_by_name():
        yield f"DROP FUNCTION IF EXISTS {name} CASCADE"


def create_statements(dialect: str) -> Iterator[str]:
    """Yield statements that create the triggers."""
    if dialect == "postgresql":
        yield from (function.statement for function in _functions_by_name().values())
    yield from (trigger.statement for trigger in declared(dialect))


def outdated(connection: Connection) -> dict[str, str]:
    """Return the names of declared triggers that differ, each with "missing", "disabled" or "replaced"."""
    stored = {
        (row.table_name, row.name): row for row in connection.execute(text(_STORED_TRIGGERS[connection.dialect.name]))
    }
    problems = {}
    for trigger in declared(connection.dialect.name):
        row = stored.get((trigger.table, trigger.name))
        if row is None:
            problems[trigger.name] = "missing"
        elif not getattr(row, "runs", True):
            problems[trigger.name] = "disabled"
        elif not (same_text(row.statement, trigger.statement) and _calls_declared_function(row, trigger.function)):
            problems[trigger.name] = "replaced"
    return problems


def outdated_counting(connection: Connection) -> bool:
    """Return whether a trigger that counts parts is not as declared, so that changes may not have been counted."""
    counting = {trigger.name for trigger in count_triggers(connection.dialect.name)}
    return not counting.isdisjoint(outdated(connection))


def unknown(connection: Connection) -> dict[str, str]:
    """Return the triggers and rules on the tables that are not declared, each with a description."""
    declared_names = {(trigger.table, trigger.name) for trigger in declared(connection.dialect.name)}
    rows = [
        (row.table_name, row.name, "trigger")
        for row in connection.execute(text(_STORED_TRIGGERS[connection.dialect.name]))
    ]
    if connection.dialect.name == "postgresql":
        rows += [(row.table_name, row.name, "rule") for row in connection.execute(text(_RULES))]
    return {
        name: f"{kind} on {table} is not trninv's"
        for table, name, kind in rows
        if table in TABLES and (table, name) not in declared_names
    }


def check(connection: Connection) -> str | None:
    """Return one line about what is wrong with the triggers and partial indexes of a database, or None."""
    if triggers := outdated(connection):
        listed = ", ".join(f"{name} is {problem}" for name, problem in sorted(triggers.items()))
        return f"triggers do not keep the history: {listed}: run trninv migrate"
    if indexes := partial_indexes.outdated(connection):
        listed = ", ".join(f"{name} is {problem}" for name, problem in sorted(indexes.items()))
        return f"indexes are not as declared: {listed}: create them as trninv migrate --sql prints them"
    if others := unknown(connection):
        listed = ", ".join(f"{name} ({problem})" for name, problem in sorted(others.items()))
        return f"triggers may prevent changes from being recorded: {listed}: drop those that you did not create"
    return None


def _functions_by_name() -> dict[str, Function]:
    """Return the functions that PostgreSQL's triggers call, by name."""
    return {
        trigger.function.name: trigger.function for trigger in declared("postgresql") if trigger.function is not None
    }


def _calls_declared_function(row: Any, function: Function | None) -> bool:
    """Return whether a trigger calls a function as declared, with a fixed search path; SQLite's triggers call none."""
    if function is None:
        return True
    actual = (row.proname, row.prosrc, row.prosecdef, row.lanname, row.is_bound)
    return actual == (function.name, function.body, function.sees_change, "plpgsql", True)
