"""Collect what drift rules compare."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, Select, func, or_, select

from trninv.catalog.instance_types import UnclaimedInstances, count_unclaimed_types
from trninv.database.tables import TABLES
from trninv.reconcile.findings import last_comparison_time
from trninv.reconcile.latest_observations import LatestObservations, Machine, ObservedValue, load_latest_observations
from trninv.reconcile.occupied_slots import OccupiedSlot, load_occupied_slots
from trninv.units import format_timestamp

STALE_AFTER: Final = timedelta(hours=1)
REPLACED_FOR: Final = timedelta(days=1)
"""How long a replaced instance stays a finding."""
_OBSERVATION, _SERVER, _CHIP = TABLES["observation"], TABLES["observed_server"], TABLES["observed_chip"]
_BINDING = TABLES["binding"]
_BATCH_SIZE = 500
_IGNORED_SOURCES: Final = {"instance_type": "hyperpod", "place": "hyperpod"}
"""HyperPod has its own ids for UltraServers, and reports the instances with a plain type."""


class CounterIncrease(NamedTuple):
    """An error counter of a chip that grew since its machine last started.

    ``evidence`` has the observations of the first and of the latest count.
    """

    slot: OccupiedSlot
    ordinal: int
    before: int
    now: int
    evidence: tuple[int, int]


class NetworkMove(NamedTuple):
    """A slot whose instance is below another network node than when it was bound."""

    slot: OccupiedSlot
    before: str
    now: ObservedValue


@dataclass(frozen=True, slots=True)
class DriftInput:
    """Everything that rules compare, except chips, which are streamed.

    Attributes
    ----------
    fresh_from
        Earlier observations are stale (UTC, like all times in the database).
    missing_from_listing
        The complete listing that lacks a machine, by machine name.
    replaced_bindings
        Bindings that another instance ended recently.

    """

    fresh_from: str
    slots: list[OccupiedSlot]
    latest: LatestObservations
    missing_from_listing: Mapping[str, int]
    replaced_bindings: list[Row[Any]]
    network_moves: list[NetworkMove]

    def is_fresh(self, observed: ObservedValue) -> bool:
        """Return whether a value is fresh."""
        return observed.observed_at >= self.fresh_from

    def fresh_values(self, machine: Machine | None, fact: str) -> dict[str, ObservedValue]:
        """Return the fresh values of a fact."""
        return self._filter_fresh(self._comparable_values(machine, fact))

    def best_values(self, machine: Machine | None, fact: str) -> dict[str, ObservedValue]:
        """Return the fresh values of a fact, or else the latest: a stale value never overrides a fresh one."""
        observed = self._comparable_values(machine, fact)
        return self._filter_fresh(observed) or dict(islice(observed.items(), 1))

    def agreed_value(self, machine: Machine | None, fact: str) -> ObservedValue | None:
        """Return the latest value of a fact, unless fresh sources disagree."""
        observed = list(self.best_values(machine, fact).values())
        return observed[0] if observed and all(value.value == observed[0].value for value in observed) else None

    def unassigned_machines(self) -> Iterator[tuple[Machine, ObservedValue]]:
        """Yield recently observed machines without a slot, with their types."""
        bound_machines = {slot.machine for slot in self.slots}
        for machine in self.latest.machines.values():
            if machine not in bound_machines and machine.name not in self.missing_from_listing:
                observed = self.agreed_value(machine, "instance_type")
                if observed and self.is_fresh(observed):
                    yield machine, observed

    def unclaimed(self) -> tuple[UnclaimedInstances, ...]:
        """Return the types of unassigned machines that no model in the catalog claims."""
        return count_unclaimed_types(observed.value for _, observed in self.unassigned_machines())

    def _filter_fresh(self, observed: dict[str, ObservedValue]) -> dict[str, ObservedValue]:
        earliest = self.fresh_from
        return {source: value for source, value in observed.items() if value.observed_at >= earliest}

    def _comparable_values(self, machine: Machine | None, fact: str) -> dict[str, ObservedValue]:
        """Return each source's value of a fact, latest first, normalized so that sources compare."""
        observed = machine.latest_by_source(fact) if machine else {}
        if fact in _IGNORED_SOURCES:
            observed.pop(_IGNORED_SOURCES[fact], None)
        return observed


