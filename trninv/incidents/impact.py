"""Estimate what an incident costs: lost chips, affected jobs and what its domains can still do.

Commands, GraphQL and `trninv.open` call this for incidents that `trninv.incidents.grouping` lists.
"""

from collections import Counter
from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from trninv.database.as_of import current_time, is_open_then
from trninv.database.tables import TABLES
from trninv.incidents.common_place import place_addresses
from trninv.incidents.failures import select_by_ids
from trninv.incidents.model import (
    MAX_DOMAINS,
    MAX_LISTED,
    AffectedJob,
    AffectedReservation,
    DomainImpact,
    Impact,
    Incident,
)
from trninv.routing.answer import incomparability_reason
from trninv.routing.questions.capability import compute_capability
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import UpOverrides
from trninv.units import Capacity, format_timestamp

_RESERVATION, _RESERVED_CHIP = TABLES["reservation"], TABLES["reserved_chip"]
_CHIP, _MODEL = (TABLES[name] for name in ("chip", "chip_model"))
_JOB, _ALLOCATION = TABLES["job"], TABLES["allocation"]


def estimate_impact(snapshot: Snapshot, incident: Incident) -> Impact:
    """Return what an incident costs now.

    For the domains with most of its parts, the capability is computed twice: as they are now, and with these parts up.
    """
    connection = snapshot.connection
    unusable_chips = [part.id for part in incident.members if part.kind == "chip" and not part.condition.carries]
    cores, memory = _lost_capacity(connection, unusable_chips)
    jobs = _chips_by_job(connection, incident)
    listed = sorted(jobs, key=lambda job: (-jobs[job], job))[:MAX_LISTED]
    domains = Counter[int]()
    for part in incident.members:
        domains.update({location.domain for location in part.locations if location.domain is not None})
    solved_domains = sorted(domains, key=lambda key: (-domains[key], key))[:MAX_DOMAINS]
    addresses = place_addresses(connection, {("domain", key) for key in solved_domains})
    return Impact(
        chips=len(unusable_chips),
        cores=cores,
        memory=Capacity(memory),
        jobs=tuple(_affected_job(connection, key, jobs[key]) for key in listed),
        job_count=len(jobs),
        reservations=tuple(_affected_reservations(connection, incident))[:MAX_LISTED],
        domains=tuple(
            _domain_impact(snapshot, incident, key, addresses["domain", key]) for key in sorted(solved_domains)
        ),
        domain_count=len(domains),
        truncated=len(domains) > len(solved_domains) or len(jobs) > len(listed),
    )


def _lost_capacity(connection: Connection, chips: list[int]) -> tuple[int, int]:
    """Return the number of cores and the bytes of HBM of some chips (ids)."""
    query = select(func.sum(_MODEL.c.cores), func.sum(_MODEL.c.device_memory_bytes))
    query = query.join(_CHIP, _CHIP.c.chip_model_id == _MODEL.c.id)
    sums = list(select_by_ids(connection, query, _CHIP.c.id, chips))
    return sum(int(cores) for cores, _ in sums), sum(int(memory) for _, memory in sums)


def _chips_by_job(connection: Connection, incident: Incident) -> Counter[int]:
    """Count the incident's chips that each job has, by the job's key."""
    query = select(_ALLOCATION.c.job_id, func.count()).group_by(_ALLOCATION.c.job_id)
    query = query.where(is_open_then(connection, _ALLOCATION.c.started_at, _ALLOCATION.c.ended_at))
    counts = Counter[int]()
    for key, chips in select_by_ids(connection, query, _ALLOCATION.c.chip_id, incident.ids("chip")):
        counts[key] += chips
    return counts


def _affected_job(connection: Connection, key: int, chips: int) -> AffectedJob:
    row = connection.execute(select(_JOB).where(_JOB.c.id == key)).one()
    allocated = select(func.count()).where(
        _ALLOCATION.c.job_id == key, is_open_then(connection, _ALLOCATION.c.started_at, _ALLOCATION.c.ended_at)
    )
    return AffectedJob(row.name, row.system, row.external_id, connection.scalar(allocated) or 0, chips, row.who)


def _affected_reservations(connection: Connection, incident: Incident) -> Iterator[AffectedReservation]:
    """Yield the reservations that are neither cancelled nor over, with chips of the incident, by their start."""
    now = format_timestamp(current_time(connection))
    query = (
        select(_RESERVED_CHIP.c.reservation_id, func.count())
        .join(_RESERVATION, _RESERVATION.c.id == _RESERVED_CHIP.c.reservation_id)
        .where(
            is_open_then(connection, _RESERVATION.c.started_at, _RESERVATION.c.ended_at), _RESERVATION.c.until_at > now
        )
        .group_by(_RESERVED_CHIP.c.reservation_id)
    )
    counts = Counter[int]()
    for key, chips in select_by_ids(connection, query, _RESERVED_CHIP.c.chip_id, incident.ids("chip")):
        counts[key] += chips
    rows = select_by_ids(connection, select(_RESERVATION), _RESERVATION.c.id, counts)
    for row in sorted(rows, key=lambda row: (row.from_at, row.id)):
        has_begun = row.from_at <= now
        yield AffectedReservation(row.name, row.kind, row.from_at, row.until_at, has_begun, row.chips, counts[row.id])


def _domain_impact(snapshot: Snapshot, incident: Incident, key: int, address: str) -> DomainImpact:
    """Compare the domain as it is now with the same domain if all parts of an incident in it were up ("before")."""
    restored = UpOverrides(incident.ids("chip", "switch", "nic", domain=key), incident.ids("link", domain=key))
    restored_answer, current_answer = (
        compute_capability(wiring, address) for wiring in (snapshot.with_up_overrides(restored), snapshot)
    )
    return DomainImpact(
        domain=address,
        chips_before=restored_answer.chips,
        chips_now=current_answer.chips,
        idle_links_before=restored_answer.idle_links,
        idle_links_now=current_answer.idle_links,
        pool_before=restored_answer.pool,
        pool_now=current_answer.pool,
        bisection_before=restored_answer.halves,
        bisection_now=current_answer.halves,
        incomparable=incomparability_reason(restored_answer.chips, current_answer.chips),
        all_gather_before=restored_answer.all_gather,
        all_gather_now=current_answer.all_gather,
    )
