"""Compute availability, failures and repair times of groups of parts from events alone.

The time that parts spent in a state between two times is the time that the parts in it now would have spent, minus the
difference that each later change made: one sum over the events, without reading any part's own history. One statement
counts, for each group of parts, all parts, the unhealthy ones and the transitions of each kind.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, reduce
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Select,
    Table,
    Text,
    case,
    cast,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    text,
    union_all,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import BIGINT, NODE_KINDS, PART_KINDS, STATES, TABLES, is_unhealthy
from trninv.enumeration import DescribedEnum
from trninv.history.availability_sums import AvailabilitySums, Transition, TransitionPeriod
from trninv.inventory.address.containment import node_condition
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.address.lookup import Place
from trninv.inventory.schema.thing import id_block_range
from trninv.inventory.schema.things import THINGS
from trninv.units import format_timestamp

_EVENT, _NODE, _SERVER = (TABLES[name] for name in ("state_event", "node", "server"))
_RACK, _CLUSTER = (TABLES[name] for name in ("rack", "cluster"))
_SECOND: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class AvailabilityBy(DescribedEnum):
    """Grouping of the parts of one kind."""

    KIND = "KIND", "All parts of the kind."
    MODEL = "MODEL", "Parts of the same model; NICs and network nodes have none."
    RACK = "RACK", "Parts in the same rack; links and network nodes are in none."
    CLUSTER = "CLUSTER", "Parts of the same cluster."


def availability_sums(
    connection: Connection, place: Place, by: AvailabilityBy, known_from: int, since: datetime, until: datetime
) -> Iterator[AvailabilitySums]:
    """Yield the sums of each group of parts of a place, from the events after ``known_from``."""
    event_times_ = event_times(connection, known_from)
    times = (
        _EVENT.c.id > known_from,
        event_times_.c.at > format_timestamp(since),
        event_times_.c.at <= format_timestamp(until),
    )
    branches = (
        branch
        for parts in _part_queries(connection, place, by)
        for branch in (_all_parts(parts), _unhealthy_parts(connection, parts), _changes(parts, event_times_, times))
    )
    if connection.dialect.name == "postgresql":  # group racks × transitions in memory instead of sorting on disk
        connection.execute(text("SET LOCAL work_mem = '64MB'"))
    groups: defaultdict[tuple[str, int], list[_CountedRow]] = defaultdict(list)
    for kind, key, *counted in connection.execute(union_all(*branches)).all():
        groups[kind, key or 0].append(tuple(counted))
    names = _group_names(connection, by, place)
    start, span = (since - _EPOCH) // _MICROSECOND, (until - since) // _MICROSECOND
    for (kind, key), rows in sorted(groups.items()):
        yield _group_sums(kind, names.get((kind, key)), rows, start, span)


_MICROSECOND: Final = datetime.resolution

_CountedRow = tuple[str, int, int, int, int, int]
"""Category, encoded states, count, count within the time, and the sums of their seconds and microseconds."""


def _group_sums(kind: str, name: str | None, rows: Sequence[_CountedRow], start: int, span: int) -> AvailabilitySums:
    """Sum up the rows of one group: all parts, those unhealthy now, and the transitions since the start."""
    parts = sum(number for category, _, number, *_ in rows if category == _ALL)
    transitions = (move for row in rows for move in _transitions(row, start, span))
    return AvailabilitySums.from_transitions(kind, name, parts, parts * span, transitions, backwards=True)


def _transitions(row: _CountedRow, start: int, span: int) -> Iterator[Transition]:
    category, sort, number, within, seconds, micros = row
    if category == _UNHEALTHY:
        yield Transition(TransitionPeriod.INITIAL, number, number * span, *_decode_states(sort))
    if category == _CHANGED and within:
        yield Transition(
            TransitionPeriod.INSIDE,
            within,
            within * start - int(seconds) * _SECOND - int(micros),
            *_decode_states(sort),
        )
    if category == _CHANGED and (later := number - within):
        yield Transition(TransitionPeriod.OUTSIDE, later, -later * span, *_decode_states(sort))


@dataclass(frozen=True, slots=True)
class _PartQuery:
    """Parts of a kind in a place.

    Attributes
    ----------
    table
        Table of the kind; the table that has its state uses the same ids.
    source
        The table, joined with the one that has the group key.
    key
        Group key; None if all parts are one group.

    """

    kind: str
    table: Table
    source: FromClause
    key: ColumnElement[int] | None
    in_scope: ColumnElement[bool]

    @property
    def groups(self) -> tuple[ColumnElement[int], ...]:
        """Columns to group by."""
        return () if self.key is None else (self.key,)


_ALL, _UNHEALTHY, _CHANGED = "all", "lost", "changed"
_UP: Final = literal_column("'up'", Text)
_NONE: Final = literal_column("0", BIGINT)
_NUMBERS: Final[dict[Any, Any]] = {
    literal_column(f"'{state}'", Text): literal_column(str(at), Integer) for at, state in enumerate(STATES)
}


def _count_query(parts: _PartQuery, category: str, sort: ColumnElement[int], *sums: ColumnElement[Any]) -> Select[Any]:
    within, seconds, micros = sums or (_NONE, _NONE, _NONE)
    return select(
        literal_column(f"'{parts.kind}'", Text).label("kind"),
        (cast(null(), Integer) if parts.key is None else parts.key).label("key"),
        literal_column(f"'{category}'", Text).label("what"),
        sort.label("sort"),
        func.count().label("number"),
        within.label("within"),
        seconds.label("seconds"),
        micros.label("micros"),
    )


def _all_parts(parts: _PartQuery) -> Select[Any]:
    counted = _count_query(parts, _ALL, _NONE).select_from(parts.source).where(parts.in_scope)
    return counted.group_by(*parts.groups).having(func.count() > 0)


def _unhealthy_parts(connection: Connection, parts: _PartQuery) -> Select[Any]:
    is_node = parts.kind in NODE_KINDS
    table = _NODE if is_node else parts.table
    source = parts.source.join(_NODE, _NODE.c.id == parts.table.c.id) if is_node else parts.source
    sort = _encode_states(
        _UP, table.c.state, _UP, func.coalesce(_NODE.c.own_state, _NODE.c.state) if is_node else table.c.state
    )
    unhealthy = _count_query(parts, _UNHEALTHY, sort).select_from(source)
    return unhealthy.where(parts.in_scope, is_unhealthy(table), maybe_unhealthy(connection, table)).group_by(
        *parts.groups, "sort"
    )


def _changes(parts: _PartQuery, when: FromClause, times: tuple[ColumnElement[bool], ...]) -> Select[Any]:
    """Count each transition since the start, and those up to the end with the sums of their times."""
    after_start, since_condition, until_condition = times
    own_before = func.coalesce(_EVENT.c.own_before, _EVENT.c.before)
    own_state = func.coalesce(_EVENT.c.own_state, _EVENT.c.state)
    sort = _encode_states(_EVENT.c.before, _EVENT.c.state, own_before, own_state)
    seconds, micros = EpochSeconds(when.c.at), cast(func.substr(when.c.at, 21, 6), Integer)
    within = (
        func.count().filter(until_condition),
        *(func.sum(column_).filter(until_condition) for column_ in (seconds, micros)),
    )
    source = _EVENT if when is _EVENT else _EVENT.join(when, when.c.id == _EVENT.c.id)
    counted = _count_query(parts, _CHANGED, sort, *within)
    joined = counted.select_from(source.join(parts.source, parts.table.c.id == _EVENT.c.part_id))
    return joined.where(_EVENT.c.kind == parts.kind, after_start, since_condition, parts.in_scope).group_by(
        *parts.groups, "sort"
    )


def _encode_states(*states: ColumnElement[str]) -> ColumnElement[int]:
    """Encode states as one number, which SQLite sorts faster than texts; see `_decode_states`."""
    numbers = (case(_NUMBERS, value=state) for state in states)
    return reduce(lambda one, other: one * literal_column(str(len(STATES)), Integer) + other, numbers)


@lru_cache(maxsize=len(STATES) ** 4)
def _decode_states(sort: int) -> tuple[str, str, str, str]:
    one, two, three, four = (STATES[sort // len(STATES) ** place % len(STATES)] for place in (3, 2, 1, 0))
    return one, two, three, four


def _group_names(connection: Connection, by: AvailabilityBy, place: Place) -> dict[tuple[str, int], str]:
    """Return group names by kind and key; groups without a name are missing."""
    if by is AvailabilityBy.MODEL:
        models = ((kind, TABLES[f"{kind}_model"]) for kind in ("server", "chip", "switch", "link"))
        return {
            (kind, key): slug
            for kind, model_table in models
            for key, slug in connection.execute(select(model_table.c.id, model_table.c.slug))
        }
    if by is AvailabilityBy.RACK:
        rack_addresses = select(_RACK.c.id, address_expression("rack")).join(
            _CLUSTER, _CLUSTER.c.id == _RACK.c.cluster_id
        )
        racks = connection.execute(rack_addresses.where(_CLUSTER.c.id == place.cluster_id)).all()
        return {(kind, key): name for key, name in racks for kind in PART_KINDS}
    if by is AvailabilityBy.CLUSTER:
        slug = connection.scalar(select(_CLUSTER.c.slug).where(_CLUSTER.c.id == place.cluster_id))
        return dict.fromkeys(((kind, 0) for kind in PART_KINDS), slug or "")
    return {}


def event_times(connection: Connection, known_from: int) -> FromClause:
    """Return number and time of each event, corrected where the clock went back.

    The corrected time is the earliest of its own and all later times, as `trninv.history.point_in_time` reads them.
    """
    back = select(_EVENT.c.id).where(text("clock_went_back"), _EVENT.c.id > known_from).limit(1)
    if connection.scalar(back) is None:
        return _EVENT
    timed = _EVENT.alias("timed")
    least = func.min(timed.c.at).over(order_by=timed.c.id.desc(), rows=(None, 0))
    return select(timed.c.id, least.label("at")).where(timed.c.id > known_from).cte("timed")


def _part_queries(connection: Connection, place: Place, by: AvailabilityBy) -> Iterator[_PartQuery]:
    """Yield a query of each kind of part in a place, or of the part itself."""
    for kind in PART_KINDS:
        table = TABLES[kind]
        in_scope = _scope_condition(connection, place, kind, table)
        if in_scope is None:
            continue
        source: FromClause = table
        key: ColumnElement[int] | None = None
        if by is AvailabilityBy.MODEL:
            key = table.c.get(f"{kind}_model_id")
        if by is AvailabilityBy.RACK and kind in ("chip", "nic"):
            source, key = table.join(_SERVER, _SERVER.c.id == table.c.server_id), _SERVER.c.rack_id
        elif by is AvailabilityBy.RACK:
            key = table.c.get("rack_id")
        yield _PartQuery(kind, table, source, key, in_scope)


def _scope_condition(connection: Connection, place: Place, kind: str, table: Table) -> ColumnElement[bool] | None:
    """Return the condition for parts of a kind in a place; None if a place has no such parts."""
    if place.level == "cluster":  # as literal ids: from a subquery PostgreSQL would expect few rows and look up each
        first, end = connection.execute(select(*id_block_range(THINGS[kind], literal(place.id)))).one()
        return table.c.id.between(first, end - 1)
    if kind == "server":
        column = {"server": table.c.id, "rack": table.c.rack_id, "domain": table.c.domain_id}.get(place.level)
        return None if column is None else column == place.id
    if kind == "link" and place.level == "link":
        return table.c.id == place.id
    if place.level == "link":
        return None
    nodes_ = select(_NODE.c.id).where(node_condition(place))
    if kind == "link":
        return or_(table.c.a_id.in_(nodes_), table.c.b_id.in_(nodes_))
    return table.c.id.in_(nodes_)


class EpochSeconds(FunctionElement[int]):
    """Whole seconds since 1970 of a time in the events' text format."""

    inherit_cache = True
    type = BIGINT


@compiles(EpochSeconds, "sqlite")
def _on_sqlite(function: EpochSeconds, compiler: SQLCompiler, **how: object) -> str:
    days = (
        f"julianday(substr({compiler.process(function.clauses, **how)}, 1, 19))"  # strftime would format a text first
    )
    return f"(CAST({days} * 86400 + 0.5 AS INTEGER) - 210866760000)"


@compiles(EpochSeconds, "postgresql")
def _on_postgresql(function: EpochSeconds, compiler: SQLCompiler, **how: object) -> str:
    time = f"CAST(substr({compiler.process(function.clauses, **how)}, 1, 19) AS timestamp)"
    return f"CAST(date_part('epoch', {time}) AS bigint)"
