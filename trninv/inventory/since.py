"""Whether parts are still as somebody saw them."""

from collections.abc import Iterable

from sqlalchemy import Connection, and_, or_, select

from trninv.errors import ConflictError
from trninv.inventory.address import Place
from trninv.inventory.chain import alone
from trninv.inventory.schema import TABLES

_EVENT = TABLES["state_event"]


def refuse_changed(connection: Connection, places: Iterable[Place], event: int) -> None:
    """Refuse parts that were changed after an event; until the transaction ends, nobody else changes any.

    Raises
    ------
    ConflictError
        One was: the message has the latest of its changes.

    """
    alone(connection)
    named = [and_(_EVENT.c.kind == place.level, _EVENT.c.part_id == place.id) for place in places]
    later = select(_EVENT).where(_EVENT.c.id > event, or_(*named)).order_by(_EVENT.c.id.desc()).limit(1)
    if named and (last := connection.execute(later).first()):
        was = f"{last.address} went from {last.before} to {last.state} at {last.at[:19]}Z ({last.who}: {last.why:.200})"
        raise ConflictError(f"{was}, after event {event}: look at it again; nothing was changed")
