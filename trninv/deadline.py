"""Limit how long work takes, and report its progress.

The service opens a `time_limit` for each request; long loops call `raise_if_expired`, and SQLite calls `expired` during
a statement.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf

from trninv.errors import TimeLimitError


@dataclass(slots=True)
class Deadline:
    """The time at which work must stop, shared by a request and its worker threads.

    Attributes
    ----------
    end
        The end time on the monotonic clock.
    seconds
        The time limit, for the error message.
    """

    end: float
    seconds: float

    def timeout_error(self) -> TimeLimitError:
        """Return the error that names the time limit."""
        return TimeLimitError(f"not answered within {self.seconds:g} s: ask for less, or about a smaller scope")

    def lift(self) -> None:
        """Remove the limit for the rest of the answer, unless the deadline has already passed."""
        self.end = inf if time.monotonic() <= self.end else -inf

    def cancel(self) -> None:
        """Expire now, because nobody waits for the answer any more."""
        self.end = -inf


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def time_limit(seconds: float) -> Iterator[Deadline]:
    """Limit the time of the code in this context; an earlier deadline of an outer context still holds."""
    outer = _current.get()
    end = time.monotonic() + seconds
    deadline = Deadline(end if outer is None else min(end, outer.end), seconds)
    token = _current.set(deadline)
    try:
        yield deadline
    finally:
        _current.reset(token)


def expired() -> bool:
    """Return whether the current deadline has passed."""
    deadline = _current.get()
    return deadline is not None and time.monotonic() > deadline.end


def raise_if_expired() -> None:
    """Raise TimeLimitError if the current deadline has passed."""
    deadline = _current.get()
    if deadline is not None and time.monotonic() > deadline.end:
        raise deadline.timeout_error()


def cap_timeout(seconds: float) -> float:
    """Return `seconds`, or the time until the deadline if that is less."""
    deadline = _current.get()
    return seconds if deadline is None else max(min(seconds, deadline.end - time.monotonic()), 0.0)


Progress = Callable[[str, int, int], None]
"""Called with the name of what is counted, such as a table, the number done and the total."""


def silent(_what: str, _done: int, _total: int) -> None:
    """Ignore progress."""
