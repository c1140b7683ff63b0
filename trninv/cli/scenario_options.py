"""Declare --down, --derate, --with, --without and --at, and open the fleet under the scenario that they describe."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from trninv.cli.database_connection import AT_OPTION, open_fleet
from trninv.cli.shell_completion import ADDRESS
from trninv.errors import InvalidArgumentError
from trninv.placement.placement_fleet import Fleet

_SCENARIO_OPTIONS = (
    click.Option(
        ["--down"], multiple=True, type=ADDRESS, metavar="ADDRESS", help="Assume that this part is down; repeatable."
    ),
    click.Option(
        ["--derate"],
        multiple=True,
        metavar="ADDRESS=F",
        help="Assume that a part carries only this fraction of its bandwidth, such as ADDRESS=0.5; repeatable.",
    ),
    click.Option(["--at", "as_of"], **AT_OPTION),
)
_JOB_SCENARIO_OPTIONS = (
    click.Option(
        ["--with", "with_"],
        multiple=True,
        metavar="JOB=PLACE",
        help="Assume that this place is allocated to a job; repeatable.",
    ),
    click.Option(["--without"], multiple=True, metavar="JOB", help="Assume that this job has ended; repeatable."),
)


def scenario_options(command: click.Command, *, jobs: bool = False) -> click.Command:
    """Add the options of a scenario and --at to a command, and if `jobs` is True also --with and --without."""
    command.params.extend([*_SCENARIO_OPTIONS, *(_JOB_SCENARIO_OPTIONS if jobs else ())])
    return command


@contextmanager
def open_scenario(
    database: str,
    down: Sequence[str],
    derate: Sequence[str],
    as_of: str | None,
    assume_allocations: Sequence[str] = (),
    assume_released: Sequence[str] = (),
) -> Iterator[Fleet]:
    """Open the fleet, now or as of a time, under the scenario that the options describe, if any."""
    with open_fleet(database) as current_fleet:
        fleet = current_fleet if as_of is None else current_fleet.at(as_of)
        if not (down or derate or assume_allocations or assume_released):
            yield fleet
            return
        factors: dict[str, float] = {}
        for text in derate:
            address, _, factor = text.rpartition("=")
            try:
                value = float(factor)
                factors[address] = min(value, factors.get(address, value))
            except ValueError:
                raise InvalidArgumentError(
                    f"--derate {text}: write ADDRESS=FACTOR, such as u-trn2x64/d0/s0/c0=0.5"
                ) from None
        yield fleet.what_if(
            down, factors, with_=_parse_assumed_allocations(assume_allocations), without=assume_released
        )


def _parse_assumed_allocations(texts: Sequence[str]) -> dict[str, list[str]]:
    """Parse texts of the form JOB=PLACE; return the places by job."""
    places_by_job: dict[str, list[str]] = {}
    for text in texts:
        job, _, place = text.rpartition("=")
        if not (job and place):
            raise InvalidArgumentError(f"--with {text[:200]}: write JOB=PLACE, such as train-7b=u-trn2x64/d0/s0")
        places_by_job.setdefault(job, []).append(place)
    return places_by_job
