"""Measure archived history: writing it, and reading availability from it in DuckDB and in Spark.

To measure more events than ``./run bench`` does, run ``python -m bench.archived EVENTS``.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from bench.generated import generate
from bench.measure import Row, median_seconds
from trninv.database.engine import read_transaction
from trninv.database.tables import TABLES
from trninv.history.archive.archive_store import open_for_writing
from trninv.history.archive.archive_writer import archive_history
from trninv.history.archive.availability import archive_sums, report_row, transition_query
from trninv.history.archive.engines import query_duckdb

_NO_SPARK = "no Spark: set TRNINV_TEST_SPARK to a Python with tests/history/requirements-spark.txt"


def archive_rows(name: str, engine: Engine, directory: Path) -> Iterator[Row]:
    """Measure `trninv archive` of a database's history, against fetching its rows."""

    def write() -> None:
        with open_for_writing(directory) as store:
            archive_history(engine, store)

    value, fetch_seconds = median_seconds(write, 1), median_seconds(lambda: _fetch_events(engine), 1)
    yield Row(f"first archive, {name}", value, fetch_seconds, "fetching the events")
    yield Row(f"archive without new events, {name}", median_seconds(write, 1), value, "the first archive")


def availability_rows(directory: Path, events: int) -> Iterator[Row]:
    """Measure availability of a generated archive in DuckDB and, if there is a Spark, in Spark."""
    parts, level = generate(directory, events), "rack"
    start = time.perf_counter()
    duckdb_rows = list(map(report_row, archive_sums(query_duckdb(directory, transition_query(directory, level)))))
    value, note = time.perf_counter() - start, f"{parts:,} parts, {len(duckdb_rows):,} racks"
    name = f"availability by rack of {events:,} archived events, DuckDB"
    if not (python := os.environ.get("TRNINV_TEST_SPARK")):
        yield Row(name, value, None, "Spark, including start-up", note=_NO_SPARK)
        return
    start = time.perf_counter()
    spark_rows = _query_spark(python, directory, level)
    yield Row(name, value, time.perf_counter() - start, "Spark, including start-up", note=note)
    if spark_rows != duckdb_rows:
        raise AssertionError("Spark and DuckDB give different answers")


def _query_spark(python: str, directory: Path, level: str) -> list[dict[str, Any]]:
    command = [python, "-m", "trninv.history.archive.availability", str(directory), "--by", level]
    command += ["--engine", "spark", "--master", "local[*]"]
    memory = {"PYSPARK_SUBMIT_ARGS": "--driver-memory 4g pyspark-shell"}
    completed = subprocess.run(command, env=os.environ | memory, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in completed.stdout.splitlines()]


def _fetch_events(engine: Engine) -> None:
    with read_transaction(engine) as connection:
        query = select(TABLES["state_event"])
        for _ in connection.execute(query, execution_options={"yield_per": 10_000}):
            pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.archived", description=__doc__)
    parser.add_argument("events", type=int)
    with tempfile.TemporaryDirectory(prefix="b") as directory_name:
        for row in availability_rows(Path(directory_name) / "archive", parser.parse_args().events):
            print(row)
