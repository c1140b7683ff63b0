"""Carry out a move plan in one transaction; refuse it if the cluster has changed since."""

from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection, insert, select, update

from trninv.database.tables import TABLES
from trninv.errors import ConflictError, UnknownJobError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.syntax import expand_chip_ranges
from trninv.placement.allocations.allocation_rows import (
    ChipAllocatedError,
    batches,
    insert_allocations,
    location_columns,
    next_job_key,
    refuse_allocated,
    resolve_chips,
)
from trninv.placement.allocations.job_allocations import (
    OWN_SYSTEM,
    Job,
    change_transaction,
    find_live_job,
    jobs_by_key,
    split_job_name,
)
from trninv.placement.allocations.plan_revision import require_plan_revision

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


class RequestedMove(Protocol):
    """A requested move of one job."""

    @property
    def job(self) -> str:
        """Name of the job, as `release` accepts it."""

    @property
    def destination(self) -> "Sequence[str]":
        """Addresses of domains, servers or chips."""


def move_jobs(
    connection: Connection,
    scope: str,
    moves: "Sequence[RequestedMove]",
    revision: str,
    *,
    who: str,
    why: str = "",
    source: str = "command",
) -> list[Job]:
    """Move jobs as planned: each job's row ends, and a new row with its new chips and ``who`` continues it.

    Parameters
    ----------
    connection
        Inside a transaction of `trninv.database.engine.write_transaction`.
    scope, moves, revision
        As in the plan.
    why, source
        Stored with the events, as in `trninv.placement.allocations.job_allocations.allocate`.

    Raises
    ------
    InvalidArgumentError
        The author is missing or too long.
    StalePlanError
        The fleet changed since the plan was made.
    ConflictError
        Another system runs a job and has to move it; or the moves are not a valid plan: a job is pinned, has spares,
        moves twice, changes its number of chips or its cluster.

    """
    with change_transaction(connection, who=who, why=why, source=source) as time:
        return _move_jobs(connection, scope, moves, revision, who, time)


def _move_jobs(
    connection: Connection, scope: str, moves: "Sequence[RequestedMove]", revision: str, who: str, time: str
) -> list[Job]:
    cluster = resolve_place(connection, scope).cluster_id
    require_plan_revision(connection, cluster, revision)
    job, allocation = TABLES["job"], TABLES["allocation"]
    keys = [_own_job_key(connection, move.job) for move in moves]
    old_jobs = {job.key: job for job in jobs_by_key(connection, keys)}
    if len(old_jobs) < len(keys):
        raise ConflictError("a job moves twice; make a new plan")
    for batch in batches(keys):
        is_allocated = allocation.c.job_id.in_(batch), allocation.c.ended_at.is_(None)
        _refuse_pinned(
            old_jobs.values(), connection.scalars(select(allocation.c.job_id).where(*is_allocated, _IS_SPARE)).all()
        )
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
        refuse_allocated(connection, list(chips))
        new_keys.append(_continue_job(connection, key, time, who, location_columns(connection, chips)))
        try:
            insert_allocations(connection, new_keys[-1], chips, time)
        except ChipAllocatedError:
            raise ConflictError(
                f"the chips for job {move.job} were just allocated to another job; make a new plan"
            ) from None
    return jobs_by_key(connection, new_keys)


_IS_SPARE = TABLES["allocation"].c.role == "spare"


def _refuse_pinned(jobs: "Iterable[Job]", with_spares: "Collection[int]") -> None:
    for job in jobs:
        if job.pinned or job.key in with_spares:
            reason = "is pinned" if job.pinned else "has spares"
            raise ConflictError(f"job {job.name} {reason} and can't move; make a new plan")


def _continue_job(connection: Connection, key: int, time: str, who: str, location: "Mapping[str, str]") -> int:
    """Insert the row that continues a job that has just ended elsewhere; return its key."""
    job = TABLES["job"]
    row = connection.execute(select(job).where(job.c.id == key)).one()
    new = next_job_key(connection)
    start = {"started_at": time, "first_started_at": row.first_started_at or row.started_at}
    changed = {"id": new, "ended_at": None, "moved_at": None, "who": who, **location}
    connection.execute(insert(job), row._asdict() | start | changed)
    return new


def _own_job_key(connection: Connection, name: str) -> int:
    """Return the key of a job that was allocated here."""
    system, identity = split_job_name(name)
    if system != OWN_SYSTEM:
        raise ConflictError(f"job {name} is run by {system}; move it there, then import its jobs again")
    if (key := find_live_job(connection, system, identity)) is None:
        raise UnknownJobError(f"no job {name} has chips (trninv jobs lists all)")
    return key
