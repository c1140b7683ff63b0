"""The jobs of a cluster as sets of chips, by domain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from trninv.inventory.schema import TABLES
from trninv.jobs.holding import OURS
from trninv.jobs.model import Model
from trninv.jobs.stock import by_row, cluster_of
from trninv.jobs.supposed import supposed
from trninv.routing.wiring import Reader

_T = TABLES


@dataclass(frozen=True, slots=True)
class Tenant:
    """A job and the chips that it holds.

    Attributes
    ----------
    name
        As ``trninv release`` takes it.
    work, spare
        Sets of chips by the ordinals of their domains.

    """

    key: int
    name: str
    system: str
    pinned: bool
    work: Mapping[int, int]
    spare: Mapping[int, int]

    @property
    def chips(self) -> int:
        """How many it works on."""
        return sum(mask.bit_count() for mask in self.work.values())


def tenants(reader: Reader, cluster: int, model: Model) -> list[Tenant]:
    """All that hold chips of a cluster, or are supposed to, by key."""
    found: list[Tenant] = reader.remembered(
        ("tenants", cluster), lambda: _read(reader.connection, cluster_of(reader.connection, cluster), model)
    )
    return _supposed(reader, cluster, model, found) if reader.changes.with_ or reader.changes.without else found


def _supposed(reader: Reader, cluster: int, model: Model, now: list[Tenant]) -> list[Tenant]:
    jobs, row = supposed(reader.connection, reader.changes), cluster_of(reader.connection, cluster)
    held = ((name, by_row(chips, row, model)) for name, chips in jobs.held.items())
    added = [Tenant(jobs.first + at, name, OURS, False, work, {}) for at, (name, work) in enumerate(held) if work]
    return [*(each for each in now if each.key not in jobs.ended), *added]


def _read(connection: Connection, cluster: Any, model: Model) -> list[Tenant]:  # of a row
    job, allocation = _T["job"], _T["allocation"]
    last = cluster.first_node_id + cluster.domains * model.nodes
    held = select(allocation.c.job_id, allocation.c.chip_id, allocation.c.role).where(
        allocation.c.ended.is_(None), allocation.c.chip_id >= cluster.first_node_id, allocation.c.chip_id < last
    )
    sets: dict[tuple[int, str], dict[int, int]] = {}
    for key, chip, role in connection.execute(held):
        row, local = divmod(chip - cluster.first_node_id, model.nodes)
        of = sets.setdefault((key, role), {})
        of[row] = of.get(row, 0) | 1 << local
    live = select(job).where(job.c.ended.is_(None), job.c.cluster_id == cluster.id).order_by(job.c.id)
    return [
        Tenant(
            row.id,
            called(row),
            row.system,
            bool(row.pinned),
            sets.get((row.id, "work"), {}),
            sets.get((row.id, "spare"), {}),
        )
        for row in connection.execute(live)
    ]


def called(job: Any) -> str:  # a row
    """As ``trninv release`` takes it."""
    return str(job.external_id) if job.system == OURS else f"{job.system}:{job.external_id}"
