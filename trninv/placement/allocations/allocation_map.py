"""Read which job has each chip of a cluster, which others are not free, and each domain's largest free block.

A free block is a set of free chips that one job can use; `trninv.placement.candidates.free_capacity` says which chips
are free. The web explorer draws them.

`trninv.service.chips` serves the result at /chips/CLUSTER/jobs. The position of a chip is its index among all chips of
the cluster, in the order of addresses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, case, select

from trninv.database.as_of import current_time
from trninv.database.tables import CARRYING_STATES, TABLES
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.state.chip_ids import parse_chip_ids
from trninv.inventory.state.chip_use import is_allocated, takes_jobs
from trninv.placement.allocations.allocation_masks import qualified_name
from trninv.placement.allocations.job_allocations import job_ordinals
from trninv.placement.allocations.reservations import Window, overlapping
from trninv.placement.candidates.free_blocks import largest_blocks
from trninv.placement.candidates.placement_model import read_legal_sets
from trninv.placement.candidates.reserved_chips import read_current_capacity
from trninv.routing.cluster_overview import chip_positions, domain_ranges
from trninv.routing.snapshot import Snapshot
from trninv.solvers.torus_blocks import MaskRows

_T: Final = TABLES


@dataclass(frozen=True, slots=True)
class AllocationMap:
    """The jobs to which the chips of a cluster are allocated.

    Attributes
    ----------
    jobs
        Names of the jobs and their numbers of chips, the largest first.
    ordinals
        The position of each of them among all jobs of the inventory, which is that of its letter.
    runs
        A row per run of consecutive chips of one job: the first chip's position, the number of chips, and the index
        of the job in ``jobs``.
    blocks
        Number of chips in the largest free block of each domain.
    reserved, cordoned
        Runs of chips that would be free if they were not reserved, or their servers not cordoned: a row has the first
        chip's position and the number of chips.

    ``blocks`` is None if the cluster has domains of several models, which placement does not support.

    """

    jobs: Sequence[tuple[str, int]]
    ordinals: Sequence[int]
    runs: NDArray[np.int64]
    blocks: Sequence[int] | None
    reserved: NDArray[np.int64]
    cordoned: NDArray[np.int64]

    def to_json(self) -> dict[str, Any]:
        """Return the response of /chips/CLUSTER/jobs."""
        jobs = [
            {"name": name, "chips": chips, "ordinal": ordinal}
            for (name, chips), ordinal in zip(self.jobs, self.ordinals, strict=True)
        ]
        return {
            "jobs": jobs,
            "runs": self.runs.tolist(),
            "blocks": self.blocks,
            "reserved": self.reserved.tolist(),
            "cordoned": self.cordoned.tolist(),
        }


def read_allocation_map(snapshot: Snapshot, cluster: str) -> AllocationMap:
    """Read which job has each chip of a cluster, spares included.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    place = resolve_place(snapshot.connection, cluster)
    positions, job_ids = _read_allocated(snapshot.connection, place.cluster_id)
    ids, job_index, chips = np.unique(job_ids, return_inverse=True, return_counts=True)
    largest_first = np.argsort(-chips, kind="stable")
    rank = np.empty_like(largest_first)
    rank[largest_first] = np.arange(len(largest_first))
    names = dict(_job_names(snapshot.connection, place.cluster_id))
    jobs = [(names[int(ids[index])], int(chips[index])) for index in largest_first]
    all_ordinals = job_ordinals(snapshot.connection)
    ordinals = [all_ordinals[int(ids[index])] for index in largest_first]
    runs = _runs(positions, rank[job_index])
    capacity = read_current_capacity(snapshot, place.address)
    if capacity is None:
        reserved, cordoned = _read_unavailable(snapshot.connection, place.cluster_id)
        return AllocationMap(jobs, ordinals, runs, None, reserved, cordoned)
    blocks = largest_blocks(capacity, read_legal_sets(snapshot.connection, capacity.model))
    reserved, cordoned = (
        _runs_of(chips, capacity.model.chips) for chips in (capacity.only_reserved, capacity.only_cordoned)
    )
    return AllocationMap(jobs, ordinals, runs, [block.chips for block in blocks], reserved, cordoned)


