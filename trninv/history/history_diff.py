"""Compare two points in time, ignoring changes that were undone in between."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, and_, case, func, or_, select, true

from trninv.database.as_of import as_of_time
from trninv.database.tables import NODE_KINDS, PART_KINDS, TABLES
from trninv.errors import InvalidTimeError, WrongLevelError
from trninv.history.events import last_event_number
from trninv.history.point_in_time import PointInTime, Time, resolve_point_in_time
from trninv.history.scope_filter import in_scope
from trninv.inventory.address.containment import chip_ids_of
from trninv.inventory.address.expressions import address_expression, concat
from trninv.inventory.address.lookup import CHIP_CONTAINERS, Place
from trninv.inventory.schema.thing import Sql
from trninv.inventory.state.bindings import slot_addresses
from trninv.inventory.state.history_start import history_start_error
from trninv.inventory.state.state_change import server_address
from trninv.units import format_timestamp

_EVENT, _NODE, _SERVER, _LINK = (TABLES[name] for name in ("state_event", "node", "server", "link"))
_DOMAIN, _CLUSTER, _JOB, _ALLOCATION = (TABLES[name] for name in ("domain", "cluster", "job", "allocation"))
_CORDON, _BINDING = TABLES["cordon"], TABLES["binding"]
HOLDS_SERVERS: Final = ("server", "rack", "domain", "cluster")
GROUPINGS: Final = ("place", "kind", "part")
_LARGEST: Final = 2**63 - 1  # the largest offset that both SQLite and PostgreSQL accept
_CHANGE: Final = ("before", "factor_before", "after", "factor")


@dataclass(frozen=True, slots=True)
class DiffRange:
    """Two points in time, the earlier first, and the place to compare; None is the whole fleet."""

    first: PointInTime
    last: PointInTime
    place: Place | None = None

    @classmethod
    def from_times(
        cls, connection: Connection, since: Time, until: Time | None = None, place: Place | None = None
    ) -> "DiffRange":
        """Return the range from one time to another, or to the time that the connection reads.

        Raises
        ------
        InvalidTimeError
            A time can't be resolved (see `resolve_point_in_time`) or is after the time that the connection reads,
            `until` is before `since`, or the history of a cluster in scope begins after `since`.
        WrongLevelError
            The place is a core; cores have no state.

        """
        if place and place.level == "core":
            raise WrongLevelError(f"{place.address} is a core and has no state: name its chip")
        now = PointInTime(last_event_number(connection), as_of_time(connection.engine) or datetime.now(UTC))
        first, end = (
            resolve_point_in_time(connection, since),
            now if until is None else resolve_point_in_time(connection, until),
        )
        for point, text in ((end, until), (first, since)):
            if point.time > now.time:
                raise InvalidTimeError(
                    f"{text} is after {now.time.isoformat()}, the time that is read; use an earlier time"
                )
        if first.event > end.event or (first.event == end.event and first.time > end.time):
            raise InvalidTimeError(f"{since} is after {'now' if until is None else until}; name the earlier time first")
        for later in first.omitted:
            if place is None:
                raise InvalidTimeError(f"{later}; name a later time, or another cluster")
            if place.cluster_id == later.id:
                raise history_start_error(connection, later)
        return cls(first, end, place)


@dataclass(frozen=True, slots=True)
class DiffPage:
    """A page of differences: one of GROUPINGS to group by, a limit and an offset."""

    group_by: str = "place"
    limit: int = 1_000
    offset: int = 0


DiffRows = tuple[int, list[Row[Any]]]
"""The total number of rows, and the rows of the page."""


def change_counts(connection: Connection, span: DiffRange) -> list[Row[Any]]:
    """Return for each kind of part how many differ, and how many changed and changed back."""
    net = _net_changes(connection, span).subquery("net")
    differ = func.sum(case((net.c.differs, 1), else_=0))
    query = select(net.c.kind, differ.label("differ"), (func.count() - differ).label("back")).group_by(net.c.kind)
    return sorted(connection.execute(query), key=lambda row: PART_KINDS.index(row.kind))


def state_changes(connection: Connection, span: DiffRange, page: DiffPage) -> DiffRows:
    """Return groups of parts whose state differs, the latest change first.

    Parts of a group changed from the same condition to the same condition. Grouped by place, they also share the last
    change and the server, or the domain for links.
    """
    net = _net_changes(connection, span).subquery("net")
    own = {"place": (net.c.container, net.c.batch), "kind": (net.c.kind,), "part": (net.c.address,)}[page.group_by]
    one = case((func.count() == 1, func.max(net.c.address)), else_=func.max(net.c.container))
    grouped = (
        select(
            *(net.c[name] for name in _CHANGE),
            func.max(net.c.last).label("event"),
            (func.max(net.c.kind) if page.group_by == "kind" else one).label("of"),
            *(func.sum(case((net.c.kind == kind, 1), else_=0)).label(kind) for kind in PART_KINDS),
        )
        .where(net.c.differs)
        .group_by(*own, *(net.c[name] for name in _CHANGE))
        .subquery("grouped")
    )
    event = _EVENT.alias("said")
    query = select(grouped, event.c.at, event.c.who, event.c.why).join(event, event.c.id == grouped.c.event)
    return _page_rows(connection, query, page, grouped.c.event.desc(), grouped.c.of, *(grouped.c[n] for n in _CHANGE))


def job_changes(connection: Connection, span: DiffRange, page: DiffPage) -> DiffRows:
    """Return the jobs whose allocation in the place differs, with numbers of chips before, after, lost and gained."""
    if span.place and span.place.level not in CHIP_CONTAINERS:
        return 0, []
    exists_then, (before, after) = _held_at_either(_ALLOCATION, "started_at", "ended_at", span)
    in_scope = true() if span.place is None else _ALLOCATION.c.chip_id.in_(chip_ids_of(span.place))
    when = func.max(case((after, _ALLOCATION.c.started_at), else_=_ALLOCATION.c.ended_at)).label("at")
    chips = (
        select(_ALLOCATION.c.job_id, _max_flag(before, "before"), _max_flag(after, "after"), when)
        .where(exists_then, in_scope)
        .group_by(_ALLOCATION.c.job_id, _ALLOCATION.c.chip_id)
        .subquery("chips")
    )
    lost, gained = (func.sum(case((test, 1), else_=0)) for test in _lost_and_gained(chips))
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
    query = select(sums, _JOB.c.name, _JOB.c.system, _JOB.c.external_id, _JOB.c.who)
    return _page_rows(connection, query.join(_JOB, _JOB.c.id == sums.c.job_id), page, _JOB.c.name, _JOB.c.id)


def cordon_changes(connection: Connection, span: DiffRange, page: DiffPage) -> DiffRows:
    """Return the servers that were cordoned at one of the two times only."""
    if span.place and span.place.level not in HOLDS_SERVERS:
        return 0, []
    exists_then, (before, after) = _held_at_either(_CORDON, "started_at", "ended_at", span)
    since = func.max(case((after, _CORDON.c.started_at), else_=_CORDON.c.ended_at)).label("at")
    who, why = (func.max(case((after, _CORDON.c[name]))).label(name) for name in ("who", "why"))
    cordoned = (
        select(_CORDON.c.server_id, _max_flag(before, "before"), _max_flag(after, "after"), since, who, why)
        .where(exists_then)
        .group_by(_CORDON.c.server_id)
        .subquery("closed")
    )
    address = address_expression("server")
    query = (
        select(cordoned, address.label("address"))
        .join(_SERVER, _SERVER.c.id == cordoned.c.server_id)
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .join(_CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id)
        .where(cordoned.c.before != cordoned.c.after, *_slot_conditions(span, address))
    )
    return _page_rows(connection, query, page, _SERVER.c.id)


def binding_changes(connection: Connection, span: DiffRange, page: DiffPage) -> DiffRows:
    """Return the slots that are bound to another instance or host than before, or to none."""
    if span.place and span.place.level not in HOLDS_SERVERS:
        return 0, []
    exists_then, (before, after) = _held_at_either(_BINDING, "started_at", "ended_at", span)
    machines = {
        f"{name}_{when}": func.max(case((test, _BINDING.c[name])))
        for when, test in (("before", before), ("after", after))
        for name in ("instance", "host")
    }
    slot = (
        select(
            _BINDING.c.address,
            *(value.label(name) for name, value in machines.items()),
            func.max(case((after, _BINDING.c.started_at), else_=_BINDING.c.ended_at)).label("at"),
            func.coalesce(func.max(case((after, _BINDING.c.who))), func.max(case((before, _BINDING.c.ended_by)))).label(
                "who"
            ),
        )
        .where(exists_then, *_slot_conditions(span, _BINDING.c.address))
        .group_by(_BINDING.c.address)
        .subquery("slot")
    )
    differs = (slot.c[f"{name}_before"].is_distinct_from(slot.c[f"{name}_after"]) for name in ("instance", "host"))
    return _page_rows(connection, select(slot).where(or_(*differs)), page, slot.c.address)


def _slot_conditions(span: DiffRange, address: Sql) -> list[Sql]:
    return [] if span.place is None else [address.in_(slot_addresses(span.place))]


def _held_at_either(table: FromClause, began: str, ended: str, span: DiffRange) -> tuple[Sql, tuple[Sql, Sql]]:
    """Return the conditions that a row is valid at either time, and that it is at the first and at the last."""

    def held_at(time: datetime) -> Sql:
        time_text = format_timestamp(time)
        return and_(table.c[began] <= time_text, or_(table.c[ended].is_(None), table.c[ended] > time_text))

    both = held_at(span.first.time), held_at(span.last.time)
    return or_(*both), both


def _max_flag(test: Sql, name: str) -> ColumnElement[int]:
    return func.max(case((test, 1), else_=0)).label(name)


def _lost_and_gained(table: FromClause) -> tuple[Sql, Sql]:
    return table.c.before > table.c.after, table.c.before < table.c.after


def _net_changes(connection: Connection, span: DiffRange) -> Select[Any]:
    """Select each existing part with events in the range, and its condition before the first and after the last.

    If the effective conditions are equal, the part's own are compared and shown: its server may hide the difference.
    """
    is_in_scope = true() if span.place is None else in_scope(connection, span.place.address)
    changed = (
        select(
            _EVENT.c.kind, _EVENT.c.part_id, func.min(_EVENT.c.id).label("first"), func.max(_EVENT.c.id).label("last")
        )
        .where(_EVENT.c.id > span.first.event, _EVENT.c.id <= span.last.event, _EVENT.c.kind.is_not(None), is_in_scope)
        .group_by(_EVENT.c.kind, _EVENT.c.part_id)
        .subquery("changed")
    )
    first, end = _EVENT.alias("first"), _EVENT.alias("last")
    was = _EventCondition(first, "before", "factor_ppm_before", "own_before", "own_factor_ppm_before")
    became = _EventCondition(end, "state", "factor_ppm", "own_state", "own_factor_ppm")
    is_same = and_(*(a.is_not_distinct_from(b) for a, b in zip(was.effective, became.effective, strict=True)))
    own_same = and_(*(a.is_not_distinct_from(b) for a, b in zip(was.own, became.own, strict=True)))
    values = [
        case((is_same, own), else_=effective)
        for condition in (was, became)
        for own, effective in zip(condition.own, condition.effective, strict=True)
    ]
    source, container = _with_container(changed, end.c.address)
    return (
        select(
            changed.c.kind,
            changed.c.last,
            end.c.address,
            func.coalesce(end.c.batch, end.c.id).label("batch"),
            container.label("container"),
            (~and_(is_same, own_same)).label("differs"),
            *(column.label(name) for name, column in zip(_CHANGE, values, strict=True)),
        )
        .select_from(source)
        .join(first, first.c.id == changed.c.first)
        .join(end, end.c.id == changed.c.last)
        .where(func.coalesce(_SERVER.c.id, _LINK.c.id, _NODE.c.id).is_not(None))
    )


class _EventCondition:
    """The columns of a part's condition in an event: the effective one, and its own regardless of its server."""

    def __init__(self, event: FromClause, state: str, factor: str, own: str, own_factor: str) -> None:
        self.effective = event.c[state], event.c[factor]
        has_own = event.c[own].is_not(None)
        self.own = tuple(
            case((has_own, event.c[name]), else_=effective_)
            for name, effective_ in zip((own, own_factor), self.effective, strict=True)
        )


def _with_container(changed: FromClause, address: Sql) -> tuple[FromClause, Sql]:
    """Join changed parts to their rows, null if deleted; also return the address of their server, domain or cluster."""
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
        (_DOMAIN.c.id.is_not(None), concat(_CLUSTER.c.slug, "/d", _DOMAIN.c.ordinal)),
        else_=_CLUSTER.c.slug,
    )
    return joined, container


def _page_rows(connection: Connection, query: Select[Any], page: DiffPage, *order: ColumnElement[Any]) -> DiffRows:
    numbered = query.add_columns(func.count().over().label("of_all")).order_by(*order)
    rows = list(connection.execute(numbered.limit(page.limit).offset(min(page.offset, _LARGEST))))
    if rows or not page.offset:
        return (rows[0].of_all if rows else 0), rows
    return connection.scalar(select(func.count()).select_from(query.subquery())) or 0, []
