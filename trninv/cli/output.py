"""Print the results of commands: tables for people, JSON with the field names of the GraphQL types for programs."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from typing import Any, get_args

import click

from trninv.characters import escape_controls
from trninv.cli.command_index import no_garbage_collection
from trninv.cli.messages import print_wrapped, to_cells
from trninv.database.snapshot import AsOf
from trninv.enumeration import DescribedEnum
from trninv.errors import UsageError
from trninv.routing.answer import (
    AnswerField,
    CitedFact,
    LinkRef,
    SchemaScalar,
    answer_fields,
    strip_annotations,
    total_count,
)
from trninv.units import TIMESTAMP, Bandwidth, Capacity, Duration, format_seconds

MAX_LIMIT = 1_000_000_000
"""Upper bound of every --limit and --last, which all databases can represent."""

format_option = click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)


def read_argument(argument: str) -> str:
    """Return an argument, or the content of stdin if it is "-".

    Raises
    ------
    UsageError
        stdin is not UTF-8.

    """
    try:
        return sys.stdin.read() if argument == "-" else argument
    except UnicodeDecodeError:
        raise UsageError("stdin is not UTF-8; convert it") from None


def print_value(style: str, value: Any, print_rows: Callable[[], None]) -> None:
    """Print a value as JSON, or call the function that prints it for people."""
    if style == "json":
        click.echo(json_text(encode(value)))
    else:
        print_rows()


def json_text(value: Any) -> str:
    """Return a value as indented JSON without control characters that a terminal would interpret."""
    return escape_controls(json.dumps(value, indent=2, ensure_ascii=False), keep="\n")


def _to_seconds(cell: str) -> str:
    return format_seconds(cell) if TIMESTAMP.fullmatch(cell) else cell


def print_table(
    headers: Sequence[str],
    lines: Iterable[Iterable[object]],
    *,
    optional_columns: Sequence[str] = (),
    empty_text: str = "",
    exact_times: bool = False,
) -> None:
    """Print a table of cells converted with `str`, with control characters escaped.

    Outside of a terminal, which shows how long ago they are, times are rounded up to the second.

    Parameters
    ----------
    optional_columns
        Columns to omit, in this order, if the table does not fit the terminal.
    empty_text
        Text that a terminal shows instead of an empty table: why it is empty, and which command to run next.
    exact_times
        Whether to print times as they are stored: rows of queries, and events, several of which may fall in a second.

    """
    table_cells = [to_cells(line) for line in lines]
    titles = [escape_controls(header) for header in headers]
    if sys.stdout.isatty() and not table_cells and empty_text:
        print_wrapped(empty_text)
        return
    if sys.stdout.isatty():
        with no_garbage_collection():
            from trninv.cli import terminal  # noqa: PLC0415 # not needed if output is piped
        terminal.print_terminal_table(titles, table_cells, optional_columns)
        return
    if not exact_times:
        table_cells = [[_to_seconds(cell) for cell in cells] for cells in table_cells]
    widths = [max([len(header) + 2, *map(len, cells)]) for header, *cells in zip(titles, *table_cells, strict=True)]
    for line in (titles, ["-" * width for width in widths], *table_cells):
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def print_truncation(listed: Sequence[object], limit: int, option: str) -> None:
    """If a list is longer than its limit, print to stderr which option shows the rest."""
    if len(listed) > limit:
        print_wrapped(f"only the first {limit:,} are shown: {option} shows more", err=True)


def print_revision(as_of: AsOf | None) -> None:
    """Print the time and revision that were read, if stderr is a terminal."""
    if as_of and sys.stderr.isatty():
        fields = as_of.fields()
        click.echo(f"as of {fields['time']}, revision {fields['revision'] or 'unknown'}", err=True)


@singledispatch
def encode(value: Any) -> Any:
    """Return an answer as JSON values: fields and properties in camelCase, exact integers as decimal strings."""
    return _fields_to_json(value)


@encode.register
def _(value: str | int | float | None) -> str | float | None:
    return value


@encode.register
def _(value: DescribedEnum) -> str:
    return value.name


@encode.register(list)
@encode.register(tuple)
def _(value: Sequence[Any]) -> list[Any]:
    return [encode(item) for item in value]


@encode.register(dict)
def _(value: dict[str, Any]) -> dict[str, Any]:
    return {key: encode(item) for key, item in value.items()}


@encode.register
def _(value: Bandwidth) -> dict[str, Any]:
    return {
        "bytesPerSecond": str(value.bytes_per_second),
        "gigabytesPerSecond": value.gigabytes_per_second,
        "gigabitsPerSecond": value.gigabits_per_second,
    }


@encode.register
def _(value: Duration) -> dict[str, Any]:
    return {"nanoseconds": str(int(value)), "microseconds": value.microseconds}


@encode.register
def _(value: Capacity) -> dict[str, Any]:
    return {"bytes": str(value.bytes), "gibibytes": value.gibibytes}


@encode.register
def _(value: LinkRef) -> dict[str, Any]:
    ends = {"a": {"address": value.a}, "b": {"address": value.b}}
    return {"address": value.address, **ends, "bandwidth": encode(value.bandwidth)}


@encode.register
def _(value: CitedFact) -> dict[str, Any]:
    return _fields_to_json(value) | {"source": {"title": value.source}}


def _fields_to_json(value: Any) -> dict[str, Any]:
    fields = dict[str, Any]()
    for field in answer_fields(value.__class__):
        content = getattr(value, field.name)
        if SchemaScalar.PAGED in field.scalars:
            fields[camel_case(field.name)] = {
                "totalCount": total_count(value, field.name),
                "nodes": encode(content),
            }
        elif content is not None or field.name not in _OPTIONAL_FIELDS:
            fields[camel_case(field.name)] = (
                str(content) if content is not None and _is_exact_integer(field) else encode(content)
            )
    return fields


def _is_exact_integer(field: AnswerField) -> bool:
    """Return whether a field, optional or not, is declared as an exact integer, which may exceed 31 bits."""
    return SchemaScalar.EXACT in field.scalars.union(
        *(strip_annotations(alternative)[1] for alternative in get_args(field.type_hint))
    )


_OPTIONAL_FIELDS = ("baseline", "difference")
"""Fields that are omitted if they are None: they have values only under a scenario."""


def camel_case(name: str) -> str:
    """Return a field's name as in GraphQL."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
