"""Merge what all sources last reported about each machine.

Sources are tools that run on one machine, such as neuron-ls, and managers of many, such as Kubernetes and EC2. Some
name a machine by its instance id, others by its host name; reports of one machine under both names are merged. A fact
is as new as its file's last import (``observation.seen_at``): importing the same content again confirms it.
Identification, adoption and drift use the result.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, Select, Subquery, exists, func, select

from trninv.database.tables import TABLES
from trninv.errors import UsageError
from trninv.importers.source_register import find_source
from trninv.inventory.address.machine_names import is_host_name, is_instance_id, unique_full_names
from trninv.inventory.state.bindings import Binding, ProposedBinding, resolve_slot

_OBSERVATION, _SERVER = TABLES["observation"], TABLES["observed_server"]
_CHIP, _LINK = TABLES["observed_chip"], TABLES["observed_link"]
_FETCH_SIZE: Final = 5_000


class MachineObservation(NamedTuple):
    """A row of ``observed_server`` with its source; values that it does not report are None.

    ``id`` is the row's, and ``observation`` is the id of the imported file that has it.
    """

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
    scheduler_block: str | None
    has_chips: bool


class RingPosition(NamedTuple):
    """The UltraServer that a machine belongs to, and the machine's number in the ring of its servers, if known."""

    ultraserver: str
    position: int | None


class ReportedState(NamedTuple):
    """A state, and the reason in the source's words."""

    state: str
    reason: str | None


class ChipListing(NamedTuple):
    """The id of the ``observed_server`` whose chips a source lists, and whether the machine may have more chips."""

    observed_server: int
    is_partial: bool


class ObservedValue(NamedTuple):
    """A fact's value, its source, the id of the observation that reports it, and when it was last confirmed (UTC).

    ``object_name`` is the kind of the source's object that has the value, if the source may report several values.
    """

    value: Any
    source: str
    observation: int
    observed_at: str
    object_name: str = ""


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
    "scheduler_block",
)
"""Facts that are columns of ``observed_server``. Network nodes are separated by blanks, top tier first."""
_FACT_READERS: Final[Mapping[str, Callable[[MachineObservation], Any]]] = {
    **{name: attrgetter(name) for name in _SIMPLE_FACTS},
    "ring_position": lambda observation: (
        observation.ultraserver and RingPosition(observation.ultraserver, observation.position)
    ),
    "condition": lambda observation: observation.state and ReportedState(observation.state, observation.reason),
    "chips": lambda observation: ChipListing(observation.id, observation.is_partial) if observation.has_chips else None,
}
"""A function for each fact that returns its value in an observation, or None."""


