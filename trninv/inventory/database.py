"""Engines: SQLite with foreign keys on and a write-ahead log, PostgreSQL as it is configured."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from trninv.deadline import check
from trninv.errors import (
    BusyError,
    DatabaseError,
    NotMigratedError,
    NotReachableError,
    ReadOnlyError,
    TimeLimitError,
    UsageError,
)
from trninv.inventory import sqlite
from trninv.inventory.past import enter
from trninv.inventory.postgresql import compile_nothing, know_server
from trninv.inventory.schema import narrow_on_postgresql
from trninv.inventory.urls import parsed, written
from trninv.settings import bundle

_CANCELED = "57014"
"""PostgreSQL's error code for a cancelled statement."""
_NO_TABLE = "42P01"
_READ_ONLY = "25006"
"""For a change in a transaction that only reads, as all of a standby do."""
_GONE = ("08", "57P")
"""How those begin that say that the server ended the connection."""
_SECONDS_A_HOST = 5
"""How long a host of PostgreSQL may take to accept a connection."""
_SECRETS = ("password", "sslpassword", "passfile")


def engine_of(url: str | URL, seconds: float | None = None) -> Engine:
    """An engine for a SQLAlchemy URL of SQLite or PostgreSQL, with a statement timeout on PostgreSQL.

    Raises
    ------
    UsageError
        It is not a URL, or one of another kind of database.

    """
    try:
        read = parsed(url) if isinstance(url, str) else url
        backend = read.get_backend_name()
        if backend == "postgresql":
            narrow_on_postgresql()
            waits = {} if "connect_timeout" in read.query else {"connect_timeout": _SECONDS_A_HOST}
            there = read.set(drivername="postgresql+psycopg")
            engine = create_engine(there, pool_pre_ping=True, connect_args=waits)
            event.listen(engine, "connect", know_server)
            event.listen(engine, "connect", compile_nothing)
            event.listen(engine, "begin", enter)
            if seconds is not None:
                event.listen(engine, "connect", partial(_limit_statements, seconds))
            return engine
        if read.drivername not in ("sqlite", "sqlite+pysqlite"):
            raise UsageError(f"{read.drivername} is not supported: use sqlite:///FILE or postgresql://…")
        engine = create_engine(read, connect_args={"timeout": sqlite.WAIT / 1000})
    except (ArgumentError, ValueError):  # not repeating the URL, which may hold a password
        raise UsageError("not a database URL: write sqlite:///FILE or postgresql://USER@HOST/DATABASE") from None
    sqlite.prepare(engine, file_of(engine))
    return engine


@contextmanager
def connect(url: str) -> Iterator[Engine]:
    """An engine that is disposed of when the context ends."""
    engine = engine_of(url)
    try:
        yield engine
    finally:
        engine.dispose()


