"""How much of a time parts were up, how often they failed and how long they stayed so, from their events alone.

The time that parts spent in a state between two moments is what those that are in it now would have spent, less the
difference that each change since has made: one sum over the events, without looking at any part's own history. One
statement counts, for each group of parts, how many there are, those that are not up, and its changes of each sort.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
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
from trninv.inventory.fields import in_cluster
from trninv.inventory.kinds import KINDS
from trninv.inventory.past import among_lost
from trninv.inventory.schema import BIG, NODE_KINDS, TABLES, is_not_up

_EVENT, _NODE, _SERVER, _LINK = (TABLES[name] for name in ("state_event", "node", "server", "link"))
_RACK, _CLUSTER, _DOMAIN = (TABLES[name] for name in ("rack", "cluster", "domain"))
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
    times = _EVENT.c.id > known_from, when.c.at > _text(since), when.c.at <= _text(until)
    branches = (
        branch
        for parts in _parts(place, by)
        for branch in (_all(parts), _lost(connection, parts), _changes(parts, when, times))
    )
    query = _named(by, union_all(*branches).subquery("found"))
    for (kind, name), rows in groupby(connection.execute(query), lambda row: (row.kind, row.name)):
        yield _summed(kind, name, list(rows), (since - _EPOCH) // _MICROSECOND, (until - since) // _MICROSECOND)


_MICROSECOND: Final = datetime.resolution


def _summed(kind: str, name: str | None, rows: Sequence[Any], start: int, span: int) -> Sums:
    """From the rows of a group: all its parts, those that are not up now, and the changes since the start."""
    parts = sum(row.number for row in rows if row.state is None)
    moves = (_move(row, start, span) for row in rows if row.state is not None)
    return Sums.of(kind, name, parts, parts * span, moves, backwards=True)


def _move(row: Any, start: int, span: int) -> Move:
    if row.before is None:
        return Move(When.EDGE, row.number, row.number * span, "up", row.state, "up", row.own_state)
    lasted = int(row.seconds) * _SECOND + int(row.micros) - row.number * start if row.within else row.number * span
    when = When.WITHIN if row.within else When.BEYOND
    return Move(when, row.number, -lasted, row.before, row.state, row.own_before, row.own_state)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Parts of a place that share a table.

    Attributes
    ----------
    source
        The table, joined with what the group is known by.
    key
        What tells the groups of a kind apart.

    """

    table: Table
    source: FromClause
    kind: ColumnElement[str]
    key: ColumnElement[int]
    ours: ColumnElement[bool]
    kinds: tuple[str, ...]


_NO_TEXT: Final = cast(null(), Text)
_NO_NUMBER: Final = cast(null(), BIG)
_YES: Final = literal_column("1", Integer)


def _row(parts: _Parts, number: ColumnElement[int], *what: ColumnElement[Any]) -> Select[Any]:
    names = ("before", "state", "own_before", "own_state", "within", "seconds", "micros")
    named = (each.label(name) for name, each in zip(names, what, strict=True))
    return select(parts.kind.label("kind"), parts.key.label("key"), number.label("number"), *named)


def _all(parts: _Parts) -> Select[Any]:
    nothing = _NO_TEXT, _NO_TEXT, _NO_TEXT, _NO_TEXT, _YES, _NO_NUMBER, _NO_NUMBER
    counted = _row(parts, func.count(), *nothing).select_from(parts.source).where(parts.ours)
    return counted.group_by(parts.kind, parts.key)


def _lost(connection: Connection, parts: _Parts) -> Select[Any]:
    of = parts.table.c
    own = func.coalesce(of.own_state, of.state) if parts.table is _NODE else of.state
    counted = _row(parts, func.count(), _NO_TEXT, of.state, _NO_TEXT, own, _YES, _NO_NUMBER, _NO_NUMBER)
    lost = counted.select_from(parts.source).where(
        parts.ours, is_not_up(parts.table), among_lost(connection, parts.table)
    )
    return lost.group_by(parts.kind, parts.key, of.state, own)


def _changes(parts: _Parts, when: FromClause, times: tuple[ColumnElement[bool], ...]) -> Select[Any]:
    """How often each change was made since a time, and the sums of the times; of those that came later, apart."""
    known, begun, ended = times
    before = func.coalesce(_EVENT.c.own_before, _EVENT.c.before)
    after = func.coalesce(_EVENT.c.own_state, _EVENT.c.state)
    sorts = _EVENT.c.before, _EVENT.c.state, before, after, case((ended, 1), else_=0)
    seconds = func.sum(Seconds(when.c.at)), func.sum(cast(func.substr(when.c.at, 21, 6), BIG))
    source = _EVENT if when is _EVENT else _EVENT.join(when, when.c.id == _EVENT.c.id)
    counted = _row(parts, func.count(), *sorts, *seconds)
    joined = counted.select_from(source.join(parts.source, parts.table.c.id == _EVENT.c.part_id))
    return joined.where(_EVENT.c.kind.in_(parts.kinds), known, begun, parts.ours).group_by(
        parts.kind, parts.key, *sorts
    )


