"""Create engines for SQLite files and PostgreSQL servers, and open transactions on them.

Every reader and writer of the database goes through `read_transaction` and `write_transaction`, which check the schema
version and turn the errors of drivers into those of `trninv.errors`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from trninv.database import sqlite
from trninv.database.as_of import install_views
from trninv.database.pooler import apply_settings
from trninv.database.postgresql import close_lost_cursor, record_server_identity
from trninv.database.stored_changes import STORED
from trninv.database.tables import make_indexes_partial
from trninv.database.url import format_url, parse_url
from trninv.database.write_health import watch_change
from trninv.deadline import raise_if_expired
from trninv.errors import (
    BusyError,
    DatabaseError,
    DiskFullError,
    ReadOnlyError,
    SchemaOutdatedError,
    TimeLimitError,
    UnreachableError,
    UsageError,
)
from trninv.settings import resource_directory

_CANCELED = "57014"
"""PostgreSQL's error code for a canceled statement."""
_DISK_FULL = "53100"
"""PostgreSQL's error code for a full disk."""
_NO_TABLE = "42P01"
"""PostgreSQL's error code for a missing table."""
_READ_ONLY = "25006"
"""PostgreSQL's error code for a change in a read-only transaction; on a standby, all transactions are read-only."""
_CONNECTION_LOST = ("08", "57P")
"""The prefixes of PostgreSQL's error codes for a connection that the server ended."""
_CONNECT_TIMEOUT = 5
"""Seconds that a PostgreSQL host has to accept a connection."""
_SECRET_OPTIONS = ("password", "sslpassword", "passfile")
"""The options of a PostgreSQL URL that messages never show."""


def open_engine(url: str | URL, seconds: float | None = None) -> Engine:
    """Create an engine from a SQLAlchemy URL of SQLite or PostgreSQL.

    Parameters
    ----------
    seconds
        The statement timeout on PostgreSQL; None for no timeout.

    Raises
    ------
    UsageError
        The text is not a URL, or names another kind of database.
    """
    try:
        parsed_url = parse_url(url) if isinstance(url, str) else url
        backend = parsed_url.get_backend_name()
        if backend == "postgresql":
            make_indexes_partial()
            connect_arguments: dict[str, str | int] = {"client_encoding": "utf8"}  # whatever PGCLIENTENCODING says
            if "connect_timeout" not in parsed_url.query:
                connect_arguments["connect_timeout"] = _CONNECT_TIMEOUT
            psycopg_url = parsed_url.set(drivername="postgresql+psycopg")
            engine = create_engine(psycopg_url, pool_pre_ping=True, connect_args=connect_arguments)
            event.listen(engine, "connect", record_server_identity)
            # just-in-time compilation takes ten times as long as a typical query for a nested list
            settings: dict[str, str | int] = {"jit": "off"}
            if seconds is not None:
                settings["statement_timeout"] = int(seconds * 1000)
            apply_settings(engine, settings)
            event.listen(engine, "begin", install_views)
            event.listen(engine, "handle_error", close_lost_cursor)
            return engine
        if parsed_url.drivername not in ("sqlite", "sqlite+pysqlite"):
            raise UsageError(f"{parsed_url.drivername} is not supported: use sqlite:///FILE or postgresql://…")
        engine = create_engine(parsed_url, connect_args={"timeout": sqlite.BUSY_TIMEOUT_MS / 1000})
    except (ArgumentError, ValueError):  # the message omits the URL, which may hold a password
        raise UsageError("not a database URL: write sqlite:///FILE or postgresql://USER@HOST/DATABASE") from None
    sqlite.configure(engine, database_file(engine))
    return engine


@contextmanager
def temporary_engine(url: str) -> Iterator[Engine]:
    """Open an engine and dispose of it when the context ends."""
    engine = open_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


def redacted_url(url: str | URL) -> str:
    """Return the URL without its passwords, and without the driver that `open_engine` adds."""
    parsed_url = parse_url(url) if isinstance(url, str) else url
    if parsed_url.get_backend_name() == "postgresql":
        parsed_url = parsed_url.set(drivername="postgresql")
    return format_url(parsed_url.difference_update_query(_SECRET_OPTIONS))


def close_engine(engine: Engine) -> None:
    """Close an engine's idle connections now, and others as soon as they are returned to the pool."""
    event.listen(engine, "checkin", _close_returned)
    engine.dispose()


def _close_returned(_connection: object, entry: ConnectionPoolEntry) -> None:
    entry.invalidate()


