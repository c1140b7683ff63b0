"""Load unhealthy parts and the events behind them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
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
from trninv.database.tables import TABLES, is_unhealthy
from trninv.incidents.model import Location, PartKey, UnhealthyPart, part_key
from trninv.inventory.address.expressions import address_expression, node_addresses
from trninv.inventory.state.condition import Condition
from trninv.units import format_lower_bound, format_timestamp

T = TypeVar("T")

_EVENT, _NODE, _LINK, _SERVER, _DOMAIN, _CLUSTER = (
    TABLES[name] for name in ("state_event", "node", "link", "server", "domain", "cluster")
)
_BATCH_SIZE: Final = 5_000
_SPAN_BATCH_SIZE: Final = 100
_HISTORY_FROM_EVENT: ColumnElement[int] = func.coalesce(_CLUSTER.c.known_from, literal_column("0"))
_UP: ColumnElement[str] = literal_column("'up'")


class FailureEvent(NamedTuple):
    """An event by which a part itself became unhealthy."""

    change: int
    time: str
    part: PartKey


class EventSummary(NamedTuple):
    """An event's change, time, author, reason and source."""

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
    """Return the ids of unhealthy parts: with ids, PostgreSQL uses an index to load the parts themselves."""
    return connection.scalars(select(table.c.id).where(is_unhealthy(table), maybe_unhealthy(connection, table))).all()


def load_locations(connection: Connection, parts: Collection[PartKey]) -> Iterator[tuple[PartKey, Location]]:
    """Load where parts are; parts that no longer exist are omitted."""
    ids = {
        kind: sorted(number for part_kind, number in parts if part_kind == kind) for kind in ("server", "node", "link")
    }
    for row in select_by_ids(connection, _servers_query(), _SERVER.c.id, ids["server"]):
        yield ("server", row.id), Location(*row[3:8])
    yield from (
        (("node", number), location) for number, (location, _) in _node_locations(connection, ids["node"]).items()
    )
    query = select(_LINK.c.id, _LINK.c.a_id, _LINK.c.b_id)
    links = list(select_by_ids(connection, query, _LINK.c.id, ids["link"]))
    node_locations = _node_locations(connection, {end for row in links for end in row[1:]})
    yield from (
        (("link", row.id), _common_location(node_locations[row.a_id][0], node_locations[row.b_id][0])) for row in links
    )


def load_event_summaries(connection: Connection, events: Collection[int]) -> dict[int, EventSummary]:
    """Load events by their numbers."""
    batch = func.coalesce(_EVENT.c.batch, _EVENT.c.id)
    query = select(_EVENT.c.id, batch, _EVENT.c.at, _EVENT.c.who, _EVENT.c.why, _EVENT.c.source)
    return {row[0]: EventSummary(*row[1:]) for row in select_by_ids(connection, query, _EVENT.c.id, events)}


def load_failure_events(connection: Connection, spans: Sequence[tuple[datetime, datetime]]) -> Iterator[FailureEvent]:
    """Load the failure events of disjoint time spans, both ends included."""
    batch = func.coalesce(_EVENT.c.batch, _EVENT.c.id)
    query = select(batch, _EVENT.c.at, _EVENT.c.kind, _EVENT.c.part_id).where(
        _EVENT.c.kind.is_not(None), _failed_itself()
    )
    for span_batch in _batches(spans, _SPAN_BATCH_SIZE):
        is_in_spans = or_(
            *(_EVENT.c.at.between(format_lower_bound(low), format_timestamp(high)) for low, high in span_batch)
        )
        for change, time, kind, number in connection.execute(query.where(is_in_spans)):
            yield FailureEvent(change, time, part_key(kind, number))


def _failed_itself() -> ColumnElement[bool]:
    """Return the condition that a part itself became unhealthy, regardless of its server."""
    before, after = (func.coalesce(_EVENT.c[own], _EVENT.c[effective]) for own, effective in _STATE_COLUMNS)
    return and_(before == _UP, after != _UP)


def _own_state_changed() -> ColumnElement[bool]:
    """Return the condition that an event changed a part's own state, not only its server's."""
    before, after = (func.coalesce(_EVENT.c[own], _EVENT.c[effective]) for own, effective in _STATE_COLUMNS)
    return or_(before != after, and_(_EVENT.c.own_before.is_(None), _EVENT.c.own_state.is_(None)))


def _state_changed() -> ColumnElement[bool]:
    """Return the condition that an event changed a part's state, including the effect of its server."""
    return _EVENT.c.before != _EVENT.c.state


_STATE_COLUMNS: Final = (("own_before", "before"), ("own_state", "state"))


