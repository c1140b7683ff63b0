"""A query that can only read, and only for a limited time; rows come in pieces, so any number fits any memory.

`trninv.reports.sqlite_reader` and `trninv.reports.postgresql_reader` say how each database is held to that.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Engine

from trninv.errors import SqlError, TimeLimitError
from trninv.inventory.database import kind_of, reading
from trninv.reports import sqlite_reader
from trninv.reports.names import LONGEST
from trninv.reports.views import entering

if TYPE_CHECKING:
    from trninv.reports.postgresql_reader import Reading

MOST_ROWS = 10_000
"""Rows at most in an answer that is not streamed."""
MOST_BYTES = 64 * 2**20
"""Bytes at most in an answer that is not streamed, as JSON."""

_CHUNK = 5_000
_FEW = 64
"""Rows of a user's statement at a time, since each may be large."""


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of a query: all of them, or as many as were asked for."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    truncated: bool

    def records(self) -> list[dict[str, Any]]:
        """Rows as dictionaries by column.

        Raises
        ------
        SqlError
            Two columns have one name.

        """
        once(self.columns)
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def once(columns: tuple[str, ...]) -> None:
    """Refuse columns of one name, of which an object would keep the last only."""
    twice = next((each for at, each in enumerate(columns) if each in columns[:at]), None)
    if twice is not None:
        raise SqlError(f"two columns are called {twice}: name one otherwise (AS)")


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows of a query as they arrive."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def find(
    engine: Engine,
    sql: str,
    *,
    seconds: float,
    most: int = MOST_ROWS,
    most_bytes: int = MOST_BYTES,
    login: Engine | None = None,
    within: "Reading | None" = None,
) -> Found:
    """Up to the given number of rows, and bytes, of a checked query.

    Parameters
    ----------
    login
        On PostgreSQL, whose connection the query runs on, if not one of the engine's own.
    within
        On PostgreSQL, gives a connection whose state of the database is the one to read.

    Raises
    ------
    TimeLimitError
        It took longer.
    SqlError
        The database refuses the query.

    """
    rows, size, over = list[tuple[Any, ...]](), 0, Event()
    _check(engine)
    if engine.dialect.name == "sqlite":
        opened: AbstractContextManager[Any] = sqlite_reader.apart(engine, seconds, over)
    else:
        opened = _on_postgresql(
            login or engine, seconds, over, within=within, entering=entering(engine), is_login=login is not None
        )
    with _run(engine, opened, over, sql, _FEW, seconds) as found:
        names = len(orjson.dumps(found.columns))
        for row in islice(found.rows, most + 1):
            size += names + _bytes(row)
            if len(rows) == most or size > most_bytes:
                return Found(found.columns, rows, truncated=True)
            rows.append(row)
    return Found(found.columns, rows, truncated=False)


def _bytes(row: tuple[Any, ...]) -> int:
    """The length of a row in JSON.

    Raises
    ------
    SqlError
        A text in it is too long, or it can't be written in JSON.

    """
    if any(isinstance(value, str) and len(value) > LONGEST for value in row):
        raise SqlError(f"the query makes a text of more than {LONGEST:,} characters: make it of fewer rows")
    try:
        return len(orjson.dumps(row))
    except TypeError:
        raise SqlError("the query makes a value that is neither a text nor a number: cast it to TEXT") from None


@contextmanager
def stream(engine: Engine, sql: str, *, seconds: float) -> Iterator[Stream]:
    """The rows of a checked query of trninv's own, while the context lasts."""
    _check(engine)
    over = Event()
    if engine.dialect.name == "sqlite":
        opened: AbstractContextManager[Any] = sqlite_reader.opened(engine, seconds, over)
    else:
        opened = _on_postgresql(engine, seconds, over, entering=entering(engine))
    with _run(engine, opened, over, sql, _CHUNK, seconds) as found:
        yield found


def _check(engine: Engine) -> None:
    with reading(engine):
        pass  # fails if the database does not exist or has another revision


def _on_postgresql(*given: Any, **named: Any) -> AbstractContextManager[Any]:
    from trninv.reports import postgresql_reader  # noqa: PLC0415 # SQLite does without its driver

    return postgresql_reader.opened(*given, **named)


@contextmanager
def _run(
    engine: Engine, opened: AbstractContextManager[Any], over: Event, sql: str, chunk: int, seconds: float
) -> Iterator[Stream]:
    driver: Any = engine.dialect.loaded_dbapi
    try:
        with opened as cursor:
            cursor.execute(sql)
            yield Stream(tuple(column[0] for column in cursor.description), _rows(cursor, chunk))
    except driver.Error as error:
        raise _worded(error, seconds, getattr(driver, "errors", None), is_over=over.is_set()) from error


def _rows(cursor: Any, chunk: int) -> Iterator[tuple[Any, ...]]:
    while some := cursor.fetchmany(chunk):
        yield from some


def _worded(error: Exception, seconds: float, errors: Any, *, is_over: bool) -> Exception:
    """What a driver's error is; `errors` are psycopg's by name, None of SQLite's."""
    if is_over or (errors and isinstance(error, errors.QueryCanceled)):
        return TimeLimitError(f"the query took more than {seconds:g} s: narrow it, or raise the limit")
    if errors and isinstance(error, errors.OperationalError) and not isinstance(error, errors.ProgramLimitExceeded):
        return kind_of(error)(f"the database refused: {_line(error)}")
    return SqlError(f"the database refuses: {_line(error)}")


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
