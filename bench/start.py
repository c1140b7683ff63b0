"""Measure how long the command line and the service take to start, in processor seconds."""

import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from os import environ
from pathlib import Path

from bench.measure import Row, chip_pairs, seed_cluster
from bench.server import processor_time, run_trninv

_TIMES = 5
BASELINE = ["-c", "import sqlalchemy"]
"""Arguments of Python for the baseline of commands."""
_COMPLETION = {"_TRNINV_COMPLETE": "bash_complete", "COMP_WORDS": "trninv ", "COMP_CWORD": "1"}


def start_rows(directory: Path, domains: int) -> Iterator[Row]:
    url = f"sqlite:///{directory}/fleet.db"
    seed_cluster(url, domains)
    addresses = next(chip_pairs(domains, 1))
    cases: list[tuple[str, list[str], Mapping[str, str], float]] = [
        ("trninv --help", ["-m", "trninv", "--help"], {}, 0.5),
        ("command name completion", ["-m", "trninv"], _COMPLETION, 0.5),
        ("trninv path --help", ["-m", "trninv", "path", "--help"], {}, 1.2),
        ("trninv path, cold", ["-m", "trninv", "--database", url, "path", *addresses], {}, 1.2),
    ]
    for name, command, environment, mark in cases:
        measurements = [
            (processor_seconds(command, environment), processor_seconds(BASELINE, {})) for _ in range(_TIMES)
        ]
        value, baseline = map(statistics.median, zip(*measurements, strict=True))
        yield Row(name, value, baseline, 'python -c "import sqlalchemy"', mark)
    seconds = statistics.median(_first_question(url, *addresses) for _ in range(_TIMES))
    yield Row("first question after start", seconds, 0.06, "the mark", 1.0)
    yield Row("trninv serve, ready", statistics.median(_measure_start(url) for _ in range(5)), 1.5, "the mark", 1.0)


def _first_question(url: str, source: str, target: str) -> float:
    """Measure a path in a new process that has opened the database, without its imports."""
    program = (
        f"import time, trninv; from trninv.routing.questions import path\nfleet = trninv.open({url!r})\n"
        f"start = time.process_time(); fleet.path({source!r}, {target!r}); print(time.process_time() - start)"
    )
    return float(run_python(["-c", program], {})[1])


def processor_seconds(command: list[str], environment: Mapping[str, str]) -> float:
    """Run Python with arguments and return its processor seconds."""
    return run_python(command, environment)[0]


def run_python(command: list[str], environment: Mapping[str, str]) -> tuple[float, str]:
    """Run Python with arguments and return its processor seconds and its output."""
    before = _children_seconds()
    completed = subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.PIPE, env=environ | environment, text=True
    )
    return _children_seconds() - before, completed.stdout


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _measure_start(url: str) -> float:
    with run_trninv(url) as server:  # until it accepts connections
        return processor_time([server.process])
