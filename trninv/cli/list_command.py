"""List all objects of a kind, such as chips or links (`list`)."""

from collections.abc import Callable, Iterator
from typing import Final

import click
from click.shell_completion import CompletionItem

from trninv.cli.command_index import shorten
from trninv.cli.database_connection import at_option, read_connection, read_service_list
from trninv.cli.listing import limit_option, optional_columns
from trninv.cli.report_commands import print_rows
from trninv.cli.shell_completion import ADDRESS
from trninv.database.query_result import QueryResult
from trninv.graphql.list_arguments import ordered_fields
from trninv.graphql.thing_listing import (
    LISTED_KINDS,
    filter_fields,
    list_arguments,
    read_rows,
    stream_cells,
    with_units,
)
from trninv.inventory.schema.listing import choose_fields
from trninv.inventory.schema.thing import Thing
from trninv.settings import is_service

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_EPILOG: Final = "\b\nKinds:\n" + "\n".join(
    f"  {name:<13} {shorten(kind.description, 60)}" for name, kind in LISTED_KINDS.items()
)


def _completer(read_names: Callable[[Thing], Iterator[tuple[str, str]]]) -> Completer:
    """Return a function that completes the last name in a comma-separated list, from the names that a kind has."""

    def complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        # click parses no argument if the last option has no value yet
        kind = LISTED_KINDS.get(context.params.get("kind") or next(iter(context.args), ""))
        before, comma, word = incomplete.rpartition(",")
        names = read_names(kind) if kind else iter(())
        return [CompletionItem(before + comma + name, help=text) for name, text in names if name.startswith(word)]

    return complete


def _columns(kind: Thing) -> Iterator[tuple[str, str]]:
    return ((field.name, field.description) for field in kind.fields)


def _filters(kind: Thing) -> Iterator[tuple[str, str]]:
    """Yield the beginning of each filter for --where, by a field or a containing place, with a description."""
    for name, field in filter_fields(kind).items():
        yield f"{name}=", field.description if field else f"The {name} that it is in."


def _sort_keys(kind: Thing) -> Iterator[tuple[str, str]]:
    return ((field.name, field.description) for field in ordered_fields(kind))


def _split(names: str | None) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()] if names else []


@click.command("list", epilog=_EPILOG)
@click.argument("kind", type=click.Choice(list(LISTED_KINDS)), metavar="KIND")
@click.argument("place", required=False, type=ADDRESS)
@click.option(
    "--where",
    multiple=True,
    metavar="FILTER",
    shell_complete=_completer(_filters),
    help="Conditions that must all hold, such as 'state=down memory>24GiB'; repeatable. Operators: = != < <= > >= and "
    '~ (contains the text, ignoring case); job="" finds rows without a job.',
)
@click.option(
    "--sort",
    metavar="FIELDS",
    shell_complete=_completer(_sort_keys),
    help="Fields to sort by, separated by commas; -FIELD is descending.",
)
@click.option(
    "--columns",
    metavar="FIELDS",
    shell_complete=_completer(_columns),
    help="Columns, separated by commas.  [default: all but id]",
)
@limit_option
@click.option("--all", "everything", is_flag=True, help="Include ended bindings and cordons, and cleared findings.")
@at_option
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json", "csv", "ndjson"]),
    default="table",
    show_default=True,
    help="Output format; a table shows quantities with units, the others in bytes or bytes per second.",
)
@click.pass_obj
def list_(  # one parameter per option
    database: str,
    kind: str,
    place: str | None,
    where: tuple[str, ...],
    sort: str | None,
    columns: str | None,
    limit: int,
    everything: bool,
    as_of: str | None,
    style: str,
) -> None:
    """List all objects of a kind, such as chips, or only those in a place.

    Rows, order and fields are those of the kind's GraphQL list.

    \b
    trninv list chip u-trn2x64/d0/s0 --where state=up --columns address,memory
    trninv list link u-trn2x64 --where 'bandwidth<100GB/s' --sort -cables,scope
    trninv list server --where 'model~trn2 instance=""' --format csv
    """
    thing = LISTED_KINDS[kind]
    fields = choose_fields(thing, _split(columns))
    arguments = list_arguments(thing, place, where, _split(sort), everything=everything)
    if is_service(database):
        options = {"place": place, "where": where, "sort": _split(sort), "columns": [field.name for field in fields]}
        rows = read_service_list(database, as_of, kind, **options, ended=everything, limit=limit)
    else:
        with read_connection(database, as_of, place) as connection:
            stream = stream_cells(thing, fields, read_rows(connection, thing, arguments, limit + 1))
            cells = list(stream.rows)
        rows = QueryResult(stream.columns, cells[:limit], truncated=len(cells) > limit)
    if style == "table":
        rows = with_units(thing, rows)
    print_rows(rows, style, optional_columns(rows.columns))
