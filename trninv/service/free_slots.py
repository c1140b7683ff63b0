"""Count how many jobs of each size fit in each cluster at once, for `trninv.service.fleet_metrics`.

Counting all domains takes much longer than the other metrics, so the counts of each domain are kept, and a scrape
counts only domains that have changed. What is allocated, cordoned and reserved is read each time and compared, since
plain SQL can change it without an event, and reservations begin and end without one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row

from trninv.database.as_of import current_time
from trninv.placement.allocations.reservations import FOREVER, next_change
from trninv.placement.candidates.free_blocks import jobs_by_domain
from trninv.placement.candidates.free_capacity import ModelDomains, read_capacity_without_failures, with_unhealthy_parts
from trninv.placement.candidates.placement_model import LegalSets, placement_model, read_legal_sets
from trninv.placement.candidates.reserved_chips import with_current_reservations
from trninv.routing.revision_cache import RevisionCache
from trninv.routing.snapshot import Snapshot
from trninv.service.changed_domains import MAX_CHANGED_DOMAINS
from trninv.solvers.torus_blocks import MaskRows
from trninv.units import format_timestamp


@dataclass(frozen=True, slots=True)
class _ClusterSlots:
    """The jobs that fit in each domain of a cluster (domains × legal sizes), and what they were counted for.

    ``free`` are the chips that would be free if all parts were up.
    """

    legal_sets: LegalSets
    free: MaskRows
    jobs: NDArray[np.int64]


class FreeSlots:
    """The counts of each cluster; not thread safe.

    Attributes
    ----------
    valid_until
        When the counts change next without any change of the database, because a reservation begins or ends.

    """

    def __init__(self) -> None:
        self._slots, self._reserved_chips = dict[int, _ClusterSlots](), RevisionCache(None)
        self.valid_until = FOREVER

    def read(
        self, connection: Connection, clusters: Sequence[Row[Any]], changed: Sequence[int] | None
    ) -> dict[tuple[str, str], int]:
        """Return the number of jobs that fit at once, by cluster and chips per job.

        Clusters with domains of several models are omitted: their domains have jobs of different sizes.

        Parameters
        ----------
        changed
            Ids of the domains with parts that have changed since the last call; None if any domain may have changed.

        """
        if changed is None:
            self._slots, self._reserved_chips = {}, RevisionCache(None)
        snapshot = Snapshot(connection, self._reserved_chips)
        self.valid_until = next_change(connection, format_timestamp(current_time(connection)))
        counts = dict[tuple[str, str], int]()
        for cluster in clusters:
            if cluster.model is not None:
                slots = _count(snapshot, cluster, self._slots.get(cluster.id), changed or ())
                self._slots[cluster.id] = slots
                jobs = zip(slots.legal_sets.sizes, slots.jobs.sum(axis=0).tolist(), strict=True)
                counts |= {(cluster.slug, str(size)): number for size, number in jobs}
        return counts


def _count(
    snapshot: Snapshot, cluster: Row[Any], previous: _ClusterSlots | None, changed: Sequence[int]
) -> _ClusterSlots:
    """Count the jobs that fit in a cluster; in domains that have not changed, as before."""
    connection, group = snapshot.connection, ModelDomains.of_cluster(cluster)
    capacity = with_current_reservations(snapshot, read_capacity_without_failures(connection, group))
    legal_sets, free = read_legal_sets(connection, placement_model(cluster.model)), capacity.free
    rows: Sequence[int] | None = None
    if previous and previous.legal_sets == legal_sets:
        is_changed = (free != previous.free).any(axis=1)
        ordinals = np.array(changed, np.int64) - cluster.first_domain_id
        is_changed[ordinals[(ordinals >= 0) & (ordinals < cluster.domains)]] = True
        rows = np.flatnonzero(is_changed).tolist()
    if previous is None or rows is None or len(rows) > MAX_CHANGED_DOMAINS:
        capacity = with_unhealthy_parts(connection, capacity)
        return _ClusterSlots(legal_sets, free, jobs_by_domain(capacity, legal_sets))
    jobs = previous.jobs
    if rows:
        capacity = with_unhealthy_parts(connection, capacity, rows)
        jobs = jobs.copy()
        jobs[rows] = jobs_by_domain(capacity.select(rows, capacity.in_scope), legal_sets)
    return _ClusterSlots(legal_sets, free, jobs)