def _read_allocated(connection: Connection, cluster: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the allocated chips, ascending, and the id of each one's job."""
    allocation, chip, server, domain = (_T[name] for name in ("allocation", "chip", "server", "domain"))
    query = (
        select(domain.c.ordinal, server.c.ordinal, chip.c.ordinal, allocation.c.job_id)
        .select_from(allocation)
        .join(chip, chip.c.id == allocation.c.chip_id)
        .join(server, server.c.id == chip.c.server_id)
        .join(domain, domain.c.id == server.c.domain_id)
        .where(allocation.c.ended_at.is_(None), domain.c.cluster_id == cluster)
    )
    rows = np.array([tuple(row) for row in connection.execute(query)], dtype=np.int64).reshape(-1, 4)
    ordinals, job_ids = rows[:, :3], rows[:, 3]
    positions = chip_positions(domain_ranges(connection, cluster), ordinals)
    order = np.argsort(positions)
    return positions[order], job_ids[order]


def _read_unavailable(connection: Connection, cluster: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the runs of reserved and of cordoned chips of a cluster whose domains have several models.

    The conditions are those of `FreeCapacity`, which needs domains of one model.
    """
    node, chip, server, domain, reservation = (_T[name] for name in ("node", "chip", "server", "domain", "reservation"))
    query = (
        select(domain.c.ordinal, server.c.ordinal, chip.c.ordinal, chip.c.id, case((takes_jobs(), 1), else_=0))
        .select_from(chip)
        .join(node, node.c.id == chip.c.id)
        .join(server, server.c.id == chip.c.server_id)
        .join(domain, domain.c.id == server.c.domain_id)
        .where(domain.c.cluster_id == cluster, node.c.state.in_(CARRYING_STATES), ~is_allocated())
    )
    rows = np.array([tuple(row) for row in connection.execute(query)], dtype=np.int64).reshape(-1, 5)
    present = overlapping(Window.moment(current_time(connection)))
    texts = connection.scalars(select(reservation.c.chip_ids).where(reservation.c.cluster_id == cluster, present))
    reserved_ids = [chip_id for text in texts for chip_id in parse_chip_ids(text) or ()]
    positions = chip_positions(domain_ranges(connection, cluster), rows[:, :3])
    takes = rows[:, 4] == 1
    reserved, cordoned = (np.sort(positions[chosen]) for chosen in (takes & np.isin(rows[:, 3], reserved_ids), ~takes))
    return _merge(reserved), _merge(cordoned)


def _job_names(connection: Connection, cluster: int) -> Iterator[tuple[int, str]]:
    """Yield the ids and names of the jobs that have not ended."""
    job = _T["job"]
    for row in connection.execute(select(job).where(job.c.ended_at.is_(None), job.c.cluster_id == cluster)):
        yield row.id, qualified_name(row)


def _runs(positions: NDArray[np.int64], jobs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Merge consecutive chips of the same job into one row each, as `AllocationMap` describes."""
    # The slice removes the leading True if there are no positions, and so no runs.
    starts_run = np.r_[True, (np.diff(positions) != 1) | (np.diff(jobs) != 0)][: len(positions)]
    starts = np.flatnonzero(starts_run)
    lengths = np.diff(np.r_[starts, len(positions)])
    return np.column_stack([positions[starts], lengths, jobs[starts]])


def _runs_of(chips: MaskRows, chips_per_domain: int) -> NDArray[np.int64]:
    """Return the runs of consecutive chips in masks with a row per domain: first position, number of chips."""
    bits = np.unpackbits(chips.view(np.uint8), axis=1, bitorder="little")[:, :chips_per_domain]
    return _merge(np.flatnonzero(bits))


def _merge(positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the runs of consecutive positions: the first one and their number."""
    return _runs(positions, np.zeros_like(positions))[:, :2]
