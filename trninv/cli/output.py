"""What commands print: tables for people, JSON with the field names of the GraphQL types for programs."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click
from tabulate import tabulate

from trninv.routing.results import Answer, CitedFact, LinkRef
from trninv.units import Bandwidth, Capacity

format_option = click.option(
    "--format", "style", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to print."
)


def show(style: str, value: Any, table: Callable[[], None]) -> None:  # noqa: ANN401 # anything that encodes
    """Print a value as JSON, or call what prints it for people."""
    if style == "json":
        click.echo(json.dumps(encode(value), indent=2, ensure_ascii=False))
    else:
        table()


def rows(headers: Sequence[str], lines: Iterable[Sequence[object]]) -> None:
    """Print a table; cells are printed as they read, with no guess at numbers."""
    shown = [["" if cell is None else str(cell) for cell in line] for line in lines]
    click.echo(tabulate(shown, headers=list(headers), tablefmt="simple", disable_numparse=True))


def footnotes(answer: Answer) -> None:
    """What an answer means and rests on, below it."""
    click.echo(f"\nmeaning: {answer.definition}")
    for fact in answer.facts:
        click.echo(f"rests on: {fact.subject} {fact.attribute} {fact.value}, from {fact.source}: {fact.quote}")
    for note in dict.fromkeys(fact.note for fact in answer.facts if fact.disputed and fact.note):
        click.echo(f"disputed: {note}")
    for fact in answer.facts:
        if fact.assumed:
            click.echo(f"assumed: {fact.subject} {fact.attribute}")


def encode(value: Any) -> Any:  # noqa: ANN401 # recursive over any answer
    """A frozen answer as JSON values; fields and properties in camelCase, exact integers as decimal strings."""
    match value:
        case Bandwidth():
            return {
                "bytesPerSecond": str(int(value)),
                "gigabytesPerSecond": value.gigabytes_per_second,
                "gigabitsPerSecond": value.gigabits_per_second,
            }
        case Capacity():
            return {"bytes": str(int(value)), "gibibytes": value.gibibytes}
        case LinkRef():
            ends = {"a": {"address": value.a}, "b": {"address": value.b}}
            return {"address": value.address, **ends, "bandwidth": encode(value.bandwidth)}
        case CitedFact():
            return {**_fields(value, hidden=("id", "source")), "source": {"title": value.source}}
        case str() | int() | float() | None:
            return value
        case Mapping():
            return {key: encode(each) for key, each in value.items()}
        case _ if dataclasses.is_dataclass(value):
            return _fields(value, hidden=("link_id",))
    return [encode(each) for each in value]


def _fields(value: Any, hidden: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401 # any dataclass
    names = [field.name for field in dataclasses.fields(value)]
    names += [name for kind in type(value).__mro__ for name, member in vars(kind).items() if isinstance(member, property)]
    return {_camel(name): encode(getattr(value, name)) for name in names if name not in hidden}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
