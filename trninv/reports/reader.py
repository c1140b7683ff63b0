"""A connection that can only read, and only for a limited time; rows come in pieces, so any number fits any memory.

SQLite: the file is opened with mode=ro, an authorizer refuses all but reading its tables, and a progress handler
enforces the time limit. PostgreSQL: a read-only transaction as the role trninv_read, which is granted SELECT and
nothing else; a timer on this side cancels it; the session is reset and closed afterwards.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from sqlalchemy import Engine

from trninv.errors import SqlError, TimeLimitError
from trninv.inventory.database import file_of, kind_of, reaching, reading

ROLE = "trninv_read"
MOST_ROWS = 10_000
"""Rows at most in an answer that is not streamed."""

_CHUNK = 5_000
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_STOPS = 50_000
"""SQLite's virtual machine instructions between two checks of the clock."""


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of a query: all of them, or as many as were asked for."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    truncated: bool

    def records(self) -> list[dict[str, Any]]:
        """Rows as dictionaries by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows of a query as they arrive."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def find(engine: Engine, sql: str, *, seconds: float, most: int = MOST_ROWS) -> Found:
    """Up to the given number of rows of a checked query.

    Raises
    ------
    TimeLimitError
        It took longer.
    SqlError
        The database refuses the query.

    """
    with stream(engine, sql, seconds=seconds) as found:
        rows = list(islice(found.rows, most + 1))
    return Found(found.columns, rows[:most], len(rows) > most)


@contextmanager
def stream(engine: Engine, sql: str, *, seconds: float) -> Iterator[Stream]:
    """A checked query's rows, while the context lasts."""
    with reading(engine):
        pass  # fails if the database does not exist or has another revision
    with _sqlite(engine, seconds) if engine.dialect.name == "sqlite" else _postgresql(engine, seconds) as cursor:
        try:
            cursor.execute(sql)
            yield Stream(tuple(column[0] for column in cursor.description), _rows(cursor))
        except (sqlite3.Error, psycopg.Error) as error:
            raise _worded(error, seconds) from error


def _rows(cursor: Any) -> Iterator[tuple[Any, ...]]:
    while some := cursor.fetchmany(_CHUNK):
        yield from some


class _Numbers(Loader):
    """PostgreSQL's numeric as an integer if it is whole, because sums of integers are numeric there."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text or not text.lstrip("-").isdigit() else int(text)


def _worded(error: Exception, seconds: float) -> Exception:
    late = isinstance(error, psycopg.errors.QueryCanceled) or "interrupted" in str(error)
    if late:
        return TimeLimitError(f"the query took more than {seconds:g} s: narrow it, or raise the limit")
    if isinstance(error, psycopg.OperationalError):
        return kind_of(error)(f"the database refused: {_line(error)}")
    return SqlError(f"the database refuses: {_line(error)}")


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


@contextmanager
def _sqlite(engine: Engine, seconds: float) -> Iterator[sqlite3.Cursor]:
    file = file_of(engine)
    if file is None:
        raise SqlError("a database in memory can't be opened for reading only: use a file")
    connection = sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=ro", uri=True, check_same_thread=False)
    try:
        end = time.monotonic() + seconds
        connection.execute("PRAGMA query_only = ON")
        connection.set_progress_handler(lambda: time.monotonic() > end, _STOPS)
        connection.set_authorizer(_authorize)
        yield connection.cursor()
    finally:
        connection.close()


def _authorize(action: int, one: str | None, _other: str | None, _database: str | None, _inner: str | None) -> int:
    if action not in _ALLOWED:
        return sqlite3.SQLITE_DENY
    # a subquery in FROM is read without a name, or under a name that is not a table's
    if action == sqlite3.SQLITE_READ and (one or "").lower() in ("token", "alembic_version", "sqlite_master"):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


@contextmanager
def _postgresql(engine: Engine, seconds: float) -> Iterator[Any]:
    with reaching(engine):
        pooled = engine.connect()
    driver: psycopg.Connection[Any] = pooled.connection.driver_connection  # type: ignore[assignment] # psycopg's
    driver.adapters.register_loader("numeric", _Numbers)
    timer = threading.Timer(seconds, driver.cancel)
    timer.daemon = True
    try:
        driver.execute("SET TRANSACTION READ ONLY")
        try:
            driver.execute(f"SET LOCAL ROLE {ROLE}")
        except psycopg.Error:
            raise SqlError(
                f"the role {ROLE} that can only read is not there, or not granted to you: an administrator runs "
                f"CREATE ROLE {ROLE}; GRANT {ROLE} TO you; GRANT SELECT ON the tables and v_ views TO {ROLE}"
            ) from None
        driver.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000) + 1000}")
        timer.start()
        with driver.cursor(name="trninv_read") as cursor:
            yield _Named(cursor)
    finally:
        timer.cancel()
        pooled.invalidate()  # end the session, and its role and settings with it
        pooled.close()


class _Named:
    """A server-side cursor that knows its columns before the first row is fetched."""

    def __init__(self, cursor: Any) -> None:
        self._cursor, self._first = cursor, list[tuple[Any, ...]]()

    @property
    def description(self) -> Any:
        return self._cursor.description

    def execute(self, sql: str) -> None:
        self._cursor.execute(sql)
        self._first = self._cursor.fetchmany(_CHUNK)  # errors of the query occur here

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        first, self._first = self._first, []
        return first or self._cursor.fetchmany(size)
