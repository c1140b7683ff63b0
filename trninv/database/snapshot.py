"""Read all of an answer from one snapshot, so that no change in between makes its parts disagree.

`trninv.routing.fleet` opens a `SharedSnapshot` for each answer. `AsOf` is what the answer reports about it.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from trninv import deadline
from trninv.database.as_of import OmittedCluster, as_of_time, omitted_clusters
from trninv.database.engine import translate_statement_errors
from trninv.database.revision import RevisionTracker, revision_id
from trninv.errors import DatabaseError

Result = TypeVar("Result")

_MAX_WAIT = 60.0
"""Seconds between two checks of the deadline while waiting."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """The state of the database that an answer was read from.

    Attributes
    ----------
    time
        The time at which this state was the newest.
    revision
        Equal for equal states; None where they cannot be compared.
    omitted
        The clusters without history at that time.
    """

    time: datetime
    revision: str | None
    omitted: tuple[OmittedCluster, ...] = ()

    @classmethod
    def latest(cls, revision: Hashable | None) -> "AsOf":
        """Return the newest state, as of now."""
        return cls(datetime.now(UTC), revision_id(revision))

    @classmethod
    def from_engine(cls, engine: Engine, revision: Hashable | None) -> "AsOf":
        """Return the state that an engine reads: the newest one, or the earlier one chosen with `engine_as_of`."""
        return cls(as_of_time(engine) or datetime.now(UTC), revision_id(revision), omitted_clusters(engine))

    def fields(self) -> dict[str, str | None]:
        """Return the time, rounded down to milliseconds, and the revision as text."""
        time = self.time.replace(tzinfo=None).isoformat(timespec="milliseconds")
        return {"time": f"{time}Z", "revision": self.revision}


class _LentConnection:
    """A connection for several reads, one at a time; it closes once it is retired and no read uses it."""

    def __init__(self, tracker: RevisionTracker) -> None:
        self._stack, self._lock, self.is_retired = ExitStack(), Lock(), False
        self.connection, self.revision = self._stack.enter_context(tracker.read())

    def acquire(self, seconds: float = 0) -> bool:
        """Begin a read; return False if another read has not ended after `seconds`, or the connection is retired."""
        if not self._lock.acquire(timeout=seconds):
            return False
        if self.is_retired:
            self.release()
            return False
        return True

    def release(self) -> None:
        """End a read."""
        self._lock.release()
        if self.is_retired:
            self.retire()

    def retire(self) -> None:
        """Close the connection now, or at the end of the read that uses it."""
        self.is_retired = True
        if self._lock.acquire(blocking=False):
            try:
                self._stack.close()
            finally:
                self._lock.release()


class SharedSnapshot:
    """The snapshot of the first read, kept open on one connection for all later reads; thread-safe.

    A concurrent read opens another connection if that sees the same revision; otherwise the reads are serialized.
    """

    def __init__(self, tracker: RevisionTracker) -> None:
        self._tracker, self._opening = tracker, Lock()
        self._lent: _LentConnection | None = None
        self._revision: Hashable | None = None
        self._is_closed = False
        self.engine = tracker.engine
        self.as_of: AsOf | None = None

    def current(self) -> Hashable | None:
        """Return the snapshot's revision, or None if it has none."""
        return self._open().revision

    @contextmanager
    def read(self) -> Iterator[tuple[Connection, Hashable | None]]:
        """Lend a connection to the snapshot, together with its revision.

        Raises
        ------
        TimeLimitError
            Another read holds the connection for too long.
        DatabaseError
            A statement failed, an earlier failure ended the snapshot, or it is closed.
        """
        lent = self._open()
        if not lent.acquire():
            with self._tracker.read() as (connection, revision):
                if revision is not None and revision == lent.revision:
                    yield connection, revision
                    return
            lent = self._wait(lent)
        try:
            yield lent.connection, lent.revision
        except DBAPIError:
            self._retire(lent)  # PostgreSQL takes no more statements in this transaction
            with translate_statement_errors(self.engine):
                raise
        finally:
            lent.release()

    def _open(self) -> _LentConnection:
        """Return the connection; open it first if there is none.

        Raises
        ------
        DatabaseError
            The snapshot is closed, or its connection failed and the database has changed since.
        """
        with self._opening:
            if self._is_closed:
                raise DatabaseError("the snapshot was closed; open another one")
            if self._lent is None:
                lent = _LentConnection(self._tracker)
                if self.as_of and (lent.revision is None or lent.revision != self._revision):
                    lent.retire()
                    raise DatabaseError("the connection was lost, and the database has changed since; try again")
                self._lent, self._revision = lent, lent.revision
                self.as_of = self.as_of or AsOf.from_engine(self.engine, lent.revision)
            return self._lent

    def _wait(self, lent: _LentConnection) -> _LentConnection:
        """Wait until no other read uses the connection, or the connection that replaces it meanwhile."""
        while not lent.acquire(deadline.cap_timeout(_MAX_WAIT)):
            deadline.raise_if_expired()
            lent = self._open()
        return lent

    def read_separately(self, read: Callable[[], Result]) -> Result:
        """Run `read`, which opens its own connection; `as_of` loses its revision if the database changed."""
        revision = self.current()
        result = read()
        if self.as_of and (revision is None or self._tracker.current() != revision):
            self.as_of = replace(self.as_of, revision=None)
        return result

    def refresh(self) -> None:
        """End the snapshot; the next read opens a new one, while reads that have begun end with the old one."""
        self.as_of = None
        self._retire()

    def close(self) -> None:
        """Close the snapshot, as soon as reads that have begun end; further reads raise an error."""
        self._is_closed = True
        self._retire()

    def _retire(self, lent: _LentConnection | None = None) -> None:
        """Retire a connection, by default the current one."""
        with self._opening:
            lent = lent or self._lent
            if self._lent is lent:
                self._lent = None
        if lent:
            lent.retire()
