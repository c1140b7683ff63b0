"""Run a read-only Cypher query on the projection of a snapshot."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from trninv.atomic_file import atomic_write
from trninv.database.query_result import MAX_RESULT_BYTES, MAX_RESULT_ROWS, QueryResult, RowStream, collect_rows
from trninv.database.snapshot import SharedSnapshot
from trninv.deadline import cap_timeout, raise_if_expired
from trninv.errors import BusyError, CypherError, TimeLimitError, UnreachableError
from trninv.graph_projection import graph_file, projection_store
from trninv.graph_projection.changing_state import ChangingState
from trninv.graph_projection.projection_store import ProjectionName, package_directory
from trninv.graph_projection.query_guard import check_query
from trninv.settings import Settings

try:
    from trninv.graph_projection import query_process
except ImportError:  # no module resource: Windows
    query_process = None  # type: ignore[assignment]

MAX_PARAMETER_BYTES: Final = 2**20
"""Maximum size of a query's parameters as JSON."""
_ATTEMPTS: Final = 5
"""How often the file of a changing fleet is made, or opened again after it was removed."""
_POLL_SECONDS: Final = 0.05
_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG")
_latest: dict[str, tuple[Hashable, Path]] = {}
"""By database, the last revision for which a file was made, and that file."""
_builders: dict[str, "subprocess.Popen[bytes]"] = {}
"""The building processes by what they build; one that outlives its request is awaited by the next."""
_builders_lock = threading.Lock()
Waiting = Callable[[str], object]


def run_cypher(
    snapshot: SharedSnapshot,
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    seconds: float,
    max_rows: int = MAX_RESULT_ROWS,
    max_bytes: int = MAX_RESULT_BYTES,
    waiting: Waiting = lambda _: None,
    **_: object,
) -> QueryResult:
    """Run a query on the state of a snapshot and return its rows, up to a number of rows and bytes.

    The first query after a change makes the projection; that takes no time of ``seconds``.

    Parameters
    ----------
    waiting
        Called with what is being made, if that takes time.

    Raises
    ------
    CypherError
        The query is refused, or fails.
    TimeLimitError
        The query took longer than ``seconds``.
    UsageError
        The extra ``graph`` is not installed.

    """
    request = {"query": check_query(query, max_rows + 1), "parameters": _checked_parameters(parameters)}
    for _attempt in range(_ATTEMPTS):
        file = find_projection(snapshot, waiting)
        try:
            return _run(file, request, cap_timeout(seconds), max_rows, max_bytes)
        except CypherError:
            if file.exists():
                raise
    raise BusyError("the graph's files are removed faster than they are read; try again")


