"""Measure drift, and imports of EC2's pages and of one neuron-ls output per server, with one JSON document per line."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
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
        for name, url in (("SQLite", f"sqlite:///{directory}/fleet.db"), ("PostgreSQL", pg.format("postgres"))):
            with temporary_engine(url) as engine:
                migration.migrate(engine)
            seconds, peaks = _import_files(url, files)
            row_name = f"import of {4 * domains:,} servers and {64 * domains:,} chips, {name}"
            yield Row(row_name, seconds, parsing, "json.loads of each line")
            if domains >= RAINIER:
                yield Row(row_name, seconds, _MARK_SECONDS, "the mark", 1.0)
            yield Row(f"repeated import, {name}", _import_files(url, files)[0], seconds, "the first import")
            yield Row(f"memory of the import process, {name}", max(peaks), _MARK_MEGABYTES, "the mark", 1.0, "MB")
            bind_machines(url, domains)
            drift_seconds, (peak,) = run_commands(url, ["drift", "--fail-on", "info"])
            yield Row(f"drift without findings, {name}", drift_seconds, seconds, "the first import", 1.0)
            yield Row(f"memory of the drift process, {name}", peak, _MARK_MEGABYTES, "the mark", 1.0, "MB")


def bind_machines(url: str, domains: int) -> None:
    """Seed a cluster that these machines fill, and bind each machine to its slot."""
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64").resized(domains))
        stand(connection, machines(domains, 0, 0))


def _import_files(url: str, files: dict[str, Path]) -> tuple[float, list[float]]:
    """Import the files and return the seconds and each process's peak megabytes."""
    return run_commands(url, *(["import", kind, str(file)] for kind, file in files.items()))


def run_commands(
    url: str, *commands: list[str], environment: Mapping[str, str] = os.environ
) -> tuple[float, list[float]]:
    """Run commands and return the seconds and each process's peak megabytes.

    The peak of a process counts from its fork, so it is never below the size of this process.
    """
    start, peaks = time.perf_counter(), []
    for words in commands:
        command = [sys.executable, "-m", "trninv", "--database", url, *words]
        process = os.posix_spawn(
            sys.executable, command, environment, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        )
        _, status, usage = os.wait4(process, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        peaks.append(usage.ru_maxrss / 1024)
    return time.perf_counter() - start, peaks