@dataclass(slots=True, eq=False)
class Machine:
    """The observations of an instance, or of a host whose instance is unknown.

    Attributes
    ----------
    host
        The host name that a manager or the machine itself reports; None if it is unknown or ambiguous.
    observations
        For each source and each set of facts that it reports together, the latest row; latest first.
    link_states
        The reported states, up or down, of its links in an UltraServer: key H for those to another rack, V for those
        within its rack.

    """

    instance: str | None
    host: str | None
    observations: list[MachineObservation] = field(default_factory=list)
    link_states: dict[str, ObservedValue] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The instance's id, or the host's name where there is none."""
        return self.instance or self.host or ""

    def last_seen_time(self, source: str | None = None) -> str:
        """Return when a source, by default any, last reported the machine; empty if none did."""
        times = (entry.observed_at for entry in self.observations if source in (None, entry.source))
        return max(times, default="")

    def latest(self, fact: str) -> ObservedValue | None:
        """Return the latest value of a fact over all sources, or None if no source reports it."""
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

    def reported_types(self) -> list[ObservedValue]:
        """Return the instance types in all of its records, also in several of one source, latest first.

        Sources whose types are inexact are left out.
        """
        return [
            ObservedValue(
                entry.instance_type, entry.source, entry.observation, entry.observed_at, source.object_of(entry)
            )
            for entry in self.observations
            for source in (find_source(entry.source),)
            if entry.instance_type is not None and source.is_exact("instance_type")
        ]


@dataclass(frozen=True, slots=True)
class LatestObservations:
    """The latest observations of all sources.

    Attributes
    ----------
    machines
        Machines by name, in the order of names.
    hosts
        Machines by host name, without ambiguous names.
    ambiguous_hosts
        Host names that several instances claim, with these instances.
    capacity_blocks
        EC2's status of the links between a capacity block's servers, by capacity block.

    """

    machines: Mapping[str, Machine]
    hosts: Mapping[str, Machine]
    ambiguous_hosts: Mapping[str, tuple[str, ...]]
    capacity_blocks: Mapping[str, ObservedValue]

    def find_machine(self, name: str | None) -> Machine | None:
        """Return the machine with an instance id or, if the name has not the form of one, with a host name."""
        # an instance's id is no host name, since another machine could claim it as its own
        machines = self.machines if name and is_instance_id(name) else self.hosts
        return machines.get(name or "")

    def bound_machines(self, bindings: Iterable[Binding]) -> dict[Machine, int]:
        """Return the machines of bindings that a source reports, each with the id of its slot."""
        pairs = ((self.find_machine(entry.instance or entry.host), entry.server_id) for entry in bindings)
        return {machine: server_id for machine, server_id in pairs if machine}


def lowest_network_node(network_nodes: str) -> str:
    """Return the network node directly above an instance: the last of its nodes, which are separated by blanks."""
    return network_nodes.rpartition(" ")[2]


def load_latest_observations(connection: Connection) -> LatestObservations:
    """Merge all observations, in two statements whatever the number of machines.

    Rows with an instance id are collected by instance, rows with only a host name by host. Then each host whose name
    belongs to one instance is merged into that instance. A host's short and full names are merged too.
    """
    machines, hosts_only, claims = dict[str, Machine](), dict[str, Machine](), _HostNameClaims()
    for observation in _read_observations(connection):
        if observation.instance is None:
            _machine_for(hosts_only, None, observation.host).observations.append(observation)
            continue
        _machine_for(machines, observation.instance).observations.append(observation)
        if observation.host is not None:
            claims.add(observation.instance, observation.host, observation)
    owners, ambiguous = claims.settle()
    blocks = _read_links(connection, hosts_only)
    aliases = _host_aliases(hosts_only, owners, ambiguous)
    for host, name in aliases.items():
        if host in hosts_only and name not in owners:
            _merge_machine(_machine_for(hosts_only, None, name), hosts_only.pop(host))
    owners |= {host: owners[name] for host, name in aliases.items() if name in owners}
    for host in [host for host in hosts_only if host in owners]:
        _merge_machine(machines[owners[host]], hosts_only.pop(host))
    for machine in (*machines.values(), *hosts_only.values()):
        machine.observations.sort(key=_age_key, reverse=True)
    for instance, machine in machines.items():
        machine.host = _preferred_host(
            candidate for candidate in machine.observations if owners.get(candidate.host or "") == instance
        )
    hosts = {host: machines[instance] for host, instance in owners.items()} | hosts_only
    hosts |= {host: hosts[name] for host, name in aliases.items()}
    return LatestObservations(dict(sorted({**hosts_only, **machines}.items())), hosts, ambiguous, blocks)


def _machine_for(machines: dict[str, Machine], instance: str | None, host: str | None = None) -> Machine:
    """Return the machine with this instance id or host name; add it if it is missing."""
    name = instance or host or ""
    if name not in machines:
        machines[name] = Machine(instance, host)
    return machines[name]


def _age_key(observation: MachineObservation) -> tuple[str, int]:
    return observation.observed_at, observation.id


def _read_observations(connection: Connection) -> Iterator[MachineObservation]:
    """Yield the latest row of each source and machine, separately for rows that report different sets of facts."""
    # [1:] leaves out the host, because rows are partitioned by its name anyway
    fact_columns = [_SERVER.c[name] for name in (*_SIMPLE_FACTS[1:], "ultraserver", "state")]
    has_chips = exists(select(_CHIP.c.id).where(_CHIP.c.observed_server_id == _SERVER.c.id)).label("has_chips")
    partition = [_SERVER.c.instance, _SERVER.c.host, *(column.is_(None) for column in fact_columns), has_chips]
    rows = _rank_rows(_SERVER, partition, has_chips)
    query = select(*(rows.c[name] for name in MachineObservation._fields)).where(rows.c.number == 1)
    interned = dict[str, str]()  # most texts repeat
    for row in connection.execute(query, execution_options={"yield_per": _FETCH_SIZE}):
        values: Any = (interned.setdefault(value, value) if isinstance(value, str) else value for value in row)
        yield MachineObservation(*values)


def _rank_rows(
    table: FromClause, partition: Iterable[ColumnElement[Any]], *extra_columns: ColumnElement[Any]
) -> Subquery:
    """Select a table's rows with source and time; ``number`` is 1 in the latest row of each source and partition."""
    seen_at, source = _OBSERVATION.c.seen_at, _OBSERVATION.c.source
    number = func.row_number().over(partition_by=[source, *partition], order_by=[seen_at.desc(), table.c.id.desc()])
    labels = [_OBSERVATION.c.id.label("observation"), seen_at.label("observed_at"), number.label("number")]
    rows: Select[Any] = select(table, source, *labels, *extra_columns)
    return rows.join(_OBSERVATION, _OBSERVATION.c.id == table.c.observation_id).subquery()


