"""A job as a scheduler tells it, and the chips that it holds there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from trninv.characters import plain
from trninv.importers.value import Value
from trninv.timestamps import format_timestamp

LONGEST: Final = 200
"""Characters of a name that are kept."""


@dataclass(frozen=True, slots=True)
class Part:
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
class Held:
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
    parts: tuple[Part, ...]
    submitted: str | None = None
    began: str | None = None
    priority: int | None = None


Fault = Callable[[str, str], None]
Jobs = Iterator[Held]


def called(value: Value, otherwise: str) -> str:
    """A name that users chose freely: what a terminal would obey is spelled out, and what is too long is cut."""
    return plain(value.as_text() or otherwise)[:LONGEST]


def at(seconds: int | None) -> str | None:
    """A time of Unix as it is kept, UTC; 0 is none."""
    return format_timestamp(datetime.fromtimestamp(seconds, UTC)) if seconds else None
