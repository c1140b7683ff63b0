"""An archive of as many events as you like, made by DuckDB alone: ``python -m bench.generated DIRECTORY EVENTS``.

Parts go down and come up again, each every few days, through a year; a part in a thousand never does. Files are as
`trninv archive` writes them, without a manifest.
"""

import argparse
import shutil
from pathlib import Path

import duckdb

_YEAR_MS = 365 * 86_400_000
_A_PART = 100
"""Events of one."""
_PARTS = """
    SELECT
        'chip' AS kind, p AS part_id,
        'gen/d' || (p // 64) || '/s' || (p // 16 % 4) || '/c' || (p % 16) AS address, 'gen' || (p % 3) AS cluster,
        'gen/r' || (p // 64) AS rack, CASE p % 2 WHEN 0 THEN 'trainium2' ELSE 'trainium3' END AS model, 'up' AS state,
        CAST(NULL AS BIGINT) AS factor_ppm, '2025-01-01T00:00:00.000000+00:00' AS known_since,
        CAST(0 AS BIGINT) AS known_from,
        TIMESTAMP '2025-01-01 00:00:00' AS since, 1 AS version
    FROM (SELECT unnest(range({parts})) AS p)"""
_EVENTS = """
    SELECT
        row_number() OVER (ORDER BY time, c, up) AS id, time, 'chip' AS kind, c % {failing} AS part_id,
        CASE up WHEN 1 THEN lost ELSE 'up' END AS before, CASE up WHEN 1 THEN 'up' ELSE lost END AS state,
        strftime(time, '%Y-%m-%d') AS day
    FROM (
        SELECT
            c, up, CASE c % 5 WHEN 0 THEN 'degraded' WHEN 1 THEN 'maintenance' ELSE 'down' END AS lost,
            TIMESTAMP '2025-01-01 00:00:00' + to_milliseconds(CAST(
                c * {spacing} + up * (60000 + hash(c) % {longest}) AS BIGINT)) AS time
        FROM (SELECT range AS c FROM range({cycles})) CROSS JOIN (VALUES (0), (1)) AS of_cycle (up)
    )"""


def generate(directory: Path, events: int, memory: str = "2GB") -> int:
    """Write an archive of about so many events; returns how many parts it has."""
    cycles, parts = events // 2, max(events // _A_PART, 100)
    failing, spacing = parts - parts // 1000, _YEAR_MS / max(cycles, 1)
    longest = int(max(failing * spacing - 120_000, 1))  # up again before it goes down again
    named = {
        "parts": parts,
        "failing": failing,
        "cycles": cycles,
        "spacing": spacing,
        "longest": min(longest, 86_400_000),
    }
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with duckdb.connect() as made:
        made.execute(f"SET memory_limit = '{memory}'; SET temp_directory = '{directory}/.spill'")
        made.execute("SET preserve_insertion_order = false")
        for name, rows, by in (("parts", _PARTS, "version"), ("events", _EVENTS, "day")):
            how = f"FORMAT parquet, COMPRESSION zstd, PARTITION_BY ({by}), FILENAME_PATTERN 'part-{{i}}'"
            made.execute(f"COPY ({rows.format(**named)}) TO '{directory}/{name}' ({how})")
    shutil.rmtree(directory / ".spill", ignore_errors=True)
    return parts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.generated", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("events", type=int)
    given = parser.parse_args()
    print(f"{generate(given.directory, given.events):,} parts")
