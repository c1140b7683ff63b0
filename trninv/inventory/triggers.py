"""The one list of triggers: what is created by a migration is what `verify` and `migrate --check` hold a database to.

Like views, triggers have no versions: migrations drop and create them (``migrations/env.py``). A trigger counts only if
it is there, runs, and is as it is declared: its own text and, on PostgreSQL, that of the function that it calls. What
else could keep a row from being written, or an event: triggers and rules that are nobody's of these.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, text

from trninv.inventory import partial_indexes
from trninv.inventory.author_triggers import author_triggers
from trninv.inventory.cascade import cascade_triggers
from trninv.inventory.declaration import Function, Trigger, same_text
from trninv.inventory.event_triggers import event_triggers
from trninv.inventory.guards import evidence_triggers, guard_triggers
from trninv.inventory.held_triggers import held_triggers
from trninv.inventory.schema import TABLES

_STANDING: Final = {
    "sqlite": "SELECT name, tbl_name AS of, sql AS statement FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": """
        SELECT tgname AS name, relname AS of, pg_get_triggerdef(pg_trigger.oid, true) AS statement,
            tgenabled IN ('O', 'A') AS runs, proname, prosrc, prosecdef, lanname,
            proconfig IS NOT NULL AS is_bound
        FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
        JOIN pg_language ON pg_language.oid = prolang
        WHERE relnamespace = to_regnamespace(current_schema()) AND NOT tgisinternal""",
}
_RULES: Final = """
    SELECT relname AS of, rulename AS name FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
    WHERE relnamespace = to_regnamespace(current_schema()) AND relkind IN ('r', 'p')"""


@cache
def declared(dialect: str) -> tuple[Trigger, ...]:
    """Return every trigger that a database must have."""
    kinds = (event_triggers, cascade_triggers, guard_triggers, evidence_triggers, author_triggers, held_triggers)
    return tuple(trigger for declare in kinds for trigger in declare(dialect))


def dropping(dialect: str) -> Iterator[str]:
    """Yield statements that drop the triggers, where there are any."""
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
    """Return what is wrong with which declared trigger: it is missing, disabled, or was replaced."""
    standing = {(row.of, row.name): row for row in connection.execute(text(_STANDING[connection.dialect.name]))}
    wrong = {}
    for trigger in declared(connection.dialect.name):
        row = standing.get((trigger.table, trigger.name))
        if row is None:
            wrong[trigger.name] = "missing"
        elif not getattr(row, "runs", True):
            wrong[trigger.name] = "disabled"
        elif not (same_text(row.statement, trigger.statement) and _calls(row, trigger.function)):
            wrong[trigger.name] = "replaced"
    return wrong


def unknown(connection: Connection) -> dict[str, str]:
    """Return triggers and rules on the tables that are none of these: they may swallow rows, or events."""
    names = {(trigger.table, trigger.name) for trigger in declared(connection.dialect.name)}
    rows = [(row.of, row.name, "trigger") for row in connection.execute(text(_STANDING[connection.dialect.name]))]
    if connection.dialect.name == "postgresql":
        rows += [(row.of, row.name, "rule") for row in connection.execute(text(_RULES))]
    return {
        name: f"{kind} on {table} is not trninv's"
        for table, name, kind in rows
        if table in TABLES and (table, name) not in names
    }


def check(connection: Connection) -> str | None:
    """Return what is wrong with the triggers and the partial indexes of a database, in one line, else None."""
    if wrong := outdated(connection):
        listed = ", ".join(f"{name} is {what}" for name, what in sorted(wrong.items()))
        return f"triggers do not keep the history: {listed}: run trninv migrate"
    if broken := partial_indexes.outdated(connection):
        listed = ", ".join(f"{name} is {what}" for name, what in sorted(broken.items()))
        return f"indexes are not as declared: {listed}: create them as trninv migrate --sql prints them"
    if others := unknown(connection):
        listed = ", ".join(f"{name} ({what})" for name, what in sorted(others.items()))
        return f"triggers may keep changes from the history: {listed}: drop what you do not know"
    return None


def _functions() -> dict[str, Function]:
    """Return the functions that PostgreSQL's triggers call, by name."""
    return {
        trigger.function.name: trigger.function for trigger in declared("postgresql") if trigger.function is not None
    }


def _calls(row: Any, function: Function | None) -> bool:
    """Return whether PostgreSQL's trigger calls a function that is as declared."""
    if function is None:
        return True
    found = (row.proname, row.prosrc, row.prosecdef, row.lanname, row.is_bound)
    return found == (function.name, function.body, function.sees_change, "plpgsql", True)
