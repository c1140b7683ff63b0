"""fits: where a job fits, and the line that a scheduler takes."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from trninv.cli.output import encode, show, tell, tell_state
from trninv.cli.progress import Progress
from trninv.cli.questions import jobs_in, made, values
from trninv.cli.supposing import asking
from trninv.exporters import submission
from trninv.inventory.hostnames import TEMPLATE
from trninv.jobs.named import folded
from trninv.jobs.placing import Placement
from trninv.jobs.questions import find
from trninv.units import counted

if TYPE_CHECKING:
    from trninv.jobs.questions.fits import FitsAnswer

_FITS = find("fits")
_HOSTNAME = click.Option(
    ["--hostname"],
    default=TEMPLATE,
    show_default=True,
    metavar="TEMPLATE",
    help="What servers are called in the lines for schedulers; {cluster}, {domain} and {server} are filled in.",
)
_LINES = 4
"""Servers for each of which a line for Kubernetes is shown."""


@click.pass_obj
def _run(
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    at: str | None,
    style: str,
    hostname: str,
    **given: Any,
) -> None:
    with asking(database, down, derate, at, *jobs_in(given)) as fleet, fleet.in_one_state() as one:
        with Progress("fits"):
            answer: FitsAnswer = one.ask(_FITS, **values(_FITS, given))
        tell_state(one.as_of())

    found = encode(answer)
    for placement, of in zip(found["placements"], answer.placements, strict=True):
        placement.update(_lines(of, hostname))
    show(style, found, lambda: tell(answer, more=_told(answer.placements[: answer.copies], hostname)))
    if not answer.succeeded():
        raise click.exceptions.Exit(1)


def _lines(of: Placement, hostname: str) -> dict[str, Any]:
    chips = () if of.whole_servers else of.places
    return {
        "slurm": submission.slurm(of.servers, hostname),
        "kubernetes": list(submission.kubernetes(of.servers, chips, hostname)),
    }


def _told(places: Sequence[Placement], hostname: str) -> Iterator[str]:
    """What to hand to the schedulers."""
    for of in places:
        lines = _lines(of, hostname)
        more = "" if of.whole_servers else f"   (whole servers: more than the {counted(of.chips, 'chip')})"
        spares = (f" --spare {place}" for place in folded(of.spares))
        yield f"hold:       trninv hold JOB {' '.join(folded(of.places))}{''.join(spares)}"
        yield f"Slurm:      {lines['slurm']}{more}"
        yield from (f"Kubernetes: {line}" for line in lines["kubernetes"][:_LINES])
        if (rest := len(of.servers) - _LINES) > 0:
            yield f"            … {rest:,} more servers (--format json)"


fits = made(_FITS, _run, _HOSTNAME)
