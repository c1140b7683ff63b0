"""Read SQLite with a time limit, on a connection that can only read; `query_runner` opens it.

The file is opened with mode=ro, and an authorizer denies everything but reading its tables. A user's query runs in a
separate process, which is killed at the time limit; queries that trninv wrote run in this process.
"""

import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from sqlalchemy import Engine

from trninv.database import sqlite
from trninv.database.engine import database_file
from trninv.errors import SqlError
from trninv.reports import sqlite_process
from trninv.reports.views import READABLE, as_of_statements

_COMMAND: Final = ["-I", "-S", str(Path(sqlite_process.__file__))]
"""The interpreter's arguments: isolated and without site packages, for a quick start."""


def _uri(engine: Engine) -> str:
    file = database_file(engine)
    if file is None:
        raise SqlError("a database in memory cannot be opened read-only; use a file")
    return sqlite.read_uri(file)


@contextmanager
def open_cursor(engine: Engine, seconds: float, timed_out: threading.Event) -> Iterator[sqlite3.Cursor]:
    """Open a cursor in this process; at the time limit ``timed_out`` is set and the cursor's calls fail."""
    connection = sqlite_process.open_connection(_uri(engine), READABLE, as_of_statements(engine))

    def stop() -> None:
        timed_out.set()
        connection.interrupt()

    with _call_after(seconds, stop):
        try:
            yield connection.cursor()
        finally:
            connection.close()


@contextmanager
def _call_after(seconds: float, stop: Any) -> Iterator[None]:
    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class ProcessCursor:
    """A cursor for one statement that runs in a separate process."""

    def __init__(self, stdout: IO[bytes], stdin: IO[bytes], engine: Engine) -> None:
        self._stdout, self._stdin = stdout, stdin
        self._request = {"uri": _uri(engine), "readable": sorted(READABLE), "setup": as_of_statements(engine)}
        self.description: list[tuple[str]] = []

    def execute(self, sql: str) -> None:
        """Run a statement."""
        with suppress(BrokenPipeError), self._stdin as pipe:
            pipe.write(json.dumps(self._request | {"sql": sql}).encode())
        self.description = [(name,) for name in self._read_message()]

    def fetchmany(self, _size: int) -> list[tuple[Any, ...]]:
        """Return the next rows, as many as the process sends at a time; none at the end."""
        return [tuple(row) for row in self._read_message()]

    def _read_message(self) -> Any:
        line = self._stdout.readline()
        if not line.endswith(b"\n"):
            raise sqlite3.DatabaseError("the process that runs the query ended before the query did")
        value = json.loads(line)
        if isinstance(value, str):
            raise sqlite3.DatabaseError(value)
        return value


@contextmanager
def process_cursor(engine: Engine, seconds: float, timed_out: threading.Event) -> Iterator[ProcessCursor]:
    """Open a cursor in a process that is killed at the time limit or at the end of the context."""
    process = subprocess.Popen(  # noqa: S603 # this interpreter, a file of trninv
        [sys.executable, *_COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )

    def stop() -> None:
        timed_out.set()
        process.kill()

    with process, _call_after(seconds, stop):
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            yield ProcessCursor(process.stdout, process.stdin, engine)
        finally:
            process.kill()
