"""Send the service's reads to a PostgreSQL standby while it is up to date, and otherwise to the primary.

The engine of the standby's fleet raises a DatabaseError while the standby lags (`trninv.database.standby`).
"""

import time
from collections.abc import Callable
from threading import Lock
from typing import Final, TypeVar

from sqlalchemy import Engine

from trninv.errors import DatabaseError
from trninv.routing.fleet import BaseFleet

T = TypeVar("T")

STANDBY_PAUSE_SECONDS: Final = 5.0
"""Time after which a standby that lagged or did not answer is tried again."""


class ReadReplicas:
    """A primary database and optionally its standby; thread-safe.

    Parameters
    ----------
    on_read
        Called after each read with "standby" or "primary".

    Attributes
    ----------
    logins
        By the engine of a fleet: the engine that logs in with the database role for users' SQL. Empty unless
        `trninv.service.services` sets it.
    fleets
        The fleet of the primary, and that of the standby if there is one.

    """

    def __init__(
        self, primary: BaseFleet, standby: BaseFleet | None = None, on_read: Callable[[str], None] = lambda _: None
    ) -> None:
        self.logins = dict[Engine, Engine]()
        self.fleets = (primary,) if standby is None else (primary, standby)
        self._primary, self._standby, self._on_read = primary, standby, on_read
        self._lock, self._standby_pause_until = Lock(), 0.0

    def read(self, work: Callable[[BaseFleet], T]) -> T:
        """Run ``work`` on the standby's fleet, or, if the standby fails, again from the beginning on the primary's."""
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
        """Return whether to try the standby; after a pause, one caller tries it while others use the primary."""
        with self._lock:
            now = time.monotonic()
            if now < self._standby_pause_until:
                return False
            if self._standby_pause_until:
                self._standby_pause_until = now + STANDBY_PAUSE_SECONDS
            return True
