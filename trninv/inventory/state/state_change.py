"""Set the state of parts, and refuse a change of parts that changed since the caller read them.

`trninv set`, GraphQL's mutations and `trninv.reconcile` change states with `set_state`. Other packages use the SQL
expressions here to recognize cascaded events: those of a server's parts that followed the server's own event.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    Update,
    and_,
    bindparam,
    false,
    func,
    literal_column,
    select,
    update,
)

from trninv.database.tables import NODE_KINDS, TABLES
from trninv.errors import ConflictError, InvalidArgumentError, WrongLevelError
from trninv.inventory.address.lookup import Place, resolve
from trninv.inventory.address.syntax import expand_chip_ranges
from trninv.inventory.state.author import check_author
from trninv.inventory.state.condition import UP, Condition, condition_from_row, effective_condition
from trninv.inventory.state.hash_chain import lock_events, record_change

_EVENT = TABLES["state_event"]


def refuse_if_changed(connection: Connection, places: Iterable[Place], event: int) -> None:
    """Refuse if one of `places` changed after event number `event`; block other changes until the transaction ends.

    Raises
    ------
    ConflictError
        A part changed; the message names the last change of the first such part.
    InvalidArgumentError
        There is no such event.
    """
    lock_events(connection)
    newest = connection.scalar(select(func.max(_EVENT.c.id))) or 0
    if not 0 <= event <= newest:
        raise InvalidArgumentError(f"unchanged since event {event}: there is no such event, the last one is {newest}")
    for place in places:
        is_of_part = _EVENT.c.kind == place.level, _EVENT.c.part_id == place.id
        later = select(_EVENT).where(*is_of_part, _EVENT.c.id > event).order_by(_EVENT.c.id.desc()).limit(1)
        if last := connection.execute(later).first():
            change = f"{last.address} went from {last.before} to {last.state} at {last.at[:19]}Z"
            author = f"{last.who:.80}: {last.why:.200}"
            raise ConflictError(f"{change} ({author}), after event {event}: read its state again; nothing was changed")


@dataclass(frozen=True, slots=True)
class ConditionChange:
    """A part's condition before and after a change."""

    address: str
    before: Condition
    after: Condition


def set_state(
    connection: Connection,
    addresses: Iterable[str],
    condition: Condition,
    *,
    why: str,
    who: str,
    only_carrying: bool = False,
    source: str = "command",
    unchanged_since: int | None = None,
) -> list[ConditionChange]:
    """Set the condition of parts, with author and reason; parts that already have it are skipped.

    All parts, including those that take on their server's state, belong to one change; triggers write its events.

    Parameters
    ----------
    addresses
        Servers, chips (ranges such as c0-3 too), switches, NICs, network nodes and links (A--B).
    only_carrying
        Skip parts that are down or in maintenance already.
    source
        Where the change comes from: one of EVENT_SOURCES.
    unchanged_since
        Number of the newest event when the caller read the parts; None: do not check.

    Raises
    ------
    InvalidArgumentError
        The reason is missing or too long, or there is no such source.
    WrongLevelError
        An address names something without a state.
    ConflictError
        A part changed after `unchanged_since`.
    """
    check_author(who, why)
    places = [resolve(connection, address) for address in expand_chip_ranges(addresses)]
    for place in places:
        if place.level not in ("server", "link", *NODE_KINDS):
            allowed = "server, chip, switch, NIC, network node or link"
            raise WrongLevelError(f"{place.address} is a {place.level}, which has no state: name a {allowed}")
    unique_places = {place.address: place for place in places}.values()
    if unchanged_since is not None:
        refuse_if_changed(connection, unique_places, unchanged_since)
    with record_change(connection, who=who.strip(), why=why.strip(), source=source):
        changes = [_change_part(connection, place, condition, only_carrying=only_carrying) for place in unique_places]
    return [change for change in changes if change.before != change.after]


def overridden_by_server(connection: Connection, addresses: Iterable[str]) -> Iterator[tuple[str, Condition]]:
    """Yield the parts whose effective condition differs from their own because of their server, with that condition."""
    node = TABLES["node"]
    for place in (resolve(connection, address) for address in expand_chip_ranges(addresses)):
        if place.level not in NODE_KINDS:
            continue
        row = connection.execute(select(node).where(node.c.id == place.id)).one()
        if row.own_state and (condition := condition_from_row(row)) != condition_from_row(row, "own_"):
            yield place.address, condition


def server_address(address: ColumnElement[str]) -> ColumnElement[str]:
    """Return the address of a part's server, in SQL; for a switch outside servers, the address of its domain."""
    for characters in ("0123456789", "abcdefghijklmnopqrstuvwxyz", "/"):  # removes 15, c and / from SERVER/c15
        address = func.rtrim(address, literal_column(f"'{characters}'"))
    return address


def is_cascaded() -> ColumnElement[bool]:
    """Return the condition that a row of ``state_event`` follows from an event of the part's server in the same change.

    The server's event is searched by its address, which has few events, not by the batch (the change), which may cover
    a whole fleet: "+ 0" and coalesce keep databases from using other indexes.
    """
    event, server = TABLES["state_event"], TABLES["state_event"].alias("of_server")
    is_of_server = server.c.address == server_address(event.c.address)
    is_same_change = server.c.batch + literal_column("0") == event.c.batch
    is_server = func.coalesce(server.c.kind, literal_column("''")) == literal_column("'server'")
    server_event = select(server.c.id).where(is_of_server, is_same_change, is_server).correlate_except(server)
    is_node = event.c.kind.in_([literal_column(f"'{kind}'") for kind in NODE_KINDS])
    return and_(func.coalesce(is_node, false()), server_event.exists())


def _change_part(connection: Connection, place: Place, condition: Condition, *, only_carrying: bool) -> ConditionChange:
    """Set the own condition of a part and return its own condition before and after."""
    table = TABLES[place.level if place.level in ("server", "link") else "node"]
    row = connection.execute(_row_query(table), {"key": place.id}).one()
    # while a server is not up, its nodes keep their own state in separate columns
    is_own = table.name == "node" and row.own_state is not None
    before = condition_from_row(row, "own_" if is_own else "")
    if only_carrying and not before.carries:
        return ConditionChange(place.address, before, before)
    if table.name == "node":
        server = _server_condition(connection, place)
        connection.execute(_update_statement(table), _node_values(place.id, condition, server))
    else:
        values = {"key": place.id, "state": condition.state, "factor_ppm": condition.factor_ppm}
        connection.execute(_update_statement(table), values)
    return ConditionChange(place.address, before, condition)


def _node_values(key: int, own: Condition, server: Condition) -> dict[str, Any]:
    """Return the columns to write to a node, given its own condition and its server's."""
    effective = effective_condition(own, server)
    return {
        "key": key,
        "state": effective.state,
        "factor_ppm": effective.factor_ppm,
        "own_state": None if server == UP else own.state,
        "own_factor_ppm": None if server == UP else own.factor_ppm,
    }


def _server_condition(connection: Connection, place: Place) -> Condition:
    """Return the condition of the server that a node is part of; up for a node outside servers."""
    if place.level == "network_node":
        return UP
    table, server = TABLES[place.level], TABLES["server"]
    query = select(server).join(table, table.c.server_id == server.c.id).where(table.c.id == place.id)
    row = connection.execute(query).first()
    return condition_from_row(row) if row else UP


@cache  # building these statements takes longer than running them
def _row_query(table: Table) -> Select[Any]:
    return select(table).where(table.c.id == bindparam("key"))


@cache
def _update_statement(table: Table) -> Update:
    return update(table).where(table.c.id == bindparam("key"))
