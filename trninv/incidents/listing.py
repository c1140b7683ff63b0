"""Incidents: everything that is not up, grouped by the rules of docs/reference/incidents.md."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final

from sqlalchemy import Connection

from trninv.incidents import places, reading, windows
from trninv.incidents.beside import Beside, servers_in
from trninv.incidents.causes import causes, rule_of
from trninv.incidents.model import (
    MOST_LISTED,
    DriftThere,
    Incident,
    IncidentChange,
    IncidentSeverity,
    Key,
    Part,
    PartCount,
    severity,
)
from trninv.incidents.reading import Fault, Said
from trninv.inventory.address import chips_of, locate
from trninv.inventory.schema import PART_KINDS, STATES

_WORST_FIRST: Final = tuple(reversed(IncidentSeverity))


@dataclass(frozen=True, slots=True)
class _Group:
    """Parts that are one incident, their causes, the changes of those, and the first change of all; None: not known."""

    members: tuple[Part, ...]
    causes: tuple[Part, ...]
    changes: tuple[int, ...]
    first: int | None

    @property
    def id(self) -> str:
        return self.causes[0].address if self.first is None else str(self.first)


def incidents(connection: Connection, scope: str | None = None) -> list[Incident]:
    """What is not up, grouped by what brought it about: the worst first, of those the latest.

    Parameters
    ----------
    scope
        Only incidents with a part at or below this address, or a link that ends there.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    place = None if scope is None else locate(connection, scope)
    parts = reading.not_up(connection)
    said = reading.said(connection, {event for part in parts for event in (part.fault, part.last) if event})
    found = list(_groups(connection, parts, said))
    if place is not None:
        if place.level == "core":
            place = replace(place, level="chip", id=connection.scalar(chips_of(place)) or 0)
        found = [group for group in found if any(places.is_at(part, place) for part in group.members)]
    said |= reading.said(connection, {group.first for group in found if group.first} - said.keys())
    beside = Beside.of(connection, (part for group in found for part in group.members))
    at = places.smallest(connection, [group.causes for group in found])
    made = [_incident(group, where, said, beside) for group, where in zip(found, at, strict=True)]
    return sorted(made, key=_order)


def _order(of: Incident) -> tuple[int, int, str]:
    return _WORST_FIRST.index(of.severity), -min(of.changes, default=0), of.id


def _groups(connection: Connection, parts: Sequence[Part], said: Mapping[int, Said]) -> Iterator[_Group]:
    change = {part.key: said[part.fault] for part in parts if part.fault}
    cause = causes(parts)
    roots = {root.key: root for root in cause.values()}
    current = [Fault(change[key].change, change[key].at, key) for key in roots if key in change]
    firsts = windows.first_changes(
        current,
        {key: root.spot for key, root in roots.items()},
        partial(reading.faults, connection),
        partial(reading.spots, connection),
    )
    grouped: dict[int | Key, list[Part]] = defaultdict(list)
    for part in parts:
        root = cause[part.key].key
        grouped[firsts[change[root].change] if root in change else root].append(part)
    for first, members in grouped.items():
        ours = sorted((part for part in members if part.key in roots), key=lambda part: (part.fault or 0, part.key))
        changes = {change[part.key].change for part in ours if part.key in change}
        yield _Group(tuple(members), tuple(ours), tuple(sorted(changes)), first if isinstance(first, int) else None)


def _incident(group: _Group, place: str | None, said: Mapping[int, Said], beside: Beside) -> Incident:
    first, cause = said.get(group.first or 0), said.get(group.causes[0].last or 0)
    listed = [part.address for part in group.causes[:MOST_LISTED]]
    servers = dict.fromkeys(server for part in group.causes for server in servers_in(part.address))
    standing = [beside.standing[server] for server in servers if server in beside.standing]
    drift = list(islice(_drift(group, beside), MOST_LISTED + 1))
    return Incident(
        id=group.id,
        rule=rule_of({*group.changes, *([group.first] if group.first else [])}, group.causes, group.members),
        severity=severity(group.members),
        place=place,
        causes=tuple(listed),
        cause_count=len(group.causes),
        parts=_counted(group.members),
        staying=sum(part.is_own for part in group.members) - len(group.causes),
        since=first and first.at,
        who=cause and cause.who,
        why=cause and cause.why,
        source=cause and cause.source,
        last_change=_last(group, said),
        standing=tuple(standing[:MOST_LISTED]),
        drift=tuple(drift[:MOST_LISTED]),
        truncated=max(len(group.causes), len(standing), len(drift)) > MOST_LISTED,
        changes=group.changes,
        members=group.members,
    )


def _drift(group: _Group, beside: Beside) -> Iterator[DriftThere]:
    for part in group.members:
        yield from beside.drift.get(part.address, ())


def _last(group: _Group, said: Mapping[int, Said]) -> IncidentChange | None:
    latest = max((part.last for part in group.members if part.last), default=None)
    if latest is None:
        return None
    of = said[latest]
    return IncidentChange(of.change, of.at, of.who, of.why, of.source)


def _counted(parts: Sequence[Part]) -> tuple[PartCount, ...]:
    counts = Counter((part.kind, part.condition.state) for part in parts)
    ordered = sorted(counts.items(), key=lambda each: (PART_KINDS.index(each[0][0]), -STATES.index(each[0][1])))
    return tuple(PartCount(kind, state, count) for (kind, state), count in ordered)