def _latest_event(kind: ColumnElement[str], key: ColumnElement[int], *where: ColumnElement[bool]) -> ColumnElement[int]:
    """Select the last event of a part that meets conditions, in the part's current cluster."""
    number = _EVENT.c.id + literal_column("0")  # otherwise PostgreSQL scans all events backwards
    query = select(func.max(number)).where(
        _EVENT.c.kind == kind, _EVENT.c.part_id == key, _EVENT.c.id > _HISTORY_FROM_EVENT
    )
    return query.where(*where).correlate(_CLUSTER, _NODE, _SERVER, _LINK).scalar_subquery()


def _servers_query(*, events: bool = False) -> Select[Any]:
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
            _HISTORY_FROM_EVENT.label("known_from"),
            _SERVER.c.state,
            _SERVER.c.factor_ppm,
            _SERVER.c.state.label("own"),
        )
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .join(_CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id)
        .order_by(_SERVER.c.id)
    )
    if not events:
        return query
    fault, last = _latest_event(kind, _SERVER.c.id, _failed_itself()), _latest_event(kind, _SERVER.c.id)
    return query.add_columns(fault.label("fault"), last.label("last"))


def _nodes_query(*, events: bool = False) -> Select[Any]:
    switch, chip, nic = TABLES["switch"], TABLES["chip"], TABLES["nic"]
    query = node_addresses(_is_selected).add_columns(
        _NODE.c.kind,
        _NODE.c.cluster_id,
        _NODE.c.domain_id,
        func.coalesce(_SERVER.c.rack_id, switch.c.rack_id).label("rack_id"),
        func.coalesce(chip.c.server_id, nic.c.server_id, switch.c.server_id).label("server_id"),
        _HISTORY_FROM_EVENT.label("known_from"),
        _NODE.c.state,
        _NODE.c.factor_ppm,
        func.coalesce(_NODE.c.own_state, _NODE.c.state).label("own"),
    )
    query = query.order_by(_NODE.c.id)
    if not events:
        return query
    server_failed = and_(_EVENT.c.before == _UP, _EVENT.c.state != _UP)
    own_failure, cascaded_failure = (
        _latest_event(_NODE.c.kind, _NODE.c.id, condition) for condition in (_failed_itself(), server_failed)
    )
    own_change, state_change = (
        _latest_event(_NODE.c.kind, _NODE.c.id, condition) for condition in (_own_state_changed(), _state_changed())
    )
    is_own = func.coalesce(_NODE.c.own_state, _NODE.c.state) != _UP
    fault, last = case((is_own, own_failure), else_=cascaded_failure), case((is_own, own_change), else_=state_change)
    return query.add_columns(fault.label("fault"), last.label("last"))


def _unhealthy_part(row: Any) -> UnhealthyPart:
    location, condition = Location(*row[3:8]), Condition(row.state, row.factor_ppm)
    events = {"failure_event": row.fault, "last_event": row.last}
    return UnhealthyPart(row.kind, row.id, row.address, condition, row.own != "up", location, (location,), **events)


def _unhealthy_links(connection: Connection) -> Iterator[UnhealthyPart]:
    kind: ColumnElement[str] = literal_column("'link'")
    query = (
        select(
            *(_LINK.c[name] for name in ("id", "a_id", "b_id", "state", "factor_ppm")),
            _latest_event(kind, _LINK.c.id, _failed_itself()).label("fault"),
            _latest_event(kind, _LINK.c.id).label("last"),
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
            failure_event=row.fault,
            last_event=row.last,
        )


def _node_locations(connection: Connection, nodes: Iterable[int]) -> dict[int, tuple[Location, str]]:
    """Load the locations and addresses of nodes."""
    return {
        row.id: (Location(*row[3:8]), row.address)
        for row in select_by_ids(connection, _nodes_query(), _NODE.c.id, nodes)
    }


def _common_location(a: Location, b: Location) -> Location:
    """Return the location that contains both locations."""
    domain, rack, server = (
        one if one == other else None for one, other in ((a.domain, b.domain), (a.rack, b.rack), (a.server, b.server))
    )
    return Location(a.cluster, domain, rack, server, a.history_from_event)


def select_by_ids(
    connection: Connection, query: Select[Any], column: ColumnElement[int], ids: Iterable[int]
) -> Iterator[Any]:
    """Return the rows of a query whose column is one of many ids."""
    selected = query.where(_is_selected(column))
    for id_batch in _batches(sorted(ids), _BATCH_SIZE):
        yield from connection.execute(selected, {_SELECTED_IDS.key: id_batch}).all()


def _is_selected(column: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that a column is one of the ids that `select_by_ids` passes."""
    return column.op("IN", is_comparison=True)(_SELECTED_IDS)


class _InlineIds(UserDefinedType[Sequence[int]]):
    """A list of ids written into the statement as one literal: parameters and single literals are slower."""

    cache_ok = True

    def literal_processor(self, *_: object) -> Callable[[Sequence[int]], str]:
        return lambda numbers: f"({', '.join(map(str, numbers))})"


_SELECTED_IDS: Final = bindparam("numbers", type_=_InlineIds(), required=True, literal_execute=True)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch
