"""Close servers to new jobs, and open them again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from sqlalchemy import Connection, Select, and_, insert, select, update

from trninv.errors import LimitError, WrongLevelError
from trninv.inventory.address import Place, address_of, resolve
from trninv.inventory.author import check_author
from trninv.inventory.closed_servers import LEFT_OUT
from trninv.inventory.ids import next_id
from trninv.inventory.schema import TABLES
from trninv.jobs.holding import MAX_TEXT, NOBODY, changing
from trninv.jobs.taking import MOST_PLACES, batches
from trninv.routing.answer import At

_T: Final = TABLES


@dataclass(frozen=True, slots=True)
class Closing:
    """A server that takes no new jobs, or did until now."""

    server: Annotated[At, "The server."]
    since: Annotated[str, "Since when, UTC."]
    until: Annotated[str | None, "Until when; null while it is closed."]
    who: Annotated[str, "Who closed it."]
    why: Annotated[str, "The reason."]


def close(
    connection: Connection, places: Sequence[str], *, who: str, why: str, source: str = "command"
) -> list[Closing]:
    """Let servers take no new jobs; what runs there goes on. Those that are closed already are left alone.

    Parameters
    ----------
    places
        Servers, or racks and domains for all of theirs.
    source
        Kept with the events: one of EVENT_SOURCES.

    Raises
    ------
    LimitError
        The reason or the places are missing or too long.
    WrongLevelError
        A place is no server, rack or domain.

    """
    check_author(who, why)
    closing = _T["closing"]
    with changing(connection, who=who, why=why, source=source) as time:
        first = next_id(connection, closing)
        _close(connection, dict.fromkeys(_servers(connection, places), why), who, time)
    return _closings(connection, closing.c.id >= first)


def _close(connection: Connection, servers: Mapping[int, str], who: str, time: str) -> None:
    """Close servers by their keys, each for its reason, but for those that are closed."""
    closing = _T["closing"]
    closed = set(connection.scalars(select(closing.c.server_id).where(closing.c.until.is_(None))))
    first = next_id(connection, closing)
    rows = [
        {"id": first + at, "server_id": server, "since": time, "who": who, "why": servers[server]}
        for at, server in enumerate(server for server in servers if server not in closed)
    ]
    if rows:
        connection.execute(insert(closing), rows)


def close_for_left_out(
    connection: Connection, system: str, jobs: Mapping[int, str], time: str, *, partial: bool
) -> list[int]:
    """Close the servers of jobs that an import leaves out, within its change, and open those of earlier imports.

    Parameters
    ----------
    system
        What runs the jobs. Only what was closed for its jobs is opened.
    jobs
        What a left-out job is called, by the key of a server that it is on.
    partial
        Whether nothing is opened, since the listing does not have every job.

    Returns
    -------
        Keys of the servers that were opened.

    """
    closing = _T["closing"]
    reasons = {server: f"{LEFT_OUT}{job}"[:MAX_TEXT] for server, job in jobs.items()}
    ours = closing.c.until.is_(None), closing.c.who == system, closing.c.why.startswith(LEFT_OUT)
    query = select(closing.c.id, closing.c.server_id).where(*ours)
    gone = {} if partial else {row.id: row.server_id for row in connection.execute(query) if row.server_id not in jobs}
    for part in batches(sorted(gone)):
        connection.execute(update(closing).where(closing.c.id.in_(part)).values(until=time))
    _close(connection, reasons, system, time)
    return list(gone.values())


def open_(
    connection: Connection, places: Sequence[str], *, who: str = "", why: str = "", source: str = "command"
) -> list[Closing]:
    """Let servers take new jobs again; those that do are left alone.

    Parameters
    ----------
    who, why, source
        Kept with the events, as in `trninv.jobs.holding.hold`.

    Raises
    ------
    LimitError
        Who or why can't be kept, or the places are too many.
    WrongLevelError
        A place is no server, rack or domain.

    """
    closing = _T["closing"]
    with changing(connection, who=who or NOBODY, why=why, source=source) as time:
        ours = and_(closing.c.server_id.in_(_servers(connection, places)), closing.c.until.is_(None))
        keys = list(connection.scalars(select(closing.c.id).where(ours)))
        connection.execute(update(closing).where(closing.c.id.in_(keys)).values(until=time))
    return _closings(connection, closing.c.id.in_(keys))


def closed(connection: Connection, most: int) -> list[Closing]:
    """Servers that take no new jobs."""
    return _closings(connection, _T["closing"].c.until.is_(None), most)


def _servers(connection: Connection, places: Sequence[str]) -> list[int]:
    if not places or len(places) > MOST_PLACES:
        raise LimitError(f"{len(places):,} places: name 1 to {MOST_PLACES:,}")
    found: dict[int, None] = {}
    for address in places:
        found |= dict.fromkeys(connection.scalars(_servers_of(resolve(connection, address))))
    return list(found)


def _servers_of(place: Place) -> Select[Any]:
    server = _T["server"]
    columns = {"server": server.c.id, "rack": server.c.rack_id, "domain": server.c.domain_id}
    if place.level not in columns:
        raise WrongLevelError(
            f"{place.address} is a {place.level}: name servers, or racks and domains for all of theirs"
        )
    return select(server.c.id).where(columns[place.level] == place.id).order_by(server.c.id)


def _closings(connection: Connection, condition: Any, most: int | None = None) -> list[Closing]:  # of SQLAlchemy
    closing, server, domain, cluster = (_T[name] for name in ("closing", "server", "domain", "cluster"))
    query = (
        select(closing, address_of("server").label("address"))
        .join(server, server.c.id == closing.c.server_id)
        .join(domain, domain.c.id == server.c.domain_id)
        .join(cluster, cluster.c.id == domain.c.cluster_id)
        .where(condition)
        .order_by(server.c.id)
        .limit(most)
    )
    return [Closing(row.address, row.since, row.until, row.who, row.why) for row in connection.execute(query)]
