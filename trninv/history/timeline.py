"""Count unhealthy parts per interval of a time, from today's counts backwards through the events."""

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

from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import BIGINT, STATES, TABLES, is_unhealthy
from trninv.history.availability import EpochSeconds, event_times
from trninv.history.scope_filter import in_scope
from trninv.inventory.address.containment import node_condition
from trninv.inventory.address.lookup import Place
from trninv.inventory.schema.event_fields import IS_STATE_CHANGE
from trninv.units import format_timestamp

_EVENT, _NODE, _SERVER, _LINK, _DOMAIN = (TABLES[name] for name in ("state_event", "node", "server", "link", "domain"))
_MICROSECOND: Final = timedelta.resolution
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
UNHEALTHY_STATES: Final = STATES[1:]
"""States other than up."""


@dataclass(frozen=True, slots=True)
class UnhealthyCounts:
    """Number of parts in each of `UNHEALTHY_STATES`, and in total."""

    counts: tuple[int, ...]
    all: int

    def __add__(self, other: "UnhealthyCounts") -> "UnhealthyCounts":
        """Add, state by state."""
        return UnhealthyCounts(tuple(map(sum, zip(self.counts, other.counts, strict=True))), self.all + other.all)

    def __sub__(self, other: "UnhealthyCounts") -> "UnhealthyCounts":
        """Subtract, state by state."""
        return self.__add__(UnhealthyCounts(tuple(-count for count in other.counts), -other.all))


_NONE: Final = UnhealthyCounts((0,) * len(UNHEALTHY_STATES), 0)


@dataclass(frozen=True, slots=True)
class TimelineInterval:
    """Unhealthy parts in one interval: at its end, and the peak of each state and of the total."""

    begin: datetime
    end: datetime
    at_end: UnhealthyCounts
    worst: UnhealthyCounts
    events: int


def timeline_intervals(
    connection: Connection, place: Place, known_from: int, since: datetime, until: datetime, count: int
) -> list[TimelineInterval]:
    """Split a time into ``count`` intervals; an event at the end of an interval belongs to it."""
    rows = {row.part: row for row in connection.execute(_changes(connection, place, known_from, since, until, count))}
    current = _current_counts(connection, place)
    if after := rows.get(count):
        current = current.__sub__(_read_counts(after, "change"))
    intervals = list[TimelineInterval]()
    for number in reversed(range(count)):
        begin, end = (since + (until - since) * index // count for index in (number, number + 1))
        row = rows.get(number)
        before = current.__sub__(_read_counts(row, "change")) if row else current
        peak = before.__add__(_read_counts(row, "most")) if row else current
        worst = UnhealthyCounts(tuple(map(max, before.counts, peak.counts)), max(before.all, peak.all))
        intervals.append(TimelineInterval(begin, end, current, worst, int(row.events) if row else 0))
        current = before
    return intervals[::-1]


def _read_counts(row: Any, name: str) -> UnhealthyCounts:
    return UnhealthyCounts(
        tuple(int(getattr(row, f"{name}_{state}")) for state in UNHEALTHY_STATES), int(getattr(row, f"{name}_all"))
    )


def _current_counts(connection: Connection, place: Place) -> UnhealthyCounts:
    counts_by_state = Counter[str]()
    for state, parts in connection.execute(union_all(*_unhealthy_queries(connection, place))):
        counts_by_state[state] += parts
    return UnhealthyCounts(tuple(counts_by_state[state] for state in UNHEALTHY_STATES), counts_by_state.total())


def _unhealthy_queries(connection: Connection, place: Place) -> Iterator[Select[Any]]:
    """Count the unhealthy servers, nodes and links of a place by state."""
    node_ids = select(_NODE.c.id).where(node_condition(place))
    servers = {
        "server": _SERVER.c.id,
        "rack": _SERVER.c.rack_id,
        "domain": _SERVER.c.domain_id,
        "cluster": _DOMAIN.c.cluster_id,
    }
    if place.level in servers:
        servers_ = select(_SERVER.c.id).join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        yield _count_by_state(connection, _SERVER, _SERVER.c.id.in_(servers_.where(servers[place.level] == place.id)))
    if place.level == "link":
        yield _count_by_state(connection, _LINK, _LINK.c.id == place.id)
        return
    yield _count_by_state(connection, _NODE, node_condition(place))
    yield _count_by_state(connection, _LINK, or_(_LINK.c.a_id.in_(node_ids), _LINK.c.b_id.in_(node_ids)))


def _count_by_state(connection: Connection, table: Table, in_scope: ColumnElement[bool]) -> Select[Any]:
    unhealthy = select(table.c.state, func.count().label("parts")).where(
        is_unhealthy(table), maybe_unhealthy(connection, table), in_scope
    )
    return unhealthy.group_by(table.c.state)


def _changes(
    connection: Connection, place: Place, known_from: int, since: datetime, until: datetime, parts: int
) -> Select[Any]:
    """Select for each interval, and for the time after it, the total change and its peak."""
    when = event_times(connection, known_from)
    part = case(
        (when.c.at > format_timestamp(until), parts), else_=_interval_number(when.c.at, since, until - since, parts)
    )
    events = (
        select(
            part.label("part"),
            func.coalesce(_EVENT.c.batch, _EVENT.c.id).label("batch"),
            _EVENT.c.before,
            _EVENT.c.state,
        )
        .select_from(_EVENT if when is _EVENT else _EVENT.join(when, when.c.id == _EVENT.c.id))
        .where(
            _EVENT.c.id > known_from,
            when.c.at > format_timestamp(since),
            IS_STATE_CHANGE,
            in_scope(connection, place.address),
        )
        .subquery("events")
    )
    one = {state: _flag(events.c.state == state) - _flag(events.c.before == state) for state in UNHEALTHY_STATES}
    one["all"] = _flag(events.c.before == "up") - _flag(events.c.state == "up")
    changes = (
        select(
            events.c.part,
            events.c.batch,
            func.count().label("events"),
            *(cast(func.sum(change), BIGINT).label(name) for name, change in one.items()),
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


def _interval_number(
    time_column: ColumnElement[str], since: datetime, span: timedelta, parts: int
) -> ColumnElement[int]:
    """Return the index of the interval that an event falls into, in integer arithmetic."""
    seconds = EpochSeconds(time_column) * literal_column("1000000", BIGINT) + cast(
        func.substr(time_column, 21, 6), Integer
    )
    passed = seconds - literal_column(str((since - _EPOCH) // _MICROSECOND), BIGINT)
    return (passed * parts - 1) // literal_column(str(span // _MICROSECOND), BIGINT)


def _flag(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)
