"""Load unhealthy parts, where they are, and the events that made them unhealthy, for `trninv.incidents.grouping`.

A part of a server has a state of its own, and an effective state: the worse of its own and its server's. Servers and
links have only one state. An event has both states, before and after it; the own state is null if it is the effective
one. A change is one command or import; its number is that of its first event, the ``batch`` of all its events.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, Self

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Table,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy.types import UserDefinedType

from trninv.database.as_of import maybe_unhealthy
from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES, is_unhealthy
from trninv.incidents.model import Location, PartKey, UnhealthyPart, part_key
from trninv.inventory.address.expressions import address_expression, join_containers, node_addresses
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.history_start import seeded_after
from trninv.units import format_lower_bound, format_timestamp

_EVENT, _NODE, _LINK, _SERVER, _DOMAIN, _CLUSTER = (
    TABLES[name] for name in ("state_event", "node", "link", "server", "domain", "cluster")
)
MAX_EVENT: Final = 2**31 - 1
"""The largest number that an event can have."""
_SPAN_BATCH_SIZE: Final = 100
"""The most time spans in one SQL statement."""
_UP: ColumnElement[str] = literal_column("'up'")


class FailureEvent(NamedTuple):
    """An event that made a part itself unhealthy, not only its server; ``change`` is the number of its change."""

    change: int
    time: str
    part: PartKey


class PartSite(NamedTuple):
    """Where a part is: its location, those of its ends if it is a link, and the ids of these; see `UnhealthyPart`."""

    location: Location
    locations: tuple[Location, ...]
    ends: tuple[int, ...] = ()

    @classmethod
    def whole(cls, location: Location) -> Self:
        """Return the site of a part that is in one place."""
        return cls(location, (location,))


class EventSummary(NamedTuple):
    """The number of an event's change, and the event's time, author, reason and source."""

    change: int
    time: str
    who: str
    why: str
    source: str | None


def load_unhealthy_parts(connection: Connection) -> list[UnhealthyPart]:
    """Load every unhealthy part."""
    queries = ((_SERVER, _servers_query(events=True)), (_NODE, _nodes_query(events=True)))
    parts = [
        _unhealthy_part(row)
        for table, query in queries
        for row in select_by_ids(connection, query, table.c.id, _unhealthy_ids(connection, table))
    ]
    return [*parts, *_unhealthy_links(connection)]


def _unhealthy_ids(connection: Connection, table: Table) -> Sequence[int]:
    """Return the ids of unhealthy parts; with these ids, PostgreSQL can use an index to load the parts.

    `maybe_unhealthy` only narrows the search when a past state is read.
    """
    return connection.scalars(select(table.c.id).where(is_unhealthy(table), maybe_unhealthy(connection, table))).all()


def load_locations(connection: Connection, parts: Collection[PartKey]) -> Iterator[tuple[PartKey, Location]]:
    """Yield parts with their locations; parts that no longer exist are omitted."""
    return ((key, site.location) for key, site in load_sites(connection, parts))


def load_sites(connection: Connection, parts: Collection[PartKey]) -> Iterator[tuple[PartKey, PartSite]]:
    """Yield parts with where they are; parts that no longer exist are omitted."""
    ids = {
        kind: sorted(number for part_kind, number in parts if part_kind == kind) for kind in ("server", "node", "link")
    }
    for row in select_by_ids(connection, _servers_query(), _SERVER.c.id, ids["server"]):
        yield ("server", row.id), PartSite.whole(_location(row))
    for number, (location, _) in _node_locations(connection, ids["node"]).items():
        yield ("node", number), PartSite.whole(location)
    query = select(_LINK.c.id, _LINK.c.a_id, _LINK.c.b_id)
    links = list(select_by_ids(connection, query, _LINK.c.id, ids["link"]))
    node_locations = _node_locations(connection, {end for row in links for end in (row.a_id, row.b_id)})
    for row in links:
        (a, _), (b, _) = node_locations[row.a_id], node_locations[row.b_id]
        yield ("link", row.id), PartSite(_common_location(a, b), (a, b), (row.a_id, row.b_id))


def load_event_summaries(connection: Connection, events: Collection[int]) -> dict[int, EventSummary]:
    """Load events by their numbers."""
    change_number = func.coalesce(_EVENT.c.batch, _EVENT.c.id)
    query = select(_EVENT.c.id, change_number, _EVENT.c.at, _EVENT.c.who, _EVENT.c.why, _EVENT.c.source)
    rows = select_by_ids(connection, query, _EVENT.c.id, events)
    return {number: EventSummary(*summary) for number, *summary in rows}


def load_failure_events(connection: Connection, spans: Sequence[tuple[datetime, datetime]]) -> Iterator[FailureEvent]:
    """Yield the failure events of disjoint time spans, both ends included."""
    change_number = func.coalesce(_EVENT.c.batch, _EVENT.c.id)
    query = select(change_number, _EVENT.c.at, _EVENT.c.kind, _EVENT.c.part_id).where(
        _EVENT.c.kind.is_not(None), failed_itself()
    )
    for change, time, kind, number in in_spans(connection, query, spans):
        yield FailureEvent(change, time, part_key(kind, number))


def in_spans(connection: Connection, query: Select[Any], spans: Sequence[tuple[datetime, datetime]]) -> Iterator[Any]:
    """Yield the rows of a query for events of disjoint time spans, both ends included."""
    for span_batch in batches(spans, _SPAN_BATCH_SIZE):
        is_in_spans = or_(
            *(_EVENT.c.at.between(format_lower_bound(low), format_timestamp(high)) for low, high in span_batch)
        )
        yield from connection.execute(query.where(is_in_spans)).all()


def failed_itself(event: FromClause = _EVENT) -> ColumnElement[bool]:
    """Return the condition that a part itself became unhealthy, regardless of its server."""
    before, after = (func.coalesce(event.c[own], event.c[effective]) for own, effective in STATE_COLUMNS)
    return and_(before == _UP, after != _UP)


def _own_state_changed() -> ColumnElement[bool]:
    """Return the condition that an event changed a part's own state, not only its server's."""
    before, after = (func.coalesce(_EVENT.c[own], _EVENT.c[effective]) for own, effective in STATE_COLUMNS)
    # If both own states are null, they are the effective ones, so the event is about the part itself. It may change
    # only the part's factor, the fraction of bandwidth that a degraded part has.
    return or_(before != after, and_(_EVENT.c.own_before.is_(None), _EVENT.c.own_state.is_(None)))


def _state_changed() -> ColumnElement[bool]:
    """Return the condition that an event changed a part's state, including the effect of its server."""
    return _EVENT.c.before != _EVENT.c.state


