"""Cancel a reservation."""

from collections.abc import Iterator
from typing import Annotated

from sqlalchemy import Connection, update

from trninv.database.as_of import current_time
from trninv.database.tables import TABLES
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.placement.allocations.job_allocations import UNKNOWN_USER, change_transaction
from trninv.placement.allocations.reservations import Reservation, find_reservation, read_reservations

_RESERVATION = TABLES["reservation"]


def _render(reservation: Reservation) -> Iterator[str]:
    yield f"cancelled: {reservation}"


@change(
    scope="operate",
    returns={"reservation": "The reservation as it is now."},
    undo="`trninv reserve NAME PLACE… --from TIME --until TIME` reserves the chips again, if they are still free.",
    render=_render,
    examples=("unreserve train-70b",),
)
def unreserve(
    connection: Connection,
    name: Annotated[str, Argument("Name of the reservation.", metavar="NAME", is_text=True)],
    *,
    who: str = "",
    why: str = "",
    source: str = "command",
) -> Reservation:
    """Cancel a reservation that is not over.

    Jobs that use its chips continue.
    """
    with change_transaction(connection, who=who or UNKNOWN_USER, why=why, source=source) as time:
        key = find_reservation(connection, name, current_time(connection)).id
        connection.execute(update(_RESERVATION).where(_RESERVATION.c.id == key).values(ended_at=time))
    (reservation,) = read_reservations(connection, _RESERVATION.c.id == key)
    return reservation
