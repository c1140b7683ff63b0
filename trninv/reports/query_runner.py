"""Run a read-only query with a time limit and stream its rows.

`trninv.reports.sqlite_reader` and `trninv.reports.postgresql_reader` enforce the limit and refuse all changes.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import Any

import orjson
from sqlalchemy import Engine

from trninv.database.engine import error_class
from trninv.database.snapshot import SharedSnapshot
from trninv.errors import SqlError, TimeLimitError
from trninv.reports import sqlite_reader

MAX_RESULT_ROWS = 10_000
"""Maximum rows of a result that is not streamed, by default."""
MAX_RESULT_BYTES = 64 * 2**20
"""Maximum bytes of a result that is not streamed, as JSON."""
MAX_TEXT_LENGTH = 100_000
"""Maximum length of a text that a query may make."""

_CHUNK = 5_000
"""Rows that are fetched at a time of a query that trninv wrote."""
_SMALL_CHUNK = 64
"""Rows that are fetched at a time of a user's query, whose rows may be large."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows of a query; ``truncated`` if there were more than the limits allow."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    truncated: bool

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries by column.

        Raises
        ------
        SqlError
            Two columns have the same name.

        """
        check_unique_columns(self.columns)
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def check_unique_columns(columns: tuple[str, ...]) -> None:
    """Refuse columns with the same name: an object would keep only the last."""
    duplicate = next((name for index, name in enumerate(columns) if name in columns[:index]), None)
    if duplicate is not None:
        raise SqlError(f"two columns are called {duplicate}; rename one with AS")


@dataclass(frozen=True, slots=True)
class RowStream:
    """The columns of a query, and its rows as they are fetched."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def run_query(
    snapshot: SharedSnapshot,
    sql: str,
    *,
    seconds: float,
    max_rows: int = MAX_RESULT_ROWS,
    max_bytes: int = MAX_RESULT_BYTES,
    login: Engine | None = None,
) -> QueryResult:
    """Run a compiled query in its own session and return its rows, up to a number of rows and bytes.

    On SQLite, the query reads the current state of the database, in a connection of its own. If that state is not the
    snapshot's, the revision in ``snapshot.as_of`` becomes None.

    Parameters
    ----------
    login
        On PostgreSQL, the engine of the login to use instead of the snapshot's.

    Raises
    ------
    TimeLimitError
        The query took longer than ``seconds``.
    SqlError
        The database refuses the query.

    """
    rows, size = list[tuple[Any, ...]](), 0
    with _open_stream(snapshot, sql, _SMALL_CHUNK, seconds, sqlite_reader.process_cursor, login) as row_stream:
        # each row may be written as an object, which repeats the names
        names_size = len(orjson.dumps(row_stream.columns))
        for row in islice(row_stream.rows, max_rows + 1):  # one more, to see whether there are more
            size += names_size + _json_size(row)
            if len(rows) == max_rows or size > max_bytes:
                return QueryResult(row_stream.columns, rows, truncated=True)
            rows.append(row)
    return QueryResult(row_stream.columns, rows, truncated=False)


def _json_size(row: tuple[Any, ...]) -> int:
    """Return the length of a row in JSON.

    Raises
    ------
    SqlError
        A text in it is too long, or a value can't be written in JSON.

    """
    if any(isinstance(value, str) and len(value) > MAX_TEXT_LENGTH for value in row):
        raise SqlError(f"the query makes a text of more than {MAX_TEXT_LENGTH:,} characters; make it from fewer rows")
    try:
        return len(orjson.dumps(row))
    except TypeError:
        raise SqlError("the query makes a value that is neither text nor a number; cast it to TEXT") from None


@contextmanager
def stream_query(snapshot: SharedSnapshot, sql: str, *, seconds: float) -> Iterator[RowStream]:
    """Open a stream of the rows of a compiled query that trninv wrote, not a user; it ends with the context.

    It reads the same state of the database as `run_query` would.
    """
    with _open_stream(snapshot, sql, _CHUNK, seconds, sqlite_reader.open_cursor) as row_stream:
        yield row_stream


@contextmanager
def _open_stream(
    snapshot: SharedSnapshot,
    sql: str,
    chunk: int,
    seconds: float,
    open_sqlite_cursor: Callable[[Engine, float, Event], AbstractContextManager[Any]],
    login: Engine | None = None,
) -> Iterator[RowStream]:
    driver: Any = snapshot.engine.dialect.loaded_dbapi
    is_sqlite, timed_out = snapshot.engine.dialect.name == "sqlite", Event()

    def execute() -> Any:
        cursor = stack.enter_context(session)
        cursor.execute(sql)
        return cursor

    try:
        with ExitStack() as stack:
            if is_sqlite:
                session = open_sqlite_cursor(snapshot.engine, seconds, timed_out)
            else:
                from trninv.reports.postgresql_reader import open_session  # noqa: PLC0415 # imports psycopg

                session = open_session(snapshot, seconds, timed_out, login)
            cursor = snapshot.read_separately(execute) if is_sqlite else execute()
            yield RowStream(tuple(column[0] for column in cursor.description), _fetch_rows(cursor, chunk))
    except driver.Error as error:
        raise _translate_error(error, seconds, getattr(driver, "errors", None), timed_out=timed_out.is_set()) from error


def _fetch_rows(cursor: Any, chunk: int) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchmany(chunk):
        yield from rows


def _translate_error(error: Exception, seconds: float, errors: Any, *, timed_out: bool) -> Exception:
    """Translate a driver's error; ``errors`` is psycopg's module of errors, None on SQLite."""
    if timed_out or (errors and isinstance(error, errors.QueryCanceled)):
        return TimeLimitError(f"the query took more than {seconds:g} s; narrow it, or raise the limit")
    if errors and isinstance(error, errors.OperationalError) and not isinstance(error, errors.ProgramLimitExceeded):
        return error_class(error)(f"the database refused: {_first_line(error)}")
    return SqlError(f"the database refuses: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
