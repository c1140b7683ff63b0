"""When to stop: a request's time, and whether anybody still waits for it. What takes long looks at it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf

from trninv.errors import TimeLimitError


@dataclass(slots=True)
class Deadline:
    """A time (monotonic) that may be brought forward: of a context, and of the threads that work for it."""

    end: float
    seconds: float

    def late(self) -> TimeLimitError:
        return TimeLimitError(f"not answered within {self.seconds:g} s: ask for less, or of a smaller scope")

    def cancel(self) -> None:
        """Nobody waits any more."""
        self.end = -inf


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def limit(seconds: float) -> Iterator[Deadline]:
    """Let what runs within take so long at most."""
    deadline = Deadline(time.monotonic() + seconds, seconds)
    token = _current.set(deadline)
    try:
        yield deadline
    finally:
        _current.reset(token)


def is_over() -> bool:
    deadline = _current.get()
    return deadline is not None and time.monotonic() > deadline.end


def check() -> None:
    """Stop here if it is time.

    Raises
    ------
    TimeLimitError
        It is.

    """
    deadline = _current.get()
    if deadline is not None and time.monotonic() > deadline.end:
        raise deadline.late()


def remaining(seconds: float) -> float:
    """So many seconds, or what is left if that is less."""
    deadline = _current.get()
    return seconds if deadline is None else max(min(seconds, deadline.end - time.monotonic()), 0.0)
