"""Configure SQLite: write-ahead log, waiting for other writers, detection of a replaced file.

`trninv.database.engine` calls this module for each engine of an SQLite file.

With a write-ahead log, readers and the writer do not wait for each other. A file that cannot have one (it is read only,
in a read-only directory or on a file system without shared memory) keeps its rollback journal.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from trninv.database.as_of import install_views
from trninv.deadline import expired
from trninv.errors import UnreachableError

BUSY_TIMEOUT_MS = 60_000
"""Milliseconds that a writer waits for another writer."""
_RETRY_MS = 200
"""Milliseconds that one attempt to begin a write transaction waits, before Ctrl-C is noticed."""
_TRUNCATE_TIMEOUT_MS = 100
"""Milliseconds that a writer waits for readers before it gives up emptying the log."""

FileIdentity = tuple[int, int]
"""Device and inode number."""


def file_identity(file: Path) -> FileIdentity | None:
    """Return the identity of the file at a path, or None if there is none."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def configure(engine: Engine, file: Path | None) -> None:
    """Set up an engine's connections and reopen its file when it is replaced."""
    event.listen(engine, "connect", _configure_connection)
    event.listen(engine, "begin", _begin)
    if file is None:
        return

    def open_file(_dialect: object, entry: ConnectionPoolEntry, _args: object, options: dict[str, Any]) -> object:
        while True:  # again if the file was replaced meanwhile, since it is unknown which file was opened
            identity_before = file_identity(file)
            connection = _open_file(file, options)
            entry.info["file_identity"] = file_identity(file)
            if identity_before in (None, entry.info["file_identity"]):
                return connection
            connection.close()

    def check_identity(_connection: object, entry: ConnectionPoolEntry, _proxy: object) -> None:
        identity = file_identity(file)
        if identity is not None and identity != entry.info["file_identity"]:
            raise DisconnectionError(f"{file} was replaced")

    event.listen(engine, "do_connect", open_file)
    event.listen(engine, "checkout", check_identity)


def _open_file(file: Path, options: dict[str, Any]) -> sqlite3.Connection:
    _refuse_orphaned_log(file)
    is_uri = is_immutable(file)
    connection: sqlite3.Connection = sqlite3.connect(read_uri(file) if is_uri else file, uri=is_uri, **options)
    return connection


def is_immutable(file: Path) -> bool:
    """Return whether a file's log can't be created where it is, so that nothing writes to it."""
    if _is_writable(file.absolute().parent):
        return False
    try:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA schema_version")
    except sqlite3.OperationalError:
        return True
    return False


def read_uri(file: Path) -> str:
    """Return the URI by which SQLite opens a file for reading only."""
    return f"file:{quote(str(file.absolute()))}?{'immutable=1' if is_immutable(file) else 'mode=ro'}"


def _refuse_orphaned_log(file: Path) -> None:
    """Refuse to create a file, or to write to an empty one, next to a log: SQLite would delete the log.

    Raises
    ------
    UnreachableError
        The file is missing or empty, and its log is not.
    """
    log = file.with_name(f"{file.name}-wal")
    if _size(log) and not _size(file):
        raise UnreachableError(
            f"{log} has changes of {file.name}, which is missing or empty: put the file back, or move the log away"
        )


def _size(file: Path) -> int:
    """Return the size of a file in bytes; 0 if there is none, as of a log that another process has just removed."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def is_damaged(error: BaseException | None) -> bool:
    """Return whether an error means that a file is no database or that its contents are damaged."""
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def _is_writable(directory: Path) -> bool:
    return os.access(directory, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _configure_connection(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # SQLAlchemy decides where transactions begin, DDL included
    connection.execute("PRAGMA foreign_keys = ON")
    # every 100,000 instructions of a statement: stop it if the deadline has passed, and let Python notice Ctrl-C
    connection.set_progress_handler(expired, 100_000)


def _begin(connection: Connection) -> None:
    # lock at the start, since a writer that reads first would fail if another writer commits meanwhile
    writes = connection.get_execution_options().get("writes", False)
    if writes:
        enable_wal(_driver(connection))
        _begin_immediate(connection)
    else:
        connection.exec_driver_sql("BEGIN")
    install_views(connection)


@contextmanager
def foreign_keys_off(connection: Connection) -> Iterator[None]:
    """Switch the checks of foreign keys off for the next transaction; on PostgreSQL, do nothing."""
    if connection.dialect.name != "sqlite":
        yield
        return
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        connection.rollback()
        if not connection.invalidated:  # an interrupt closes the connection
            cursor.execute("PRAGMA foreign_keys = ON")


def _begin_immediate(connection: Connection) -> None:
    """Begin a write transaction once no other one is open; retry here, because SQLite's own wait ignores Ctrl-C."""
    end = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    with _busy_timeout(_driver(connection), _RETRY_MS):
        while True:
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            except OperationalError as error:
                if not is_locked(error) or time.monotonic() > end:
                    raise
            else:
                return


def is_locked(error: DBAPIError) -> bool:
    """Return whether an error means that another connection is writing."""
    return getattr(error.orig, "sqlite_errorname", "").startswith("SQLITE_BUSY")


def enable_wal(driver: Any) -> None:
    """Switch a file to a write-ahead log; leave it unchanged if that is impossible now."""
    with _busy_timeout(driver, 0), suppress(sqlite3.DatabaseError):  # the next statement reports the error
        driver.execute("PRAGMA journal_mode = WAL").fetchone()


def truncate_wal(connection: Connection) -> None:
    """Copy the write-ahead log into the file and empty it; give up if readers prevent it for too long.

    SQLite would apply a log with content to another file that replaces this one.
    """
    driver = _driver(connection)
    with _busy_timeout(driver, _TRUNCATE_TIMEOUT_MS), suppress(sqlite3.DatabaseError):
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


@contextmanager
def _busy_timeout(driver: Any, milliseconds: int) -> Iterator[None]:
    """Set the busy timeout inside this context."""
    driver.execute(f"PRAGMA busy_timeout = {milliseconds}")
    try:
        yield
    finally:
        driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection
