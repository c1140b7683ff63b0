"""topology: the fleet in the formats of schedulers, graph tools and simulators."""

from pathlib import Path

import click

from trninv.cli.moment import at_option, looking
from trninv.cli.places import PLACE
from trninv.cli.progress import Progress
from trninv.errors import UsageError
from trninv.exporters.format import Format
from trninv.exporters.register import format_of, names
from trninv.exporters.source import Source
from trninv.files import whole
from trninv.inventory.address import resolve
from trninv.inventory.hostnames import TEMPLATE


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
    with looking(database, at, scope) as connection:
        place = resolve(connection, scope)
        source = Source(connection, place, template, include_down=include_down, coarse=coarse)
        if output == "-":
            _print(form, source, check=check)
        else:
            with Progress("topology"):
                _save(form, source, Path(output), check=check)


def _print(form: Format, source: Source, *, check: bool) -> None:
    if check:
        form.check(source, form.lines(source))
    for line in form.lines(source):
        click.echo(line)


def _save(form: Format, source: Source, file: Path, *, check: bool) -> None:
    try:
        with whole(file) as part:
            with part.open("w", encoding="utf-8", newline="\n") as out:
                out.writelines(f"{line}\n" for line in form.lines(source))
            if check:
                with part.open(encoding="utf-8") as written:
                    form.check(source, (line.rstrip("\n") for line in written))
    except OSError as error:
        raise UsageError(f"can't write {file}: {error.strerror}") from None