def load_drift_input(connection: Connection, now: datetime, stale_after: timedelta) -> DriftInput:
    """Collect what the drift rules compare."""
    latest, occupied_slots = load_latest_observations(connection), load_occupied_slots(connection)
    missing = _missing_machines(connection, latest)
    for slot in occupied_slots:
        if slot.bound_name is not None:
            machine = latest.machines.get(slot.bound_name) or latest.hosts.get(slot.bound_name)
            slot.missing_from_listing = missing.get(machine.name) if machine else None
            slot.machine = None if slot.missing_from_listing else machine
    network_moves = list(_network_moves(connection, occupied_slots))
    return DriftInput(
        format_timestamp(now - stale_after),
        occupied_slots,
        latest,
        missing,
        _replaced_bindings(connection, now),
        network_moves,
    )


def unclaimed_types(connection: Connection) -> tuple[UnclaimedInstances, ...]:
    """Return the unclaimed types of machines without a slot, as of the last comparison.

    It counts machines observed at most `STALE_AFTER` before the comparison, or since.
    """
    compared_at = last_comparison_time(connection)
    types = select(_SERVER.c.instance_type).where(_SERVER.c.instance_type.is_not(None)).distinct()
    if compared_at is None or not count_unclaimed_types(connection.scalars(types)):
        return ()
    return load_drift_input(connection, datetime.fromisoformat(compared_at), STALE_AFTER).unclaimed()


def _missing_machines(connection: Connection, latest: LatestObservations) -> dict[str, int]:
    """Return the machines that the latest complete listing lacks, with that listing.

    A listing supersedes an earlier one if it has the same name, a common instance, or no instance at all. So listings
    of two regions or clusters do not declare each other's instances gone.
    """
    listings = connection.execute(
        select(_OBSERVATION).where(_OBSERVATION.c.is_whole).order_by(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)
    ).all()
    newest_time = max((listing.seen_at for listing in listings), default="")
    candidates = [name for name, machine in latest.machines.items() if last_seen_time(machine) < newest_time]
    missing = {}
    successors: dict[int, int | None] = {}
    by_id = {listing.id: listing for listing in listings}
    for (name, _), last_listing in _last_listings(connection, candidates).items():
        if last_listing not in successors:
            successors[last_listing] = _next_listing(connection, by_id[last_listing], listings)
        if (successor := successors[last_listing]) is not None and last_seen_time(latest.machines[name]) < by_id[
            successor
        ].seen_at:
            missing[name] = successor
    return missing


def last_seen_time(machine: Machine) -> str:
    """Return when any source last reported a machine."""
    return max((observation.observed_at for observation in machine.observations), default="")


def _last_listings(connection: Connection, names: list[str]) -> dict[tuple[str, str], int]:
    """Return the latest complete listing of each source that has each of these machines."""
    listings: dict[tuple[str, str], int] = {}
    for batch in _batches(names):
        name = func.coalesce(_SERVER.c.instance, _SERVER.c.host)
        is_machine = or_(_SERVER.c.instance.in_(batch), _SERVER.c.instance.is_(None) & _SERVER.c.host.in_(batch))
        query = (
            select(name.label("name"), _OBSERVATION.c.source, _OBSERVATION.c.id)
            .join(_OBSERVATION, _OBSERVATION.c.id == _SERVER.c.observation_id)
            .where(is_machine, _OBSERVATION.c.is_whole)
            .order_by(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)
        )
        listings |= {(row.name, row.source): row.id for row in connection.execute(query)}
    return listings


def _next_listing(connection: Connection, previous: Row[Any], listings: Iterable[Row[Any]]) -> int | None:
    """Return the latest listing with the scope of an older one."""
    newer = [
        listing for listing in listings if listing.source == previous.source and listing.seen_at > previous.seen_at
    ]
    other = _SERVER.alias()
    for listing in reversed(newer):
        if listing.name == previous.name or not listing.servers:
            return int(listing.id)
        common_query = select(_SERVER.c.id).join(other, other.c.instance == _SERVER.c.instance)
        if connection.execute(
            common_query.where(_SERVER.c.observation_id == previous.id, other.c.observation_id == listing.id).limit(1)
        ).first():
            return int(listing.id)
    return None


def _replaced_bindings(connection: Connection, now: datetime) -> list[Row[Any]]:
    earliest = format_timestamp(now - REPLACED_FOR)
    is_replaced = _BINDING.c.ending == "replaced"
    return list(
        connection.execute(select(_BINDING).where(is_replaced, _BINDING.c.ended_at >= earliest).order_by(_BINDING.c.id))
    )