STATE_COLUMNS: Final = (("own_before", "before"), ("own_state", "state"))
"""Columns of the own and the effective state, before and after an event."""


def _latest_event(
    kind: ColumnElement[str], part_id: ColumnElement[int], *conditions: ColumnElement[bool]
) -> ColumnElement[int]:
    """Return a subquery: the number of an unhealthy part's last event that meets conditions.

    It is no event of an earlier cluster with the same ids: parts are up when their cluster is seeded.
    """
    number = _EVENT.c.id + literal_column("0")  # without "+ 0", PostgreSQL scans all events backwards
    query = select(func.max(number)).where(_EVENT.c.kind == kind, _EVENT.c.part_id == part_id, *conditions)
    return query.correlate(_NODE, _SERVER, _LINK).scalar_subquery()


def _servers_query(*, events: bool = False) -> Select[Any]:
    """Return a query for all servers with the columns that `_unhealthy_part` reads, event columns only if requested."""
    kind: ColumnElement[str] = literal_column("'server'")
    query = (
        select(
            _SERVER.c.id,
            address_expression("server").label("address"),
            kind.label("kind"),
            _CLUSTER.c.id.label("cluster_id"),
            _SERVER.c.domain_id,
            _SERVER.c.rack_id,
            _SERVER.c.id.label("server_id"),
            seeded_after().label("seeded_after"),
            _SERVER.c.state,
            _SERVER.c.factor_ppm,
            _SERVER.c.state.label("own_state"),
        )
        .select_from(join_containers("server"))
        .order_by(_SERVER.c.id)
    )
    if not events:
        return query
    failure, last = _latest_event(kind, _SERVER.c.id, failed_itself()), _latest_event(kind, _SERVER.c.id)
    return query.add_columns(failure.label("failure_event"), last.label("last_event"))


def _nodes_query(*, events: bool = False) -> Select[Any]:
    """Return a query for all nodes with the columns that `_unhealthy_part` reads, event columns only if requested.

    If a node is unhealthy only because of its server, the events are those that changed its effective state.
    """
    switch, chip, nic = TABLES["switch"], TABLES["chip"], TABLES["nic"]
    own_state = func.coalesce(_NODE.c.own_state, _NODE.c.state)
    query = node_addresses(_is_selected).add_columns(
        _NODE.c.kind,
        _NODE.c.cluster_id,
        _NODE.c.domain_id,
        func.coalesce(_SERVER.c.rack_id, switch.c.rack_id).label("rack_id"),
        func.coalesce(chip.c.server_id, nic.c.server_id, switch.c.server_id).label("server_id"),
        seeded_after().label("seeded_after"),
        _NODE.c.state,
        _NODE.c.factor_ppm,
        own_state.label("own_state"),
    )
    query = query.order_by(_NODE.c.id)
    if not events:
        return query
    became_unhealthy = and_(_EVENT.c.before == _UP, _EVENT.c.state != _UP)
    own_failure, cascaded_failure = (
        _latest_event(_NODE.c.kind, _NODE.c.id, condition) for condition in (failed_itself(), became_unhealthy)
    )
    own_change, state_change = (
        _latest_event(_NODE.c.kind, _NODE.c.id, condition) for condition in (_own_state_changed(), _state_changed())
    )
    failure, last = (
        case((own_state != _UP, own_event), else_=effective_event)
        for own_event, effective_event in ((own_failure, cascaded_failure), (own_change, state_change))
    )
    return query.add_columns(failure.label("failure_event"), last.label("last_event"))


