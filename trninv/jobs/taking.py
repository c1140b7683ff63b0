"""Which chips a job would hold, whether it may, and that it does."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from posixpath import commonpath
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, func, or_, select
from sqlalchemy.exc import IntegrityError

from trninv.errors import ConflictError, DatabaseError, LimitError, WrongLevelError
from trninv.inventory.address import HOLDS_CHIPS, address_of, chips_of, node_addresses, resolve
from trninv.inventory.bulk import load
from trninv.inventory.chip_ids import written
from trninv.inventory.ids import next_id
from trninv.inventory.ranges import each_of
from trninv.inventory.schema import CARRYING, JOB_ACTIONS, TABLES

_T: Final = TABLES
MOST_PLACES: Final = 1_000
_BATCH: Final = 5_000


class TakenError(Exception):
    """A chip was taken after it had been looked at: by plain SQL, which waits for nobody."""


def chips_at(connection: Connection, places: Sequence[str], spares: Sequence[str]) -> dict[int, str]:
    """Ids of the chips of places, and what each is for."""
    places, spares = each_of(places), each_of(spares)
    if not places or len(places) + len(spares) > MOST_PLACES:
        raise LimitError(f"{len(places) + len(spares):,} places: name 1 to {MOST_PLACES:,}")
    found: dict[int, str] = {}
    clusters = set()
    for address, role in [*((each, "spare") for each in spares), *((each, "work") for each in places)]:
        place = resolve(connection, address)
        if place.level not in HOLDS_CHIPS or place.level in ("core", "cluster"):
            raise WrongLevelError(f"{place.address} is a {place.level}: a job holds chips, servers, racks and domains")
        clusters.add(place.cluster_id)
        chips = dict.fromkeys(connection.scalars(chips_of(place)), role)
        if any(found.get(chip, role) != role for chip in chips):
            raise LimitError(f"{place.address} has chips that are to spare as well: name a chip once")
        found |= chips
    if len(clusters) > 1:
        raise LimitError("the places are of several clusters: a job is of one")
    return found


def place_and_chips(connection: Connection, chips: Mapping[int, str]) -> dict[str, str]:
    """Return the columns of a job that say where it is, given chips of one cluster and what each is for.

    Its place is the least that has all of them: a chip, a server, a domain or the cluster.
    """
    chip = _T["chip"]
    if len(chips) == 1:
        place = str(connection.execute(node_addresses().where(_T["node"].c.id.in_(chips))).one().address)
    else:
        servers = (select(chip.c.server_id).distinct().where(chip.c.id.in_(part)) for part in batches(sorted(chips)))
        keys = {key for query in servers for key in connection.scalars(query)}
        place = least(server_names(connection, keys).values())
    return {"place": place, "chip_ids": written(chips)}


def least(addresses: Iterable[str]) -> str:
    """The least place that has all of some chips or servers of one cluster."""
    return commonpath(list(addresses))


def next_job(connection: Connection) -> int:
    """The key of a new job, which none has had: events tell by it where a job was, also of one that is removed."""
    return 1 + int(max(connection.execute(_last_jobs()).one()))


@cache  # building it takes longer than running it
def _last_jobs() -> Select[Any]:
    event = _T["state_event"]
    keys = select(func.max(event.c.part_id))
    told = (keys.where(event.c.action == action) for action in JOB_ACTIONS)
    return select(*(func.coalesce(of.scalar_subquery(), 0) for of in (select(func.max(_T["job"].c.id)), *told)))


def refuse_taken(connection: Connection, chips: Sequence[int], leaving: Collection[int] = ()) -> None:
    """Name the first chip that no job may have now, or once some jobs (keys) have left, and why."""
    job, allocation, closing = _T["job"], _T["allocation"], _T["closing"]
    chip, node = _T["chip"], _T["node"]
    stays = [allocation.c.job_id.not_in(sorted(leaving))] if leaving else []
    query = (
        select(chip.c.id, node.c.state, job.c.name, closing.c.why)
        .join(node, node.c.id == chip.c.id)
        .outerjoin(allocation, and_(allocation.c.chip_id == chip.c.id, allocation.c.ended.is_(None), *stays))
        .outerjoin(job, job.c.id == allocation.c.job_id)
        .outerjoin(closing, and_(closing.c.server_id == chip.c.server_id, closing.c.until.is_(None)))
        .where(or_(job.c.id.is_not(None), closing.c.id.is_not(None), node.c.state.not_in(CARRYING)))
        .order_by(chip.c.id)
        .limit(1)
    )
    for part in batches(sorted(chips)):
        if (row := connection.execute(query.where(chip.c.id.in_(part))).first()) is None:
            continue
        named = node_addresses().where(node.c.id == row.id)
        address = connection.execute(named).one().address
        if row.name is not None:
            raise ConflictError(f"{address} is held by job {row.name}: release it, or take what is free (trninv fits)")
        state = f"is {row.state}" if row.state not in CARRYING else f"takes no new jobs ({row.why})"
        raise ConflictError(f"{address} {state}: take what is free (trninv fits)")


def allocate(connection: Connection, job: int, chips: Mapping[int, str], time: str) -> None:
    """Write that a job (its key) holds chips since a time, each for its role.

    Raises
    ------
    TakenError
        Another holds one of them.

    """
    allocation = _T["allocation"]
    first = next_id(connection, allocation)
    rows = [(first + at, job, chip, chips[chip], time, None) for at, chip in enumerate(sorted(chips))]
    try:
        load(connection, allocation, rows)
    except (IntegrityError, DatabaseError) as error:
        if isinstance(getattr(error, "orig", error.__cause__), connection.dialect.loaded_dbapi.IntegrityError):
            raise TakenError from error
        raise


def server_names(connection: Connection, keys: Iterable[int]) -> dict[int, str]:
    """Addresses of servers by their keys."""
    server, domain, cluster = (_T[name] for name in ("server", "domain", "cluster"))
    query = (
        select(server.c.id, address_of("server").label("address"))
        .join(domain, domain.c.id == server.c.domain_id)
        .join(cluster, cluster.c.id == domain.c.cluster_id)
    )
    parts = batches(sorted(keys))
    return {row.id: row.address for part in parts for row in connection.execute(query.where(server.c.id.in_(part)))}


def batches(keys: Sequence[int]) -> Iterator[list[int]]:
    """Keys in portions that a statement takes."""
    remaining = iter(keys)
    while part := list(islice(remaining, _BATCH)):
        yield part
