"""Run reports, SQL and Cypher, and export tables (`report`, `sql`, `cypher`, `export`)."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trninv.characters import escape_controls
from trninv.cli.database_connection import at_option, open_engine, open_service
from trninv.cli.output import MAX_LIMIT, print_revision, print_table, read_argument
from trninv.cli.progress_line import Progress
from trninv.database.query_result import MAX_RESULT_ROWS, QueryResult, RowStream
from trninv.database.revision import RevisionTracker
from trninv.database.snapshot import SharedSnapshot
from trninv.errors import InvalidArgumentError, UsageError, how_to_install
from trninv.graph_projection.cypher_query import copy_projection, run_cypher
from trninv.graph_projection.projection_store import package_directory
from trninv.reports.query_compiler import compile_query
from trninv.reports.query_runner import run_query
from trninv.reports.report_library import find_report, read_reports, run_report
from trninv.reports.row_formats import FORMATS, available_formats, column_types, to_text, with_text_cells, write_parquet
from trninv.reports.table_export import export_tables
from trninv.settings import Settings, is_service

if TYPE_CHECKING:
    from trninv.remote.remote_fleet import RemoteFleet

_OPTIONAL_COLUMNS = {"unhealthy": ("change", "cause")}
"""Columns of reports that a narrow terminal omits; of a user's own query, it omits none."""

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
    "--seconds", type=float, default=60.0, show_default=True, callback=_check_seconds, help="Time limit in seconds."
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

    A report is an SQL file with a title and a description; --folder adds yours.

    \b
    trninv report                  # all reports
    trninv report unhealthy --set cluster=u-trn2x64
    trninv report capacity --set generation=trn2 --format csv
    """
    if is_service(database):
        if folder is not None:
            raise UsageError("a service has reports of its own; omit --folder")
        with _open_service(database, as_of, seconds) as fleet:
            _print_service_report(fleet, name, dict(map(_parse_setting, settings)), style, limit)
        return
    folder = folder or Settings.load().reports
    if name is None:
        _list_reports(folder, style)
        return
    definition = find_report(name, folder)
    values = dict(map(_parse_setting, settings))
    with _open_snapshot(database, as_of, values.get("cluster")) as (snapshot, _):
        result = run_report(snapshot, definition, values, seconds=seconds, max_rows=limit)
    if style == "table":
        click.echo(f"{definition.title}\n")
    print_rows(result, style, _OPTIONAL_COLUMNS.get(name, ()))


@contextmanager
def _open_snapshot(
    database: str, as_of: str | None, scope: str | None = None
) -> Iterator[tuple[SharedSnapshot, Progress]]:
    """Yield a snapshot and the progress that is shown meanwhile; at the end, print the revision that was read."""
    with (
        open_engine(database, as_of, scope) as engine,
        closing(RevisionTracker(engine)) as tracker,
        closing(SharedSnapshot(tracker)) as snapshot,
    ):
        with Progress(click.get_current_context().info_name or "") as progress:
            yield snapshot, progress
        print_revision(snapshot.as_of)


@contextmanager
def _open_service(url: str, as_of: str | None, seconds: float) -> Iterator["RemoteFleet"]:
    """Yield a fleet of a service; at the end, print the revision that its last call read."""
    with open_service(url, as_of, seconds=seconds) as fleet:
        yield fleet
        print_revision(fleet.as_of())


def _parse_setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidArgumentError(f"--set {text}: write NAME=VALUE")
    return name, value


def _list_reports(folder: Path | None, style: str) -> None:
    with Progress("report"):
        definitions = read_reports(folder).values()
    _print_reports([asdict(definition) for definition in definitions], style)


def _print_reports(reports: Iterable[Mapping[str, Any]], style: str) -> None:
    cells = [
        (
            report["name"],
            report["title"],
            report["summary"],
            ", ".join(f"{parameter['name']}={parameter['default']!r}" for parameter in report["parameters"]),
        )
        for report in reports
    ]
    columns = ("name", "title", "answers", "parameters")
    print_rows(QueryResult(columns, cells, truncated=False), style, ("answers", "parameters"))


def _print_service_report(
    fleet: "RemoteFleet", name: str | None, values: Mapping[str, str], style: str, limit: int
) -> None:
    reports = {report["name"]: report for report in fleet.reports()} if name is None or style == "table" else {}
    if name is None:
        _print_reports(reports.values(), style)
        return
    result = fleet.report(name, values, limit=limit)
    if style == "table":
        click.echo(f"{reports[name]['title']}\n")
    print_rows(result, style, _OPTIONAL_COLUMNS.get(name, ()))


@click.command()
@click.argument("query")
@at_option
@_format_option
@_limit_option
@_seconds_option
@click.pass_obj
def sql(database: str, query: str, as_of: str | None, style: str, limit: int, seconds: float) -> None:
    """Run one SELECT over the tables and the v_ views.

    QUERY cannot change anything. - reads it from stdin.

    \b
    trninv sql "SELECT address, state FROM v_chip WHERE state <> 'up'"
    """
    text = read_argument(query)
    if is_service(database):
        with _open_service(database, as_of, seconds) as fleet:
            result = fleet.sql_rows(text, max_rows=limit)
        print_rows(result, style)
        return
    with _open_snapshot(database, as_of) as (snapshot, _):
        compiled = compile_query(text, snapshot.engine.dialect.name)
        result = run_query(snapshot, compiled, seconds=seconds, max_rows=limit)
    print_rows(result, style)


@click.command()
@click.argument("query")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A text for $NAME in QUERY; repeatable.")
@at_option
@_format_option
@_limit_option
@_seconds_option
@click.pass_obj
def cypher(
    database: str,
    query: str,
    settings: tuple[str, ...],
    as_of: str | None,
    style: str,
    limit: int,
    seconds: float,
) -> None:
    """Run one Cypher query over the fleet as a graph.

    QUERY cannot change anything. - reads it from stdin. The first query after a change updates the graph, which takes
    about a second, or half a minute the first time. Needs the extra graph (trninv docs deploy, Extras).

    \b
    trninv cypher "MATCH (c:Chip) RETURN c.state, count(*)"
    """
    parameters, text = dict(map(_parse_setting, settings)), read_argument(query)
    if is_service(database):
        with _open_service(database, as_of, seconds) as fleet:
            result = fleet.cypher(text, parameters, limit=limit)
        print_rows(result, style)
        return
    with _open_snapshot(database, as_of) as (snapshot, progress):
        result = run_cypher(snapshot, text, parameters, seconds=seconds, max_rows=limit, waiting=progress)
    print_rows(result, style)


def print_rows(result: QueryResult, style: str, optional_columns: Sequence[str] = ()) -> None:
    """Print rows as a table or in one of the `FORMATS`, and say on stderr if there are more rows."""
    if style not in ("json", "ndjson"):
        result = with_text_cells(result)
    if style == "parquet":
        if sys.stdout.isatty():
            raise UsageError("Parquet cannot be printed to a terminal; add > FILE.parquet")
        write_parquet(RowStream(result.columns, iter(result.rows)), column_types(result), sys.stdout.buffer)
    elif style == "table":
        print_table(
            result.columns, result.rows, optional_columns=optional_columns, empty_text="no rows", exact_times=True
        )
    else:
        text = to_text(result, style)
        click.echo(escape_controls(text, keep="\n") if style != "csv" or sys.stdout.isatty() else text)
    if result.truncated:
        click.echo(f"truncated: only the first {len(result.rows):,} rows are shown (--limit)", err=True)


_GRAPH_FORMATS = ("neo4j", "ladybug")


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--format",
    "style",
    type=click.Choice(["parquet", "csv", "ndjson", *_GRAPH_FORMATS]),
    default="parquet",
    show_default=True,
    help="Format of the files; neo4j and ladybug are the graph that Cypher reads.",
)
@at_option
@click.pass_obj
def export(database: str, directory: Path, style: str, as_of: str | None) -> None:
    """Export every table and view, each to its own file.

    DIRECTORY also gets property_graph.sql, which declares the tables as a property graph (SQL/PGQ).

    \b
    trninv export fleet --format parquet
    """
    if style in _GRAPH_FORMATS:
        _export_graph(database, directory, style, as_of)
        return
    if style not in available_formats():
        raise UsageError(f"Parquet needs PyArrow: {how_to_install('parquet')}, or use --format csv or ndjson")
    with _open_snapshot(database, as_of) as (snapshot, progress):
        for name, number in export_tables(snapshot, directory, style, progress):
            progress.print_above(f"{directory / name}.{style}: {number:,} rows")
    click.echo(f"{directory / 'property_graph.sql'}")


def _export_graph(database: str, directory: Path, style: str, as_of: str | None) -> None:
    package_directory()  # fails if the extra is missing
    with _open_snapshot(database, as_of) as (snapshot, progress):
        if style == "ladybug":
            file = copy_projection(snapshot, directory, progress)
            progress.print_above(str(file))
            return
        from trninv.graph_projection.neo4j_files import import_options, write_neo4j_files  # noqa: PLC0415 # an extra

        with snapshot.read() as (connection, _):
            for file, number in write_neo4j_files(connection, directory):
                progress.print_above(f"{file}: {number:,} rows")
    click.echo(f"import with: neo4j-admin database import full {import_options(directory)}")