def _unhealthy_part(row: Any) -> UnhealthyPart:
    """Return the part that a row of `_servers_query` or `_nodes_query` describes."""
    location = _location(row)
    return UnhealthyPart(
        kind=row.kind,
        id=row.id,
        address=row.address,
        condition=Condition(row.state, row.factor_ppm),
        failed_itself=row.own_state != "up",
        location=location,
        locations=(location,),
        failure_event=row.failure_event,
        last_event=row.last_event,
    )


def _location(row: Any) -> Location:
    """Return the location that a row of `_servers_query` or `_nodes_query` describes."""
    return Location(row.cluster_id, row.domain_id, row.rack_id, row.server_id, row.seeded_after)


def _unhealthy_links(connection: Connection) -> Iterator[UnhealthyPart]:
    """Yield every unhealthy link; its state is always its own, whatever the states of its ends."""
    kind: ColumnElement[str] = literal_column("'link'")
    query = (
        select(
            *(_LINK.c[name] for name in ("id", "a_id", "b_id", "state", "factor_ppm")),
            _latest_event(kind, _LINK.c.id, failed_itself()).label("failure_event"),
            _latest_event(kind, _LINK.c.id).label("last_event"),
        )
        .join(_NODE, _NODE.c.id == _LINK.c.a_id)
        .join(_CLUSTER, _CLUSTER.c.id == _NODE.c.cluster_id)
        .order_by(_LINK.c.id)
    )
    rows = list(select_by_ids(connection, query, _LINK.c.id, _unhealthy_ids(connection, _LINK)))
    node_locations = _node_locations(connection, {end for row in rows for end in (row.a_id, row.b_id)})
    for row in rows:
        (a, a_address), (b, b_address) = node_locations[row.a_id], node_locations[row.b_id]
        yield UnhealthyPart(
            kind="link",
            id=row.id,
            address=f"{a_address}--{b_address}",
            condition=Condition(row.state, row.factor_ppm),
            failed_itself=True,
            location=_common_location(a, b),
            locations=(a, b),
            ends=(row.a_id, row.b_id),
            failure_event=row.failure_event,
            last_event=row.last_event,
        )


def _node_locations(connection: Connection, nodes: Iterable[int]) -> dict[int, tuple[Location, str]]:
    """Return the locations and addresses of nodes, by id."""
    return {
        row.id: (_location(row), row.address) for row in select_by_ids(connection, _nodes_query(), _NODE.c.id, nodes)
    }


def _common_location(a: Location, b: Location) -> Location:
    """Return the smallest location that contains both locations, which are in one cluster."""
    return Location(
        cluster=a.cluster,
        domain=a.domain if a.domain == b.domain else None,
        rack=a.rack if a.rack == b.rack else None,
        server=a.server if a.server == b.server else None,
        seeded_after=a.seeded_after,
    )


def select_by_ids(
    connection: Connection, query: Select[Any], column: ColumnElement[int], ids: Iterable[int]
) -> Iterator[Any]:
    """Yield the rows of a query whose ``column`` is one of ``ids``, with one statement per batch of ids."""
    selected = query.where(_is_selected(column))
    for id_batch in batches(sorted(ids)):
        yield from connection.execute(selected, {_SELECTED_IDS.key: id_batch}).all()


def _is_selected(column: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that a column is one of the ids that `select_by_ids` passes."""
    return column.op("IN", is_comparison=True)(_SELECTED_IDS)


class _InlineIds(UserDefinedType[Sequence[int]]):
    """A list of ids, written into the statement as one literal; a parameter or literal for each id is slower."""

    cache_ok = True

    def literal_processor(self, *_: object) -> Callable[[Sequence[int]], str]:
        return lambda numbers: f"({', '.join(map(str, numbers))})"


_SELECTED_IDS: Final = bindparam("numbers", type_=_InlineIds(), required=True, literal_execute=True)
"""The parameter for the ids of one batch."""
