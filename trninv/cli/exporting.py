"""topology: the fleet in the formats of schedulers, graph tools and simulators."""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Final, TypeAlias

import click

from trninv.cli.moment import at_option, connected
from trninv.cli.places import PLACE
from trninv.cli.progress import Progress
from trninv.cli.prose import hint
from trninv.errors import UsageError
from trninv.exporters.format import Format
from trninv.exporters.register import format_of, names
from trninv.exporters.source import Source
from trninv.files import whole
from trninv.inventory.address import resolve
from trninv.inventory.database import reading
from trninv.inventory.hostnames import TEMPLATE

Told: TypeAlias = Callable[[str, int], None]
_STEP: Final = 1_000
"""Lines between two tellings."""


@click.command("topology")
@click.argument("scope", type=PLACE)
@click.option(
    "--as",
    "name",
    required=True,
    type=click.Choice(names()),
    metavar="FORMAT",
    help=f"The format: {', '.join(names())}.",
)
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to write; - for stdout.  [default: -]")
@click.option(
    "--check", is_flag=True, help="Read it back, and compare it with the inventory before FILE gets its name."
)
@click.option(
    "--include-down", is_flag=True, help="Write what is down or in maintenance too, marked where that can be."
)
@click.option(
    "--hostname",
    "template",
    default=TEMPLATE,
    show_default=True,
    metavar="TEMPLATE",
    help="What servers are called; {server:02} fills up with zeros.",
)
@click.option("--coarse", is_flag=True, help="Of trees: network nodes are the leaves, not domains.")
@at_option
@click.pass_obj
def topology_(  # one parameter an option
    database: str,
    scope: str,
    name: str,
    output: str,
    check: bool,
    include_down: bool,
    template: str,
    coarse: bool,
    at: str | None,
) -> None:
    """SCOPE in another program's format: schedulers, graph tools, simulators.

    What is down or in maintenance is left out, and so is everything that the format can't say: if that would mislead,
    it is refused.

    \b
    trninv topology rainier --as slurm-block -o topology.conf --check
    trninv topology u-trn2x64 --as kubernetes --hostname 'n{domain:03}-{server}'
    """
    form = format_of(name)
    with connected(database, at, scope) as engine, reading(engine) as connection:
        place = resolve(connection, scope)
        source = Source(connection, place, template, include_down=include_down, coarse=coarse)
        is_read = output == "-" and sys.stdout.isatty()  # by a person, between whose lines no other belongs
        with nullcontext(_untold) if is_read else Progress("topology") as progress:
            if output == "-":
                _print(form, source, progress, check=check)
            else:
                _save(form, source, progress, Path(output), check=check)
    if output != "-":
        hint(f"written: {output}")


def _untold(doing: str, done: int) -> None: ...


def _lines(form: Format, source: Source, progress: Told) -> Iterator[str]:
    for done, line in enumerate(form.lines(source)):
        if done % _STEP == 0:
            progress("lines", done)
        yield line


def _print(form: Format, source: Source, progress: Told, *, check: bool) -> None:
    if check:
        form.check(source, _lines(form, source, progress))
    for line in _lines(form, source, progress):
        click.echo(line)


def _save(form: Format, source: Source, progress: Told, file: Path, *, check: bool) -> None:
    try:
        with whole(file) as part:
            with part.open("w", encoding="utf-8", newline="\n") as out:
                out.writelines(f"{line}\n" for line in _lines(form, source, progress))
            if check:
                with part.open(encoding="utf-8") as written:
                    form.check(source, (line.rstrip("\n") for line in written))
    except OSError as error:
        raise UsageError(f"can't write {file}: {error.strerror}") from None
