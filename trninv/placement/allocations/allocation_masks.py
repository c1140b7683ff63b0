"""Read which chips each job of a cluster has, for move plans, drain impacts and drawings of jobs.

The chips of a job in one domain are a bit mask: bit i is chip i of the domain, as in
`trninv.placement.candidates.free_capacity`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select

from trninv.database.tables import TABLES
from trninv.placement.allocations.job_allocations import OWN_SYSTEM
from trninv.placement.allocations.job_scenario import resolve_jobs
from trninv.placement.candidates.free_capacity import masks_by_domain, read_cluster
from trninv.placement.candidates.placement_model import PlacementModel
from trninv.routing.snapshot import Snapshot

_T = TABLES


@dataclass(frozen=True, slots=True)
class JobAllocation:
    """A job and the chips allocated to it.

    Attributes
    ----------
    key
        Its id in the table ``job``.
    name
        Its name, as ``trninv release`` accepts it.
    system
        The system that runs it, such as slurm; trninv if it was allocated with ``trninv allocate``.
    pinned
        Whether move plans must leave it where it is.
    work, spare
        Masks of the chips that it works on, and of its spare chips, by the ordinal of the domain in its cluster.
    until
        When it ends at the latest, as the database stores times; None: it has no end.

    """

    key: int
    name: str
    system: str
    pinned: bool
    work: Mapping[int, int]
    spare: Mapping[int, int]
    until: str | None = None

    @property
    def chips(self) -> int:
        """The number of chips that it works on."""
        return sum(mask.bit_count() for mask in self.work.values())


def read_allocations(snapshot: Snapshot, cluster: int, model: PlacementModel) -> list[JobAllocation]:
    """Return the jobs of a cluster (its id) that have not ended, by key, under the snapshot's scenario, if any."""
    allocations: list[JobAllocation] = snapshot.cached(
        ("job allocations", cluster),
        lambda: _load_allocations(snapshot.connection, read_cluster(snapshot.connection, cluster), model),
    )
    if snapshot.changes.assumed_allocations or snapshot.changes.assumed_released:
        return _apply_job_scenario(snapshot, cluster, model, allocations)
    return allocations


def _apply_job_scenario(
    snapshot: Snapshot, cluster: int, model: PlacementModel, current: list[JobAllocation]
) -> list[JobAllocation]:
    """Return the current jobs except those that the scenario ends, followed by those that it adds."""
    jobs, cluster_row = resolve_jobs(snapshot.connection, snapshot.changes), read_cluster(snapshot.connection, cluster)
    masks_by_job = ((name, masks_by_domain(chips, cluster_row, model)) for name, chips in jobs.allocated.items())
    added = [
        JobAllocation(jobs.first_key + index, name, OWN_SYSTEM, False, work, {})
        for index, (name, work) in enumerate(masks_by_job)
        if work  # a job in another cluster has no chips here
    ]
    return [*(allocation for allocation in current if allocation.key not in jobs.ended), *added]


def _load_allocations(connection: Connection, cluster: Row[Any], model: PlacementModel) -> list[JobAllocation]:
    """Load the jobs of a cluster that have not ended."""
    job, allocation = _T["job"], _T["allocation"]
    # A chip has the id of its node, and the nodes of a cluster have consecutive ids.
    end = cluster.first_node_id + cluster.domains * model.node_count
    query = select(allocation.c.job_id, allocation.c.chip_id, allocation.c.role).where(
        allocation.c.ended_at.is_(None), allocation.c.chip_id >= cluster.first_node_id, allocation.c.chip_id < end
    )
    chips: dict[tuple[int, str], list[int]] = {}
    for row in connection.execute(query):
        chips.setdefault((row.job_id, row.role), []).append(row.chip_id)
    masks = {job_role: masks_by_domain(chip_ids, cluster, model) for job_role, chip_ids in chips.items()}
    live = select(job).where(job.c.ended_at.is_(None), job.c.cluster_id == cluster.id).order_by(job.c.id)
    return [
        JobAllocation(
            row.id,
            qualified_name(row),
            row.system,
            bool(row.pinned),
            masks.get((row.id, "work"), {}),
            masks.get((row.id, "spare"), {}),
            row.until_at,
        )
        for row in connection.execute(live)
    ]


def qualified_name(job: Row[Any]) -> str:
    """Return the name of a job (a row of ``job``) as ``trninv release`` accepts it: SYSTEM:ID if it was imported."""
    return str(job.external_id) if job.system == OWN_SYSTEM else f"{job.system}:{job.external_id}"
