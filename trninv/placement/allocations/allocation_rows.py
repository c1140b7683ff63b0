"""Resolve the chips of places, refuse chips that a job can't have, and write allocation rows.

An allocation is a row for one chip of a job, open until ``ended_at`` is set; a chip has at most one open row. The role
of a chip is work, or spare: kept for the job in case one of its other chips fails.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from posixpath import commonpath
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, func, or_, select
from sqlalchemy.exc import IntegrityError

from trninv.database.bulk_load import bulk_insert
from trninv.database.bulk_read import batches
from trninv.database.id_blocks import next_id
from trninv.database.sql_constructs import IsOneOf
from trninv.database.tables import CARRYING_STATES, JOB_ACTIONS, RESERVATION_ACTIONS, TABLES
from trninv.errors import ConflictError, DatabaseError, InvalidArgumentError, WrongLevelError
from trninv.inventory.address.expressions import address_expression, join_containers, node_addresses
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.rows_in import CONTAINERS, row_ids_in
from trninv.inventory.address.syntax import expand_chip_ranges
from trninv.inventory.state.chip_ids import format_chip_ids
from trninv.inventory.state.condition import state_in_words

_T: Final = TABLES
MAX_PLACES: Final = 1_000
"""The most places in one call."""


class ChipAllocatedError(Exception):
    """Another job got a chip after `refuse_allocated` checked it; plain SQL can do that, because it takes no lock."""


def resolve_chips(connection: Connection, places: Sequence[str], spares: Sequence[str]) -> dict[int, str]:
    """Return the role of each chip (id): work in ``places``, spare in ``spares``.

    Raises
    ------
    InvalidArgumentError
        There are no places, too many, or places in several clusters, or a chip is named in both roles.
    WrongLevelError
        A place is larger than a domain or smaller than a chip, or has no chips.

    """
    places, spares = expand_chip_ranges(places), expand_chip_ranges(spares)
    if not places or len(places) + len(spares) > MAX_PLACES:
        raise InvalidArgumentError(f"{len(places) + len(spares):,} places: name 1 to {MAX_PLACES:,}")
    roles: dict[int, str] = {}
    clusters = set()
    for address, role in [*((address, "spare") for address in spares), *((address, "work") for address in places)]:
        place = resolve_place(connection, address)
        if place.level not in CONTAINERS["chip"] or place.level in ("core", "cluster"):
            raise WrongLevelError(f"{place.address} is a {place.level}: name chips, servers, racks or domains")
        clusters.add(place.cluster_id)
        chips = dict.fromkeys(connection.scalars(row_ids_in(place, "chip")), role)
        if any(roles.get(chip, role) != role for chip in chips):
            raise InvalidArgumentError(f"{place.address} has chips that are also named as spares; name each chip once")
        roles |= chips
    if len(clusters) > 1:
        raise InvalidArgumentError("the places are in several clusters; name places in one")
    return roles


def location_columns(connection: Connection, chips: Mapping[int, str]) -> dict[str, str]:
    """Return the columns of ``job`` that locate a job with these chips of one cluster: ``place`` and ``chip_ids``.

    The place is the smallest that contains all chips: a chip, a server, a domain or the cluster.
    """
    if len(chips) == 1:
        place = str(connection.execute(node_addresses().where(_T["node"].c.id.in_(chips))).one().address)
    else:
        query = _servers_of_chips()
        place = smallest_place(
            address for batch in batches(sorted(chips)) for address in connection.scalars(query, {"chips": batch})
        )
    return {"place": place, "chip_ids": format_chip_ids(chips)}


@cache  # building the query takes longer than running it
def _servers_of_chips() -> Select[Any]:
    chip = _T["chip"]
    servers = select(chip.c.server_id).where(IsOneOf(chip.c.id, "chips"))
    query = select(address_expression("server")).select_from(join_containers("server"))
    return query.where(_T["server"].c.id.in_(servers))


def smallest_place(addresses: Iterable[str]) -> str:
    """Return the address of the smallest place that contains all of these chips or servers of one cluster."""
    return commonpath(list(addresses))  # addresses are paths: rainier/d17/s2/c5


def next_job_key(connection: Connection) -> int:
    """Return a job key that no job ever had, not even a removed job: events still refer to such a job by its key."""
    return 1 + int(max(connection.execute(_max_keys("job", JOB_ACTIONS)).one()))


def next_reservation_key(connection: Connection) -> int:
    """Return a reservation key that no reservation ever had, as `next_job_key` does for jobs."""
    return 1 + int(max(connection.execute(_max_keys("reservation", RESERVATION_ACTIONS)).one()))


@cache  # building the query takes longer than running it
def _max_keys(table: str, actions: tuple[str, ...]) -> Select[Any]:
    """Return a query of one row: the largest key in a table, and the largest in the events of each action."""
    event = _T["state_event"]
    keys = select(func.max(event.c.part_id))
    event_keys = (keys.where(event.c.action == action) for action in actions)
    return select(
        *(func.coalesce(query.scalar_subquery(), 0) for query in (select(func.max(_T[table].c.id)), *event_keys))
    )


def refuse_allocated(connection: Connection, chips: Sequence[int], ended_jobs: Collection[int] = ()) -> None:
    """Refuse chips that are allocated, cordoned, down or in maintenance.

    Parameters
    ----------
    ended_jobs
        Keys of jobs whose allocations do not count.

    Raises
    ------
    ConflictError
        One of the chips must be refused; the message names the first such chip and the reason.

    """
    query = _refused_chips()
    parameters = {"ended_jobs": sorted(ended_jobs)}
    for batch in batches(sorted(chips)):
        if (row := connection.execute(query, parameters | {"chips": batch}).first()) is None:
            continue
        address_query = node_addresses().where(_T["node"].c.id == row.id)
        address = connection.execute(address_query).one().address
        if row.name is not None:
            raise ConflictError(
                f"{address} is allocated to job {row.name}; release it, or choose free chips (trninv place)"
            )
        state = f"cordoned ({row.why})" if row.state in CARRYING_STATES else state_in_words(row.state)
        raise ConflictError(f"{address} is {state}; choose free chips (trninv place)")


@cache  # building the query takes longer than running it
def _refused_chips() -> Select[Any]:
    """Return a query of the first chip, of some, that is allocated, cordoned, down or in maintenance, and why."""
    job, allocation, cordon_table = _T["job"], _T["allocation"], _T["cordon"]
    chip, node = _T["chip"], _T["node"]
    is_allocated = (
        allocation.c.chip_id == chip.c.id,
        allocation.c.ended_at.is_(None),
        ~IsOneOf(allocation.c.job_id, "ended_jobs"),
    )
    return (
        select(chip.c.id, node.c.state, job.c.name, cordon_table.c.why)
        .join(node, node.c.id == chip.c.id)
        .outerjoin(allocation, and_(*is_allocated))
        .outerjoin(job, job.c.id == allocation.c.job_id)
        .outerjoin(cordon_table, and_(cordon_table.c.server_id == chip.c.server_id, cordon_table.c.ended_at.is_(None)))
        .where(
            or_(job.c.id.is_not(None), cordon_table.c.id.is_not(None), node.c.state.not_in(CARRYING_STATES)),
            IsOneOf(chip.c.id, "chips"),
        )
        .order_by(chip.c.id)
        .limit(1)
    )


def insert_allocations(connection: Connection, job: int, chips: Mapping[int, str], time: str) -> None:
    """Insert allocations of a job (its key) that start at ``time``; ``chips`` has the role of each chip (id).

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
        cause = getattr(error, "orig", error.__cause__)  # the driver's error, which SQLAlchemy or bulk_insert wraps
        if isinstance(cause, connection.dialect.loaded_dbapi.IntegrityError):
            raise ChipAllocatedError from error
        raise


def server_addresses(connection: Connection, keys: Iterable[int]) -> dict[int, str]:
    """Return the addresses of servers, by id."""
    query = _server_addresses()
    id_batches = batches(sorted(keys))
    return {row.id: row.address for batch in id_batches for row in connection.execute(query, {"keys": batch})}


@cache  # building the query takes longer than running it
def _server_addresses() -> Select[Any]:
    server = _T["server"]
    query = select(server.c.id, address_expression("server").label("address")).select_from(join_containers("server"))
    return query.where(IsOneOf(server.c.id, "keys"))