def _checked_parameters(parameters: Mapping[str, Any] | None) -> Mapping[str, Any]:
    try:
        size = len(json.dumps(parameters or {}, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise CypherError("a parameter is no JSON value: use texts, numbers, booleans, lists and objects") from None
    if size > MAX_PARAMETER_BYTES:
        raise CypherError(f"the parameters have more than {MAX_PARAMETER_BYTES:,} bytes; pass fewer")
    return parameters or {}


def find_projection(snapshot: SharedSnapshot, waiting: Waiting = lambda _: None) -> Path:
    """Return the file with the projection of a snapshot's state; make it first if there is none.

    Raises
    ------
    CypherError
        The system can't limit what a process does.
    UsageError
        The extra ``graph`` is not installed.
    TimeLimitError
        The request's time limit passed; what is being built is ready later.

    """
    if query_process is None:
        raise CypherError("Cypher needs a system that can limit what a process does, such as Linux or macOS")
    package_directory()
    directory = Settings.load().graph_cache_directory()
    projection_store.make_directory(directory)
    with snapshot.read() as (connection, revision):
        key = f"{directory} {connection.engine.url!r}"
        known_revision, file = _latest.get(key, (None, directory))
        if revision is not None and revision == known_revision and projection_store.use(file):
            return file
        state = ChangingState.read(connection)
        name = ProjectionName.from_state(directory, connection, state)
        for _ in range(_ATTEMPTS):
            if projection_store.use(name.file):
                _latest[key] = revision, name.file
                return name.file
            with projection_store.lock(name):
                is_made = name.file.exists() or projection_store.refresh(connection, name, state)
            if not is_made:
                waiting("building the graph")
                _build(snapshot, name)
    raise BusyError("the fleet changes faster than its graph can be made; try again")


def copy_projection(snapshot: SharedSnapshot, directory: Path, waiting: Waiting) -> Path:
    """Copy the projection of a snapshot's state to fleet.ladybug in a directory, and return that file.

    Raises
    ------
    UnreachableError
        It can't be written.

    """
    file = directory / "fleet.ladybug"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as temporary_file:
            shutil.copyfile(find_projection(snapshot, waiting), temporary_file)
    except OSError as error:
        raise UnreachableError(f"can't write {error.filename or directory}: {error.strerror}") from None
    return file


def _build(snapshot: SharedSnapshot, name: ProjectionName) -> None:
    """Build a projection of this structure, which may be of a later state; at the time limit, leave the process be."""
    key = f"{name.directory} {name.prefix}"
    with _builders_lock:
        process = _builders.get(key)
        if process is None or process.poll() is not None:
            process = _builders[key] = projection_store.start_builder(snapshot.engine, name.directory)
    try:
        while process.poll() is None:
            raise_if_expired()
            time.sleep(_POLL_SECONDS)
    except TimeLimitError:
        raise TimeLimitError("the graph is still being built; ask again in half a minute") from None
    except BaseException:
        process.kill()
        raise
    with _builders_lock:
        if _builders.get(key) is process:
            del _builders[key]
            projection_store.finish_builder(process)


def _run(file: Path, request: Mapping[str, Any], seconds: float, max_rows: int, max_bytes: int) -> QueryResult:
    try:
        size = graph_file.max_size(file.stat().st_size)
    except FileNotFoundError:
        raise CypherError("the graph's file was removed") from None
    request = {**request, "path": str(package_directory()), "file": str(file), "size": size, "seconds": seconds}
    with _open_process(seconds) as (process, timed_out):
        try:
            with suppress(BrokenPipeError), process.stdin as stdin:  # type: ignore[union-attr]
                stdin.write(json.dumps(request).encode())
            row_stream = RowStream(_read_columns(process.stdout), _read_rows(process.stdout))
            return collect_rows(row_stream, max_rows, max_bytes, CypherError)
        except CypherError as error:
            if timed_out.is_set():
                raise TimeLimitError(
                    f"the query took more than {seconds:g} s; narrow it, or raise the limit"
                ) from error
            raise


@contextmanager
def _open_process(seconds: float) -> Iterator[tuple["subprocess.Popen[bytes]", threading.Event]]:
    """Start the process of a query; it is killed at the time limit, or at the end of the context."""
    timed_out = threading.Event()
    process = subprocess.Popen(  # noqa: S603 # this interpreter, a file of trninv
        [sys.executable, "-I", "-S", query_process.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    )

    def stop() -> None:
        timed_out.set()
        process.kill()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    with process:
        try:
            yield process, timed_out
        finally:
            timer.cancel()
            process.kill()


def _read_message(stdout: IO[bytes] | None) -> Any:
    line = stdout.readline() if stdout else b""
    if not line.endswith(b"\n"):
        raise CypherError("the process that runs the query ended before the query did: it asks for too much")
    value = json.loads(line)
    if isinstance(value, str):
        raise CypherError(f"the graph refuses: {value}")
    return value


def _read_columns(stdout: IO[bytes] | None) -> tuple[str, ...]:
    columns = tuple(_read_message(stdout))
    if duplicate := next((name for name in columns if columns.count(name) > 1), None):
        raise CypherError(f"two columns are called {duplicate}; rename one with AS")
    return columns


def _read_rows(stdout: IO[bytes] | None) -> Iterator[tuple[Any, ...]]:
    while rows := _read_message(stdout):
        yield from map(tuple, rows)
