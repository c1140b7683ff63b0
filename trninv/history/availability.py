"""Compute availability, failures and repair times of groups of parts from their current states and the events.

The time that parts spent in a state is computed backwards: at first, each part counts as if it had been in its current
state for the whole period; then each change corrects this by the time from the start of the period to the change. So
one sum over the events is enough, and no part is followed through its history. One statement counts, for each group of
parts, the parts, the unhealthy parts and the transitions between each pair of states. On PostgreSQL, the transitions of
a cluster are counted in this process (`trninv.history.event_columns`), in slices of events that limit its memory.

`trninv availability` uses this module; `trninv.history.archive.availability` computes the same from an archive.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Select,
    Table,
    Text,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    null,
    select,
    text,
    union_all,
)

from trninv.database.as_of import maybe_unhealthy
from trninv.database.postgresql import hash_in_memory
from trninv.database.tables import BIGINT, NODE_KINDS, PART_KINDS, TABLES, is_unhealthy
from trninv.enumeration import DescribedEnum
from trninv.history.availability_sums import AvailabilitySums, Transition, TransitionPeriod
from trninv.history.epoch_time import EpochMicroseconds, EpochSeconds, Microseconds
from trninv.history.event_columns import PartGroups, read_events
from trninv.history.state_codes import decode_states, encode_event, encode_states
from trninv.inventory.address.expressions import address_expression, join_containers
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import CONTAINERS, rows_in
from trninv.inventory.schema.thing import id_block_range
from trninv.inventory.schema.things import THINGS
from trninv.units import format_timestamp

_EVENT, _NODE, _SERVER = (TABLES[name] for name in ("state_event", "node", "server"))
_RACK, _CLUSTER = (TABLES[name] for name in ("rack", "cluster"))
_MICROS_PER_SECOND: Final = 1_000_000
_MICROSECOND: Final = datetime.resolution
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SLICE_EVENTS: Final = 1_000_000
"""The most events that are read at a time on PostgreSQL, where they are counted in this process."""


class AvailabilityBy(DescribedEnum):
    """Grouping of the parts of one kind."""

    KIND = "KIND", "All parts of the kind."
    MODEL = "MODEL", "Parts of the same model; NICs and network nodes have no model."
    RACK = "RACK", "Parts in the same rack; links and network nodes are in no rack."
    CLUSTER = "CLUSTER", "Parts of the same cluster."


def availability_sums(
    connection: Connection, place: Place, by: AvailabilityBy, known_from: int, since: datetime, until: datetime
) -> Iterator[AvailabilitySums]:
    """Yield the sums of each group of the parts in a place, for the time from `since` to `until`.

    Only events with numbers above `known_from`, where the recorded history of the cluster starts, are read.
    """
    times = event_times(connection, known_from)
    is_after_start = and_(_EVENT.c.id > known_from, times.c.at > format_timestamp(since))
    end = format_timestamp(until)
    newest_id, newest_at = connection.execute(
        select(*(select(func.max(_EVENT.c[name])).scalar_subquery() for name in ("id", "at")))
    ).one()
    is_before_end = times.c.at <= end if (newest_at or "") > end else None
    slices = list(_event_slices(known_from, newest_id or 0))
    branches = list[Select[Any]]()
    groups: defaultdict[tuple[str, int], list[_CountedRow]] = defaultdict(list)
    hash_in_memory(connection)
    for parts in _part_queries(connection, place, by):
        branches.append(_unhealthy_parts(connection, parts))
        # SQLite takes as long to hand over an event as to join and group it
        if parts.ids is None or connection.dialect.name == "sqlite":
            branches += (_all_parts(parts), _changes(parts, times, is_after_start, is_before_end))
            continue
        numbers, changes = _cluster_changes(connection, parts, times, is_after_start, is_before_end, slices)
        for key, number in numbers.items():
            groups[parts.kind, key].append(_CountedRow(_ALL, 0, number, 0, 0, 0))
        for key, *sums in changes:
            groups[parts.kind, key].append(_CountedRow(_CHANGED, *sums))
        if not numbers:
            branches.append(_all_parts(parts))
    for kind, key, *counts in connection.execute(union_all(*branches)).all():
        # a key is NULL if parts are not grouped or have no model or rack; 0 stands for it, so that keys can be sorted
        groups[kind, key or 0].append(_CountedRow(*counts))
    names = _group_names(connection, by, place)
    start, span = (since - _EPOCH) // _MICROSECOND, (until - since) // _MICROSECOND
    for (kind, key), rows in sorted(groups.items()):
        yield _group_sums(kind, names.get((kind, key)), rows, start, span)


class _CountedRow(NamedTuple):
    """A row of `_count_query` without the columns of its group.

    Attributes
    ----------
    category
        What was counted: `_ALL`, `_UNHEALTHY` or `_CHANGED`.
    states
        Four states as one number; see `encode_states`.
    number
        The number of counted parts or transitions.
    within, seconds, micros
        The number of transitions up to the end of the period, and the sums of their times since 1970: whole seconds,
        and the remaining microseconds.
    """

    category: str
    states: int
    number: int
    within: int
    seconds: int
    micros: int


def _group_sums(kind: str, name: str | None, rows: Sequence[_CountedRow], start: int, span: int) -> AvailabilitySums:
    """Sum up the rows of one group, for `span` microseconds from `start`."""
    parts = sum(row.number for row in rows if row.category == _ALL)
    transitions = (transition for row in rows for transition in _transitions(row, start, span))
    return AvailabilitySums.from_transitions(kind, name, parts, parts * span, transitions, backwards=True)


def _transitions(row: _CountedRow, start: int, span: int) -> Iterator[Transition]:
    """Yield the transitions of a row.

    Unhealthy parts count as transitions from "up" to their current states. Changes are divided into those up to the
    end of the period and later ones.
    """
    states = decode_states(row.states)
    if row.category == _UNHEALTHY:
        yield Transition(TransitionPeriod.INITIAL, row.number, row.number * span, *states)
    if row.category == _CHANGED and row.within:
        # minus the time from the start to each transition: until then, the part was in the state before
        micros = row.within * start - int(row.seconds) * _MICROS_PER_SECOND - int(row.micros)
        yield Transition(TransitionPeriod.INSIDE, row.within, micros, *states)
    if row.category == _CHANGED and (later := row.number - row.within):
        yield Transition(TransitionPeriod.OUTSIDE, later, -later * span, *states)


@dataclass(frozen=True, slots=True)
class _PartQuery:
    """Selects the parts of a kind in a place.

    Attributes
    ----------
    table
        The table of the kind. The states of chips, switches, NICs and network nodes are in the rows of the table
        ``node`` with the same ids.
    source
        ``table``, joined with another table if that has ``key``.
    key
        The column to group by; None if all parts are one group.
    ids
        The first and the last id, if the place is a cluster, whose parts have consecutive ids.

    """

    kind: str
    table: Table
    source: FromClause
    key: ColumnElement[int] | None
    place: Place
    ids: tuple[int, int] | None

    def is_in_scope(self, part_id: ColumnElement[int]) -> ColumnElement[bool]:
        """Return the condition that a part is in the place; `part_id` is a column that holds its id."""
        return part_id.between(*self.ids) if self.ids else rows_in(self.place, self.kind)

    @property
    def in_scope(self) -> ColumnElement[bool]:
        """The condition that a part is in the place."""
        return self.is_in_scope(self.table.c.id)

    @property
    def groups(self) -> tuple[ColumnElement[int], ...]:
        """``key`` as a tuple, which is empty if all parts are one group."""
        return () if self.key is None else (self.key,)


_ALL, _UNHEALTHY, _CHANGED = "all", "unhealthy", "changed"
"""Categories of counted rows: all parts, currently unhealthy parts, and transitions since the start of the period."""
_UP: Final = literal_column("'up'", Text)
_ZERO, _ONE, _TWO = (literal_column(number, BIGINT) for number in "012")


def _count_query(
    parts: _PartQuery, category: str, states: ColumnElement[int], *sums: ColumnElement[Any]
) -> Select[Any]:
    """Select the kind, the group's key and the columns of `_CountedRow`, the last three of which are `sums` or 0."""
    within, seconds, micros = sums or (_ZERO, _ZERO, _ZERO)
    return select(
        literal_column(f"'{parts.kind}'", Text).label("kind"),
        (cast(null(), Integer) if parts.key is None else parts.key).label("key"),
        literal_column(f"'{category}'", Text).label("category"),
        states.label("states"),
        func.count().label("number"),
        within.label("within"),
        seconds.label("seconds"),
        micros.label("micros"),
    )


