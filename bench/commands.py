"""Measure whole commands about a fleet in processor seconds, and questions about a whole fleet over HTTP."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import psycopg
from sqlalchemy import text

import postgres
from bench.measure import NAME, Row, seed_cluster
from bench.server import processor_time
from bench.start import BASELINE, run, used
from bench.fleet_questions import memory_row, whole_rows
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
    file = directory / "ours.db"
    with postgres.server(directory) as every:
        with psycopg.connect(every.format("postgres"), autocommit=True) as made:
            made.execute("CREATE DATABASE ours")
        postmaster = int((directory / "data" / "postmaster.pid").read_text().split()[0])
        databases = {"SQLite": (f"sqlite:///{file}", None), "PostgreSQL": (every.format("ours"), postmaster)}
        for name, (url, process) in databases.items():
            seed_cluster(url, domains)
            yield from _whole_commands(name, url, process)
            yield from whole_rows(name, url)
        yield memory_row(databases["SQLite"][0], domains)
        for name, (url, process) in databases.items():
            yield _damaged(name, url, process, domains)
    yield _rack(directory)


def _whole_commands(name: str, url: str, postmaster: int | None) -> Iterator[Row]:
    for command in _COMMANDS:
        words = ["-m", "trninv", "--database", url, *command.split()]
        taken = [(_run(words, postmaster)[0], used(BASELINE, {})) for _ in range(_TIMES)]
        took, baseline = map(median, zip(*taken, strict=True))
        yield Row(f"trninv {command.replace(NAME, 'CLUSTER')}, {name}", took, baseline, _IMPORT)
        if command in _MARKS:
            yield Row(f"trninv {command.replace(NAME, 'CLUSTER')}, {name}", took, _MARKS[command], "the mark", 1.0)


def _damaged(name: str, url: str, postmaster: int | None, domains: int) -> Row:
    """Measure the bisection after one chip in a hundred failed; this must be the last use of the database."""
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        chips = connection.scalars(text("SELECT id FROM chip ORDER BY id")).all()
        lost = random.Random(3).sample(chips, len(chips) // 100)
        connection.execute(text("UPDATE node SET state = 'down' WHERE id = :id"), [{"id": key} for key in lost])
    words = ["-m", "trninv", "--database", url, "bisection", NAME]
    took, told = _run(words, postmaster)
    note = "exact" if "(exact)" in told else "NOT exact"
    what = f"trninv bisection CLUSTER, 1 % of {64 * domains:,} chips down, {name}"
    return Row(what, took, 3.0, "the mark", 1.0, note=note)


def _rack(directory: Path) -> Row:
    url = f"sqlite:///{directory}/rack.db"
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn3-gen2"))
    took = used(["-m", "trninv", "--database", url, "collectives", _RACK], {})
    return Row(f"trninv collectives {_RACK}", took, 1.0, "the mark", 1.0)


def _run(words: list[str], postmaster: int | None) -> tuple[float, str]:
    """Run a command and return its processor seconds, including its PostgreSQL processes, and its output."""
    before = _of_ended(postmaster)
    took, told = run(words, {})
    if postmaster is not None:
        time.sleep(0.2)  # the postmaster notices only after a while that its children have ended
    return took + _of_ended(postmaster) - before, told


def _of_ended(process: int | None) -> float:
    """Return the processor seconds that the ended children of a process have used."""
    return 0.0 if process is None else processor_time([process], ended=True)