def _named(by: AvailabilityBy, found: FromClause) -> Select[Any]:
    """The rows in order of kinds and groups, with the groups' names."""
    name: ColumnElement[Any] = _NO_TEXT
    source = found
    if by is AvailabilityBy.MODEL:
        models = {kind: TABLES[f"{kind}_model"] for kind in ("server", "chip", "switch", "link")}
        for kind, model in models.items():
            source = source.outerjoin(
                model, (found.c.kind == literal_column(f"'{kind}'")) & (model.c.id == found.c.key)
            )
        name = func.coalesce(*(model.c.slug for model in models.values()))
    if by is AvailabilityBy.RACK:
        source = source.outerjoin(_RACK, _RACK.c.id == found.c.key)
        source = source.outerjoin(_CLUSTER, _CLUSTER.c.id == _RACK.c.cluster_id)
        name = case((_RACK.c.id.is_not(None), address_of("rack")))
    if by is AvailabilityBy.CLUSTER:
        source, name = source.join(_CLUSTER, _CLUSTER.c.id == found.c.key), _CLUSTER.c.slug
    return select(found, name.label("name")).select_from(source).order_by(found.c.kind, found.c.key)


def times_of_events(connection: Connection, known_from: int) -> FromClause:
    """Number and time of each event; where the clock went back, the time at which its state was first seen to hold.

    That is the earliest of its own and all later ones, as `trninv.history.moment` reads them.
    """
    back = select(_EVENT.c.id).where(text("clock_went_back"), _EVENT.c.id > known_from).limit(1)
    if connection.scalar(back) is None:
        return _EVENT
    timed = _EVENT.alias("timed")
    least = func.min(timed.c.at).over(order_by=timed.c.id.desc(), rows=(None, 0))
    return select(timed.c.id, least.label("at")).where(timed.c.id > known_from).subquery("timed")


def _parts(place: Place, by: AvailabilityBy) -> Iterator[_Parts]:
    """Servers, nodes and links of a place, or the one that it is."""
    whole = place.level == "cluster"
    if place.level in ("server", "rack", "domain", "cluster"):
        column = {"server": _SERVER.c.id, "rack": _SERVER.c.rack_id}.get(place.level, _SERVER.c.domain_id)
        domains = select(_DOMAIN.c.id).where(_DOMAIN.c.cluster_id == place.id)
        key = _key(by, place, _SERVER.c.server_model_id, _SERVER.c.rack_id)
        ours = column.in_(domains) if whole else column == place.id
        yield _Parts(_SERVER, _SERVER, _constant("'server'", Text), key, ours, ("server",))
    if place.level != "link":
        yield _nodes(place, by)
    yield _links(place, by)


def _nodes(place: Place, by: AvailabilityBy) -> _Parts:
    chip, switch, nic = (TABLES[name] for name in ("chip", "switch", "nic"))
    source: FromClause = _NODE
    if by in (AvailabilityBy.MODEL, AvailabilityBy.RACK):
        source = source.outerjoin(chip, chip.c.id == _NODE.c.id).outerjoin(switch, switch.c.id == _NODE.c.id)
    if by is AvailabilityBy.RACK:
        source = source.outerjoin(nic, nic.c.id == _NODE.c.id)
        source = source.outerjoin(_SERVER, _SERVER.c.id == func.coalesce(chip.c.server_id, nic.c.server_id))
    model = func.coalesce(chip.c.chip_model_id, switch.c.switch_model_id)
    key = _key(by, place, model, func.coalesce(_SERVER.c.rack_id, switch.c.rack_id))
    return _Parts(_NODE, source, _NODE.c.kind, key, nodes_of(place), NODE_KINDS)


def _links(place: Place, by: AvailabilityBy) -> _Parts:
    if place.level == "link":
        ours: ColumnElement[bool] = _LINK.c.id == place.id
    elif place.level == "cluster":
        ours = in_cluster(KINDS["link"], _LINK.c.id, literal(place.id))
    else:
        inside = select(_NODE.c.id).where(nodes_of(place))
        ours = or_(_LINK.c.a_id.in_(inside), _LINK.c.b_id.in_(inside))
    key = _key(by, place, _LINK.c.link_model_id, _NO_NUMBER)
    kind = _constant("'link'", Text)
    return _Parts(_LINK, _LINK, kind, key, ours, ("link",))


def _key(by: AvailabilityBy, place: Place, model: ColumnElement[int], rack: ColumnElement[int]) -> ColumnElement[int]:
    cluster = _constant(str(place.cluster_id), Integer)
    return {
        AvailabilityBy.KIND: cluster,
        AvailabilityBy.CLUSTER: cluster,
        AvailabilityBy.MODEL: model,
        AvailabilityBy.RACK: rack,
    }[by]


def _constant(written: str, form: Any) -> ColumnElement[Any]:
    """One that PostgreSQL groups by."""
    return cast(literal_column(written), form)


def _text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


class Seconds(FunctionElement[int]):
    """Whole seconds since 1970 of a time as events have it."""

    inherit_cache = True
    type = BIG


@compiles(Seconds, "sqlite")
def _on_sqlite(of: Seconds, compiler: SQLCompiler, **how: object) -> str:
    return f"CAST(strftime('%s', substr({compiler.process(of.clauses, **how)}, 1, 19)) AS INTEGER)"


@compiles(Seconds, "postgresql")
def _on_postgresql(of: Seconds, compiler: SQLCompiler, **how: object) -> str:
    return (
        f"CAST(extract(epoch FROM CAST(substr({compiler.process(of.clauses, **how)}, 1, 19) AS timestamp)) AS bigint)"
    )
