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
    add_statement,
    counted_rows,
    moved_rows,
    used_columns,
)
from trninv.inventory.triggers.declaration import Function, Trigger

_SKIP_RESTORED_ROWS: Final = """
    IF starts_with(lower(current_query()), 'copy') THEN RETURN NULL; END IF;"""
"""Skips rows that COPY restores from a dump, since the dump contains their counts too."""


def count_triggers(dialect: str) -> Iterator[Trigger]:
    """Yield the triggers of a dialect: up to three for each counted table."""
    declare = _in_sqlite if dialect == "sqlite" else _in_postgresql
    for table in COUNTED_TABLES:
        if table != "node":  # a new node is counted with its row in the table of its kind
            yield declare(table, "INSERT", ())
            yield declare(table, "DELETE", ())
        if columns := COUNTED_COLUMNS.get(table):
            yield declare(table, "UPDATE", columns)


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
    if verb == "UPDATE":
        for row, sign in (("NEW", ""), ("OLD", "-")):
            selected = f"SELECT {row}.id AS id, {row}.{{model}} AS {{model}}"
            changes += moved_rows(table, selected, "OLD.{model} IS NOT NEW.{model}", sign)
    when = f" OF {', '.join(columns)} | " + " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in columns)
    body = add_statement(changes, grouped=False)
    return Trigger.in_sqlite(f"{table}_count_{verb.lower()}", table, f"AFTER {verb}{when if columns else ''}", body)


def _in_postgresql(table: str, verb: str, _columns: tuple[str, ...]) -> Trigger:
    changes = [
        *(counted_rows(table, "became") if verb != "DELETE" else ()),
        *(counted_rows(table, "was", "-") if verb != "INSERT" else ()),
    ]
    if verb == "UPDATE":
        for row, sign in (("became", ""), ("was", "-")):
            selected = f"SELECT {row}.id, {row}.{{model}} FROM became JOIN was ON was.id = became.id"  # noqa: S608 # our own names
            changes += moved_rows(table, selected, "was.{model} IS DISTINCT FROM became.{model}", sign)
    skip = _SKIP_RESTORED_ROWS if verb == "INSERT" else ""
    name, statement = f"{table}_count_{verb.lower()}", add_statement(changes, grouped=True)
    function = Function(name, f" BEGIN{skip}\n    {statement}\n    RETURN NULL;\nEND ", sees_change=True)
    tables = {"INSERT": "NEW TABLE AS became", "DELETE": "OLD TABLE AS was"}
    both = "OLD TABLE AS was NEW TABLE AS became"
    return Trigger.statement_level(name, table, f"AFTER {verb}", function, tables=tables.get(verb, both))
