"""A connection that can only read, and only for a limited time; rows come in pieces, so any number fits any memory.

SQLite: the file is opened with mode=ro, and an authorizer refuses all but reading its tables. A user's statement runs in
a process of its own, which is killed when its time is up. PostgreSQL: a read-only transaction as the role trninv_read,
which is granted SELECT and nothing else; when its time is up it is cancelled, then terminated, and the connection is
closed from this side; the session is never used again.
"""

import marshal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from sqlalchemy import Engine

from trninv.errors import DatabaseError, SqlError, TimeLimitError
from trninv.inventory.database import file_of, reading
from trninv.reports import sqlite_process
from trninv.reports.names import LONGEST

ROLE = "trninv_read"
MOST_ROWS = 10_000
"""Rows at most in an answer that is not streamed."""
MOST_BYTES = 64 * 2**20
"""Bytes at most in an answer that is not streamed, as JSON."""

_CHUNK = 5_000
_FEW = 64
"""Rows of a user's statement at a time, since each may be large."""
_GRACE = 1.0
"""Seconds after the limit until what does not stop by itself is ended."""


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


def find(
    engine: Engine,
    sql: str,
    *,
    seconds: float,
    most: int = MOST_ROWS,
    most_bytes: int = MOST_BYTES,
    login: Engine | None = None,
) -> Found:
    """Up to the given number of rows, and bytes, of a checked query.

    Parameters
    ----------
    login
        On PostgreSQL, whose connection the query runs on, if not one of the engine's own.

    Raises
    ------
    TimeLimitError
        It took longer.
    SqlError
        The database refuses the query.

    """
    rows, size = list[tuple[Any, ...]](), 0
    _check(engine)
    with _apart(engine, sql, seconds) if file_of(engine) else _inside(login or engine, sql, seconds, _FEW) as found:
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
    with _inside(engine, sql, seconds, _CHUNK) as found:
        yield found


def _check(engine: Engine) -> None:
    with reading(engine):
        pass  # fails if the database does not exist or has another revision


@contextmanager
def _inside(engine: Engine, sql: str, seconds: float, chunk: int) -> Iterator[Stream]:
    over = threading.Event()
    opened = _sqlite(engine, seconds, over) if engine.dialect.name == "sqlite" else _postgresql(engine, seconds, over)
    try:
        with opened as cursor:
            cursor.execute(sql)
            yield Stream(tuple(column[0] for column in cursor.description), _rows(cursor, chunk))
    except (sqlite3.Error, psycopg.Error) as error:
        raise _late(seconds) if over.is_set() else _worded(error, seconds) from error


def _rows(cursor: Any, chunk: int) -> Iterator[tuple[Any, ...]]:
    while some := cursor.fetchmany(chunk):
        yield from some


def _late(seconds: float) -> TimeLimitError:
    return TimeLimitError(f"the query took more than {seconds:g} s: narrow it, or raise the limit")


def _worded(error: Exception, seconds: float) -> Exception:
    if isinstance(error, psycopg.errors.QueryCanceled):
        return _late(seconds)
    if isinstance(error, psycopg.OperationalError) and not isinstance(error, psycopg.errors.ProgramLimitExceeded):
        return DatabaseError(f"the database refused: {_line(error)}")
    return SqlError(f"the database refuses: {_line(error)}")


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _uri(engine: Engine) -> str:
    file = file_of(engine)
    if file is None:
        raise SqlError("a database in memory can't be opened for reading only: use a file")
    return f"file:{quote(str(file.absolute()))}?mode=ro"


@contextmanager
def _sqlite(engine: Engine, seconds: float, over: threading.Event) -> Iterator[sqlite3.Cursor]:
    connection = sqlite_process.opened(_uri(engine))

    def stop() -> None:
        over.set()
        connection.interrupt()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield connection.cursor()
    finally:
        timer.cancel()
        timer.join()
        connection.close()


@contextmanager
def _apart(engine: Engine, sql: str, seconds: float) -> Iterator[Stream]:
    """A user's statement on SQLite, in a process that is killed when its time is up or its rows are not wanted."""
    command = [sys.executable, "-I", "-S", str(Path(sqlite_process.__file__))]
    over = threading.Event()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def stop() -> None:
        over.set()
        process.kill()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        with suppress(BrokenPipeError), process.stdin as given:
            marshal.dump({"uri": _uri(engine), "sql": sql}, given)
        answers = _answers(process.stdout, over, seconds)
        columns = next(answers)
        yield Stream(tuple(columns), (row for rows in answers for row in rows))
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stdout.close()


