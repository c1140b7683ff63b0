"""report, sql, export: SQL that only reads, for people, programs and files."""

import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

import click
from sqlalchemy import Engine

from trninv.characters import plain
from trninv.cli.moment import at_option, connected
from trninv.cli.output import MOST, rows, tell_state, text_of
from trninv.cli.progress import Progress
from trninv.errors import LimitError, UsageError
from trninv.inventory.pinned import stamped
from trninv.inventory.revision import Revision
from trninv.reports.asked import asked
from trninv.reports.export import export as exported
from trninv.reports.guard import checked
from trninv.reports.library import report as named
from trninv.reports.library import reports
from trninv.reports.output import FORMATS, as_text, formats, kinds_of, parquet
from trninv.reports.reader import MOST_ROWS, Found, Stream, find
from trninv.settings import Settings

T = TypeVar("T")
_SPARE = ("answers", "parameters")
"""Columns of the list of reports that a narrow terminal does without."""

_format = click.option(
    "--format",
    "style",
    type=click.Choice(["table", *FORMATS]),
    default="table",
    show_default=True,
    help="How to print; parquet needs a file or a pipe.",
)
_limit = click.option(
    "--limit", type=click.IntRange(1, MOST), default=MOST_ROWS, show_default=True, help="At most this many rows."
)


def _within_a_day(_context: click.Context, _option: click.Parameter, seconds: float) -> float:
    if not 0 < seconds <= _DAY:  # nor is it nan
        raise click.BadParameter(f"give a number of seconds above 0, {_DAY:,} at most")
    return seconds


_DAY = 86_400
_seconds = click.option(
    "--seconds", type=float, default=60.0, show_default=True, callback=_within_a_day, help="How long it may take."
)
_folder = click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory of your own reports.  [default: TRNINV_REPORTS]",
)


@click.command()
@click.argument("name", required=False)
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="A parameter of the report; repeatable.")
@_folder
@at_option
@_format
@_limit
@_seconds
@click.pass_obj
def report(  # an option each
    database: str,
    name: str | None,
    given: tuple[str, ...],
    folder: Path | None,
    at: str | None,
    style: str,
    limit: int,
    seconds: float,
) -> None:
    """Run a report, or list them: SQL files that say what they answer.

    \b
    trninv report
    trninv report capacity --set generation=trn2 --format csv
    """
    folder = folder or Settings.load().reports
    if name is None:
        _list(folder, style)
        return
    wanted = named(name, folder)
    values = {key: value for each in given for key, _, value in [_pair(each)]}
    with connected(database, at, values.get("cluster")) as engine:
        run = partial(find, engine, seconds=seconds, most=limit)
        found = _told(engine, name, lambda _: asked(wanted, values, engine.dialect.name, run))
    if style == "table":
        click.echo(f"{wanted.title}\n")
    _print(found, style)


def _told(engine: Engine, doing: str, read: Callable[[Progress], T]) -> T:
    """What is read; a line on the terminal says how far it is, and then of which state."""
    with closing(Revision(engine)) as source, Progress(doing) as progress:
        found, state = stamped(source, lambda: read(progress))
    tell_state(state)
    return found


def _pair(text: str) -> tuple[str, str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise LimitError(f"--set {text}: write NAME=VALUE")
    return name, equals, value


def _list(folder: Path | None, style: str) -> None:
    with Progress("report"):
        found = reports(folder).values()
    listed = [
        (each.name, each.title, each.answers, ", ".join(f"{p.name}={p.default!r}" for p in each.parameters))
        for each in found
    ]
    _print(Found(("name", "title", "answers", "parameters"), listed, truncated=False), style)


@click.command()
@click.argument("query")
@at_option
@_format
@_limit
@_seconds
@click.pass_obj
def sql(database: str, query: str, at: str | None, style: str, limit: int, seconds: float) -> None:
    """Run one SELECT over the tables and the v_ views, guaranteed read only; - reads it from stdin.

    \b
    trninv sql "SELECT address, state FROM v_chip WHERE state <> 'up'"
    """
    text = text_of(query)
    with connected(database, at) as engine:
        query = checked(text, engine.dialect.name)
        found = _told(engine, "sql", lambda _: find(engine, query, seconds=seconds, most=limit))
    _print(found, style)


def _print(found: Found, style: str) -> None:
    if style == "parquet":
        if sys.stdout.isatty():
            raise UsageError("Parquet is for a file: add > FILE.parquet")
        parquet(Stream(found.columns, iter(found.rows)), kinds_of(found), sys.stdout.buffer)
    elif style == "table":
        rows(found.columns, found.rows, spare=_SPARE, none="no rows")
    else:
        text = as_text(found, style)
        click.echo(plain(text, but="\n") if style != "csv" or sys.stdout.isatty() else text)
    if found.truncated:
        click.echo(f"truncated: there are more than these {len(found.rows):,} rows (--limit)", err=True)


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--format",
    "style",
    type=click.Choice(["parquet", "csv", "ndjson"]),
    default="parquet",
    show_default=True,
    help="Of the files.",
)
@at_option
@click.pass_obj
def export(database: str, directory: Path, style: str, at: str | None) -> None:
    """Write every table and view to a file, and the schema as a property graph (SQL/PGQ).

    \b
    trninv export fleet --format parquet
    """

    def write(progress: Progress) -> None:
        for name, number in exported(engine, directory, style, progress):
            progress.say(f"{directory / name}.{style}: {number:,} rows")

    if style not in formats():
        raise UsageError("Parquet needs PyArrow: pip install 'trninv[parquet]', or export --format csv or ndjson")
    with connected(database, at) as engine:
        _told(engine, "export", write)
    click.echo(f"{directory / 'property_graph.sql'}")
