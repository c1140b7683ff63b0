"""Engines: SQLite with its foreign keys on and its journal safe, PostgreSQL as it is."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError
from sqlalchemy.exc import DatabaseError as SqlDatabaseError
from sqlalchemy.pool import ConnectionPoolEntry

from trninv.errors import NotMigratedError, NotReachableError, UsageError

_BACKENDS = ("sqlite", "postgresql")


def engine_of(url: str) -> Engine:
    """An engine for a SQLAlchemy URL of SQLite or PostgreSQL.

    Raises
    ------
    UsageError
        Not a URL, or of another database.

    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise UsageError(f"{url!r} is not a database URL: write sqlite:///FILE or postgresql://…") from None
    backend = parsed.get_backend_name()
    if backend not in _BACKENDS:
        raise UsageError(f"{backend} is not supported: use sqlite:///FILE or postgresql://…")
    if backend == "postgresql":
        return create_engine(parsed.set(drivername="postgresql+psycopg"))
    engine = create_engine(parsed, connect_args={"timeout": 60})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


@contextmanager
def connect(url: str) -> Iterator[Engine]:
    """An engine that is disposed of at the end."""
    engine = engine_of(url)
    try:
        yield engine
    finally:
        engine.dispose()


def display(url: str) -> str:
    """The URL without its password."""
    return make_url(url).render_as_string(hide_password=True)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection for questions, with the two common failures put in words.

    Raises
    ------
    NotReachableError
        No server answers, or the file can't be opened.
    NotMigratedError
        The database has no tables of trninv.

    """
    file = file_of(engine)
    if file and not file.exists():  # SQLite would make an empty one
        raise NotMigratedError(f"{file} does not exist yet: run trninv migrate")
    with reaching(engine):
        connection = engine.connect()
    with connection:
        with reaching(engine):
            migrated = engine.dialect.has_table(connection, "cluster")
        if not migrated:
            raise NotMigratedError(f"{display(str(engine.url))} has no tables yet: run trninv migrate")
        yield connection


@contextmanager
def reaching(engine: Engine) -> Iterator[None]:
    """Puts in one line what keeps a database from answering."""
    try:
        yield
    except SqlDatabaseError as error:
        reason = str(error.orig).strip().splitlines()[0]
        raise NotReachableError(f"no database at {display(str(engine.url))}: {reason}") from error


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction that alone may write: committed at the end, undone by an error or a kill."""
    with reading(engine):
        pass
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("LOCK TABLE cluster IN EXCLUSIVE MODE"))
        yield connection


def file_of(engine: Engine) -> Path | None:
    """The file of an SQLite database."""
    name = engine.url.database if engine.dialect.name == "sqlite" else None
    return Path(name) if name and name != ":memory:" and not name.startswith("file:") else None


def make_directory(engine: Engine) -> None:
    """Make the directory that an SQLite file is to stand in."""
    if file := file_of(engine):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NotReachableError(f"can't make {file.parent}: {error.strerror}") from None


def _prepare_sqlite(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions begin where SQLAlchemy says, DDL included
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    # a writer that first read would fail when another wrote meanwhile: it takes the lock at its start
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
