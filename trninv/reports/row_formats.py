"""Write the rows of a query as JSON, CSV, NDJSON or Parquet, in one piece or streamed.

Streamed NDJSON is made by the database where it writes what Python would, in less than half of the time.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, Final, Literal

import orjson

from trninv.database.query_result import QueryResult, RowStream, check_unique_columns
from trninv.database.snapshot import SharedSnapshot
from trninv.errors import SqlError
from trninv.history.archive.parquet import import_pyarrow
from trninv.reports.query_runner import stream_query

ColumnType = type[int] | type[float] | type[bool] | type[str]
FORMATS = ("json", "csv", "ndjson", "parquet")
"""The formats of a query's result."""
_CHUNK = 10_000
"""Rows that are encoded at a time."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a cell that a spreadsheet takes for a formula."""
_MAYBE_FORMULA = re.compile(r'(?:^|,)"?[=+\-@\t]|\r', re.MULTILINE)
"""CSV text in which a cell may look like a formula; most texts have none and are not checked cell by cell."""


def to_json(result: QueryResult, option: int = 0) -> bytes:
    """Return columns, rows as objects, and whether the rows are truncated, as JSON."""
    return orjson.dumps(
        {"columns": result.columns, "rows": result.records(), "truncated": result.truncated}, option=option
    )


def with_text_cells(result: QueryResult) -> QueryResult:
    """Return a result with lists and objects, which Cypher returns, as JSON texts, for formats of plain cells."""
    if not any(isinstance(cell, list | dict) for row in result.rows for cell in row):
        return result
    rows = [
        tuple(orjson.dumps(cell).decode() if isinstance(cell, list | dict) else cell for cell in row)
        for row in result.rows
    ]
    return replace(result, rows=rows)


def encode_lines(stream: RowStream, file_format: str) -> Iterator[bytes]:
    """Yield CSV or NDJSON in pieces of whole rows."""
    if file_format == "csv":
        yield _csv([stream.columns])
    while chunk := list(islice(stream.rows, _CHUNK)):
        yield _csv(chunk) if file_format == "csv" else _ndjson(stream.columns, chunk)


def _csv(rows: list[tuple[Any, ...]]) -> bytes:
    text = _csv_text(rows, csv.QUOTE_MINIMAL)
    if _MAYBE_FORMULA.search(text):
        escaped = [tuple(map(_escape_formula, row)) for row in rows]
        # Readers take an unquoted \r for the end of a line.
        text = _csv_text(escaped, csv.QUOTE_ALL if "\r" in text else csv.QUOTE_MINIMAL)
    return text.encode()


def _csv_text(rows: list[tuple[Any, ...]], quoting: Literal[0, 1]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=quoting).writerows(rows)
    return text.getvalue()


