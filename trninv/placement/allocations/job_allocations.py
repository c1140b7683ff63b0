"""List jobs, allocate chips to them and release them: ``trninv jobs``, ``allocate`` and ``release``.

A job is a row of ``job``, and each of its chips a row of ``allocation``, open until ``ended_at`` is set. A partial
unique index allows one open allocation per chip, even for plain SQL. Each change of these rows records events with its
author and reason.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Final

from sqlalchemy import Connection, Select, bindparam, func, select

from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, UnknownJobError, suggestion
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.schema.listing import select_things
from trninv.inventory.schema.things import THINGS
from trninv.inventory.state.author import check_author
from trninv.inventory.state.hash_chain import record_change
from trninv.routing.answer import HiddenInt, SchemaScalar
from trninv.units import format_timestamp, pluralize

_T, _JOB = TABLES, THINGS["job"]
OWN_SYSTEM: Final = "trninv"
"""The system of jobs that ``trninv allocate`` creates; imported jobs have the system of their scheduler."""
UNKNOWN_USER: Final = "unknown"
"""The author of a release, or of the end of a cordon, if the caller names none."""
MAX_TEXT: Final = 200
"""The most characters in a name or a reason."""
_MAX_SUGGESTIONS = 5_000
"""The most jobs that are searched for a name similar to an unknown one."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job in a list; the declaration "job" in `trninv.inventory.schema.things` describes the fields.

    Attributes
    ----------
    had_ended
        In the result of a release: whether the job had ended before, so that the release changed nothing.

    """

    key: HiddenInt
    name: str
    system: str
    external_id: str
    cluster: str
    chips: int
    servers: int
    first_server: str | None
    failed_chips: int
    started_at: str
    moved_at: str | None
    until_at: str | None
    ended_at: str | None
    pinned: bool
    who: str
    had_ended: Annotated[bool, SchemaScalar.HIDDEN] = field(default=False, compare=False)


@contextmanager
def change_transaction(connection: Connection, *, who: str, why: str = "", source: str) -> Iterator[str]:
    """Record all writes in the block as one change (see `trninv.inventory.state.hash_chain`); yield its time.

    Raises
    ------
    InvalidArgumentError
        The author or the reason is invalid, or ``source`` is unknown: how the change was made, such as "command".

    """
    check_author(who, why or None)
    if not (who + why).isprintable():
        raise InvalidArgumentError("who or why has unprintable characters; remove them")
    with record_change(connection, who=who, why=why, source=source) as time:
        yield format_timestamp(time)


def unknown_job_error(connection: Connection, name: str) -> UnknownJobError:
    """Return the error for an unknown job name; its message suggests a similar one."""
    hint = _suggest_name(connection, split_job_name(name)[1])
    return UnknownJobError(f"no job {name[:MAX_TEXT]}: {hint} (trninv jobs lists all)")


def _suggest_name(connection: Connection, name: str) -> str:
    """Return a hint that suggests a job with that name or a similar one, as `release` accepts it."""
    job = _T["job"]
    query = select(job.c.name, job.c.system, job.c.external_id).where(job.c.ended_at.is_(None)).limit(_MAX_SUGGESTIONS)
    names = {
        row.external_id if row.system == OWN_SYSTEM else f"{row.system}:{row.external_id}": row.name
        for row in connection.execute(query)
    }
    same_name = [qualified_name for qualified_name, job_name in names.items() if job_name == name]
    return f"did you mean {same_name[0]}, which has this name?" if same_name else suggestion(name, list(names))


def list_jobs(connection: Connection, scope: str | None, limit: int, *, include_ended: bool = False) -> list[Job]:
    """List jobs with chips in a place, or all jobs, by key; ``include_ended`` adds ended jobs.

    Raises
    ------
    AddressError, UnknownAddressError
        The scope does not exist.

    """
    place = None if scope is None else resolve_place(connection, scope)
    query = select_things(_JOB, place, everything=include_ended).limit(limit)
    return [Job(*row) for row in connection.execute(query)]


def jobs_by_key(connection: Connection, keys: Sequence[int]) -> list[Job]:
    """Return the jobs with these keys, ascending."""
    query = _jobs_with_keys()
    id_batches = batches(sorted(keys))
    return [Job(*row) for batch in id_batches for row in connection.execute(query, {"keys": batch})]


@cache  # building the query takes longer than running it
def _jobs_with_keys() -> Select[Any]:
    return select_things(_JOB, everything=True).where(_JOB.key.in_(bindparam("keys", expanding=True)))


def job_ordinals(connection: Connection) -> dict[int, int]:
    """Return the position of each job among all that have not ended, the oldest first, by its key.

    It decides a job's letter and color wherever they are shown. A move or a new job changes no other job's position.
    """
    job = _T["job"]
    age = func.coalesce(job.c.first_started_at, job.c.started_at), job.c.system, job.c.external_id
    query = select(job.c.id).where(job.c.ended_at.is_(None)).order_by(*age)
    return {key: ordinal for ordinal, key in enumerate(connection.scalars(query))}


def read_job(connection: Connection, key: int) -> Job:
    """Return the job with this key."""
    (job,) = jobs_by_key(connection, [key])
    return job


def job_location(job: Job) -> str:
    """Return where a job runs, in words: its first server, and how many others."""
    more_servers = job.servers - 1
    return (
        f"{job.first_server} and {pluralize(more_servers, 'server')} more"
        if more_servers > 0
        else job.first_server or ""
    )


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
    """Split SYSTEM:ID into the system and the job's id in it; a name without a colon is a job of `OWN_SYSTEM`."""
    system, colon, identity = name.partition(":")
    return (system, identity) if colon else (OWN_SYSTEM, name)


def move_obstacle(name: str, system: str, *, pinned: bool = False, has_spares: bool = False) -> str | None:
    """Return why `move_jobs` does not move a job, and what to do instead; None if it does."""
    if system != OWN_SYSTEM:
        return f"job {name} is run by {system}; move it there, then import its jobs again"
    if pinned or has_spares:
        reason = "is pinned" if pinned else "has spares"
        return f"job {name} {reason} and can't move; release it, allocate its new chips and make a new plan"
    return None


def find_live_job(connection: Connection, system: str, identity: str) -> int | None:
    """Return the key of the job with this id in a system that has not ended, or None."""
    if has_forbidden_characters([system, identity]):
        raise InvalidArgumentError(f"a job {FORBIDDEN_MESSAGE}")
    return connection.scalar(_LIVE_JOB, {"system": system, "identity": identity})


_LIVE_JOB: Final = select(_T["job"].c.id).where(
    _T["job"].c.system == bindparam("system"),
    _T["job"].c.external_id == bindparam("identity"),
    _T["job"].c.ended_at.is_(None),
)
