"""Resolve the chips of places, write allocation rows and refuse chips that another job has."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from posixpath import commonpath
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, func, or_, select
from sqlalchemy.exc import IntegrityError

from trninv.database.bulk_load import bulk_insert
from trninv.database.id_blocks import next_id
from trninv.database.tables import CARRYING_STATES, JOB_ACTIONS, TABLES
from trninv.errors import ConflictError, DatabaseError, InvalidArgumentError, WrongLevelError
from trninv.inventory.address.containment import chip_ids_of
from trninv.inventory.address.expressions import address_expression, node_addresses
from trninv.inventory.address.lookup import CHIP_CONTAINERS, resolve_place
from trninv.inventory.address.syntax import expand_chip_ranges
from trninv.inventory.state.chip_ids import format_chip_ids

_T: Final = TABLES
MAX_PLACES: Final = 1_000
_BATCH: Final = 5_000


class ChipAllocatedError(Exception):
    """A chip was allocated after it was checked: by plain SQL, which takes no lock."""


def resolve_chips(connection: Connection, places: Sequence[str], spares: Sequence[str]) -> dict[int, str]:
    """Return the ids of the chips of places, with the role of each."""
    places, spares = expand_chip_ranges(places), expand_chip_ranges(spares)
    if not places or len(places) + len(spares) > MAX_PLACES:
        raise InvalidArgumentError(f"{len(places) + len(spares):,} places: name 1 to {MAX_PLACES:,}")
    roles: dict[int, str] = {}
    clusters = set()
    for address, role in [*((text, "spare") for text in spares), *((text, "work") for text in places)]:
        place = resolve_place(connection, address)
        if place.level not in CHIP_CONTAINERS or place.level in ("core", "cluster"):
            raise WrongLevelError(f"{place.address} is a {place.level}: name chips, servers, racks or domains")
        clusters.add(place.cluster_id)
        chips = dict.fromkeys(connection.scalars(chip_ids_of(place)), role)
        if any(roles.get(chip, role) != role for chip in chips):
            raise InvalidArgumentError(f"{place.address} has chips that are also named as spares; name each chip once")
        roles |= chips
    if len(clusters) > 1:
        raise InvalidArgumentError("the places are in several clusters; name places in one")
    return roles


def location_columns(connection: Connection, chips: Mapping[int, str]) -> dict[str, str]:
    """Return the columns of a job that locate it, given chips of one cluster and their roles.

    Its place is the smallest that contains all of them: a chip, a server, a domain or the cluster.
    """
    chip = _T["chip"]
    if len(chips) == 1:
        place = str(connection.execute(node_addresses().where(_T["node"].c.id.in_(chips))).one().address)
    else:
        servers = (select(chip.c.server_id).distinct().where(chip.c.id.in_(batch)) for batch in batches(sorted(chips)))
        keys = {key for query in servers for key in connection.scalars(query)}
        place = smallest_place(server_addresses(connection, keys).values())
    return {"place": place, "chip_ids": format_chip_ids(chips)}


def smallest_place(addresses: Iterable[str]) -> str:
    """Return the smallest place that contains some chips or servers of one cluster."""
    return commonpath(list(addresses))


def next_job_key(connection: Connection) -> int:
    """Return a job key that was never used, since events name removed jobs by it."""
    return 1 + int(max(connection.execute(_max_job_keys()).one()))


@cache  # building it takes longer than running it
def _max_job_keys() -> Select[Any]:
    event = _T["state_event"]
    keys = select(func.max(event.c.part_id))
    event_keys = (keys.where(event.c.action == action) for action in JOB_ACTIONS)
    return select(
        *(func.coalesce(query.scalar_subquery(), 0) for query in (select(func.max(_T["job"].c.id)), *event_keys))
    )


def refuse_allocated(connection: Connection, chips: Sequence[int], ended_jobs: Collection[int] = ()) -> None:
    """Refuse chips that a job can't have, even if some jobs (keys) end first; name the first one and why."""
    job, allocation, cordon_table = _T["job"], _T["allocation"], _T["cordon"]
    chip, node = _T["chip"], _T["node"]
    still_allocated = [allocation.c.job_id.not_in(sorted(ended_jobs))] if ended_jobs else []
    query = (
        select(chip.c.id, node.c.state, job.c.name, cordon_table.c.why)
        .join(node, node.c.id == chip.c.id)
        .outerjoin(
            allocation, and_(allocation.c.chip_id == chip.c.id, allocation.c.ended_at.is_(None), *still_allocated)
        )
        .outerjoin(job, job.c.id == allocation.c.job_id)
        .outerjoin(cordon_table, and_(cordon_table.c.server_id == chip.c.server_id, cordon_table.c.ended_at.is_(None)))
        .where(or_(job.c.id.is_not(None), cordon_table.c.id.is_not(None), node.c.state.not_in(CARRYING_STATES)))
        .order_by(chip.c.id)
        .limit(1)
    )
    for batch in batches(sorted(chips)):
        if (row := connection.execute(query.where(chip.c.id.in_(batch))).first()) is None:
            continue
        address_query = node_addresses().where(node.c.id == row.id)
        address = connection.execute(address_query).one().address
        if row.name is not None:
            raise ConflictError(
                f"{address} is allocated to job {row.name}; release it, or choose free chips (trninv place)"
            )
        state = f"is {row.state}" if row.state not in CARRYING_STATES else f"is cordoned ({row.why})"
        raise ConflictError(f"{address} {state}; choose free chips (trninv place)")


def insert_allocations(connection: Connection, job: int, chips: Mapping[int, str], time: str) -> None:
    """Insert the allocations of a job (its key) from a time on, each chip with its role.

    Raises
    ------
    ChipAllocatedError
        Another job has one of the chips.

    """
    allocation = _T["allocation"]
    first_id = next_id(connection, allocation)
    rows = [(first_id + index, job, chip, chips[chip], time, None) for index, chip in enumerate(sorted(chips))]
    try:
        bulk_insert(connection, allocation, rows)
    except (IntegrityError, DatabaseError) as error:
        if isinstance(getattr(error, "orig", error.__cause__), connection.dialect.loaded_dbapi.IntegrityError):
            raise ChipAllocatedError from error
        raise


def server_addresses(connection: Connection, keys: Iterable[int]) -> dict[int, str]:
    """Return the addresses of servers by their keys."""
    server, domain, cluster = (_T[name] for name in ("server", "domain", "cluster"))
    query = (
        select(server.c.id, address_expression("server").label("address"))
        .join(domain, domain.c.id == server.c.domain_id)
        .join(cluster, cluster.c.id == domain.c.cluster_id)
    )
    id_batches = batches(sorted(keys))
    return {
        row.id: row.address for batch in id_batches for row in connection.execute(query.where(server.c.id.in_(batch)))
    }


def batches(keys: Sequence[int]) -> Iterator[list[int]]:
    """Yield keys in batches that fit in one statement."""
    remaining = iter(keys)
    while batch := list(islice(remaining, _BATCH)):
        yield batch
