"""Carry out the moves of `trninv make-room` or `drain-impact` in one transaction, unless the cluster has changed since.

A move ends the job's row in ``job`` and continues the job with a new row, so that the history keeps its old place.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Protocol

from sqlalchemy import Connection, insert, select, update

from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES
from trninv.errors import ConflictError, UnknownJobError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.syntax import expand_chip_ranges
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.placement.allocations.allocation_rows import (
    ChipAllocatedError,
    insert_allocations,
    location_columns,
    next_job_key,
    refuse_allocated,
    resolve_chips,
)
from trninv.placement.allocations.job_allocations import (
    Job,
    change_transaction,
    find_live_job,
    jobs_by_key,
    move_obstacle,
    split_job_name,
)
from trninv.placement.allocations.plan_revision import require_plan_revision
from trninv.placement.allocations.reservations import FOREVER, Window, refuse_reserved


class Move(Protocol):
    """A move of a job, as planned by makeRoom or drainImpact."""

    @property
    def job(self) -> str:
        """Its name."""

    @property
    def destination(self) -> Sequence[str]:
        """Where it moves: domains, servers or chips."""


@change(
    scope="operate",
    returns={"jobs": "The jobs that moved, as they are now, oldest first."},
    undo="Move each job back to its former chips, if they are still free; `trninv events` lists them.",
    command="make-room --apply, drain-impact --apply",
    examples=(
        'make-room u-trn2x64 --servers 2 --apply --why "room for train-70b"',
        'drain-impact u-trn2x64/d0/s3 --apply --why "new firmware"',
    ),
)
def move_jobs(
    connection: Connection,
    scope: Annotated[str, Argument("The plan's scope.")],
    moves: Annotated[Sequence[Move], Argument("The plan's moves, in order.")],
    revision: Annotated[
        str, Argument("The plan's revision: refused with STALE_PLAN if the fleet has changed since.", is_text=True)
    ],
    *,
    who: str,
    why: str = "",
    source: str = "command",
) -> list[Job]:
    """Carry out the moves of a makeRoom or drainImpact plan, all or none; a job keeps its start and who allocated it.

    Refused if the moves are not a valid plan: another system runs a job, or a job is pinned, has spares, moves twice,
    changes its number of chips or its cluster.
    """
    with change_transaction(connection, who=who, why=why, source=source) as time:
        return _move_jobs(connection, scope, moves, revision, time)


def _move_jobs(connection: Connection, scope: str, moves: Sequence[Move], revision: str, time: str) -> list[Job]:
    """Move jobs in a transaction that records the change; all old chips are released before new ones are allocated."""
    cluster = resolve_place(connection, scope).cluster_id
    require_plan_revision(connection, cluster, revision)
    job, allocation = TABLES["job"], TABLES["allocation"]
    keys = [own_job_key(connection, move.job) for move in moves]
    old_jobs = {job.key: job for job in jobs_by_key(connection, keys)}
    if len(old_jobs) < len(keys):
        raise ConflictError("a job moves twice; make a new plan")
    old_chips: dict[int, set[int]] = {key: set() for key in keys}
    for batch in batches(keys):
        is_allocated = allocation.c.job_id.in_(batch), allocation.c.ended_at.is_(None)
        query = select(allocation.c.job_id, allocation.c.chip_id, allocation.c.role).where(*is_allocated)
        rows = connection.execute(query).all()
        _refuse_immovable(old_jobs.values(), {row.job_id for row in rows if row.role == "spare"})
        for row in rows:
            old_chips[row.job_id].add(row.chip_id)
        connection.execute(update(allocation).where(*is_allocated).values(ended_at=time))
        connection.execute(update(job).where(job.c.id.in_(batch)).values(ended_at=time, moved_at=time))
    new_keys = []
    for key, move in zip(keys, moves, strict=True):
        chips = resolve_chips(connection, move.destination, ())
        if (
            len(chips) != old_jobs[key].chips
            or resolve_place(connection, expand_chip_ranges(move.destination)[0]).cluster_id != cluster
        ):
            raise ConflictError(
                f"job {move.job} must keep its {old_jobs[key].chips} chips and its cluster; make a new plan"
            )
        new_chips = list(chips.keys() - old_chips[key])  # a job may keep chips that no new job gets
        refuse_allocated(connection, new_chips)
        refuse_reserved(connection, new_chips, Window(time, _end_of(old_jobs[key], time)))
        new_keys.append(continue_job(connection, key, time, location_columns(connection, chips)))
        try:
            insert_allocations(connection, new_keys[-1], chips, time)
        except ChipAllocatedError:
            raise ConflictError(
                f"the chips for job {move.job} were just allocated to another job; make a new plan"
            ) from None
    return jobs_by_key(connection, new_keys)


def _end_of(job: Job, now: str) -> str:
    """Return when a job ends at the latest; a job that should have ended by now may run forever."""
    return job.until_at if job.until_at and job.until_at > now else FOREVER


def _refuse_immovable(jobs: Iterable[Job], with_spares: Collection[int]) -> None:
    """Refuse jobs that are pinned or have spares; ``with_spares`` are the keys of the latter."""
    for job in jobs:
        if obstacle := move_obstacle(job.name, job.system, pinned=job.pinned, has_spares=job.key in with_spares):
            raise ConflictError(obstacle)


def continue_job(connection: Connection, key: int, time: str, location: Mapping[str, str]) -> int:
    """Insert the row that continues a job whose row (its key) has just ended; return the new row's key.

    The job keeps who allocated it and when; events have who moved it.
    """
    job = TABLES["job"]
    old_row = connection.execute(select(job).where(job.c.id == key)).one()
    new_key = next_job_key(connection)
    start = {"started_at": time, "first_started_at": old_row.first_started_at or old_row.started_at}
    changed = {"id": new_key, "ended_at": None, "moved_at": None, **location}
    connection.execute(insert(job), old_row._asdict() | start | changed)
    return new_key


def own_job_key(connection: Connection, name: str) -> int:
    """Return the key of a job that was allocated here; refuse jobs of other systems."""
    system, identity = split_job_name(name)
    if obstacle := move_obstacle(name, system):
        raise ConflictError(obstacle)
    if (key := find_live_job(connection, system, identity)) is None:
        raise UnknownJobError(f"no job {name} has chips (trninv jobs lists all)")
    return key
