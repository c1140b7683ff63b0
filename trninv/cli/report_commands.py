"""Run reports and SQL, and export tables."""

import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

import click
from sqlalchemy import Engine

from trninv.characters import escape_controls
from trninv.cli.database_connection import at_option, open_engine
from trninv.cli.output import MAX_LIMIT, print_revision, print_table, read_argument
from trninv.cli.progress_line import Progress
from trninv.database.revision import RevisionTracker
from trninv.database.snapshot import read_with_revision
from trninv.errors import InvalidArgumentError, UsageError
from trninv.reports.query_compiler import compile_query
from trninv.reports.query_runner import MAX_RESULT_ROWS, QueryResult, RowStream, run_query
from trninv.reports.report_library import find_report as named
from trninv.reports.report_library import read_reports, run_report
from trninv.reports.row_formats import FORMATS, available_formats, column_types, to_text, write_parquet
from trninv.reports.table_export import export_tables as exported
from trninv.settings import Settings

T = TypeVar("T")
_OPTIONAL_COLUMNS = ("answers", "parameters")
"""Columns of the list of reports that are omitted on a narrow terminal."""

_format_option = click.option(
    "--format",
    "style",
    type=click.Choice(["table", *FORMATS]),
    default="table",
    show_default=True,
    help="Output format; parquet needs a file or a pipe.",
)
_limit_option = click.option(
    "--limit",
    type=click.IntRange(1, MAX_LIMIT),
    default=MAX_RESULT_ROWS,
    show_default=True,
    help="Maximum number of rows.",
)


def _check_seconds(_context: click.Context, _option: click.Parameter, seconds: float) -> float:
    if not 0 < seconds <= _SECONDS_PER_DAY:  # refuses nan too
        raise click.BadParameter(f"give a number of seconds above 0 and at most {_SECONDS_PER_DAY:,}")
    return seconds


_SECONDS_PER_DAY = 86_400
_seconds_option = click.option(
    "--seconds", type=float, default=60.0, show_default=True, callback=_check_seconds, help="Time limit."
)
_folder_option = click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory of your own reports.  [default: TRNINV_REPORTS]",
)


@click.command()
@click.argument("name", required=False)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the report; repeatable.")
@_folder_option
@at_option
@_format_option
@_limit_option
@_seconds_option
@click.pass_obj
def report(  # one parameter per option
    database: str,
    name: str | None,
    settings: tuple[str, ...],
    folder: Path | None,
    as_of: str | None,
    style: str,
    limit: int,
    seconds: float,
) -> None:
    """Run a report, or list all reports.

    A report is an SQL file with a title and a description.

    \b
    trninv report
    trninv report capacity --set generation=trn2 --format csv
    """
    folder = folder or Settings.load().reports
    if name is None:
        _list_reports(folder, style)
        return
    definition = named(name, folder)
    values = {key: value for setting in settings for key, _, value in [_parse_setting(setting)]}
    with open_engine(database, as_of, values.get("cluster")) as engine:
        run = partial(run_query, engine, seconds=seconds, max_rows=limit)
        result = _run_with_progress(engine, name, lambda _: run_report(definition, values, engine.dialect.name, run))
    if style == "table":
        click.echo(f"{definition.title}\n")
    _print_rows(result, style)


def _run_with_progress(engine: Engine, name: str, read: Callable[[Progress], T]) -> T:
    """Return the result of `read`, showing progress and then the revision that was read."""
    with closing(RevisionTracker(engine)) as source, Progress(name) as progress:
        result, snapshot = read_with_revision(source, lambda: read(progress))
    print_revision(snapshot)
    return result


def _parse_setting(text: str) -> tuple[str, str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidArgumentError(f"--set {text}: write NAME=VALUE")
    return name, equals, value


def _list_reports(folder: Path | None, style: str) -> None:
    with Progress("report"):
        definitions = read_reports(folder).values()
    cells = [
        (
            definition.name,
            definition.title,
            definition.summary,
            ", ".join(f"{parameter.name}={parameter.default!r}" for parameter in definition.parameters),
        )
        for definition in definitions
    ]
    _print_rows(QueryResult(("name", "title", "answers", "parameters"), cells, truncated=False), style)


@click.command()
@click.argument("query")
@at_option
@_format_option
@_limit_option
@_seconds_option
@click.pass_obj
def sql(database: str, query: str, as_of: str | None, style: str, limit: int, seconds: float) -> None:
    """Run one SELECT over the tables and the v_ views.

    It cannot change anything. - reads it from stdin.

    \b
    trninv sql "SELECT address, state FROM v_chip WHERE state <> 'up'"
    """
    text = read_argument(query)
    with open_engine(database, as_of) as engine:
        query = compile_query(text, engine.dialect.name)
        result = _run_with_progress(engine, "sql", lambda _: run_query(engine, query, seconds=seconds, max_rows=limit))
    _print_rows(result, style)


def _print_rows(result: QueryResult, style: str) -> None:
    if style == "parquet":
        if sys.stdout.isatty():
            raise UsageError("Parquet cannot be printed to a terminal; add > FILE.parquet")
        write_parquet(RowStream(result.columns, iter(result.rows)), column_types(result), sys.stdout.buffer)
    elif style == "table":
        print_table(result.columns, result.rows, optional_columns=_OPTIONAL_COLUMNS, empty_text="no rows")
    else:
        text = to_text(result, style)
        click.echo(escape_controls(text, keep="\n") if style != "csv" or sys.stdout.isatty() else text)
    if result.truncated:
        click.echo(f"truncated: only the first {len(result.rows):,} rows are shown (--limit)", err=True)


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--format",
    "style",
    type=click.Choice(["parquet", "csv", "ndjson"]),
    default="parquet",
    show_default=True,
    help="Format of the files.",
)
@at_option
@click.pass_obj
def export(database: str, directory: Path, style: str, as_of: str | None) -> None:
    """Export every table and view to a file.

    The schema is exported as a property graph (SQL/PGQ).

    \b
    trninv export fleet --format parquet
    """

    def write(progress: Progress) -> None:
        for name, number in exported(engine, directory, style, progress):
            progress.print_above(f"{directory / name}.{style}: {number:,} rows")

    if style not in available_formats():
        raise UsageError("Parquet needs PyArrow: pip install 'trninv[parquet]', or use --format csv or ndjson")
    with open_engine(database, as_of) as engine:
        _run_with_progress(engine, "export", write)
    click.echo(f"{directory / 'property_graph.sql'}")
