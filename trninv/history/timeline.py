"""Count unhealthy parts of one or more places in each interval of a time span.

Counting starts with the parts that are unhealthy at the time that the connection reads. Then the changes of each
interval are undone, from the last interval to the first.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Subquery,
    Table,
    case,
    cast,
    func,
    literal_column,
    select,
    union_all,
)

from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import BIGINT, STATES, TABLES, is_unhealthy
from trninv.history.availability import event_times
from trninv.history.epoch_time import EpochSeconds, Microseconds
from trninv.history.scope_filter import in_scope
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import CONTAINERS, rows_in
from trninv.inventory.schema.event_fields import IS_STATE_CHANGE
from trninv.units import format_timestamp

_EVENT, _NODE, _SERVER, _LINK, _DOMAIN = (TABLES[name] for name in ("state_event", "node", "server", "link", "domain"))
_MICROSECOND: Final = timedelta.resolution
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
UNHEALTHY_STATES: Final = STATES[1:]
"""States other than up."""


@dataclass(frozen=True, slots=True)
class UnhealthyCounts:
    """The number of parts in each of `UNHEALTHY_STATES`, and in total; or a change of these numbers."""

    counts: tuple[int, ...]
    all: int

    def __add__(self, other: "UnhealthyCounts") -> "UnhealthyCounts":
        """Add, state by state."""
        return UnhealthyCounts(tuple(map(sum, zip(self.counts, other.counts, strict=True))), self.all + other.all)

    def __sub__(self, other: "UnhealthyCounts") -> "UnhealthyCounts":
        """Subtract, state by state."""
        return self + UnhealthyCounts(tuple(-count for count in other.counts), -other.all)


_COUNT_NAMES: Final = (*UNHEALTHY_STATES, "all")
"""Names of the counts of `UnhealthyCounts` in columns."""
_NOTHING: Final = UnhealthyCounts((0,) * len(UNHEALTHY_STATES), 0)


@dataclass(frozen=True, slots=True)
class TimelineInterval:
    """Unhealthy parts in an interval: counts at its end, the peak of each count (``worst``), and the state changes."""

    begin: datetime
    end: datetime
    at_end: UnhealthyCounts
    worst: UnhealthyCounts
    events: int


@dataclass(frozen=True, slots=True)
class RecordedPlace:
    """A place, and from when the history of its cluster is known: after the event `known_from`, at `known_since`."""

    place: Place
    known_from: int
    known_since: datetime


def timeline_intervals(
    connection: Connection, recorded: Sequence[RecordedPlace], since: datetime, until: datetime, count: int
) -> list[TimelineInterval]:
    """Split the time from `since` to `until` into `count` intervals, each of which includes its end but not its start.

    The parts of all places are counted together, those of a place from the start of its history.
    """
    query = _changes(connection, recorded, since, until, count)
    rows = {row.interval: row for row in connection.execute(query)}
    current = sum((_current_counts(connection, item.place) for item in recorded), _NOTHING)
    if later_row := rows.get(count):  # changes after `until`
        current -= _read_counts(later_row, "change")
    intervals = list[TimelineInterval]()
    for number in reversed(range(count)):
        begin, end = (since + (until - since) * index // count for index in (number, number + 1))
        row = rows.get(number)
        before = current - _read_counts(row, "change") if row else current
        peak = before + _read_counts(row, "peak") if row else current
        worst = UnhealthyCounts(tuple(map(max, before.counts, peak.counts)), max(before.all, peak.all))
        intervals.append(TimelineInterval(begin, end, current, worst, int(row.events) if row else 0))
        current = before
    return intervals[::-1]


def _read_counts(row: Any, name: str) -> UnhealthyCounts:
    """Return the columns ``name_STATE`` and ``name_all`` of a row of `_changes`."""
    *counts, total = (int(getattr(row, f"{name}_{count}")) for count in _COUNT_NAMES)
    return UnhealthyCounts(tuple(counts), total)


def _current_counts(connection: Connection, place: Place) -> UnhealthyCounts:
    """Count the parts of a place that are unhealthy at the time that the connection reads."""
    counts_by_state = Counter[str]()
    for state, parts in connection.execute(union_all(*_unhealthy_queries(connection, place))):
        counts_by_state[state] += parts
    return UnhealthyCounts(tuple(counts_by_state[state] for state in UNHEALTHY_STATES), counts_by_state.total())


def _unhealthy_queries(connection: Connection, place: Place) -> Iterator[Select[Any]]:
    """Count the unhealthy servers, nodes and links of a place by state."""
    for kind in ("server", "node", "link"):
        if place.level in CONTAINERS[kind]:
            yield _count_by_state(connection, TABLES[kind], rows_in(place, kind))


def _count_by_state(connection: Connection, table: Table, is_in_scope: ColumnElement[bool]) -> Select[Any]:
    # `maybe_unhealthy` excludes no unhealthy part, but an index supports it
    unhealthy = select(table.c.state, func.count().label("parts")).where(
        is_unhealthy(table), maybe_unhealthy(connection, table), is_in_scope
    )
    return unhealthy.group_by(table.c.state)


def _changes(
    connection: Connection, recorded: Sequence[RecordedPlace], since: datetime, until: datetime, count: int
) -> Select[Any]:
    """Select how much each count of `UnhealthyCounts` changes in each interval, and its peak above the count before.

    The time after the last interval is the interval number `count`. Events of one change have the same batch, so peaks
    are taken only after whole batches. Batches follow the order of changes in all places.
    """
    times = event_times(connection, min(item.known_from for item in recorded))
    interval = case(
        (times.c.at > format_timestamp(until), count), else_=_interval_number(times.c.at, since, until - since, count)
    )
    queries = list[Select[Any]]()
    for item in recorded:
        events = _state_changes(connection, item, times, interval)
        totals = (cast(func.sum(change), BIGINT).label(name) for name, change in _deltas(events).items())
        changes = select(events.c.interval, events.c.batch, func.count().label("events"), *totals)
        in_span = changes.where(events.c.at > format_timestamp(since))
        queries.append(in_span.group_by(events.c.interval, events.c.batch))
        if item.known_since > since:
            queries += _start(connection, item, times, events, (since, until), count)
    merged = union_all(*queries).subquery("changes")
    running_sums = {
        name: func.sum(merged.c[name]).over(partition_by=merged.c.interval, order_by=merged.c.batch)
        for name in _COUNT_NAMES
    }
    running = select(merged, *(sum_.label(f"{name}_sum") for name, sum_ in running_sums.items())).subquery("running")
    return select(
        running.c.interval,
        func.sum(running.c.events).label("events"),
        *(func.sum(running.c[name]).label(f"change_{name}") for name in _COUNT_NAMES),
        *(func.max(running.c[f"{name}_sum"]).label(f"peak_{name}") for name in _COUNT_NAMES),
    ).group_by(running.c.interval)


def _state_changes(
    connection: Connection, item: RecordedPlace, times: FromClause, interval: ColumnElement[int]
) -> Subquery:
    """Select all recorded changes of states in a place, each with its interval."""
    return (
        select(
            interval.label("interval"),
            func.coalesce(_EVENT.c.batch, _EVENT.c.id).label("batch"),
            times.c.at,
            _EVENT.c.before,
            _EVENT.c.state,
        )
        .select_from(_EVENT if times is _EVENT else _EVENT.join(times, times.c.id == _EVENT.c.id))
        .where(_EVENT.c.id > item.known_from, IS_STATE_CHANGE, in_scope(connection, item.place.address))
        .subquery()
    )


def _deltas(events: FromClause) -> dict[str, ColumnElement[int]]:
    """Return by how much each change of `_state_changes` changes each count."""
    deltas = {state: _flag(events.c.state == state) - _flag(events.c.before == state) for state in UNHEALTHY_STATES}
    return deltas | {"all": _flag(events.c.before == "up") - _flag(events.c.state == "up")}


def _start(
    connection: Connection,
    item: RecordedPlace,
    times: FromClause,
    events: FromClause,
    span: tuple[datetime, datetime],
    count: int,
) -> Iterator[Select[Any]]:
    """Yield the start of a place's history as a change to the counts that it had then, unless it precedes the span.

    A cluster that grew has a new history, which begins with the states that its parts had then.
    """
    changes = connection.execute(select(*(func.sum(change) for change in _deltas(events).values()))).one()
    current = _current_counts(connection, item.place)
    counts = [now - int(change or 0) for now, change in zip((*current.counts, current.all), changes, strict=True)]
    first = select(times.c.at).where(times.c.id > item.known_from).order_by(times.c.id).limit(1)
    following = connection.scalar(first)  # earlier than the start if the clock went back
    start = min(item.known_since, datetime.fromisoformat(following)) if following else item.known_since
    begin, end = span
    if start <= begin or not any(counts):
        return
    number = ((start - begin) // _MICROSECOND * count - 1) // ((end - begin) // _MICROSECOND) if start <= end else count
    row = {"interval": number, "batch": item.known_from, "events": 0, **dict(zip(_COUNT_NAMES, counts, strict=True))}
    columns: list[Any] = [literal_column(str(value), BIGINT).label(name) for name, value in row.items()]
    yield select(*columns)


def _interval_number(
    time_column: ColumnElement[str], since: datetime, span: timedelta, count: int
) -> ColumnElement[int]:
    """Return the index of the interval that contains a time; a time between two intervals belongs to the first."""
    micros = EpochSeconds(time_column) * literal_column("1000000", BIGINT) + Microseconds(time_column)
    elapsed = micros - literal_column(str((since - _EPOCH) // _MICROSECOND), BIGINT)
    return (elapsed * count - 1) // literal_column(str(span // _MICROSECOND), BIGINT)


def _flag(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)
