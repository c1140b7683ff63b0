"""What if, and what was: options that suppose things down or name a time, and the fleet as it would be or was."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

import trninv
from trninv.cli.moment import AT
from trninv.cli.places import PLACE
from trninv.errors import LimitError
from trninv.routing.fleet import Fleet

_OPTIONS = (
    click.Option(
        ["--down"], multiple=True, type=PLACE, metavar="ADDRESS", help="Suppose that it carries nothing; repeatable."
    ),
    click.Option(
        ["--derate"],
        multiple=True,
        metavar="ADDRESS=F",
        help="Suppose that it carries this part, as ADDRESS=0.5; repeatable.",
    ),
    click.Option(["--at"], **AT),
)
_OF_JOBS = (
    click.Option(
        ["--with", "with_"], multiple=True, metavar="JOB=PLACE", help="Suppose that a job holds it; repeatable."
    ),
    click.Option(["--without"], multiple=True, metavar="JOB", help="Suppose that it has ended; repeatable."),
)


def supposing(command: click.Command, *, jobs: bool = False) -> click.Command:
    """Add the options of a scenario to a command, those of jobs too where it is about placement."""
    command.params.extend([*_OPTIONS, *(_OF_JOBS if jobs else ())])
    return command


@contextmanager
def asking(
    database: str,
    down: Sequence[str],
    derate: Sequence[str],
    at: str | None,
    with_: Sequence[str] = (),
    without: Sequence[str] = (),
) -> Iterator[Fleet]:
    """Open the fleet, now or at a time, or the scenario that the options describe."""
    with trninv.open(database) as present:
        fleet = present if at is None else present.at(at)
        if not (down or derate or with_ or without):
            yield fleet
            return
        factors: dict[str, float] = {}
        for each in derate:
            address, _, factor = each.rpartition("=")
            try:
                factors[address] = min(float(factor), factors.get(address, 1.0))
            except ValueError:
                raise LimitError(f"--derate {each}: write ADDRESS=FACTOR, such as u-trn2x64/d0/s0/c0=0.5") from None
        yield fleet.what_if(down, factors, with_=_holds(with_), without=without)


def _holds(written: Sequence[str]) -> dict[str, list[str]]:
    """Places by job."""
    found: dict[str, list[str]] = {}
    for each in written:
        job, _, place = each.rpartition("=")
        if not (job and place):
            raise LimitError(f"--with {each[:200]}: write JOB=PLACE, such as train-7b=u-trn2x64/d0/s0")
        found.setdefault(job, []).append(place)
    return found
