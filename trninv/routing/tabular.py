"""Turn answers and lists into dictionaries, tables of Arrow, pandas and Polars, and HTML, for notebooks.

Quantities become integers of their base unit, which the name of the column ends with, as in SQL:
`bandwidth_bytes_per_s`, `memory_bytes`, `time_ns`. The libraries are imported when a table is made.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from html import escape
from importlib import import_module
from itertools import islice
from types import NoneType, UnionType
from typing import Any, Final, Generic, TypeVar, Union, get_args, get_origin

from trninv.errors import InvalidArgumentError, UsageError, how_to_install
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing.answer import AnswerField, answer_fields, strip_annotations
from trninv.units import Bandwidth, Capacity, Duration, pluralize

T = TypeVar("T")
_SUFFIX_BY_QUANTITY: Final = {Bandwidth: "_bytes_per_s", Capacity: "_bytes", Duration: "_ns"}
_MAX_LINES: Final = 3
_MAX_LENGTH: Final = 100
"""The maximum number and length of the lines of a short text."""
_MAX_ROWS: Final = 20
"""The maximum number of rows of a table in HTML."""


class RowList(list[T], Generic[T]):
    """A list of rows of one class, which also becomes a table."""

    def __init__(self, rows: Iterable[T], row_type: type[T]) -> None:
        super().__init__(rows)
        self.row_type = row_type

    def __repr__(self) -> str:
        lines = [
            f"{len(self):,} × {self.row_type.__name__}",
            *(str(to_record(row)) for row in islice(self, _MAX_LINES - 1)),
        ]
        return "\n  ".join(map(_shorten, lines))

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries of plain values."""
        return list(map(to_record, self))

    def to_arrow(self) -> Any:
        """Return the rows as a table of pyarrow."""
        return arrow_table(self, self.row_type)

    def to_pandas(self) -> Any:
        """Return the rows as a data frame of pandas."""
        return pandas_frame(self, self.row_type)

    def to_polars(self) -> Any:
        """Return the rows as a data frame of Polars."""
        return polars_frame(self, self.row_type)

    def _repr_html_(self) -> str:
        headers = column_names(self.row_type)
        rows = (to_record(row).values() for row in self)
        return f"<p>{len(self):,} × {self.row_type.__name__}</p>{_html_table(headers, rows)}"


def to_record(row: Any) -> dict[str, Any]:
    """Return the fields and properties of an answer or row as a dictionary of plain values."""
    row_type: Any = type(row)
    return {_column_name(field): _plain(getattr(row, field.name)) for field in answer_fields(row_type)}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.name
    if dataclasses.is_dataclass(value):
        return to_record(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def column_names(row_type: Any) -> list[str]:
    """Return the names of a class's fields and properties, with the unit of quantities."""
    return list(map(_column_name, answer_fields(row_type)))


def _column_name(field: AnswerField) -> str:
    return f"{field.name}{_SUFFIX_BY_QUANTITY.get(_value_type(field.type_hint), '')}"


def _value_type(hint: Any) -> Any:
    """Return the type of a field's values other than None."""
    bare_type, _ = strip_annotations(hint)
    if get_origin(bare_type) in (Union, UnionType):
        return _value_type(next(member for member in get_args(bare_type) if member is not NoneType))
    return bare_type


def answer_rows(answer: Any, name: str | None) -> tuple[Sequence[Any], Any]:
    """Return the rows of an answer's list, and their class; without a name, of its only list beside the facts.

    Raises
    ------
    InvalidArgumentError
        It has no such list, or several and none is named.

    """
    answer_type: Any = type(answer)
    types = {field.name: get_args(_value_type(field.type_hint)) for field in answer_fields(answer_type)}
    lists = {key: items[0] for key, items in types.items() if items and dataclasses.is_dataclass(items[0])}
    names = [key for key in lists if key != "facts"] if name is None else [name]
    if len(names) != 1 or names[0] not in lists:
        raise InvalidArgumentError(f"which list of {answer_type.__name__}? Name one of {', '.join(lists)}")
    return getattr(answer, names[0]), lists[names[0]]


def arrow_table(rows: Sequence[Any], row_type: Any) -> Any:
    """Return rows of a class as a table of pyarrow; without rows, with its columns."""
    pa, records = _import_library("pyarrow"), list(map(to_record, rows))
    types = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    columns = {
        _column_name(field): next((types[kind] for kind in types if _is_subclass(field.type_hint, kind)), None)
        for field in answer_fields(row_type)
    }
    return pa.table({name: pa.array([record[name] for record in records], kind) for name, kind in columns.items()})


def _is_subclass(hint: Any, kind: type) -> bool:
    value_type = _value_type(hint)
    if isinstance(value_type, type) and issubclass(value_type, bool):
        return kind is bool
    return isinstance(value_type, type) and get_origin(value_type) is None and issubclass(value_type, kind)


def pandas_frame(rows: Sequence[Any], row_type: Any) -> Any:
    """Return rows of a class as a data frame of pandas."""
    names = column_names(row_type)
    return _import_library("pandas").DataFrame(list(map(to_record, rows)), columns=names)


def polars_frame(rows: Sequence[Any], row_type: Any) -> Any:
    """Return rows of a class as a data frame of Polars."""
    polars = _import_library("polars")
    names = column_names(row_type)
    return (
        polars.DataFrame(list(map(to_record, rows)), infer_schema_length=None)
        if rows
        else polars.DataFrame(schema=names)
    )


def _import_library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        remedy = how_to_install("parquet") if name == "pyarrow" else f"pip install {name}"
        raise UsageError(f"this needs {name}: {remedy}") from None


def short_text(name: str, blocks: Rendered) -> str:
    """Return a few lines for a prompt: the name of a class and the first lines of its text, or of its table."""
    texts, rows = list[str](), list[str]()
    for block in blocks:
        if isinstance(block, RenderedTable):
            rows += ["  ".join(filter(None, map(str, row))) for row in islice(block.rows, _MAX_LINES)]
        elif block and len(texts) < _MAX_LINES:
            texts.append(block)
    lines = texts if len(texts) > 1 else (texts + rows)[:_MAX_LINES]
    return "\n  ".join(map(_shorten, f"{name}: {chr(10).join(lines)}".splitlines()))


def _shorten(line: str) -> str:
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 1]}…"


def html_text(blocks: Rendered) -> str:
    """Return lines and tables as HTML; of many lines or rows, the first ones."""
    parts, lines = list[str](), 0
    for block in blocks:
        if isinstance(block, RenderedTable):
            parts.append(_html_table(block.headers, block.rows))
            continue
        lines += 1
        if lines <= _MAX_ROWS + 1:
            parts.append(f"<p>{escape(block) if lines <= _MAX_ROWS else '…'}</p>")
    return "".join(parts)


def _html_table(headers: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    lines = list(rows)
    cells = "".join(f"<tr>{_cells('td', line)}</tr>" for line in lines[:_MAX_ROWS])
    more = f"<p>… {pluralize(len(lines) - _MAX_ROWS, 'more row')}</p>" if len(lines) > _MAX_ROWS else ""
    return f"<table><thead><tr>{_cells('th', headers)}</tr></thead><tbody>{cells}</tbody></table>{more}"


def _cells(tag: str, values: Iterable[object]) -> str:
    return "".join(f"<{tag}>{'' if value is None else escape(str(value))}</{tag}>" for value in values)