@contextmanager
def read_transaction(engine: Engine, *, exact: bool = False) -> Iterator[Connection]:
    """Open a connection that reads one snapshot of a database whose schema version this release can read.

    Parameters
    ----------
    exact
        Whether to refuse a newer schema version even if its migrations keep older releases reading.

    Raises
    ------
    UnreachableError
        No server answers, or the file can't be opened.
    SchemaOutdatedError
        The database has no trninv tables, or a schema version that this release can't read.
    BusyError
        All connections of the engine are in use.
    TimeLimitError
        A statement took too long.
    DatabaseError
        A statement failed: the database is locked or read only, the file is damaged or not a database, …
    """
    file = database_file(engine)
    if file and not file_exists(file):  # SQLite would create an empty one
        raise SchemaOutdatedError(f"{Path(file).absolute()} does not exist yet: run trninv migrate")
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with translate_connect_errors(engine):
        connection = engine.connect().execution_options(**level)
    # closing the connection rolls back, which also fails if the server has stopped
    with translate_statement_errors(engine), connection:
        _check_schema_version(connection, exact=exact)
        yield connection


def _check_schema_version(connection: Connection, *, exact: bool) -> None:
    expected = newest_schema_version()
    try:
        version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    except (ProgrammingError, OperationalError) as error:
        may_be_missing = getattr(error.orig, "sqlstate", _NO_TABLE) == _NO_TABLE  # SQLite's errors have no sqlstate
        if not may_be_missing or "alembic_version" not in str(error.orig):
            raise
        version = None
    if version == expected or (not exact and version is not None and keeps_readers(connection, version)):
        return
    where = redacted_url(connection.engine.url)
    if version is None:
        raise SchemaOutdatedError(f"{where} has no tables yet: run trninv migrate")
    advice = "run trninv migrate" if str(version) < expected else "upgrade trninv"
    raise SchemaOutdatedError(f"{where} has schema version {version}, but this trninv needs {expected}: {advice}")


def keeps_readers(connection: Connection, version: str) -> bool:
    """Return whether a database of a newer schema version can still be read by this release, which may not change it.

    The last migration stores the oldest schema version whose releases can read what it made.
    """
    if version <= newest_schema_version():
        return False
    oldest_reader = connection.exec_driver_sql("SELECT oldest_reader FROM alembic_version").scalar()
    return oldest_reader is not None and oldest_reader <= newest_schema_version()


@lru_cache(maxsize=1)
def newest_schema_version() -> str:
    """Return the version of the newest migration, from its file name."""
    return max(file.name[:4] for file in (resource_directory() / "migrations" / "versions").glob("[0-9]*.py"))


@contextmanager
def translate_connect_errors(engine: Engine) -> Iterator[None]:
    """Turn a driver's errors while connecting into errors of trninv with one line of text."""
    try:
        yield
    except PoolTimeoutError:
        raise _busy_error(engine) from None
    except (DBAPIError, engine.dialect.loaded_dbapi.Error) as error:  # the pool raises the driver's errors unwrapped
        if sqlite.is_damaged(getattr(error, "orig", error)):
            raise _damaged_error(engine, error) from error
        reason = _reason(error)
        if "unsupported startup parameter" in reason:
            reason += "; a pooler refuses options in a URL: use ALTER ROLE … SET search_path = …"
        server = "PostgreSQL runs there and " if engine.dialect.name == "postgresql" else ""
        advice = f"check that {server}the URL is right"
        raise UnreachableError(f"no database at {redacted_url(engine.url)}: {reason}; {advice}") from error


@contextmanager
def translate_statement_errors(engine: Engine) -> Iterator[None]:
    """Turn a driver's errors in statements into errors of trninv with one line of text."""
    try:
        yield
    except PoolTimeoutError:
        raise _busy_error(engine) from None
    except DBAPIError as error:
        raise_if_expired()
        if getattr(error.orig, "sqlstate", None) == _CANCELED:
            raise TimeLimitError("the database stopped a statement that took too long: ask for less") from error
        if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_INTERRUPT":  # by Ctrl-C: the deadline has not passed
            raise KeyboardInterrupt from error
        where = redacted_url(engine.url)
        if sqlite.is_locked(error):
            seconds = sqlite.BUSY_TIMEOUT_MS // 1000
            raise DatabaseError(
                f"{where} is locked: another process has been writing for {seconds} s; try again"
            ) from error
        if sqlite.is_damaged(error.orig):
            raise _damaged_error(engine, error) from error
        kind = error_class(error.orig)
        if kind is ReadOnlyError:
            advice = "write to its primary, or make the file writable"
            raise ReadOnlyError(f"{where} can only be read here ({_reason(error)}): {advice}") from error
        if kind is DiskFullError:
            raise DiskFullError(f"{where} has no space left ({_reason(error)}): free some; nothing changed") from error
        problem = "closed the connection" if kind is UnreachableError else "refused a statement"
        raise kind(f"{where} {problem}: {_reason(error)}") from error


