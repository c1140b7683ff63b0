"""Run one sweep as a process and report its progress."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import trninv
from trninv.errors import TrninvError, WorkerError
from trninv.graphql.sweep_store import SweepRecord, SweepState, is_cancelled, read_request, write_progress
from trninv.routing.answer import Answer
from trninv.routing.questions import find
from trninv.settings import Settings

_NICE = 10
"""Low priority, so that requests come first."""


class _SweepCancelledError(Exception):
    """The sweep was cancelled."""


class _ProgressWriter:
    """Writes a sweep's progress; raises if it was cancelled or its service has ended."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.record, self._parent = directory, SweepRecord(directory.name), os.getppid()

    def __call__(self, _: str, done: int, total: int) -> None:
        self.write(done=done, total=total)
        if is_cancelled(self.directory):
            raise _SweepCancelledError
        if os.getppid() != self._parent:
            raise WorkerError("the service that started it has ended; start it again")

    def write(self, **changed: object) -> None:
        self.record = replace(self.record, **changed)  # type: ignore[arg-type] # fields of a SweepRecord
        write_progress(self.directory, self.record)


def main(directory: Path) -> None:
    """Run a sweep and write its result or error."""
    progress = _ProgressWriter(directory)
    os.nice(_NICE)
    try:
        answer = _run_sweep(directory, progress)
    except _SweepCancelledError:
        progress.write(state=SweepState.CANCELLED)
    except TrninvError as error:
        progress.write(state=SweepState.FAILED, error=str(error))
    else:
        progress.write(state=SweepState.DONE, answer=answer)


def _run_sweep(directory: Path, progress: _ProgressWriter) -> Answer:
    with (
        trninv.open(Settings.load().database_url) as fleet,
        fleet.snapshot() as snapshot,
        ThreadPoolExecutor(1) as executor,
    ):
        answer: Answer = snapshot.ask(find("sweep"), **read_request(directory), executor=executor, progress=progress)
        return answer


if __name__ == "__main__":
    main(Path(sys.argv[1]))
