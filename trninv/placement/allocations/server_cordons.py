"""Cordon servers, so that they take no new jobs, and uncordon them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from sqlalchemy import Connection, Select, and_, insert, select, update

from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, WrongLevelError
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.state.author import OMITTED_JOB_PREFIX, check_author
from trninv.placement.allocations.allocation_rows import MAX_PLACES, batches
from trninv.placement.allocations.job_allocations import MAX_TEXT, UNKNOWN_USER, change_transaction
from trninv.routing.answer import AddressText

_T: Final = TABLES


@dataclass(frozen=True, slots=True)
class Cordon:
    """A cordon: a server takes no new jobs while it lasts."""

    server: Annotated[AddressText, "Address of the server."]
    started_at: Annotated[str, "When it was cordoned, UTC."]
    ended_at: Annotated[str | None, "When it was uncordoned, UTC; null while it is cordoned."]
    who: Annotated[str, "Who cordoned it."]
    why: Annotated[str, "The reason."]


def cordon(
    connection: Connection, places: Sequence[str], *, who: str, why: str, source: str = "command"
) -> list[Cordon]:
    """Cordon servers, so that they take no new jobs; running jobs stay. Servers already cordoned stay as they are.

    Parameters
    ----------
    places
        Servers, or racks and domains for all of their servers.
    source
        Stored with the events: one of EVENT_SOURCES.

    Raises
    ------
    InvalidArgumentError
        The reason or the places are missing or too long.
    WrongLevelError
        A place is not a server, rack or domain.

    """
    check_author(who, why)
    cordon_table = _T["cordon"]
    with change_transaction(connection, who=who, why=why, source=source) as time:
        first_id = next_id(connection, cordon_table)
        _insert_cordons(connection, dict.fromkeys(_resolve_servers(connection, places), why), who, time)
    return _read_cordons(connection, cordon_table.c.id >= first_id)


def _insert_cordons(connection: Connection, servers: Mapping[int, str], who: str, time: str) -> None:
    """Insert cordons by server key, each with its reason; cordoned servers are skipped."""
    cordon_table = _T["cordon"]
    cordoned = set(connection.scalars(select(cordon_table.c.server_id).where(cordon_table.c.ended_at.is_(None))))
    first_id = next_id(connection, cordon_table)
    rows = [
        {"id": first_id + index, "server_id": server, "started_at": time, "who": who, "why": servers[server]}
        for index, server in enumerate(server for server in servers if server not in cordoned)
    ]
    if rows:
        connection.execute(insert(cordon_table), rows)


def cordon_omitted_jobs(
    connection: Connection, system: str, jobs: Mapping[int, str], time: str, *, partial: bool
) -> list[int]:
    """Cordon the servers of jobs that an import omits, and uncordon those of earlier imports, in its transaction.

    Parameters
    ----------
    system
        The system that runs the jobs. Only servers that were cordoned for its jobs are uncordoned.
    jobs
        The name of an omitted job, by the key of its server.
    partial
        Whether the listing has only some jobs; then nothing is uncordoned.

    Returns
    -------
        Keys of the uncordoned servers.

    """
    cordon_table = _T["cordon"]
    reasons = {server: f"{OMITTED_JOB_PREFIX}{job}"[:MAX_TEXT] for server, job in jobs.items()}
    conditions = (
        cordon_table.c.ended_at.is_(None),
        cordon_table.c.who == system,
        cordon_table.c.why.startswith(OMITTED_JOB_PREFIX),
    )
    query = select(cordon_table.c.id, cordon_table.c.server_id).where(*conditions)
    obsolete = (
        {} if partial else {row.id: row.server_id for row in connection.execute(query) if row.server_id not in jobs}
    )
    for batch in batches(sorted(obsolete)):
        connection.execute(update(cordon_table).where(cordon_table.c.id.in_(batch)).values(ended_at=time))
    _insert_cordons(connection, reasons, system, time)
    return list(obsolete.values())


def uncordon(
    connection: Connection, places: Sequence[str], *, who: str = "", why: str = "", source: str = "command"
) -> list[Cordon]:
    """Uncordon servers; others stay as they are.

    Parameters
    ----------
    who, why, source
        Stored with the events, as in `trninv.placement.allocations.job_allocations.allocate`.

    Raises
    ------
    InvalidArgumentError
        The author or the reason is invalid, or there are too many places.
    WrongLevelError
        A place is not a server, rack or domain.

    """
    cordon_table = _T["cordon"]
    with change_transaction(connection, who=who or UNKNOWN_USER, why=why, source=source) as time:
        is_open = and_(
            cordon_table.c.server_id.in_(_resolve_servers(connection, places)), cordon_table.c.ended_at.is_(None)
        )
        keys = list(connection.scalars(select(cordon_table.c.id).where(is_open)))
        connection.execute(update(cordon_table).where(cordon_table.c.id.in_(keys)).values(ended_at=time))
    return _read_cordons(connection, cordon_table.c.id.in_(keys))


def list_cordons(connection: Connection, limit: int) -> list[Cordon]:
    """List the cordoned servers."""
    return _read_cordons(connection, _T["cordon"].c.ended_at.is_(None), limit)


def _resolve_servers(connection: Connection, places: Sequence[str]) -> list[int]:
    if not places or len(places) > MAX_PLACES:
        raise InvalidArgumentError(f"{len(places):,} places: name 1 to {MAX_PLACES:,}")
    server_ids: dict[int, None] = {}
    for address in places:
        server_ids |= dict.fromkeys(connection.scalars(_select_servers(resolve_place(connection, address))))
    return list(server_ids)


def _select_servers(place: Place) -> Select[Any]:
    server = _T["server"]
    columns = {"server": server.c.id, "rack": server.c.rack_id, "domain": server.c.domain_id}
    if place.level not in columns:
        raise WrongLevelError(f"{place.address} is a {place.level}: name servers, racks or domains")
    return select(server.c.id).where(columns[place.level] == place.id).order_by(server.c.id)


def _read_cordons(
    connection: Connection, condition: Any, limit: int | None = None
) -> list[Cordon]:  # an SQLAlchemy condition
    cordon_table, server, domain, cluster = (_T[name] for name in ("cordon", "server", "domain", "cluster"))
    query = (
        select(cordon_table, address_expression("server").label("address"))
        .join(server, server.c.id == cordon_table.c.server_id)
        .join(domain, domain.c.id == server.c.domain_id)
        .join(cluster, cluster.c.id == domain.c.cluster_id)
        .where(condition)
        .order_by(server.c.id)
        .limit(limit)
    )
    return [Cordon(row.address, row.started_at, row.ended_at, row.who, row.why) for row in connection.execute(query)]
