"""Represent what a scheduler reports about a job and its chips, for `slurm_jobs` and `kubernetes_jobs`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from trninv.characters import escape_controls
from trninv.importers.json_value import JsonValue
from trninv.units import format_timestamp

MAX_NAME_LENGTH: Final = 200
"""Longer names are cut to this many characters."""


@dataclass(frozen=True, slots=True)
class HostAllocation:
    """A job's allocation on one host.

    Attributes
    ----------
    chips
        The numbers of the chips, or None if the scheduler does not report them.
    count
        The number of chips, if the scheduler reports only that. If both are None, the job has all chips of the host, or
        none if the scheduler reports chips for other jobs.

    """

    host: str
    chips: tuple[int, ...] | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class SchedulerJob:
    """A job with allocated chips.

    Attributes
    ----------
    where
        Its position in its file, for error messages.
    identity
        The scheduler's id, which is never used again for another job.
    who
        Who runs the job, or the scheduler's name if it does not report that.
    until
        When it ends at the latest; None if it may run forever or the scheduler does not report that.

    """

    where: str
    identity: str
    name: str
    who: str
    allocations: tuple[HostAllocation, ...]
    submitted_at: str | None = None
    started_at: str | None = None
    priority: int | None = None
    until: str | None = None


def clean_job_name(value: JsonValue, default: str) -> str:
    """Return a name that a user chose, or the default, with control characters escaped, cut to ``MAX_NAME_LENGTH``."""
    return escape_controls(value.as_text() or default)[:MAX_NAME_LENGTH]


def from_unix_time(seconds: int | None) -> str | None:
    """Convert a Unix time to the database's format; None for 0, which Slurm writes if there is no time."""
    return format_timestamp(datetime.fromtimestamp(seconds, UTC)) if seconds else None
