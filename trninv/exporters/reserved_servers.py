"""Read the servers of each reservation, for the formats of schedulers, which reserve whole servers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from trninv.database.as_of import current_time
from trninv.database.tables import TABLES
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import rows_in
from trninv.placement.allocations.reservations import Window, overlapping
from trninv.units import format_timestamp

_RESERVATION, _RESERVED_CHIP, _CHIP, _SERVER, _DOMAIN, _MODEL = (
    TABLES[name] for name in ("reservation", "reserved_chip", "chip", "server", "domain", "server_model")
)


@dataclass(frozen=True, slots=True)
class ReservedServers:
    """A reservation, and the servers in the scope with chips of it.

    Attributes
    ----------
    has_begun
        Whether it lasts now.
    servers
        By the ordinals of the domain and of the server in it: whether all chips of the server are reserved.

    """

    name: str
    window: Window
    is_maintenance: bool
    has_begun: bool
    servers: Mapping[tuple[int, int], bool]

    def __str__(self) -> str:
        return f"maintenance {self.name} {self.window}" if self.is_maintenance else f"{self.name} {self.window}"


def read_reserved_servers(connection: Connection, place: Place) -> Iterator[ReservedServers]:
    """Yield the reservations of chips in a place that are neither cancelled nor over, by their start."""
    now = format_timestamp(current_time(connection))
    query = select(_RESERVATION).where(overlapping(Window(now)), rows_in(place, "reservation"))
    for row in connection.execute(query.order_by(_RESERVATION.c.from_at, _RESERVATION.c.id)).all():
        servers = (
            select(_DOMAIN.c.ordinal, _SERVER.c.ordinal, func.count() == _MODEL.c.chips)
            .select_from(_RESERVED_CHIP)
            .join(_CHIP, _CHIP.c.id == _RESERVED_CHIP.c.chip_id)
            .join(_SERVER, _SERVER.c.id == _CHIP.c.server_id)
            .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
            .join(_MODEL, _MODEL.c.id == _SERVER.c.server_model_id)
            .where(_RESERVED_CHIP.c.reservation_id == row.id, rows_in(place, "chip"))
            .group_by(_SERVER.c.id, _DOMAIN.c.ordinal, _SERVER.c.ordinal, _MODEL.c.chips)
            .order_by(_DOMAIN.c.ordinal, _SERVER.c.ordinal)
        )
        is_whole = {(domain, server): bool(whole) for domain, server, whole in connection.execute(servers)}
        window = Window(row.from_at, row.until_at)
        yield ReservedServers(row.name, window, row.kind == "maintenance", row.from_at <= now, is_whole)
