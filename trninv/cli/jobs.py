"""jobs, hold, release, close, open: who holds which chips, and which servers take no new jobs."""

from collections.abc import Sequence

import click

from trninv.cli.moment import at_option, changing, looking
from trninv.cli.output import MOST, cut, format_option, rows, show
from trninv.cli.places import PLACE
from trninv.cli.prose import say
from trninv.cli.state import you
from trninv.errors import LimitError
from trninv.jobs import closings, holding
from trninv.jobs.closings import Closing
from trninv.jobs.holding import Job
from trninv.units import counted

_who = click.option("--who", default=you, show_default="you", help="Who says so.")
_why = click.option("--why", default="", help="The reason, kept with the event.")


@click.command()
@click.argument("scope", required=False, type=PLACE)
@click.option("--ended", is_flag=True, help="Those as well that have ended.")
@click.option("--closed", is_flag=True, help="The servers that take no new jobs instead.")
@click.option("--most", default=1_000, show_default=True, metavar="N", help="How many at most.")
@at_option
@format_option
@click.pass_obj
def jobs(  # one parameter an option
    database: str, scope: str | None, ended: bool, closed: bool, most: int, at: str | None, style: str
) -> None:
    """Jobs that hold chips, of a place or of all; wounded are chips that carry nothing now.

    \b
    trninv jobs
    trninv jobs u-trn2x64/d0/s1
    trninv jobs --closed
    trninv jobs rainier/d7 --at 2026-11-22T02:10:00Z
    """
    if not 1 <= most <= MOST:
        raise LimitError(f"--most {most}: ask for 1 to {MOST:,}")
    limit = most + (style == "table")
    with looking(database, at, scope) as connection:
        found = closings.closed(connection, limit) if closed else holding.jobs(connection, scope, limit, ended=ended)

    def table() -> None:
        rows(
            _CLOSED if closed else _HEADERS,
            map(_line, found[:most]),
            spare=["ended", "system", "began"],
            none=_NO_CLOSED if closed else _NO_JOBS,
        )
        cut(found, most, "--most N")

    show(style, found, table)


_HEADERS = ["job", "system", "chips", "at", "wounded", "began", "ended", "who"]
_NO_JOBS = "no job holds chips here: trninv hold JOB PLACE… holds some, trninv import jobs --help reads a scheduler's"
_NO_CLOSED = "no server is closed: trninv close SERVER… closes one"
_CLOSED = ["server", "since", "who", "why"]


def _line(of: Job | Closing) -> list[object]:
    if isinstance(of, Closing):
        return [of.server, of.since, of.who, of.why]
    return [_name(of), _system(of), of.chips, _at(of), of.wounded, of.began, of.ended, of.who]


@click.command()
@click.argument("job")
@click.argument("places", nargs=-1, required=True, metavar="PLACE…", type=PLACE)
@click.option("--spare", "spares", multiple=True, metavar="PLACE", help="Held in reserve for it; repeatable.")
@click.option("--pinned", is_flag=True, help="Plans leave it where it is.")
@click.option("--revision", metavar="REVISION", help="Of a plan: refused where the fleet is not as it was then.")
@_why
@_who
@format_option
@click.pass_obj
def hold(  # an option each
    database: str,
    job: str,
    places: tuple[str, ...],
    spares: tuple[str, ...],
    pinned: bool,
    revision: str | None,
    why: str,
    who: str,
    style: str,
) -> None:
    """Hold the chips of places for a job, until it is released: chips, servers, racks, domains; all of them or none.

    A chip has one holder. What is down, and what is in a closed server, is refused. Held again on the same chips, a
    job stays as it is.

    \b
    trninv hold train-7b u-trn2x64/d0/s0
    trninv hold eval u-trn2x64/d0/s1/c0 u-trn2x64/d0/s1/c1
    """
    with changing(database) as connection:
        made = holding.hold(connection, job, places, who=who, spares=spares, pinned=pinned, revision=revision, why=why)
    show(style, made, lambda: say(f"{made.name}: holds {counted(made.chips, 'chip')}, {_at(made)}"))


@click.command()
@click.argument("job")
@_why
@_who
@format_option
@click.pass_obj
def release(database: str, job: str, why: str, who: str, style: str) -> None:
    """End a job, and give its chips back.

    \b
    trninv release train-7b
    trninv release train-7b --why "done, loss 1.83"
    """
    with changing(database) as connection:
        done = holding.release(connection, job, who=who, why=why)
    show(style, done, lambda: say(f"{done.name}: released {counted(done.chips, 'chip')}"))


@click.command()
@click.argument("servers", nargs=-1, required=True, metavar="SERVER…", type=PLACE)
@click.option("--why", required=True, help="The reason, kept with it.")
@_who
@format_option
@click.pass_obj
def close(database: str, servers: tuple[str, ...], why: str, who: str, style: str) -> None:
    """Let servers take no new jobs; what runs there goes on. A rack or a domain stands for all of its servers.

    \b
    trninv close u-trn2x64/d0/s3 --why "new firmware"
    """
    with changing(database) as connection:
        made = closings.close(connection, servers, who=who, why=why)
    show(style, made, lambda: _tell(made, "takes no new jobs", "they are closed already"))


@click.command("open")
@click.argument("servers", nargs=-1, required=True, metavar="SERVER…", type=PLACE)
@_why
@_who
@format_option
@click.pass_obj
def open_(database: str, servers: tuple[str, ...], why: str, who: str, style: str) -> None:
    """Let servers take new jobs again.

    \b
    trninv open u-trn2x64/d0/s3
    """
    with changing(database) as connection:
        done = closings.open_(connection, servers, who=who, why=why)
    show(style, done, lambda: _tell(done, "takes new jobs", "they take new jobs already"))


def _name(job: Job) -> str:
    return f"{job.name} (pinned)" if job.pinned else job.name


def _system(job: Job) -> str:
    """What runs it, and what that calls it, as `release` takes it."""
    return job.system if job.system == holding.OURS else f"{job.system}:{job.external_id}"


def _at(job: Job) -> str:
    more = job.servers - 1
    return f"{job.first} and {counted(more, 'server')} more" if more > 0 else job.first or ""


def _tell(found: Sequence[Closing], became: str, none: str) -> None:
    for each in found:
        say(f"{each.server}: {became}")
    if not found:
        say(none)
