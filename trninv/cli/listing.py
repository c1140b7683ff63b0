"""List the things of one kind by its declaration (`jobs`, `cordons`, `bindings`); `list` also filters and sorts."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import click

from trninv.cli.database_connection import at_option, read_connection, read_service_list
from trninv.cli.output import MAX_LIMIT, camel_case, format_option, print_table, print_truncation, print_value
from trninv.cli.shell_completion import ADDRESS
from trninv.database.query_result import QueryResult
from trninv.inventory.address.lookup import resolve
from trninv.inventory.schema.listing import cell, choose_fields, select_things
from trninv.inventory.schema.thing import Field, Thing
from trninv.inventory.schema.things import THINGS
from trninv.settings import is_service

limit_option = click.option(
    "--limit", type=click.IntRange(1, MAX_LIMIT), default=10_000, show_default=True, help="Maximum number of rows."
)


def listing_options(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options of `print_listing` for a kind."""
    kind = THINGS[name]
    options: list[Callable[..., Any]] = [
        click.pass_obj,
        format_option,
        *([at_option] if kind.has_scope else []),
        limit_option,
    ]
    if kind.lifetime:
        description = kind.lifetime.description.replace("Whether to include", "Include")
        options.append(click.option("--ended", "everything", is_flag=True, help=description))
    if kind.has_scope:
        options.append(click.argument("scope", required=False, metavar="[SCOPE]", type=ADDRESS))
    return lambda command: reduce(lambda decorated, option: option(decorated), options, command)


def print_listing(
    name: str,
    empty_text: str,
    database: str,
    *,
    style: str,
    limit: int,
    scope: str | None = None,
    as_of: str | None = None,
    everything: bool = False,
) -> None:
    """Print the things of a kind: as a table of its declared columns, or all fields as JSON.

    Parameters
    ----------
    empty_text
        What a terminal shows if there are none: why, and which command to run next.

    """
    kind = THINGS[name]
    fields = choose_fields(kind, () if style == "json" else kind.table_columns(everything=everything))
    names = [field.name for field in fields]
    if is_service(database):
        listed = name.replace("_", "-")
        result = read_service_list(database, as_of, listed, limit=limit, place=scope, columns=names, ended=everything)
    else:
        result = _read_listing(database, as_of, kind, fields, scope, everything=everything, limit=limit)
    records = [dict(zip(names, row, strict=True)) for row in result.rows]
    print_value(
        style,
        [{camel_case(name): value for name, value in record.items()} for record in records],
        lambda: print_table(
            names,
            (record.values() for record in records),
            optional_columns=optional_columns(names),
            empty_text=empty_text,
            exact_times=name == "event",
        ),
    )
    print_truncation([*records, *[None] * result.truncated], limit, "--limit N")


def _read_listing(
    database: str,
    as_of: str | None,
    kind: Thing,
    fields: Sequence[Field],
    scope: str | None,
    *,
    everything: bool,
    limit: int,
) -> QueryResult:
    with read_connection(database, as_of, scope) as connection:
        place = None if scope is None else resolve(connection, scope)
        query = select_things(kind, place, everything=everything).limit(limit + 1)
        rows = connection.execute(query).mappings().all()
    cells = [tuple(cell(kind, field, row) for field in fields) for row in rows[:limit]]
    return QueryResult(tuple(field.name for field in fields), cells, truncated=len(rows) > limit)


def optional_columns(names: Sequence[str]) -> Sequence[str]:
    """Return the columns that a narrow terminal omits: all but the first two, the last ones first."""
    return names[:1:-1]


@click.command()
@listing_options("job")
def jobs(database: str, **options: Any) -> None:
    """List jobs with their chips, place and failed chips.

    Failed chips are chips of the job that are down or in maintenance. `trninv list job` filters and sorts jobs.

    \b
    trninv jobs
    trninv jobs u-trn2x64/d0/s1
    trninv jobs rainier/d7 --at 2026-11-22T02:10:00Z
    """
    hint = "no jobs here: trninv allocate JOB PLACE… allocates chips, trninv import jobs imports a scheduler's jobs"
    print_listing("job", hint, database, **options)


@click.command()
@listing_options("cordon")
def cordons(database: str, **options: Any) -> None:
    """List the cordoned servers, which take no new jobs.

    \b
    trninv cordons
    trninv cordons --at 2026-11-22T02:10:00Z
    """
    print_listing("cordon", "no server is cordoned: trninv cordon SERVER… cordons one", database, **options)


@click.command()
@listing_options("reservation")
def reservations(database: str, **options: Any) -> None:
    """List reservations of chips for jobs and for maintenance, by their start.

    \b
    trninv reservations
    trninv reservations u-trn2x64/d0/s1 --ended
    """
    hint = "nothing is reserved: trninv reserve NAME PLACE… --from TIME --until TIME reserves chips"
    print_listing("reservation", hint, database, **options)


@click.command()
@listing_options("binding")
def bindings(database: str, **options: Any) -> None:
    """List bindings: which instance runs in which slot, since when.

    \b
    trninv bindings lab/d0
    trninv bindings @i-0123456789abcdef0 --ended
    """
    hint = "no bindings: trninv infer-bindings binds imported instances, trninv bind SLOT INSTANCE binds one"
    print_listing("binding", hint, database, **options)
