"""How much of a time parts were up, how often they failed and how long they stayed so, from their events alone.

The time that parts spent in a state between two moments is what those that are in it now would have spent, less the
difference that each change since has made: one sum over the events, without looking at any part's own history.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Select,
    Text,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from trninv.inventory.address import Place, nodes_of
from trninv.inventory.schema import BIG, NODE_KINDS, STATES, TABLES

_EVENT, _NODE, _SERVER, _LINK = (TABLES[name] for name in ("state_event", "node", "server", "link"))
_SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Sums:
    """What the parts of a kind did between two times.

    Attributes
    ----------
    spent
        Microseconds by state, of all parts together; a node's state is that which its server leaves it.
    repairing
        Microseconds in which parts were down themselves, not only with their server.
    failures, repaired
        How often a part itself went down, and was down no more.
    down_before, down_after
        Parts that were down themselves at the beginning and at the end.

    """

    kind: str
    parts: int
    spent: dict[str, int] = field(default_factory=dict)
    repairing: int = 0
    failures: int = 0
    repaired: int = 0
    down_before: int = 0
    down_after: int = 0


def sums(connection: Connection, place: Place, known_from: int, since: datetime, until: datetime) -> Iterator[Sums]:
    """Of each kind of part of a place; what happened before an event that is not known is left out."""
    when = _when(connection, known_from)
    for parts, kinds in _parts(place):
        counted = select(parts.c.kind, parts.c.state, parts.c.own, func.count().label("parts"))
        now = connection.execute(counted.group_by(parts.c.kind, parts.c.state, parts.c.own)).all()
        changed = connection.execute(_changes(parts, kinds, when, known_from, _text(since), _text(until)))
        of = {row.kind: row for row in changed}
        for kind in sorted({row.kind for row in now}):
            held, own = Counter[str](), Counter[str]()
            for row in (each for each in now if each.kind == kind):
                held[row.state] += row.parts
                own[row.own] += row.parts
            yield _summed(kind, held, own, of.get(kind), (until - since) // _MICROSECOND)


_MICROSECOND: Final = datetime.resolution


def _summed(kind: str, held: Counter[str], own: Counter[str], changes: Any, span: int) -> Sums:
    if changes is None:
        spent = {state: held[state] * span for state in STATES}
        return Sums(kind, held.total(), spent, own["down"] * span, 0, 0, own["down"], own["down"])
    row = changes._mapping  # noqa: SLF001 # SQLAlchemy's public name for it

    def less(name: str) -> int:
        return int(row[f"{name}_seconds"]) * _SECOND + int(row[f"{name}_micros"])

    after = own["down"] - row["later"]
    return Sums(
        kind,
        held.total(),
        {state: held[state] * span - less(state) for state in STATES},
        own["down"] * span - less("own"),
        row["failures"],
        row["repaired"],
        after - row["failures"] + row["repaired"],
        after,
    )


def _changes(
    parts: FromClause, kinds: tuple[str, ...], when: FromClause, known_from: int, since: str, until: str
) -> Select[Any]:
    """Sums over the events of each kind since a time: how much longer a state would have been held without them."""
    at = case((when.c.at > until, literal(until, Text)), else_=when.c.at)
    seconds = _Seconds(at) - _Seconds(literal(since, Text))
    micros = cast(func.substr(at, 21, 6), Integer) - int(since[20:26])
    before = func.coalesce(_EVENT.c.own_before, _EVENT.c.before)
    after = func.coalesce(_EVENT.c.own_state, _EVENT.c.state)
    by = {state: _one(_EVENT.c.state == state) - _one(_EVENT.c.before == state) for state in STATES}
    by["own"] = _one(after == "down") - _one(before == "down")
    totals = [
        func.sum(change * part).label(f"{name}_{unit}")
        for name, change in by.items()
        for unit, part in (("seconds", seconds), ("micros", micros))
    ]
    within = when.c.at <= until
    ours = _EVENT.c.kind.in_(kinds), _EVENT.c.id > known_from, when.c.at > since
    return (
        select(
            _EVENT.c.kind,
            func.sum(_one(and_(within, before != "down", after == "down"))).label("failures"),
            func.sum(_one(and_(within, before == "down", after != "down"))).label("repaired"),
            func.sum(case((within, 0), else_=by["own"])).label("later"),
            *totals,
        )
        .select_from(_EVENT.join(when, when.c.id == _EVENT.c.id).join(parts, parts.c.id == _EVENT.c.part_id))
        .where(*ours)
        .group_by(_EVENT.c.kind)
    )


def _one(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, literal_column("1", BIG)), else_=literal_column("0", BIG))


def _when(connection: Connection, known_from: int) -> FromClause:
    """Number and time of each event; where the clock went back, the time at which its state was first seen to hold.

    That is the earliest of its own and all later ones, as `trninv.history.moment` reads them.
    """
    timed = _EVENT.alias("timed")
    back = select(timed.c.id).where(text("clock_went_back"), timed.c.id > known_from).limit(1)
    if connection.scalar(back) is None:
        return timed
    least = func.min(timed.c.at).over(order_by=timed.c.id.desc(), rows=(None, 0))
    return select(timed.c.id, least.label("at")).where(timed.c.id > known_from).subquery("timed")


def _parts(place: Place) -> Iterator[tuple[FromClause, tuple[str, ...]]]:
    """Servers, nodes and links of a place, or the one that it is, with their kinds."""
    inside = select(_NODE.c.id).where(nodes_of(place)) if place.level != "link" else None
    if place.level in ("server", "rack", "domain", "cluster"):
        column = {"server": _SERVER.c.id, "rack": _SERVER.c.rack_id}.get(place.level, _SERVER.c.domain_id)
        key: Any = place.id
        if place.level == "cluster":
            domain = TABLES["domain"]
            key = select(domain.c.id).where(domain.c.cluster_id == place.id)
        ours = column.in_(key) if place.level == "cluster" else column == key
        yield _part(_SERVER, literal_column("'server'", Text), ours), ("server",)
    if inside is None:
        yield _part(_LINK, literal_column("'link'", Text), _LINK.c.id == place.id), ("link",)
        return
    yield _part(_NODE, _NODE.c.kind, nodes_of(place)), NODE_KINDS
    ends = (
        _LINK.c.a_id.in_(inside)
        if place.level == "cluster"
        else or_(_LINK.c.a_id.in_(inside), _LINK.c.b_id.in_(inside))
    )
    yield _part(_LINK, literal_column("'link'", Text), ends), ("link",)


def _part(table: Any, kind: ColumnElement[str], ours: ColumnElement[bool]) -> FromClause:
    own = func.coalesce(table.c.own_state, table.c.state) if table is _NODE else table.c.state
    return select(table.c.id, kind.label("kind"), table.c.state, own.label("own")).where(ours).subquery("parts")


def _text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


class _Seconds(FunctionElement[int]):
    """Whole seconds since 1970 of a time as events have it."""

    inherit_cache = True
    type = BIG


@compiles(_Seconds, "sqlite")
def _on_sqlite(of: _Seconds, compiler: SQLCompiler, **how: object) -> str:
    return f"CAST(strftime('%s', substr({compiler.process(of.clauses, **how)}, 1, 19)) AS INTEGER)"


@compiles(_Seconds, "postgresql")
def _on_postgresql(of: _Seconds, compiler: SQLCompiler, **how: object) -> str:
    return (
        f"CAST(extract(epoch FROM CAST(substr({compiler.process(of.clauses, **how)}, 1, 19) AS timestamp)) AS bigint)"
    )
