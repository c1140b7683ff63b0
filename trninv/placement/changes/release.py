"""End a job and release its chips."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Final

from sqlalchemy import Connection, bindparam, select, update

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
    if job.had_ended:
        yield f"{job.name}: ended already at {job.ended_at}"
    else:
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
    job = _T["job"]
    key = find_live_job(connection, system, identity)
    if key is None:
        same_name = select(job.c.id).where(job.c.system == system, job.c.external_id == identity)
        last = connection.scalar(same_name.order_by(job.c.id.desc()).limit(1))
        if last is None:
            raise unknown_job_error(connection, name)
        return replace(read_job(connection, last), had_ended=True)
    with change_transaction(connection, who=who or UNKNOWN_USER, why=why, source=source) as time:
        for statement in _END_JOB:
            connection.execute(statement, {"key": key, "time": time})
    return read_job(connection, key)


# every release executes these statements, and building them again would take longer than running them
_END_JOB: Final = tuple(
    update(table).where(key == bindparam("key"), table.c.ended_at.is_(None)).values(ended_at=bindparam("time"))
    for table, key in ((_T["allocation"], _T["allocation"].c.job_id), (_T["job"], _T["job"].c.id))
)
