"""Sweeps that outlive a request: each in a process of its own, and a directory of jobs that every worker reads.

A job has what was asked, how far it is (replaced as a whole), and in the end the answer. Its process holds its lock as
long as it lives, which tells one that died from one that runs. The database is only read, so that of a standby will do.
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

from trninv.choice import Choice
from trninv.errors import BusyError, LimitError
from trninv.routing.answer import CitedFact
from trninv.routing.questions import find
from trninv.routing.questions.sweep import MAX_CLASSES, SweepAnswer, SweepClass
from trninv.routing.via import Via
from trninv.solvers.damage import Measure

MOST_RUNNING: Final = 2
"""Jobs that run at a time, of all workers together."""
MOST_KEPT: Final = 20
"""Jobs that are kept; the oldest that have ended make room."""
_ID = re.compile(r"[0-9a-f]{32}")
_ASKED, _STATE, _LOCK, _CANCEL = "asked.json", "state.json", "lock", "cancel"


class JobState(Choice):
    """What has become of a job."""

    RUNNING = "RUNNING", "It is at work."
    DONE = "DONE", "It has its result."
    FAILED = "FAILED", "It ended without one; error says why."
    CANCELLED = "CANCELLED", "It was cancelled."


@dataclass(frozen=True, slots=True)
class Job:
    """How far a sweep is."""

    id: str
    state: JobState = JobState.RUNNING
    done: int = 0
    total: int | None = None
    error: str | None = None
    answer: SweepAnswer | None = None


class Jobs:
    """The jobs in a directory, which services and their workers may share."""

    def __init__(self, directory: Path, url: str) -> None:
        self._directory, self._url = directory, url
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self, **asked: Any) -> Job:
        """Begin a sweep.

        Raises
        ------
        BusyError
            So many run already.
        LimitError
            More is asked than one may ask of a service.

        """
        values = find("sweep").values(**asked)
        if values["most"] > MAX_CLASSES:
            raise LimitError(f"most {values['most']:,}: a service solves {MAX_CLASSES:,} classes at most")
        given = {each.name: values[each.name] for each in find("sweep").parameters}
        with _locked(self._directory / _LOCK):
            self._make_room()
            return self._begin(given)

    def find(self, key: str) -> Job | None:
        """A job by its id; None if there is none (any more)."""
        place = self._directory / key
        if not _ID.fullmatch(key) or not place.exists():
            return None
        try:
            was_held, found = _is_held(place / _LOCK), _read(place)
        except FileNotFoundError:  # it has just made room
            return None
        if found.state is JobState.RUNNING and not was_held:
            return Job(key, JobState.FAILED, found.done, found.total, "its process has ended: start it again")
        return found

    def cancel(self, key: str) -> Job | None:
        """Have a job end after the failure that it is at."""
        found = self.find(key)
        if found and found.state is JobState.RUNNING:
            (self._directory / key / _CANCEL).touch()
        return found

    def stamp(self) -> int:
        """Another number whenever a job is further than before."""
        return sum(map(_changed, self._directory.glob(f"*/{_STATE}")))

    def close(self) -> None:
        """End what this process has begun."""
        for child in self._children:
            child.terminate()
            child.wait()

    def _places(self) -> list[Path]:
        """The oldest first."""
        return sorted(
            (each for each in self._directory.iterdir() if each.is_dir()), key=lambda each: each.stat().st_ctime
        )

    def _make_room(self) -> None:
        self._children = [child for child in self._children if child.poll() is None]
        held = {place: _is_held(place / _LOCK) for place in self._places()}
        if sum(held.values()) >= MOST_RUNNING:
            raise BusyError(f"{MOST_RUNNING} sweeps run already: ask again later, or cancel one")
        ended = [place for place, is_held in held.items() if not is_held]
        for place in ended[: max(len(held) - MOST_KEPT + 1, 0)]:
            shutil.rmtree(place)

    def _begin(self, given: dict[str, Any]) -> Job:
        job = Job(secrets.token_hex(16))
        place = self._directory / job.id
        place.mkdir(mode=0o700)
        keep(place, job)
        (place / _ASKED).write_text(json.dumps(given))
        command = [sys.executable, "-m", "trninv.graphql.sweeping", str(place)]
        with (place / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the child's from now on
            environment = os.environ | {"TRNINV_DATABASE_URL": self._url}
            child = subprocess.Popen(  # noqa: S603 # this interpreter, a module of ours
                command, pass_fds=[lock.fileno()], env=environment, stdin=subprocess.DEVNULL
            )
        self._children.append(child)
        return job


def asked(place: Path) -> dict[str, Any]:
    """What a job is asked."""
    found: dict[str, Any] = json.loads((place / _ASKED).read_text())
    return found


def is_cancelled(place: Path) -> bool:
    """Whether a job is to end."""
    return (place / _CANCEL).exists()


def keep(place: Path, job: Job) -> None:
    """Say how far a job is."""
    told = {key: value for key, value in asdict(job).items() if key != "id"}
    (place / "new").write_text(json.dumps(told))
    (place / "new").replace(place / _STATE)


def _read(place: Path) -> Job:
    told = json.loads((place / _STATE).read_text())
    answer = told.pop("answer")
    return Job(place.name, JobState[told.pop("state")], answer=answer and _answer(answer), **told)


def _answer(told: dict[str, Any]) -> SweepAnswer:
    classes = tuple(SweepClass(**each | {"failed": tuple(each["failed"])}) for each in told["classes"])
    facts = tuple(CitedFact(**each) for each in told["facts"])
    words = {"measure": Measure[told["measure"]], "via": Via[told["via"]]}
    return SweepAnswer(**told | words | {"classes": classes, "facts": facts})


def _changed(file: Path) -> int:
    """When a file was changed; 0 where it is gone."""
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _is_held(lock: Path) -> bool:
    """Whether a process has a lock."""
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