def _answers(out: Any, over: threading.Event, seconds: float) -> Iterator[Any]:
    """What the process sends, up to its end.

    Raises
    ------
    TimeLimitError
        It was killed.
    SqlError
        SQLite refuses the statement.

    """
    while True:
        length = out.read(4)
        body = out.read(struct.unpack("<I", length)[0]) if len(length) == 4 else b""
        if over.is_set():
            raise _late(seconds)
        if not body:
            raise SqlError("the database refuses: the statement needs more than one process may have")
        value = marshal.loads(body)
        if value is None:
            return
        if isinstance(value, str):
            raise SqlError(f"the database refuses: {value}")
        yield value


class _Numbers(Loader):
    """PostgreSQL's numeric as an integer if it is whole, because sums of integers are numeric there."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        whole = "." not in text and text.lstrip("-").isdigit()
        return int(text) if whole and abs(int(text)) < 2**63 else float(text)


class _Truth(Loader):
    """PostgreSQL's boolean as 1 or 0, as SQLite has it."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


@contextmanager
def _postgresql(engine: Engine, seconds: float, over: threading.Event) -> Iterator[Any]:
    pooled = engine.connect()
    driver: psycopg.Connection[Any] = pooled.connection.driver_connection  # type: ignore[assignment] # psycopg's
    driver.adapters.register_loader("numeric", _Numbers)
    driver.adapters.register_loader("bool", _Truth)
    ended = threading.Event()
    try:
        driver.execute("SET TRANSACTION READ ONLY")
        _take_role(driver)
        driver.execute(_SETTINGS.format(milliseconds=int(seconds * 1000) + 1000))
        threading.Thread(target=_watch, args=(driver, seconds, over, ended), daemon=True).start()
        with driver.cursor(name="trninv_read") as cursor:
            yield _Named(cursor)
    finally:
        ended.set()
        pooled.invalidate()  # end the session, and its role and settings with it
        pooled.close()


_SETTINGS = """
SET LOCAL statement_timeout = {milliseconds}; SET LOCAL standard_conforming_strings = on; SET LOCAL timezone = 'UTC';
SET LOCAL DateStyle = 'ISO'; SET LOCAL extra_float_digits = 1"""


def _take_role(driver: psycopg.Connection[Any]) -> None:
    try:
        driver.execute(f"SET LOCAL ROLE {ROLE}")
    except psycopg.Error:
        raise SqlError(
            f"the role {ROLE} that can only read is not there, or not granted to you: an administrator runs "
            f"CREATE ROLE {ROLE}; GRANT {ROLE} TO you; GRANT SELECT ON the tables and v_ views TO {ROLE}"
        ) from None


def _watch(driver: psycopg.Connection[Any], seconds: float, over: threading.Event, ended: threading.Event) -> None:
    """End a session whose time is up: ask, then terminate, then hang up, which needs nobody's consent."""
    if ended.wait(seconds):
        return
    over.set()
    with suppress(psycopg.Error):
        driver.cancel_safe(timeout=_GRACE)
    if ended.wait(_GRACE):
        return
    with suppress(OSError, psycopg.Error), socket.socket(fileno=driver.fileno()) as wire:
        try:
            wire.shutdown(socket.SHUT_RDWR)
        finally:
            wire.detach()
    with suppress(psycopg.Error), _again(driver) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [driver.info.backend_pid])


def _again(driver: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A connection as the same login."""
    password = driver.info.password or None
    return psycopg.connect(driver.info.dsn, password=password, connect_timeout=2, autocommit=True)


class _Named:
    """A server-side cursor that knows its columns before the first row is fetched."""

    def __init__(self, cursor: Any) -> None:
        self._cursor, self._first = cursor, list[tuple[Any, ...]]()

    @property
    def description(self) -> Any:
        return self._cursor.description

    def execute(self, sql: str) -> None:
        self._cursor.execute(sql)
        self._first = self._cursor.fetchmany(_FEW)  # errors of the query occur here

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        first, self._first = self._first, []
        return first or self._cursor.fetchmany(size)
