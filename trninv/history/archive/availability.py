"""How much of the time parts were up, from an archive: ``python -m trninv.history.archive.availability DIRECTORY``.

Plain arithmetic of intervals. A part is observed since its history is known; it is lost while it is not up; a failure
is when it goes from up to anything else. MTBF is the time up by failure, MTTR the time lost by failure.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from trninv.errors import FileError, MomentError, TrninvError
from trninv.history.archive.engines import in_duckdb, in_spark

BY: Final = ("kind", "model", "rack", "cluster")
COLUMNS: Final = (
    *("kind", "name", "parts", "observed_ms", "lost_ms", "failures"),
    *("share_up", "mtbf_hours", "mttr_hours"),
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SQL: Final = Path(__file__).with_name("availability.sql")


def query(directory: Path, by: str = "kind", since: str | None = None, until: str | None = None) -> str:
    """The SQL of the report: up to a time, at most the end of the last day that is archived.

    Raises
    ------
    FileError
        The directory has no archive.
    MomentError
        A time has no zone.

    """
    begins = 0 if since is None else _milliseconds(since)
    ends = _end(directory)
    if until is not None:
        ends = min(ends, _milliseconds(until))
    return _SQL.read_text("utf-8").format(by=by, since=begins, until=ends)


def _end(directory: Path) -> int:
    days = [
        each.name.removeprefix("day=") for name in ("events", "states") for each in (directory / name).glob("day=*")
    ]
    if not days and (directory / "manifest.ndjson").exists():
        raise FileError(f"{directory} has no day yet: a day is archived once it has ended, in UTC")
    if not days:
        raise FileError(f"{directory} has no archive: trninv archive makes one")
    return _milliseconds(f"{date.fromisoformat(max(days)) + timedelta(days=1)}T00:00:00Z")


def _milliseconds(time: str) -> int:
    try:
        return (datetime.fromisoformat(time) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, TypeError):  # of one without a zone
        raise MomentError(f"{time!r}: write a time with its zone, such as 2026-11-22T02:00:00Z") from None


def main(arguments: Sequence[str] | None = None) -> Iterator[str]:
    """The lines that it prints: one of JSON a row."""
    parser = argparse.ArgumentParser(prog="python -m trninv.history.archive.availability", description=__doc__)
    parser.add_argument("directory", type=Path, help="an archive, as trninv archive writes it")
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb", help="(default: %(default)s)")
    parser.add_argument(
        "--by", choices=BY, default="kind", help="parts of a kind with the same one (default: %(default)s)"
    )
    parser.add_argument("--since", help="an ISO time with its zone (default: since history is known)")
    parser.add_argument("--until", help="(default, and at most: the end of the last day)")
    parser.add_argument("--master", help="of Spark, such as local[2] or yarn (default: as Spark is configured)")
    given = parser.parse_args(arguments)
    sql = query(given.directory, given.by, given.since, given.until)
    rows: list[tuple[Any, ...]]
    rows = in_duckdb(given.directory, sql) if given.engine == "duckdb" else in_spark(given.directory, sql, given.master)
    for row in rows:
        yield json.dumps(dict(zip(COLUMNS, row, strict=True)))


if __name__ == "__main__":
    try:
        for line in main():
            print(line)  # noqa: T201 # its answer
    except TrninvError as error:
        sys.exit(f"trninv: {error}")
