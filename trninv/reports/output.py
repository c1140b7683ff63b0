"""Rows as table, JSON, CSV, NDJSON and Parquet."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, Literal

import orjson

from trninv.history.archive.parquet import arrow
from trninv.reports.reader import Found, Stream, once

Kind = type[int] | type[float] | type[bool] | type[str]
FILES = ("parquet", "csv", "ndjson")
FORMATS = ("json", "csv", "ndjson", "parquet")
_CHUNK = 10_000
_CALCULATED = ("=", "+", "-", "@", "\t", "\r")
_MAY_CALCULATE = re.compile(r'(?:^|,)"?[=+\-@\t]|\r', re.MULTILINE)
"""Lines of CSV some cells of which may begin so; most have none, and are not looked at cell by cell."""


def as_json(found: Found, option: int = 0) -> bytes:
    """Columns, rows as objects, and whether rows were left out."""
    return orjson.dumps(
        {"columns": found.columns, "rows": found.records(), "truncated": found.truncated}, option=option
    )


def lines(stream: Stream, style: str) -> Iterator[bytes]:
    """CSV or NDJSON, piece by piece."""
    if style == "csv":
        yield _csv([stream.columns])
    while some := list(islice(stream.rows, _CHUNK)):
        yield _csv(some) if style == "csv" else _ndjson(stream.columns, some)


def _csv(rows: list[tuple[Any, ...]]) -> bytes:
    text = _written(rows, csv.QUOTE_MINIMAL)
    if _MAY_CALCULATE.search(text):
        shown = [tuple(map(_no_formula, row)) for row in rows]
        text = _written(shown, csv.QUOTE_ALL if "\r" in text else csv.QUOTE_MINIMAL)  # else \r would end a line
    return text.encode()


def _written(rows: list[tuple[Any, ...]], quoting: Literal[0, 1]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=quoting).writerows(rows)
    return text.getvalue()


def _no_formula(cell: Any) -> Any:
    """A cell that a spreadsheet shows: before a text that it would calculate stands an apostrophe, as OWASP says."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_CALCULATED) else cell


def _ndjson(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> bytes:
    once(columns)
    return b"".join(
        orjson.dumps(dict(zip(columns, row, strict=True)), option=orjson.OPT_APPEND_NEWLINE) for row in rows
    )


def is_fraction(column: str) -> bool:
    """Whether a view's column of this name is a fraction."""
    return column.startswith("factor") or column.endswith(("_gb_per_s", "_tflops"))


def parquet(stream: Stream, kinds: Sequence[Kind], to: BinaryIO | Path) -> int:
    """Write rows to a Parquet file, one row group at a time, with one type per column; returns how many.

    Raises
    ------
    UsageError
        PyArrow is not installed.

    """
    pa, files = arrow()
    types = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    schema = pa.schema([(name, types[kind]) for name, kind in zip(stream.columns, kinds, strict=True)])
    number = 0
    with files.ParquetWriter(to, schema) as writer:
        while some := list(islice(stream.rows, _CHUNK)):
            columns = zip(zip(*some, strict=True), kinds, strict=True)
            arrays = [pa.array(_all_as(kind, column), types[kind]) for column, kind in columns]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            number += len(some)
    return number


def formats() -> list[str]:
    """Those of `FORMATS` that can be written here: Parquet needs PyArrow, an extra."""
    return [each for each in FORMATS if each != "parquet" or find_spec("pyarrow") is not None]


def kinds_of(found: Found) -> list[Kind]:
    """The type of each column, judged by all of its values; text if it has none."""
    kinds: list[Kind] = []
    for at in range(len(found.columns)):
        present = {type(row[at]) for row in found.rows if row[at] is not None}
        kinds.append(next((kind for kind in (str, float, int, bool) if kind in present), str))
    return kinds


def _all_as(kind: Kind, values: Sequence[Any]) -> Sequence[Any]:
    """Values of one type; they are looked at one by one only if some are of another."""
    if set(map(type, values)) <= {kind, NoneType}:
        return values
    return [None if value is None else kind(value) for value in values]


def as_text(found: Found, style: str) -> str:
    """Indented JSON, CSV or NDJSON."""
    if style == "json":
        return as_json(found, orjson.OPT_INDENT_2).decode()
    return b"".join(lines(Stream(found.columns, iter(found.rows)), style)).decode().removesuffix("\n")
