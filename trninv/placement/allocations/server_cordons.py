"""Cordon servers, so that they take no new jobs, and uncordon them; running jobs stay.

A cordon is a row of ``cordon`` with a reason, open until ``ended_at`` is set. Users cordon servers through commands and
GraphQL; a job import cordons the servers of jobs that it has to omit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, insert, select, update

from trninv.database.bulk_read import batches
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, WrongLevelError
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.inventory.schema.listing import select_things
from trninv.inventory.schema.things import THINGS
from trninv.inventory.state.author import OMITTED_JOB_PREFIX
from trninv.placement.allocations.allocation_rows import MAX_PLACES
from trninv.placement.allocations.job_allocations import MAX_TEXT

_T: Final = TABLES


@dataclass(frozen=True, slots=True)
class Cordon:
    """A cordon in a list; the declaration "cordon" in `trninv.inventory.schema.things` describes the fields."""

    server: str
    started_at: str
    ended_at: str | None
    who: str
    why: str


def insert_cordons(connection: Connection, servers: Mapping[int, str], who: str, time: str) -> None:
    """Insert a cordon for each server (id), with the reason that ``servers`` has; cordoned servers are skipped."""
    cordon_table = _T["cordon"]
    cordoned = set(connection.scalars(select(cordon_table.c.server_id).where(cordon_table.c.ended_at.is_(None))))
    first_id = next_id(connection, cordon_table)
    not_cordoned = [server for server in servers if server not in cordoned]
    rows = [
        {"id": first_id + index, "server_id": server, "started_at": time, "who": who, "why": servers[server]}
        for index, server in enumerate(not_cordoned)
    ]
    if rows:
        connection.execute(insert(cordon_table), rows)


def cordon_omitted_jobs(
    connection: Connection, system: str, jobs: Mapping[int, str], time: str, *, partial: bool
) -> list[int]:
    """Cordon the servers of jobs that an import omits; uncordon others that an earlier import cordoned.

    Parameters
    ----------
    system
        The system that runs the jobs. Only servers that were cordoned for its jobs are uncordoned.
    jobs
        The name of an omitted job, by the id of its server.
    partial
        Whether the listing has only some jobs; then nothing is uncordoned.

    Returns
    -------
        Ids of the uncordoned servers.

    """
    cordon_table = _T["cordon"]
    reasons = {server: f"{OMITTED_JOB_PREFIX}{job}"[:MAX_TEXT] for server, job in jobs.items()}
    conditions = (
        cordon_table.c.ended_at.is_(None),
        cordon_table.c.who == system,
        cordon_table.c.why.startswith(OMITTED_JOB_PREFIX),
    )
    query = select(cordon_table.c.id, cordon_table.c.server_id).where(*conditions)
    obsolete: dict[int, int] = {}  # the server of each cordon to end
    if not partial:
        obsolete = {row.id: row.server_id for row in connection.execute(query) if row.server_id not in jobs}
    for batch in batches(sorted(obsolete)):
        connection.execute(update(cordon_table).where(cordon_table.c.id.in_(batch)).values(ended_at=time))
    insert_cordons(connection, reasons, system, time)
    return list(obsolete.values())


def list_cordons(connection: Connection, limit: int) -> list[Cordon]:
    """List the cordoned servers."""
    return read_cordons(connection, _T["cordon"].c.ended_at.is_(None), limit)


def resolve_servers(connection: Connection, places: Sequence[str]) -> list[int]:
    """Return the ids of the servers at or below places, without duplicates."""
    if not places or len(places) > MAX_PLACES:
        raise InvalidArgumentError(f"{len(places):,} places: name 1 to {MAX_PLACES:,}")
    server_ids: dict[int, None] = {}
    for address in places:
        server_ids |= dict.fromkeys(connection.scalars(_select_servers(resolve_place(connection, address))))
    return list(server_ids)


def _select_servers(place: Place) -> Select[Any]:
    if place.level not in ("server", "rack", "domain"):
        raise WrongLevelError(f"{place.address} is a {place.level}: name servers, racks or domains")
    return row_ids_in(place, "server").order_by(_T["server"].c.id)


def read_cordons(connection: Connection, condition: ColumnElement[bool], limit: int | None = None) -> list[Cordon]:
    """Return the cordons that meet a condition on the table ``cordon``, in the order of their servers."""
    query = select_things(THINGS["cordon"], everything=True).where(condition).limit(limit)
    return [Cordon(*fields) for _, *fields in connection.execute(query)]
