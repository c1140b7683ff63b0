"""What happened: the events of a place and of all that it holds, newest first."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from trninv.history.moment import instant
from trninv.inventory.address import Address, nodes_of, read, resolve
from trninv.inventory.named import ends
from trninv.inventory.schema import NODE_KINDS, TABLES
from trninv.inventory.state import Condition, condition_of, taken_along

_EVENT = TABLES["state_event"]


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a part's state.

    Attributes
    ----------
    number
        Which one it is; numbers keep the order in which changes were made, whatever the clock said.
    batch
        The number of the first event of the same change; None of events before revision 0017, as is `source`.
    before, after
        Its condition; of a part whose server is not up either, its own.

    """

    number: int
    batch: int | None
    at: str
    who: str
    source: str | None
    address: str
    before: Condition
    after: Condition
    why: str
    clock_went_back: bool


def events(
    connection: Connection,
    scope: str | None = None,
    *,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    most: int = 50,
) -> Iterator[Event]:
    """The latest events of a place, of all it holds and of the links that end there; of everything without one.

    What a server took along is left out beside the server's own event. What no longer exists still has its events.

    Raises
    ------
    AddressError, UnknownAddressError
    MomentError
        A time has no zone, or is yet to come.

    """
    query = select(_EVENT).order_by(_EVENT.c.id.desc()).limit(most)
    if scope is None:
        query = query.where(~taken_along())
    elif len(parted := ends(scope)) > 1:
        given = [str(read(connection, end)) for end in parted]
        query = query.where(_EVENT.c.address.in_(["--".join(given), "--".join(reversed(given))]))
    else:
        query = query.where(*_within(connection, read(connection, scope)))
    if since is not None:
        query = query.where(_EVENT.c.at >= instant(since).isoformat(timespec="microseconds"))
    if until is not None:
        query = query.where(_EVENT.c.at <= instant(until).isoformat(timespec="microseconds"))
    yield from map(_event, connection.execute(query))


def _within(connection: Connection, address: Address) -> Iterator[ColumnElement[bool]]:
    if address.level in ("cluster", "domain", "rack", "server"):
        yield ~taken_along()
    if address.level == "rack":
        yield _in_rack(connection, str(address))
        return
    inside = and_(_EVENT.c.address >= f"{address}/", _EVENT.c.address < f"{address}0")  # 0 comes after /
    begins = and_(_EVENT.c.address >= f"{address}--", _EVENT.c.address < f"{address}-.")
    ends = or_(*(_EVENT.c.address.like(f"%--{address}{rest}") for rest in ("", "/%")))
    yield or_(_EVENT.c.address == str(address), inside, begins, and_(_EVENT.c.address.like("%--%"), ends))


def _in_rack(connection: Connection, address: str) -> ColumnElement[bool]:
    """Servers are not named by their rack: what is in it now is looked up."""
    place, node, server, link = resolve(connection, address), TABLES["node"], TABLES["server"], TABLES["link"]
    nodes = select(node.c.id).where(nodes_of(place))
    parts = {
        ("server",): select(server.c.id).where(server.c.rack_id == place.id),
        NODE_KINDS: nodes,
        ("link",): select(link.c.id).where(or_(link.c.a_id.in_(nodes), link.c.b_id.in_(nodes))),
    }
    return or_(*(and_(_EVENT.c.kind.in_(kinds), _EVENT.c.part_id.in_(ids)) for kinds, ids in parts.items()))


def _event(row: Any) -> Event:
    before, after = Condition(row.before, row.factor_ppm_before), condition_of(row)
    if before == after:  # only what it would be without its server has changed
        before = Condition(row.own_before, row.own_factor_ppm_before) if row.own_before else before
        after = condition_of(row, "own_") if row.own_state else after
    said = row.at, row.who, row.source, row.address
    return Event(row.id, row.batch, *said, before, after, row.why, row.clock_went_back)
