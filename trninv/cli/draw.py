"""draw: a picture of the wiring."""

from pathlib import Path

import click

from trninv.cli.ask import asking, supposing
from trninv.cli.drawing import svg
from trninv.cli.output import counted
from trninv.errors import NotFoundError, UsageError, WrongLevelError


@click.command()
@click.argument("scope")
@click.option("-o", "--output", required=True, metavar="FILE.svg", help="Where to write; - for stdout.")
@click.option("--path", "ends", nargs=2, metavar="A B", help="Mark the shortest path from A to B.")
@click.option("--bisection", "halved", is_flag=True, help="Mark the bisection's cut, and one of its sides.")
@supposing
@click.pass_obj
def draw(  # one parameter an option
    database: str,
    scope: str,
    output: str,
    ends: tuple[str, str] | None,
    halved: bool,
    down: tuple[str, ...],
    derate: tuple[str, ...],
) -> None:
    """A picture of the wiring of SCOPE, one domain or a part of one.

    \b
    trninv draw u-trn2x64 -o torus.svg --path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10
    trninv draw u-trn2x64 -o cut.svg --bisection --down u-trn2x64/d0/s0/c0
    """
    if ends and halved:
        raise UsageError("--path and --bisection are two pictures: choose one")
    if output != "-" and Path(output).suffix.lower() != ".svg":
        raise UsageError(f"{output}: pictures are SVG, so name it FILE.svg")
    with asking(database, down, derate) as fleet:
        graph = fleet.graph(scope)
        marked: list[str] = []
        cut: list[tuple[str, str]] = []
        side: tuple[str, ...] = ()
        caption = ""
        if halved:
            half = fleet.bisection(scope)
            cut, side = [(link.a, link.b) for link in half.cut], half.chips_a
            bounds = half.upper if half.exact else f"{half.lower} to {half.upper}"
            caption = f"bisection {bounds} one direction: {counted(half.cut_size, 'link')} cut"
        if ends:
            answer = fleet.path(*ends)
            if not answer.reachable:
                raise NotFoundError(f"no path from {answer.source} to {answer.target}: {answer.reason}")
            found = answer.paths[0]
            marked = [step.address for step in found.steps if step.kind != "link"]
            if outside := [address for address in marked if address not in graph]:
                raise WrongLevelError(f"the path leaves {scope} at {outside[0]}: draw the domain instead")
            caption = (
                f"{answer.source} to {answer.target}: {counted(found.hops, 'hop')}, {found.bandwidth} one direction"
            )
    picture = svg(scope, graph, marked, caption, cut=cut, side=side)
    if output == "-":
        click.echo(picture, nl=False)
        return
    try:
        Path(output).write_text(picture, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"can't write {output}: {error.strerror}") from None
