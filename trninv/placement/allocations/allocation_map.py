"""Read which job has each chip of a cluster, and each domain's largest free block."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError
from trninv.inventory.address.lookup import resolve_place
from trninv.placement.allocations.allocation_masks import qualified_name
from trninv.placement.candidates.free_blocks import largest_blocks
from trninv.placement.candidates.free_capacity import read_capacity
from trninv.placement.candidates.placement_model import read_legal_sets
from trninv.routing.cluster_overview import chip_positions, domain_ranges
from trninv.routing.wiring_cache import SnapshotReader

_T: Final = TABLES


@dataclass(frozen=True, slots=True)
class AllocationMap:
    """The jobs that have the chips of a cluster; chips are in the order of their addresses.

    Attributes
    ----------
    jobs
        Names of the jobs and their numbers of chips, the largest first.
    runs
        Rows of three: the first chip of a run, the number of chips in it, and the index of their job in ``jobs``.
    blocks
        Chips of the largest free block of each domain; None if the cluster has domains of several models.

    """

    jobs: Sequence[tuple[str, int]]
    runs: NDArray[np.int64]
    blocks: Sequence[int] | None

    def to_json(self) -> dict[str, Any]:
        """Return the response of /chips/CLUSTER/jobs."""
        jobs = [{"name": name, "chips": chips} for name, chips in self.jobs]
        return {"jobs": jobs, "runs": self.runs.tolist(), "blocks": self.blocks}


def read_allocation_map(reader: SnapshotReader, cluster: str) -> AllocationMap:
    """Read which job has each chip of a cluster, spares included.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    place = resolve_place(reader.connection, cluster)
    allocated = _read_allocated(reader.connection, place.cluster_id)
    keys, job_index, chips = np.unique(allocated[:, 1], return_inverse=True, return_counts=True)
    order = np.argsort(-chips, kind="stable")
    names = dict(_job_names(reader.connection, place.cluster_id))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    jobs = [(names[int(keys[index])], int(chips[index])) for index in order]
    return AllocationMap(jobs, _runs(allocated[:, 0], rank[job_index]), _largest_blocks(reader, place.address))


def _read_allocated(connection: Connection, cluster: int) -> NDArray[np.int64]:
    """Return rows of a chip's position and the id of its job, by position."""
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
    positions = chip_positions(domain_ranges(connection, cluster), rows[:, :3])
    order = np.argsort(positions)
    return np.column_stack([positions[order], rows[order, 3]])


def _job_names(connection: Connection, cluster: int) -> Iterator[tuple[int, str]]:
    job = _T["job"]
    for row in connection.execute(select(job).where(job.c.ended_at.is_(None), job.c.cluster_id == cluster)):
        yield row.id, qualified_name(row)


def _runs(chips: NDArray[np.int64], jobs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Merge consecutive chips of the same job into one row each."""
    starts = np.flatnonzero(np.r_[True, (np.diff(chips) != 1) | (np.diff(jobs) != 0)][: len(chips)])
    lengths = np.diff(np.r_[starts, len(chips)])
    return np.column_stack([chips[starts], lengths, jobs[starts]])


def _largest_blocks(reader: SnapshotReader, cluster: str) -> Sequence[int] | None:
    try:
        capacity = read_capacity(reader, cluster)
    except InvalidArgumentError:  # the cluster has domains of several models
        return None
    return [block.chips for block in largest_blocks(capacity, read_legal_sets(reader.connection, capacity.model))]
