"""The newest that was seen of each machine, over all sources: what is older never overrides what is newer.

A fact is as new as its file was last seen (``observation.seen_at``: the same content again says that it still holds).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, Select, Subquery, exists, func, select

from trninv.inventory.named import long_names
from trninv.inventory.schema import TABLES

_OBSERVATION, _SERVER = TABLES["observation"], TABLES["observed_server"]
_CHIP, _LINK = TABLES["observed_chip"], TABLES["observed_link"]
_BATCH: Final = 5_000

MANAGERS: Final = ("kubernetes", "slurm", "hyperpod", "ec2")
"""Sources that speak for all machines, first those whose names of hosts count first; others are machines themselves."""


class Sighting(NamedTuple):
    """A row of ``observed_server``, and what it was seen by: None is what it does not say."""

    source: str
    observation: int
    at: str
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


class Place(NamedTuple):
    """An UltraServer as its driver elected it, and a machine's number in its ring, where that is known."""

    ultraserver: str
    position: int | None


class Condition(NamedTuple):
    """A state, and the source's own words for it."""

    state: str
    reason: str | None


class Chips(NamedTuple):
    """The row of ``observed_server`` whose chips these are, and whether there may be more of them."""

    observed_server: int
    is_partial: bool


class Said(NamedTuple):
    """A fact, by which observation of which source, and when it was last seen to hold (UTC)."""

    value: Any
    source: str
    observation: int
    at: str


