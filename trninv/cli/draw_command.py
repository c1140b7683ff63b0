"""Draw wirings, racks, fleets and fabrics as SVG (`draw`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trninv.cli.messages import print_hint
from trninv.cli.progress_line import Progress
from trninv.cli.scenario_options import open_scenario, scenario_options
from trninv.cli.shell_completion import ADDRESS
from trninv.database.engine import read_transaction
from trninv.drawing import (
    capacity_map,
    fabric_contents,
    fleet_map,
    job_map,
    rack_contents,
    rack_elevation,
    tier_diagram,
    wiring_diagram,
)
from trninv.drawing.place_picture import draw_marked_wiring
from trninv.errors import NotFoundError, UsageError
from trninv.inventory.address.lookup import resolve_place
from trninv.placement.questions import find
from trninv.routing.cluster_overview import read_overview
from trninv.routing.fleet import BaseFleet
from trninv.routing.picture import Highlight

if TYPE_CHECKING:
    from trninv.placement.questions.placements import PlacementsAnswer


@dataclass(frozen=True, slots=True)
class ProposedJob:
    """A job to place and outline, by shape or by number of chips; false in a condition if it has neither.

    ``by_job`` is whether --jobs is set, because only a drawing of jobs can outline another job.
    """

    shape: str | None
    chips: int | None
    by_job: bool

    def __post_init__(self) -> None:
        if (self.shape is not None or self.chips is not None) and not self.by_job:
            raise UsageError("--propose and --chips outline a placement among jobs; add --jobs")
        if self.shape is not None and self.chips is not None:
            raise UsageError("--propose and --chips exclude each other; choose one")

    def __bool__(self) -> bool:
        return self.shape is not None or self.chips is not None


def draw_job_map(scenario: BaseFleet, scope: str, proposed: ProposedJob) -> str:
    """Draw a scope's jobs and the proposed job, or, for a cluster of several domains, its free capacity."""
    with scenario.snapshot() as fleet:
        with fleet.open_snapshot() as snapshot:
            place = resolve_place(snapshot.connection, scope)
            blocks, sizes = (
                capacity_map.read_free_blocks(snapshot, place.address) if place.level == "cluster" else ((), ())
            )
            if len(blocks) > 1:
                if proposed:
                    raise UsageError(f"{place.address} has many domains: name one, such as {place.address}/d0")
                return capacity_map.draw_capacity(place.address, blocks, sizes)
            diagram = wiring_diagram.read_diagram(snapshot.connection, scope)
            allocations = job_map.read_job_overlay(snapshot, diagram)
        if not proposed:
            return job_map.draw_jobs(diagram, allocations).to_file()
        answer: PlacementsAnswer = fleet.ask(
            find("placements"), scope=diagram.scope, shape=proposed.shape, chips=proposed.chips, k=1
        )
    places = answer.placements[0].places if answer.placements else ()
    caption = next(block for block in answer.render() if isinstance(block, str))
    return job_map.draw_jobs(diagram, allocations, places, caption).to_file()


_EndPair = tuple[str, str] | None
"""The two addresses of an option such as --path, if it is used."""
_FABRIC_SUFFIX = "/fabric"


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
    type=click.Choice(fleet_map.COLORINGS),
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
    proposed = ProposedJob(propose, chips, by_job=by_job)
    marks = [bool(mark) for mark in (path_ends, widest_ends, cut_ends, with_bisection)]
    if sum(marks) > 1:
        raise UsageError("--path, --widest, --cut and --bisection exclude each other; choose one")
    if by_job and (any(marks) or color_by):
        raise UsageError("--jobs excludes --path, --widest, --cut, --bisection and --color-by; choose one")
    if output != "-" and Path(output).suffix.lower() != ".svg":
        raise UsageError(f"{output}: the output is SVG; name it FILE.svg")
    with open_scenario(database, down, derate, as_of) as scenario, Progress("draw"):
        svg = (
            draw_job_map(scenario, scope, proposed)
            if by_job
            else _draw_place(scenario, scope, color_by, plain=not (any(marks) or down or derate))
        )
        svg = svg or _draw_wiring(scenario, scope, path_ends, widest_ends, cut_ends, with_bisection=with_bisection)
    if output == "-":
        click.echo(svg, nl=False)
        return
    try:
        Path(output).write_text(svg, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"can't write {output}: {error.strerror}") from None
    print_hint(f"written: {output}")


def _draw_place(scenario: BaseFleet, scope: str, color_by: str | None, *, plain: bool) -> str | None:
    """Draw a fabric, a rack or a cluster of several domains; return None if the scope lies in one domain.

    Parameters
    ----------
    plain
        Whether there are no marks and no scenario, which only the wiring of a domain can show.

    """
    name = scope.strip().lower()
    with read_transaction(scenario.engine) as connection:
        place = resolve_place(connection, name.removesuffix(_FABRIC_SUFFIX))
        is_fabric = name.endswith(_FABRIC_SUFFIX) and place.level == "cluster"
        cluster = read_overview(connection, place.address) if place.level == "cluster" and not is_fabric else None
        fleet_overview = cluster if cluster and cluster.domains > 1 else None
        if color_by and not fleet_overview:
            raise UsageError(f"{place.address}: --color-by needs a cluster of several domains")
        if not (is_fabric or fleet_overview or place.level == "rack"):
            return None
        if not plain:
            raise UsageError(f"{scope}: marks, --down and --derate can only be drawn in the wiring of a domain")
        if is_fabric:
            return tier_diagram.draw_fabric(fabric_contents.read_fabric(connection, place)).to_file()
        return (
            fleet_map.draw_fleet(fleet_overview, color_by or "state")
            if fleet_overview
            else rack_elevation.draw_rack(rack_contents.read_rack(connection, place)).to_file()
        )


def _draw_wiring(
    scenario: BaseFleet,
    scope: str,
    path_ends: _EndPair,
    widest_ends: _EndPair,
    cut_ends: _EndPair,
    *,
    with_bisection: bool,
) -> str:
    marks = Highlight()
    if path_ends or widest_ends:
        answer = scenario.path(*(path_ends or widest_ends or ("", "")), by="hops" if path_ends else "bandwidth")
        marks = answer.highlight() or marks
        if not answer.reachable:
            raise NotFoundError(f"no path from {answer.source} to {answer.target}: {answer.reason}")
    elif cut_ends:
        marks = scenario.bandwidth(*cut_ends).highlight()
    elif with_bisection:
        marks = scenario.bisection(scope).highlight()
    with scenario.open_snapshot() as snapshot:
        return draw_marked_wiring(snapshot, scope, marks)
