"""What an incident costs: what of it carries nothing, whose jobs that touches, and what its domains can do."""

from collections import Counter

from sqlalchemy import Connection, func, select

from trninv.incidents.beside import at_that_time
from trninv.incidents.model import MOST_DOMAINS, MOST_LISTED, DomainImpact, Impact, Incident, JobTouched
from trninv.incidents.places import names
from trninv.incidents.reading import found
from trninv.inventory.schema import TABLES
from trninv.routing.answer import incomparable
from trninv.routing.questions.capability import assess
from trninv.routing.wiring import Reader, Restored
from trninv.units import Capacity

_CHIP, _MODEL, _JOB, _HELD = (TABLES[name] for name in ("chip", "chip_model", "job", "allocation"))


def impact(reader: Reader, of: Incident) -> Impact:
    """What an incident costs now. Of its domains, those with most of its parts are solved, with these up and as is."""
    connection = reader.connection
    lost = [part.id for part in of.members if part.kind == "chip" and not part.condition.carries]
    cores, memory = _lost(connection, lost)
    jobs = _jobs(connection, of)
    listed = sorted(jobs, key=lambda job: (-jobs[job], job))[:MOST_LISTED]
    domains = Counter(key for part in of.members for key in {spot.domain for spot in part.touches} if key is not None)
    first = sorted(domains, key=lambda key: (-domains[key], key))[:MOST_DOMAINS]
    named = names(connection, {("domain", key) for key in first})
    return Impact(
        chips=len(lost),
        cores=cores,
        memory=Capacity(memory),
        jobs=tuple(_touched(connection, key, jobs[key]) for key in listed),
        job_count=len(jobs),
        domains=tuple(_solved(reader, of, key, named["domain", key]) for key in sorted(first)),
        domain_count=len(domains),
        truncated=len(domains) > len(first) or len(jobs) > len(listed),
    )


def _lost(connection: Connection, chips: list[int]) -> tuple[int, int]:
    """Cores and bytes of HBM of chips."""
    query = select(func.sum(_MODEL.c.cores), func.sum(_MODEL.c.device_memory_bytes))
    query = query.join(_CHIP, _CHIP.c.chip_model_id == _MODEL.c.id)
    sums = list(found(connection, query, _CHIP.c.id, chips))
    return sum(int(cores) for cores, _ in sums), sum(int(memory) for _, memory in sums)


def _jobs(connection: Connection, of: Incident) -> Counter[int]:
    """How many chips of an incident each job holds, by the job's key."""
    query = select(_HELD.c.job_id, func.count()).group_by(_HELD.c.job_id)
    query = query.where(at_that_time(connection, _HELD.c.began, _HELD.c.ended))
    held = Counter[int]()
    for key, chips in found(connection, query, _HELD.c.chip_id, of.ids("chip")):
        held[key] += chips
    return held


def _touched(connection: Connection, key: int, chips: int) -> JobTouched:
    row = connection.execute(select(_JOB).where(_JOB.c.id == key)).one()
    held = select(func.count()).where(_HELD.c.job_id == key, at_that_time(connection, _HELD.c.began, _HELD.c.ended))
    return JobTouched(row.name, row.system, row.external_id, connection.scalar(held) or 0, chips)


def _solved(reader: Reader, of: Incident, key: int, address: str) -> DomainImpact:
    """A domain with all parts of an incident up, and as it is."""
    up = Restored(of.ids("chip", "switch", "nic", domain=key), of.ids("link", domain=key))
    before, now = (assess(each, address) for each in (reader.restoring(up), reader))
    return DomainImpact(
        domain=address,
        chips_before=before.chips,
        chips_now=now.chips,
        idle_links_before=before.idle_links,
        idle_links_now=now.idle_links,
        pool_before=before.pool,
        pool_now=now.pool,
        bisection_before=before.halves,
        bisection_now=now.halves,
        incomparable=incomparable(before.chips, now.chips),
        all_gather_before=before.all_gather,
        all_gather_now=now.all_gather,
    )
