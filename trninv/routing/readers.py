"""Where reads go: to a standby that has all that its primary has, else to the primary."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Final, TypeVar

from sqlalchemy import Engine

from trninv.errors import DatabaseError
from trninv.routing.fleet import Fleet

T = TypeVar("T")

STANDBY_PAUSE_SECONDS: Final = 5.0
"""Seconds in which a standby that was behind, or did not answer, is not asked again."""


class ReadReplicas:
    """A primary and, where there is one, its standby. Thread safe.

    Parameters
    ----------
    noted
        Told where each read went: "standby" or "primary".

    Attributes
    ----------
    logins
        What SQL connects with instead of an engine of theirs, where it has a login of its own.

    """

    def __init__(
        self, primary: Fleet, standby: Fleet | None = None, on_read: Callable[[str], None] = lambda _: None
    ) -> None:
        self.logins = dict[Engine, Engine]()
        self.fleets = (primary,) if standby is None else (primary, standby)
        self._primary, self._standby, self._on_read = primary, standby, on_read
        self._lock, self._standby_pause_until = Lock(), 0.0

    def read(self, work: Callable[[Fleet], T]) -> T:
        """What reads a fleet; on the primary from the beginning where the standby does not do it."""
        if self._standby is not None and self._should_try_standby():
            try:
                result = work(self._standby)
            except DatabaseError:
                self._standby_pause_until = time.monotonic() + STANDBY_PAUSE_SECONDS
            else:
                self._standby_pause_until = 0.0
                self._on_read("standby")
                return result
        result = work(self._primary)
        self._on_read("primary")
        return result

    def _should_try_standby(self) -> bool:
        """Whether to ask the standby; after a failure, one asks and the others wait for what comes of it."""
        with self._lock:
            now = time.monotonic()
            if now < self._standby_pause_until:
                return False
            if self._standby_pause_until:
                self._standby_pause_until = now + STANDBY_PAUSE_SECONDS
            return True
