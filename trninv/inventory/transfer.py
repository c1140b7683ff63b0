"""Copy every row from one database to another and compare them."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, func, select, text

from trninv.database.bulk_load import bulk_insert, deferred_indexes
from trninv.database.engine import redacted_url
from trninv.database.tables import METADATA
from trninv.deadline import Progress, silent
from trninv.errors import DatabaseError, UsageError
from trninv.inventory.triggers.guards import AUTHORS, GUARDS

_BATCH = 5_000
_TABLES = sorted(METADATA.sorted_tables, key=lambda table: table.name == "allocation")
"""Ordered by foreign keys, allocations last: their triggers write ``domain_allocated`` again."""


def copy_database(source: Connection, target: Connection, progress: Progress = silent, *, replace: bool = False) -> int:
    """Write every row of a database into another and compare both, row for row, within the target's transaction.

    Parameters
    ----------
    replace
        Whether rows that the target has are removed first; otherwise it must have none.

    Returns
    -------
    int
        How many rows were written, and found to be the same.

    Raises
    ------
    UsageError
        Both are one database, or the target has rows and they are not to be replaced.
    DatabaseError
        The target does not take a row, or does not give it back as it was.

    """
    where = redacted_url(target.engine.url)
    if _is_same(source, target):
        raise UsageError(f"{where} is both FROM and TO: name another database")
    existing_rows, total = _count_rows(target), _count_rows(source)
    if existing_rows and not replace:
        raise UsageError(f"{where} has {existing_rows:,} rows: name an empty database, or add --replace to remove them")
    done = 0

    def count(doing: str, rows: int) -> None:
        nonlocal done
        done += rows
        progress(doing, done, 2 * total)

    with deferred_indexes(target, max(existing_rows, total), 0):
        if existing_rows:
            _delete_rows(target)
        with without_triggers(target, tuple(AUTHORS)):  # whose events come too, and whose authors may be older
            for table in _TABLES:
                for rows in _batches(source, table):
                    bulk_insert(target, table, rows)
                    count(f"writing {table.name}", len(rows))
        progress("keys and indexes", done, 2 * total)
    for table in _TABLES:
        for source_rows, target_rows in zip_longest(_batches(source, table), _batches(target, table)):
            if source_rows != target_rows:
                raise DatabaseError(f"{where} did not keep the rows of {table.name} as they were: nothing was copied")
            count(f"comparing {table.name}", len(source_rows))
    return total


def _is_same(source: Connection, target: Connection) -> bool:
    if source.dialect.name != target.dialect.name:
        return False
    if source.dialect.name == "sqlite":
        one, other = (
            connection.exec_driver_sql("PRAGMA database_list").all()[0].file for connection in (source, target)
        )
        return bool(one and other) and Path(one).samefile(other)
    key = {"key": secrets.randbits(62)}  # a lock that nobody else takes, and that only one database knows of
    source.execute(text("SELECT pg_advisory_xact_lock(:key)"), key)
    return not target.scalar(text("SELECT pg_try_advisory_xact_lock(:key)"), key)


def _count_rows(connection: Connection) -> int:
    return sum(connection.scalar(select(func.count()).select_from(table)) or 0 for table in _TABLES)


def _batches(connection: Connection, table: Table) -> Iterator[Sequence[tuple[Any, ...]]]:
    query = select(table).order_by(table.c.id)
    with connection.execute(query, execution_options={"yield_per": _BATCH}) as result:
        for rows in result.partitions():
            yield [tuple(row) for row in rows]


def _delete_rows(connection: Connection) -> None:
    with without_triggers(connection, tuple(GUARDS)):  # they are kept for ever
        for table in reversed(_TABLES):
            connection.execute(delete(table))


@contextmanager
def without_triggers(connection: Connection, tables: Sequence[str]) -> Iterator[None]:
    """Lift what triggers do to the rows of tables."""
    if connection.dialect.name == "postgresql":
        for table in tables:
            connection.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        yield
        connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")  # or their checks are still to come
        connection.exec_driver_sql("SET CONSTRAINTS ALL DEFERRED")
        for table in tables:
            connection.exec_driver_sql(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        return
    query = text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN :tables")
    triggers = connection.execute(query.bindparams(bindparam("tables", tables, expanding=True))).all()
    for trigger in triggers:
        connection.exec_driver_sql(f"DROP TRIGGER {trigger.name}")
    yield
    for trigger in triggers:
        connection.exec_driver_sql(trigger.sql)
