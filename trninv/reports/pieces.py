"""Stream the rows of trninv's own queries as CSV or NDJSON.

SQLite writes NDJSON itself: that takes less than half of the time that Python needs to fetch and encode the rows.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final

from sqlalchemy import Engine

from trninv.reports.output import encode_lines, is_fraction
from trninv.reports.reader import RowStream, stream_query

_JSON_CHUNK: Final = 5_000
_MAX_COLUMNS: Final = 50
"""Half the arguments that a function may take in any build of SQLite; a column takes two."""


@contextmanager
def stream_rows(engine: Engine, sql: str, file_format: str, *, seconds: float) -> Iterator[Iterator[bytes]]:
    """Open a stream of a compiled query's rows, in pieces of whole rows; it ends with the context."""
    json_sql = (
        _json_query(engine, sql, seconds) if file_format == "ndjson" and engine.dialect.name == "sqlite" else None
    )
    with stream_query(engine, json_sql or sql, seconds=seconds) as row_stream:
        yield _join_rows(row_stream) if json_sql else encode_lines(row_stream, file_format)


def _join_rows(row_stream: RowStream) -> Iterator[bytes]:
    while texts := [text for (text,) in islice(row_stream.rows, _JSON_CHUNK)]:
        yield "\n".join([*texts, ""]).encode()


def _json_query(engine: Engine, sql: str, seconds: float) -> str | None:
    """Return a query whose only column is a row's JSON; None if columns have the same name, or are too many."""
    with stream_query(engine, f"SELECT * FROM ({sql}) LIMIT 0", seconds=seconds) as row_stream:  # noqa: S608 # checked
        columns = row_stream.columns
    if len(columns) > _MAX_COLUMNS or any(":" in column for column in columns):  # SQLite writes x:1 for another x
        return None
    return f"SELECT {_json_object(columns)} FROM ({sql})"  # noqa: S608 # checked


def _json_object(columns: Sequence[str]) -> str:
    members = (f"{_quote(column, chr(39))}, {_json_value(column)}" for column in columns)
    return f"json_object({', '.join(members)})"


def _json_value(column: str) -> str:
    """Return a column's value for JSON: SQLite's JSON has 15 digits, which suffice for smaller fractions only."""
    value = _quote(column, chr(34))
    if not is_fraction(column):
        return value
    return f"CASE WHEN {value} >= 1e6 THEN json(printf('%!.17g', {value})) ELSE {value} END"


def _quote(name: str, mark: str) -> str:
    return mark + name.replace(mark, 2 * mark) + mark
