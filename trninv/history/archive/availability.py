"""Compute availability from an archive: ``python -m trninv.history.archive.availability DIRECTORY``.

The figures are those of `trninv availability`, defined in `trninv.history.availability_sums`. One statement, in
availability.sql, counts the transitions of each group of parts and sums their times. Since no part is followed through
its history, that takes only as long as reading the files.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from trninv.errors import InvalidFileError, InvalidTimeError, TrninvError
from trninv.history.archive.engines import query_duckdb, query_spark
from trninv.history.availability_sums import AvailabilitySums, Transition, TransitionPeriod

BY: Final = ("kind", "model", "rack", "cluster")
"""Groupings of the parts of one kind; `kind` makes one group of all parts of a kind."""
_GROUP_COLUMNS: Final = {"kind": "CAST(NULL AS STRING)"}
"""The SQL for a group's name, for groupings that are not the name of a column; groups by kind have no name."""
_MICROS_PER_HOUR: Final = 3_600_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SQL: Final = Path(__file__).with_name("availability.sql")


def transition_query(directory: Path, by: str = "kind", since: str | None = None, until: str | None = None) -> str:
    """Return the SQL that counts the state transitions of parts from `since` to `until`.

    The defaults are the start of the history and the end of the last archived day; later times count as that end.

    Raises
    ------
    InvalidFileError
        The directory has no archive.
    InvalidTimeError
        A time has no zone.

    """
    start = 0 if since is None else _to_micros(since)
    end = _archive_end(directory)
    if until is not None:
        end = min(end, _to_micros(until))
    return _SQL.read_text("utf-8").format(by=_GROUP_COLUMNS.get(by, by), since=start, until=end)


def archive_sums(rows: Iterable[Sequence[Any]]) -> Iterator[AvailabilitySums]:
    """Yield the sums of each kind and group, sorted, from the rows of `transition_query`."""
    for (kind, name), group_rows in groupby(sorted(rows, key=_group), _group):
        yield _group_sums(kind, name, list(group_rows))


def _group(row: Sequence[Any]) -> tuple[str, str]:
    """Return the kind and name of a row's group, with '' if it has no name, because None can't be sorted with text."""
    return row[0], row[1] or ""


def _group_sums(kind: str, name: str, rows: Sequence[Sequence[Any]]) -> AvailabilitySums:
    """Sum up the rows of one group; rows with an empty ``before`` count parts in their initial state."""
    transitions, parts, observed = list[Transition](), 0, 0
    for _kind, _name, before, state, own_before, own_state, within, number, seconds, micros in rows:
        duration = int(seconds) * 1_000_000 + int(micros)
        if before:
            period = TransitionPeriod.INSIDE if within else TransitionPeriod.OUTSIDE
            transitions.append(Transition(period, number, duration, before, state, own_before, own_state))
        else:
            transitions.append(Transition(TransitionPeriod.INITIAL, number, duration, "up", state, "up", own_state))
            parts, observed = parts + number, observed + duration
    return AvailabilitySums.from_transitions(kind, name or None, parts, observed, transitions)


def report_row(sums_: AvailabilitySums) -> dict[str, Any]:
    """Return a row of the report, with the field names of `trninv availability`."""
    return {
        "kind": sums_.kind,
        "name": sums_.name,
        "parts": sums_.parts,
        **{state: sums_.share(state) for state in ("up", "degraded", "down", "maintenance")},
        "failures": sums_.failures,
        "repairs": sums_.repaired,
        "down_at_start": sums_.down_before,
        "ongoing": sums_.down_after,
        "mtbf_hours": sums_.carried / sums_.failures / _MICROS_PER_HOUR if sums_.failures else None,
        "mttr_hours": sums_.repairing / sums_.repaired / _MICROS_PER_HOUR if sums_.repaired else None,
    }


def _archive_end(directory: Path) -> int:
    """Return the end of the last archived day, in microseconds since 1970."""
    days = [
        directory_.name.removeprefix("day=")
        for name in ("events", "states")
        for directory_ in (directory / name).glob("day=*")
    ]
    if not days and (directory / "manifest.ndjson").exists():
        raise InvalidFileError(f"{directory} has no complete day yet; a day is archived after it has ended, in UTC")
    if not days:
        raise InvalidFileError(f"{directory} has no archive; run trninv archive first")
    return _to_micros(f"{date.fromisoformat(max(days)) + timedelta(days=1)}T00:00:00Z")


def _to_micros(time: str) -> int:
    """Return the microseconds from 1970 to an ISO time."""
    try:
        return (datetime.fromisoformat(time) - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, TypeError):  # TypeError: the time has no zone
        raise InvalidTimeError(f"{time!r}: write a time with its zone, such as 2026-11-22T02:00:00Z") from None


def _local_directory(text: str) -> Path:
    """Refuse a URL, which neither engine is set up to read."""
    if "://" in text:
        raise InvalidFileError(f"{text} is not a directory of this machine; copy the archive here first")
    return Path(text)


def main(arguments: Sequence[str] | None = None) -> Iterator[str]:
    """Parse command-line arguments, and yield the report as lines of JSON, one for each group."""
    parser = argparse.ArgumentParser(prog="python -m trninv.history.archive.availability", description=__doc__)
    parser.add_argument("directory", type=_local_directory, help="directory written by trninv archive")
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb", help="(default: %(default)s)")
    parser.add_argument(
        "--by", choices=BY, default="kind", help="group the parts of a kind by this (default: %(default)s)"
    )
    parser.add_argument("--since", help="ISO time with its zone (default: start of the known history)")
    parser.add_argument("--until", help="ISO time with its zone (default and latest: end of the last archived day)")
    parser.add_argument("--master", help="Spark master, such as local[2] or yarn (default: Spark's configuration)")
    options = parser.parse_args(arguments)
    sql = transition_query(options.directory, options.by, options.since, options.until)
    rows: list[tuple[Any, ...]]
    rows = (
        query_duckdb(options.directory, sql)
        if options.engine == "duckdb"
        else query_spark(options.directory, sql, options.master)
    )
    yield from (json.dumps(report_row(sums_)) for sums_ in archive_sums(rows))


if __name__ == "__main__":
    try:
        for line in main():
            print(line)  # noqa: T201 # the output of this command
    except TrninvError as error:
        sys.exit(f"trninv: {error}")
