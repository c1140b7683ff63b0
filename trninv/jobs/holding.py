"""Hold chips for a job and give them back, and list who holds which.

The database itself allows a chip one holder (a unique index over what has not ended), whoever writes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final

from sqlalchemy import Connection, Select, and_, bindparam, distinct, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from trninv.characters import SAYS, refused
from trninv.errors import ConflictError, LimitError, UnknownJobError, nearest
from trninv.inventory.address import chips_of, resolve
from trninv.inventory.author import check_author
from trninv.inventory.chain import change
from trninv.inventory.schema import CARRYING, TABLES
from trninv.jobs.revision import require
from trninv.jobs.taking import (
    TakenError,
    allocate,
    batches,
    chips_at,
    next_job,
    place_and_chips,
    refuse_taken,
    server_names,
)
from trninv.routing.answer import At, Hidden
from trninv.timestamps import format_timestamp

_T = TABLES
OURS: Final = "trninv"
"""The system of jobs that are held here, and not imported."""
NOBODY: Final = "not said"
"""Who released a job or opened a server, where that is not told."""
MAX_TEXT: Final = 200
_LOOKED_AT = 5_000
"""Jobs among which is looked for what another may be called."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its system calls it, and what it holds."""

    key: Hidden
    name: Annotated[str, "Its name."]
    system: Annotated[str, "What runs it; trninv where it was held here."]
    external_id: Annotated[str, "What its system calls it."]
    cluster: Annotated[At, "Whose chips it holds."]
    chips: Annotated[int, "Chips that it holds, spares too, or held when it ended."]
    servers: Annotated[int, "Servers that they are in."]
    first: Annotated[At | None, "The first of those."]
    wounded: Annotated[int, "Chips that it holds and that carry nothing now."]
    began: Annotated[str, "Since when it holds chips, UTC, wherever they were."]
    moved: Annotated[str | None, "When it last moved, by trninv or as an import told, UTC; null: never."]
    ended: Annotated[str | None, "Until when; null while it holds them."]
    pinned: Annotated[bool, "Whether plans leave it where it is."]
    who: Annotated[str, "Who said so."]


