"""Load what drift rules compare: slots with their machines, and how machines and listings changed over time.

A slot is a server's place in the design; the instance that runs there is bound to it. A complete listing is an
observation that names all instances of an account or cluster, so an instance that it lacks is gone. `drift` calls this
module.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, Select, func, or_, select

from trninv.catalog.instance_types import UnclaimedType, count_unclaimed_types
from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES
from trninv.importers.source_register import find_source
from trninv.inventory.address.lookup import resolve_place
from trninv.reconcile.findings import last_comparison_time
from trninv.reconcile.latest_observations import (
    LatestObservations,
    Machine,
    ObservedValue,
    load_latest_observations,
    lowest_network_node,
)
from trninv.reconcile.link_suspects import ChipLinks, read_chip_links
from trninv.reconcile.measured_runs import MeasuredRuns, load_measured_runs
from trninv.reconcile.missing_machines import missing_machines
from trninv.reconcile.occupied_slots import OccupiedSlot, load_occupied_slots
from trninv.units import format_timestamp

STALE_AFTER: Final = timedelta(hours=1)
"""The default age beyond which an observation counts as stale."""
REPLACED_FOR: Final = timedelta(days=1)
"""How long a replacement of the instance in a slot is reported as a finding."""
_OBSERVATION, _SERVER, _CHIP = TABLES["observation"], TABLES["observed_server"], TABLES["observed_chip"]
_BINDING = TABLES["binding"]


class CounterIncrease(NamedTuple):
    """An error counter of a chip that grew since it was last reset.

    ``ordinal`` is the chip's. ``before`` and ``now`` are the first and the latest count since the reset; ``evidence``
    has the ids of the observations that report them.
    """

    slot: OccupiedSlot
    ordinal: int
    before: int
    now: int
    evidence: tuple[int, int]


class NetworkMove(NamedTuple):
    """A slot whose instance is below a different network node than before it was bound.

    ``before`` is the earlier network node, which the observation ``evidence`` reports; ``now`` has all network nodes
    that were last observed above the instance.
    """

    slot: OccupiedSlot
    before: str
    now: ObservedValue
    evidence: int


class _TimedNode(NamedTuple):
    """The network node directly above an instance, as an observation reports it at a time."""

    time: str
    node: str
    observation: int


@dataclass(frozen=True, slots=True)
class DriftInput:
    """Everything that rules compare, except chips, which `chip_drift` reads in batches.

    A fact is one kind of observed value, such as instance_type.

    Attributes
    ----------
    fresh_from
        Time from which observations are fresh; earlier ones are stale (UTC).
    latest
        The latest observations of all machines.
    missing_from_listing
        Ids of the last complete listing that has a machine and of the one that lacks it, by machine name.
    replaced_bindings
        Bindings that ended recently because another instance took the slot.
    network_moves
        Instances that are below a different network node than before they were bound.
    measured_runs
        Measurements by the machines bound to slots.
    chip_links
        Reads the links between the chips of a slot.

    """

    fresh_from: str
    slots: list[OccupiedSlot]
    latest: LatestObservations
    missing_from_listing: Mapping[str, tuple[int, int]]
    replaced_bindings: list[Row[Any]]
    network_moves: list[NetworkMove]
    measured_runs: MeasuredRuns
    chip_links: Callable[[OccupiedSlot], ChipLinks]

    def is_fresh(self, observed: ObservedValue) -> bool:
        """Return whether a value was observed recently."""
        return observed.observed_at >= self.fresh_from

    def fresh_values(self, machine: Machine | None, fact: str) -> dict[str, ObservedValue]:
        """Return each source's fresh value of a fact, latest first."""
        return self._filter_fresh(self._comparable_values(machine, fact))

    def best_values(self, machine: Machine | None, fact: str) -> dict[str, ObservedValue]:
        """Return each source's fresh value of a fact, or if none is fresh, only the latest value."""
        observed = self._comparable_values(machine, fact)
        return self._filter_fresh(observed) or dict(islice(observed.items(), 1))

    def agreed_value(self, machine: Machine | None, fact: str) -> ObservedValue | None:
        """Return the latest value of a fact, or None if fresh reports disagree or no source reports it."""
        observed = [*self.fresh_reports(machine, fact)] or [*self.best_values(machine, fact).values()]
        return observed[0] if observed and all(value.value == observed[0].value for value in observed) else None

    def fresh_reports(self, machine: Machine | None, fact: str) -> list[ObservedValue]:
        """Return each source's fresh value of a fact; of the type, all, as a source may have it in several records."""
        if fact == "instance_type":
            return list(filter(self.is_fresh, machine.reported_types() if machine else ()))
        return list(self.fresh_values(machine, fact).values())

    def unassigned_machines(self) -> Iterator[tuple[Machine, ObservedValue]]:
        """Yield machines that have no slot and are not gone, with the instance type on which fresh reports agree."""
        bound_machines = {slot.machine for slot in self.slots}
        for machine in self.latest.machines.values():
            if machine not in bound_machines and machine.name not in self.missing_from_listing:
                observed = self.agreed_value(machine, "instance_type")
                if observed and self.is_fresh(observed):
                    yield machine, observed

    def unclaimed(self) -> tuple[UnclaimedType, ...]:
        """Return the types of unassigned machines that no model in the catalog claims."""
        return count_unclaimed_types(observed.value for _, observed in self.unassigned_machines())

    def _filter_fresh(self, observed: dict[str, ObservedValue]) -> dict[str, ObservedValue]:
        earliest = self.fresh_from
        return {source: value for source, value in observed.items() if value.observed_at >= earliest}

    def _comparable_values(self, machine: Machine | None, fact: str) -> dict[str, ObservedValue]:
        """Return each source's latest value of a fact, latest first, without sources that report the fact inexactly."""
        observed = machine.latest_by_source(fact) if machine else {}
        return {source: value for source, value in observed.items() if find_source(source).is_exact(fact)}


