"""Measure one answer about ten fleets: from their archives with DuckDB, and by the same SQL on PostgreSQL.

PostgreSQL has the events in one table, and then in one with ten partitions. They are by part, on which the statement
joins; events have no cluster.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from bench.generated import generate
from bench.measure import Row
from bench.processor import Database
from trninv.history.archive.availability import archive_sums, report_row, transition_query
from trninv.history.archive.engines import query_duckdb

_PART = "kind text, part_id int, cluster text, rack text, state text, own_state text, known_from int, since_us bigint"
_EVENT = (
    "id int, previous_id int, clock_went_back boolean, kind text, part_id int, before text, state text, "
    "own_before text, own_state text, us bigint"
)
_PARTS = "kind, part_id, cluster, rack, state, own_state, known_from, epoch_us(since)"
_EVENTS = "id, previous_id, clock_went_back, kind, part_id, before, state, own_before, own_state, epoch_us(time)"
_PARTITIONS = 10
_LARGE = 1_000_000
"""Events from which on the mark holds."""


def ten_fleets_rows(directory: Path, database: Database, events: int) -> Iterator[Row]:
    """Compare the availability of the parts of ten clusters."""
    archive = directory / "ten"
    parts = generate(archive, events, clusters=_PARTITIONS)
    sql = transition_query(archive, "cluster")
    name = f"availability by cluster of {events:,} events of {_PARTITIONS} fleets"
    note, answers = f"{parts:,} parts", list[Any]()
    value = database.processor_seconds(lambda: answers.append(query_duckdb(archive, sql)))
    with psycopg.connect(database.url, autocommit=True) as connection:
        _load(connection, archive)
        plain = database.processor_seconds(lambda: answers.append(connection.execute(sql.encode()).fetchall()))
        _partition(connection)
        divided = database.processor_seconds(lambda: answers.append(connection.execute(sql.encode()).fetchall()))
    first, *others = ([report_row(sums) for sums in archive_sums(answer)] for answer in answers)
    assert len(first) == _PARTITIONS
    assert all(other == first for other in others), "DuckDB and PostgreSQL give different answers"
    mark = 1.0 if events >= _LARGE else None  # in a small archive, opening its files takes most of the time
    yield Row(f"{name}, DuckDB", value, plain, "PostgreSQL, the same SQL", mark, note=note)
    yield Row(f"{name}, PostgreSQL, partitioned", divided, plain, "PostgreSQL, one table", note=note)


def _load(connection: psycopg.Connection[Any], archive: Path) -> None:
    """Copy an archive's parts and events into two tables."""
    with duckdb.connect() as reader:
        for table, columns, selected, files in (
            ("part", _PART, _PARTS, "parts"),
            ("event", _EVENT, _EVENTS, "events"),
        ):
            csv = archive / f"{table}.csv"
            rows = f"SELECT {selected} FROM read_parquet('{archive}/{files}/**/*.parquet')"  # noqa: S608 # our own names
            reader.execute(f"COPY ({rows}) TO '{csv}' (FORMAT csv, HEADER false)")
            connection.execute(f"CREATE TABLE {table} ({columns})".encode())
            with csv.open("rb") as file, connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy:
                for block in iter(partial(file.read, 2**20), b""):
                    copy.write(block)
            connection.execute(f"ANALYZE {table}".encode())


def _partition(connection: psycopg.Connection[Any]) -> None:
    """Replace the two tables by tables with partitions of the same parts."""
    for table in ("part", "event"):
        connection.execute(f"ALTER TABLE {table} RENAME TO whole_{table}".encode())
        connection.execute(f"CREATE TABLE {table} (LIKE whole_{table}) PARTITION BY HASH (kind, part_id)".encode())
        for number in range(_PARTITIONS):
            values = f"FOR VALUES WITH (MODULUS {_PARTITIONS}, REMAINDER {number})"
            connection.execute(f"CREATE TABLE {table}_{number} PARTITION OF {table} {values}".encode())
        connection.execute(f"INSERT INTO {table} SELECT * FROM whole_{table}".encode())  # noqa: S608 # our own names
        connection.execute(f"ANALYZE {table}".encode())
    for setting in ("join", "aggregate"):
        connection.execute(f"SET enable_partitionwise_{setting} = on".encode())
