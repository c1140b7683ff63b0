"""Find the states, jobs, cordons and bindings that differ between two points in time, for `trninv diff`.

A change that was undone before the second point in time is not a difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import CTE, ColumnElement, Connection, FromClause, Row, Select, and_, case, func, or_, select, true

from trninv.database.as_of import as_of_time
from trninv.database.postgresql import hash_in_memory
from trninv.database.tables import PART_KINDS, TABLES
from trninv.errors import InvalidTimeError, WrongLevelError
from trninv.history.event_parts import container_address, part_exists
from trninv.history.events import last_event_number
from trninv.history.point_in_time import PointInTime, Time, resolve_point_in_time
from trninv.history.scope_filter import in_scope
from trninv.inventory.address.expressions import address_expression, concat, join_containers
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import CONTAINERS, rows_in
from trninv.inventory.schema.thing import Sql
from trninv.inventory.state.history_start import history_start_error
from trninv.units import format_timestamp

_EVENT, _SERVER, _JOB, _ALLOCATION = (TABLES[name] for name in ("state_event", "server", "job", "allocation"))
_CORDON, _BINDING = TABLES["cordon"], TABLES["binding"]
GROUPINGS: Final = ("place", "kind", "part")
"""How `state_changes` can group parts."""
_MAX_OFFSET: Final = 2**63 - 1  # the largest that both SQLite and PostgreSQL accept
_CONDITION_COLUMNS: Final = ("before", "factor_before", "after", "factor")
"""State and capacity factor (if degraded) of a part at the first point in time, then at the last one."""


@dataclass(frozen=True, slots=True)
class DiffRange:
    """Two points in time, the earlier first, and the place to compare; the place None is the whole fleet."""

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
        first = resolve_point_in_time(connection, since)
        last = now if until is None else resolve_point_in_time(connection, until)
        for point, text in ((last, until), (first, since)):
            if point.time > now.time:
                raise InvalidTimeError(
                    f"{text} is after {now.time.isoformat()}, the time that is read; use an earlier time"
                )
        if (first.event, first.time) > (last.event, last.time):
            raise InvalidTimeError(f"{since} is after {'now' if until is None else until}; name the earlier time first")
        for cluster in first.omitted:
            if place is None:
                raise InvalidTimeError(f"{cluster}; name a later time, or another cluster")
            if place.cluster_id == cluster.id:
                raise history_start_error(connection, cluster)
        return cls(first, last, place)


@dataclass(frozen=True, slots=True)
class DiffPage:
    """How to group differences in state (one of GROUPINGS), and which page of the results to return."""

    group_by: str = "place"
    limit: int = 1_000
    offset: int = 0


DiffRows = tuple[int, list[Row[Any]]]
"""The total number of rows, and the rows of one page."""


class ChangeCount(NamedTuple):
    """How many parts of a kind differ, and how many changed and changed back."""

    kind: str
    differ: int
    back: int


def change_counts(connection: Connection, span: DiffRange, state_rows: Sequence[Row[Any]]) -> list[ChangeCount]:
    """Return the count of each kind with changes; rows of `state_changes`, if there are any, have it already."""
    if state_rows:
        packed = state_rows[0].counts
    else:
        packed = connection.scalar(_packed_counts(_net_changes(connection, span).cte("net")))
    counts = (kind_counts.split() for kind_counts in (packed or "").split(","))
    unordered = (ChangeCount(kind, int(differ), int(back)) for kind, differ, back in filter(None, counts))
    return sorted(unordered, key=lambda count: PART_KINDS.index(count.kind))


def _packed_counts(net: CTE) -> Select[Any]:
    """Select the fields of all change counts as one text, which the statement that lists changes can select too."""
    differ = func.sum(case((net.c.differs, 1), else_=0))
    counts = select(net.c.kind, differ.label("differ"), (func.count() - differ).label("back")).group_by(net.c.kind)
    by_kind = counts.subquery("by_kind")
    return select(func.aggregate_strings(concat(by_kind.c.kind, " ", by_kind.c.differ, " ", by_kind.c.back), ","))


def state_changes(connection: Connection, span: DiffRange, page: DiffPage) -> DiffRows:
    """Return groups of parts whose state differs, the latest change first; see also `change_counts`.

    The parts of a group had the same condition at the first point in time, and the same at the last one. If grouped by
    place, they also share the last change and a container: the server, for links the domain, and for network nodes and
    their uplinks the cluster.
    """
    net = _net_changes(connection, span).cte("net")  # used twice, so that both databases compute it once
    group_columns = {"place": (net.c.container, net.c.batch), "kind": (net.c.kind,), "part": (net.c.address,)}
    part_or_container = case((func.count() == 1, func.max(net.c.address)), else_=func.max(net.c.container))
    grouped = (
        select(
            *(net.c[name] for name in _CONDITION_COLUMNS),
            func.max(net.c.last).label("event"),
            (func.max(net.c.kind) if page.group_by == "kind" else part_or_container).label("name"),
            *(func.sum(case((net.c.kind == kind, 1), else_=0)).label(kind) for kind in PART_KINDS),
        )
        .where(net.c.differs)
        .group_by(*group_columns[page.group_by], *(net.c[name] for name in _CONDITION_COLUMNS))
        .subquery("grouped")
    )
    event = _EVENT.alias("last_event")
    counts = _packed_counts(net).scalar_subquery().label("counts")
    query = select(grouped, event.c.at, event.c.who, event.c.why, counts).join(event, event.c.id == grouped.c.event)
    conditions = (grouped.c[name] for name in _CONDITION_COLUMNS)
    return _page_rows(connection, query, page, grouped.c.event.desc(), grouped.c.name, *conditions)


def job_changes(connection: Connection, span: DiffRange, page: DiffPage) -> DiffRows:
    """Return the jobs whose allocation in the place differs, with numbers of chips before, after, lost and gained."""
    if span.place and span.place.level not in CONTAINERS["allocation"]:
        return 0, []
    is_valid, (before, after) = _validity(_ALLOCATION, span)
    is_in_scope = true() if span.place is None else rows_in(span.place, "allocation")
    changed_at = func.max(case((after, _ALLOCATION.c.started_at), else_=_ALLOCATION.c.ended_at)).label("at")
    chips = (
        select(_ALLOCATION.c.job_id, _max_flag(before, "before"), _max_flag(after, "after"), changed_at)
        .where(is_valid, is_in_scope)
        .group_by(_ALLOCATION.c.job_id, _ALLOCATION.c.chip_id)
        .subquery("chips")
    )
    lost = func.sum(case((chips.c.before > chips.c.after, 1), else_=0))
    gained = func.sum(case((chips.c.before < chips.c.after, 1), else_=0))
    last_changed_at = func.max(case((chips.c.before != chips.c.after, chips.c.at)))
    sums = (
        select(
            chips.c.job_id,
            func.sum(chips.c.before).label("before"),
            func.sum(chips.c.after).label("after"),
            lost.label("lost"),
            gained.label("gained"),
            last_changed_at.label("at"),
        )
        .group_by(chips.c.job_id)
        .having(lost + gained > 0)
        .subquery("sums")
    )
    query = select(sums, _JOB.c.name, _JOB.c.system, _JOB.c.external_id, _JOB.c.who)
    return _page_rows(connection, query.join(_JOB, _JOB.c.id == sums.c.job_id), page, _JOB.c.name, _JOB.c.id)


def cordon_changes(connection: Connection, span: DiffRange, page: DiffPage) -> DiffRows:
    """Return the servers that were cordoned at only one of the two times."""
    if span.place and span.place.level not in CONTAINERS["cordon"]:
        return 0, []
    is_valid, (before, after) = _validity(_CORDON, span)
    changed_at = func.max(case((after, _CORDON.c.started_at), else_=_CORDON.c.ended_at)).label("at")
    who, why = (func.max(case((after, _CORDON.c[name]))).label(name) for name in ("who", "why"))
    cordoned = (
        select(_CORDON.c.server_id, _max_flag(before, "before"), _max_flag(after, "after"), changed_at, who, why)
        .where(is_valid)
        .group_by(_CORDON.c.server_id)
        .subquery("cordoned")
    )
    address = address_expression("server")
    query = (
        select(cordoned, address.label("address"))
        .join(join_containers("server"), _SERVER.c.id == cordoned.c.server_id)
        .where(
            cordoned.c.before != cordoned.c.after,
            true() if span.place is None else rows_in(span.place, "server"),
        )
    )
    return _page_rows(connection, query, page, _SERVER.c.id)


def binding_changes(connection: Connection, span: DiffRange, page: DiffPage) -> DiffRows:
    """Return the slots whose bound instance or host differs between the two times, or are bound at only one."""
    if span.place and span.place.level not in CONTAINERS["binding"]:
        return 0, []
    is_valid, (before, after) = _validity(_BINDING, span)
    machines = {
        f"{name}_{when}": func.max(case((is_valid_then, _BINDING.c[name])))
        for when, is_valid_then in (("before", before), ("after", after))
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
        .where(is_valid, true() if span.place is None else rows_in(span.place, "binding"))
        .group_by(_BINDING.c.address)
        .subquery("slot")
    )
    differs = (slot.c[f"{name}_before"].is_distinct_from(slot.c[f"{name}_after"]) for name in ("instance", "host"))
    return _page_rows(connection, select(slot).where(or_(*differs)), page, slot.c.address)


def _validity(table: FromClause, span: DiffRange) -> tuple[Sql, tuple[Sql, Sql]]:
    """Return the condition that a row is valid at either time, and a pair of conditions, one for each time."""

    def is_valid_at(time: datetime) -> Sql:
        time_text = format_timestamp(time)
        return and_(table.c.started_at <= time_text, or_(table.c.ended_at.is_(None), table.c.ended_at > time_text))

    first_and_last = is_valid_at(span.first.time), is_valid_at(span.last.time)
    return or_(*first_and_last), first_and_last


def _max_flag(condition: Sql, name: str) -> ColumnElement[int]:
    """Return 1 if any row of a group meets a condition, else 0."""
    return func.max(case((condition, 1), else_=0)).label(name)


def _net_changes(connection: Connection, span: DiffRange) -> Select[Any]:
    """Select each existing part with events in the range, and its conditions before the first and after the last one.

    If the effective conditions are equal, the part's own conditions, without the effect of its server, are compared and
    shown, because the server's condition may hide the difference.
    """
    hash_in_memory(connection)
    first, last = (_EVENT.alias(name) for name in ("first", "last"))
    ends = (
        select(
            _EVENT.c.kind, _EVENT.c.part_id, func.min(_EVENT.c.id).label("first"), func.max(_EVENT.c.id).label("last")
        )
        .where(_is_in_range(_EVENT, span))
        .group_by(_EVENT.c.kind, _EVENT.c.part_id)
        .subquery("ends")
    )
    before = _EventCondition(first, "before", "factor_ppm_before", "own_before", "own_factor_ppm_before")
    after = _EventCondition(last, "state", "factor_ppm", "own_state", "own_factor_ppm")
    is_same = and_(*(a.is_not_distinct_from(b) for a, b in zip(before.effective, after.effective, strict=True)))
    own_same = and_(*(a.is_not_distinct_from(b) for a, b in zip(before.own, after.own, strict=True)))
    values = [
        case((is_same, own), else_=effective)
        for condition in (before, after)
        for own, effective in zip(condition.own, condition.effective, strict=True)
    ]
    differs = ~and_(is_same, own_same)
    query = (
        select(
            ends,
            last.c.address,
            func.coalesce(last.c.batch, last.c.id).label("batch"),
            differs.label("differs"),
            *(column.label(name) for name, column in zip(_CONDITION_COLUMNS, values, strict=True)),
        )
        .join(first, first.c.id == ends.c.first)
        .join(last, last.c.id == ends.c.last)
        .where(_is_in_range(first, span), _is_in_range(last, span))
    )
    if span.place is not None:
        in_place = select(_EVENT.c.id).where(_is_in_range(_EVENT, span), in_scope(connection, span.place.address))
        query = query.where(last.c.id.in_(in_place))
    # materialized: PostgreSQL expects few rows to meet the conditions below, and would then look up each event
    changed = query.cte("changed").prefix_with("MATERIALIZED")
    container = case((changed.c.differs, container_address(changed))).label("container")  # no other part is listed
    return select(changed, container).where(part_exists(changed))


def _is_in_range(event: FromClause, span: DiffRange) -> ColumnElement[bool]:
    """Return the condition that an event changed a part's state in the range."""
    return and_(event.c.id > span.first.event, event.c.id <= span.last.event, event.c.kind.is_not(None))


class _EventCondition:
    """Columns (state, factor) of an event.

    ``effective`` is the condition of a part; ``own`` is its condition without the effect of its server.
    """

    def __init__(self, event: FromClause, state: str, factor: str, own_state: str, own_factor: str) -> None:
        self.effective = event.c[state], event.c[factor]
        has_own = event.c[own_state].is_not(None)
        self.own = tuple(
            case((has_own, event.c[name]), else_=effective)
            for name, effective in zip((own_state, own_factor), self.effective, strict=True)
        )


def _page_rows(connection: Connection, query: Select[Any], page: DiffPage, *order: ColumnElement[Any]) -> DiffRows:
    """Return a page of a query's rows and the total number of rows, in one statement unless the page is empty."""
    counted = query.add_columns(func.count().over().label("total")).order_by(*order)
    rows = list(connection.execute(counted.limit(page.limit).offset(min(page.offset, _MAX_OFFSET))))
    if rows or not page.offset:
        return (rows[0].total if rows else 0), rows
    return connection.scalar(select(func.count()).select_from(query.subquery())) or 0, []
