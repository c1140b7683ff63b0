"""List jobs, allocate chips to them and release them.

The database allows one open allocation per chip (a partial unique index), whoever writes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final

from sqlalchemy import Connection, Select, and_, bindparam, distinct, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.database.tables import CARRYING_STATES, TABLES
from trninv.errors import ConflictError, InvalidArgumentError, UnknownJobError, suggestion
from trninv.inventory.address.containment import chip_ids_of
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.state.author import check_author
from trninv.inventory.state.hash_chain import record_change
from trninv.placement.allocations.allocation_rows import (
    ChipAllocatedError,
    batches,
    insert_allocations,
    location_columns,
    next_job_key,
    refuse_allocated,
    resolve_chips,
    server_addresses,
)
from trninv.placement.allocations.plan_revision import require_plan_revision
from trninv.routing.answer import AddressText, HiddenInt
from trninv.units import format_timestamp

_T = TABLES
OWN_SYSTEM: Final = "trninv"
"""The system of jobs that are allocated here, not imported."""
UNKNOWN_USER: Final = "not said"
"""The author of a release or an uncordon if none is given."""
MAX_TEXT: Final = 200
_MAX_SUGGESTIONS = 5_000
"""The number of jobs among which a similar name is searched."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job and its allocated chips."""

    key: HiddenInt
    name: Annotated[str, "Name of the job."]
    system: Annotated[str, "The system that runs it; trninv if it was allocated here."]
    external_id: Annotated[str, "Its id in that system."]
    cluster: Annotated[AddressText, "The cluster of its chips."]
    chips: Annotated[int, "Allocated chips, including spares; of an ended job, those at its end."]
    servers: Annotated[int, "Servers with these chips."]
    first_server: Annotated[AddressText | None, "The first of these servers."]
    failed_chips: Annotated[int, "Allocated chips that are down or in maintenance."]
    started_at: Annotated[str, "When it first got chips, UTC; a move does not change it."]
    moved_at: Annotated[str | None, "When it last moved, by trninv or an import, UTC; null if never."]
    ended_at: Annotated[str | None, "When it ended, UTC; null while it has chips."]
    pinned: Annotated[bool, "Whether move plans leave it where it is."]
    who: Annotated[str, "Who allocated or moved it."]


def allocate(
    connection: Connection,
    name: str,
    places: Sequence[str],
    *,
    who: str,
    spares: Sequence[str] = (),
    pinned: bool = False,
    revision: str | None = None,
    why: str = "",
    source: str = "command",
) -> Job:
    """Allocate the chips of places to a job, all or none; repeating the same allocation changes nothing.

    Parameters
    ----------
    places, spares
        Chips, servers, racks or domains of one cluster, to work on and to keep as spares; c0-3 is a range of chips.
    pinned
        Whether move plans must leave it where it is.
    revision
        The revision of the plan that this carries out, if any.
    why, source
        Stored with the event: an optional reason, and one of EVENT_SOURCES.

    Raises
    ------
    StalePlanError
        The fleet changed since the plan was made.
    InvalidArgumentError
        The name, the author or the places are missing, too long or too many, or the places are in several clusters.
    ConflictError
        A chip is allocated, down or cordoned, or the job has other chips; the message names it.

    """
    check_name(name)
    with change_transaction(connection, who=who, why=why, source=source) as time:
        chips = resolve_chips(connection, places, spares)
        cluster = connection.scalars(select(_T["node"].c.cluster_id).where(_T["node"].c.id == min(chips))).one()
        if revision is not None:
            require_plan_revision(connection, cluster, revision)
        if (existing_key := find_live_job(connection, OWN_SYSTEM, name)) is not None:
            if _chips_of_job(connection, existing_key) == chips:
                return _read_job(connection, existing_key)
            raise ConflictError(f"job {name} has other chips; release it first, or choose another name")
        refuse_allocated(connection, list(chips))
        job = _T["job"]
        key, location = next_job_key(connection), location_columns(connection, chips)
        row = {
            "id": key,
            "cluster_id": cluster,
            "name": name,
            "system": OWN_SYSTEM,
            "external_id": name,
            "started_at": time,
        }
        try:
            connection.execute(insert(job), row | {"pinned": int(pinned), "who": who, **location})
            insert_allocations(connection, key, chips, time)
        except (IntegrityError, ChipAllocatedError):
            raise ConflictError(
                f"the chips of job {name} were just allocated to another job; find others with trninv place"
            ) from None
        return _read_job(connection, key)


