"""Write a part of the fleet in the format of a scheduler, simulator or graph tool (`topology`)."""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, TextIO, TypeAlias

import click

from trninv.atomic_file import atomic_write
from trninv.cli.database_connection import at_option
from trninv.cli.messages import print_hint
from trninv.cli.progress_line import Progress
from trninv.cli.scenario_options import open_scenario
from trninv.cli.shell_completion import ADDRESS
from trninv.errors import UsageError
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, find_format, format_names
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE
from trninv.inventory.address.lookup import resolve_place
from trninv.settings import is_service

ProgressFunction: TypeAlias = Callable[[str, int], None]
_PROGRESS_STEP: Final = 1_000
"""Lines between two updates of the progress line."""


@click.command("topology")
@click.argument("scope", type=ADDRESS)
@click.option(
    "--as",
    "name",
    required=True,
    type=click.Choice(format_names()),
    metavar="FORMAT",
    help=f"The format: {', '.join(format_names())}.",
)
@click.option("-o", "--output", default="-", metavar="FILE", help="Output file; - for stdout.  [default: -]")
@click.option(
    "--check", is_flag=True, help="Read the output back and compare it with the inventory before FILE is replaced."
)
@click.option(
    "--include-down", is_flag=True, help="Include parts that are down or in maintenance, marked if the format allows."
)
@click.option(
    "--hostname",
    "template",
    default=DEFAULT_TEMPLATE,
    show_default=True,
    metavar="TEMPLATE",
    help="Pattern of server names; {server:02} pads with zeros.",
)
@click.option("--coarse", is_flag=True, help="In trees, use network nodes as leaves instead of domains.")
@at_option
@click.pass_obj
def topology_(  # one parameter per option
    database: str,
    scope: str,
    name: str,
    output: str,
    check: bool,
    include_down: bool,
    template: str,
    coarse: bool,
    as_of: str | None,
) -> None:
    """Write SCOPE in the format of a scheduler or graph tool.

    The output omits parts that are down or in maintenance, and everything that the format cannot express. If that would
    make it misleading, the command fails and writes nothing.

    \b
    trninv topology rainier --as slurm-block -o topology.conf --check
    trninv topology u-trn2x64 --as kubernetes --hostname 'n{domain:03}-{server}'
    """
    if is_service(database):
        with open_scenario(database, (), (), as_of) as fleet, Progress("topology"):
            text = fleet.topology(scope, name, hostname=template, include_down=include_down, coarse=coarse, check=check)
        _write_text(text, output)
    else:
        output_format = find_format(name)
        with open_scenario(database, (), (), as_of) as fleet, fleet.open_snapshot() as snapshot:
            place = resolve_place(snapshot.connection, scope)
            source = ExportSource(snapshot, place, template, include_down=include_down, coarse=coarse)
            is_terminal = output == "-" and sys.stdout.isatty()  # the progress line would mix with the output
            with nullcontext(_no_progress) if is_terminal else Progress("topology") as progress:
                if output == "-":
                    _print_lines(output_format, source, progress, check=check)
                else:
                    _save_file(output_format, source, progress, Path(output), check=check)
    if output != "-":
        print_hint(f"written: {output}")


def _write_text(text: str, output: str) -> None:
    if output == "-":
        click.echo(text, nl=False)
        return
    try:
        with atomic_write(Path(output)) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"can't write {output}: {error.strerror}") from None


def _no_progress(activity: str, done: int) -> None: ...


def _generate_lines(output_format: Format, source: ExportSource, progress: ProgressFunction) -> Iterator[str]:
    for done, line in enumerate(output_format.lines(source)):
        if done % _PROGRESS_STEP == 0:
            progress("lines", done)
        yield line


def _print_lines(output_format: Format, source: ExportSource, progress: ProgressFunction, *, check: bool) -> None:
    if not check:
        for line in _generate_lines(output_format, source, progress):
            click.echo(line)
        return
    with TemporaryFile("w+", encoding="utf-8", newline="\n") as copy:
        _write_lines(output_format, source, progress, copy, check=check)
        copy.seek(0)
        for line in copy:
            click.echo(line, nl=False)


def _save_file(
    output_format: Format, source: ExportSource, progress: ProgressFunction, file: Path, *, check: bool
) -> None:
    try:
        with atomic_write(file) as part, part.open("w+", encoding="utf-8", newline="\n") as target:
            _write_lines(output_format, source, progress, target, check=check)
    except OSError as error:
        raise UsageError(f"can't write {file}: {error.strerror}") from None


def _write_lines(
    output_format: Format, source: ExportSource, progress: ProgressFunction, target: TextIO, *, check: bool
) -> None:
    target.writelines(f"{line}\n" for line in _generate_lines(output_format, source, progress))
    if check:
        target.seek(0)
        output_format.verify(source, target)
