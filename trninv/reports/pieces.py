"""The rows of a query of trninv's own as CSV or NDJSON, piece by piece.

SQLite writes NDJSON itself, in less time than Python takes to fetch the rows: in less than half of what it takes to
fetch and to write them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final

from sqlalchemy import Engine

from trninv.reports.output import is_fraction, lines
from trninv.reports.reader import Stream, stream

_CHUNK: Final = 5_000
_MOST_COLUMNS: Final = 50
"""Half of the arguments that a function takes wherever SQLite was built."""


@contextmanager
def written(engine: Engine, sql: str, style: str, *, seconds: float) -> Iterator[Iterator[bytes]]:
    """A checked query's rows, while the context lasts; each piece is of whole rows."""
    printing = _printing(engine, sql, seconds) if style == "ndjson" and engine.dialect.name == "sqlite" else None
    with stream(engine, printing or sql, seconds=seconds) as found:
        yield _joined(found) if printing else lines(found, style)


def _joined(found: Stream) -> Iterator[bytes]:
    while some := [text for (text,) in islice(found.rows, _CHUNK)]:
        yield "\n".join([*some, ""]).encode()


def _printing(engine: Engine, sql: str, seconds: float) -> str | None:
    """The query whose only column is a row's JSON; None where names are the same, or too many."""
    with stream(engine, f"SELECT * FROM ({sql}) LIMIT 0", seconds=seconds) as found:  # noqa: S608 # checked
        columns = found.columns
    if len(columns) > _MOST_COLUMNS or any(":" in column for column in columns):  # SQLite writes x:1 for another x
        return None
    return f"SELECT {_object(columns)} FROM ({sql})"  # noqa: S608 # checked


def _object(columns: Sequence[str]) -> str:
    members = (f"{_quoted(column, chr(39))}, {_member(column)}" for column in columns)
    return f"json_object({', '.join(members)})"


def _member(column: str) -> str:
    """A value; SQLite's JSON has 15 digits of a number, and the views' smaller fractions have no more."""
    value = _quoted(column, chr(34))
    if not is_fraction(column):
        return value
    return f"CASE WHEN {value} >= 1e6 THEN json(printf('%!.17g', {value})) ELSE {value} END"


def _quoted(name: str, mark: str) -> str:
    return mark + name.replace(mark, 2 * mark) + mark