_ALONE = (
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
_VALUES: Final[Mapping[str, Callable[[Sighting], Any]]] = {
    **{name: attrgetter(name) for name in _ALONE},
    "place": lambda seen: seen.ultraserver and Place(seen.ultraserver, seen.position),
    "condition": lambda seen: seen.state and Condition(seen.state, seen.reason),
    "chips": lambda seen: Chips(seen.id, seen.is_partial) if seen.has_chips else None,
}
"""What may be known of a machine: columns of ``observed_server`` and the tuples above; network nodes have blanks
between, the top one first."""


@dataclass(slots=True, eq=False)
class Machine:
    """What was seen of an instance, or of a host whose instance is not known.

    Attributes
    ----------
    host
        What its manager calls it, or what it calls itself; None where that is unknown or another has the name too.
    seen
        The newest row of each source for each set of facts that it tells, the newest first.
    sides
        Whether its links to another rack (H) and within its own (V) are up or down.

    """

    instance: str | None
    host: str | None
    seen: list[Sighting] = field(default_factory=list)
    sides: dict[str, Said] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The instance's id, or the host's name where there is none."""
        return self.instance or self.host or ""

    def newest(self, fact: str) -> Said | None:
        """The newest of a fact over all sources; of two at one time, that of the observation that came later."""
        value = _VALUES[fact]
        for seen in self.seen:
            if (found := value(seen)) is not None:
                return Said(found, seen.source, seen.observation, seen.at)
        return None

    def value(self, fact: str) -> Any:
        """The newest value of a fact; None where no source says it."""
        said = self.newest(fact)
        return None if said is None else said.value

    def by_source(self, fact: str) -> dict[str, Said]:
        """The newest of a fact by each source that says it, the newest first."""
        found, value = dict[str, Said](), _VALUES[fact]
        for seen in self.seen:
            if seen.source not in found and (said := value(seen)) is not None:
                found[seen.source] = Said(said, seen.source, seen.observation, seen.at)
        return found


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest of everything that was seen.

    Attributes
    ----------
    machines
        By name, in its order.
    hosts
        The machine that each name of a host means, where that is one.
    contested
        Names of hosts that several instances have at once, with those instances.
    blocks
        What EC2 says of the interconnect of each capacity block.

    """

    machines: Mapping[str, Machine]
    hosts: Mapping[str, Machine]
    contested: Mapping[str, tuple[str, ...]]
    blocks: Mapping[str, Said]


def newest(connection: Connection) -> Newest:
    """Merge everything that was seen, in two statements whatever the number of machines."""
    machines, nameless, claims = dict[str, Machine](), dict[str, Machine](), _Claims()
    for seen in _sightings(connection):
        if seen.instance is None:
            _of(nameless, None, seen.host).seen.append(seen)
            continue
        _of(machines, seen.instance).seen.append(seen)
        if seen.host is not None:
            claims.add(seen.instance, seen.host, seen)
    owners, contested = claims.settled()
    blocks = _links(connection, nameless)
    same = _same_hosts(nameless, owners, contested)
    for host, name in same.items():
        if host in nameless and name not in owners:
            _add(_of(nameless, None, name), nameless.pop(host))
    owners |= {host: owners[name] for host, name in same.items() if name in owners}
    for host in [host for host in nameless if host in owners]:
        _add(machines[owners[host]], nameless.pop(host))
    for machine in (*machines.values(), *nameless.values()):
        machine.seen.sort(key=_age, reverse=True)
    for instance, machine in machines.items():
        machine.host = _called(said for said in machine.seen if owners.get(said.host or "") == instance)
    hosts = {host: machines[instance] for host, instance in owners.items()} | nameless
    hosts |= {host: hosts[name] for host, name in same.items()}
    return Newest(dict(sorted({**nameless, **machines}.items())), hosts, contested, blocks)


def _of(machines: dict[str, Machine], instance: str | None, host: str | None = None) -> Machine:
    name = instance or host or ""
    if name not in machines:
        machines[name] = Machine(instance, host)
    return machines[name]


def _age(seen: Sighting) -> tuple[str, int]:
    return seen.at, seen.id


def _sightings(connection: Connection) -> Iterator[Sighting]:
    """Of each source and machine the newest row of each kind: rows that tell the same facts are of one kind."""
    told = [_SERVER.c[name] for name in (*_ALONE[1:], "ultraserver", "state")]
    has_chips = exists(select(_CHIP.c.id).where(_CHIP.c.observed_server_id == _SERVER.c.id)).label("has_chips")
    of = [_SERVER.c.instance, _SERVER.c.host, *(column.is_(None) for column in told), has_chips]
    rows = _numbered(_SERVER, of, has_chips)
    query = select(*(rows.c[name] for name in Sighting._fields)).where(rows.c.number == 1)
    same = dict[str, str]()  # most texts come many times
    for row in connection.execute(query, execution_options={"yield_per": _BATCH}):
        values: Any = (same.setdefault(each, each) if isinstance(each, str) else each for each in row)
        yield Sighting(*values)


def _numbered(table: FromClause, of: Iterable[ColumnElement[Any]], *more: ColumnElement[Any]) -> Subquery:
    """The rows of a table with their source and time, counted from the newest of those that are alike."""
    at, source = _OBSERVATION.c.seen_at, _OBSERVATION.c.source
    number = func.row_number().over(partition_by=[source, *of], order_by=[at.desc(), table.c.id.desc()])
    named = [_OBSERVATION.c.id.label("observation"), at.label("at"), number.label("number")]
    rows: Select[Any] = select(table, source, *named, *more)
    return rows.join(_OBSERVATION, _OBSERVATION.c.id == table.c.observation_id).subquery()


class _Claims:
    """Which instance has which name of a host.

    What a manager says counts before what a machine says of itself, and what is newer before what is older. A name
    that two have at once is nobody's, as is one that two machines give themselves, whenever: so none can speak for
    another by taking its name.
    """

    def __init__(self) -> None:
        self._by_host: dict[str, dict[str, tuple[bool, str]]] = {}

    def add(self, instance: str, host: str, seen: Sighting) -> None:
        of_host = self._by_host.setdefault(host, {})
        of_host[instance] = max(of_host.get(instance, (False, "")), (seen.source in MANAGERS, seen.at))

    def settled(self) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
        """The instance of each host, and the hosts that several have."""
        owners, contested = dict[str, str](), dict[str, tuple[str, ...]]()
        for host, claimed in self._by_host.items():
            best = max(claimed.values())
            is_by_manager = best[0]
            likely = [name for name, claim in claimed.items() if claim == best or not is_by_manager]
            if len(likely) == 1:
                owners[host] = likely[0]
            else:
                contested[host] = tuple(sorted(likely))
        return owners, contested


def _same_hosts(
    nameless: Iterable[str], owners: Mapping[str, str], contested: Mapping[str, object]
) -> Mapping[str, str]:
    """Map names of hosts to other names of the same: one has a domain, one has none, and no third is like them."""
    names, found = {*nameless, *owners, *contested}, dict[str, str]()
    for short, name in long_names(name for name in names if "." in name).items():
        is_one = short in names and not {short, name} & contested.keys() and not {short, name} <= owners.keys()
        if is_one:
            found |= {name: short} if short in owners else {short: name}
    return found


def _links(connection: Connection, nameless: dict[str, Machine]) -> dict[str, Said]:
    """Give hosts the newest of their sides; what is left are the capacity blocks."""
    rows, blocks = _numbered(_LINK, [_LINK.c.host, _LINK.c.capacity_block, _LINK.c.part]), dict[str, Said]()
    for row in connection.execute(select(rows).where(rows.c.number == 1)):
        said = Said(row.state, row.source, row.observation, row.at)
        if row.host is None:
            blocks[row.capacity_block] = said
        else:
            _of(nameless, None, row.host).sides[row.part] = said
    return blocks


def _add(machine: Machine, other: Machine) -> None:
    machine.seen += other.seen
    for side, said in other.sides.items():
        machine.sides[side] = max(said, machine.sides.get(side, said), key=lambda each: each.at)


def _called(names: Iterable[Sighting]) -> str | None:
    """What its manager calls it, or else what it calls itself; of one source the newest."""
    order = {source: number for number, source in enumerate(MANAGERS)}
    found = min(names, key=lambda seen: (order.get(seen.source, len(order)), seen.source), default=None)
    return found and found.host
