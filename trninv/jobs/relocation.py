"""Carry out a plan: jobs leave their chips for others, all of them or none."""

from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection, insert, select, update

from trninv.errors import ConflictError, UnknownJobError
from trninv.inventory.address import resolve
from trninv.inventory.ranges import each_of
from trninv.inventory.schema import TABLES
from trninv.jobs.holding import OURS, Job, changing, listed, live_job, system_and_id
from trninv.jobs.revision import require
from trninv.jobs.taking import TakenError, allocate, batches, chips_at, next_job, place_and_chips, refuse_taken

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


class Going(Protocol):
    """A job that moves, and where to."""

    @property
    def job(self) -> str:
        """As it is released."""

    @property
    def to(self) -> "Sequence[str]":
        """Addresses of domains, servers or chips."""


def relocate(
    connection: Connection,
    scope: str,
    moves: "Sequence[Going]",
    revision: str,
    *,
    who: str,
    why: str = "",
    source: str = "command",
) -> list[Job]:
    """Move jobs as planned: what each held is kept as ended, and from now on it holds other chips, as ``who`` says.

    Parameters
    ----------
    connection
        In the transaction of the only one who writes, as `trninv.inventory.database.writing` gives.
    scope, moves, revision
        As the plan has them.
    why, source
        Kept with the events, as in `trninv.jobs.holding.hold`.

    Raises
    ------
    LimitError
        Who is missing or too long.
    StalePlanError
        The fleet is not as it was planned for.
    ConflictError
        A job is run by another system, which has to move it; or the moves are no plan: one is pinned or has spares,
        moves twice, to more or fewer chips, or to another cluster.

    """
    with changing(connection, who=who, why=why, source=source) as time:
        return _relocated(connection, scope, moves, revision, who, time)


def _relocated(
    connection: Connection, scope: str, moves: "Sequence[Going]", revision: str, who: str, time: str
) -> list[Job]:
    cluster = resolve(connection, scope).cluster_id
    require(connection, cluster, revision)
    job, allocation = TABLES["job"], TABLES["allocation"]
    keys = [_ours(connection, move.job) for move in moves]
    had = {job.key: job for job in listed(connection, keys)}
    if len(had) < len(keys):
        raise ConflictError("a job moves twice, which no plan says: ask for a new plan")
    for part in batches(keys):
        held = allocation.c.job_id.in_(part), allocation.c.ended.is_(None)
        _refuse_what_stays(had.values(), connection.scalars(select(allocation.c.job_id).where(*held, _IS_SPARE)).all())
        connection.execute(update(allocation).where(*held).values(ended=time))
        connection.execute(update(job).where(job.c.id.in_(part)).values(ended=time, moved=time))
    fresh = []
    for key, move in zip(keys, moves, strict=True):
        chips = chips_at(connection, move.to, ())
        if len(chips) != had[key].chips or resolve(connection, each_of(move.to)[0]).cluster_id != cluster:
            raise ConflictError(f"job {move.job} keeps its {had[key].chips} chips, in its cluster: ask for a new plan")
        refuse_taken(connection, list(chips))
        fresh.append(_again(connection, key, time, who, place_and_chips(connection, chips)))
        try:
            allocate(connection, fresh[-1], chips, time)
        except TakenError:
            raise ConflictError(f"the chips for job {move.job} were taken meanwhile: ask for a new plan") from None
    return listed(connection, fresh)


_IS_SPARE = TABLES["allocation"].c.role == "spare"


def _refuse_what_stays(jobs: "Iterable[Job]", with_spares: "Collection[int]") -> None:
    for job in jobs:
        if job.pinned or job.key in with_spares:
            why = "is pinned" if job.pinned else "has chips to spare"
            raise ConflictError(f"job {job.name} {why}, and stays where it is: ask for a new plan")


def _again(connection: Connection, key: int, time: str, who: str, now_at: "Mapping[str, str]") -> int:
    """Key of a job that is one which has just ended, and goes on elsewhere."""
    job = TABLES["job"]
    row = connection.execute(select(job).where(job.c.id == key)).one()
    new = next_job(connection)
    began = {"began": time, "first_began": row.first_began or row.began}
    now_is = {"id": new, "ended": None, "moved": None, "who": who, **now_at}
    connection.execute(insert(job), row._asdict() | began | now_is)
    return new


def _ours(connection: Connection, name: str) -> int:
    """Key of a job that is held here."""
    system, identity = system_and_id(name)
    if system != OURS:
        raise ConflictError(f"job {name} is run by {system}: move it there, and import its jobs again")
    if (key := live_job(connection, system, identity)) is None:
        raise UnknownJobError(f"no job {name} holds chips (trninv jobs lists them)")
    return key
