"""What is not up, where it is, and by which events: a statement a table, however many parts there are."""

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

from trninv.incidents.model import Key, Part, Spot, key_of
from trninv.inventory.address import address_of, node_addresses
from trninv.inventory.past import among_lost
from trninv.inventory.schema import TABLES, is_not_up
from trninv.inventory.state import Condition
from trninv.timestamps import format_lower_bound, format_timestamp

T = TypeVar("T")

_EVENT, _NODE, _LINK, _SERVER, _DOMAIN, _CLUSTER = (
    TABLES[name] for name in ("state_event", "node", "link", "server", "domain", "cluster")
)
_AT_ONCE: Final = 5_000
_SPANS_AT_ONCE: Final = 100
_KNOWN_FROM: ColumnElement[int] = func.coalesce(_CLUSTER.c.known_from, literal_column("0"))
_UP: ColumnElement[str] = literal_column("'up'")


class Fault(NamedTuple):
    """An event by which a part was, by itself, not up any more."""

    change: int
    at: str
    part: Key


class Said(NamedTuple):
    """What was said of an event, and of which change it is."""

    change: int
    at: str
    who: str
    why: str
    source: str | None


def not_up(connection: Connection) -> list[Part]:
    """Everything that is not up."""
    asked = ((_SERVER, _servers(events=True)), (_NODE, _nodes(events=True)))
    placed = [
        _part(row) for table, query in asked for row in found(connection, query, table.c.id, _lost(connection, table))
    ]
    return [*placed, *_links(connection)]


def _lost(connection: Connection, table: Table) -> Sequence[int]:
    """Ids of what is not up, found apart: whatever PostgreSQL thinks of how many there are, an index finds the rest."""
    return connection.scalars(select(table.c.id).where(is_not_up(table), among_lost(connection, table))).all()


def spots(connection: Connection, parts: Collection[Key]) -> Iterator[tuple[Key, Spot]]:
    """Where parts are; what is not there any more is left out."""
    ids = {kind: sorted(number for of, number in parts if of == kind) for kind in ("server", "node", "link")}
    for row in found(connection, _servers(), _SERVER.c.id, ids["server"]):
        yield ("server", row.id), Spot(*row[3:8])
    yield from ((("node", number), spot) for number, (spot, _) in _at(connection, ids["node"]).items())
    joined = select(_LINK.c.id, _LINK.c.a_id, _LINK.c.b_id)
    links = list(found(connection, joined, _LINK.c.id, ids["link"]))
    at = _at(connection, {end for row in links for end in row[1:]})
    yield from ((("link", row.id), _between(at[row.a_id][0], at[row.b_id][0])) for row in links)


def said(connection: Connection, events: Collection[int]) -> dict[int, Said]:
    """Events by their numbers."""
    batch = func.coalesce(_EVENT.c.batch, _EVENT.c.id)
    query = select(_EVENT.c.id, batch, _EVENT.c.at, _EVENT.c.who, _EVENT.c.why, _EVENT.c.source)
    return {row[0]: Said(*row[1:]) for row in found(connection, query, _EVENT.c.id, events)}


def faults(connection: Connection, spans: Sequence[tuple[datetime, datetime]]) -> Iterator[Fault]:
    """The faults of spans of time that have none in common, both ends included."""
    batch = func.coalesce(_EVENT.c.batch, _EVENT.c.id)
    query = select(batch, _EVENT.c.at, _EVENT.c.kind, _EVENT.c.part_id).where(_EVENT.c.kind.is_not(None), _failed())
    for part in _batches(spans, _SPANS_AT_ONCE):
        within = or_(*(_EVENT.c.at.between(format_lower_bound(low), format_timestamp(high)) for low, high in part))
        for change, at, kind, number in connection.execute(query.where(within)):
            yield Fault(change, at, key_of(kind, number))


def _failed() -> ColumnElement[bool]:
    """Whether an event made its part not up by itself, whatever its server is."""
    before, after = (func.coalesce(_EVENT.c[own], _EVENT.c[all_in_all]) for own, all_in_all in _STATES)
    return and_(before == _UP, after != _UP)


def _turned() -> ColumnElement[bool]:
    """Whether an event changed what a part is by itself, and not only what its server is."""
    before, after = (func.coalesce(_EVENT.c[own], _EVENT.c[all_in_all]) for own, all_in_all in _STATES)
    return or_(before != after, and_(_EVENT.c.own_before.is_(None), _EVENT.c.own_state.is_(None)))


def _moved() -> ColumnElement[bool]:
    """Whether an event changed a part's state, its server's included."""
    return _EVENT.c.before != _EVENT.c.state


_STATES: Final = (("own_before", "before"), ("own_state", "state"))


def _latest(kind: ColumnElement[str], key: ColumnElement[int], *where: ColumnElement[bool]) -> ColumnElement[int]:
    """The last event of a part that meets conditions, of the same cluster as it is now."""
    number = _EVENT.c.id + literal_column("0")  # else PostgreSQL reads all events backwards
    query = select(func.max(number)).where(_EVENT.c.kind == kind, _EVENT.c.part_id == key, _EVENT.c.id > _KNOWN_FROM)
    return query.where(*where).correlate(_CLUSTER, _NODE, _SERVER, _LINK).scalar_subquery()


