"""What rules of drift compare: the slots of the design and the newest of what was seen, of one state of a database."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, Select, func, or_, select

from trninv.catalog.instance_types import UnclaimedType, unclaimed
from trninv.inventory.schema import TABLES
from trninv.live.design import Occupancy, slots
from trninv.live.findings import compared_at
from trninv.live.newest import Machine, Newest, Said, newest
from trninv.timestamps import format_timestamp

STALE_AFTER: Final = timedelta(hours=1)
REPLACED_FOR: Final = timedelta(days=1)
"""How long it is told that another instance took a slot."""
_OBSERVATION, _SERVER, _CHIP = TABLES["observation"], TABLES["observed_server"], TABLES["observed_chip"]
_BINDING = TABLES["binding"]
_AT_ONCE = 500


_WORDS_OF_THEIR_OWN: Final = {"instance_type": "hyperpod", "place": "hyperpod"}
"""HyperPod gives UltraServers ids of its own, and their instances the type of plain ones."""


class Grown(NamedTuple):
    """A counter of errors that grew: of a chip of a slot, from when its machine was last started.

    ``evidence``: the observations of the first count, and of the newest.
    """

    slot: Occupancy
    ordinal: int
    before: int
    now: int
    evidence: tuple[int, int]


class Moved(NamedTuple):
    """A slot whose instance is below another network node than when it was bound."""

    slot: Occupancy
    before: str
    now: Said


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that is compared, but for chips, which are read one after the other.

    Attributes
    ----------
    fresh_from
        What was last seen before is stale (UTC, as all times of the database are).
    gone
        The whole listing that no longer has a machine, by the machine's name.
    replaced
        Bindings that another instance ended lately.

    """

    fresh_from: str
    slots: list[Occupancy]
    newest: Newest
    gone: Mapping[str, int]
    replaced: list[Row[Any]]
    moved: list[Moved]

    def is_fresh(self, said: Said) -> bool:
        """Whether it was seen lately."""
        return said.at >= self.fresh_from

    def fresh(self, machine: Machine | None, fact: str) -> dict[str, Said]:
        """What sources lately said of a fact."""
        return self._fresh(self._comparable(machine, fact))

    def current(self, machine: Machine | None, fact: str) -> dict[str, Said]:
        """What is fresh of a fact, or else the newest: what is stale never overrides what is not."""
        said = self._comparable(machine, fact)
        return self._fresh(said) or dict(islice(said.items(), 1))

    def sure(self, machine: Machine | None, fact: str) -> Said | None:
        """The newest of a fact, unless sources that are fresh disagree."""
        said = list(self.current(machine, fact).values())
        return said[0] if said and all(each.value == said[0].value for each in said) else None

    def unplaced(self) -> Iterator[tuple[Machine, Said]]:
        """Machines that were lately seen and stand in no slot, with their types."""
        bound = {slot.machine for slot in self.slots}
        for machine in self.newest.machines.values():
            if machine not in bound and machine.name not in self.gone:
                said = self.sure(machine, "instance_type")
                if said and self.is_fresh(said):
                    yield machine, said

    def unclaimed(self) -> tuple[UnclaimedType, ...]:
        """Return the types of those machines that no model in the catalog claims."""
        return unclaimed(said.value for _, said in self.unplaced())

    def _fresh(self, said: dict[str, Said]) -> dict[str, Said]:
        from_ = self.fresh_from
        return {source: each for source, each in said.items() if each.at >= from_}

    def _comparable(self, machine: Machine | None, fact: str) -> dict[str, Said]:
        """What each source said of a fact, the newest first, in words that mean the same with each."""
        said = machine.by_source(fact) if machine else {}
        if fact in _WORDS_OF_THEIR_OWN:
            said.pop(_WORDS_OF_THEIR_OWN[fact], None)
        return said


def picture(connection: Connection, now: datetime, stale_after: timedelta) -> Picture:
    """What there is to compare."""
    seen, of = newest(connection), slots(connection)
    gone = _gone(connection, seen)
    for slot in of:
        if slot.bound is not None:
            machine = seen.machines.get(slot.bound) or seen.hosts.get(slot.bound)
            slot.gone = gone.get(machine.name) if machine else None
            slot.machine = None if slot.gone else machine
    moved = list(_moved(connection, of))
    return Picture(format_timestamp(now - stale_after), of, seen, gone, _replaced(connection, now), moved)


def unclaimed_types(connection: Connection) -> tuple[UnclaimedType, ...]:
    """Return the types that no model claims, of machines that stand in no slot, as when it was last compared.

    Those count that were seen within `STALE_AFTER` before the comparison, or since.
    """
    at = compared_at(connection)
    types = select(_SERVER.c.instance_type).where(_SERVER.c.instance_type.is_not(None)).distinct()
    if at is None or not unclaimed(connection.scalars(types)):
        return ()
    return picture(connection, datetime.fromisoformat(at), STALE_AFTER).unclaimed()


def _gone(connection: Connection, seen: Newest) -> dict[str, int]:
    """Machines that the newest listing of all there is leaves out.

    A listing is of what the one before was of if it has the same name, an instance in common, or no instance at all:
    so that the listings of two regions or clusters do not call each other's instances gone.
    """
    whole = connection.execute(
        select(_OBSERVATION).where(_OBSERVATION.c.is_whole).order_by(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)
    ).all()
    newest_of = max((each.seen_at for each in whole), default="")
    late = [name for name, machine in seen.machines.items() if last_seen(machine) < newest_of]
    gone = {}
    continues: dict[int, int | None] = {}
    by_id = {each.id: each for each in whole}
    for (name, _), last in _listed(connection, late).items():
        if last not in continues:
            continues[last] = _next(connection, by_id[last], whole)
        if (then := continues[last]) is not None and last_seen(seen.machines[name]) < by_id[then].seen_at:
            gone[name] = then
    return gone


