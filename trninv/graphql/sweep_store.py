"""Run sweeps in processes of their own and keep their progress in a directory that workers share.

A sweep's directory has its request and its state, which is replaced atomically and ends with the answer. The process
holds a file lock while it lives: a sweep that is RUNNING without a lock has crashed. Sweeps only read the database, so
a standby is enough.
"""

import fcntl
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from trninv.enumeration import DescribedEnum
from trninv.errors import BusyError, InvalidArgumentError
from trninv.routing.answer import CitedFact
from trninv.routing.link_selection import LinkSelection
from trninv.routing.questions import find
from trninv.routing.questions.sweep import MAX_CLASSES, FailureClass, SweepAnswer
from trninv.solvers.graph_measures import SweepMeasure

MAX_RUNNING: Final = 2
"""Concurrent sweeps of all workers together."""
MAX_KEPT: Final = 20
"""Sweeps that are kept; the oldest ended ones are removed first."""
_ID_PATTERN = re.compile(r"[0-9a-f]{32}")
_REQUEST_FILE, _STATE_FILE, _LOCK_FILE, _CANCEL_FILE = "asked.json", "state.json", "lock", "cancel"


class SweepState(DescribedEnum):
    """State of a sweep."""

    RUNNING = "RUNNING", "It is running."
    DONE = "DONE", "It is done and has a result."
    FAILED = "FAILED", "It has failed; error says why."
    CANCELLED = "CANCELLED", "It was cancelled."


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """Progress of a sweep, and its answer once it is done."""

    id: str
    state: SweepState = SweepState.RUNNING
    done: int = 0
    total: int | None = None
    error: str | None = None
    answer: SweepAnswer | None = None


class SweepStore:
    """The sweeps in a directory, which services and their workers may share."""

    def __init__(self, directory: Path, url: str) -> None:
        self._directory, self._url = directory, url
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self, **arguments: Any) -> SweepRecord:
        """Start a sweep.

        Raises
        ------
        BusyError
            MAX_RUNNING sweeps run already.
        InvalidArgumentError
            More classes are requested than a service solves.

        """
        values = find("sweep").coerce_values(**arguments)
        if values["limit"] > MAX_CLASSES:
            raise InvalidArgumentError(
                f"limit {values['limit']:,} is too high; a service solves at most {MAX_CLASSES:,} classes"
            )
        parameters = {parameter.name: values[parameter.name] for parameter in find("sweep").parameters}
        with _locked(self._directory / _LOCK_FILE):
            self._remove_oldest()
            return self._start_process(parameters)

    def find(self, key: str) -> SweepRecord | None:
        """Return a sweep by id, or None if it does not exist or was removed."""
        sweep_directory = self._directory / key
        if not _ID_PATTERN.fullmatch(key) or not sweep_directory.exists():
            return None
        try:
            was_running, record = _is_locked(sweep_directory / _LOCK_FILE), _read_record(sweep_directory)
        except FileNotFoundError:  # removed meanwhile
            return None
        if record.state is SweepState.RUNNING and not was_running:
            return SweepRecord(
                key, SweepState.FAILED, record.done, record.total, "its process has ended; start it again"
            )
        return record

    def cancel(self, key: str) -> SweepRecord | None:
        """Ask a sweep to stop after its current failure class; return it, or None if it does not exist."""
        record = self.find(key)
        if record and record.state is SweepState.RUNNING:
            (self._directory / key / _CANCEL_FILE).touch()
        return record

    def version(self) -> int:
        """Return a number that changes whenever a sweep progresses."""
        return sum(map(_modified_ns, self._directory.glob(f"*/{_STATE_FILE}")))

    def close(self) -> None:
        """Terminate the sweeps that this process started."""
        for child in self._children:
            child.terminate()
            child.wait()

    def _list_directories(self) -> list[Path]:
        """Return the sweeps' directories, oldest first."""
        return sorted(
            (entry for entry in self._directory.iterdir() if entry.is_dir()), key=lambda entry: entry.stat().st_ctime
        )

    def _remove_oldest(self) -> None:
        self._children = [child for child in self._children if child.poll() is None]
        is_running = {
            sweep_directory: _is_locked(sweep_directory / _LOCK_FILE) for sweep_directory in self._list_directories()
        }
        if sum(is_running.values()) >= MAX_RUNNING:
            raise BusyError(f"{MAX_RUNNING} sweeps are running; try again later, or cancel one")
        ended_directories = [sweep_directory for sweep_directory, runs in is_running.items() if not runs]
        for sweep_directory in ended_directories[: max(len(is_running) - MAX_KEPT + 1, 0)]:
            shutil.rmtree(sweep_directory)

    def _start_process(self, parameters: dict[str, Any]) -> SweepRecord:
        record = SweepRecord(secrets.token_hex(16))
        sweep_directory = self._directory / record.id
        sweep_directory.mkdir(mode=0o700)
        write_progress(sweep_directory, record)
        (sweep_directory / _REQUEST_FILE).write_text(json.dumps(parameters))
        command = [sys.executable, "-m", "trninv.graphql.sweep_worker", str(sweep_directory)]
        with (sweep_directory / _LOCK_FILE).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the child inherits the lock and keeps it
            environment = os.environ | {"TRNINV_DATABASE_URL": self._url}
            child = subprocess.Popen(  # noqa: S603 # this interpreter, our own module
                command, pass_fds=[lock.fileno()], env=environment, stdin=subprocess.DEVNULL
            )
        self._children.append(child)
        return record


def read_request(sweep_directory: Path) -> dict[str, Any]:
    """Read a sweep's arguments."""
    request: dict[str, Any] = json.loads((sweep_directory / _REQUEST_FILE).read_text())
    return request


def is_cancelled(sweep_directory: Path) -> bool:
    """Return whether a sweep was cancelled."""
    return (sweep_directory / _CANCEL_FILE).exists()


def write_progress(sweep_directory: Path, record: SweepRecord) -> None:
    """Write a sweep's state atomically."""
    state = {key: value for key, value in asdict(record).items() if key != "id"}
    (sweep_directory / "new").write_text(json.dumps(state))
    (sweep_directory / "new").replace(sweep_directory / _STATE_FILE)


def _read_record(sweep_directory: Path) -> SweepRecord:
    state = json.loads((sweep_directory / _STATE_FILE).read_text())
    answer = state.pop("answer")
    return SweepRecord(
        sweep_directory.name, SweepState[state.pop("state")], answer=answer and _parse_answer(answer), **state
    )


def _parse_answer(answer_json: dict[str, Any]) -> SweepAnswer:
    classes = tuple(FailureClass(**item | {"failure": tuple(item["failure"])}) for item in answer_json["classes"])
    facts = tuple(CitedFact(**item) for item in answer_json["facts"])
    words = {"measure": SweepMeasure[answer_json["measure"]], "via": LinkSelection[answer_json["via"]]}
    return SweepAnswer(**answer_json | words | {"classes": classes, "facts": facts})


def _modified_ns(file: Path) -> int:
    """Return a file's modification time in ns, or 0 if it was removed."""
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _is_locked(lock: Path) -> bool:
    """Return whether another process holds a lock."""
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