class _HostNameClaims:
    """Decide which instance has which host name.

    A manager's report wins over a machine's own, and of managers' reports the latest wins. A name that managers report
    equally recently for two instances is ambiguous. A name that no manager reports is ambiguous as soon as two machines
    have ever reported it as their own, so that no machine can impersonate another.
    """

    def __init__(self) -> None:
        # for each host name and instance: whether a manager reports it, and when
        self._by_host: dict[str, dict[str, tuple[bool, str]]] = {}

    def add(self, instance: str, host: str, observation: MachineObservation) -> None:
        """Add an observation that reports an instance under a host name."""
        host_claims = self._by_host.setdefault(host, {})
        host_claims[instance] = max(
            host_claims.get(instance, (False, "")),
            (find_source(observation.source).is_manager, observation.observed_at),
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
    hosts_only: Iterable[str], owners: Mapping[str, str], ambiguous: Mapping[str, object]
) -> Mapping[str, str]:
    """Map host names to other names of the same host.

    A short name and a full name belong to one host if no other known full name begins with the short name. If only one
    of them belongs to an instance, the other name is mapped to it. If neither does, the short name is mapped to the
    full name. If both do, or one of them is ambiguous, they are not mapped.
    """
    names, aliases = {*hosts_only, *owners, *ambiguous}, dict[str, str]()
    for short, name in unique_full_names(name for name in names if "." in name).items():
        is_same_host = short in names and not {short, name} & ambiguous.keys() and not {short, name} <= owners.keys()
        if is_same_host:
            aliases |= {name: short} if short in owners else {short: name}
    return aliases


def _read_links(connection: Connection, hosts_only: dict[str, Machine]) -> dict[str, ObservedValue]:
    """Set the latest link states of hosts, adding missing hosts; return the status of the links of capacity blocks."""
    rows, blocks = _rank_rows(_LINK, [_LINK.c.host, _LINK.c.capacity_block, _LINK.c.part]), dict[str, ObservedValue]()
    for row in connection.execute(select(rows).where(rows.c.number == 1)):
        observed = ObservedValue(row.state, row.source, row.observation, row.observed_at)
        if row.host is None:
            blocks[row.capacity_block] = observed
        else:
            _machine_for(hosts_only, None, row.host).link_states[row.part] = observed
    return blocks


def _merge_machine(machine: Machine, other: Machine) -> None:
    """Add to a machine what was observed of ``other``, which is the same machine under another name."""
    machine.observations += other.observations
    for side, observed in other.link_states.items():
        machine.link_states[side] = max(
            observed, machine.link_states.get(side, observed), key=lambda candidate: candidate.observed_at
        )


def _preferred_host(observations: Iterable[MachineObservation]) -> str | None:
    """Return the host name from the manager with the best rank, or without a manager, from the machine itself."""
    preferred = min(observations, key=_host_name_preference, default=None)
    return preferred and preferred.host


def _host_name_preference(observation: MachineObservation) -> tuple[bool, int, str]:
    source = find_source(observation.source)
    return not source.is_manager, source.host_name_rank, observation.source


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
    """Return the binding of a machine to a slot that a person chose; write nothing.

    Parameters
    ----------
    slot
        Address of the slot.
    name
        An instance id, or the name of a host; its instance is bound too, if known.

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
    machine = latest.find_machine(instance or name)
    if instance is None and (instances := latest.ambiguous_hosts.get(name)):
        raise UsageError(f"{name} is the host name of {' and '.join(instances)}; name the instance")
    if machine is not None and has_valid_name(machine):
        instance, host = machine.instance, valid_host_name(machine)
    return ProposedBinding(place.id, place.address, instance, host, "pin", "certain")
