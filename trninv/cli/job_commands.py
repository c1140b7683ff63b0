"""List jobs, allocate and release chips, cordon and uncordon servers."""

from collections.abc import Sequence

import click

from trninv.cli.database_connection import at_option, read_connection, write_connection
from trninv.cli.messages import print_wrapped
from trninv.cli.output import MAX_LIMIT, format_option, print_table, print_truncation, print_value
from trninv.cli.set_command import current_user
from trninv.cli.shell_completion import ADDRESS
from trninv.errors import InvalidArgumentError
from trninv.placement.allocations import job_allocations, server_cordons
from trninv.placement.allocations.job_allocations import Job
from trninv.placement.allocations.server_cordons import Cordon
from trninv.units import pluralize

_who_option = click.option("--who", default=current_user, show_default="you", help="Who makes the change.")
_why_option = click.option("--why", default="", help="The reason, recorded with the event.")


@click.command()
@click.argument("scope", required=False, type=ADDRESS)
@click.option("--ended", is_flag=True, help="Include ended jobs.")
@click.option("--limit", default=1_000, show_default=True, metavar="N", help="Maximum number of rows.")
@at_option
@format_option
@click.pass_obj
def jobs(  # one parameter per option
    database: str, scope: str | None, ended: bool, limit: int, as_of: str | None, style: str
) -> None:
    """List jobs with their chips, place and failed chips.

    Failed chips are allocated chips that are out of service now.

    \b
    trninv jobs
    trninv jobs u-trn2x64/d0/s1
    trninv jobs rainier/d7 --at 2026-11-22T02:10:00Z
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgumentError(f"--limit {limit}: give a number from 1 to {MAX_LIMIT:,}")
    row_limit = limit + (style == "table")
    with read_connection(database, as_of, scope) as connection:
        entries = job_allocations.list_jobs(connection, scope, row_limit, include_ended=ended)

    def table() -> None:
        print_table(
            _JOB_HEADERS,
            map(_job_cells, entries[:limit]),
            optional_columns=["ended", "system", "started"],
            empty_text=_NO_JOBS_HINT,
        )
        print_truncation(entries, limit, "--limit N")

    print_value(style, entries, table)


_JOB_HEADERS = ["job", "system", "chips", "place", "failed chips", "started", "ended", "who"]
_NO_JOBS_HINT = (
    "no jobs here: trninv allocate JOB PLACE… allocates chips, trninv import jobs imports a scheduler's jobs"
)


def _job_cells(job: Job) -> list[object]:
    return [
        _job_name(job),
        _external_name(job),
        job.chips,
        _job_location(job),
        job.failed_chips,
        job.started_at,
        job.ended_at,
        job.who,
    ]


@click.command()
@click.option("--limit", default=1_000, show_default=True, metavar="N", help="Maximum number of rows.")
@at_option
@format_option
@click.pass_obj
def cordons(database: str, limit: int, as_of: str | None, style: str) -> None:
    """List the cordoned servers, which take no new jobs.

    \b
    trninv cordons
    trninv cordons --at 2026-11-22T02:10:00Z
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgumentError(f"--limit {limit}: give a number from 1 to {MAX_LIMIT:,}")
    with read_connection(database, as_of) as connection:
        entries = server_cordons.list_cordons(connection, limit + (style == "table"))

    def table() -> None:
        rows = ([entry.server, entry.started_at, entry.who, entry.why] for entry in entries[:limit])
        print_table(["server", "since", "who", "why"], rows, empty_text=_NO_CORDONS_HINT)
        print_truncation(entries, limit, "--limit N")

    print_value(style, entries, table)


_NO_CORDONS_HINT = "no server is cordoned: trninv cordon SERVER… cordons one"


