"""Load the measurements that drift rules compare: those of the machine that is bound to a slot now.

A series is the runs of one machine that differ only in time and speed: same operation, data type, size, chips, ranks
and cores of a rank.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, select

from trninv.database.tables import TABLES

_MEASUREMENT = TABLES["measurement"]


class Run(NamedTuple):
    """A measurement; bandwidths are bytes per second of a chip. ``observation`` is the id of its import."""

    measured_at: str
    address: str
    peer: str | None
    machine: str | None
    operation: str
    data_type: str | None
    bytes: int
    chips: int
    ranks: int | None
    logical_cores: int | None
    bus_bandwidth: int
    limit_bandwidth: int | None
    observation_id: int

    @property
    def series(self) -> tuple[object, ...]:
        """What equals for runs that can be compared, beside their machine."""
        return self.operation, self.data_type, self.bytes, self.chips, self.ranks, self.logical_cores

    @property
    def name(self) -> str:
        """The operation and its data type, for texts."""
        return " ".join(filter(None, (self.operation, self.data_type)))

    @property
    def is_impossible(self) -> bool:
        """Whether it is above the limit of the wiring at its time."""
        return self.limit_bandwidth is not None and self.bus_bandwidth > self.limit_bandwidth


MeasuredRuns = Mapping[str, list[list[Run]]]
"""The series of each slot, by its address; the runs of a series are ordered by time."""


def load_measured_runs(connection: Connection, machines: Mapping[str, Collection[str | None]]) -> MeasuredRuns:
    """Return the measurements that the machines now bound to slots took there, by slot.

    ``machines`` has the names of the machine bound to each slot. A machine that was replaced left its measurements
    behind: they are not its successor's.
    """
    series: dict[tuple[object, ...], list[Run]] = defaultdict(list)
    columns = [_MEASUREMENT.c[name] for name in Run._fields]
    ordered = select(*columns).order_by(_MEASUREMENT.c.measured_at, _MEASUREMENT.c.id)
    for row in connection.execute(ordered):
        run = Run(*row)
        slot = server_address(run.address)
        if run.machine in machines.get(slot, ()):
            series[run.address, run.peer, *run.series].append(run)
    by_slot = defaultdict[str, list[list[Run]]](list)
    for runs in series.values():
        by_slot[server_address(runs[0].address)].append(runs)
    return by_slot


def server_address(address: str) -> str:
    """Return the address of the server that an address is in, or the address itself if it is in none."""
    return "/".join(address.split("/")[:3])


def possible(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that are not above their limit."""
    return [run for run in runs if not run.is_impossible]