def _all_parts(parts: _PartQuery) -> Select[Any]:
    """Count the parts of each group."""
    counted = _count_query(parts, _ALL, _ZERO).select_from(parts.source).where(parts.in_scope)
    # without a column to group by, SQL returns a row even if there are no parts
    return counted.group_by(*parts.groups).having(func.count() > 0)


def _unhealthy_parts(connection: Connection, parts: _PartQuery) -> Select[Any]:
    """Count the unhealthy parts of each group by effective and own state, as transitions from "up" to these states."""
    is_node = parts.kind in NODE_KINDS
    table = _NODE if is_node else parts.table
    source = parts.source.join(_NODE, _NODE.c.id == parts.table.c.id) if is_node else parts.source
    states = encode_states(
        _UP, table.c.state, _UP, func.coalesce(_NODE.c.own_state, _NODE.c.state) if is_node else table.c.state
    )
    unhealthy = _count_query(parts, _UNHEALTHY, states).select_from(source)
    # "+ 0" keeps databases from searching a range of ids instead of the few unhealthy parts, which have an index.
    # `maybe_unhealthy` excludes no unhealthy part, but an index supports it
    in_scope = parts.is_in_scope(table.c.id + _ZERO)
    return unhealthy.where(in_scope, is_unhealthy(table), maybe_unhealthy(connection, table)).group_by(
        *parts.groups, "states"
    )


