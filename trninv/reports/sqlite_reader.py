"""SQLite for reading only, and for a limited time.

The file is opened with mode=ro, and an authorizer refuses all but reading its tables. A user's statement runs in a
process of its own, which is killed when its time is up; trninv's own run in this one.
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
from urllib.parse import quote

from sqlalchemy import Engine

from trninv.errors import SqlError
from trninv.inventory.database import file_of
from trninv.reports import sqlite_process
from trninv.reports.views import READABLE, entering

_COMMAND: Final = ["-I", "-S", str(Path(sqlite_process.__file__))]
"""What the interpreter is told, to be a process for one statement."""


def _uri(engine: Engine) -> str:
    file = file_of(engine)
    if file is None:
        raise SqlError("a database in memory can't be opened for reading only: use a file")
    return f"file:{quote(str(file.absolute()))}?mode=ro"


@contextmanager
def opened(engine: Engine, seconds: float, over: threading.Event) -> Iterator[sqlite3.Cursor]:
    """A cursor in this process; `over` is set once the time is up, and what it does then fails."""
    connection = sqlite_process.opened(_uri(engine), READABLE, entering(engine))

    def stop() -> None:
        over.set()
        connection.interrupt()

    with _after(seconds, stop):
        try:
            yield connection.cursor()
        finally:
            connection.close()


@contextmanager
def _after(seconds: float, stop: Any) -> Iterator[None]:
    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Apart:
    """A cursor in a process of its own, for one statement; only what SQLite says of it is known here."""

    def __init__(self, out: IO[bytes], into: IO[bytes], engine: Engine) -> None:
        self._out, self._into = out, into
        self._said = {"uri": _uri(engine), "readable": sorted(READABLE), "entering": entering(engine)}
        self.description: list[tuple[str]] = []

    def execute(self, sql: str) -> None:
        """Run a statement."""
        with suppress(BrokenPipeError), self._into as given:
            given.write(json.dumps(self._said | {"sql": sql}).encode())
        self.description = [(name,) for name in self._next()]

    def fetchmany(self, _size: int) -> list[tuple[Any, ...]]:
        """As many rows as come at a time; none at the end."""
        return [tuple(row) for row in self._next()]

    def _next(self) -> Any:
        line = self._out.readline()
        if not line.endswith(b"\n"):
            raise sqlite3.DatabaseError("its process ended before the statement did")
        value = json.loads(line)
        if isinstance(value, str):
            raise sqlite3.DatabaseError(value)
        return value


@contextmanager
def apart(engine: Engine, seconds: float, over: threading.Event) -> Iterator[Apart]:
    """A cursor in a process that is killed when its time is up, or when its rows are not wanted any more."""
    process = subprocess.Popen(  # noqa: S603 # this interpreter, a file of ours
        [sys.executable, *_COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )

    def stop() -> None:
        over.set()
        process.kill()

    with process, _after(seconds, stop):
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            yield Apart(process.stdout, process.stdin, engine)
        finally:
            process.kill()
