"""Measure importing what a fleet reports and comparing it: EC2's pages and one neuron-ls output per server, as lines."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import postgres
from bench.measure import RAINIER, Row
from fleet_outputs import machines, stand, streams
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding

_MARK_SECONDS, _MARK_MEGABYTES = 60.0, 300.0
"""At Project Rainier."""


def live_rows(directory: Path, domains: int) -> Iterator[Row]:
    files = streams(directory, domains)
    start = time.perf_counter()
    for file in files.values():
        with file.open() as lines:
            for line in lines:
                json.loads(line)
    parsing = time.perf_counter() - start
    with (
        tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as place,
        postgres.server(Path(place)) as pg,
    ):
        for name, url in (("SQLite", f"sqlite:///{directory}/ours.db"), ("PostgreSQL", pg.format("postgres"))):
            with temporary_engine(url) as engine:
                migration.migrate(engine)
            took, peaks = _imported(url, files)
            what = f"import of {4 * domains:,} servers and {64 * domains:,} chips, {name}"
            yield Row(what, took, parsing, "json.loads of each line")
            if domains >= RAINIER:
                yield Row(what, took, _MARK_SECONDS, "the mark", 1.0)
            yield Row(f"repeated import, {name}", _imported(url, files)[0], took, "the first import")
            yield Row(f"memory of the import process, {name}", max(peaks), _MARK_MEGABYTES, "the mark", 1.0, "MB")
            _stood(url, domains)
            compared, (peak,) = _ran(url, ["drift", "--fail-on", "info"])
            yield Row(f"drift without findings, {name}", compared, took, "the first import", 1.0)
            yield Row(f"memory of the drift process, {name}", peak, _MARK_MEGABYTES, "the mark", 1.0, "MB")


def _stood(url: str, domains: int) -> None:
    """Seed the design of these machines and bind each machine to its slot."""
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64").resized(domains))
        stand(connection, machines(domains, 0, 0))


def _imported(url: str, files: dict[str, Path]) -> tuple[float, list[float]]:
    """Import the files and return the seconds and each process's peak megabytes."""
    return _ran(url, *(["import", kind, str(file)] for kind, file in files.items()))


def _ran(url: str, *commands: list[str]) -> tuple[float, list[float]]:
    """Run commands and return the seconds and each process's peak megabytes.

    The peak of a process counts from its fork, so it is never below the size of this process.
    """
    start, peaks = time.perf_counter(), []
    for words in commands:
        command = [sys.executable, "-m", "trninv", "--database", url, *words]
        process = os.posix_spawn(
            sys.executable, command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        )
        _, status, used = os.wait4(process, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        peaks.append(used.ru_maxrss / 1024)
    return time.perf_counter() - start, peaks
