"""Keep projections as immutable files, and make the one of a state from the newest file or from the tables.

A file is named after the database, its structure, the version of ladybug and its `ChangingState`, so a file of the
right name is a projection of the right state. Beside each is its state as JSON. A file is made in a directory of its
own, synced, and renamed; nothing writes to it afterwards. One process at a time makes a database's files.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine

from trninv.atomic_file import fsync
from trninv.database.as_of import as_of_event, as_of_time, omitted_clusters
from trninv.database.engine import redacted_url
from trninv.database.url import format_url
from trninv.deadline import raise_if_expired
from trninv.errors import DatabaseError, UnreachableError, UsageError, how_to_install
from trninv.graph_projection import graph_file
from trninv.graph_projection.changing_state import ChangingState
from trninv.graph_projection.refresh import Statements, refresh_statements
from trninv.graph_projection.structure import structure_digest

try:
    import fcntl
except ImportError:  # Windows, for which `cypher_query` refuses queries
    fcntl = None  # type: ignore[assignment]

_SUFFIX: Final = ".ladybug"
_KEPT: Final = 2
"""Number of files of a database that are kept: those that were used last."""
_POLL_SECONDS: Final = 0.02


def package_directory() -> Path:
    """Return the directory from which the package ladybug is imported.

    Raises
    ------
    UsageError
        A package of the extra is not installed.

    """
    specification = find_spec("ladybug")
    if specification is None or specification.origin is None or find_spec("pyarrow") is None:
        raise UsageError(f"Cypher needs the packages ladybug and pyarrow: {how_to_install('graph')}")
    return Path(specification.origin).parent.parent


class ProjectionName(NamedTuple):
    """The parts of the name of a projection's file."""

    directory: Path
    database: str
    structure: str
    state: str

    @classmethod
    def from_state(cls, directory: Path, connection: Connection, state: ChangingState) -> "ProjectionName":
        """Return the name of the projection of the state that a connection sees."""
        database = sha256(redacted_url(connection.engine.url).encode()).hexdigest()[:12]
        return cls(directory, database, structure_digest(connection), state.digest())

    @property
    def prefix(self) -> str:
        """The start of the names of all files that a refresh can start from."""
        return f"{self.database}-{self.structure}-{version('ladybug')}-"

    @property
    def file(self) -> Path:
        """The file."""
        return self.directory / f"{self.prefix}{self.state}{_SUFFIX}"

    def newest(self) -> Path | None:
        """Return the file that was used last and that a refresh can start from."""
        return next(iter(_by_use(self.directory, self.prefix)), None)


def make_directory(directory: Path) -> None:
    """Create the directory of the files, which only this user can read.

    Raises
    ------
    UnreachableError
        It can't be created.

    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UnreachableError(
            f"can't create {directory} for the graph: {error.strerror}; set TRNINV_GRAPH_CACHE to another directory"
        ) from None


@contextmanager
def lock(name: ProjectionName) -> Iterator[None]:
    """Wait until no other process makes files of this database; the lock ends with the process.

    Raises
    ------
    TimeLimitError
        The request's time limit passed.

    """
    with (name.directory / f"{name.database}.lock").open("w") as file:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            raise_if_expired()
            time.sleep(_POLL_SECONDS)
        yield


@contextmanager
def publish(name: ProjectionName, state: ChangingState) -> Iterator[Path]:
    """Yield a path to write the file to, and publish it at the end; on failure, nothing is left.

    The caller holds the `lock`. What others left that were killed is removed.
    """
    building = f".{name.database}-"
    for remains in name.directory.glob(f"{building}*"):
        shutil.rmtree(remains, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=building, dir=name.directory, ignore_cleanup_errors=True) as place:
        temporary = Path(place) / "graph"
        yield temporary
        temporary_state = Path(place) / "state"
        temporary_state.write_bytes(state.dump())
        for file in temporary_state, temporary:
            file.chmod(0o400)
            fsync(file)
        temporary_state.replace(_state_file(name.file))
        temporary.replace(name.file)
        fsync(name.directory)
    _prune(name)


def _state_file(file: Path) -> Path:
    return file.with_suffix(".json")


def _by_use(directory: Path, prefix: str) -> list[Path]:
    """Return the files with a prefix, that which was used last first."""
    times = {}
    for file in directory.glob(f"{prefix}*{_SUFFIX}"):
        with suppress(FileNotFoundError):  # removed meanwhile
            times[file] = file.stat().st_mtime_ns
    return sorted(times, key=lambda file: times[file], reverse=True)


def _prune(name: ProjectionName) -> None:
    """Remove the files that were not used for longest; queries that have them open go on."""
    for file in _by_use(name.directory, f"{name.database}-")[_KEPT:]:
        file.unlink(missing_ok=True)
        _state_file(file).unlink(missing_ok=True)


def use(file: Path) -> bool:
    """Mark a file as used now; return whether it exists."""
    try:
        os.utime(file)
    except FileNotFoundError:
        return False
    return True


def refresh(connection: Connection, name: ProjectionName, state: ChangingState) -> bool:
    """Make the file from the newest one, or return False if there is none or building would be faster."""
    base = name.newest()
    if base is None:
        return False
    statements = refresh_statements(connection, ChangingState.load(_state_file(base)), state)
    if statements is None:
        return False
    with publish(name, state) as temporary:
        shutil.copyfile(base, temporary)
        _apply(temporary, statements)
    return True


def _apply(file: Path, statements: Statements) -> None:
    """Run statements in a process of its own, so that a defect of ladybug can't end this one."""
    request = {
        "path": str(package_directory()),
        "file": str(file),
        "size": graph_file.max_size(file.stat().st_size),
        "statements": list(statements.items()),
    }
    completed = subprocess.run(  # noqa: S603 # this interpreter, a file of trninv
        [sys.executable, "-I", "-S", graph_file.__file__],
        input=json.dumps(request).encode(),
        capture_output=True,
        check=False,
    )
    if completed.returncode:
        raise failure(completed.stderr)


def failure(output: bytes) -> DatabaseError:
    """Return the error of a process that could not make a file, from the last line of its output."""
    lines = output.decode(errors="replace").strip().splitlines()
    return DatabaseError(f"the graph could not be made: {lines[-1][:300] if lines else 'its process was killed'}")


def start_builder(engine: Engine, directory: Path) -> "subprocess.Popen[bytes]":
    """Start a process that builds a projection of the state that an engine reads, and publishes it.

    It ends by itself, also if this process ends before.
    """
    time_read = as_of_time(engine)
    request = {
        "url": format_url(engine.url, hide_password=False),
        "directory": str(directory),
        "event": as_of_event(engine),
        "time": time_read and time_read.isoformat(),
        "omitted": [asdict(cluster) for cluster in omitted_clusters(engine)],
    }
    process = subprocess.Popen(  # this interpreter, a module of trninv
        [sys.executable, "-P", "-m", "trninv.graph_projection.build"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    with process.stdin as stdin:
        stdin.write(json.dumps(request).encode())
    return process


def finish_builder(process: "subprocess.Popen[bytes]") -> None:
    """Wait until a building process ends.

    Raises
    ------
    DatabaseError
        It could not make the file.

    """
    with process:
        output = process.stderr.read() if process.stderr else b""
    if process.returncode:
        raise failure(output)
