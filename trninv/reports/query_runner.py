"""Run a read-only query with a time limit and stream its rows.

`trninv.reports.sqlite_reader` and `trninv.reports.postgresql_reader` enforce the limit and refuse all changes.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Event
from typing import Any

from sqlalchemy import Engine

from trninv.database.engine import error_class
from trninv.database.query_result import MAX_RESULT_BYTES, MAX_RESULT_ROWS, QueryResult, RowStream, collect_rows
from trninv.database.snapshot import SharedSnapshot
from trninv.errors import SqlError, TimeLimitError
from trninv.reports import sqlite_reader

_CHUNK = 5_000
"""Rows that are fetched at a time of a query that trninv wrote."""
_SMALL_CHUNK = 64
"""Rows that are fetched at a time of a user's query, whose rows may be large."""


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
    with _open_stream(snapshot, sql, _SMALL_CHUNK, seconds, sqlite_reader.process_cursor, login) as row_stream:
        return collect_rows(row_stream, max_rows, max_bytes)


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
            names = tuple(column[0] for column in cursor.description)
            types = () if is_sqlite else [column[1] for column in cursor.description]
            yield RowStream(names, _fetch_rows(cursor, chunk), types)
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
