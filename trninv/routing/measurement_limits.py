"""Compare timings with the wiring at the moment when they were taken.

The fleet of an earlier time (`BaseFleet.at`) answers the same questions as now, so a limit is that of `collectives` or
`bandwidth` at that moment. Ranks of nccom-test have consecutive cores, so the first chips of a server run them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from posixpath import commonpath
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import Connection, func, select

from trninv.database.as_of import as_of_event
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, TrninvError, WrongLevelError
from trninv.importers.json_value import ImportErrors
from trninv.importers.measured_run import CollectiveTiming, RunDescription, TransferTiming, bus_factor
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.state.bindings import bound_machines
from trninv.routing.fleet import BaseFleet
from trninv.routing.questions import find
from trninv.routing.questions.expected_bandwidth import nic_bandwidths
from trninv.routing.snapshot import Snapshot
from trninv.units import pluralize

if TYPE_CHECKING:
    from trninv.routing.questions.collectives import CollectivesAnswer

_CHIP, _CORE = TABLES["chip"], TABLES["core"]
LIMITED_OPERATIONS: Final = ("all-gather", "all-reduce", "reduce-scatter")
"""Collectives whose limit is known. nccom-test does not say what the size of its all-to-all is."""


class MeasurementRow(NamedTuple):
    """A row of ``measurement`` without its id and import, in the order of the table's columns."""

    operation: str
    address: str
    peer: str | None
    machine: str | None
    measured_at: str
    event: int
    chips: int
    ranks: int | None
    logical_cores: int | None
    data_type: str | None
    bytes: int
    nanoseconds: int
    algorithm_bandwidth: int
    bus_bandwidth: int
    limit_bandwidth: int | None


@dataclass(frozen=True, slots=True)
class MeasuredChips:
    """The chips of a run, and the limits of the wiring on collectives of them.

    Attributes
    ----------
    address
        The smallest place with all chips' servers.
    note
        Why there are no limits, if the wiring had fewer healthy chips than ran; empty otherwise.

    """

    address: str
    servers: tuple[str, ...]
    machine: str | None
    chips: int
    limits: "CollectivesAnswer | None"
    note: str = ""

    def limit(self, operation: str) -> int | None:
        """Return the limit on the bus bandwidth of an operation, or None if it is not known."""
        if self.limits is None or operation not in LIMITED_OPERATIONS:
            return None
        limit: int = getattr(self.limits, operation.replace("-", "_")).upper
        return limit


