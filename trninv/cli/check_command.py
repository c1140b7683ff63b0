"""Check the fleet against the bounds in a file (`check`)."""

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

import trninv
from trninv.characters import escape_controls
from trninv.checks.check_file import Check, file_schema, parse_checks
from trninv.checks.check_watch import POLL_SECONDS, CheckWatch
from trninv.checks.evaluation import evaluate, github_annotations, junit_xml, render_table
from trninv.cli.answer_output import print_blocks
from trninv.cli.database_connection import at_option, open_fleet
from trninv.cli.import_files import print_errors
from trninv.cli.messages import print_wrapped
from trninv.cli.output import encode, json_text, print_revision
from trninv.cli.progress_line import Progress
from trninv.errors import DatabaseError, UsageError
from trninv.importers.yaml_list import MAX_BYTES

_NICENESS = 10
"""How much an evaluation gives way to the service's answers, as `nice` counts."""


@click.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, allow_dash=True), metavar="FILE")
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json", "junit", "github"]),
    default="table",
    show_default=True,
    help="Output format; junit: XML that CI systems read, github: annotations of a workflow.",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of FILE, for editors.")
@click.option(
    "--watch",
    "report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="RESULTS",
    help="Check again after each change and once a minute, until stopped; write the results to this file for "
    "trninv serve (TRNINV_CHECK_RESULTS).",
)
@at_option
@click.pass_obj
def check(database: str, file: str | None, style: str, schema: bool, report: Path | None, as_of: str | None) -> None:
    """Check the fleet against the bounds in a YAML file; exit with 1 if a check does not pass.

    Each check has a measure, such as bisection, hops, free_jobs or incidents, with its arguments and bounds:
    docs/reference/checks.md lists them. A check that does not pass names the cut, path or findings.

    \b
    trninv check checks.yaml
    trninv check checks.yaml --format junit
    """
    if schema:
        click.echo(json_text(file_schema()))
        return
    if file is None:
        raise UsageError("name a file of checks, or - for stdin; docs/reference/checks.md has an example")
    if report and as_of:
        raise UsageError("--watch reads the latest state; omit --at")
    checks = read_checks(file)
    if report:
        _watch(database, checks, report)
        return
    with open_fleet(database) as current_fleet:
        fleet = current_fleet if as_of is None else current_fleet.at(as_of)
        with fleet.snapshot() as snapshot, Progress("check") as progress:
            results = evaluate(snapshot, checks, progress)
            print_revision(snapshot.as_of())
    match style:
        case "json":
            click.echo(json_text([encode(result) for result in results]))
        case "junit":
            click.echo(junit_xml(results, file))
        case "github":
            for line in github_annotations(results, file):
                click.echo(escape_controls(line))
        case _:
            print_blocks(render_table(results))
    if not all(result.passed for result in results):
        raise click.exceptions.Exit(1)


def read_checks(file: str) -> list[Check]:
    """Read a file of checks, or stdin for -; print what is wrong with it.

    Raises
    ------
    UsageError
        The file can't be read, or is no file of checks.

    """
    try:
        with click.open_file(file, "rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    with print_errors():
        return parse_checks(raw, file)


def _watch(database: str, checks: Sequence[Check], report: Path) -> None:
    """Evaluate checks until stopped, or until the process that started this one, such as trninv serve, is gone."""
    # the first process of a container ignores signals without a handler
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    os.nice(_NICENESS)
    parent, last_error = os.getppid(), ""
    with trninv.open(database) as fleet:
        watch = CheckWatch(fleet, checks, report)
        while os.getppid() == parent:
            try:
                if watch.poll():
                    last_error = ""
            except (DatabaseError, OSError) as error:  # unreachable, or no space for the results: retry
                if str(error) != last_error:
                    print_wrapped(f"checks were not evaluated: {error}", err=True)
                last_error = str(error)
            time.sleep(POLL_SECONDS)
