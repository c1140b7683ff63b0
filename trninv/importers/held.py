"""A job as a scheduler tells it, and the chips that it holds there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from trninv.characters import escape_controls
from trninv.importers.value import JsonValue
from trninv.timestamps import format_timestamp

MAX_NAME_LENGTH: Final = 200
"""Characters of a name that are kept."""


@dataclass(frozen=True, slots=True)
class HostAllocation:
    """What a job holds of a host.

    Attributes
    ----------
    chips
        Their numbers; None: the scheduler does not say which.
    count
        How many, where it is only that which the scheduler says.

    """

    host: str
    chips: tuple[int, ...] | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class SchedulerJob:
    """A job that holds chips.

    Attributes
    ----------
    where
        Where it stands in its file, for a fault.
    identity
        What its scheduler calls it, once for ever.

    """

    where: str
    identity: str
    name: str
    who: str
    allocations: tuple[HostAllocation, ...]
    submitted_at: str | None = None
    started_at: str | None = None
    priority: int | None = None


ErrorCallback = Callable[[str, str], None]
SchedulerJobs = Iterator[SchedulerJob]


def clean_job_name(value: JsonValue, default: str) -> str:
    """A name that users chose freely: what a terminal would obey is spelled out, and what is too long is cut."""
    return escape_controls(value.as_text() or default)[:MAX_NAME_LENGTH]


def from_unix_time(seconds: int | None) -> str | None:
    """A time of Unix as it is kept, UTC; 0 is none."""
    return format_timestamp(datetime.fromtimestamp(seconds, UTC)) if seconds else None
