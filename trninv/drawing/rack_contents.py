"""Read what a rack's elevation shows: servers, trays and chips, with their states, reasons, hosts and jobs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, literal, select

from trninv.characters import escape_controls
from trninv.database.tables import TABLES
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import rows_in
from trninv.placement.allocations.job_allocations import OWN_SYSTEM, job_ordinals


class RackChip(NamedTuple):
    """A chip; ``reason`` is why its state was last set, ``job`` names the job that has it, as commands do."""

    address: str
    ordinal: int
    state: str
    reason: str
    job: str


class RackTray(NamedTuple):
    """A tray; its height ``units`` is None if not documented, its name is empty if it stands for a whole server."""

    name: str
    units: int | None
    chips: Sequence[RackChip]


class RackServer(NamedTuple):
    """A server, with its trays from the bottom up.

    Its name is its address in its domain, or in its cluster if the rack holds servers of several domains.
    ``change`` is the event that last set its state, or None; the host and instance that are bound to it and the reason
    of its cordon are empty if there is none. ``nics`` has the number of its NICs by state.
    """

    address: str
    name: str
    state: str
    change: Any
    host: str
    instance: str
    cordon: str
    trays: Sequence[RackTray]
    nics: Mapping[str, int]

    @property
    def chips(self) -> list[RackChip]:
        """Its chips, from the bottom up."""
        return [chip for tray in self.trays for chip in tray.chips]


class RackContents(NamedTuple):
    """A rack of ``units`` rack units, its servers from the bottom up, and its numbers of parts by kind and state.

    ``job_ordinals`` has the positions of its jobs among all jobs, by the names that its chips have.
    """

    address: str
    units: int
    servers: Sequence[RackServer]
    counts: Mapping[tuple[str, str], int]
    job_ordinals: Mapping[str, int]


def read_rack(connection: Connection, rack: Place) -> RackContents:
    """Read a rack."""
    server, domain, tray, table = (TABLES[name] for name in ("server", "domain", "tray", "rack"))
    cluster = rack.address.split("/")[0]
    rows = connection.execute(
        select(server.c.id, server.c.ordinal, server.c.state, domain.c.ordinal.label("domain"))
        .join(domain, domain.c.id == server.c.domain_id)
        .where(server.c.rack_id == rack.id)
        .order_by(server.c.id)
    ).all()
    addresses = {row.id: f"{cluster}/d{row.domain}/s{row.ordinal}" for row in rows}
    (chips, ordinals), changes = _read_chips(connection, addresses), _last_changes(connection, addresses.values())
    nics = _count_nics(connection, addresses)
    bindings, cordons = (_open_rows(connection, name, addresses) for name in ("binding", "cordon"))
    has_many_domains = len({row.domain for row in rows}) > 1
    trays: dict[int, list[RackTray]] = {}
    for part in connection.execute(select(tray).where(tray.c.server_id.in_(addresses)).order_by(tray.c.id)):
        name = f"tray {part.ordinal}" if part.kind == "compute" else "head"
        own_chips = chips.get((part.server_id, part.id), ())
        trays.setdefault(part.server_id, []).append(RackTray(name, part.rack_units, own_chips))
    servers = [
        RackServer(
            addresses[row.id],
            addresses[row.id].split("/", 1 if has_many_domains else 2)[-1],
            row.state,
            changes.get(addresses[row.id]),
            getattr(bindings.get(row.id), "host", None) or "",
            getattr(bindings.get(row.id), "instance", None) or "",
            getattr(cordons.get(row.id), "why", ""),
            trays.get(row.id) or [RackTray("", None, chips.get((row.id, None), ()))],
            nics.get(row.id, {}),
        )
        for row in rows
    ]
    units = connection.scalar(select(table.c.rack_units).where(table.c.id == rack.id)) or 0
    return RackContents(rack.address, units, servers, _count_parts(connection, rack), ordinals)


def _read_chips(
    connection: Connection, addresses: Mapping[int, str]
) -> tuple[dict[tuple[int, int | None], list[RackChip]], dict[str, int]]:
    """Return the chips of servers by the ids of their server and tray, and the positions of their jobs by name."""
    chip, node, job, allocation = (TABLES[name] for name in ("chip", "node", "job", "allocation"))
    is_allocated = (allocation.c.chip_id == chip.c.id) & allocation.c.ended_at.is_(None)
    rows = connection.execute(
        select(
            chip.c.server_id, chip.c.tray_id, chip.c.ordinal, node.c.state, job.c.name, job.c.system,
            job.c.external_id, job.c.id.label("job_id"),
        )
        .join(node, node.c.id == chip.c.id)
        .outerjoin(allocation, is_allocated)
        .outerjoin(job, job.c.id == allocation.c.job_id)
        .where(chip.c.server_id.in_(addresses))
        .order_by(chip.c.id)
    ).all()  # fmt: skip
    ordinals = job_ordinals(connection)
    unhealthy = [f"{addresses[row.server_id]}/c{row.ordinal}" for row in rows if row.state != "up"]
    changes, chips = _last_changes(connection, unhealthy), dict[tuple[int, int | None], list[RackChip]]()
    for row in rows:
        address = f"{addresses[row.server_id]}/c{row.ordinal}"
        reason = changes[address].why if address in changes else ""
        drawn = RackChip(address, row.ordinal, row.state, reason, job_address_name(row) if row.name else "")
        chips.setdefault((row.server_id, row.tray_id), []).append(drawn)
    return chips, {job_address_name(row): ordinals[row.job_id] for row in rows if row.name}


def _count_nics(connection: Connection, servers: Collection[int]) -> dict[int, dict[str, int]]:
    """Return the number of NICs of servers by state, by the server's id."""
    nic, node = TABLES["nic"], TABLES["node"]
    counts: dict[int, dict[str, int]] = {}
    for server, state, number in connection.execute(
        select(nic.c.server_id, node.c.state, func.count())
        .join(node, node.c.id == nic.c.id)
        .where(nic.c.server_id.in_(servers))
        .group_by(nic.c.server_id, node.c.state)
    ):
        counts.setdefault(server, {})[state] = number
    return counts