def load_drift_input(connection: Connection, now: datetime, stale_after: timedelta) -> DriftInput:
    """Load what the drift rules compare; observations are stale if they are older than ``stale_after`` at ``now``."""
    latest, occupied_slots = load_latest_observations(connection), load_occupied_slots(connection)
    missing = missing_machines(connection, latest)
    for slot in occupied_slots:
        if slot.bound_name is not None:
            machine = latest.find_machine(slot.bound_name)
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
        load_measured_runs(connection, {slot.address: _machine_names(slot) for slot in occupied_slots}),
        lambda slot: read_chip_links(connection, resolve_place(connection, slot.address).id),
    )


def _machine_names(slot: OccupiedSlot) -> set[str | None]:
    """Return the names under which the machine of a slot may have measured; None for a slot that never had a name."""
    names = {slot.bound_name, *((slot.machine.instance, slot.machine.host) if slot.machine else ())}
    return names - {None} or {None}


def unclaimed_types(connection: Connection) -> tuple[UnclaimedType, ...]:
    """Return the types of machines without a slot that no model in the catalog claims, as of the last comparison.

    Machines count if they were observed at most `STALE_AFTER` before the last comparison, or after it.
    """
    compared_at = last_comparison_time(connection)
    types = select(_SERVER.c.instance_type).where(_SERVER.c.instance_type.is_not(None)).distinct()
    if compared_at is None or not count_unclaimed_types(connection.scalars(types)):
        return ()
    return load_drift_input(connection, datetime.fromisoformat(compared_at), STALE_AFTER).unclaimed()


def _replaced_bindings(connection: Connection, now: datetime) -> list[Row[Any]]:
    """Return the bindings that ended within `REPLACED_FOR` because another instance took the slot."""
    earliest = format_timestamp(now - REPLACED_FOR)
    is_replaced = _BINDING.c.ending == "replaced"
    return list(
        connection.execute(select(_BINDING).where(is_replaced, _BINDING.c.ended_at >= earliest).order_by(_BINDING.c.id))
    )