def hold(
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
    """Hold the chips of places for a job: all of them, or none; the same job on the same chips again is no change.

    Parameters
    ----------
    places, spares
        Chips, servers, racks or domains of one cluster, to work on and to have in reserve; chips as c0-3 as well.
    pinned
        Whether plans must leave it where it is.
    revision
        That of the plan which says so, if there is one.
    why, source
        Kept with the event: a reason, if there is one, and one of EVENT_SOURCES.

    Raises
    ------
    StalePlanError
        The fleet is not as it was planned for.
    LimitError
        The name, who or the places are missing, too many, or of several clusters.
    ConflictError
        A chip is held, down, or closed to new jobs, or the job holds other chips; the message says which.

    """
    check_name(name)
    with changing(connection, who=who, why=why, source=source) as time:
        chips = chips_at(connection, places, spares)
        cluster = connection.scalars(select(_T["node"].c.cluster_id).where(_T["node"].c.id == min(chips))).one()
        if revision is not None:
            require(connection, cluster, revision)
        if (held := live_job(connection, OURS, name)) is not None:
            if _held_by(connection, held) == chips:
                return _one(connection, held)
            raise ConflictError(f"job {name} holds other chips: release it first, or give this one another name")
        refuse_taken(connection, list(chips))
        job = _T["job"]
        key, now_at = next_job(connection), place_and_chips(connection, chips)
        row = {"id": key, "cluster_id": cluster, "name": name, "system": OURS, "external_id": name, "began": time}
        try:
            connection.execute(insert(job), row | {"pinned": int(pinned), "who": who, **now_at})
            allocate(connection, key, chips, time)
        except (IntegrityError, TakenError):
            raise ConflictError(f"the chips of job {name} were taken meanwhile: look again (trninv jobs)") from None
        return _one(connection, key)


@contextmanager
def changing(connection: Connection, *, who: str, why: str = "", source: str) -> Iterator[str]:
    """What is written within is one change, as `trninv.inventory.chain.change` has it, of the time given.

    Raises
    ------
    LimitError
        Who or why can't be kept, or there is no such source.

    """
    check_author(who, why or None)
    if not (who + why).isprintable():
        raise LimitError("who or why: write characters that can be printed")
    with change(connection, who=who, why=why, source=source) as now:
        yield format_timestamp(now)


def release(connection: Connection, name: str, *, who: str = "", why: str = "", source: str = "command") -> Job:
    """End a job, and give its chips back; one that has ended already is left alone.

    Parameters
    ----------
    name
        As it was held, or SYSTEM:ID of one that another system runs.
    who, why, source
        Kept with the event, as in `hold`.

    Raises
    ------
    UnknownJobError
        There never was one.
    LimitError
        Who or why can't be kept, or there is no such source.

    """
    system, identity = system_and_id(name)
    job, allocation = _T["job"], _T["allocation"]
    key = live_job(connection, system, identity)
    if key is None:
        known = select(job.c.id).where(job.c.system == system, job.c.external_id == identity)
        last = connection.scalar(known.order_by(job.c.id.desc()).limit(1))
        if last is None:
            raise unknown(connection, name)
        return _one(connection, last)
    ours = and_(allocation.c.job_id == key, allocation.c.ended.is_(None))
    with changing(connection, who=who or NOBODY, why=why, source=source) as time:
        connection.execute(update(allocation).where(ours).values(ended=time))
        connection.execute(update(job).where(job.c.id == key, job.c.ended.is_(None)).values(ended=time))
    return _one(connection, key)


def unknown(connection: Connection, name: str) -> UnknownJobError:
    """What to say where no job has a name."""
    instead = _instead(connection, system_and_id(name)[1])
    return UnknownJobError(f"no job {name[:MAX_TEXT]}: {instead} (trninv jobs lists them)")


def _instead(connection: Connection, name: str) -> str:
    """What a job may be called instead, as it is released."""
    job = _T["job"]
    query = select(job.c.name, job.c.system, job.c.external_id).where(job.c.ended.is_(None)).limit(_LOOKED_AT)
    called = {
        row.external_id if row.system == OURS else f"{row.system}:{row.external_id}": row.name
        for row in connection.execute(query)
    }
    named = [identity for identity, each in called.items() if each == name]
    return f"did you mean {named[0]}, which is called so?" if named else nearest(name, list(called))


def jobs(connection: Connection, scope: str | None, most: int, *, ended: bool = False) -> list[Job]:
    """Jobs that hold chips of a place, or of any; with ``ended`` those as well that did. In the order of their keys.

    Raises
    ------
    AddressError, UnknownAddressError
        The scope is none.

    """
    job, allocation = _T["job"], _T["allocation"]
    query = select(job.c.id) if ended else select(job.c.id).where(job.c.ended.is_(None))
    if scope is not None:
        place = resolve(connection, scope)
        here = select(allocation.c.job_id).where(allocation.c.chip_id.in_(chips_of(place)))
        query = query.where(job.c.cluster_id == place.cluster_id)
        if place.level != "cluster":
            query = query.where(job.c.id.in_(here if ended else here.where(allocation.c.ended.is_(None))))
    return listed(connection, connection.scalars(query.order_by(job.c.id).limit(most)).all())


def listed(connection: Connection, keys: Sequence[int]) -> list[Job]:
    """Jobs by their keys."""
    rows = [row for part in batches(keys) for row in connection.execute(_listing(), {"keys": part})]
    names = server_names(connection, {row.first for row in rows if row.first})
    return [
        Job(
            key=row.id,
            name=row.name,
            system=row.system,
            external_id=row.external_id,
            cluster=row.slug,
            chips=row.chips,
            servers=row.servers,
            first=names.get(row.first),
            wounded=row.wounded,
            began=row.first_began or row.began,
            moved=row.moved or (row.began if row.first_began else None),
            ended=row.ended,
            pinned=bool(row.pinned),
            who=row.who,
        )
        for row in rows
    ]


@cache  # building it takes longer than running it
def _listing() -> Select[Any]:
    """Jobs of some keys, with what they hold."""
    job, allocation, chip, node = (_T[name] for name in ("job", "allocation", "chip", "node"))
    ours = allocation.c.job_id == job.c.id
    last = or_(allocation.c.ended.is_(None), allocation.c.ended == job.c.ended)
    lost = and_(allocation.c.ended.is_(None), node.c.state.not_in(CARRYING))
    return (
        select(
            job,
            _T["cluster"].c.slug,
            func.count(chip.c.id).label("chips"),
            func.count(distinct(chip.c.server_id)).label("servers"),
            func.min(chip.c.server_id).label("first"),
            func.count(node.c.id).filter(lost).label("wounded"),
        )
        .join(_T["cluster"], _T["cluster"].c.id == job.c.cluster_id)
        .outerjoin(allocation, and_(ours, last))
        .outerjoin(chip, chip.c.id == allocation.c.chip_id)
        .outerjoin(node, node.c.id == chip.c.id)
        .where(job.c.id.in_(bindparam("keys", expanding=True)))
        .group_by(*job.c, _T["cluster"].c.slug)
        .order_by(job.c.id)
    )


def _one(connection: Connection, key: int) -> Job:
    (found,) = listed(connection, [key])
    return found


def check_name(name: str) -> None:
    """Refuse a name that no job can have.

    Raises
    ------
    LimitError

    """
    if not name.strip() or len(name) > MAX_TEXT or refused([name]) or not name.isprintable():
        raise LimitError(f"name: write 1 to {MAX_TEXT} characters that can be printed")
    if ":" in name:
        raise LimitError("name: ':' stands between a system and its job's id: leave it out")


def system_and_id(name: str) -> tuple[str, str]:
    """System and identity of a job as it is written."""
    system, colon, identity = name.partition(":")
    return (system, identity) if colon else (OURS, name)


def live_job(connection: Connection, system: str, identity: str) -> int | None:
    """Key of a job that has not ended."""
    if refused([system, identity]):
        raise LimitError(f"a job {SAYS}")
    job = _T["job"]
    same = select(job.c.id).where(job.c.system == system, job.c.external_id == identity, job.c.ended.is_(None))
    return connection.scalar(same)


def _held_by(connection: Connection, key: int) -> dict[int, str]:
    allocation = _T["allocation"]
    ours = select(allocation.c.chip_id, allocation.c.role).where(allocation.c.job_id == key)
    return {row.chip_id: row.role for row in connection.execute(ours.where(allocation.c.ended.is_(None)))}
