"""Read which chips each job of a cluster has, for move plans, drain impacts and drawings of jobs.

The chips of a job in one domain are a bit mask: bit i is chip i of the domain, as in
`trninv.placement.candidates.free_capacity`.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select

from trninv.database.tables import TABLES
from trninv.inventory.state.chip_ids import parse_chip_ids
from trninv.placement.allocations.job_allocations import OWN_SYSTEM, move_obstacle
from trninv.placement.allocations.job_scenario import resolve_jobs
from trninv.placement.candidates.free_capacity import FreeCapacity, ModelDomains, masks_by_domain
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
        Masks of the chips that it works on, and of its spare chips, by the number of the domain in its group.
    until
        When it ends at the latest, as the database stores times; None: it has no end.
    is_partial
        Whether it also has chips elsewhere, on another model.

    """

    key: int
    name: str
    system: str
    pinned: bool
    work: Mapping[int, int]
    spare: Mapping[int, int]
    until: str | None = None
    is_partial: bool = False

    @property
    def chips(self) -> int:
        """The number of chips that it works on."""
        return sum(mask.bit_count() for mask in self.work.values())

    @property
    def obstacle(self) -> str | None:
        """Why `move_jobs` does not move it, and what to do instead; None if it does."""
        return move_obstacle(self.name, self.system, pinned=self.pinned, has_spares=bool(self.spare))


def read_allocations(snapshot: Snapshot, capacity: FreeCapacity) -> list[JobAllocation]:
    """Return the jobs in a capacity's group of domains that have not ended, by key, under the snapshot's scenario."""
    group = capacity.group
    allocations: list[JobAllocation] = snapshot.cached(
        ("job allocations", group.id, group.model),
        lambda: _load_allocations(snapshot.connection, group, capacity.model),
    )
    if snapshot.changes.assumed_allocations or snapshot.changes.assumed_released:
        return _apply_job_scenario(snapshot, group, capacity.model, allocations)
    return allocations


def _apply_job_scenario(
    snapshot: Snapshot, group: ModelDomains, model: PlacementModel, current: list[JobAllocation]
) -> list[JobAllocation]:
    """Return the current jobs except those that the scenario ends, followed by those that it adds."""
    jobs = resolve_jobs(snapshot.connection, snapshot.changes)
    masks_by_job = ((name, masks_by_domain(chips, group, model)) for name, chips in jobs.allocated.items())
    added = [
        JobAllocation(jobs.first_key + index, name, OWN_SYSTEM, False, work, {})
        for index, (name, work) in enumerate(masks_by_job)
        if work  # a job elsewhere has no chips here
    ]
    return [*(allocation for allocation in current if allocation.key not in jobs.ended), *added]


def _load_allocations(connection: Connection, group: ModelDomains, model: PlacementModel) -> list[JobAllocation]:
    """Load the jobs of a group of domains that have not ended; a job that also has chips elsewhere is pinned."""
    job, allocation = _T["job"], _T["allocation"]
    first, last = group.ranges[0], group.ranges[-1]  # a chip has the id of its node
    last_id = last.first_node_id + last.domains * model.node_count - 1
    query = select(allocation.c.job_id, allocation.c.chip_id, allocation.c.role).where(
        allocation.c.ended_at.is_(None), allocation.c.chip_id.between(first.first_node_id, last_id)
    )
    chips: dict[tuple[int, str], list[int]] = {}
    for row in connection.execute(query):
        chips.setdefault((row.job_id, row.role), []).append(row.chip_id)
    masks = {job_role: masks_by_domain(chip_ids, group, model) for job_role, chip_ids in chips.items()}
    chips_in_group = Counter[int]()
    for (key, _), by_row in masks.items():
        chips_in_group[key] += sum(mask.bit_count() for mask in by_row.values())
    live = select(job).where(job.c.ended_at.is_(None), job.c.cluster_id == group.id).order_by(job.c.id)
    allocations = []
    for live_job in connection.execute(live):
        if own_chips := chips_in_group[live_job.id]:
            is_partial = not group.is_whole and len(parse_chip_ids(live_job.chip_ids) or ()) > own_chips
            allocations.append(
                JobAllocation(
                    live_job.id,
                    qualified_name(live_job),
                    live_job.system,
                    bool(live_job.pinned) or is_partial,
                    masks.get((live_job.id, "work"), {}),
                    masks.get((live_job.id, "spare"), {}),
                    live_job.until_at,
                    is_partial,
                )
            )
    return allocations


def qualified_name(job: Row[Any]) -> str:
    """Return the name of a job (a row of ``job``) as ``trninv release`` accepts it: SYSTEM:ID if it was imported."""
    return str(job.external_id) if job.system == OWN_SYSTEM else f"{job.system}:{job.external_id}"
