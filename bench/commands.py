"""Measure whole commands about a fleet in processor seconds, and questions about a whole fleet over HTTP."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import psycopg
from sqlalchemy import text

import postgres
from bench.fleet_questions import memory_row, whole_rows
from bench.measure import NAME, Row, seed_cluster
from bench.server import processor_time
from bench.start import BASELINE, processor_seconds, run_python
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding

_TIMES = 3
_IMPORT = 'python -c "import sqlalchemy"'
_MARKS = {"verify": 8.0, "status": 0.6, f"show {NAME}": 0.6}
"""Marks in seconds; the other commands have none."""
_COMMANDS = (*_MARKS, f"bisection {NAME}", f"collectives {NAME}")
_RACK = "trn3-gen2/r0"


def command_rows(directory: Path, domains: int) -> Iterator[Row]:
    file = directory / "fleet.db"
    with postgres.server(directory) as postgres_url:
        with psycopg.connect(postgres_url.format("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE fleet")
        postmaster = int((directory / "data" / "postmaster.pid").read_text().split()[0])
        databases = {"SQLite": (f"sqlite:///{file}", None), "PostgreSQL": (postgres_url.format("fleet"), postmaster)}
        for name, (url, process) in databases.items():
            seed_cluster(url, domains)
            yield from _measure_commands(name, url, process)
            yield from whole_rows(name, url)
        yield memory_row(databases["SQLite"][0], domains)
        for name, (url, process) in databases.items():
            yield _measure_damaged(name, url, process, domains)
    yield _measure_rack(directory)


def _measure_commands(name: str, url: str, postmaster: int | None) -> Iterator[Row]:
    for command in _COMMANDS:
        words = ["-m", "trninv", "--database", url, *command.split()]
        measurements = [(_run_command(words, postmaster)[0], processor_seconds(BASELINE, {})) for _ in range(_TIMES)]
        seconds, baseline = map(median, zip(*measurements, strict=True))
        yield Row(f"trninv {command.replace(NAME, 'CLUSTER')}, {name}", seconds, baseline, _IMPORT)
        if command in _MARKS:
            yield Row(f"trninv {command.replace(NAME, 'CLUSTER')}, {name}", seconds, _MARKS[command], "the mark", 1.0)


def _measure_damaged(name: str, url: str, postmaster: int | None, domains: int) -> Row:
    """Measure the bisection with 1 % of the chips down; the damage stays, so this is the last use of the database."""
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        chips = connection.scalars(text("SELECT id FROM chip ORDER BY id")).all()
        failed_chips = random.Random(3).sample(chips, len(chips) // 100)
        connection.execute(text("UPDATE node SET state = 'down' WHERE id = :id"), [{"id": key} for key in failed_chips])
    words = ["-m", "trninv", "--database", url, "bisection", NAME]
    seconds, output = _run_command(words, postmaster)
    note = "exact" if "(exact)" in output else "NOT exact"
    row_name = f"trninv bisection CLUSTER, 1 % of {64 * domains:,} chips down, {name}"
    return Row(row_name, seconds, 3.0, "the mark", 1.0, note=note)


def _measure_rack(directory: Path) -> Row:
    url = f"sqlite:///{directory}/rack.db"
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn3-gen2"))
    seconds = processor_seconds(["-m", "trninv", "--database", url, "collectives", _RACK], {})
    return Row(f"trninv collectives {_RACK}", seconds, 1.0, "the mark", 1.0)


def _run_command(words: list[str], postmaster: int | None) -> tuple[float, str]:
    """Run a command and return its processor seconds, including its PostgreSQL processes, and its output."""
    before = _ended_seconds(postmaster)
    seconds, output = run_python(words, {})
    if postmaster is not None:
        time.sleep(0.2)  # the postmaster reaps ended children with a delay
    return seconds + _ended_seconds(postmaster) - before, output


def _ended_seconds(process: int | None) -> float:
    """Return the processor seconds that the ended children of a process have used."""
    return 0.0 if process is None else processor_time([process], ended=True)
