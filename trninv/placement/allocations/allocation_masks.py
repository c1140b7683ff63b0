"""Read which chips each job of a cluster has, as bit masks by domain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from trninv.database.tables import TABLES
from trninv.placement.allocations.job_allocations import OWN_SYSTEM
from trninv.placement.allocations.job_scenario import resolve_jobs
from trninv.placement.candidates.free_capacity import masks_by_domain, read_cluster
from trninv.placement.candidates.placement_model import PlacementModel
from trninv.routing.wiring_cache import SnapshotReader

_T = TABLES


@dataclass(frozen=True, slots=True)
class JobAllocation:
    """A job and the chips allocated to it.

    Attributes
    ----------
    name
        Its name, as ``trninv release`` accepts it.
    work, spare
        Bit masks of its chips, by domain ordinal.

    """

    key: int
    name: str
    system: str
    pinned: bool
    work: Mapping[int, int]
    spare: Mapping[int, int]

    @property
    def chips(self) -> int:
        """The number of chips that it works on."""
        return sum(mask.bit_count() for mask in self.work.values())


def read_allocations(reader: SnapshotReader, cluster: int, model: PlacementModel) -> list[JobAllocation]:
    """Return the jobs with chips of a cluster, by key, in the scenario if there is one."""
    allocations: list[JobAllocation] = reader.cached(
        ("job allocations", cluster),
        lambda: _load_allocations(reader.connection, read_cluster(reader.connection, cluster), model),
    )
    return (
        _assumed_allocations(reader, cluster, model, allocations)
        if reader.changes.assumed_allocations or reader.changes.assumed_released
        else allocations
    )


def _assumed_allocations(
    reader: SnapshotReader, cluster: int, model: PlacementModel, current: list[JobAllocation]
) -> list[JobAllocation]:
    jobs, row = resolve_jobs(reader.connection, reader.changes), read_cluster(reader.connection, cluster)
    masks_by_job = ((name, masks_by_domain(chips, row, model)) for name, chips in jobs.allocated.items())
    added = [
        JobAllocation(jobs.first_key + index, name, OWN_SYSTEM, False, work, {})
        for index, (name, work) in enumerate(masks_by_job)
        if work
    ]
    return [*(allocation for allocation in current if allocation.key not in jobs.ended), *added]


def _load_allocations(connection: Connection, cluster: Any, model: PlacementModel) -> list[JobAllocation]:  # a row
    job, allocation = _T["job"], _T["allocation"]
    last = cluster.first_node_id + cluster.domains * model.node_count
    query = select(allocation.c.job_id, allocation.c.chip_id, allocation.c.role).where(
        allocation.c.ended_at.is_(None), allocation.c.chip_id >= cluster.first_node_id, allocation.c.chip_id < last
    )
    sets: dict[tuple[int, str], dict[int, int]] = {}
    for key, chip, role in connection.execute(query):
        domain, local = divmod(chip - cluster.first_node_id, model.node_count)
        masks = sets.setdefault((key, role), {})
        masks[domain] = masks.get(domain, 0) | 1 << local
    live = select(job).where(job.c.ended_at.is_(None), job.c.cluster_id == cluster.id).order_by(job.c.id)
    return [
        JobAllocation(
            row.id,
            qualified_name(row),
            row.system,
            bool(row.pinned),
            sets.get((row.id, "work"), {}),
            sets.get((row.id, "spare"), {}),
        )
        for row in connection.execute(live)
    ]


def qualified_name(job: Any) -> str:  # a row
    """Return a job's name, as ``trninv release`` accepts it."""
    return str(job.external_id) if job.system == OWN_SYSTEM else f"{job.system}:{job.external_id}"
