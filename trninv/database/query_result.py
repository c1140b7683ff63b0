"""Define the rows of a user's query, and collect them up to a number of rows and bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from trninv.errors import SqlError, UsageError

MAX_RESULT_ROWS = 10_000
"""Maximum rows of a result that is not streamed, by default."""
MAX_RESULT_BYTES = 64 * 2**20
"""Maximum bytes of a result that is not streamed, as JSON."""
MAX_TEXT_LENGTH = 100_000
"""Maximum length of a text that a query may make."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows of a query; ``truncated`` if there were more than the limits allow."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    truncated: bool

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries by column.

        Raises
        ------
        SqlError
            Two columns have the same name.

        """
        check_unique_columns(self.columns)
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def check_unique_columns(columns: tuple[str, ...]) -> None:
    """Refuse columns with the same name: an object would keep only the last."""
    duplicate = next((name for index, name in enumerate(columns) if name in columns[:index]), None)
    if duplicate is not None:
        raise SqlError(f"two columns are called {duplicate}; rename one with AS")


@dataclass(frozen=True, slots=True)
class RowStream:
    """The columns of a query, and its rows as they are fetched.

    Attributes
    ----------
    types
        The ids of the columns' types on PostgreSQL.

    """

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]
    types: Sequence[int] = ()


def collect_rows(
    row_stream: RowStream, max_rows: int, max_bytes: int, error: type[UsageError] = SqlError
) -> QueryResult:
    """Return rows up to a number of rows and, as JSON, of bytes.

    Raises
    ------
    UsageError
        A text is too long, or a value can't be written in JSON; of the class ``error``.

    """
    rows, size = list[tuple[Any, ...]](), 0
    # each row may be written as an object, which repeats the names
    names_size = len(orjson.dumps(row_stream.columns))
    for row in islice(row_stream.rows, max_rows + 1):  # one more, to see whether there are more
        size += names_size + _json_size(row, error)
        if len(rows) == max_rows or size > max_bytes:
            return QueryResult(row_stream.columns, rows, truncated=True)
        rows.append(row)
    return QueryResult(row_stream.columns, rows, truncated=False)


def _json_size(row: tuple[Any, ...], error: type[UsageError]) -> int:
    """Return the length of a row in JSON."""
    if any(isinstance(value, str) and len(value) > MAX_TEXT_LENGTH for value in row):
        raise error(f"the query makes a text of more than {MAX_TEXT_LENGTH:,} characters; make it from fewer rows")
    try:
        return len(orjson.dumps(row))
    except TypeError:
        raise error("the query makes a value that is neither text nor a number; cast it to TEXT") from None