@click.command()
@click.argument("job")
@click.argument("places", nargs=-1, required=True, metavar="PLACE…", type=ADDRESS)
@click.option("--spare", "spares", multiple=True, metavar="PLACE", help="Allocate these chips as spares; repeatable.")
@click.option("--pinned", is_flag=True, help="Never move the job in plans.")
@click.option("--revision", metavar="REVISION", help="Allocate only if the fleet is still at this revision of a plan.")
@_why_option
@_who_option
@format_option
@click.pass_obj
def allocate(  # one parameter per option
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
    """Allocate chips to a job until it is released.

    PLACE is a chip, server, rack or domain. Either all of the chips are allocated or none. Chips that are down,
    allocated to another job or on a cordoned server are refused. Allocating the same chips again changes nothing.

    \b
    trninv allocate train-7b u-trn2x64/d0/s0
    trninv allocate eval u-trn2x64/d0/s1/c0 u-trn2x64/d0/s1/c1
    """
    with write_connection(database) as connection:
        job_allocated = job_allocations.allocate(
            connection, job, places, who=who, spares=spares, pinned=pinned, revision=revision, why=why
        )
    print_value(
        style,
        job_allocated,
        lambda: print_wrapped(
            f"{job_allocated.name}: allocated {pluralize(job_allocated.chips, 'chip')}, {_job_location(job_allocated)}"
        ),
    )


@click.command()
@click.argument("job")
@_why_option
@_who_option
@format_option
@click.pass_obj
def release(database: str, job: str, why: str, who: str, style: str) -> None:
    """End a job and release its chips.

    \b
    trninv release train-7b
    trninv release train-7b --why "done, loss 1.83"
    """
    with write_connection(database) as connection:
        job_released = job_allocations.release(connection, job, who=who, why=why)
    print_value(
        style,
        job_released,
        lambda: print_wrapped(f"{job_released.name}: released {pluralize(job_released.chips, 'chip')}"),
    )


@click.command()
@click.argument("servers", nargs=-1, required=True, metavar="SERVER…", type=ADDRESS)
@click.option("--why", required=True, help="The reason, recorded with the event.")
@_who_option
@format_option
@click.pass_obj
def cordon(database: str, servers: tuple[str, ...], why: str, who: str, style: str) -> None:
    """Cordon servers, so that they take no new jobs.

    Running jobs continue. A rack or a domain means all of its servers.

    \b
    trninv cordon u-trn2x64/d0/s3 --why "new firmware"
    """
    with write_connection(database) as connection:
        cordons = server_cordons.cordon(connection, servers, who=who, why=why)
    print_value(style, cordons, lambda: _render_cordons(cordons, "cordoned", "already cordoned"))


@click.command()
@click.argument("servers", nargs=-1, required=True, metavar="SERVER…", type=ADDRESS)
@_why_option
@_who_option
@format_option
@click.pass_obj
def uncordon(database: str, servers: tuple[str, ...], why: str, who: str, style: str) -> None:
    """Uncordon servers, so that they take new jobs again.

    \b
    trninv uncordon u-trn2x64/d0/s3
    """
    with write_connection(database) as connection:
        cordons = server_cordons.uncordon(connection, servers, who=who, why=why)
    print_value(style, cordons, lambda: _render_cordons(cordons, "uncordoned", "not cordoned"))


def _job_name(job: Job) -> str:
    return f"{job.name} (pinned)" if job.pinned else job.name


def _external_name(job: Job) -> str:
    """Return the job's system and its name there, as `release` takes them."""
    return job.system if job.system == job_allocations.OWN_SYSTEM else f"{job.system}:{job.external_id}"


def _job_location(job: Job) -> str:
    more_servers = job.servers - 1
    return (
        f"{job.first_server} and {pluralize(more_servers, 'server')} more"
        if more_servers > 0
        else job.first_server or ""
    )


def _render_cordons(cordons: Sequence[Cordon], outcome: str, empty_text: str) -> None:
    for entry in cordons:
        print_wrapped(f"{entry.server}: {outcome}")
    if not cordons:
        print_wrapped(empty_text)
