"""What else is known of the parts of incidents, at the time that is read: who stands there, and what drift found."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Self

from sqlalchemy import ColumnElement, Connection, Table, and_, or_, select

from trninv.incidents.model import DriftThere, Part
from trninv.inventory.past import time_of
from trninv.inventory.schema import TABLES
from trninv.routing.servers import StandingThere
from trninv.timestamps import format_timestamp

_MOST_NAMED: Final = 500
"""Addresses that are asked for by name; of more, all rows that are there are read."""
_BINDING, _FINDING = TABLES["binding"], TABLES["finding"]


@dataclass(frozen=True, slots=True)
class Beside:
    """Of all that is not up: by server and by address."""

    standing: dict[str, StandingThere] = field(default_factory=dict)
    drift: dict[str, list[DriftThere]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, connection: Connection, parts: Iterable[Part]) -> Self:
        """Of some parts, and of the servers that they are in."""
        found = cls()
        known = {part.address for part in parts}
        known |= {server for address in known for server in servers_in(address)}
        for row in _open(connection, _BINDING, "since", "until", known):
            found.standing[row.address] = StandingThere(row.address, row.instance, row.host)
        for row in _open(connection, _FINDING, "first_seen", "cleared_at", known):
            found.drift[row.address].append(DriftThere(row.id, row.rule, row.address, row.found))
        return found


def servers_in(address: str) -> list[str]:
    """Addresses of the servers that what an address names is in; of a link, those of both ends."""
    ends = (end.split("/") for end in address.split("--"))
    return list(dict.fromkeys("/".join(steps[:3]) for steps in ends if len(steps) > 2 and steps[2].startswith("s")))  # noqa: PLR2004


def at_that_time(connection: Connection, since: ColumnElement[str], until: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether what has a beginning and perhaps an end is there at the time that a connection sees."""
    if (time := time_of(connection.engine)) is None:
        return until.is_(None)
    now = format_timestamp(time)
    return and_(since <= now, or_(until.is_(None), until > now))


def _open(connection: Connection, table: Table, since: str, until: str, addresses: Collection[str]) -> Iterator[Any]:
    """Rows that are there, of some addresses."""
    query = select(table).where(at_that_time(connection, table.c[since], table.c[until])).order_by(table.c.id)
    if len(addresses) <= _MOST_NAMED:
        query = query.where(table.c.address.in_(addresses))
    return (row for row in connection.execute(query) if row.address in addresses)
