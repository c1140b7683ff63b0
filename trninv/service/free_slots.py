"""Count how many jobs of each size fit in each cluster at once, for `trninv.service.fleet_metrics`.

Counting takes longer than the other metrics. The counts of a cluster are kept until an event, a change of its size or
an earlier history (a restored backup) may have changed them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection

from trninv.errors import InvalidArgumentError
from trninv.placement.candidates.free_blocks import concurrent_jobs
from trninv.placement.candidates.free_capacity import read_capacity
from trninv.placement.candidates.placement_model import read_legal_sets
from trninv.routing.revision_cache import RevisionCache
from trninv.routing.snapshot import Snapshot


class FreeSlots:
    """The counts of each cluster, with what they were counted for; not thread safe."""

    def __init__(self) -> None:
        self._counts = dict[tuple[Any, ...], Mapping[int, int]]()

    def read(self, connection: Connection, clusters: Iterable[Any], event: int) -> dict[tuple[str, str], int]:
        """Return the number of jobs that fit at once, by cluster and chips per job, after the last ``event``.

        Clusters with domains of several models are omitted: placement does not support them.
        """
        counts = {}
        for cluster in clusters:
            key = cluster.id, cluster.slug, cluster.domains, event
            counts[key] = self._counts[key] if key in self._counts else _count(connection, cluster.slug)
        self._counts = counts
        return {(key[1], str(size)): jobs for key, sizes in counts.items() for size, jobs in sizes.items()}


def _count(connection: Connection, cluster: str) -> Mapping[int, int]:
    snapshot = Snapshot(connection, RevisionCache(None))
    try:
        capacity = read_capacity(snapshot, cluster)
    except InvalidArgumentError:
        return {}
    return concurrent_jobs(capacity, read_legal_sets(connection, capacity.model))
