"""Run a read-only Cypher query on the projection of a snapshot."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trninv.atomic_file import atomic_write
from trninv.database.as_of import as_of_event
from trninv.database.query_result import MAX_RESULT_BYTES, MAX_RESULT_ROWS, QueryResult, collect_rows
from trninv.database.snapshot import SharedSnapshot
from trninv.deadline import cap_timeout, raise_if_expired
from trninv.errors import BusyError, CypherError, TimeLimitError, UnreachableError
from trninv.graph_projection import projection_store
from trninv.graph_projection.changing_state import ChangingState
from trninv.graph_projection.projection_store import ProjectionName, package_directory
from trninv.graph_projection.query_guard import check_query
from trninv.graph_projection.query_worker import CypherWorkers, QueryWorker, can_confine
from trninv.settings import Settings

if TYPE_CHECKING:
    import subprocess

MAX_PARAMETER_BYTES: Final = 2**20
"""Maximum size of a query's parameters as JSON."""
_ATTEMPTS: Final = 5
"""How often the file of a changing fleet is made, or opened again after it was removed."""
_POLL_SECONDS: Final = 0.05
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
    pool: CypherWorkers | None = None,
    **_: object,
) -> QueryResult:
    """Run a query on the state of a snapshot and return its rows, up to a number of rows and bytes.

    The first query after a change makes the projection; that takes no time of ``seconds``.

    Parameters
    ----------
    waiting
        Called with what is being made, if that takes time.
    pool
        Has processes that were started ahead, and gets one for the next query unless this one is of an earlier time.

    Raises
    ------
    CypherError
        The query is refused, or fails.
    TimeLimitError
        The query took longer than ``seconds``.
    UsageError
        The extra ``graph`` is not installed.

    """
    values = _checked_parameters(parameters)
    request = {"query": check_query(query, max_rows + 1, values), "parameters": values}
    for _attempt in range(_ATTEMPTS):
        file = find_projection(snapshot, waiting)
        limit = cap_timeout(seconds)
        try:
            with _take_worker(file, pool, is_latest=as_of_event(snapshot.engine) is None) as worker:
                return _run(worker, request, limit, max_rows, max_bytes)
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
    if not can_confine():
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


@contextmanager
def _take_worker(file: Path, pool: CypherWorkers | None, *, is_latest: bool) -> Iterator[QueryWorker]:
    """Yield a process for a query of a file; at the end, the pool gets one for the next query of the latest state."""
    worker = QueryWorker(file) if pool is None else pool.take(file)
    try:
        yield worker
    finally:
        if pool is None:
            worker.kill()
        else:
            pool.finish(worker)
            if is_latest:
                pool.prepare(file)


def _run(worker: QueryWorker, request: Mapping[str, Any], seconds: float, max_rows: int, max_bytes: int) -> QueryResult:
    with worker.limited(seconds) as timed_out:
        try:
            return collect_rows(worker.run({**request, "seconds": seconds}), max_rows, max_bytes, CypherError)
        except CypherError as error:
            if timed_out.is_set():
                raise TimeLimitError(
                    f"the query took more than {seconds:g} s; narrow it, or raise the limit"
                ) from error
            raise
