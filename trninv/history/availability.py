"""How much of a time parts were up, how often they failed and how long they stayed so, from their events alone.

The time that parts spent in a state between two moments is what those that are in it now would have spent, less the
difference that each change since has made: one sum over the events, without looking at any part's own history. One
statement counts, for each group of parts, how many there are, those that are not up, and its changes of each sort.
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

from trninv.choice import Choice
from trninv.history.sums import Move, Sums, When
from trninv.inventory.address import Place, address_of, nodes_of
from trninv.inventory.fields import block
from trninv.inventory.kinds import KINDS
from trninv.inventory.past import among_lost
from trninv.inventory.schema import BIG, NODE_KINDS, PART_KINDS, STATES, TABLES, is_not_up
from trninv.timestamps import format_timestamp

_EVENT, _NODE, _SERVER = (TABLES[name] for name in ("state_event", "node", "server"))
_RACK, _CLUSTER = (TABLES[name] for name in ("rack", "cluster"))
_SECOND: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class AvailabilityBy(Choice):
    """What parts of a kind are one group."""

    KIND = "KIND", "All of the kind."
    MODEL = "MODEL", "Those of the same model; NICs and network nodes have none."
    RACK = "RACK", "Those in the same rack; links and network nodes are in none."
    CLUSTER = "CLUSTER", "Those of the cluster."


def sums(
    connection: Connection, place: Place, by: AvailabilityBy, known_from: int, since: datetime, until: datetime
) -> Iterator[Sums]:
    """Of each group of parts of a place; what happened before an event that is not known is left out."""
    when = times_of_events(connection, known_from)
    times = _EVENT.c.id > known_from, when.c.at > format_timestamp(since), when.c.at <= format_timestamp(until)
    branches = (
        branch
        for parts in _parts(connection, place, by)
        for branch in (_all(parts), _lost(connection, parts), _changes(parts, when, times))
    )
    if (
        connection.dialect.name == "postgresql"
    ):  # racks times sorts of changes are grouped in memory, not sorted on disk
        connection.execute(text("SET LOCAL work_mem = '64MB'"))
    groups: defaultdict[tuple[str, int], list[_Counted]] = defaultdict(list)
    for kind, key, *counted in connection.execute(union_all(*branches)).all():
        groups[kind, key or 0].append(tuple(counted))
    names = _names(connection, by, place)
    start, span = (since - _EPOCH) // _MICROSECOND, (until - since) // _MICROSECOND
    for (kind, key), rows in sorted(groups.items()):
        yield _summed(kind, names.get((kind, key)), rows, start, span)


_MICROSECOND: Final = datetime.resolution

_Counted = tuple[str, int, int, int, int, int]
"""What is counted, a sort of change, how many, and of those in time how many, and their seconds and microseconds."""


def _summed(kind: str, name: str | None, rows: Sequence[_Counted], start: int, span: int) -> Sums:
    """From the rows of a group: all its parts, those that are not up now, and the changes since the start."""
    parts = sum(number for what, _, number, *_ in rows if what == _ALL)
    moves = (move for row in rows for move in _moves(row, start, span))
    return Sums.of(kind, name, parts, parts * span, moves, backwards=True)


def _moves(row: _Counted, start: int, span: int) -> Iterator[Move]:
    what, sort, number, within, seconds, micros = row
    if what == _LOST:
        yield Move(When.EDGE, number, number * span, *_read(sort))
    if what == _CHANGED and within:
        yield Move(When.WITHIN, within, within * start - int(seconds) * _SECOND - int(micros), *_read(sort))
    if what == _CHANGED and (later := number - within):
        yield Move(When.BEYOND, later, -later * span, *_read(sort))


@dataclass(frozen=True, slots=True)
class _Parts:
    """Parts of a kind in a place.

    Attributes
    ----------
    table
        That of the kind; what its state is in has the same ids.
    source
        The table, joined with what the group is known by.
    key
        What tells the groups apart; None where all are one.

    """

    kind: str
    table: Table
    source: FromClause
    key: ColumnElement[int] | None
    ours: ColumnElement[bool]

    @property
    def groups(self) -> tuple[ColumnElement[int], ...]:
        """What rows are grouped by."""
        return () if self.key is None else (self.key,)


_ALL, _LOST, _CHANGED = "all", "lost", "changed"
_UP: Final = literal_column("'up'", Text)
_NONE: Final = literal_column("0", BIG)
_NUMBERS: Final[dict[Any, Any]] = {
    literal_column(f"'{state}'", Text): literal_column(str(at), Integer) for at, state in enumerate(STATES)
}


def _row(parts: _Parts, what: str, sort: ColumnElement[int], *sums: ColumnElement[Any]) -> Select[Any]:
    within, seconds, micros = sums or (_NONE, _NONE, _NONE)
    return select(
        literal_column(f"'{parts.kind}'", Text).label("kind"),
        (cast(null(), Integer) if parts.key is None else parts.key).label("key"),
        literal_column(f"'{what}'", Text).label("what"),
        sort.label("sort"),
        func.count().label("number"),
        within.label("within"),
        seconds.label("seconds"),
        micros.label("micros"),
    )


def _all(parts: _Parts) -> Select[Any]:
    counted = _row(parts, _ALL, _NONE).select_from(parts.source).where(parts.ours)
    return counted.group_by(*parts.groups).having(func.count() > 0)


def _lost(connection: Connection, parts: _Parts) -> Select[Any]:
    is_node = parts.kind in NODE_KINDS
    table = _NODE if is_node else parts.table
    source = parts.source.join(_NODE, _NODE.c.id == parts.table.c.id) if is_node else parts.source
    sort = _sort(_UP, table.c.state, _UP, func.coalesce(_NODE.c.own_state, _NODE.c.state) if is_node else table.c.state)
    lost = _row(parts, _LOST, sort).select_from(source)
    return lost.where(parts.ours, is_not_up(table), among_lost(connection, table)).group_by(*parts.groups, "sort")


def _changes(parts: _Parts, when: FromClause, times: tuple[ColumnElement[bool], ...]) -> Select[Any]:
    """How often each change was made since a time, and by its end how often and the sums of the times."""
    known, begun, ended = times
    own_before = func.coalesce(_EVENT.c.own_before, _EVENT.c.before)
    own_state = func.coalesce(_EVENT.c.own_state, _EVENT.c.state)
    sort = _sort(_EVENT.c.before, _EVENT.c.state, own_before, own_state)
    seconds, micros = Seconds(when.c.at), cast(func.substr(when.c.at, 21, 6), Integer)
    within = func.count().filter(ended), *(func.sum(each).filter(ended) for each in (seconds, micros))
    source = _EVENT if when is _EVENT else _EVENT.join(when, when.c.id == _EVENT.c.id)
    counted = _row(parts, _CHANGED, sort, *within)
    joined = counted.select_from(source.join(parts.source, parts.table.c.id == _EVENT.c.part_id))
    return joined.where(_EVENT.c.kind == parts.kind, known, begun, parts.ours).group_by(*parts.groups, "sort")


def _sort(*states: ColumnElement[str]) -> ColumnElement[int]:
    """States as one number, by which SQLite sorts faster than by texts; see `_read`."""
    numbers = (case(_NUMBERS, value=each) for each in states)
    return reduce(lambda one, other: one * literal_column(str(len(STATES)), Integer) + other, numbers)


@lru_cache(maxsize=len(STATES) ** 4)
def _read(sort: int) -> tuple[str, str, str, str]:
    one, two, three, four = (STATES[sort // len(STATES) ** place % len(STATES)] for place in (3, 2, 1, 0))
    return one, two, three, four


def _names(connection: Connection, by: AvailabilityBy, place: Place) -> dict[tuple[str, int], str]:
    """Of the groups, by kinds and keys; none of those that have no name."""
    if by is AvailabilityBy.MODEL:
        models = ((kind, TABLES[f"{kind}_model"]) for kind in ("server", "chip", "switch", "link"))
        return {
            (kind, key): slug for kind, of in models for key, slug in connection.execute(select(of.c.id, of.c.slug))
        }
    if by is AvailabilityBy.RACK:
        named = select(_RACK.c.id, address_of("rack")).join(_CLUSTER, _CLUSTER.c.id == _RACK.c.cluster_id)
        racks = connection.execute(named.where(_CLUSTER.c.id == place.cluster_id)).all()
        return {(kind, key): name for key, name in racks for kind in PART_KINDS}
    if by is AvailabilityBy.CLUSTER:
        slug = connection.scalar(select(_CLUSTER.c.slug).where(_CLUSTER.c.id == place.cluster_id))
        return dict.fromkeys(((kind, 0) for kind in PART_KINDS), slug or "")
    return {}


def times_of_events(connection: Connection, known_from: int) -> FromClause:
    """Number and time of each event; where the clock went back, the time at which its state was first seen to hold.

    That is the earliest of its own and all later ones, as `trninv.history.moment` reads them.
    """
    back = select(_EVENT.c.id).where(text("clock_went_back"), _EVENT.c.id > known_from).limit(1)
    if connection.scalar(back) is None:
        return _EVENT
    timed = _EVENT.alias("timed")
    least = func.min(timed.c.at).over(order_by=timed.c.id.desc(), rows=(None, 0))
    return select(timed.c.id, least.label("at")).where(timed.c.id > known_from).cte("timed")


def _parts(connection: Connection, place: Place, by: AvailabilityBy) -> Iterator[_Parts]:
    """Servers, nodes and links of a place, or the one that it is."""
    for kind in PART_KINDS:
        table = TABLES[kind]
        ours = _ours(connection, place, kind, table)
        if ours is None:
            continue
        source: FromClause = table
        key: ColumnElement[int] | None = None
        if by is AvailabilityBy.MODEL:
            key = table.c.get(f"{kind}_model_id")
        if by is AvailabilityBy.RACK and kind in ("chip", "nic"):
            source, key = table.join(_SERVER, _SERVER.c.id == table.c.server_id), _SERVER.c.rack_id
        elif by is AvailabilityBy.RACK:
            key = table.c.get("rack_id")
        yield _Parts(kind, table, source, key, ours)


def _ours(connection: Connection, place: Place, kind: str, table: Table) -> ColumnElement[bool] | None:
    """Which parts of a kind are in a place; None: there are none."""
    if place.level == "cluster":  # in numbers: from a subquery PostgreSQL would expect few rows, and look each up
        first, end = connection.execute(select(*block(KINDS[kind], literal(place.id)))).one()
        return table.c.id.between(first, end - 1)
    if kind == "server":
        column = {"server": table.c.id, "rack": table.c.rack_id, "domain": table.c.domain_id}.get(place.level)
        return None if column is None else column == place.id
    if kind == "link" and place.level == "link":
        return table.c.id == place.id
    if place.level == "link":
        return None
    inside = select(_NODE.c.id).where(nodes_of(place))
    if kind == "link":
        return or_(table.c.a_id.in_(inside), table.c.b_id.in_(inside))
    return table.c.id.in_(inside)


class Seconds(FunctionElement[int]):
    """Whole seconds since 1970 of a time as events have it."""

    inherit_cache = True
    type = BIG


@compiles(Seconds, "sqlite")
def _on_sqlite(of: Seconds, compiler: SQLCompiler, **how: object) -> str:
    days = f"julianday(substr({compiler.process(of.clauses, **how)}, 1, 19))"  # strftime would write a text first
    return f"(CAST({days} * 86400 + 0.5 AS INTEGER) - 210866760000)"


@compiles(Seconds, "postgresql")
def _on_postgresql(of: Seconds, compiler: SQLCompiler, **how: object) -> str:
    time = f"CAST(substr({compiler.process(of.clauses, **how)}, 1, 19) AS timestamp)"
    return f"CAST(date_part('epoch', {time}) AS bigint)"
