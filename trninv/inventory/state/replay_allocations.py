"""Compare allocations with the events of jobs."""

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


def allocation_differences(connection: Connection, span: EventSpan, jobs: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield job and chip ids where ``allocation`` and the events of a span disagree on whether the job ever had the
    chip.

    Jobs without complete events, or with events that do not name their chips, are skipped.
    """
    columns = select(_EVENT.c.part_id, _EVENT.c.chip_ids).where(_EVENT.c.part_id > span.state.last_job)
    texts = defaultdict[int, set[str | None]](set)
    for key, text in connection.execute(columns.where(span.job_events, _EVENT.c.action.in_(JOB_ACTIONS))):
        texts[key].add(text)
    chips_by_job = {
        key: chips for key, event_chips in texts.items() if key in jobs and (chips := _chips(event_chips)) is not None
    }
    if not chips_by_job:
        return
    rows = select(_ALLOCATION.c.job_id, _ALLOCATION.c.chip_id).order_by(_ALLOCATION.c.job_id)
    rows = rows.where(_ALLOCATION.c.job_id.between(min(chips_by_job), max(chips_by_job)))
    with connection.execute(rows, execution_options={"yield_per": _BATCH_SIZE}) as rows_:
        for key, group in groupby(rows_, itemgetter(0)):
            if (event_chips := chips_by_job.pop(key, None)) is not None:
                yield from ((key, chip) for chip in sorted(event_chips ^ {chip for _, chip in group}))
    yield from ((key, chip) for key, event_chips in chips_by_job.items() for chip in sorted(event_chips))


def count_unreadable_chips(connection: Connection, span: EventSpan) -> int:
    """Count the jobs with an event whose chips are missing or unreadable."""
    columns = select(_EVENT.c.part_id, _EVENT.c.chip_ids).where(span.job_events, _EVENT.c.chip_ids.is_not(None))
    return len({key for key, text in connection.execute(columns) if _chips([text]) is None})


def _chips(texts: Collection[str | None]) -> set[int] | None:
    """Return the chips of a job's events, or None if one of them does not name its chips."""
    read = [chip_ids.parse_chip_ids(text) if text else None for text in texts if text is not None]
    return None if None in read else {chip for chips in read if chips for chip in chips}
