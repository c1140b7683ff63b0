"""Compare the table of allocations (chips assigned to jobs) with the events of jobs, for `trninv verify`."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

from sqlalchemy import Connection, select

from trninv.database.tables import JOB_ACTIONS, TABLES
from trninv.inventory.state import chip_ids
from trninv.inventory.state.event_fold import EventSpan

_ALLOCATION, _JOB, _EVENT = (TABLES[name] for name in ("allocation", "job", "state_event"))
_BATCH_SIZE: Final = 50_000


def current_allocations(connection: Connection, cluster_id: int) -> dict[int, dict[int, str]]:
    """Return the allocated chips of a cluster with their roles, by the job's id."""
    columns = select(_ALLOCATION.c.job_id, _ALLOCATION.c.chip_id, _ALLOCATION.c.role)
    query = columns.join(_JOB, _JOB.c.id == _ALLOCATION.c.job_id)
    chips_by_job = defaultdict[int, dict[int, str]](dict)
    for job, chip, role in connection.execute(
        query.where(_ALLOCATION.c.ended_at.is_(None), _JOB.c.cluster_id == cluster_id)
    ):
        chips_by_job[job][chip] = role
    return chips_by_job


def allocation_differences(
    connection: Connection, span: EventSpan, jobs: Collection[int]
) -> Iterator[tuple[int, int, bool]]:
    """Yield job and chip ids where ``allocation`` and the events of a span disagree on whether the job ever had the
    chip, and whether it had the chip by its events.

    Jobs older than the span, and those with events that do not name their chips, are skipped.

    Parameters
    ----------
    jobs
        Ids of the jobs that have a row; others are skipped.
    """
    query = select(_EVENT.c.part_id, _EVENT.c.chip_ids).where(_EVENT.c.part_id > span.state.last_job)
    texts_by_job = defaultdict[int, set[str | None]](set)
    for job, text in connection.execute(query.where(span.job_events, _EVENT.c.action.in_(JOB_ACTIONS))):
        texts_by_job[job].add(text)
    chips_by_job = {
        job: chips
        for job, texts in texts_by_job.items()
        if job in jobs and (chips := _parse_all_chips(texts)) is not None
    }
    if not chips_by_job:
        return
    rows = select(_ALLOCATION.c.job_id, _ALLOCATION.c.chip_id).order_by(_ALLOCATION.c.job_id)
    rows = rows.where(_ALLOCATION.c.job_id.between(min(chips_by_job), max(chips_by_job)))
    with connection.execute(rows, execution_options={"yield_per": _BATCH_SIZE}) as allocations:
        for job, group in groupby(allocations, itemgetter(0)):
            if (event_chips := chips_by_job.pop(job, None)) is not None:
                differences = sorted(event_chips ^ {chip for _, chip in group})
                yield from ((job, chip, chip in event_chips) for chip in differences)
    for job, event_chips in chips_by_job.items():  # jobs without rows
        yield from ((job, chip, True) for chip in sorted(event_chips))


def count_unreadable_chips(connection: Connection, span: EventSpan) -> int:
    """Count the jobs with an event whose chips are missing or unreadable."""
    query = select(_EVENT.c.part_id, _EVENT.c.chip_ids).where(span.job_events, _EVENT.c.chip_ids.is_not(None))
    return len({job for job, text in connection.execute(query) if _parse_all_chips([text]) is None})


def _parse_all_chips(texts: Collection[str | None]) -> set[int] | None:
    """Return all chips in the texts of a job's events, skipping None; return None if a text is empty or unreadable."""
    all_chips = set[int]()
    for text in texts:
        if text is None:
            continue
        chips = chip_ids.parse_chip_ids(text) if text else None
        if chips is None:
            return None
        all_chips |= chips.keys()
    return all_chips