def job_address_name(job: Any) -> str:
    """Return a job's name as commands and the explorer's addresses have it: SYSTEM:ID if another system runs it."""
    return escape_controls(job.name if job.system == OWN_SYSTEM else f"{job.system}:{job.external_id}")


def _open_rows(connection: Connection, table: str, servers: Collection[int]) -> dict[int, Any]:
    """Return the rows of a table that have not ended, by the id of their server."""
    columns = TABLES[table].c
    query = select(TABLES[table]).where(columns.server_id.in_(servers), columns.ended_at.is_(None))
    return {row.server_id: row for row in connection.execute(query)}


def _last_changes(connection: Connection, addresses: Collection[str]) -> dict[str, Any]:
    """Return the event of the last change of state of each part, by its address."""
    event = TABLES["state_event"]
    last = (
        select(func.max(event.c.id))
        .where(event.c.address.in_(list(addresses)), event.c.action.is_(None))
        .group_by(event.c.address)
    )
    return {row.address: row for row in connection.execute(select(event).where(event.c.id.in_(last)))}


def _count_parts(connection: Connection, rack: Place) -> dict[tuple[str, str], int]:
    """Count the servers and nodes of a rack by kind and state."""
    server, node = TABLES["server"], TABLES["node"]
    kinds = (server, literal("server")), (node, node.c.kind)
    return {
        (kind, state): count
        for table, kind_column in kinds
        for kind, state, count in connection.execute(
            select(kind_column, table.c.state, func.count())
            .where(rows_in(rack, table.name))
            .group_by(kind_column, table.c.state)
            .order_by(kind_column)
        )
    }
