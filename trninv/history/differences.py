"""What differs between two moments, in net: found from the events between them and from rows that say since when."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, and_, case, func, or_, select, true

from trninv.errors import MomentError, WrongLevelError
from trninv.history.events import last, of_scope
from trninv.history.moment import Moment, Time, moment
from trninv.inventory.address import HOLDS_CHIPS, Place, address_of, chips_of, words
from trninv.inventory.binding import slots
from trninv.inventory.fields import Sql
from trninv.inventory.past import time_of
from trninv.inventory.schema import NODE_KINDS, PART_KINDS, TABLES
from trninv.inventory.state import server_address
from trninv.inventory.unknown import refused
from trninv.timestamps import format_timestamp

_EVENT, _NODE, _SERVER, _LINK = (TABLES[name] for name in ("state_event", "node", "server", "link"))
_DOMAIN, _CLUSTER, _JOB, _HELD = (TABLES[name] for name in ("domain", "cluster", "job", "allocation"))
_CLOSING, _BINDING = TABLES["closing"], TABLES["binding"]
HOLDS_SERVERS: Final = ("server", "rack", "domain", "cluster")
GROUPINGS: Final = ("place", "kind", "part")
_LARGEST: Final = 2**63 - 1  # that either database takes
_CHANGE: Final = ("before", "factor_before", "after", "factor")


@dataclass(frozen=True, slots=True)
class Span:
    """Two moments, the earlier first, and where: None is everywhere."""

    first: Moment
    last: Moment
    place: Place | None = None

    @classmethod
    def of(cls, connection: Connection, since: Time, until: Time | None = None, place: Place | None = None) -> "Span":
        """From one time to another, or to what the connection sees as now.

        Raises
        ------
        MomentError
            As `trninv.history.moment.moment` says, the second comes before the first, or there was less at the first.
        WrongLevelError
            The place is a core, which has no state.

        """
        if place and place.level == "core":
            raise WrongLevelError(f"{place.address} is a core and has no state: name its chip")
        now = Moment(last(connection), time_of(connection.engine) or datetime.now(UTC))
        first, end = moment(connection, since), now if until is None else moment(connection, until)
        for each, given in ((end, until), (first, since)):
            if each.time > now.time:
                raise MomentError(f"{given} is after {now.time.isoformat()}, as of which is asked")
        if first.event > end.event or (first.event == end.event and first.time > end.time):
            raise MomentError(f"{since} is after {'now' if until is None else until}: name the earlier time first")
        for later in first.unknown:
            if place is None:
                raise MomentError(f"{later}: name a later time, or another cluster")
            if place.cluster_id == later.id:
                raise refused(connection, later)
        return cls(first, end, place)


@dataclass(frozen=True, slots=True)
class Asked:
    """How differences are listed: grouped by one of GROUPINGS, so many, after so many others."""

    by: str = "place"
    most: int = 1_000
    skip: int = 0


Listed = tuple[int, list[Row[Any]]]
"""How many there are in all, and those that are listed."""


def kinds(connection: Connection, span: Span) -> list[Row[Any]]:
    """Of each kind of part how many differ, and how many changed and changed back."""
    net = _net(connection, span).subquery("net")
    differ = func.sum(case((net.c.differs, 1), else_=0))
    query = select(net.c.kind, differ.label("differ"), (func.count() - differ).label("back")).group_by(net.c.kind)
    return sorted(connection.execute(query), key=lambda row: PART_KINDS.index(row.kind))


def states(connection: Connection, span: Span, asked: Asked) -> Listed:
    """Parts whose state differs, grouped; the latest change first.

    By place: what the same change left in one server, or of links in one domain, from the same state to the same.
    """
    net = _net(connection, span).subquery("net")
    own = {"place": (net.c.container, net.c.batch), "kind": (net.c.kind,), "part": (net.c.address,)}[asked.by]
    one = case((func.count() == 1, func.max(net.c.address)), else_=func.max(net.c.container))
    grouped = (
        select(
            *(net.c[name] for name in _CHANGE),
            func.max(net.c.last).label("event"),
            (func.max(net.c.kind) if asked.by == "kind" else one).label("of"),
            *(func.sum(case((net.c.kind == kind, 1), else_=0)).label(kind) for kind in PART_KINDS),
        )
        .where(net.c.differs)
        .group_by(*own, *(net.c[name] for name in _CHANGE))
        .subquery("grouped")
    )
    said = _EVENT.alias("said")
    found = select(grouped, said.c.at, said.c.who, said.c.why).join(said, said.c.id == grouped.c.event)
    return _listed(connection, found, asked, grouped.c.event.desc(), grouped.c.of, *(grouped.c[n] for n in _CHANGE))


def jobs(connection: Connection, span: Span, asked: Asked) -> Listed:
    """Jobs that hold other chips of the place than before."""
    if span.place and span.place.level not in HOLDS_CHIPS:
        return 0, []
    held, (before, after) = _lasting(_HELD, "began", "ended", span)
    ours = true() if span.place is None else _HELD.c.chip_id.in_(chips_of(span.place))
    when = func.max(case((after, _HELD.c.began), else_=_HELD.c.ended)).label("at")
    chips = (
        select(_HELD.c.job_id, _most(before, "before"), _most(after, "after"), when)
        .where(held, ours)
        .group_by(_HELD.c.job_id, _HELD.c.chip_id)
        .subquery("chips")
    )
    lost, gained = (func.sum(case((test, 1), else_=0)) for test in _differs(chips))
    changed_at = func.max(case((chips.c.before != chips.c.after, chips.c.at)))
    sums = (
        select(
            chips.c.job_id,
            func.sum(chips.c.before).label("before"),
            func.sum(chips.c.after).label("after"),
            lost.label("lost"),
            gained.label("gained"),
            changed_at.label("at"),
        )
        .group_by(chips.c.job_id)
        .having(lost + gained > 0)
        .subquery("sums")
    )
    found = select(sums, _JOB.c.name, _JOB.c.system, _JOB.c.external_id, _JOB.c.who)
    return _listed(connection, found.join(_JOB, _JOB.c.id == sums.c.job_id), asked, _JOB.c.name, _JOB.c.id)


def closings(connection: Connection, span: Span, asked: Asked) -> Listed:
    """Servers that take no jobs and did before, or the other way round."""
    if span.place and span.place.level not in HOLDS_SERVERS:
        return 0, []
    lasting, (before, after) = _lasting(_CLOSING, "since", "until", span)
    since = func.max(case((after, _CLOSING.c.since), else_=_CLOSING.c.until)).label("at")
    who, why = (func.max(case((after, _CLOSING.c[name]))).label(name) for name in ("who", "why"))
    closed = (
        select(_CLOSING.c.server_id, _most(before, "before"), _most(after, "after"), since, who, why)
        .where(lasting)
        .group_by(_CLOSING.c.server_id)
        .subquery("closed")
    )
    address = address_of("server")
    found = (
        select(closed, address.label("address"))
        .join(_SERVER, _SERVER.c.id == closed.c.server_id)
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .join(_CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id)
        .where(closed.c.before != closed.c.after, *_slots(span, address))
    )
    return _listed(connection, found, asked, _SERVER.c.id)


def bindings(connection: Connection, span: Span, asked: Asked) -> Listed:
    """Slots in which another instance or host stands than before, or none."""
    if span.place and span.place.level not in HOLDS_SERVERS:
        return 0, []
    lasting, (before, after) = _lasting(_BINDING, "since", "until", span)
    stood = {
        f"{name}_{when}": func.max(case((test, _BINDING.c[name])))
        for when, test in (("before", before), ("after", after))
        for name in ("instance", "host")
    }
    slot = (
        select(
            _BINDING.c.address,
            *(value.label(name) for name, value in stood.items()),
            func.max(case((after, _BINDING.c.since), else_=_BINDING.c.until)).label("at"),
            func.coalesce(func.max(case((after, _BINDING.c.who))), func.max(case((before, _BINDING.c.ended_by)))).label(
                "who"
            ),
        )
        .where(lasting, *_slots(span, _BINDING.c.address))
        .group_by(_BINDING.c.address)
        .subquery("slot")
    )
    differs = (slot.c[f"{name}_before"].is_distinct_from(slot.c[f"{name}_after"]) for name in ("instance", "host"))
    return _listed(connection, select(slot).where(or_(*differs)), asked, slot.c.address)


def _slots(span: Span, address: Sql) -> list[Sql]:
    return [] if span.place is None else [address.in_(slots(span.place))]


def _lasting(table: FromClause, began: str, ended: str, span: Span) -> tuple[Sql, tuple[Sql, Sql]]:
    """That a row holds at either moment; at the first, at the last."""

    def at(time: datetime) -> Sql:
        then = format_timestamp(time)
        return and_(table.c[began] <= then, or_(table.c[ended].is_(None), table.c[ended] > then))

    both = at(span.first.time), at(span.last.time)
    return or_(*both), both


def _most(test: Sql, name: str) -> ColumnElement[int]:
    return func.max(case((test, 1), else_=0)).label(name)


def _differs(of: FromClause) -> tuple[Sql, Sql]:
    return of.c.before > of.c.after, of.c.before < of.c.after


def _net(connection: Connection, span: Span) -> Select[Any]:
    """Each part that is there and has events between the moments: what it was before the first and after the last."""
    ours = true() if span.place is None else of_scope(connection, span.place.address)
    changed = (
        select(
            _EVENT.c.kind, _EVENT.c.part_id, func.min(_EVENT.c.id).label("first"), func.max(_EVENT.c.id).label("last")
        )
        .where(_EVENT.c.id > span.first.event, _EVENT.c.id <= span.last.event, _EVENT.c.kind.is_not(None), ours)
        .group_by(_EVENT.c.kind, _EVENT.c.part_id)
        .subquery("changed")
    )
    first, end = _EVENT.alias("first"), _EVENT.alias("last")
    was = _Condition(first, "before", "factor_ppm_before", "own_before", "own_factor_ppm_before")
    became = _Condition(end, "state", "factor_ppm", "own_state", "own_factor_ppm")
    is_same = and_(*(a.is_not_distinct_from(b) for a, b in zip(was.effective, became.effective, strict=True)))
    own_same = and_(*(a.is_not_distinct_from(b) for a, b in zip(was.own, became.own, strict=True)))
    shown = [
        case((is_same, own), else_=held) for at in (was, became) for own, held in zip(at.own, at.effective, strict=True)
    ]
    there, container = _there(changed, end.c.address)
    return (
        select(
            changed.c.kind,
            changed.c.last,
            end.c.address,
            func.coalesce(end.c.batch, end.c.id).label("batch"),
            container.label("container"),
            (~and_(is_same, own_same)).label("differs"),
            *(column.label(name) for name, column in zip(_CHANGE, shown, strict=True)),
        )
        .select_from(there)
        .join(first, first.c.id == changed.c.first)
        .join(end, end.c.id == changed.c.last)
        .where(func.coalesce(_SERVER.c.id, _LINK.c.id, _NODE.c.id).is_not(None))
    )


class _Condition:
    """What an event says of a part: what holds, and what would without its server."""

    def __init__(self, event: FromClause, state: str, factor: str, own: str, own_factor: str) -> None:
        self.effective = event.c[state], event.c[factor]
        alone = event.c[own].is_not(None)
        self.own = tuple(
            case((alone, event.c[name]), else_=held)
            for name, held in zip((own, own_factor), self.effective, strict=True)
        )


def _there(changed: FromClause, address: Sql) -> tuple[FromClause, Sql]:
    """What changed beside its own row, null where that is gone; and the server, domain or cluster that has it."""
    kind, key = changed.c.kind, changed.c.part_id
    is_link, is_node = kind == "link", kind.in_(NODE_KINDS)
    joined = (
        changed.outerjoin(_SERVER, and_(kind == "server", _SERVER.c.id == key))
        .outerjoin(_LINK, and_(is_link, _LINK.c.id == key))
        .outerjoin(_NODE, _NODE.c.id == case((is_link, _LINK.c.a_id), (is_node, key)))
        .outerjoin(_DOMAIN, _DOMAIN.c.id == _LINK.c.domain_id)
        .outerjoin(_CLUSTER, _CLUSTER.c.id == _NODE.c.cluster_id)
    )
    container = case(
        (kind == "server", address),
        (and_(is_node, kind != "network_node"), server_address(address)),
        (_DOMAIN.c.id.is_not(None), words(_CLUSTER.c.slug, "/d", _DOMAIN.c.ordinal)),
        else_=_CLUSTER.c.slug,
    )
    return joined, container


def _listed(connection: Connection, query: Select[Any], asked: Asked, *order: ColumnElement[Any]) -> Listed:
    whole = query.add_columns(func.count().over().label("of_all")).order_by(*order)
    rows = list(connection.execute(whole.limit(asked.most).offset(min(asked.skip, _LARGEST))))
    if rows or not asked.skip:
        return (rows[0].of_all if rows else 0), rows
    return connection.scalar(select(func.count()).select_from(query.subquery())) or 0, []
