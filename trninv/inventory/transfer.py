"""Copy every row from one database to another and compare them, for `trninv copy`."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, bindparam, delete, func, select, text

from trninv.database.bulk_load import (
    bulk_insert,
    deferred_indexes,
    large_cache,
    violated_check,
    without_checks,
)
from trninv.database.bulk_read import RowDigest, read_batches
from trninv.database.engine import redacted_url
from trninv.database.tables import METADATA
from trninv.deadline import Progress, silent
from trninv.errors import DatabaseError, UsageError
from trninv.inventory.triggers.count_triggers import without_counting
from trninv.inventory.triggers.guards import AUTHORS, GUARDS

_TABLES = sorted(METADATA.sorted_tables, key=lambda table: table.name == "allocation")
"""All tables in the order of foreign keys, except that ``allocation`` comes last.

Inserting an allocation makes a trigger set a bit in ``domain_allocated``, whose rows are copied too. Once these rows
exist, the trigger only sets bits that are set already.
"""


def copy_database(source: Connection, target: Connection, progress: Progress = silent, *, replace: bool = False) -> int:
    """Copy every row of a database into another and compare both, row by row, within the target's transaction.

    Parameters
    ----------
    replace
        Whether the rows of the target are removed first; otherwise the target must be empty.

    Returns
    -------
    int
        The number of rows, all of which were copied and compared.

    Raises
    ------
    UsageError
        Both are the same database, or the target has rows and `replace` is false.
    DatabaseError
        The target refuses a row, or a row that it returns differs from what was written.

    Notes
    -----
    Constraints are checked here, so the target's transaction need not check foreign keys.
    """
    target_url = redacted_url(target.engine.url)
    if _is_same_database(source, target):
        raise UsageError(f"{target_url} is both FROM and TO: name another database")
    existing_rows, total = _count_rows(target), _count_rows(source)
    if existing_rows and not replace:
        raise UsageError(
            f"{target_url} has {existing_rows:,} rows: name an empty database, or add --replace to remove them"
        )
    done = 0

    def count(activity: str, rows: int) -> None:
        nonlocal done
        done += rows
        progress(activity, done, 2 * total)  # each row is written once and compared once

    # 0 existing rows: the target is empty by the time of the first insert
    digests = {table.name: RowDigest() for table in _TABLES}
    with large_cache(target), deferred_indexes(target, max(existing_rows, total), 0):
        if existing_rows:
            _delete_rows(target)
        # events and counts are copied too, so triggers must not write them again; old authors may exceed today's limit
        with without_counting(target), without_triggers(target, tuple(AUTHORS)), without_checks(target):
            for table in _TABLES:
                for rows in read_batches(source, table):
                    bulk_insert(target, table, rows)
                    digests[table.name].add(rows)
                    count(f"writing {table.name}", len(rows))
        progress("keys and indexes", done, 2 * total)
    _check_constraints(target)
    for table in _TABLES:  # the rows of the source need not be read again
        digest = RowDigest()
        for rows in read_batches(target, table):
            digest.add(rows)
            count(f"comparing {table.name}", len(rows))
        if digest.value() != digests[table.name].value():
            raise DatabaseError(f"{target_url} did not keep the rows of {table.name} as they were: nothing was copied")
    return total


def _is_same_database(source: Connection, target: Connection) -> bool:
    """Return whether two connections reach the same database, even by different URLs."""
    if source.dialect.name != target.dialect.name:
        return False
    if source.dialect.name == "sqlite":
        source_file, target_file = (
            connection.exec_driver_sql("PRAGMA database_list").all()[0].file for connection in (source, target)
        )
        return bool(source_file and target_file) and Path(source_file).samefile(target_file)
    schemas = [connection.scalar(select(func.current_schema())) for connection in (source, target)]
    if schemas[0] != schemas[1]:
        return False
    key = {"key": secrets.randbits(62)}  # a random lock: if the target can't take it, both are the same database
    source.execute(text("SELECT pg_advisory_xact_lock(:key)"), key)
    return not target.scalar(text("SELECT pg_try_advisory_xact_lock(:key)"), key)


def _count_rows(connection: Connection) -> int:
    return sum(connection.scalar(select(func.count()).select_from(table)) or 0 for table in _TABLES)


def _check_constraints(target: Connection) -> None:
    """Check what SQLite did not check row by row, which takes several times as long."""
    if target.dialect.name != "sqlite":
        return
    problems = ((table.name, violated_check(target, table)) for table in _TABLES)
    refused = next(((table, f"CHECK constraint {check}") for table, check in problems if check), None)
    if refused is None and (row := target.exec_driver_sql("PRAGMA foreign_key_check").first()):
        refused = row[0], f"a foreign key to a row that {row[2]} does not have"
    if refused:
        table, problem = refused
        raise DatabaseError(f"{redacted_url(target.engine.url)} refused rows of {table}: {problem}: nothing was copied")


def _delete_rows(connection: Connection) -> None:
    with without_counting(connection), without_triggers(connection, tuple(GUARDS)):  # guards refuse deletions
        for table in reversed(_TABLES):
            connection.execute(delete(table))


@contextmanager
def without_triggers(connection: Connection, tables: Sequence[str]) -> Iterator[None]:
    """Disable the triggers of some tables inside this context; after an exception, only a rollback restores them."""
    if connection.dialect.name == "postgresql":
        for table in tables:
            connection.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        yield
        connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")  # ALTER TABLE fails while checks are deferred
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
