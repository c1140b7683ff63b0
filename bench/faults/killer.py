"""Kill commands, and compare what they leave with what the same commands leave when not killed."""

import random
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from former import make_former

from bench.faults.operations import FORMER, TEMPLATES, Operation, write
from bench.faults.places import DatabaseHost
from bench.faults.process import CommandResult, run
from bench.faults.remains import Content, check, read_database, read_files

NOTHING, PART, ALL, REPORTED = "nothing done", "some steps done", "all done", "acknowledged"
LOST, HALF, STUCK, HUNG = FAULTS = ("lost", "half done", "not completed by a second run", "hung")
"""The results of a kill: how much of the command was done, whether it had reported success, and faults."""
_LATEST_KILL = 1.15
"""Latest time of a kill, as a multiple of the command's usual time: some kills come after its end."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A command and the database and directory that it works on."""

    url: str
    directory: Path
    words: list[str]


@dataclass(frozen=True, slots=True)
class ExpectedResult:
    """The result of a command that is not killed: the database in each stage, files, lines of output, seconds."""

    stages: dict[str, Content]
    files: dict[str, list[str]]
    lines: int
    seconds: float


class Killer:
    """Kills commands on copies of template databases of both kinds."""

    def __init__(self, directory: Path, kinds: dict[str, DatabaseHost], rng: random.Random) -> None:
        self.kinds, self._directory, self._rng = kinds, directory, rng
        self._files = directory / "files"
        self._files.mkdir()
        write(self._files)
        self._templates = {(kind, name): self._template(kind, name) for kind in kinds for name in TEMPLATES}
        self._templates |= {(kind, FORMER): self._former_template(kind) for kind in kinds}

    def _template(self, kind: str, name: str) -> str:
        url = self.kinds[kind].copy("")
        for words in TEMPLATES[name]:
            _require_success(run(["--database", url, *(word.format(files=self._files) for word in words)]))
        self.kinds[kind].settle(url)
        return url

    def _former_template(self, kind: str) -> str:
        url = self.kinds[kind].copy("")
        make_former(url)
        self.kinds[kind].settle(url)
        return url

    def kill(self, operation: Operation, kind: str, times: int) -> Iterator[str]:
        """Kill an operation a number of times and yield the results, as named in the table."""
        expected = self._expected_result(operation, kind)
        for _ in range(times):
            kill_time = self._rng.uniform(0, _LATEST_KILL * expected.seconds)
            with self._trial(operation, kind) as trial:
                try:
                    outcomes = list(self._judge_kill(trial, kind, expected, kill_time))
                except TimeoutError as error:
                    outcomes = [HUNG, str(error)]
            yield from outcomes
            if set(outcomes) & set(FAULTS):
                print(f"{operation.name} on {kind}, killed after {kill_time:.4f} s: {outcomes}", file=sys.stderr)

    def _judge_kill(self, trial: Trial, kind: str, expected: ExpectedResult, kill_time: float) -> Iterator[str]:
        result = run(trial.words, kill_time)
        self.kinds[kind].settle(trial.url)
        stage = _stage(trial.url, expected)
        files = read_files(trial.directory)
        is_acknowledged = len(result.output) == expected.lines
        if result.status or stage is None or any(expected.files[name] != files[name] for name in files):
            yield HALF
        elif (is_acknowledged and stage != ALL) or any(name not in files for name in _written_files(result)):
            yield LOST
        is_done = stage == ALL and files.keys() == expected.files.keys()
        yield ALL if is_done else stage if stage in (NOTHING, PART) and not files else PART
        if is_acknowledged:
            yield REPORTED
        if not is_done and not self._is_done_again(trial, kind, expected):
            yield STUCK

    def _is_done_again(self, trial: Trial, kind: str, expected: ExpectedResult) -> bool:
        result = run(trial.words)
        self.kinds[kind].settle(trial.url)
        return (
            result.status == 0 and _stage(trial.url, expected) == ALL and read_files(trial.directory) == expected.files
        )

    @contextmanager
    def _trial(self, operation: Operation, kind: str) -> Iterator[Trial]:
        """Create a database and a directory for a command, and remove them when the context ends."""
        host, directory = self.kinds[kind], self._directory / "out"
        (other_kind,) = self.kinds.keys() - {kind}
        url = host.copy(self._templates[kind, operation.template])
        parameters = {
            "database": url,
            "source": self._templates[other_kind, "used"],
            "directory": directory,
            "files": self._files,
        }
        try:
            yield Trial(url, directory, ["--database", url, *(word.format(**parameters) for word in operation.words)])
        finally:
            host.settle(url)
            host.drop(url)
            rmtree(directory, ignore_errors=True)

    def _expected_result(self, operation: Operation, kind: str) -> ExpectedResult:
        stages, seconds = dict[str, Content](), []
        with self._trial(operation, kind) as trial:
            stages[NOTHING] = read_database(trial.url)
            if operation.between:
                _require_success(run(["--database", trial.url, *operation.between]))
                stages[PART] = read_database(trial.url)
        for _ in range(3):
            with self._trial(operation, kind) as trial:
                result = _require_success(run(trial.words))
                seconds.append(result.seconds)
                self.kinds[kind].settle(trial.url)
                if ALL not in stages:
                    stages[ALL], written = read_database(trial.url), read_files(trial.directory)
                    if operation.newest:
                        check(trial.url)
        return ExpectedResult(stages, written, len(result.output), statistics.median(seconds))


def _require_success(result: CommandResult) -> CommandResult:
    if result.status != 0:
        raise RuntimeError(f"a command that was not killed exits with {result.status}: {result.output}")
    return result


def _stage(url: str, expected: ExpectedResult) -> str | None:
    """Return the last stage that a database's content matches, or None."""
    content = read_database(url)
    return next((name for name in reversed(expected.stages) if expected.stages[name] == content), None)


def _written_files(result: CommandResult) -> Iterator[str]:
    """Yield the files that a command reported as written."""
    for line in result.output:
        if line.startswith("/"):
            yield Path(line.split(": ")[0]).name
