"""Run one statement on an SQLite file in a separate process that can be killed; `sqlite_reader` starts it.

It is started by its path and imports only the standard library, so that it starts quickly. It reads
{"uri": …, "sql": …, "readable": […], "setup": […]} from stdin, and writes lines of JSON: the names of the columns,
lists of rows, and an empty list at the end; or the text of an error.
"""

import json
import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from decimal import ROUND_HALF_UP, Decimal
from math import ceil, floor, log, log10, sqrt
from typing import Any

MEMORY = 512 * 2**20
"""Maximum bytes of memory that SQLite may use."""
_MAX_VALUE_BYTES, _MAX_PATTERN_BYTES = 1_000_000, 10_000
"""Maximum bytes of a text or row, and of the pattern of a LIKE."""
_CHUNK = 64
"""Rows that are sent at a time."""
_ALLOWED_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_MIN_EXPONENT_VALUE = 10**15
"""Whole floats are written with an exponent from this size on, as in PostgreSQL."""
_MAX_KEPT_ROWS = 1_000_000
"""Maximum rows of an aggregate that keeps them, such as string_agg."""


def open_connection(uri: str, readable: Iterable[str], setup: Iterable[str] = ()) -> sqlite3.Connection:
    """Open a connection that can only read the readable tables and views, with PostgreSQL's functions and size limits.

    The setup statements run first: they create the views of an earlier time.
    """
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=60)
    for statement in setup:
        connection.execute(statement)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA case_sensitive_like = ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _MAX_PATTERN_BYTES)
    for name, arguments, function in _FUNCTIONS:
        connection.create_function(name, arguments, function, deterministic=True)
    for name, arguments, aggregate in _AGGREGATES:
        connection.create_aggregate(name, arguments, aggregate)
    connection.set_authorizer(_make_authorizer(connection, readable))
    return connection


def _make_authorizer(connection: sqlite3.Connection, readable: Iterable[str]) -> Callable[..., int]:
    """Return an authorizer that denies everything but reading the readable tables and views.

    It denies the file's other tables rather than all other names, because SQLite reports a subquery in FROM without a
    name, or under a name that is not a table's.
    """
    existing = {name.lower() for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    private = existing.difference(name.lower() for name in readable)

    def authorize(action: int, table: str | None, *_: str | None) -> int:
        name = (table or "").lower()
        is_private = action == sqlite3.SQLITE_READ and (name in private or name.startswith("sqlite_"))
        return sqlite3.SQLITE_DENY if action not in _ALLOWED_ACTIONS or is_private else sqlite3.SQLITE_OK

    return authorize


def _null_if_any_null(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: None if None in values else function(*values)


def _to_text(value: object) -> object:
    if not isinstance(value, float):
        return value if value is None else str(value)
    if value.is_integer():
        return str(int(value)) if abs(value) < _MIN_EXPONENT_VALUE else f"{Decimal(repr(value)).normalize():e}"
    return repr(value)


def _round_half_up(value: Any, digits: int = 0) -> Decimal:
    exact = Decimal(repr(value) if isinstance(value, float) else str(value).strip())
    return exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _non_null(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


_FUNCTIONS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("to_text", 1, _to_text),
    ("to_bigint", 1, _null_if_any_null(lambda value: int(_round_half_up(value)))),
    ("to_double", 1, _null_if_any_null(float)),
    ("round", 1, _null_if_any_null(lambda value: float(_round_half_up(value)))),
    ("round", 2, _null_if_any_null(lambda value, digits: float(_round_half_up(value, digits)))),
    ("concat", -1, lambda *values: "".join(str(_to_text(value)) for value in _non_null(values))),
    ("greatest", -1, lambda *values: max(_non_null(values), default=None)),
    ("least", -1, lambda *values: min(_non_null(values), default=None)),
    ("ceil", 1, _null_if_any_null(ceil)),
    ("floor", 1, _null_if_any_null(floor)),
    ("sign", 1, _null_if_any_null(lambda value: (value > 0) - (value < 0))),
    ("sqrt", 1, _null_if_any_null(sqrt)),
    ("ln", 1, _null_if_any_null(log)),
    ("log", 1, _null_if_any_null(log10)),
    ("power", 2, _null_if_any_null(lambda base, exponent: float(base) ** exponent)),
)
"""Functions that SQLite lacks, or has unlike PostgreSQL: name, number of arguments (-1 for any), and function."""


class _Variance:
    """The variance of a sample, by Welford's method."""

    def __init__(self) -> None:
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def step(self, value: Any) -> None:
        if value is not None:
            self._count += 1
            delta = value - self._mean
            self._mean += delta / self._count
            self._squares += delta * (value - self._mean)

    def finalize(self) -> float | None:
        return self._squares / (self._count - 1) if self._count > 1 else None


class _StandardDeviation(_Variance):
    def finalize(self) -> float | None:
        variance = super().finalize()
        return None if variance is None else sqrt(variance)


class _CollectingAggregate:
    """A base class of aggregates that keep the arguments of all rows whose first argument is not null."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []

    def step(self, *values: Any) -> None:
        if values[0] is not None:
            self._rows.append(values)
        if len(self._rows) > _MAX_KEPT_ROWS:
            raise ValueError


class _Percentile(_CollectingAggregate):
    """The percentile of numbers; each row has a number, the fraction, and whether the order is descending."""

    def finalize(self) -> float | None:
        if not self._rows:
            return None
        values = sorted((float(value) for value, _, _ in self._rows), reverse=bool(self._rows[0][2]))
        position = float(self._rows[0][1]) * (len(values) - 1)
        low, high = values[floor(position)], values[ceil(position)]
        return low + (high - low) * (position - floor(position))


class _StringAgg(_CollectingAggregate):
    def finalize(self) -> str | None:
        if not self._rows:
            return None
        if len(self._rows[0]) > 2:  # noqa: PLR2004 # value, separator, sort key, and whether descending
            is_descending = bool(self._rows[0][3])
            self._rows.sort(key=lambda row: (row[2] is None, row[2]), reverse=is_descending)
        first, *others = self._rows
        return str(_to_text(first[0])) + "".join(f"{row[1]}{_to_text(row[0])}" for row in others)


_AGGREGATES: tuple[tuple[str, int, Any], ...] = (
    ("variance", 1, _Variance),
    ("stddev", 1, _StandardDeviation),
    ("percentile_cont", 3, _Percentile),
    ("string_agg", 2, _StringAgg),
    ("string_agg", 4, _StringAgg),
)
"""Aggregates that SQLite lacks: name, number of arguments, and class."""


def _send(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")


def _run(uri: str, sql: str, readable: Iterable[str], setup: Iterable[str]) -> None:
    connection = open_connection(uri, readable, setup)
    cursor = connection.execute(sql)
    _send([column[0] for column in cursor.description])
    while rows := cursor.fetchmany(_CHUNK):
        _send(rows)
    _send([])


def _main() -> None:
    request = json.load(sys.stdin.buffer)
    with closing(sqlite3.connect(":memory:")) as memory_connection:
        # on any connection, this limits the whole process
        memory_connection.execute(f"PRAGMA hard_heap_limit = {MEMORY}")
    try:
        _run(**request)
    except MemoryError:
        _send("it needs too much memory")
    except (sqlite3.Error, OverflowError) as error:
        _send(str(error))


if __name__ == "__main__":
    _main()