def _changes(
    parts: _PartQuery,
    times: FromClause,
    is_after_start: ColumnElement[bool],
    is_before_end: ColumnElement[bool] | None,
) -> Select[Any]:
    """Count each transition since the start of the period, and sum the times of those up to its end.

    `is_before_end` is None if no event is later.
    """
    states = encode_event()
    sums = func.count(), func.sum(EpochSeconds(times.c.at)), func.sum(Microseconds(times.c.at))
    sums_to_end = sums if is_before_end is None else [sum_.filter(is_before_end) for sum_ in sums]
    source = _timed_events(times)
    counted = _count_query(parts, _CHANGED, states, *sums_to_end)
    joined = counted.select_from(source.join(parts.source, parts.table.c.id == _EVENT.c.part_id))
    return joined.where(_EVENT.c.kind == parts.kind, is_after_start, parts.in_scope).group_by(*parts.groups, "states")


def _cluster_changes(
    connection: Connection,
    parts: _PartQuery,
    times: FromClause,
    is_after_start: ColumnElement[bool],
    is_before_end: ColumnElement[bool] | None,
    slices: Iterable[ColumnElement[bool]],
) -> tuple[dict[int, int], list[tuple[int, int, int, int, int, int]]]:
    """Return the number of a cluster's parts by key, and transitions as a key and the numbers of `_CountedRow`.

    Each slice of the events has its own transitions. There are no numbers if the parts are not grouped or nothing
    changed.
    """
    code = encode_event() * _TWO + (_ONE if is_before_end is None else case((is_before_end, _ONE), else_=_ZERO))
    columns = cast(_EVENT.c.part_id, BIGINT), EpochMicroseconds(times.c.at), cast(code, BIGINT)
    in_cluster = parts.is_in_scope(_EVENT.c.part_id)
    query = select(*columns).select_from(_timed_events(times))
    query = query.where(_EVENT.c.kind == parts.kind, is_after_start, in_cluster)
    groups: PartGroups | None = None
    changes = list[tuple[int, int, int, int, int, int]]()
    for is_in_slice in slices:
        events = read_events(connection, query.where(is_in_slice))
        if not len(events.part_ids):
            continue
        if parts.key is None:
            changes += events.count(events.part_ids * 0, [0])
            continue
        if groups is None:
            keys = select(cast(parts.table.c.id, BIGINT), cast(func.coalesce(parts.key, 0), BIGINT))
            groups = PartGroups.read(connection, keys.select_from(parts.source).where(parts.in_scope))
        changes += events.count(groups.positions_of(events.part_ids), list(groups.numbers))
    return groups.numbers if groups else {}, changes


