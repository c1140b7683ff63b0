"""Check the fleet against the bounds in a file (`check`)."""

import click

from trninv.characters import escape_controls
from trninv.checks.check_file import MAX_BYTES, file_schema, parse_checks
from trninv.checks.evaluation import evaluate, github_annotations, junit_xml, render_table
from trninv.cli.database_connection import at_option, open_fleet
from trninv.cli.import_files import print_errors
from trninv.cli.output import encode, json_text, print_blocks, print_revision
from trninv.cli.progress_line import Progress
from trninv.errors import UsageError


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
@at_option
@click.pass_obj
def check(database: str, file: str | None, style: str, schema: bool, as_of: str | None) -> None:
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
    try:
        with click.open_file(file, "rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    with print_errors():
        checks = parse_checks(raw, file)
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