def _escape_formula(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would calculate, as OWASP recommends (CSV injection)."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell


def _ndjson(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> bytes:
    check_unique_columns(columns)
    return b"".join(
        orjson.dumps(dict(zip(columns, row, strict=True)), option=orjson.OPT_APPEND_NEWLINE) for row in rows
    )


def is_fraction(column: str) -> bool:
    """Return whether a view's column has fractions, by the conventions for its name."""
    return column.startswith("factor") or column.endswith(("_gb_per_s", "_tflops"))


def write_parquet(stream: RowStream, kinds: Sequence[ColumnType], target: BinaryIO | Path) -> int:
    """Write rows to a Parquet file, one row group at a time, with one type per column; return their number.

    Raises
    ------
    UsageError
        PyArrow is not installed.

    """
    pa, files = import_pyarrow()
    types = _arrow_types(pa)
    schema = pa.schema([(name, types[kind]) for name, kind in zip(stream.columns, kinds, strict=True)])
    count = 0
    with files.ParquetWriter(target, schema) as writer:
        while chunk := list(islice(stream.rows, _CHUNK)):
            columns = zip(zip(*chunk, strict=True), kinds, strict=True)
            arrays = [pa.array(_convert_values(kind, column), types[kind]) for column, kind in columns]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(chunk)
    return count


def arrow_table(result: QueryResult) -> Any:
    """Return a whole result as a table of pyarrow, with one type per column.

    Raises
    ------
    SqlError
        Rows were omitted, or two columns have the same name.
    UsageError
        PyArrow is not installed.

    """
    pa, _ = import_pyarrow()
    check_unique_columns(result.columns)
    if result.truncated:
        raise SqlError(f"the query has more than {len(result.rows):,} rows; add LIMIT, or raise max_rows")
    values = list(zip(*result.rows, strict=True)) or [()] * len(result.columns)
    types = _arrow_types(pa)
    columns = zip(result.columns, values, column_types(result), strict=True)
    return pa.table({name: pa.array(_convert_values(kind, column), types[kind]) for name, column, kind in columns})


def _arrow_types(pa: Any) -> dict[ColumnType, Any]:  # Any: the module, whose types are not declared
    return {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}


def available_formats() -> list[str]:
    """Return the `FORMATS` that can be written here: Parquet needs PyArrow, an extra."""
    return [name for name in FORMATS if name != "parquet" or find_spec("pyarrow") is not None]


def column_types(result: QueryResult) -> list[ColumnType]:
    """Return the type of each column, into which all of its values can be converted; text if all are null."""
    kinds: list[ColumnType] = []
    for index in range(len(result.columns)):
        types = {type(row[index]) for row in result.rows if row[index] is not None}
        kinds.append(next((kind for kind in (str, float, int, bool) if kind in types), str))
    return kinds


def _convert_values(kind: ColumnType, values: Sequence[Any]) -> Sequence[Any]:
    """Convert a column's values to one type; most columns need no conversion."""
    if set(map(type, values)) <= {kind, NoneType}:
        return values
    return [None if value is None else kind(value) for value in values]


def to_text(result: QueryResult, file_format: str) -> str:
    """Return a result as indented JSON, CSV or NDJSON."""
    if file_format == "json":
        return to_json(result, orjson.OPT_INDENT_2).decode()
    return b"".join(encode_lines(RowStream(result.columns, iter(result.rows)), file_format)).decode().removesuffix("\n")


_JSON_CHUNK: Final = 5_000
"""Rows of NDJSON that are joined into one piece."""
_MAX_COLUMNS: Final = 50
"""Half the arguments that a function may take in any build of a database; a column takes two."""
_BOOLEAN: Final = 16
_SAME_IN_JSON: Final = frozenset({20, 21, 23, 25, 1043})
"""Ids of PostgreSQL's types, boolean and those of which JSON is the same by PostgreSQL: integers and texts."""


@contextmanager
def stream_rows(snapshot: SharedSnapshot, sql: str, file_format: str, *, seconds: float) -> Iterator[Iterator[bytes]]:
    """Open a stream of a compiled query's rows, in pieces of whole rows; it ends with the context."""
    json_sql = _json_query(snapshot, sql, seconds) if file_format == "ndjson" else None
    with stream_query(snapshot, json_sql or sql, seconds=seconds) as row_stream:
        yield _join_rows(row_stream) if json_sql else encode_lines(row_stream, file_format)


def _join_rows(row_stream: RowStream) -> Iterator[bytes]:
    while texts := [text for (text,) in islice(row_stream.rows, _JSON_CHUNK)]:
        yield "\n".join([*texts, ""]).encode()


def _json_query(snapshot: SharedSnapshot, sql: str, seconds: float) -> str | None:
    """Return a query whose only column is a row's JSON; None if the database would write another one than Python.

    That may be so if two columns have the same name, if there are too many, or on PostgreSQL if one has fractions.
    """
    query = f"SELECT * FROM ({sql}) AS listed LIMIT 0"  # noqa: S608 # checked
    with stream_query(snapshot, query, seconds=seconds) as row_stream:
        columns, types = row_stream.columns, row_stream.types
    if len(columns) > _MAX_COLUMNS or any(":" in column for column in columns):  # SQLite names a second x x:1
        return None
    if snapshot.engine.dialect.name == "sqlite":
        members = (f"{_quote(column, chr(39))}, {_json_value(column)}" for column in columns)
        return f"SELECT json_object({', '.join(members)}) FROM ({sql})"  # noqa: S608 # checked
    if len(set(columns)) < len(columns) or not _SAME_IN_JSON.union({_BOOLEAN}).issuperset(types):
        return None
    numbers = {_BOOLEAN: "::int"}
    members = (
        f"{name}{numbers.get(kind, '')} AS {name}"
        for name, kind in zip((_quote(column, chr(34)) for column in columns), types, strict=True)
    )
    return f"SELECT row_to_json(line)::text FROM (SELECT {', '.join(members)} FROM ({sql}) AS listed) AS line"  # noqa: S608


def _json_value(column: str) -> str:
    """Return a column's value for JSON: Debian 12's SQLite writes 15 digits in JSON, too few for fractions above 10⁶.

    Newer versions write up to 17 digits: not always those that Python writes, but of the same number.
    """
    value = _quote(column, chr(34))
    if not is_fraction(column):
        return value
    return f"CASE WHEN {value} >= 1e6 THEN json(printf('%!.17g', {value})) ELSE {value} END"


def _quote(name: str, mark: str) -> str:
    return mark + name.replace(mark, 2 * mark) + mark