def _network_moves(connection: Connection, slots: list[OccupiedSlot]) -> Iterator[NetworkMove]:
    """Yield the slots whose instance is below a different network node than before it was bound.

    An instance that was first observed after it was bound is compared with its first observation.
    """
    moved_instances = (
        select(_SERVER.c.instance)
        .where(_SERVER.c.network_nodes.is_not(None), _SERVER.c.instance.is_not(None))
        .group_by(_SERVER.c.instance)
        .having(func.count(_SERVER.c.network_nodes.distinct()) > 1)
    )
    # a binding that ended as renewed was continued by another binding of the same instance and slot
    bound_query = select(_BINDING.c.instance, _BINDING.c.address, func.min(_BINDING.c.started_at)).where(
        _BINDING.c.instance.in_(moved_instances), or_(_BINDING.c.ending.is_(None), _BINDING.c.ending == "renewed")
    )
    query = (
        select(_SERVER.c.instance, _SERVER.c.network_nodes, _OBSERVATION.c.at, _OBSERVATION.c.id)
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
        nodes_by_instance[row.instance].append(_TimedNode(row.at, lowest_network_node(row.network_nodes), row.id))
    for slot in slots:
        current = slot.machine.latest("network_nodes") if slot.machine else None
        if current is None or (history := nodes_by_instance.get(slot.instance or "")) is None:
            continue
        bound_time = bound_since.get((str(slot.instance), slot.address), "")
        entries_before = [entry for entry in history if entry.time < bound_time]
        before = entries_before[-1] if entries_before else history[0]
        if before.node != lowest_network_node(current.value):
            yield NetworkMove(slot, before.node, current, before.observation)


def counter_increases(
    connection: Connection, counted_errors: Mapping[tuple[str, str, int], tuple[OccupiedSlot, ObservedValue]]
) -> Iterator[CounterIncrease]:
    """Yield the non-zero counters that grew since they were last reset.

    ``counted_errors`` has the slot and listing of each chip with a non-zero counter, by machine name, source and chip
    ordinal.
    """
    # first count since the last reset, latest count, and the id of the observation that reports the first count
    counts_since_reset: dict[tuple[str, str, int], tuple[int, int, int]] = {}
    machines = {slot.machine.name: slot.machine for slot, _ in counted_errors.values() if slot.machine}
    instance_by_host = {
        observation.host: name
        for name, machine in machines.items()
        for observation in machine.observations
        if observation.instance is None
    }
    for batch in batches(machines):
        hosts = [
            observation.host
            for name in batch
            for observation in machines[name].observations
            if observation.instance is None
        ]
        for row in connection.execute(_counters_query(batch, hosts)):
            key = (row.instance or instance_by_host[row.host], row.source, row.ordinal)
            first, last, observation = counts_since_reset.get(key, (row.errors, row.errors, row.observation))
            if row.errors < last:
                first, observation = row.errors, row.observation
            counts_since_reset[key] = (first, row.errors, observation)
    for key, (slot, observed) in counted_errors.items():
        before, now, observation = counts_since_reset.get(key, (0, 0, 0))
        if now > before:
            yield CounterIncrease(slot, key[2], before, now, (observation, observed.observation))


def _counters_query(instances: list[str], hosts: list[str | None]) -> Select[Any]:
    """Select all observed error counters of chips of these instances and hosts, oldest first."""
    return (
        select(
            _SERVER.c.instance,
            _SERVER.c.host,
            _OBSERVATION.c.source,
            _CHIP.c.ordinal,
            _CHIP.c.ecc_uncorrected.label("errors"),
            _OBSERVATION.c.id.label("observation"),
        )
        .join(_SERVER, _SERVER.c.id == _CHIP.c.observed_server_id)
        .join(_OBSERVATION, _OBSERVATION.c.id == _SERVER.c.observation_id)
        .where(or_(_SERVER.c.instance.in_(instances), _SERVER.c.instance.is_(None) & _SERVER.c.host.in_(hosts)))
        .where(_CHIP.c.ecc_uncorrected.is_not(None))
        .order_by(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)
    )
