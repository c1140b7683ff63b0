"""When to stop: a request's time limit, and whether anybody still waits for the answer. Long loops check it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf

from trninv.errors import TimeLimitError


@dataclass(slots=True)
class Deadline:
    """A monotonic time that can be moved earlier, shared by a context and the threads that work for it."""

    end: float
    seconds: float

    def timeout_error(self) -> TimeLimitError:
        """The error that tells how long it might have taken."""
        return TimeLimitError(f"not answered within {self.seconds:g} s: ask for less, or of a smaller scope")

    def lift(self) -> None:
        """Let what is left of an answer take its time, if it came in time."""
        self.end = inf if time.monotonic() <= self.end else -inf

    def cancel(self) -> None:
        """Stop now: nobody waits for the answer any more."""
        self.end = -inf


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def time_limit(seconds: float) -> Iterator[Deadline]:
    """Limit the time that the code in the context may take, within the limit that it has already."""
    outer = _current.get()
    end = time.monotonic() + seconds
    deadline = Deadline(end if outer is None else min(end, outer.end), seconds)
    token = _current.set(deadline)
    try:
        yield deadline
    finally:
        _current.reset(token)


def expired() -> bool:
    """Whether the time of the current context is up."""
    deadline = _current.get()
    return deadline is not None and time.monotonic() > deadline.end


def raise_if_expired() -> None:
    """Raise if the time is up.

    Raises
    ------
    TimeLimitError
        It is up.

    """
    deadline = _current.get()
    if deadline is not None and time.monotonic() > deadline.end:
        raise deadline.timeout_error()


def cap_timeout(seconds: float) -> float:
    """That many seconds, or what is left if that is less."""
    deadline = _current.get()
    return seconds if deadline is None else max(min(seconds, deadline.end - time.monotonic()), 0.0)