def display(url: str | URL) -> str:
    """The URL without its passwords."""
    read = parsed(url) if isinstance(url, str) else url
    return written(read.difference_update_query(_SECRETS))


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that sees a single state of the database, which must be of this revision.

    Raises
    ------
    NotReachableError
        No server answers, or the file is not a database.
    NotMigratedError
        The database has none of trninv's tables, or has those of another revision.
    DatabaseError
        A statement failed: the database is locked, read only, damaged, …

    """
    file = file_of(engine)
    if file and not exists(file):  # SQLite would create an empty one
        raise NotMigratedError(f"{file} does not exist yet: run trninv migrate")
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with reaching(engine):
        connection = engine.connect().execution_options(**level)
    with failing(engine), connection:  # closing rolls back, which fails too where the server has stopped
        _check_revision(connection)
        yield connection


def _check_revision(connection: Connection) -> None:
    needed = newest_revision()
    try:
        found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    except (ProgrammingError, OperationalError) as error:
        missing = getattr(error.orig, "sqlstate", _NO_TABLE) == _NO_TABLE
        if not missing or "alembic_version" not in str(error.orig):
            raise
        found = None
    if found == needed:
        return
    where = display(connection.engine.url)
    if found is None:
        raise NotMigratedError(f"{where} has no tables yet: run trninv migrate")
    do = "run trninv migrate" if str(found) < needed else "it was made by a newer trninv: upgrade"
    raise NotMigratedError(f"{where} is at revision {found}, this trninv needs {needed}: {do}")


@lru_cache(maxsize=1)
def newest_revision() -> str:
    """The revision of the last file in migrations/versions, taken from its name."""
    return max(file.name[:4] for file in (bundle() / "migrations" / "versions").glob("[0-9]*.py"))


@contextmanager
def reaching(engine: Engine) -> Iterator[None]:
    """Say in one line why a database does not answer."""
    try:
        yield
    except PoolTimeoutError:
        raise _busy(engine) from None
    except (DBAPIError, engine.dialect.loaded_dbapi.Error) as error:  # the pool's are the driver's own
        raise NotReachableError(f"no database at {display(engine.url)}: {_reason(error)}") from error


@contextmanager
def failing(engine: Engine) -> Iterator[None]:
    """Say in one line why a statement failed."""
    try:
        yield
    except PoolTimeoutError:
        raise _busy(engine) from None
    except DBAPIError as error:
        check()
        if getattr(error.orig, "sqlstate", None) == _CANCELED:
            raise TimeLimitError("the database stopped a statement that took too long: ask for less") from error
        if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_INTERRUPT":  # by Ctrl-C, since the time is not over
            raise KeyboardInterrupt from error
        where = display(engine.url)
        if sqlite.is_busy(error):
            seconds = sqlite.WAIT // 1000
            raise DatabaseError(f"{where} is locked: another has been writing for {seconds} s: try again") from error
        kind = kind_of(error.orig)
        if kind is ReadOnlyError:
            raise ReadOnlyError(f"{where} can only be read here ({_reason(error)}): change its primary") from error
        verb = "is gone" if kind is NotReachableError else "refused"
        raise kind(f"{where} {verb}: {_reason(error)}") from error


def _busy(engine: Engine) -> BusyError:
    """There was none left of the connections that an engine makes at most."""
    return BusyError(f"{display(engine.url)}: all connections of this process are in use: ask again, or fewer at once")


def kind_of(error: BaseException | None) -> type[DatabaseError]:
    """What an error of a driver, in a statement, means."""
    code = getattr(error, "sqlstate", "")
    if code == _READ_ONLY or getattr(error, "sqlite_errorname", "").startswith("SQLITE_READONLY"):
        return ReadOnlyError
    if code is None:  # it is not the server's
        gone = any(kind.__name__ in ("OperationalError", "InterfaceError") for kind in type(error).__mro__)
    else:
        gone = code.startswith(_GONE)
    return NotReachableError if gone else DatabaseError


def _reason(error: Exception) -> str:
    return str(getattr(error, "orig", error)).strip().partition("\n")[0]


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that is the only one to write: committed at the end, rolled back by an error or a kill."""
    with reading(engine):
        pass
    with failing(engine), engine.connect().execution_options(writes=True) as connection:
        with connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(text("LOCK TABLE cluster IN SHARE ROW EXCLUSIVE MODE"))
            yield connection
        if connection.dialect.name == "sqlite":
            sqlite.shorten_log(connection)


def file_of(engine: Engine) -> Path | None:
    """The file of an SQLite database."""
    name = engine.url.database if engine.dialect.name == "sqlite" else None
    return Path(name) if name and name != ":memory:" and not name.startswith("file:") else None


def keep_log(engine: Engine) -> None:
    """Let readers and a writer of an SQLite file not wait for each other, where it can have a write-ahead log."""
    if (file := file_of(engine)) and exists(file):
        pooled = engine.raw_connection()
        driver: Any = pooled.driver_connection
        pooled.detach()  # nothing stays open of an engine that is not used
        try:
            sqlite.keep_log(driver)
        finally:
            driver.close()


def exists(file: Path) -> bool:
    """Whether there is such a file.

    Raises
    ------
    NotReachableError
        That can't be told, such as in a directory without permission.

    """
    try:
        return file.exists()
    except OSError as error:
        raise NotReachableError(f"can't look for {file}: {error.strerror}") from None


def make_directory(engine: Engine) -> None:
    """Create the directory that an SQLite file will be in."""
    if file := file_of(engine):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NotReachableError(f"can't make {file.parent}: {error.strerror}") from None


def _limit_statements(seconds: float, connection: Any, _entry: ConnectionPoolEntry) -> None:
    connection.execute(f"SET statement_timeout = {int(seconds * 1000)}")
    connection.commit()