@contextmanager
def change_transaction(connection: Connection, *, who: str, why: str = "", source: str) -> Iterator[str]:
    """Record all writes in the block as one change (see `trninv.inventory.state.hash_chain`); yield its time.

    Raises
    ------
    InvalidArgumentError
        The author or the reason is invalid, or there is no such source.

    """
    check_author(who, why or None)
    if not (who + why).isprintable():
        raise InvalidArgumentError("who or why has unprintable characters; remove them")
    with record_change(connection, who=who, why=why, source=source) as time:
        yield format_timestamp(time)


def release(connection: Connection, name: str, *, who: str = "", why: str = "", source: str = "command") -> Job:
    """End a job and free its chips; a job that has already ended does not change.

    Parameters
    ----------
    name
        The job's name, or SYSTEM:ID if another system runs it.
    who, why, source
        Stored with the event, as in `allocate`.

    Raises
    ------
    UnknownJobError
        No such job ever existed.
    InvalidArgumentError
        The author or the reason is invalid, or there is no such source.

    """
    system, identity = split_job_name(name)
    job, allocation = _T["job"], _T["allocation"]
    key = find_live_job(connection, system, identity)
    if key is None:
        same_name = select(job.c.id).where(job.c.system == system, job.c.external_id == identity)
        last = connection.scalar(same_name.order_by(job.c.id.desc()).limit(1))
        if last is None:
            raise unknown_job_error(connection, name)
        return _read_job(connection, last)
    is_allocated = and_(allocation.c.job_id == key, allocation.c.ended_at.is_(None))
    with change_transaction(connection, who=who or UNKNOWN_USER, why=why, source=source) as time:
        connection.execute(update(allocation).where(is_allocated).values(ended_at=time))
        connection.execute(update(job).where(job.c.id == key, job.c.ended_at.is_(None)).values(ended_at=time))
    return _read_job(connection, key)


def unknown_job_error(connection: Connection, name: str) -> UnknownJobError:
    """Return the error for a job name that does not exist."""
    suggestion = _suggest_name(connection, split_job_name(name)[1])
    return UnknownJobError(f"no job {name[:MAX_TEXT]}: {suggestion} (trninv jobs lists all)")


def _suggest_name(connection: Connection, name: str) -> str:
    """Suggest a job name, as `release` accepts it."""
    job = _T["job"]
    query = select(job.c.name, job.c.system, job.c.external_id).where(job.c.ended_at.is_(None)).limit(_MAX_SUGGESTIONS)
    names_by_id = {
        row.external_id if row.system == OWN_SYSTEM else f"{row.system}:{row.external_id}": row.name
        for row in connection.execute(query)
    }
    matching = [identity for identity, job_name in names_by_id.items() if job_name == name]
    return f"did you mean {matching[0]}, which has this name?" if matching else suggestion(name, list(names_by_id))


def list_jobs(connection: Connection, scope: str | None, limit: int, *, include_ended: bool = False) -> list[Job]:
    """List jobs with chips in a place, or all jobs, by key; ``include_ended`` adds ended jobs.

    Raises
    ------
    AddressError, UnknownAddressError
        The scope does not exist.

    """
    job, allocation = _T["job"], _T["allocation"]
    query = select(job.c.id) if include_ended else select(job.c.id).where(job.c.ended_at.is_(None))
    if scope is not None:
        place = resolve_place(connection, scope)
        in_place = select(allocation.c.job_id).where(allocation.c.chip_id.in_(chip_ids_of(place)))
        query = query.where(job.c.cluster_id == place.cluster_id)
        if place.level != "cluster":
            query = query.where(
                job.c.id.in_(in_place if include_ended else in_place.where(allocation.c.ended_at.is_(None)))
            )
    return jobs_by_key(connection, connection.scalars(query.order_by(job.c.id).limit(limit)).all())


