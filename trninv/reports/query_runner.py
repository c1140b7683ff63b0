"""Run a read-only query with a time limit and stream its rows.

`trninv.reports.sqlite_reader` and `trninv.reports.postgresql_reader` enforce both on their database.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Engine

from trninv.database.engine import error_class, read_transaction
from trninv.errors import SqlError, TimeLimitError
from trninv.reports import sqlite_reader
from trninv.reports.name_resolution import MAX_TEXT_LENGTH
from trninv.reports.views import as_of_statements

if TYPE_CHECKING:
    from trninv.reports.postgresql_reader import SnapshotOpener

MAX_RESULT_ROWS = 10_000
"""Most rows of a result that is not streamed."""
MAX_RESULT_BYTES = 64 * 2**20
"""Most bytes of a result that is not streamed, as JSON."""

_CHUNK = 5_000
_SMALL_CHUNK = 64
"""Rows of a user's query that are fetched at a time, since each may be large."""


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
            Two columns have one name.

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
    """Rows of a query as they arrive."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def run_query(
    engine: Engine,
    sql: str,
    *,
    seconds: float,
    max_rows: int = MAX_RESULT_ROWS,
    max_bytes: int = MAX_RESULT_BYTES,
    login: Engine | None = None,
    open_snapshot: "SnapshotOpener | None" = None,
) -> QueryResult:
    """Run a compiled query and return its rows, up to a number of rows and bytes.

    Parameters
    ----------
    login
        On PostgreSQL, the engine to run the query on, if not the same.
    open_snapshot
        On PostgreSQL, opens a connection whose snapshot of the database is to be read.

    Raises
    ------
    TimeLimitError
        The query took longer than ``seconds``.
    SqlError
        The database refuses the query.

    """
    rows, size, timed_out = list[tuple[Any, ...]](), 0, Event()
    _check_database(engine)
    if engine.dialect.name == "sqlite":
        session: AbstractContextManager[Any] = sqlite_reader.process_cursor(engine, seconds, timed_out)
    else:
        session = _postgresql_session(
            login or engine,
            seconds,
            timed_out,
            open_snapshot=open_snapshot,
            setup=as_of_statements(engine),
            is_login=login is not None,
        )
    with _execute(engine, session, timed_out, sql, _SMALL_CHUNK, seconds) as row_stream:
        names_size = len(orjson.dumps(row_stream.columns))
        for row in islice(row_stream.rows, max_rows + 1):
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
def stream_query(engine: Engine, sql: str, *, seconds: float) -> Iterator[RowStream]:
    """Open a stream of the rows of one of trninv's own compiled queries; it ends with the context."""
    _check_database(engine)
    timed_out = Event()
    if engine.dialect.name == "sqlite":
        session: AbstractContextManager[Any] = sqlite_reader.open_cursor(engine, seconds, timed_out)
    else:
        session = _postgresql_session(engine, seconds, timed_out, setup=as_of_statements(engine))
    with _execute(engine, session, timed_out, sql, _CHUNK, seconds) as row_stream:
        yield row_stream


def _check_database(engine: Engine) -> None:
    with read_transaction(engine):
        pass  # fails if the database does not exist or has another schema version


def _postgresql_session(*arguments: Any, **options: Any) -> AbstractContextManager[Any]:
    from trninv.reports import postgresql_reader  # noqa: PLC0415 # imports psycopg, which SQLite does not need

    return postgresql_reader.open_session(*arguments, **options)


@contextmanager
def _execute(
    engine: Engine, session: AbstractContextManager[Any], timed_out: Event, sql: str, chunk: int, seconds: float
) -> Iterator[RowStream]:
    driver: Any = engine.dialect.loaded_dbapi
    try:
        with session as cursor:
            cursor.execute(sql)
            yield RowStream(tuple(column[0] for column in cursor.description), _rows(cursor, chunk))
    except driver.Error as error:
        raise _translate_error(error, seconds, getattr(driver, "errors", None), timed_out=timed_out.is_set()) from error


def _rows(cursor: Any, chunk: int) -> Iterator[tuple[Any, ...]]:
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
