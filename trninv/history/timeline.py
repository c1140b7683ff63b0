"""How many parts of a place were not up over a time: counted now, and undone backwards by the sums of what happened."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    Table,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from trninv.history.availability import Seconds, times_of_events
from trninv.history.events import of_scope
from trninv.inventory.address import Place, nodes_of
from trninv.inventory.happened import OF_STATE
from trninv.inventory.past import among_lost
from trninv.inventory.schema import BIG, STATES, TABLES, is_not_up
from trninv.timestamps import format_timestamp

_EVENT, _NODE, _SERVER, _LINK, _DOMAIN = (TABLES[name] for name in ("state_event", "node", "server", "link", "domain"))
_MICROSECOND: Final = timedelta.resolution
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LOST: Final = STATES[1:]
"""States other than up."""


@dataclass(frozen=True, slots=True)
class NotUp:
    """Parts in each of LOST, and all of them together."""

    counts: tuple[int, ...]
    all: int

    def plus(self, other: "NotUp") -> "NotUp":
        """The sums."""
        return NotUp(tuple(map(sum, zip(self.counts, other.counts, strict=True))), self.all + other.all)

    def less(self, other: "NotUp") -> "NotUp":
        """The differences."""
        return self.plus(NotUp(tuple(-count for count in other.counts), -other.all))


_NONE: Final = NotUp((0,) * len(LOST), 0)


@dataclass(frozen=True, slots=True)
class Part:
    """What was not up in a part of the time: at its end, and the most at once, of each state and of all together."""

    begin: datetime
    end: datetime
    at_end: NotUp
    worst: NotUp
    events: int


def timeline(
    connection: Connection, place: Place, known_from: int, since: datetime, until: datetime, parts: int
) -> list[Part]:
    """The time in so many parts; what happens at the end of one is its own."""
    rows = {row.part: row for row in connection.execute(_changes(connection, place, known_from, since, until, parts))}
    held = _now(connection, place)
    if after := rows.get(parts):
        held = held.less(_read(after, "change"))
    found = list[Part]()
    for number in reversed(range(parts)):
        begin, end = (since + (until - since) * at // parts for at in (number, number + 1))
        row = rows.get(number)
        before = held.less(_read(row, "change")) if row else held
        peak = before.plus(_read(row, "most")) if row else held
        worst = NotUp(tuple(map(max, before.counts, peak.counts)), max(before.all, peak.all))
        found.append(Part(begin, end, held, worst, int(row.events) if row else 0))
        held = before
    return found[::-1]


def _read(row: Any, name: str) -> NotUp:
    return NotUp(tuple(int(getattr(row, f"{name}_{state}")) for state in LOST), int(getattr(row, f"{name}_all")))


def _now(connection: Connection, place: Place) -> NotUp:
    found = Counter[str]()
    for state, parts in connection.execute(union_all(*_lost(connection, place))):
        found[state] += parts
    return NotUp(tuple(found[state] for state in LOST), found.total())


def _lost(connection: Connection, place: Place) -> Iterator[Select[Any]]:
    """How many servers, nodes and links of a place are in each state but up."""
    inside = select(_NODE.c.id).where(nodes_of(place))
    servers = {
        "server": _SERVER.c.id,
        "rack": _SERVER.c.rack_id,
        "domain": _SERVER.c.domain_id,
        "cluster": _DOMAIN.c.cluster_id,
    }
    if place.level in servers:
        within = select(_SERVER.c.id).join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        yield _counted(connection, _SERVER, _SERVER.c.id.in_(within.where(servers[place.level] == place.id)))
    if place.level == "link":
        yield _counted(connection, _LINK, _LINK.c.id == place.id)
        return
    yield _counted(connection, _NODE, nodes_of(place))
    yield _counted(connection, _LINK, or_(_LINK.c.a_id.in_(inside), _LINK.c.b_id.in_(inside)))


def _counted(connection: Connection, table: Table, ours: ColumnElement[bool]) -> Select[Any]:
    lost = select(table.c.state, func.count().label("parts")).where(
        is_not_up(table), among_lost(connection, table), ours
    )
    return lost.group_by(table.c.state)


def _changes(
    connection: Connection, place: Place, known_from: int, since: datetime, until: datetime, parts: int
) -> Select[Any]:
    """Of each part of the time, and of what came after it, what was changed in all, and at most at once."""
    when = times_of_events(connection, known_from)
    part = case((when.c.at > format_timestamp(until), parts), else_=_part(when.c.at, since, until - since, parts))
    events = (
        select(
            part.label("part"),
            func.coalesce(_EVENT.c.batch, _EVENT.c.id).label("batch"),
            _EVENT.c.before,
            _EVENT.c.state,
        )
        .select_from(_EVENT if when is _EVENT else _EVENT.join(when, when.c.id == _EVENT.c.id))
        .where(
            _EVENT.c.id > known_from, when.c.at > format_timestamp(since), OF_STATE, of_scope(connection, place.address)
        )
        .subquery("events")
    )
    one = {state: _one(events.c.state == state) - _one(events.c.before == state) for state in LOST}
    one["all"] = _one(events.c.before == "up") - _one(events.c.state == "up")
    changes = (
        select(
            events.c.part,
            events.c.batch,
            func.count().label("events"),
            *(cast(func.sum(change), BIG).label(name) for name, change in one.items()),
        )
        .group_by(events.c.part, events.c.batch)
        .subquery("changes")
    )
    by_then = {
        name: func.sum(changes.c[name]).over(partition_by=changes.c.part, order_by=changes.c.batch) for name in one
    }
    so_far = select(changes, *(value.label(f"{name}_by_then") for name, value in by_then.items())).subquery("so_far")
    return select(
        so_far.c.part,
        func.sum(so_far.c.events).label("events"),
        *(func.sum(so_far.c[name]).label(f"change_{name}") for name in one),
        *(func.max(so_far.c[f"{name}_by_then"]).label(f"most_{name}") for name in one),
    ).group_by(so_far.c.part)


def _part(at: ColumnElement[str], since: datetime, span: timedelta, parts: int) -> ColumnElement[int]:
    """The number of the part of a time in which an event was, in whole numbers."""
    seconds = Seconds(at) * literal_column("1000000", BIG) + cast(func.substr(at, 21, 6), Integer)
    passed = seconds - literal_column(str((since - _EPOCH) // _MICROSECOND), BIG)
    return (passed * parts - 1) // literal_column(str(span // _MICROSECOND), BIG)


def _one(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)
