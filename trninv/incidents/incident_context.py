"""Load what is recorded about incidents: the instances in their servers, open drift findings, and notes."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from sqlalchemy import Connection, Table, select

from trninv.database.as_of import is_open_then
from trninv.database.tables import TABLES
from trninv.incidents.model import IncidentNote, RelatedFinding, UnhealthyPart
from trninv.inventory.address.machine_names import split_link
from trninv.inventory.address.syntax import Address, parse
from trninv.routing.evidence import ServerInstance

_MAX_LISTED: Final = 500
"""The most addresses or incidents that a query lists; if there are more, all rows are read and filtered here."""
_BINDING, _FINDING, _NOTE = TABLES["binding"], TABLES["finding"], TABLES["incident_note"]
_NOTE_COLUMNS: Final = tuple(_NOTE.c[name] for name in ("incident", "written_at", "who", "source", "text"))


@dataclass(frozen=True, slots=True)
class IncidentContext:
    """Instances by server address and findings by part address, for unhealthy parts."""

    instances: dict[str, ServerInstance] = field(default_factory=dict)
    findings: dict[str, list[RelatedFinding]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def load(cls, connection: Connection, parts: Iterable[UnhealthyPart]) -> Self:
        """Load the instances and findings of some parts and of the servers that contain them."""
        context = cls()
        addresses = {part.address for part in parts}
        addresses |= {server for address in addresses for server in enclosing_servers(address)}
        for row in _open_rows(connection, _BINDING, "started_at", "ended_at", addresses):
            context.instances[row.address] = ServerInstance(row.address, row.instance, row.host)
        for row in _open_rows(connection, _FINDING, "first_seen", "cleared_at", addresses):
            context.findings[row.address].append(RelatedFinding(row.id, row.rule, row.address, row.observed))
        return context


def enclosing_servers(address: str) -> list[str]:
    """Return the addresses of a part's servers, up to two for a link: rainier/d17/s2 of rainier/d17/s2/c5."""
    servers = (Address(end.cluster, end.steps[:2]) for end in map(parse, split_link(address)))
    return list(dict.fromkeys(str(server) for server in servers if server.level == "server"))


def causing_servers(causes: Iterable[UnhealthyPart]) -> list[str]:
    """Return the addresses of the servers of some causes, in their order."""
    return list(dict.fromkeys(server for part in causes for server in enclosing_servers(part.address)))


def _open_rows(connection: Connection, table: Table, start: str, end: str, addresses: Collection[str]) -> Iterator[Any]:
    """Return the open rows of some addresses; ``start`` and ``end`` name the columns with the times of a row."""
    query = select(table).where(is_open_then(connection, table.c[start], table.c[end])).order_by(table.c.id)
    if len(addresses) <= _MAX_LISTED:
        query = query.where(table.c.address.in_(addresses))
    return (row for row in connection.execute(query) if row.address in addresses)


def instances_at(
    connection: Connection, causes: Sequence[Sequence[UnhealthyPart]], times: Sequence[str]
) -> list[tuple[ServerInstance, ...]]:
    """Return the instances that stood in the servers of some causes at a time, for each list of causes and its time."""
    servers = [causing_servers(parts) for parts in causes]
    addresses = {address for group in servers for address in group}
    query = select(_BINDING).where(_BINDING.c.started_at <= max(times, default="")).order_by(_BINDING.c.id)
    if len(addresses) <= _MAX_LISTED:
        query = query.where(_BINDING.c.address.in_(addresses))
    bindings = defaultdict[str, list[Any]](list)
    for row in connection.execute(query):
        if row.address in addresses:
            bindings[row.address].append(row)
    return [
        tuple(
            ServerInstance(row.address, row.instance, row.host)
            for address in group
            for row in bindings[address]
            if row.started_at <= time and (row.ended_at is None or row.ended_at > time)
        )
        for group, time in zip(servers, times, strict=True)
    ]


def load_notes(connection: Connection, incidents: Collection[str]) -> Mapping[str, list[IncidentNote]]:
    """Return the notes on some incidents, by incident, oldest first."""
    query = select(*_NOTE_COLUMNS).order_by(_NOTE.c.id)
    if len(incidents) <= _MAX_LISTED:
        query = query.where(_NOTE.c.incident.in_(incidents))
    notes = defaultdict[str, list[IncidentNote]](list)
    for row in connection.execute(query):
        notes[row.incident].append(IncidentNote(*row))
    return notes
