"""Draw wirings, racks, fleets and fabrics as SVG (`draw`)."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from trninv.cli.messages import print_hint
from trninv.cli.progress_line import Progress
from trninv.cli.scenario_options import open_scenario, scenario_options
from trninv.cli.shell_completion import ADDRESS
from trninv.drawing.fleet_map import COLORINGS
from trninv.drawing.place_picture import FABRIC_SUFFIX
from trninv.errors import NotFoundError, UsageError
from trninv.placement.placement_fleet import Fleet
from trninv.placement.questions import find
from trninv.routing.picture import Highlight

if TYPE_CHECKING:
    from trninv.placement.questions.placements import PlacementsAnswer

_EndPair = tuple[str, str] | None
"""The two addresses of an option such as --path, if it is used."""


@scenario_options
@click.command()
@click.argument("scope", type=ADDRESS)
@click.option("-o", "--output", required=True, metavar="FILE.svg", help="Output file; - for stdout.")
@click.option("--path", "path_ends", nargs=2, metavar="A B", help="Mark the shortest path from A to B.")
@click.option("--widest", "widest_ends", nargs=2, metavar="A B", help="Mark the widest path from A to B.")
@click.option("--cut", "cut_ends", nargs=2, metavar="A B", help="Mark the minimum cut between A and B.")
@click.option("--bisection", "with_bisection", is_flag=True, help="Mark the bisection's cut and one of its halves.")
@click.option(
    "--color-by",
    type=click.Choice(COLORINGS),
    help="What the colors of a fleet's chips show.  [default: state]",
)
@click.option("--jobs", "by_job", is_flag=True, help="Color chips by job; for a fleet, show its free blocks.")
@click.option("--propose", metavar="SHAPE", help="With --jobs: outline where `place` puts a shape, such as 2x2x4.")
@click.option("--chips", type=int, metavar="N", help="With --jobs: outline where `place` puts N chips.")
@click.pass_obj
def draw(  # one parameter per option
    database: str,
    scope: str,
    output: str,
    path_ends: _EndPair,
    widest_ends: _EndPair,
    cut_ends: _EndPair,
    with_bisection: bool,
    color_by: str | None,
    by_job: bool,
    propose: str | None,
    chips: int | None,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    as_of: str | None,
) -> None:
    """Draw a domain's wiring, a rack, a fleet or a fabric as SVG.

    SCOPE is a domain, a place in a domain, a rack, a cluster, or CLUSTER/fabric.

    \b
    trninv draw u-trn2x64 -o torus.svg \\
        --path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10
    trninv draw u-trn2x64 -o cut.svg --bisection --down u-trn2x64/d0/s0/c0
    trninv draw u-trn2x64/r0 -o rack.svg
    trninv draw rainier -o fleet.svg
    trninv draw rainier/fabric -o tiers.svg
    trninv draw u-trn2x64 -o jobs.svg --jobs --propose 2x2x2
    """
    marks = [bool(mark) for mark in (path_ends, widest_ends, cut_ends, with_bisection)]
    if sum(marks) > 1:
        raise UsageError("--path, --widest, --cut and --bisection exclude each other; choose one")
    if by_job and (any(marks) or color_by):
        raise UsageError("--jobs excludes --path, --widest, --cut, --bisection and --color-by; choose one")
    if not by_job and (propose is not None or chips is not None):
        raise UsageError("--propose and --chips outline a placement among jobs; add --jobs")
    if propose is not None and chips is not None:
        raise UsageError("--propose and --chips exclude each other; choose one")
    if output != "-" and Path(output).suffix.lower() != ".svg":
        raise UsageError(f"{output}: the output is SVG; name it FILE.svg")
    with (
        open_scenario(database, down, derate, as_of) as scenario,
        scenario.snapshot() as fleet,
        Progress("draw"),
    ):
        if propose is not None or chips is not None:
            highlight: Highlight | None = _proposed_job(fleet, scope, propose, chips)
        else:
            highlight = _marks(fleet, scope, path_ends, widest_ends, cut_ends, with_bisection=with_bisection)
        svg = fleet.draw(scope, highlight, jobs=by_job, color_by=color_by).svg
    if output == "-":
        click.echo(svg, nl=False)
        return
    try:
        Path(output).write_text(svg, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"can't write {output}: {error.strerror}") from None
    print_hint(f"written: {output}")


def _proposed_job(fleet: Fleet, scope: str, shape: str | None, chips: int | None) -> Highlight:
    """Return the places where a job would run, by its shape or its number of chips."""
    answer: PlacementsAnswer = fleet.ask(find("placements"), scope=scope, shape=shape, chips=chips, k=1)
    places = answer.placements[0].places if answer.placements else ()
    return Highlight(nodes=places, caption=next(block for block in answer.render() if isinstance(block, str)))


def _marks(
    fleet: Fleet,
    scope: str,
    path_ends: _EndPair,
    widest_ends: _EndPair,
    cut_ends: _EndPair,
    *,
    with_bisection: bool,
) -> Highlight | None:
    if ends := path_ends or widest_ends:
        answer = fleet.path(*ends, by="hops" if path_ends else "bandwidth")
        if not answer.reachable:
            raise NotFoundError(f"no path from {answer.source} to {answer.target}: {answer.reason}")
        return answer.highlight() or Highlight()
    if cut_ends:
        return fleet.bandwidth(*cut_ends).highlight()
    return fleet.bisection(scope.removesuffix(FABRIC_SUFFIX)).highlight() if with_bisection else None
