"""Declare the triggers that keep ``part_count`` current (`trninv.database.part_counts`), whoever changes a part.

Bulk loads run without them and write the counts once (`without_counting`). In PostgreSQL's triggers, ``was`` and
``became`` are the changed rows before and after.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection

from trninv.database.part_counts import (
    COUNTED_COLUMNS,
    COUNTED_TABLES,
    MOVED_COLUMNS,
    add_statement,
    counted_rows,
    moved_rows,
    used_columns,
)
from trninv.inventory.triggers.declaration import Function, Trigger

_SKIP_RESTORED_ROWS: Final = """
    IF starts_with(lower(current_query()), 'copy') AND NOT EXISTS (SELECT * FROM _change) THEN RETURN NULL; END IF;"""
"""Skips rows that COPY restores from a dump, since the dump contains their counts too; not those of a change."""


def count_triggers(dialect: str) -> Iterator[Trigger]:
    """Yield the triggers of a dialect: up to three for each counted table, and those of `MOVED_COLUMNS`."""
    declare = _in_sqlite if dialect == "sqlite" else _in_postgresql
    for table in COUNTED_TABLES:
        if table != "node":  # a new node is counted with its row in the table of its kind
            yield declare(table, "INSERT", ())
            yield declare(table, "DELETE", ())
        if columns := COUNTED_COLUMNS.get(table):
            yield declare(table, "UPDATE", columns)
    for table, column in MOVED_COLUMNS:
        yield _of_moved_rows(dialect, table, column)


@contextmanager
def without_counting(connection: Connection) -> Iterator[None]:
    """Drop the triggers inside this context; after an exception, only a rollback restores them."""
    dialect = connection.dialect.name
    triggers = tuple(count_triggers(dialect))
    for trigger in triggers:
        table = "" if dialect == "sqlite" else f" ON {trigger.table}"
        connection.exec_driver_sql(f"DROP TRIGGER {trigger.name}{table}")
    yield
    for trigger in triggers:
        connection.exec_driver_sql(trigger.statement)


def _in_sqlite(table: str, verb: str, columns: tuple[str, ...]) -> Trigger:
    def rows(row: str) -> str:
        return f"(SELECT {', '.join(f'{row}.{name} AS {name}' for name in used_columns(table))})"

    changes = [
        *(counted_rows(table, rows("NEW")) if verb != "DELETE" else ()),
        *(counted_rows(table, rows("OLD"), "-") if verb != "INSERT" else ()),
    ]
    when = f" OF {', '.join(columns)} | " + " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in columns)
    body = add_statement(changes, grouped=False)
    return Trigger.in_sqlite(f"{table}_count_{verb.lower()}", table, f"AFTER {verb}{when if columns else ''}", body)


def _in_postgresql(table: str, verb: str, _columns: tuple[str, ...]) -> Trigger:
    changes = [
        *(counted_rows(table, "became") if verb != "DELETE" else ()),
        *(counted_rows(table, "was", "-") if verb != "INSERT" else ()),
    ]
    skip = _SKIP_RESTORED_ROWS if verb == "INSERT" else ""
    name, statement = f"{table}_count_{verb.lower()}", add_statement(changes, grouped=True)
    function = Function(name, f" BEGIN{skip}\n    {statement}\n    RETURN NULL;\nEND ", sees_change=True)
    tables = {"INSERT": "NEW TABLE AS became", "DELETE": "OLD TABLE AS was"}
    both = "OLD TABLE AS was NEW TABLE AS became"
    return Trigger.statement_level(name, table, f"AFTER {verb}", function, tables=tables.get(verb, both))


def _of_moved_rows(dialect: str, table: str, column: str) -> Trigger:
    """Return the trigger, by row in both dialects, that counts other rows elsewhere when a column of theirs changes."""
    name, verb = f"{table}_{column}_count", f"AFTER UPDATE OF {column}"
    statement = add_statement(moved_rows(table, column), grouped=True)
    if dialect == "sqlite":
        return Trigger.in_sqlite(name, table, verb, statement)
    function = Function(name, f" BEGIN\n    {statement}\n    RETURN NULL;\nEND ", sees_change=True)
    return Trigger.row_level(name, table, verb, function)
