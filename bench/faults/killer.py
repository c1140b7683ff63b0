"""Kill commands, and compare what they leave with what the same commands leave when not killed."""

import random
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from bench.faults.operations import TEMPLATES, Operation, write
from bench.faults.places import Place
from bench.faults.process import Ended, run
from bench.faults.remains import Held, check, files, held

NOTHING, PART, ALL, TOLD = "nothing done", "between", "all done", "acknowledged"
LOST, HALF, STUCK, HUNG = FAULTS = ("lost", "half done", "not completed by a second run", "hung")
_BEYOND = 1.15
"""Kills come within this multiple of a command's time, so that some come after its end."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A command and the database and directory that it works on."""

    url: str
    directory: Path
    words: list[str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The result of a command that is not killed: the database in each stage, files, lines of output, seconds."""

    stages: dict[str, Held]
    files: dict[str, list[str]]
    lines: int
    seconds: float


class Killer:
    """Kills commands on copies of template databases of both kinds."""

    def __init__(self, directory: Path, kinds: dict[str, Place], chance: random.Random) -> None:
        self.kinds, self._directory, self._chance = kinds, directory, chance
        self._files = directory / "files"
        self._files.mkdir()
        write(self._files)
        self._templates = {(kind, name): self._template(kind, name) for kind in kinds for name in TEMPLATES}

    def _template(self, kind: str, name: str) -> str:
        url = self.kinds[kind].copy("")
        for words in TEMPLATES[name]:
            _done(run(["--database", url, *(word.format(files=self._files) for word in words)]))
        self.kinds[kind].settle(url)
        return url

    def kill(self, operation: Operation, kind: str, times: int) -> Iterator[str]:
        """Kill an operation a number of times and yield the results, as named in the table."""
        wanted = self._wanted(operation, kind)
        for _ in range(times):
            moment = self._chance.uniform(0, _BEYOND * wanted.seconds)
            with self._trial(operation, kind) as trial:
                try:
                    found = list(self._killed(trial, kind, wanted, moment))
                except TimeoutError as error:
                    found = [HUNG, str(error)]
            yield from found
            if set(found) & set(FAULTS):
                print(f"{operation.name} on {kind}, killed after {moment:.4f} s: {found}", file=sys.stderr)

    def _killed(self, trial: Trial, kind: str, wanted: Wanted, moment: float) -> Iterator[str]:
        ended = run(trial.words, moment)
        self.kinds[kind].settle(trial.url)
        stage = _stage(trial.url, wanted)
        kept = files(trial.directory)
        told = len(ended.said) == wanted.lines
        if ended.status or stage is None or any(wanted.files[name] != kept[name] for name in kept):
            yield HALF
        elif (told and stage != ALL) or any(name not in kept for name in _named(ended)):
            yield LOST
        done = stage == ALL and kept.keys() == wanted.files.keys()
        yield ALL if done else stage if stage in (NOTHING, PART) and not kept else PART
        if told:
            yield TOLD
        if not done and not self._is_done_again(trial, kind, wanted):
            yield STUCK

    def _is_done_again(self, trial: Trial, kind: str, wanted: Wanted) -> bool:
        ended = run(trial.words)
        self.kinds[kind].settle(trial.url)
        return ended.status == 0 and _stage(trial.url, wanted) == ALL and files(trial.directory) == wanted.files

    @contextmanager
    def _trial(self, operation: Operation, kind: str) -> Iterator[Trial]:
        """Create a database and a directory for a command, and remove them when the context ends."""
        place, directory = self.kinds[kind], self._directory / "out"
        (other,) = self.kinds.keys() - {kind}
        url = place.copy(self._templates[kind, operation.template])
        named = {
            "database": url,
            "source": self._templates[other, "used"],
            "directory": directory,
            "files": self._files,
        }
        try:
            yield Trial(url, directory, ["--database", url, *(word.format(**named) for word in operation.words)])
        finally:
            place.settle(url)
            place.drop(url)
            rmtree(directory, ignore_errors=True)

    def _wanted(self, operation: Operation, kind: str) -> Wanted:
        stages, seconds = dict[str, Held](), []
        with self._trial(operation, kind) as trial:
            stages[NOTHING] = held(trial.url)
            if operation.between:
                _done(run(["--database", trial.url, *operation.between]))
                stages[PART] = held(trial.url)
        for _ in range(3):
            with self._trial(operation, kind) as trial:
                ended = _done(run(trial.words))
                seconds.append(ended.seconds)
                self.kinds[kind].settle(trial.url)
                if ALL not in stages:
                    stages[ALL], written = held(trial.url), files(trial.directory)
                    if operation.newest:
                        check(trial.url)
        return Wanted(stages, written, len(ended.said), statistics.median(seconds))


def _done(ended: Ended) -> Ended:
    if ended.status != 0:
        raise RuntimeError(f"a command that was not killed exits with {ended.status}: {ended.said}")
    return ended


def _stage(url: str, wanted: Wanted) -> str | None:
    """Return the last stage that a database's content matches, or None."""
    now = held(url)
    return next((name for name in reversed(wanted.stages) if wanted.stages[name] == now), None)


def _named(ended: Ended) -> Iterator[str]:
    """Yield the files that a command reported as written."""
    for line in ended.said:
        if line.startswith("/"):
            yield Path(line.split(": ")[0]).name