def resolve_run(fleet: BaseFleet, run: RunDescription) -> MeasuredChips:
    """Return the chips that ran, with the limits of a fleet's wiring on their collectives.

    Raises
    ------
    AddressError, UnknownAddressError, WrongLevelError
        A host is not a server, or was bound to none at the time of the fleet.
    InvalidArgumentError
        The servers have fewer cores than the ranks need, or are in several clusters.

    """
    with fleet.connect() as connection:
        servers = [resolve_host(connection, host) for host in run.hosts]
        if len({server.cluster_id for server in servers}) > 1:
            raise InvalidArgumentError("the servers of the run are in several clusters; name servers of one cluster")
        chips = [
            chip for server in servers for chip in _first_chips(connection, server, run, run.ranks // len(servers))
        ]
        addresses = tuple(server.address for server in servers)
        machine = _machine_name(connection, addresses[0]) if len(servers) == 1 else None
    address = commonpath(addresses)
    if len(chips) < 2:  # noqa: PLR2004 # one chip sends nothing to others
        return MeasuredChips(address, addresses, machine, len(chips), None)
    limits: CollectivesAnswer = fleet.ask(find("collectives"), address, chips)
    if limits.chips < len(chips):
        counts = f"{limits.chips:,} of its {pluralize(len(chips), 'chip')} were recorded as healthy at that moment"
        return MeasuredChips(address, addresses, machine, len(chips), None, f"{address}: no limit, because {counts}")
    return MeasuredChips(address, addresses, machine, len(chips), limits)


def resolve_host(connection: Connection, host: str) -> Place:
    """Return the server that an address names, or to which an instance or host is bound; @ is optional.

    Raises
    ------
    AddressError, UnknownAddressError
        There is no such server, or nothing of that name is bound.
    WrongLevelError
        The place is not a server.

    """
    place = resolve_place(connection, host if "/" in host or host.startswith("@") else f"@{host}")
    if place.level != "server":
        raise WrongLevelError(f"{place.address} is a {place.level}; name the server that measured")
    return place


def _first_chips(connection: Connection, server: Place, run: RunDescription, ranks: int) -> list[str]:
    """Return the addresses of the first chips of a server whose cores hold this many ranks."""
    chips = connection.scalars(select(_CHIP.c.id).where(_CHIP.c.server_id == server.id).order_by(_CHIP.c.ordinal)).all()
    cores = connection.scalar(select(func.count()).where(_CORE.c.chip_id == chips[0])) or 0
    per_chip, remainder = divmod(cores, run.cores_per_rank)
    if remainder or not per_chip:
        raise InvalidArgumentError(
            f"a chip of {server.address} has {cores} cores, which ranks of "
            f"{run.cores_per_rank} do not fill; check --cores-per-rank"
        )
    needed = ceil(Fraction(ranks, per_chip))
    if needed > len(chips):
        raise InvalidArgumentError(
            f"{ranks:,} ranks of {pluralize(run.cores_per_rank, 'core')} need {pluralize(needed, 'chip')}; "
            f"{server.address} has {len(chips)}: check --ranks and --cores-per-rank"
        )
    return [f"{server.address}/c{ordinal}" for ordinal in range(needed)]


def _machine_name(connection: Connection, address: str) -> str | None:
    """Return the instance, or else the host, that is bound to a server."""
    return next((instance or host for _, instance, host in bound_machines(connection, [address])), None)


def collective_rows(
    fleet: BaseFleet, chips: MeasuredChips, run: RunDescription, timings: Sequence[CollectiveTiming], measured_at: str
) -> list[MeasurementRow]:
    """Return the rows of a run's timings; the fleet is that of the time when they were taken."""
    limit, factor = chips.limit(run.operation), bus_factor(run.operation, chips.chips)
    event = as_of_event(fleet.engine) or 0
    return [
        MeasurementRow(
            run.operation,
            chips.address,
            None,
            chips.machine,
            measured_at,
            event,
            chips.chips,
            run.ranks,
            run.cores_per_rank,
            timing.data_type,
            timing.size,
            timing.nanoseconds,
            timing.size * 10**9 // timing.nanoseconds,
            int(factor * timing.size * 10**9 / timing.nanoseconds),
            limit,
        )
        for timing in timings
    ]


def transfer_rows(
    fleet: BaseFleet, timings: Sequence[TransferTiming], measured_at: str, errors: ImportErrors
) -> list[MeasurementRow]:
    """Return the rows of transfers, and note an error for each whose ends the wiring did not have at that time."""
    rows, event = list[MeasurementRow](), as_of_event(fleet.engine) or 0
    for timing in timings:
        try:
            with fleet.open_snapshot() as snapshot:
                ends = [resolve_place(snapshot.connection, end) for end in (timing.source, timing.target)]
                machine = _machine_name(snapshot.connection, "/".join(ends[0].address.split("/")[:3]))
                limit = _nic_limit(snapshot, ends)
            if limit is None:
                limit = fleet.ask(find("bandwidth"), ends[0].address, ends[1].address).maximum_flow
        except TrninvError as error:
            errors.add(timing.where, str(error))
            continue
        bandwidth = timing.size * 10**9 // timing.nanoseconds
        rows.append(
            MeasurementRow(
                "transfer",
                ends[0].address,
                ends[1].address,
                machine,
                measured_at,
                event,
                sum(end.level == "chip" for end in ends),
                None,
                None,
                None,
                timing.size,
                timing.nanoseconds,
                bandwidth,
                bandwidth,
                limit,
            )
        )
    return rows


def _nic_limit(snapshot: Snapshot, ends: Sequence[Place]) -> int | None:
    """Return what two NICs carry to each other, by their links to chips and into the fabric; None for other places."""
    if any(end.level != "nic" for end in ends):
        return None
    return min(nic_bandwidths(snapshot, [end.id for end in ends]).by_nic.values())
