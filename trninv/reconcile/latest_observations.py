"""Merge the latest observation of each machine over all sources.

A fact is as new as its file's last import (``observation.seen_at``: the same content again confirms it).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, Select, Subquery, exists, func, select

from trninv.database.tables import TABLES
from trninv.errors import UsageError
from trninv.inventory.address.machine_names import is_host_name, is_instance_id, unique_full_names
from trninv.inventory.state.bindings import ProposedBinding, resolve_slot

_OBSERVATION, _SERVER = TABLES["observation"], TABLES["observed_server"]


_CHIP, _LINK = TABLES["observed_chip"], TABLES["observed_link"]


_FETCH_SIZE: Final = 5_000


MANAGERS: Final = ("kubernetes", "slurm", "hyperpod", "ec2")


"""Sources that report many machines, in the order of preference for host names; others report themselves."""


class MachineObservation(NamedTuple):
    """A row of ``observed_server`` with its source; None marks values that it does not report."""

    source: str
    observation: int
    observed_at: str
    id: int
    instance: str | None
    host: str | None
    instance_type: str | None
    zone: str | None
    reservation: str | None
    capacity_block: str | None
    network_nodes: str | None
    ultraserver: str | None
    position: int | None
    ultraserver_mode: str | None
    state: str | None
    reason: str | None
    logical_cores: int | None
    chip_count: int | None
    is_partial: bool
    missing_fields: str | None
    has_chips: bool


class RingPosition(NamedTuple):
    """An UltraServer as its driver elected it, and a machine's number in its ring, if known."""

    ultraserver: str
    position: int | None


class ReportedState(NamedTuple):
    """A state, and the reason in the source's words."""

    state: str
    reason: str | None


class ChipListing(NamedTuple):
    """The row of ``observed_server`` with the chips, and whether there may be more chips."""

    observed_server: int
    is_partial: bool


class ObservedValue(NamedTuple):
    """A fact, the source and observation that report it, and when it was last confirmed (UTC)."""

    value: Any
    source: str
    observation: int
    observed_at: str


_SIMPLE_FACTS = (
    "host",
    "instance_type",
    "zone",
    "reservation",
    "capacity_block",
    "network_nodes",
    "ultraserver_mode",
    "logical_cores",
    "chip_count",
)


_FACT_READERS: Final[Mapping[str, Callable[[MachineObservation], Any]]] = {
    **{name: attrgetter(name) for name in _SIMPLE_FACTS},
    "place": lambda observation: (
        observation.ultraserver and RingPosition(observation.ultraserver, observation.position)
    ),
    "condition": lambda observation: observation.state and ReportedState(observation.state, observation.reason),
    "chips": lambda observation: ChipListing(observation.id, observation.is_partial) if observation.has_chips else None,
}


"""The facts about a machine: columns of ``observed_server`` and the tuples above. Network nodes are separated by
blanks, top tier first."""


