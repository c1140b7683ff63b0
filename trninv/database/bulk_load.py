"""Load many rows quickly: build indexes afterwards.

For a large load into PostgreSQL, keys, indexes and foreign keys are dropped and created again in the same transaction,
because to maintain them row by row costs several times the load itself (PostgreSQL documentation, 14.4 Populating a
Database). Readers of the tables wait meanwhile; a killed load leaves everything as it was. SQLite has the keys and
foreign keys in the tables themselves, so only the other indexes are dropped; its readers don't wait.

After a load that changes a large share of the rows, the tables are analyzed, since autovacuum, if it runs at all, would
tell the planner the new sizes only a minute later.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, cast

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Connection,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    case,
    column,
    func,
    insert,
    literal,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy import cast as cast_to
from sqlalchemy.schema import AddConstraint, DropConstraint

from trninv.database.engine import error_class, redacted_url
from trninv.database.tables import INSERT_ORDER, TABLES

MIN_ROWS = 50_000
"""Indexes are recreated for at least this many rows, and for at least as many as the tables have already."""
_ANALYZE_SHARE = 0.1
"""The share of changed rows above which autovacuum analyzes a table (autovacuum_analyze_scale_factor)."""

_CACHE_BYTES = 256 * 2**20
"""The size of SQLite's cache during a large load."""


@contextmanager
def deferred_indexes(connection: Connection, rows: int, existing_rows: int, *, deletes: bool = False) -> Iterator[bool]:
    """Speed up inserting or deleting `rows` rows in the tables of clusters, which have `existing_rows` already.

    SQLite keeps the indexes if rows are deleted, because it checks the foreign keys to each deleted row with them.

    Yields whether no other transaction can use these tables meanwhile, so that triggers may be dropped too. On SQLite
    that is always so.
    """
    is_postgresql = connection.dialect.name == "postgresql"
    drop_indexes = _without_keys_and_indexes if is_postgresql else _without_indexes
    is_deferred = is_large_load(rows, existing_rows) and (_is_owner(connection) if is_postgresql else not deletes)
    with drop_indexes(connection) if is_deferred else nullcontext():
        yield is_deferred or not is_postgresql
    if is_postgresql and rows > existing_rows * _ANALYZE_SHARE:
        for table in INSERT_ORDER:
            connection.execute(text(f"ANALYZE {table}"))


def is_large_load(rows: int, existing_rows: int) -> bool:
    """Return whether `rows` rows are so many that tables with `existing_rows` are better indexed afterwards."""
    return rows >= max(MIN_ROWS, existing_rows)


@contextmanager
def without_checks(connection: Connection) -> Iterator[None]:
    """Don't evaluate CHECK constraints on SQLite, where they take a third of a load.

    The caller checks the rows, for example by `violated_check`.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
    try:
        yield
    finally:  # a rollback does not reset the setting
        connection.exec_driver_sql("PRAGMA ignore_check_constraints = OFF")


def violated_check(connection: Connection, table: Table) -> str | None:
    """Return the name of a CHECK constraint that a row of a table violates, or None.

    One scan evaluates each list of values once, where an insert builds it again for each row.
    """
    checks = [constraint for constraint in table.constraints if isinstance(constraint, CheckConstraint)]
    if not checks:
        return None
    violated = case(
        *((literal_column(f"NOT ({check.sqltext})"), literal_column(f"'{check.name}'")) for check in checks)
    )
    name: str | None = connection.scalar(select(violated).select_from(table).where(violated.is_not(None)).limit(1))
    return name


def _is_owner(connection: Connection) -> bool:
    """Return whether the login may drop and create indexes."""
    owner = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('node')"
    return bool(connection.scalar(text(owner)))


@contextmanager
def _without_indexes(connection: Connection) -> Iterator[None]:
    """Drop the indexes of the tables of clusters, and create them again at the end."""
    indexes = [index for name in INSERT_ORDER for index in TABLES[name].indexes]
    for index in indexes:
        index.drop(connection)
    yield
    for index in indexes:
        index.create(connection)


@contextmanager
def _without_keys_and_indexes(connection: Connection) -> Iterator[None]:
    """Drop keys, indexes and foreign keys of the tables of clusters, and create them again at the end."""
    tables = [TABLES[name] for name in INSERT_ORDER]
    constraints = [constraint for table in tables for constraint in table.constraints]
    keys = [constraint for constraint in constraints if isinstance(constraint, PrimaryKeyConstraint | UniqueConstraint)]
    all_foreign_keys = (constraint for table in TABLES.values() for constraint in table.foreign_key_constraints)
    foreign_keys = [
        foreign_key
        for foreign_key in all_foreign_keys
        if foreign_key.table in tables or foreign_key.referred_table in tables
    ]
    for constraint in (*foreign_keys, *keys):
        connection.execute(DropConstraint(constraint))
    for setting in ("work_mem", "maintenance_work_mem"):
        connection.execute(text(f"SET LOCAL {setting} = '256MB'"))
    with _without_indexes(connection):
        yield
        for constraint in keys:
            connection.execute(AddConstraint(constraint, isolate_from_table=False))
    for constraint in foreign_keys:
        connection.execute(AddConstraint(constraint, isolate_from_table=False))


@contextmanager
def large_cache(connection: Connection) -> Iterator[None]:
    """Let SQLite keep more pages in memory during a large load; by default, they leave and return all the time.

    Indexes are written in random order, so nearly every row changes a page of each.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    size = connection.exec_driver_sql("PRAGMA cache_size").scalar()
    connection.exec_driver_sql(f"PRAGMA cache_size = {-_CACHE_BYTES // 1024}")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA cache_size = {size}")


def estimated_rows(connection: Connection) -> int:
    """Return about how many rows all clusters have: PostgreSQL's own estimate, on SQLite the span of their ids."""
    if connection.dialect.name != "postgresql":
        spans = (
            f"coalesce((SELECT max(id) FROM {name}) - (SELECT min(id) FROM {name}) + 1, 0)"  # noqa: S608 # our own names
            for name in INSERT_ORDER
        )
        return int(connection.scalar(text(f"SELECT {' + '.join(spans)}")))
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
        with cursor, cursor.copy(f"COPY {table.name} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    except connection.dialect.loaded_dbapi.Error as error:  # SQLAlchemy does not support COPY, nor wrap its errors
        reason = str(error).partition("\n")[0]
        where = redacted_url(connection.engine.url)
        raise error_class(error)(f"{where} refused rows of {table.name}: {reason}") from error


def bulk_update(connection: Connection, table: Table, key: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Set the columns that are in ``rows``, each of which also has the value of the column ``key``.

    On PostgreSQL this is one statement, since the driver's time for many small ones exceeds the server's.
    """
    if not rows:
        return
    names = [name for name in rows[0] if name != key]
    if connection.dialect.name == "postgresql":
        recordset = func.json_to_recordset(cast_to(literal(json.dumps(rows), Text), JSON))
        columns = (column(name, table.c[name].type) for name in (key, *names))
        new = recordset.table_valued(*columns).render_derived("new_values", with_types=True)
        values = {name: new.c[name] for name in names}
        connection.execute(update(table).where(table.c[key] == new.c[key]).values(values))
        return
    values = {name: bindparam(f"new_{name}") for name in names}
    statement = update(table).where(table.c[key] == bindparam(f"new_{key}")).values(values)
    connection.execute(statement, [{f"new_{name}": value for name, value in row.items()} for row in rows])
