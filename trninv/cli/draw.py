"""draw: pictures of the wiring, of racks, of fleets and of fabrics."""

from pathlib import Path

import click

from trninv.cli.draw_jobs import NextJob, jobs_picture
from trninv.cli.places import PLACE
from trninv.cli.progress import Progress
from trninv.cli.prose import hint
from trninv.cli.supposing import asking, supposing
from trninv.drawing import fabric, fleet, rack, wiring
from trninv.drawing.wiring import Marks
from trninv.errors import NotFoundError, UsageError, WrongLevelError
from trninv.inventory.address import resolve
from trninv.inventory.database import reading
from trninv.routing.fleet import Fleet
from trninv.routing.overview import overview
from trninv.units import counted

_Ends = tuple[str, str] | None
_FABRIC = "/fabric"


@supposing
@click.command()
@click.argument("scope", type=PLACE)
@click.option("-o", "--output", required=True, metavar="FILE.svg", help="Where to write; - for stdout.")
@click.option("--path", "ends", nargs=2, metavar="A B", help="Mark the shortest path from A to B.")
@click.option("--widest", nargs=2, metavar="A B", help="Mark the widest path from A to B.")
@click.option("--cut", "parted", nargs=2, metavar="A B", help="Mark the minimum cut between A and B.")
@click.option("--bisection", "halved", is_flag=True, help="Mark the bisection's cut, and one of the sides.")
@click.option(
    "--colour",
    type=click.Choice(fleet.COLOURINGS),
    help="What colours the chips of a fleet: state unless said.",
)
@click.option("--jobs", "of_jobs", is_flag=True, help="Chips by the jobs that hold them; of a fleet, its free blocks.")
@click.option("--propose", metavar="SHAPE", help="With --jobs: outline where fits puts a box, such as 2x2x4.")
@click.option("--chips", type=int, metavar="N", help="With --jobs: outline where fits puts so many chips.")
@click.pass_obj
def draw(  # one parameter an option
    database: str,
    scope: str,
    output: str,
    ends: _Ends,
    widest: _Ends,
    parted: _Ends,
    halved: bool,
    colour: str | None,
    of_jobs: bool,
    propose: str | None,
    chips: int | None,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    at: str | None,
) -> None:
    """A picture of SCOPE: the wiring of a domain or of a part of one, a rack, a fleet, or CLUSTER/fabric.

    \b
    trninv draw u-trn2x64 -o torus.svg \\
        --path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10
    trninv draw u-trn2x64 -o cut.svg --bisection --down u-trn2x64/d0/s0/c0
    trninv draw u-trn2x64/r0 -o rack.svg
    trninv draw rainier -o fleet.svg
    trninv draw rainier/fabric -o tiers.svg
    trninv draw u-trn2x64 -o jobs.svg --jobs --propose 2x2x2
    """
    following = NextJob(propose, chips, of_jobs=of_jobs)
    marked = [bool(each) for each in (ends, widest, parted, halved)]
    if sum(marked) > 1:
        raise UsageError("--path, --widest, --cut and --bisection are pictures of their own: choose one")
    if of_jobs and (any(marked) or colour):
        raise UsageError("--jobs is a picture of its own: leave --path, --widest, --cut, --bisection and --colour out")
    if output != "-" and Path(output).suffix.lower() != ".svg":
        raise UsageError(f"{output}: pictures are SVG, so name it FILE.svg")
    with asking(database, down, derate, at) as asked, Progress("draw"):
        made = (
            jobs_picture(asked, scope, following)
            if of_jobs
            else _place(asked, scope, colour, plain=not (any(marked) or down or derate))
        )
        made = made or _wiring(asked, scope, ends, widest, parted, halved=halved)
    if output == "-":
        click.echo(made, nl=False)
        return
    try:
        Path(output).write_text(made, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"can't write {output}: {error.strerror}") from None
    hint(f"written: {output}")


def _place(asked: Fleet, scope: str, colour: str | None, *, plain: bool) -> str | None:
    """The picture of a fabric, a rack or a cluster of several domains; None if the scope lies in one domain.

    Raises
    ------
    UsageError
        Something is marked or supposed, which only a wiring shows; or a colour is chosen for something not a fleet.

    """
    name = scope.strip().lower()
    with reading(asked.engine) as connection:
        place = resolve(connection, name.removesuffix(_FABRIC))
        tiers = name.endswith(_FABRIC) and place.level == "cluster"
        whole = overview(connection, place.address) if place.level == "cluster" and not tiers else None
        fleet_of = whole if whole and whole.domains > 1 else None
        if colour and not fleet_of:
            raise UsageError(f"--colour is of fleets, and {place.address} is none: name a cluster of several domains")
        if not (tiers or fleet_of or place.level == "rack"):
            return None
        if not plain:
            raise UsageError(f"only the wiring of a domain shows marks, --down and --derate: {scope} is drawn as it is")
        if tiers:
            return fabric.picture(connection, place)
        return fleet.picture(fleet_of, colour or "state") if fleet_of else rack.picture(connection, place)


def _wiring(asked: Fleet, scope: str, ends: _Ends, widest: _Ends, parted: _Ends, *, halved: bool) -> str:
    with reading(asked.engine) as connection:
        whole = wiring.read(connection, scope)
    marks = Marks()
    if ends or widest:
        marks = _way(asked, *(ends or widest or ("", "")), by="hops" if ends else "bandwidth")
    elif parted:
        answer = asked.bandwidth(*parted)
        caption = f"{parted[0]} to {parted[1]}: maximum flow {answer.maximum_flow} one direction"
        cut = [frozenset((link.a, link.b)) for link in answer.minimum_cut]
        cut_at = f"{caption}, {counted(len(cut), 'link')} cut"
        marks = Marks(links=cut, ends=(answer.source, answer.target), cut=True, caption=cut_at)
    elif halved:
        half = asked.bisection(scope)
        bounds = half.upper if half.exact else f"{half.lower} to {half.upper}"
        caption = f"bisection {bounds} one direction: {counted(half.cut_size, 'link')} cut"
        cut = [frozenset((link.a, link.b)) for link in half.cut]
        marks = Marks(links=cut, side=half.chips_a, cut=True, caption=caption)
    drawn = {part.address for part in whole.parts}
    marked = [*marks.nodes, *(end for link in marks.links for end in sorted(link))]
    if outside := next((address for address in marked if address not in drawn), None):
        raise WrongLevelError(f"what is marked leaves {scope} at {outside}: draw the domain instead")
    return wiring.picture(whole, asked.graph(scope), marks)


def _way(asked: Fleet, a: str, b: str, by: str) -> Marks:
    answer = asked.path(a, b, by)
    if not answer.reachable:
        raise NotFoundError(f"no path from {answer.source} to {answer.target}: {answer.reason}")
    found = answer.paths[0]
    carries = f", {found.bandwidth} one direction" if found.hops else ""
    return Marks(
        links=[frozenset(step.address.split("--")) for step in found.steps if step.kind == "link"],
        nodes=[step.address for step in found.steps if step.kind != "link"],
        ends=(answer.source, answer.target),
        caption=f"{answer.source} to {answer.target}: {counted(found.hops, 'hop')}{carries}",
    )