@dataclass(slots=True, eq=False)
class Machine:
    """The observations of an instance, or of a host whose instance is unknown.

    Attributes
    ----------
    host
        The host name by its manager or by itself; None if it is unknown or ambiguous.
    observations
        The latest row of each source for each set of facts, latest first.
    link_states
        Whether its links to another rack (H) and within its own (V) are up or down.

    """

    instance: str | None
    host: str | None
    observations: list[MachineObservation] = field(default_factory=list)
    link_states: dict[str, ObservedValue] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The instance's id, or the host's name where there is none."""
        return self.instance or self.host or ""

    def latest(self, fact: str) -> ObservedValue | None:
        """Return the latest value of a fact over all sources; of two at one time, the one observed later."""
        read_fact = _FACT_READERS[fact]
        for observation in self.observations:
            if (reported := read_fact(observation)) is not None:
                return ObservedValue(reported, observation.source, observation.observation, observation.observed_at)
        return None

    def value(self, fact: str) -> Any:
        """Return the latest value of a fact, or None if no source reports it."""
        observed = self.latest(fact)
        return None if observed is None else observed.value

    def latest_by_source(self, fact: str) -> dict[str, ObservedValue]:
        """Return the latest value of a fact by each source that reports it, latest first."""
        by_source, read_fact = dict[str, ObservedValue](), _FACT_READERS[fact]
        for observation in self.observations:
            if observation.source not in by_source and (reported := read_fact(observation)) is not None:
                by_source[observation.source] = ObservedValue(
                    reported, observation.source, observation.observation, observation.observed_at
                )
        return by_source


@dataclass(frozen=True, slots=True)
class LatestObservations:
    """The latest observations of all sources.

    Attributes
    ----------
    machines
        Machines by name, in order.
    hosts
        Machines by host name, if the name is unambiguous.
    ambiguous_hosts
        Host names that several instances claim, with these instances.
    capacity_blocks
        EC2's status of the interconnect of each capacity block.

    """

    machines: Mapping[str, Machine]
    hosts: Mapping[str, Machine]
    ambiguous_hosts: Mapping[str, tuple[str, ...]]
    capacity_blocks: Mapping[str, ObservedValue]


def load_latest_observations(connection: Connection) -> LatestObservations:
    """Merge all observations, in two statements whatever the number of machines."""
    machines, nameless, claims = dict[str, Machine](), dict[str, Machine](), _HostNameClaims()
    for observation in _read_observations(connection):
        if observation.instance is None:
            _machine_for(nameless, None, observation.host).observations.append(observation)
            continue
        _machine_for(machines, observation.instance).observations.append(observation)
        if observation.host is not None:
            claims.add(observation.instance, observation.host, observation)
    owners, ambiguous = claims.settle()
    blocks = _read_links(connection, nameless)
    aliases = _host_aliases(nameless, owners, ambiguous)
    for host, name in aliases.items():
        if host in nameless and name not in owners:
            _merge_machine(_machine_for(nameless, None, name), nameless.pop(host))
    owners |= {host: owners[name] for host, name in aliases.items() if name in owners}
    for host in [host for host in nameless if host in owners]:
        _merge_machine(machines[owners[host]], nameless.pop(host))
    for machine in (*machines.values(), *nameless.values()):
        machine.observations.sort(key=_age_key, reverse=True)
    for instance, machine in machines.items():
        machine.host = _preferred_host(
            candidate for candidate in machine.observations if owners.get(candidate.host or "") == instance
        )
    hosts = {host: machines[instance] for host, instance in owners.items()} | nameless
    hosts |= {host: hosts[name] for host, name in aliases.items()}
    return LatestObservations(dict(sorted({**nameless, **machines}.items())), hosts, ambiguous, blocks)


def _machine_for(machines: dict[str, Machine], instance: str | None, host: str | None = None) -> Machine:
    name = instance or host or ""
    if name not in machines:
        machines[name] = Machine(instance, host)
    return machines[name]


def _age_key(observation: MachineObservation) -> tuple[str, int]:
    return observation.observed_at, observation.id


def _read_observations(connection: Connection) -> Iterator[MachineObservation]:
    """Yield the latest row of each source, machine and kind; rows that report the same facts are of one kind."""
    fact_columns = [_SERVER.c[name] for name in (*_SIMPLE_FACTS[1:], "ultraserver", "state")]
    has_chips = exists(select(_CHIP.c.id).where(_CHIP.c.observed_server_id == _SERVER.c.id)).label("has_chips")
    partition = [_SERVER.c.instance, _SERVER.c.host, *(column.is_(None) for column in fact_columns), has_chips]
    rows = _rank_rows(_SERVER, partition, has_chips)
    query = select(*(rows.c[name] for name in MachineObservation._fields)).where(rows.c.number == 1)
    interned = dict[str, str]()  # most texts repeat
    for row in connection.execute(query, execution_options={"yield_per": _FETCH_SIZE}):
        values: Any = (interned.setdefault(value, value) if isinstance(value, str) else value for value in row)
        yield MachineObservation(*values)


def _rank_rows(table: FromClause, partition: Iterable[ColumnElement[Any]], *more: ColumnElement[Any]) -> Subquery:
    """Select a table's rows with source and time, ranked from the latest among equal rows."""
    seen_at, source = _OBSERVATION.c.seen_at, _OBSERVATION.c.source
    number = func.row_number().over(partition_by=[source, *partition], order_by=[seen_at.desc(), table.c.id.desc()])
    labels = [_OBSERVATION.c.id.label("observation"), seen_at.label("observed_at"), number.label("number")]
    rows: Select[Any] = select(table, source, *labels, *more)
    return rows.join(_OBSERVATION, _OBSERVATION.c.id == table.c.observation_id).subquery()


