"""Measure how long the command line and the service take to start, in processor seconds."""

import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from os import environ
from pathlib import Path

from bench.measure import Row, chip_pairs, seed_cluster
from bench.server import ours, processor_time

_TIMES = 5
BASELINE = ["-c", "import sqlalchemy"]
_COMPLETION = {"_TRNINV_COMPLETE": "bash_complete", "COMP_WORDS": "trninv ", "COMP_CWORD": "1"}


def start_rows(directory: Path, domains: int) -> Iterator[Row]:
    url = f"sqlite:///{directory}/ours.db"
    seed_cluster(url, domains)
    ends = next(chip_pairs(domains, 1))
    cases: list[tuple[str, list[str], Mapping[str, str], float]] = [
        ("trninv --help", ["-m", "trninv", "--help"], {}, 0.5),
        ("command name completion", ["-m", "trninv"], _COMPLETION, 0.5),
        ("trninv path --help", ["-m", "trninv", "path", "--help"], {}, 1.2),
        ("trninv path, cold", ["-m", "trninv", "--database", url, "path", *ends], {}, 1.2),
    ]
    for name, command, more, mark in cases:
        taken = [(used(command, more), used(BASELINE, {})) for _ in range(_TIMES)]
        took, baseline = map(statistics.median, zip(*taken, strict=True))
        yield Row(name, took, baseline, 'python -c "import sqlalchemy"', mark)
    yield Row("trninv serve, ready", statistics.median(_ready(url) for _ in range(5)), 1.5, "the mark", 1.0)


def used(command: list[str], more: Mapping[str, str]) -> float:
    """Run Python with arguments and return its processor seconds."""
    return run(command, more)[0]


def run(command: list[str], more: Mapping[str, str]) -> tuple[float, str]:
    """Run Python with arguments and return its processor seconds and its output."""
    before = _of_children()
    done = subprocess.run([sys.executable, *command], check=True, stdout=subprocess.PIPE, env=environ | more, text=True)
    return _of_children() - before, done.stdout


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ready(url: str) -> float:
    with ours(url) as server:
        return processor_time([server.process])
