"""Allocate chips to a job."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from trninv.database.tables import TABLES
from trninv.errors import ConflictError
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
    OWN_SYSTEM,
    Job,
    change_transaction,
    check_name,
    find_live_job,
    job_location,
    read_job,
)
from trninv.placement.allocations.plan_revision import require_plan_revision
from trninv.units import pluralize

_T = TABLES
# every change executes these statements, and building them again would take longer than running them
_CLUSTER_OF_NODE: Final = select(_T["node"].c.cluster_id).where(_T["node"].c.id == bindparam("node"))
_INSERT_JOB: Final = insert(_T["job"])


def _render(job: Job) -> Iterator[str]:
    yield f"{job.name}: allocated {pluralize(job.chips, 'chip')}, {job_location(job)}"


@change(
    scope="operate",
    returns={"job": "The job as it is now."},
    payload="JobPayload",
    undo="`trninv release JOB` ends the job and releases its chips.",
    render=_render,
    examples=(
        "allocate train-7b u-trn2x64/d0/s0",
        "allocate eval u-trn2x64/d0/s1/c0 u-trn2x64/d0/s1/c1",
    ),
)
def allocate(
    connection: Connection,
    name: Annotated[str, Argument("Name of the job.", name="job", metavar="JOB", is_text=True)],
    places: Annotated[Sequence[str], Argument("Chips, servers, racks and domains of one cluster.", metavar="PLACE…")],
    *,
    who: str,
    spares: Annotated[Sequence[str], Argument("Spares to allocate to it.", option="--spare", metavar="PLACE")] = (),
    pinned: Annotated[bool, Argument("Whether move plans leave the job where it is.")] = False,
    revision: Annotated[
        str | None,
        Argument(
            "Revision of a makeRoom plan: refused with STALE_PLAN if the fleet has changed since.",
            is_text=True,
            metavar="REVISION",
        ),
    ] = None,
    why: str = "",
    source: str = "command",
) -> Job:
    """Allocate chips to a job until it is released.

    Either all of the chips are allocated or none: the change is refused if a chip is down, allocated to another job or
    on a cordoned server. Allocating the same chips again changes nothing.
    """
    check_name(name)
    with change_transaction(connection, who=who, why=why, source=source) as time:
        chips = resolve_chips(connection, places, spares)
        cluster = connection.scalars(_CLUSTER_OF_NODE, {"node": min(chips)}).one()
        if revision is not None:
            require_plan_revision(connection, cluster, revision)
        if (existing_key := find_live_job(connection, OWN_SYSTEM, name)) is not None:
            if _chips_of_job(connection, existing_key) == chips:
                return read_job(connection, existing_key)
            raise ConflictError(f"job {name} has other chips; release it first, or choose another name")
        refuse_allocated(connection, list(chips))
        key, location = next_job_key(connection), location_columns(connection, chips)
        row = {
            "id": key,
            "cluster_id": cluster,
            "name": name,
            "system": OWN_SYSTEM,
            "external_id": name,
            "started_at": time,
        }
        try:
            connection.execute(_INSERT_JOB, row | {"pinned": int(pinned), "who": who, **location})
            insert_allocations(connection, key, chips, time)
        except (IntegrityError, ChipAllocatedError):
            raise ConflictError(
                f"the chips of job {name} were just allocated to another job; find others with trninv place"
            ) from None
        return read_job(connection, key)


def _chips_of_job(connection: Connection, key: int) -> dict[int, str]:
    """Return the role, work or spare, of each chip that a job has."""
    allocation = _T["allocation"]
    query = select(allocation.c.chip_id, allocation.c.role).where(allocation.c.job_id == key)
    return {row.chip_id: row.role for row in connection.execute(query.where(allocation.c.ended_at.is_(None)))}
