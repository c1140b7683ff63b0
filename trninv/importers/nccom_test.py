"""Read nccom-test: the file of ``--report-to-json-file``, or its output as text.

A row has the size of the data and the average time. Bandwidths are computed from these two, because nccom-test prints
10⁹ or 2³⁰ bytes per second, depending on its version. The printed ones are compared with them: so a row in other units,
or of another number of ranks than the user says, is refused.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from trninv.importers.input_file import InputFile
from trninv.importers.json_value import MAX_ITEMS, JsonValue, quote_value
from trninv.importers.measured_run import CollectiveTiming, RunDescription, bus_factor, check_timing, read_operation

_TIME_COLUMNS: Final = ("time:avg(us)", "time(us)")
_SIZE, _TYPE, _ALGORITHM, _BUS = "size(B)", "type", "algbw(GB/s)", "busbw(GB/s)"
_RANK_OPTIONS: Final = ("-r", "--nworkers")
_PRINTED_ERROR: Final = 0.011
"""Error of a printed bandwidth: two decimals, rounded twice."""
_UNITS: Final = (10**9, 2**30)
"""Bytes per second in a printed GB/s: of newer and of older versions."""


@dataclass(frozen=True, slots=True)
class NccomReport:
    """The rows of a report, and the command line if the output contains it; neither is checked yet."""

    rows: tuple[JsonValue, ...]
    command: str | None


def read_report(source: InputFile) -> NccomReport:
    """Read the rows of one file; note an error if it has none."""
    is_json = source.starts_with(b"{") or source.starts_with(b"[")
    rows, command = (tuple(_read_json(source)), None) if is_json else _read_text(source)
    if not rows:
        source.add_error(f"has no row with {_SIZE}; use the output of nccom-test, or of --report-to-json-file")
    return NccomReport(rows, command)


def _read_json(source: InputFile) -> Iterator[JsonValue]:
    for value in source.values():
        yield from (value if isinstance(value.raw, list) else value.get("results")).objects()


def _read_text(source: InputFile) -> tuple[tuple[JsonValue, ...], str | None]:
    """Return the rows below each line of column names, as objects, and the last command line before them."""
    columns, rows, command = list[str](), list[JsonValue](), None
    for number, line in source.text_lines():
        words = line.split()
        if "nccom-test" in words and not rows:
            command = line[line.index("nccom-test") :]
        elif _SIZE in words:
            columns = words
        elif columns and words and words[0].isdecimal():
            if len(words) != len(columns):
                source.add_error(f"has {len(words)} values below {len(columns)} column names", number)
            elif len(rows) < MAX_ITEMS:
                rows.append(source.wrap(dict(zip(columns, map(_to_number, words), strict=True)), number))
            else:
                source.add_error(f"has more than {MAX_ITEMS:,} rows", number)
                break
    return tuple(rows), command


def _to_number(word: str) -> Any:
    """Return the number that a word of ASCII digits writes, or the word."""
    try:
        return (int(word) if word.isdecimal() else float(word)) if word.isascii() and "_" not in word else word
    except ValueError:  # also an integer of too many digits
        return word


def parse_command(line: str) -> Mapping[str, Any]:
    """Return what a command line of nccom-test says of a run: its ranks and its operation, as far as it does."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    described: dict[str, Any] = {}
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        text = value if equals else next(iter(words[position + 1 :]), "")
        if name in _RANK_OPTIONS and text.isdecimal():
            described["ranks"] = int(text) if len(text) < 8 else None  # noqa: PLR2004 # more than any fleet has
        elif position and (operation := read_operation(word)):
            described.setdefault("operation", operation)
    return described


def read_timings(report: NccomReport, run: RunDescription) -> Iterator[CollectiveTiming]:
    """Yield the rows of a report as timings of a run; note errors in those that contradict themselves or the run."""
    for row in report.rows:
        size = row.get(_SIZE).as_integer()
        time = next((row.get(name) for name in _TIME_COLUMNS if row.get(name).raw is not None), None)
        if time is None:
            row.add_error(f"has no {_TIME_COLUMNS[0]}")
            continue
        microseconds = as_positive_number(time)
        if size is None or microseconds is None:
            if row.get(_SIZE).raw is None:
                row.add_error(f"has no {_SIZE}")
            continue
        if check_timing(row, size, nanoseconds := round(microseconds * 1_000)):
            _check_printed(row, size, microseconds, run)
            yield CollectiveTiming(row.where, row.get(_TYPE).as_name(), size, nanoseconds)


def as_positive_number(value: JsonValue) -> float | None:
    """Return a number above 0; note an error for any other value."""
    raw = value.raw
    if isinstance(raw, int | float) and not isinstance(raw, bool) and isfinite(raw) and raw > 0:
        return float(raw)
    value.add_error(f"is {quote_value(raw)}, not a number above 0")
    return None


def _check_printed(row: JsonValue, size: int, microseconds: float, run: RunDescription) -> None:
    """Note an error if the printed bandwidths are not those of the size, the time and the number of ranks."""
    algorithm, bus = (row.get(name).raw for name in (_ALGORITHM, _BUS))
    if not all(isinstance(value, int | float) and isfinite(value) for value in (algorithm, bus)):
        row.add_error(f"has no numbers {_ALGORITHM} and {_BUS}")
        return
    computed = [size / microseconds * 10**6 / unit for unit in _UNITS]
    rounding = 0.01 + 0.5 / microseconds  # times may be whole microseconds
    if all(abs(algorithm - value) > _PRINTED_ERROR + value * rounding for value in computed):
        row.add_error(
            f"{_ALGORITHM} is {algorithm:g}, but its size over its time is {computed[0]:.4g} GB/s; check the units"
        )
        return
    expected = algorithm * bus_factor(run.operation, run.ranks)
    if abs(bus - expected) > 2 * _PRINTED_ERROR + 0.001 * expected:
        row.add_error(
            f"{_BUS} is {bus:g}, but {run.operation} of {run.ranks} ranks makes it {expected:.4g}; check the ranks and "
            "the operation"
        )
