"""Who holds which chips, and who ever did, by the rows of `allocation` and by the events of jobs."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

from sqlalchemy import Connection, select

from trninv.inventory import chip_ids
from trninv.inventory.fold import Span
from trninv.inventory.schema import JOB_ACTIONS, TABLES

_ALLOCATION, _JOB, _EVENT = (TABLES[name] for name in ("allocation", "job", "state_event"))
_AT_ONCE: Final = 50_000


def now_held(connection: Connection, cluster_id: int) -> dict[int, dict[int, str]]:
    """Return the chips that jobs of a cluster hold by `allocation`, each with its role, by the job's key."""
    columns = select(_ALLOCATION.c.job_id, _ALLOCATION.c.chip_id, _ALLOCATION.c.role)
    query = columns.join(_JOB, _JOB.c.id == _ALLOCATION.c.job_id)
    held = defaultdict[int, dict[int, str]](dict)
    for job, chip, role in connection.execute(
        query.where(_ALLOCATION.c.ended.is_(None), _JOB.c.cluster_id == cluster_id)
    ):
        held[job][chip] = role
    return held


def never_held(connection: Connection, span: Span, jobs: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield job and chip where `allocation` and the events of a span differ in whether one ever held the other.

    Jobs whose events are not all there, or do not say which chips, are left out.
    """
    columns = select(_EVENT.c.part_id, _EVENT.c.chip_ids).where(_EVENT.c.part_id > span.state.last_job)
    texts = defaultdict[int, set[str | None]](set)
    for key, text in connection.execute(columns.where(span.of_jobs, _EVENT.c.action.in_(JOB_ACTIONS))):
        texts[key].add(text)
    whole = {key: chips for key, told in texts.items() if key in jobs and (chips := _chips(told)) is not None}
    if not whole:
        return
    rows = select(_ALLOCATION.c.job_id, _ALLOCATION.c.chip_id).order_by(_ALLOCATION.c.job_id)
    rows = rows.where(_ALLOCATION.c.job_id.between(min(whole), max(whole)))
    with connection.execute(rows, execution_options={"yield_per": _AT_ONCE}) as found:
        for key, group in groupby(found, itemgetter(0)):
            if (told := whole.pop(key, None)) is not None:
                yield from ((key, chip) for chip in sorted(told ^ {chip for _, chip in group}))
    yield from ((key, chip) for key, told in whole.items() for chip in sorted(told))


def unknown_chips(connection: Connection, span: Span) -> int:
    """Count the jobs of which an event does not say the chips, or says them in a text that nobody can read."""
    columns = select(_EVENT.c.part_id, _EVENT.c.chip_ids).where(span.of_jobs, _EVENT.c.chip_ids.is_not(None))
    return len({key for key, text in connection.execute(columns) if _chips([text]) is None})


def _chips(texts: Collection[str | None]) -> set[int] | None:
    """Return the chips of events of a job; None where one of them does not say which."""
    read = [chip_ids.read(text) if text else None for text in texts if text is not None]
    return None if None in read else {chip for chips in read if chips for chip in chips}
