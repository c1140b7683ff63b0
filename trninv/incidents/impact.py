"""What an incident costs: what of it carries nothing, whose jobs that touches, and what its domains can do."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from sqlalchemy import Connection, func, select

from trninv import solvers
from trninv.incidents.beside import at_that_time
from trninv.incidents.model import MOST_DOMAINS, MOST_LISTED, DomainImpact, Impact, Incident, JobTouched
from trninv.incidents.places import names
from trninv.incidents.reading import found
from trninv.inventory.schema import TABLES
from trninv.routing.answer import Bounds
from trninv.routing.questions.collectives import all_gather
from trninv.routing.questions.pool import memory_of
from trninv.routing.scope import Scope
from trninv.routing.wiring import Reader, Restored, Wiring
from trninv.units import Bandwidth, Capacity

_NODES: Final = 200
"""Nodes of the search tree of a bisection: few, so that there are bounds soon where no other way is exact."""
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


@dataclass(frozen=True, slots=True)
class _Able:
    """What a domain can do."""

    chips: int
    pool: Capacity
    bisection: Bounds
    all_gather: Bounds

    @classmethod
    def of(cls, reader: Reader, domain: int, address: str) -> Self:
        """As a reader sees it."""
        inside = Scope.of(reader, address).inside(reader, "this")
        split, gathered = solvers.bisection.bisect(inside.graph, inside.ends, nodes=_NODES), all_gather(inside)
        return cls(
            chips=len(inside.ends),
            pool=_largest(reader.load([domain]), inside.ends),
            bisection=Bounds(Bandwidth(split.lower), Bandwidth(split.upper)),
            all_gather=Bounds(gathered.lower, gathered.upper),
        )


def _solved(reader: Reader, of: Incident, key: int, address: str) -> DomainImpact:
    up = Restored(of.ids("chip", "switch", domain=key), of.ids("link", domain=key))
    before, now = (_Able.of(each, key, address) for each in (reader.restoring(up), reader))
    return DomainImpact(
        domain=address,
        chips_before=before.chips,
        chips_now=now.chips,
        pool_before=before.pool,
        pool_now=now.pool,
        bisection_before=before.bisection,
        bisection_now=now.bisection,
        is_comparable=before.chips == now.chips,
        all_gather_before=before.all_gather,
        all_gather_now=now.all_gather,
    )


def _largest(wiring: Wiring, chips: Sequence[int]) -> Capacity:
    """HBM of the most chips that are joined."""
    waiting, largest = set(chips), Capacity(0)
    while waiting:
        joined = solvers.reach.hops_from(wiring.graph, [next(iter(waiting))]).keys() & waiting
        waiting -= joined
        largest = max(largest, memory_of(wiring.nodes, joined))
    return largest
