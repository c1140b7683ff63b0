"""Give a job new chips for those on servers that it has lost, as the question `replacement` plans it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, cast

from sqlalchemy import Connection, select, update

from trninv.database.tables import TABLES
from trninv.errors import ConflictError
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.placement.allocations.allocation_rows import (
    ChipAllocatedError,
    insert_allocations,
    location_columns,
    resolve_chips,
)
from trninv.placement.allocations.job_allocations import Job, change_transaction, job_location, read_job
from trninv.placement.allocations.plan_revision import require_plan_revision
from trninv.placement.changes.move_jobs import continue_job, own_job_key
from trninv.placement.questions.replacement import replacement
from trninv.routing.revision_cache import RevisionCache
from trninv.routing.snapshot import Snapshot
from trninv.units import pluralize

if TYPE_CHECKING:
    from trninv.placement.questions.replacement import ReplacementAnswer

_JOB, _ALLOCATION = TABLES["job"], TABLES["allocation"]


def _render(job: Job) -> Iterator[str]:
    yield f"{job.name}: has {pluralize(job.chips, 'chip')}, {job_location(job)}"


@change(
    scope="operate",
    returns={"job": "The job as it is now."},
    payload="JobPayload",
    undo="`trninv release JOB` and `trninv allocate JOB PLACE…` with its former chips; `trninv events` lists them.",
    command="replace --apply",
    render=_render,
    examples=('replace train-70b --lost u-trn2x64/d0/s1 --apply --why "fan"',),
)
def replace_servers(
    connection: Connection,
    name: Annotated[str, Argument("Name of the job.", name="job", metavar="JOB", is_text=True)],
    lost: Annotated[Sequence[str], Argument("Lost servers, or racks and domains for all their servers.")],
    revision: Annotated[
        str, Argument("The plan's revision: refused with STALE_PLAN if the fleet has changed since.", is_text=True)
    ],
    *,
    who: str,
    why: str = "",
    source: str = "command",
) -> Job:
    """Carry out a replacement plan: the job leaves the lost servers and gets the new chips.

    Refused if another system runs the job, or nothing free keeps its shape and bandwidth.
    """
    with change_transaction(connection, who=who, why=why, source=source) as time:
        key = own_job_key(connection, name)
        cluster = connection.scalars(select(_JOB.c.cluster_id).where(_JOB.c.id == key)).one()
        require_plan_revision(connection, cluster, revision)
        snapshot = Snapshot(connection, RevisionCache(None))
        plan = cast("ReplacementAnswer", replacement.function(snapshot, name, tuple(lost)))
        if not plan.possible:
            raise ConflictError(f"nothing free keeps the shape and bandwidth of job {name}; make room (make-room)")
        chips = _chips_after(connection, key, plan)
        is_allocated = _ALLOCATION.c.job_id == key, _ALLOCATION.c.ended_at.is_(None)
        connection.execute(update(_ALLOCATION).where(*is_allocated).values(ended_at=time))
        connection.execute(update(_JOB).where(_JOB.c.id == key).values(ended_at=time, moved_at=time))
        new_key = continue_job(connection, key, time, location_columns(connection, chips))
        try:
            insert_allocations(connection, new_key, chips, time)
        except ChipAllocatedError:
            raise ConflictError(
                f"the chips for job {name} were just allocated to another job; make a new plan"
            ) from None
        return read_job(connection, new_key)


def _chips_after(connection: Connection, key: int, plan: "ReplacementAnswer") -> dict[int, str]:
    """Return the role of each chip that the job has after the plan; a spare that it now works on is no spare."""
    query = select(_ALLOCATION.c.chip_id, _ALLOCATION.c.role).where(
        _ALLOCATION.c.job_id == key, _ALLOCATION.c.ended_at.is_(None)
    )
    chips = {row.chip_id: row.role for row in connection.execute(query)}
    sources = [place for part in plan.parts for place in part.source]
    gone = resolve_chips(connection, [*sources, *plan.lost], ())
    new = resolve_chips(connection, [place for part in plan.parts for place in part.destination], ())
    return {chip: role for chip, role in chips.items() if chip not in gone} | new
