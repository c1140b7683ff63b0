"""Refuse a change to parts that changed since the caller read them."""

from collections.abc import Iterable

from sqlalchemy import Connection, func, select

from trninv.database.tables import TABLES
from trninv.errors import ConflictError, InvalidArgumentError
from trninv.inventory.address.lookup import Place
from trninv.inventory.state.hash_chain import lock_events

_EVENT = TABLES["state_event"]


def refuse_if_changed(connection: Connection, places: Iterable[Place], event: int) -> None:
    """Refuse parts that changed after an event, and keep them unchanged until the transaction ends.

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
        raise InvalidArgumentError(f"unchanged since event {event}: there is none, the last one is {newest}")
    for place in places:
        of_part = _EVENT.c.kind == place.level, _EVENT.c.part_id == place.id
        later = select(_EVENT).where(*of_part, _EVENT.c.id > event).order_by(_EVENT.c.id.desc()).limit(1)
        if last := connection.execute(later).first():
            change = f"{last.address} went from {last.before} to {last.state} at {last.at[:19]}Z"
            author = f"{last.who:.80}: {last.why:.200}"
            raise ConflictError(f"{change} ({author}), after event {event}: look at it again; nothing was changed")
