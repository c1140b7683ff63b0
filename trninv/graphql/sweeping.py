"""The process of a job: ``python -m trninv.graphql.sweeping DIRECTORY``; it ends with the service that began it."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import trninv
from trninv.errors import TrninvError, WorkerError
from trninv.graphql.jobs import Job, JobState, asked, is_cancelled, keep
from trninv.routing.answer import Answer
from trninv.routing.questions import find
from trninv.settings import Settings

_NICE = 10
"""So that requests come first."""


class _CancelledError(Exception):
    """Nobody wants the result any more."""


class _Progress:
    """Keeps how far a job is."""

    def __init__(self, place: Path) -> None:
        self.place, self.job, self._parent = place, Job(place.name), os.getppid()

    def __call__(self, _: str, done: int, total: int) -> None:
        self.keep(done=done, total=total)
        if is_cancelled(self.place):
            raise _CancelledError
        if os.getppid() != self._parent:
            raise WorkerError("the service that began it has ended: start it again")

    def keep(self, **changed: object) -> None:
        self.job = replace(self.job, **changed)  # type: ignore[arg-type] # fields of a job
        keep(self.place, self.job)


def main(place: Path) -> None:
    """Solve a job, and keep what became of it."""
    progress = _Progress(place)
    os.nice(_NICE)
    try:
        answer = _solved(place, progress)
    except _CancelledError:
        progress.keep(state=JobState.CANCELLED)
    except TrninvError as error:
        progress.keep(state=JobState.FAILED, error=str(error))
    else:
        progress.keep(state=JobState.DONE, answer=answer)


def _solved(place: Path, progress: _Progress) -> Answer:
    with (
        trninv.open(Settings.load().database_url) as fleet,
        fleet.in_one_state() as one,
        ThreadPoolExecutor(1) as executor,
    ):
        answer: Answer = one.ask(find("sweep"), **asked(place), executor=executor, progress=progress)
        return answer


if __name__ == "__main__":
    main(Path(sys.argv[1]))