def _servers(*, events: bool = False) -> Select[Any]:
    kind: ColumnElement[str] = literal_column("'server'")
    query = (
        select(
            _SERVER.c.id,
            address_of("server").label("address"),
            kind.label("kind"),
            _CLUSTER.c.id.label("cluster_id"),
            _SERVER.c.domain_id,
            _SERVER.c.rack_id,
            _SERVER.c.id.label("server_id"),
            _KNOWN_FROM.label("known_from"),
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
    fault, last = _latest(kind, _SERVER.c.id, _failed()), _latest(kind, _SERVER.c.id)
    return query.add_columns(fault.label("fault"), last.label("last"))


def _nodes(*, events: bool = False) -> Select[Any]:
    switch, chip, nic = TABLES["switch"], TABLES["chip"], TABLES["nic"]
    query = node_addresses(_among).add_columns(
        _NODE.c.kind,
        _NODE.c.cluster_id,
        _NODE.c.domain_id,
        func.coalesce(_SERVER.c.rack_id, switch.c.rack_id).label("rack_id"),
        func.coalesce(chip.c.server_id, nic.c.server_id, switch.c.server_id).label("server_id"),
        _KNOWN_FROM.label("known_from"),
        _NODE.c.state,
        _NODE.c.factor_ppm,
        func.coalesce(_NODE.c.own_state, _NODE.c.state).label("own"),
    )
    query = query.order_by(_NODE.c.id)
    if not events:
        return query
    with_server = and_(_EVENT.c.before == _UP, _EVENT.c.state != _UP)
    own, along = (_latest(_NODE.c.kind, _NODE.c.id, condition) for condition in (_failed(), with_server))
    turned, moved = (_latest(_NODE.c.kind, _NODE.c.id, condition) for condition in (_turned(), _moved()))
    is_own = func.coalesce(_NODE.c.own_state, _NODE.c.state) != _UP
    fault, last = case((is_own, own), else_=along), case((is_own, turned), else_=moved)
    return query.add_columns(fault.label("fault"), last.label("last"))


def _part(row: Any) -> Part:
    spot, condition = Spot(*row[3:8]), Condition(row.state, row.factor_ppm)
    events = {"fault": row.fault, "last": row.last}
    return Part(row.kind, row.id, row.address, condition, row.own != "up", spot, (spot,), **events)


def _links(connection: Connection) -> Iterator[Part]:
    kind: ColumnElement[str] = literal_column("'link'")
    query = (
        select(
            *(_LINK.c[name] for name in ("id", "a_id", "b_id", "state", "factor_ppm")),
            _latest(kind, _LINK.c.id, _failed()).label("fault"),
            _latest(kind, _LINK.c.id).label("last"),
        )
        .join(_NODE, _NODE.c.id == _LINK.c.a_id)
        .join(_CLUSTER, _CLUSTER.c.id == _NODE.c.cluster_id)
        .order_by(_LINK.c.id)
    )
    rows = list(found(connection, query, _LINK.c.id, _lost(connection, _LINK)))
    at = _at(connection, {end for row in rows for end in (row.a_id, row.b_id)})
    for row in rows:
        (a, a_address), (b, b_address) = at[row.a_id], at[row.b_id]
        yield Part(
            kind="link",
            id=row.id,
            address=f"{a_address}--{b_address}",
            condition=Condition(row.state, row.factor_ppm),
            is_own=True,
            spot=_between(a, b),
            touches=(a, b),
            ends=(row.a_id, row.b_id),
            fault=row.fault,
            last=row.last,
        )


def _at(connection: Connection, nodes: Iterable[int]) -> dict[int, tuple[Spot, str]]:
    """Where nodes are, and their addresses."""
    return {row.id: (Spot(*row[3:8]), row.address) for row in found(connection, _nodes(), _NODE.c.id, nodes)}


def _between(a: Spot, b: Spot) -> Spot:
    """What holds both."""
    domain, rack, server = (
        one if one == other else None for one, other in ((a.domain, b.domain), (a.rack, b.rack), (a.server, b.server))
    )
    return Spot(a.cluster, domain, rack, server, a.known_from)


def found(connection: Connection, query: Select[Any], column: ColumnElement[int], ids: Iterable[int]) -> Iterator[Any]:
    """Rows of a query whose column is one of many numbers."""
    narrowed = query.where(_among(column))
    for part in _batches(sorted(ids), _AT_ONCE):
        yield from connection.execute(narrowed, {_NUMBERS.key: part}).all()


def _among(column: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether a column is one of the numbers that `found` looks for."""
    return column.op("IN", is_comparison=True)(_NUMBERS)


class _Numbers(UserDefinedType[Sequence[int]]):
    """A list that stands in the statement: parameters take longer, and so do literals one by one."""

    cache_ok = True

    def literal_processor(self, *_: object) -> Callable[[Sequence[int]], str]:
        return lambda numbers: f"({', '.join(map(str, numbers))})"


_NUMBERS: Final = bindparam("numbers", type_=_Numbers(), required=True, literal_execute=True)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while part := list(islice(remaining, size)):
        yield part
