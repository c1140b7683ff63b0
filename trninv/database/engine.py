"""Create engines for SQLite files and PostgreSQL servers, and open transactions on them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from trninv.database import sqlite
from trninv.database.as_of import install_views
from trninv.database.postgresql import close_lost_cursor, disable_jit, record_server_identity
from trninv.database.tables import make_indexes_partial
from trninv.database.url import format_url, parse_url
from trninv.deadline import raise_if_expired
from trninv.errors import (
    BusyError,
    DatabaseError,
    ReadOnlyError,
    SchemaOutdatedError,
    TimeLimitError,
    UnreachableError,
    UsageError,
)
from trninv.settings import resource_directory

_CANCELED = "57014"
"""PostgreSQL's error code for a cancelled statement."""
_NO_TABLE = "42P01"
_READ_ONLY = "25006"
"""PostgreSQL's error code for a change in a read-only transaction; a standby has no others."""
_CONNECTION_LOST = ("08", "57P")
"""The prefixes of PostgreSQL's error codes for a connection that the server ended."""
_CONNECT_TIMEOUT = 5
"""Seconds that a PostgreSQL host has to accept a connection."""
_SECRETS = ("password", "sslpassword", "passfile")


def open_engine(url: str | URL, seconds: float | None = None) -> Engine:
    """Create an engine from a SQLAlchemy URL of SQLite or PostgreSQL.

    Parameters
    ----------
    seconds
        The statement timeout on PostgreSQL; None: no timeout.

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
            connect_arguments = {} if "connect_timeout" in parsed_url.query else {"connect_timeout": _CONNECT_TIMEOUT}
            psycopg_url = parsed_url.set(drivername="postgresql+psycopg")
            engine = create_engine(psycopg_url, pool_pre_ping=True, connect_args=connect_arguments)
            event.listen(engine, "connect", record_server_identity)
            event.listen(engine, "connect", disable_jit)
            event.listen(engine, "begin", install_views)
            event.listen(engine, "handle_error", close_lost_cursor)
            if seconds is not None:
                event.listen(engine, "connect", partial(_limit_statements, seconds))
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
    """Return the URL without its passwords."""
    parsed_url = parse_url(url) if isinstance(url, str) else url
    return format_url(parsed_url.difference_update_query(_SECRETS))


@contextmanager
def read_transaction(engine: Engine) -> Iterator[Connection]:
    """Open a connection that reads one snapshot of a database whose schema is up to date.

    Raises
    ------
    UnreachableError
        No server answers, or the file is not a database.
    SchemaOutdatedError
        The database has no tables of trninv, or those of another schema version.
    DatabaseError
        A statement failed: the database is locked, read only, damaged, …
    """
    file = database_file(engine)
    if file and not file_exists(file):  # SQLite would create an empty one
        raise SchemaOutdatedError(f"{file} does not exist yet: run trninv migrate")
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with translate_connect_errors(engine):
        connection = engine.connect().execution_options(**level)
    with (
        translate_statement_errors(engine),
        connection,
    ):  # closing rolls back, which also fails if the server has stopped
        _check_schema_version(connection)
        yield connection


def _check_schema_version(connection: Connection) -> None:
    expected = newest_schema_version()
    try:
        version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    except (ProgrammingError, OperationalError) as error:
        missing = getattr(error.orig, "sqlstate", _NO_TABLE) == _NO_TABLE
        if not missing or "alembic_version" not in str(error.orig):
            raise
        version = None
    if version == expected:
        return
    where = redacted_url(connection.engine.url)
    if version is None:
        raise SchemaOutdatedError(f"{where} has no tables yet: run trninv migrate")
    advice = "run trninv migrate" if str(version) < expected else "it was made by a newer trninv: upgrade"
    raise SchemaOutdatedError(f"{where} is at revision {version}, this trninv needs {expected}: {advice}")


@lru_cache(maxsize=1)
def newest_schema_version() -> str:
    """Return the version of the newest migration, from its file name."""
    return max(file.name[:4] for file in (resource_directory() / "migrations" / "versions").glob("[0-9]*.py"))


@contextmanager
def translate_connect_errors(engine: Engine) -> Iterator[None]:
    """Turn errors of connecting into errors of trninv with one line of text."""
    try:
        yield
    except PoolTimeoutError:
        raise _busy_error(engine) from None
    except (DBAPIError, engine.dialect.loaded_dbapi.Error) as error:  # the pool raises the driver's errors unwrapped
        raise UnreachableError(f"no database at {redacted_url(engine.url)}: {_reason(error)}") from error


@contextmanager
def translate_statement_errors(engine: Engine) -> Iterator[None]:
    """Turn errors of statements into errors of trninv with one line of text."""
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
            raise DatabaseError(f"{where} is locked: another has been writing for {seconds} s: try again") from error
        kind = error_class(error.orig)
        if kind is ReadOnlyError:
            raise ReadOnlyError(f"{where} can only be read here ({_reason(error)}): change its primary") from error
        verb = "is gone" if kind is UnreachableError else "refused"
        raise kind(f"{where} {verb}: {_reason(error)}") from error


def _busy_error(engine: Engine) -> BusyError:
    """Return the error for an exhausted connection pool."""
    return BusyError(
        f"{redacted_url(engine.url)}: all connections of this process are in use: ask again, or fewer at once"
    )


def error_class(error: BaseException | None) -> type[DatabaseError]:
    """Return the class of trninv's errors that a driver's error in a statement belongs to."""
    code = getattr(error, "sqlstate", "")
    if code == _READ_ONLY or getattr(error, "sqlite_errorname", "").startswith("SQLITE_READONLY"):
        return ReadOnlyError
    if code is None:  # raised by the driver, not by the server
        connection_lost = any(kind.__name__ in ("OperationalError", "InterfaceError") for kind in type(error).__mro__)
    else:
        connection_lost = code.startswith(_CONNECTION_LOST)
    return UnreachableError if connection_lost else DatabaseError


def _reason(error: Exception) -> str:
    return str(getattr(error, "orig", error)).strip().partition("\n")[0]


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """Open the only write transaction of a database: committed at the end, rolled back by an exception or a kill."""
    with read_transaction(engine):
        pass
    with translate_statement_errors(engine), engine.connect().execution_options(writes=True) as connection:
        with connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(text("LOCK TABLE cluster IN SHARE ROW EXCLUSIVE MODE"))
            yield connection
        if connection.dialect.name == "sqlite":
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
        raise UnreachableError(f"can't look for {file}: {error.strerror}") from None


def create_directory(engine: Engine) -> None:
    """Create the directory of an SQLite file."""
    if file := database_file(engine):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnreachableError(f"can't make {file.parent}: {error.strerror}") from None


def _limit_statements(seconds: float, connection: Any, _entry: ConnectionPoolEntry) -> None:
    connection.execute(f"SET statement_timeout = {int(seconds * 1000)}")
    connection.commit()
