"""What commands print: tables for people, JSON with the field names of the GraphQL types for programs."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any, get_args

import click

from trninv.characters import plain
from trninv.choice import Choice
from trninv.cli.importing import importing
from trninv.cli.prose import say
from trninv.errors import UsageError
from trninv.inventory.pinned import AsOf
from trninv.routing.answer import Answer, Basis, CitedFact, Form, LinkRef, Table, size_of
from trninv.routing.shown import Shown, shown, unannotated
from trninv.units import Bandwidth, Capacity, Duration

_ADDRESS = "address"
_NOBODY: Mapping[str, str] = {}
MOST = 1_000_000_000
"""What any command may be asked for at most, which every database can count to."""

format_option = click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print.",
)


def text_of(word: str) -> str:
    """A word of the command line, or for - what stdin gives.

    Raises
    ------
    UsageError
        That is not UTF-8.

    """
    try:
        return sys.stdin.read() if word == "-" else word
    except UnicodeDecodeError:
        raise UsageError("what stdin gives is not UTF-8: convert it") from None


def show(style: str, value: Any, table: Callable[[], None]) -> None:
    """Print a value as JSON, or call the function that prints it for people."""
    if style == "json":
        click.echo(json_text(encode(value)))
    else:
        table()


def json_text(value: Any) -> str:
    """JSON that a terminal only shows."""
    return plain(json.dumps(value, indent=2, ensure_ascii=False), but="\n")


def rows(
    headers: Sequence[str], lines: Iterable[Iterable[object]], *, spare: Sequence[str] = (), none: str = ""
) -> None:
    """Print a table; cells are printed as `str` gives them, without what a terminal would obey.

    Parameters
    ----------
    spare
        Columns that a terminal does without where the table would not fit, the first of them first.
    none
        What a terminal shows instead of a table without lines: what that means, and which command comes next.

    """
    shown = [cells_of(line) for line in lines]
    named = [plain(header) for header in headers]
    if sys.stdout.isatty() and not shown and none:
        say(none)
        return
    if sys.stdout.isatty():
        with importing():
            from trninv.cli import terminal  # noqa: PLC0415 # a pipe does without
        terminal.table(named, shown, spare)
        return
    widths = [max([len(header) + 2, *map(len, cells)]) for header, *cells in zip(named, *shown, strict=True)]
    for line in (named, ["-" * width for width in widths], *shown):
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def cut(found: Sequence[object], most: int, option: str) -> None:
    """Say of a list that has more than is shown how to see the rest."""
    if len(found) > most:
        say(f"there are more than these {most:,}: {option} shows them", err=True)


def cells_of(line: Iterable[object]) -> list[str]:
    """What a line of a table shows."""
    return ["" if cell is None else plain(str(cell).strip()) for cell in line]


def tell(
    answer: Answer,
    rows_at_most: int | None = None,
    standing: Mapping[str, str] = _NOBODY,
    more: Iterable[str] = (),
) -> None:
    """Print an answer, what a scenario changes in it, more lines, and what it means and rests on.

    Parameters
    ----------
    standing
        What stands at servers, by their addresses.

    """
    for part in answer.told():
        if not isinstance(part, Table):
            say(part)
            continue
        headers, listed = part.headers, [list(line) for line in part.rows]
        if standing and _ADDRESS in headers:
            at = headers.index(_ADDRESS)
            headers = [*headers, "stands there"]
            listed = [[*line, standing.get(server_of(line[at]))] for line in listed]
        rows(headers, listed[:rows_at_most])
        if len(listed) > len(listed[:rows_at_most]):
            click.echo(f"… {len(listed) - len(listed[:rows_at_most]):,} more (--top, --format json)")
    for line in (*answer.compared(), *more):
        say(str(line))
    _footnotes(answer)


def servers_in(answer: Answer) -> set[str]:
    """Addresses of the servers that are, or have in them, what an answer's tables for people are of."""
    tables = [part for part in answer.told() if isinstance(part, Table) and _ADDRESS in part.headers]
    return {server_of(list(line)[part.headers.index(_ADDRESS)]) for part in tables for line in part.rows}


def server_of(address: object) -> str:
    """The address of the server that a chip, core or NIC is in."""
    return "/".join(str(address).split("--")[0].split("/")[:3])


def tell_state(found: AsOf | None) -> None:
    """Say on a terminal's stderr which state of the database was read."""
    if found and sys.stderr.isatty():
        of = found.fields()
        click.echo(f"as of {of['time']}, revision {of['revision'] or 'unknown'}", err=True)


def _footnotes(answer: Answer) -> None:
    say(f"\nmeaning: {answer.definition}")
    if answer.basis is not Basis.DESIGN:
        say("rests on: design as observed (wiring as the driver's table says, not measured)")
    for fact in answer.facts:
        say(f"rests on: {fact.subject} {fact.attribute} {fact.value}, from {fact.source}: {fact.quote}")
    for note in dict.fromkeys(fact.note for fact in answer.facts if fact.disputed and fact.note):
        say(f"disputed: {note}")
    for fact in answer.facts:
        if fact.assumed:
            say(f"assumed: {fact.subject} {fact.attribute}")


@singledispatch
def encode(value: Any) -> Any:
    """A frozen answer as JSON values: fields and properties in camelCase, exact integers as decimal strings."""
    return _fields(value)


@encode.register
def _(value: str | int | float | None) -> str | float | None:
    return value


@encode.register
def _(value: Choice) -> str:
    return value.name


@encode.register(list)
@encode.register(tuple)
def _(value: Sequence[Any]) -> list[Any]:
    return [encode(each) for each in value]


@encode.register(dict)
def _(value: dict[str, Any]) -> dict[str, Any]:
    return {key: encode(each) for key, each in value.items()}


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
    return _fields(value) | {"source": {"title": value.source}}


def _fields(value: Any) -> dict[str, Any]:
    found = dict[str, Any]()
    for each in shown(value.__class__):
        of = getattr(value, each.name)
        if Form.PAGED in each.forms:
            found[_camel(each.name)] = {"totalCount": size_of(value, each.name), "nodes": encode(of)}
        elif of is not None or each.name not in _OPTIONAL:
            found[_camel(each.name)] = str(of) if of is not None and _is_exact(each) else encode(of)
    return found


def _is_exact(of: Shown) -> bool:
    """Whether a field is an integer of more than 31 bits, null or not."""
    return Form.EXACT in of.forms.union(*(unannotated(each)[1] for each in get_args(of.hint)))


_OPTIONAL = ("baseline", "difference")
"""Fields that exist only if a scenario was asked about."""


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
