"""Generate an archive of any number of events with DuckDB: ``python -m bench.generated DIRECTORY EVENTS``.

In the year that it covers, each part fails and recovers every few days; one part in a thousand never fails. Every
100,003 events, the clock goes back by five minutes. The files are as `trninv archive` writes them, without a manifest.
"""

import argparse
import shutil
from pathlib import Path

import duckdb

_YEAR = 365 * 86_400_000_000
_EVENTS_PER_PART = 100
_PARTS = """
    SELECT
        'chip' AS kind, p AS part_id,
        'gen/d' || (p // 64) || '/s' || (p // 16 % 4) || '/c' || (p % 16) AS address,
        'gen' || (p % {clusters}) AS cluster,
        'gen/r' || (p // 64) AS rack, CASE p % 2 WHEN 0 THEN 'trainium2' ELSE 'trainium3' END AS model, 'up' AS state,
        CAST(NULL AS VARCHAR) AS own_state, CAST(NULL AS BIGINT) AS factor_ppm,
        '2025-01-01T00:00:00.000000+00:00' AS known_since, CAST(0 AS BIGINT) AS known_from,
        TIMESTAMP '2025-01-01 00:00:00' AS since, 1 AS version
    FROM (SELECT unnest(range({parts})) AS p)"""
_FIRST_PART = "CAST(hash({}) % {{failing}} AS BIGINT)"
"""SQL of the first part of a turn. In a turn, each failing part has one event, in the order of their numbers."""
_EVENTS = """
    SELECT
        n + 1 AS id, time, back AS clock_went_back, 'chip' AS kind, part_id,
        CASE turn WHEN 0 THEN NULL ELSE (turn - 1) * {failing} + (part_id - {before} + {failing}) % {failing} + 1 END
            AS previous_id,
        CASE turn % 2 WHEN 1 THEN lost ELSE 'up' END AS before, CASE turn % 2 WHEN 1 THEN 'up' ELSE lost END AS state,
        CAST(NULL AS VARCHAR) AS own_before, CAST(NULL AS VARCHAR) AS own_state, strftime(time, '%Y-%m-%d') AS day
    FROM (
        SELECT
            *, CASE hash(turn // 2, part_id) % 5 WHEN 0 THEN 'degraded' WHEN 1 THEN 'maintenance' ELSE 'down' END
                AS lost
        FROM (
            SELECT
                n, n // {failing} AS turn, (n % {failing} + {now}) % {failing} AS part_id, n % 100_003 = 100_002
                    AS back,
                TIMESTAMP '2025-01-01 00:00:00' + to_microseconds(CAST(n * {spacing} AS BIGINT)
                    - CASE n % 100_003 WHEN 100_002 THEN 300_000_000 ELSE 0 END) AS time
            FROM (SELECT range AS n FROM range({events}))
        )
    )""".replace("{now}", _FIRST_PART.format("n // {failing}")).replace("{before}", _FIRST_PART.format("turn - 1"))


def generate(directory: Path, events: int, memory: str = "2GB", clusters: int = 3) -> int:
    """Write an archive with a number of events and return its number of parts, which are in some clusters."""
    parts = max(events // _EVENTS_PER_PART, 100)
    parameters = {"parts": parts, "failing": parts - parts // 1000, "events": events, "spacing": _YEAR / max(events, 1)}
    parameters["clusters"] = clusters
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{memory}'; SET temp_directory = '{directory}/.spill'")
        connection.execute("SET preserve_insertion_order = false")
        for name, rows, partition in (("parts", _PARTS, "version"), ("events", _EVENTS, "day")):
            options = f"FORMAT parquet, COMPRESSION zstd, PARTITION_BY ({partition}), FILENAME_PATTERN 'part-{{i}}'"
            connection.execute(f"COPY ({rows.format(**parameters)}) TO '{directory}/{name}' ({options})")
    shutil.rmtree(directory / ".spill", ignore_errors=True)
    return parts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.generated", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("events", type=int)
    arguments = parser.parse_args()
    print(f"{generate(arguments.directory, arguments.events):,} parts")
