"""Start the processes that run Cypher queries, ahead of the queries where a service keeps a `CypherWorkers`.

A process opens one graph file, gives up every other right, and then runs one query, so that nothing of a query is left
for the next one (`query_process`).
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from trninv.database.query_result import RowStream
from trninv.errors import CypherError, suggestion
from trninv.graph_projection import graph_file
from trninv.graph_projection.projection_store import package_directory
from trninv.graph_projection.schema import LABELS, RELATIONSHIPS, NodeLabel, Relationship

try:
    from trninv.graph_projection import query_process
except ImportError:  # no module resource: Windows
    query_process = None  # type: ignore[assignment]

MAX_WARM: Final = 2
"""Maximum number of processes that wait for a query, in each process of a service."""
_UNKNOWN: Final = re.compile(r"(?P<table>Table) (\w+) does not exist|Cannot find property (\w+) ")
"""What the graph says of a label, relationship or property that it does not have."""
_MAX_WAIT: Final = 500
"""Seconds for which a process is offered a query: well below `query_process.IDLE_SECONDS`, when it ends."""
_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG")


def can_confine() -> bool:
    """Return whether the system can limit what a process does."""
    return query_process is not None


class QueryWorker:
    """A process that has a graph file open, or is opening it, and runs one query."""

    def __init__(self, file: Path, *, ahead: bool = False) -> None:
        """Start the process, without waiting for it; ``ahead`` of a query, it prepares more of ladybug."""
        self.file, self._started = file, time.monotonic()
        try:
            size = graph_file.max_size(file.stat().st_size)
        except FileNotFoundError:
            raise CypherError("the graph's file was removed") from None
        self._process = subprocess.Popen(  # noqa: S603 # this interpreter, a file of trninv
            [sys.executable, "-I", "-S", query_process.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
        self._send({"path": str(package_directory()), "file": str(file), "size": size, "ahead": ahead})

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended, and will not soon for want of a query."""
        return self._process.poll() is None and time.monotonic() - self._started < _MAX_WAIT

    def run(self, request: Mapping[str, Any]) -> RowStream:
        """Have the process run its query, and return the rows as it sends them.

        Raises
        ------
        CypherError
            The query fails, or the process ends.

        """
        self._send(request)
        return RowStream(self._read_columns(), self._read_rows())

    def kill(self) -> None:
        """End the process, and wait for its end."""
        self._process.kill()
        with suppress(BrokenPipeError), self._process:  # part of a query that it did not read
            pass

    @contextmanager
    def limited(self, seconds: float) -> Iterator[threading.Event]:
        """Kill the process after so many seconds, or at the end of the context; yield what is set if it was late.

        `kill` waits for its end, which takes some milliseconds.
        """
        timed_out = threading.Event()

        def stop() -> None:
            timed_out.set()
            self._process.kill()

        timer = threading.Timer(seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            yield timed_out
        finally:
            timer.cancel()
            self._process.kill()

    def _send(self, request: Mapping[str, Any]) -> None:
        stdin: IO[bytes] = self._process.stdin  # type: ignore[assignment] # it is a pipe
        with suppress(BrokenPipeError):  # what it writes, or fails to write, says why
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()

    def _read_message(self) -> Any:
        stdout: IO[bytes] = self._process.stdout  # type: ignore[assignment] # it is a pipe
        line = stdout.readline()
        if not line.endswith(b"\n"):
            raise CypherError("the process that runs the query ended before the query did: it asks for too much")
        value = json.loads(line)
        if isinstance(value, str):
            raise CypherError(f"the graph refuses: {value}{_hint(value)}")
        return value

    def _read_columns(self) -> tuple[str, ...]:
        columns = tuple(self._read_message())
        if duplicate := next((name for name in columns if columns.count(name) > 1), None):
            raise CypherError(f"two columns are called {duplicate}; rename one with AS")
        return columns

    def _read_rows(self) -> Iterator[tuple[Any, ...]]:
        while rows := self._read_message():
            yield from map(tuple, rows)


class CypherWorkers:
    """Up to MAX_WARM processes that have the newest graph file open and wait for a query; thread-safe.

    The first query of a file starts its process itself, and each query leaves one process for the next. So a fleet
    without Cypher has none, and queries at the same time make more.
    """

    def __init__(self) -> None:
        self._lock, self._is_closed = threading.Lock(), False
        self._workers, self._ending = list[QueryWorker](), list[QueryWorker]()

    def take(self, file: Path) -> QueryWorker:
        """Return a process for a file: the one that has waited longest, or a new one."""
        with self._lock:
            while self._workers and self._workers[0].file == file:
                worker = self._workers.pop(0)
                if worker.is_alive:
                    return worker
                worker.kill()
        return QueryWorker(file)

    def finish(self, worker: QueryWorker) -> None:
        """Let a process end that has run its query; the next call waits until it has."""
        with self._lock:
            self._wait()
            self._ending.append(worker)

    def _wait(self) -> None:
        while self._ending:
            self._ending.pop().kill()

    def prepare(self, file: Path) -> None:
        """Start a process for the next query of a file, and end those of another file."""
        with self._lock:
            kept = [worker for worker in self._workers if worker.file == file and worker.is_alive]
            for worker in self._workers:
                if worker not in kept:
                    worker.kill()
            self._workers = kept
            if len(kept) < MAX_WARM and not self._is_closed:
                with suppress(CypherError, OSError):  # the file was removed, or there is no memory for a process
                    kept.append(QueryWorker(file, ahead=True))

    def __len__(self) -> int:
        return len(self._workers)

    def close(self) -> None:
        """End all processes; none is started afterwards."""
        with self._lock:
            self._is_closed = True
            self._wait()
            while self._workers:
                self._workers.pop().kill()


def _hint(refusal: str) -> str:
    """Return which name may be meant, if the graph refuses a query because of a name that it does not have."""
    if (match := _UNKNOWN.search(refusal)) is None:
        return ""
    kinds: tuple[NodeLabel | Relationship, ...] = (*LABELS, *RELATIONSHIPS)
    word = match[2] or match[3]
    names = (
        {kind.name for kind in kinds} if match["table"] else {item.name for kind in kinds for item in kind.properties}
    )
    beginnings = {name for name in names if word.startswith(name)}  # host of hostname
    return f" ({suggestion(word, beginnings or names)})"