def _network_moves(connection: Connection, slots: list[OccupiedSlot]) -> Iterator[NetworkMove]:
    """Yield instances whose lowest network node differs from the one before binding, or when first observed."""
    moved_instances = (
        select(_SERVER.c.instance)
        .where(_SERVER.c.network_nodes.is_not(None), _SERVER.c.instance.is_not(None))
        .group_by(_SERVER.c.instance)
        .having(func.count(_SERVER.c.network_nodes.distinct()) > 1)
    )
    bound_query = select(_BINDING.c.instance, _BINDING.c.address, func.min(_BINDING.c.started_at)).where(
        _BINDING.c.instance.in_(moved_instances), or_(_BINDING.c.ending.is_(None), _BINDING.c.ending == "renewed")
    )
    query = (
        select(_SERVER.c.instance, _SERVER.c.network_nodes, _OBSERVATION.c.at)
        .join(_OBSERVATION, _OBSERVATION.c.id == _SERVER.c.observation_id)
        .where(_SERVER.c.instance.in_(moved_instances), _SERVER.c.network_nodes.is_not(None))
        .order_by(_SERVER.c.id)
    )
    bound_since = {
        (instance, address): time
        for instance, address, time in connection.execute(bound_query.group_by(_BINDING.c.instance, _BINDING.c.address))
    }
    nodes_by_instance = defaultdict(list)
    for row in connection.execute(query):
        nodes_by_instance[row.instance].append((row.at, lowest_network_node(row.network_nodes)))
    for slot in slots:
        current = slot.machine.latest("network_nodes") if slot.machine else None
        if current is None or (history := nodes_by_instance.get(slot.instance or "")) is None:
            continue
        bound_time = bound_since.get((str(slot.instance), slot.address), "")
        (before,) = [name for time, name in history if time < bound_time][-1:] or [history[0][1]]
        if before != lowest_network_node(current.value):
            yield NetworkMove(slot, before, current)


def lowest_network_node(network_nodes: str) -> str:
    """Return the network node directly above an instance."""
    return network_nodes.rpartition(" ")[2]


def counter_increases(
    connection: Connection, counted_errors: Mapping[tuple[str, str, int], tuple[OccupiedSlot, ObservedValue]]
) -> Iterator[CounterIncrease]:
    """Yield the non-zero counters that grew since they were last cleared."""
    counter_runs: dict[tuple[str, str, int], tuple[int, int, int]] = {}
    machines = {slot.machine.name: slot.machine for slot, _ in counted_errors.values() if slot.machine}
    instance_by_host = {
        observation.host: name
        for name, machine in machines.items()
        for observation in machine.observations
        if observation.instance is None
    }
    for batch in _batches(list(machines)):
        hosts = [
            observation.host
            for name in batch
            for observation in machines[name].observations
            if observation.instance is None
        ]
        for row in connection.execute(_counters_query(batch, hosts)):
            key = (row.instance or instance_by_host[row.host], row.source, row.ordinal)
            first, last, observation = counter_runs.get(key, (row.n, row.n, row.observation))
            counter_runs[key] = (first, row.n, observation) if row.n >= last else (row.n, row.n, row.observation)
    for key, (slot, observed) in counted_errors.items():
        before, now, observation = counter_runs.get(key, (0, 0, 0))
        if now > before:
            yield CounterIncrease(slot, key[2], before, now, (observation, observed.observation))


def _counters_query(instances: list[str], hosts: list[str | None]) -> Select[Any]:
    """Select the error counters of chips, oldest first."""
    return (
        select(
            _SERVER.c.instance,
            _SERVER.c.host,
            _OBSERVATION.c.source,
            _CHIP.c.ordinal,
            _CHIP.c.ecc_uncorrected.label("n"),
            _OBSERVATION.c.id.label("observation"),
        )
        .join(_SERVER, _SERVER.c.id == _CHIP.c.observed_server_id)
        .join(_OBSERVATION, _OBSERVATION.c.id == _SERVER.c.observation_id)
        .where(or_(_SERVER.c.instance.in_(instances), _SERVER.c.instance.is_(None) & _SERVER.c.host.in_(hosts)))
        .where(_CHIP.c.ecc_uncorrected.is_not(None))
        .order_by(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)
    )


def _batches(names: list[str]) -> Iterator[list[str]]:
    return (names[first : first + _BATCH_SIZE] for first in range(0, len(names), _BATCH_SIZE))