def _damaged_error(engine: Engine, error: Exception) -> UnreachableError:
    """Return the error for a file that is damaged or no database."""
    advice = "nothing was changed; stop its services, keep a copy of the file, and restore a backup"
    return UnreachableError(f"{redacted_url(engine.url)} is damaged ({_reason(error)}): {advice}")


def _busy_error(engine: Engine) -> BusyError:
    """Return the error for an exhausted connection pool."""
    return BusyError(
        f"{redacted_url(engine.url)}: all connections of this process are in use; try again, or send fewer at once"
    )


def error_class(error: BaseException | None) -> type[DatabaseError]:
    """Return the trninv error class that corresponds to a driver's error in a statement."""
    code = getattr(error, "sqlstate", "")
    if code == _READ_ONLY or getattr(error, "sqlite_errorname", "").startswith("SQLITE_READONLY"):
        return ReadOnlyError
    if code == _DISK_FULL or getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
        return DiskFullError
    if code is None:  # raised by the driver, not by the server
        connection_lost = any(kind.__name__ in ("OperationalError", "InterfaceError") for kind in type(error).__mro__)
    else:
        connection_lost = code.startswith(_CONNECTION_LOST)
    return UnreachableError if connection_lost else DatabaseError


def _reason(error: Exception) -> str:
    """Return the first line of the driver's error."""
    return str(getattr(error, "orig", error)).strip().partition("\n")[0]


@contextmanager
def write_transaction(
    engine: Engine,
    *,
    lock: str | None = "cluster",
    commits: bool = True,
    foreign_keys: bool = True,
    is_change: bool = True,
    after_commit: Callable[[Connection], None] = lambda _: None,
) -> Iterator[Connection]:
    """Open a write transaction once no other one is open; commit at the end, or roll back on an exception or a kill.

    Parameters
    ----------
    lock
        The table to lock on PostgreSQL; all writers of the inventory lock the default. SQLite locks the file. None is
        for short, frequent transactions that lock by other means; they also leave it to others to empty SQLite's log.
    commits
        If False, the transaction is always rolled back.
    foreign_keys
        If False, SQLite does not check foreign keys; the caller does so before the end.
    is_change
        Whether a command that Ctrl-C ends says that this was stored; leases, for example, are not what it was for.
    after_commit
        Called with the connection after the commit.

    """
    with watch_change(engine, commits=commits):
        if engine.dialect.name == "sqlite":  # whose transaction begins with the lock
            with read_transaction(engine, exact=True):
                pass
        with translate_connect_errors(engine):
            connection = engine.connect().execution_options(writes=True)
        with translate_statement_errors(engine), connection:
            with (
                nullcontext() if foreign_keys else sqlite.foreign_keys_off(connection),
                connection.begin() as transaction,
            ):
                if lock and connection.dialect.name == "postgresql":
                    _check_schema_version(connection, exact=True)  # before waiting
                    # this lock conflicts with itself, so it serializes all who take it
                    connection.execute(text(f"LOCK TABLE {lock} IN SHARE ROW EXCLUSIVE MODE"))
                _check_schema_version(connection, exact=True)  # a migration may have committed meanwhile
                yield connection
                if not commits:
                    transaction.rollback()
                elif transaction.is_active:  # the caller may have rolled it back
                    with STORED.storing() if is_change else nullcontext():
                        transaction.commit()
            after_commit(connection)
            if lock and connection.dialect.name == "sqlite":
                sqlite.truncate_wal(connection)


def database_file(engine: Engine) -> Path | None:
    """Return the file of an SQLite database, or None for PostgreSQL and databases in memory."""
    name = engine.url.database if engine.dialect.name == "sqlite" else None
    return Path(name) if name and name != ":memory:" and not name.startswith("file:") else None


def enable_wal(engine: Engine) -> None:
    """Switch an SQLite file to a write-ahead log, so that readers and the writer do not block each other.

    File systems without shared memory do not support it; the database then stays as it is.
    """
    if (file := database_file(engine)) and file_exists(file):
        pooled = engine.raw_connection()
        driver: Any = pooled.driver_connection
        pooled.detach()  # leaves no connection open in an unused engine
        try:
            sqlite.enable_wal(driver)
        finally:
            driver.close()


def file_exists(file: Path) -> bool:
    """Return whether a file exists.

    Raises
    ------
    UnreachableError
        The directory cannot be searched, for example for lack of permission.
    """
    try:
        return file.exists()
    except OSError as error:
        raise UnreachableError(f"can't access {file}: {error.strerror}") from None


def create_directory(engine: Engine) -> None:
    """Create the directory of an SQLite file."""
    if file := database_file(engine):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnreachableError(f"can't create {file.parent}: {error.strerror}") from None