def _event_slices(known_from: int, newest: int) -> Iterator[ColumnElement[bool]]:
    """Yield conditions that divide the events between two numbers into slices of at most _SLICE_EVENTS."""
    for first in range(known_from + 1, newest + 1, _SLICE_EVENTS):
        yield _EVENT.c.id.between(first, first + _SLICE_EVENTS - 1)


def _timed_events(times: FromClause) -> FromClause:
    return _EVENT if times is _EVENT else _EVENT.join(times, times.c.id == _EVENT.c.id)


def _group_names(connection: Connection, by: AvailabilityBy, place: Place) -> dict[tuple[str, int], str]:
    """Return the names of groups by kind and key. Groups without a name are not included."""
    if by is AvailabilityBy.MODEL:
        models = ((kind, TABLES[f"{kind}_model"]) for kind in ("server", "chip", "switch", "link"))
        return {
            (kind, key): slug
            for kind, model_table in models
            for key, slug in connection.execute(select(model_table.c.id, model_table.c.slug))
        }
    if by is AvailabilityBy.RACK:
        rack_addresses = select(_RACK.c.id, address_expression("rack")).select_from(join_containers("rack"))
        racks = connection.execute(rack_addresses.where(_CLUSTER.c.id == place.cluster_id)).all()
        return {(kind, key): name for key, name in racks for kind in PART_KINDS}
    if by is AvailabilityBy.CLUSTER:
        slug = connection.scalar(select(_CLUSTER.c.slug).where(_CLUSTER.c.id == place.cluster_id))
        return dict.fromkeys(((kind, 0) for kind in PART_KINDS), slug or "")
    return {}


def event_times(connection: Connection, known_from: int) -> FromClause:
    """Return a table with the number (``id``) and time (``at``) of each event, corrected where the clock went back.

    The corrected time is the earliest of an event's own time and the times of all later events, as in
    `trninv.history.point_in_time`.
    """
    clock_changes = select(_EVENT.c.id).where(text("clock_went_back"), _EVENT.c.id > known_from).limit(1)
    if connection.scalar(clock_changes) is None:
        return _EVENT
    timed = _EVENT.alias("timed")
    earliest = func.min(timed.c.at).over(order_by=timed.c.id.desc(), rows=(None, 0))
    return select(timed.c.id, earliest.label("at")).where(timed.c.id > known_from).cte("timed")


def _part_queries(connection: Connection, place: Place, by: AvailabilityBy) -> Iterator[_PartQuery]:
    """Yield one query for each kind of part that a place contains, including the kind of the place itself."""
    for kind in PART_KINDS:
        table = TABLES[kind]
        if place.level not in CONTAINERS[kind]:
            continue
        ids: tuple[int, int] | None = None
        if place.level == "cluster":
            # the limits are literals, because PostgreSQL would expect few rows for a subquery and look up each row
            first, end = connection.execute(select(*id_block_range(THINGS[kind], literal(place.id)))).one()
            ids = first, end - 1
        source: FromClause = table
        key: ColumnElement[int] | None = None
        if by is AvailabilityBy.MODEL:
            key = table.c.get(f"{kind}_model_id")
        if by is AvailabilityBy.RACK and kind in ("chip", "nic"):
            source, key = table.join(_SERVER, _SERVER.c.id == table.c.server_id), _SERVER.c.rack_id
        elif by is AvailabilityBy.RACK:
            key = table.c.get("rack_id")
        yield _PartQuery(kind, table, source, key, place, ids)