def jobs_by_key(connection: Connection, keys: Sequence[int]) -> list[Job]:
    """Return jobs by their keys."""
    rows = [row for batch in batches(keys) for row in connection.execute(_jobs_query(), {"keys": batch})]
    names = server_addresses(connection, {row.first for row in rows if row.first})
    return [
        Job(
            key=row.id,
            name=row.name,
            system=row.system,
            external_id=row.external_id,
            cluster=row.slug,
            chips=row.chips,
            servers=row.servers,
            first_server=names.get(row.first),
            failed_chips=row.failed_chips,
            started_at=row.first_started_at or row.started_at,
            moved_at=row.moved_at or (row.started_at if row.first_started_at else None),
            ended_at=row.ended_at,
            pinned=bool(row.pinned),
            who=row.who,
        )
        for row in rows
    ]


@cache  # building it takes longer than running it
def _jobs_query() -> Select[Any]:
    """Select jobs by key, with counts of their chips."""
    job, allocation, chip, node = (_T[name] for name in ("job", "allocation", "chip", "node"))
    is_of_job = allocation.c.job_id == job.c.id
    is_latest = or_(allocation.c.ended_at.is_(None), allocation.c.ended_at == job.c.ended_at)
    has_failed = and_(allocation.c.ended_at.is_(None), node.c.state.not_in(CARRYING_STATES))
    return (
        select(
            job,
            _T["cluster"].c.slug,
            func.count(chip.c.id).label("chips"),
            func.count(distinct(chip.c.server_id)).label("servers"),
            func.min(chip.c.server_id).label("first"),
            func.count(node.c.id).filter(has_failed).label("failed_chips"),
        )
        .join(_T["cluster"], _T["cluster"].c.id == job.c.cluster_id)
        .outerjoin(allocation, and_(is_of_job, is_latest))
        .outerjoin(chip, chip.c.id == allocation.c.chip_id)
        .outerjoin(node, node.c.id == chip.c.id)
        .where(job.c.id.in_(bindparam("keys", expanding=True)))
        .group_by(*job.c, _T["cluster"].c.slug)
        .order_by(job.c.id)
    )


def _read_job(connection: Connection, key: int) -> Job:
    (job,) = jobs_by_key(connection, [key])
    return job


def check_name(name: str) -> None:
    """Refuse a name that no job can have.

    Raises
    ------
    InvalidArgumentError

    """
    if not name.strip() or len(name) > MAX_TEXT or has_forbidden_characters([name]) or not name.isprintable():
        raise InvalidArgumentError(f"name: write 1 to {MAX_TEXT} printable characters")
    if ":" in name:
        raise InvalidArgumentError("name: ':' separates a system from its job's id; omit it")


def split_job_name(name: str) -> tuple[str, str]:
    """Split a qualified job name into system and id."""
    system, colon, identity = name.partition(":")
    return (system, identity) if colon else (OWN_SYSTEM, name)


def find_live_job(connection: Connection, system: str, identity: str) -> int | None:
    """Return the key of a job that has not ended, or None."""
    if has_forbidden_characters([system, identity]):
        raise InvalidArgumentError(f"a job {FORBIDDEN_MESSAGE}")
    job = _T["job"]
    same = select(job.c.id).where(job.c.system == system, job.c.external_id == identity, job.c.ended_at.is_(None))
    return connection.scalar(same)


def _chips_of_job(connection: Connection, key: int) -> dict[int, str]:
    allocation = _T["allocation"]
    query = select(allocation.c.chip_id, allocation.c.role).where(allocation.c.job_id == key)
    return {row.chip_id: row.role for row in connection.execute(query.where(allocation.c.ended_at.is_(None)))}
