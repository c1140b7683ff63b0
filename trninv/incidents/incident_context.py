"""Load the instances and findings of an incident's parts."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Self

from sqlalchemy import ColumnElement, Connection, Table, and_, or_, select

from trninv.database.as_of import as_of_time
from trninv.database.tables import TABLES
from trninv.incidents.model import RelatedFinding, UnhealthyPart
from trninv.routing.evidence import ServerInstance
from trninv.units import format_timestamp

_MAX_ADDRESSES: Final = 500
"""The most addresses to select by name; beyond that, all open rows are read."""
_BINDING, _FINDING = TABLES["binding"], TABLES["finding"]


@dataclass(frozen=True, slots=True)
class IncidentContext:
    """Instances by server address and findings by part address, for unhealthy parts."""

    instances: dict[str, ServerInstance] = field(default_factory=dict)
    findings: dict[str, list[RelatedFinding]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def load(cls, connection: Connection, parts: Iterable[UnhealthyPart]) -> Self:
        """Load it for some parts and the servers that contain them."""
        context = cls()
        addresses = {part.address for part in parts}
        addresses |= {server for address in addresses for server in enclosing_servers(address)}
        for row in _open_rows(connection, _BINDING, "started_at", "ended_at", addresses):
            context.instances[row.address] = ServerInstance(row.address, row.instance, row.host)
        for row in _open_rows(connection, _FINDING, "first_seen", "cleared_at", addresses):
            context.findings[row.address].append(RelatedFinding(row.id, row.rule, row.address, row.observed))
        return context


def enclosing_servers(address: str) -> list[str]:
    """Return the addresses of the servers that contain a part; for a link, of both ends."""
    ends = (end.split("/") for end in address.split("--"))
    return list(dict.fromkeys("/".join(steps[:3]) for steps in ends if len(steps) > 2 and steps[2].startswith("s")))  # noqa: PLR2004


def is_open_then(connection: Connection, start: ColumnElement[str], end: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a span, perhaps without an end, covers the time that a connection reads."""
    if (time := as_of_time(connection.engine)) is None:
        return end.is_(None)
    now = format_timestamp(time)
    return and_(start <= now, or_(end.is_(None), end > now))


def _open_rows(connection: Connection, table: Table, start: str, end: str, addresses: Collection[str]) -> Iterator[Any]:
    """Return the rows of some addresses that are open at the time that the connection reads."""
    query = select(table).where(is_open_then(connection, table.c[start], table.c[end])).order_by(table.c.id)
    if len(addresses) <= _MAX_ADDRESSES:
        query = query.where(table.c.address.in_(addresses))
    return (row for row in connection.execute(query) if row.address in addresses)