class _HostNameClaims:
    """Decide which instance has which host name.

    A manager's report wins over a machine's own, and a newer one over an older one. A name that two instances have at
    the same time is ambiguous, and so is one that two machines ever gave themselves: no machine can impersonate another
    by taking its name.
    """

    def __init__(self) -> None:
        self._by_host: dict[str, dict[str, tuple[bool, str]]] = {}

    def add(self, instance: str, host: str, observation: MachineObservation) -> None:
        host_claims = self._by_host.setdefault(host, {})
        host_claims[instance] = max(
            host_claims.get(instance, (False, "")), (observation.source in MANAGERS, observation.observed_at)
        )

    def settle(self) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
        """Return the instance of each host, and the hosts that several instances claim."""
        owners, ambiguous = dict[str, str](), dict[str, tuple[str, ...]]()
        for host, claimed in self._by_host.items():
            best = max(claimed.values())
            is_by_manager = best[0]
            claimants = [name for name, claim in claimed.items() if claim == best or not is_by_manager]
            if len(claimants) == 1:
                owners[host] = claimants[0]
            else:
                ambiguous[host] = tuple(sorted(claimants))
        return owners, ambiguous


def _host_aliases(
    nameless: Iterable[str], owners: Mapping[str, str], ambiguous: Mapping[str, object]
) -> Mapping[str, str]:
    """Map host names to aliases: one name has a domain, the other has none, and no third matches them."""
    names, aliases = {*nameless, *owners, *ambiguous}, dict[str, str]()
    for short, name in unique_full_names(name for name in names if "." in name).items():
        is_one = short in names and not {short, name} & ambiguous.keys() and not {short, name} <= owners.keys()
        if is_one:
            aliases |= {name: short} if short in owners else {short: name}
    return aliases


def _read_links(connection: Connection, nameless: dict[str, Machine]) -> dict[str, ObservedValue]:
    """Set the latest link states of hosts; return the status of capacity blocks."""
    rows, blocks = _rank_rows(_LINK, [_LINK.c.host, _LINK.c.capacity_block, _LINK.c.part]), dict[str, ObservedValue]()
    for row in connection.execute(select(rows).where(rows.c.number == 1)):
        observed = ObservedValue(row.state, row.source, row.observation, row.observed_at)
        if row.host is None:
            blocks[row.capacity_block] = observed
        else:
            _machine_for(nameless, None, row.host).link_states[row.part] = observed
    return blocks


def _merge_machine(machine: Machine, other: Machine) -> None:
    machine.observations += other.observations
    for side, observed in other.link_states.items():
        machine.link_states[side] = max(
            observed, machine.link_states.get(side, observed), key=lambda candidate: candidate.observed_at
        )


def _preferred_host(observations: Iterable[MachineObservation]) -> str | None:
    """Return the host name that the manager reports, else the machine's own; per source the latest."""
    order = {source: number for number, source in enumerate(MANAGERS)}
    preferred = min(
        observations,
        key=lambda observation: (order.get(observation.source, len(order)), observation.source),
        default=None,
    )
    return preferred and preferred.host


def has_valid_name(machine: Machine) -> bool:
    """Return whether the machine's name is a valid instance id or host name."""
    if machine.instance is not None:
        return is_instance_id(machine.instance)
    return machine.host is not None and is_host_name(machine.host)


def valid_host_name(machine: Machine) -> str | None:
    """Return the machine's host name if it is a valid one, or None."""
    host = machine.host
    return host if host is not None and is_host_name(host, instance=machine.instance) else None


def pinned_binding(connection: Connection, slot: str, name: str) -> ProposedBinding:
    """Return a binding of an instance, or of a host's instance, to a slot that a person chose; write nothing.

    Raises
    ------
    WrongLevelError
        The slot is not a server.
    UsageError
        Several instances claim that host name.

    """
    place, latest = resolve_slot(connection, slot), load_latest_observations(connection)
    instance = name.lower() if is_instance_id(name.lower()) else None
    host = None if instance else name
    machine = latest.machines.get(instance) if instance else latest.hosts.get(name)
    if instance is None and (instances := latest.ambiguous_hosts.get(name)):
        raise UsageError(f"{name} is the host name of {' and '.join(instances)}; name the instance")
    if machine is not None and has_valid_name(machine):
        instance, host = machine.instance, valid_host_name(machine)
    return ProposedBinding(place.id, place.address, instance, host, "pin", "certain")
