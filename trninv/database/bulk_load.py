"""Load many rows quickly; on PostgreSQL, build indexes afterwards.

Keys, indexes and foreign keys are dropped and created again in the same transaction: maintained row by row they cost
several times the load itself (PostgreSQL documentation, 14.4 Populating a Database). Readers of the tables wait
meanwhile; a killed load leaves everything as it was. SQLite loads faster with its indexes in place.

Afterwards the tables are analyzed, since autovacuum, if it runs at all, would tell the planner the new sizes only a
minute later.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, cast

from sqlalchemy import (
    Connection,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    insert,
    text,
)
from sqlalchemy.schema import AddConstraint, DropConstraint

from trninv.database.engine import redacted_url
from trninv.database.tables import INSERT_ORDER, TABLES
from trninv.errors import DatabaseError

MIN_ROWS = 50_000
"""The minimum number of rows for which recreating the indexes pays, unless more rows exist already."""
_ANALYZED = 0.1
"""The share of changed rows from which autovacuum analyzes a table (autovacuum_analyze_scale_factor)."""


@contextmanager
def deferred_indexes(connection: Connection, rows: int, existing_rows: int) -> Iterator[None]:
    """Speed up inserting or deleting `rows` rows in tables that hold `existing_rows`, and analyze the tables if it
    matters.
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    with _without_indexes(connection) if rows >= max(MIN_ROWS, existing_rows) else nullcontext():
        yield
    if rows > existing_rows * _ANALYZED:
        for table in INSERT_ORDER:
            connection.execute(text(f"ANALYZE {table}"))


@contextmanager
def _without_indexes(connection: Connection) -> Iterator[None]:
    tables = [TABLES[name] for name in INSERT_ORDER]
    constraints = [constraint for table in tables for constraint in table.constraints]
    keys = [constraint for constraint in constraints if isinstance(constraint, PrimaryKeyConstraint | UniqueConstraint)]
    all_foreign_keys = (constraint for table in TABLES.values() for constraint in table.foreign_key_constraints)
    foreign_keys = [
        foreign_key
        for foreign_key in all_foreign_keys
        if foreign_key.table in tables or foreign_key.referred_table in tables
    ]
    indexes = [index for table in tables for index in table.indexes]
    for constraint in (*foreign_keys, *keys):
        connection.execute(DropConstraint(constraint))
    for index in indexes:
        index.drop(connection)
    for setting in ("work_mem", "maintenance_work_mem"):
        connection.execute(text(f"SET LOCAL {setting} = '256MB'"))
    yield
    for constraint in keys:
        connection.execute(AddConstraint(constraint, isolate_from_table=False))
    for index in indexes:
        index.create(connection)
    for constraint in foreign_keys:
        connection.execute(AddConstraint(constraint, isolate_from_table=False))


def estimated_rows(connection: Connection) -> int:
    """Return PostgreSQL's own estimate of the number of rows; 0 on SQLite."""
    if connection.dialect.name != "postgresql":
        return 0
    rows = "SELECT coalesce(sum(greatest(reltuples, 0)), 0) FROM pg_class WHERE oid = ANY(CAST(:tables AS regclass[]))"
    return int(connection.scalar(text(rows), {"tables": list(INSERT_ORDER)}) or 0)


def bulk_insert(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows with a value for each column; on PostgreSQL with COPY.

    Raises
    ------
    DatabaseError
        PostgreSQL refused a row.
    """
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(str(insert(table).compile(connection)), list(rows))
        return
    quote, cursor = connection.dialect.identifier_preparer.quote, cast("Any", connection.connection.cursor())
    columns = ", ".join(quote(column.name) for column in table.c)
    try:
        with cursor, cursor.copy(f"COPY {table.name} ({columns}) FROM STDIN") as copied:
            for row in rows:
                copied.write_row(row)
    except (
        connection.dialect.loaded_dbapi.Error
    ) as error:  # SQLAlchemy does not support COPY, so it does not translate its errors
        reason = str(error).partition("\n")[0]
        raise DatabaseError(f"{redacted_url(connection.engine.url)} refused rows of {table.name}: {reason}") from error