def last_seen(machine: Machine) -> str:
    """When anything was last said of a machine."""
    return max((seen.at for seen in machine.seen), default="")


def _listed(connection: Connection, names: list[str]) -> dict[tuple[str, str], int]:
    """The newest whole listing of each source that has each of these machines."""
    found: dict[tuple[str, str], int] = {}
    for some in _some(names):
        name = func.coalesce(_SERVER.c.instance, _SERVER.c.host)
        of = or_(_SERVER.c.instance.in_(some), _SERVER.c.instance.is_(None) & _SERVER.c.host.in_(some))
        query = (
            select(name.label("name"), _OBSERVATION.c.source, _OBSERVATION.c.id)
            .join(_OBSERVATION, _OBSERVATION.c.id == _SERVER.c.observation_id)
            .where(of, _OBSERVATION.c.is_whole)
            .order_by(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)
        )
        found |= {(row.name, row.source): row.id for row in connection.execute(query)}
    return found


def _next(connection: Connection, last: Row[Any], whole: Iterable[Row[Any]]) -> int | None:
    """The newest listing of what an older one was of."""
    newer = [each for each in whole if each.source == last.source and each.seen_at > last.seen_at]
    other = _SERVER.alias()
    for each in reversed(newer):
        if each.name == last.name or not each.servers:
            return int(each.id)
        common = select(_SERVER.c.id).join(other, other.c.instance == _SERVER.c.instance)
        if connection.execute(
            common.where(_SERVER.c.observation_id == last.id, other.c.observation_id == each.id).limit(1)
        ).first():
            return int(each.id)
    return None


def _replaced(connection: Connection, now: datetime) -> list[Row[Any]]:
    lately = format_timestamp(now - REPLACED_FOR)
    ended = _BINDING.c.ending == "replaced"
    return list(connection.execute(select(_BINDING).where(ended, _BINDING.c.until >= lately).order_by(_BINDING.c.id)))


def _moved(connection: Connection, of: list[Occupancy]) -> Iterator[Moved]:
    """Instances that had another lowest network node: before they were bound, or else when they were first seen."""
    several = (
        select(_SERVER.c.instance)
        .where(_SERVER.c.network_nodes.is_not(None), _SERVER.c.instance.is_not(None))
        .group_by(_SERVER.c.instance)
        .having(func.count(_SERVER.c.network_nodes.distinct()) > 1)
    )
    bound = select(_BINDING.c.instance, _BINDING.c.address, func.min(_BINDING.c.since)).where(
        _BINDING.c.instance.in_(several), or_(_BINDING.c.ending.is_(None), _BINDING.c.ending == "renewed")
    )
    query = (
        select(_SERVER.c.instance, _SERVER.c.network_nodes, _OBSERVATION.c.at)
        .join(_OBSERVATION, _OBSERVATION.c.id == _SERVER.c.observation_id)
        .where(_SERVER.c.instance.in_(several), _SERVER.c.network_nodes.is_not(None))
        .order_by(_SERVER.c.id)
    )
    since = {
        (instance, address): at
        for instance, address, at in connection.execute(bound.group_by(_BINDING.c.instance, _BINDING.c.address))
    }
    seen = defaultdict(list)
    for row in connection.execute(query):
        seen[row.instance].append((row.at, lowest(row.network_nodes)))
    for slot in of:
        now = slot.machine.newest("network_nodes") if slot.machine else None
        if now is None or (history := seen.get(slot.instance or "")) is None:
            continue
        begun = since.get((str(slot.instance), slot.address), "")
        (before,) = [name for at, name in history if at < begun][-1:] or [history[0][1]]
        if before != lowest(now.value):
            yield Moved(slot, before, now)


def lowest(network_nodes: str) -> str:
    """The network node right above an instance."""
    return network_nodes.rpartition(" ")[2]


def grown(connection: Connection, counted: Mapping[tuple[str, str, int], tuple[Occupancy, Said]]) -> Iterator[Grown]:
    """Which of the counters that are not 0, by machine, source and chip, grew since they were last cleared."""
    runs: dict[tuple[str, str, int], tuple[int, int, int]] = {}
    machines = {slot.machine.name: slot.machine for slot, _ in counted.values() if slot.machine}
    called = {seen.host: name for name, each in machines.items() for seen in each.seen if seen.instance is None}
    for some in _some(list(machines)):
        hosts = [seen.host for name in some for seen in machines[name].seen if seen.instance is None]
        for row in connection.execute(_counters(some, hosts)):
            key = (row.instance or called[row.host], row.source, row.ordinal)
            first, last, observation = runs.get(key, (row.n, row.n, row.observation))
            runs[key] = (first, row.n, observation) if row.n >= last else (row.n, row.n, row.observation)
    for key, (slot, said) in counted.items():
        before, now, observation = runs.get(key, (0, 0, 0))
        if now > before:
            yield Grown(slot, key[2], before, now, (observation, said.observation))


def _counters(instances: list[str], hosts: list[str | None]) -> Select[Any]:
    """What chips counted, from the oldest to the newest."""
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


def _some(names: list[str]) -> Iterator[list[str]]:
    return (names[first : first + _AT_ONCE] for first in range(0, len(names), _AT_ONCE))
