"""End a job and release its chips."""

from collections.abc import Iterator
from typing import Annotated

from sqlalchemy import Connection, and_, select, update

from trninv.database.tables import TABLES
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.placement.allocations.job_allocations import (
    UNKNOWN_USER,
    Job,
    change_transaction,
    find_live_job,
    read_job,
    split_job_name,
    unknown_job_error,
)
from trninv.units import pluralize

_T = TABLES


def _render(job: Job) -> Iterator[str]:
    yield f"{job.name}: released {pluralize(job.chips, 'chip')}"


@change(
    scope="operate",
    returns={"job": "The job as it is now."},
    payload="JobPayload",
    undo="`trninv allocate JOB PLACE…` starts another job of that name on the same chips, if they are still free.",
    render=_render,
    examples=("release train-7b", 'release train-7b --why "done, loss 1.83"'),
)
def release(
    connection: Connection,
    name: Annotated[
        str, Argument("Its name, or SYSTEM:ID for a job of another system.", name="job", metavar="JOB", is_text=True)
    ],
    *,
    who: str = "",
    why: str = "",
    source: str = "command",
) -> Job:
    """End a job and release its chips.

    Releasing it again changes nothing.
    """
    system, identity = split_job_name(name)
    job, allocation = _T["job"], _T["allocation"]
    key = find_live_job(connection, system, identity)
    if key is None:
        same_name = select(job.c.id).where(job.c.system == system, job.c.external_id == identity)
        last = connection.scalar(same_name.order_by(job.c.id.desc()).limit(1))
        if last is None:
            raise unknown_job_error(connection, name)
        return read_job(connection, last)
    is_allocated = and_(allocation.c.job_id == key, allocation.c.ended_at.is_(None))
    with change_transaction(connection, who=who or UNKNOWN_USER, why=why, source=source) as time:
        connection.execute(update(allocation).where(is_allocated).values(ended_at=time))
        connection.execute(update(job).where(job.c.id == key, job.c.ended_at.is_(None)).values(ended_at=time))
    return read_job(connection, key)
