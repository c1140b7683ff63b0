"""Share one snapshot among all reads of an answer."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock, RLock
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from trninv import deadline
from trninv.database.as_of import OmittedCluster, as_of_time, omitted_clusters
from trninv.database.engine import translate_statement_errors
from trninv.database.revision import RevisionTracker, revision_id
from trninv.errors import DatabaseError

A = TypeVar("A")

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
        """Return the newest state, as read just now."""
        return cls(datetime.now(UTC), revision_id(revision))

    @classmethod
    def from_engine(cls, engine: Engine, revision: Hashable | None) -> "AsOf":
        """Return what an engine has just read: the newest state, or for an engine of `engine_at` that of its event."""
        return cls(as_of_time(engine) or datetime.now(UTC), revision_id(revision), omitted_clusters(engine))

    def fields(self) -> dict[str, str | None]:
        """Return time (to the millisecond) and revision as text."""
        return {"time": f"{self.time:%Y-%m-%dT%H:%M:%S}.{self.time.microsecond // 1000:03}Z", "revision": self.revision}


def read_with_revision(source: RevisionTracker, read: Callable[[], A]) -> tuple[A, AsOf]:
    """Run a read on its own connections; its revision is None if the database changed meanwhile."""
    revision = source.current()
    result = read()
    return result, AsOf.from_engine(source.engine, revision if revision == source.current() else None)


class SharedSnapshot:
    """The snapshot of the first read, kept open on one connection for all later reads.

    A concurrent read uses a connection of its own if that sees the same revision; otherwise the reads are serialized.
    """

    def __init__(self, source: RevisionTracker) -> None:
        self._source, self._connection_lock, self._opening, self._stack = source, Lock(), RLock(), ExitStack()
        self._connection: Connection | None = None
        self._revision: Hashable | None = None
        self._is_refresh_due = self._is_closing = False
        self.as_of: AsOf | None = None

    def revision(self) -> Hashable | None:
        """Return the snapshot's revision, or None if it has none."""
        self._ensure_open()
        try:
            return self._revision
        finally:
            self._release_if_closing()

    @contextmanager
    def connection(self) -> Iterator[tuple[Connection, Hashable | None]]:
        """Lend a connection to the snapshot, together with its revision.

        Raises
        ------
        TimeLimitError
            Another read holds the connection for too long.
        DatabaseError
            A statement failed, or an earlier failure closed the snapshot.
        """
        self._ensure_open()
        if not self._connection_lock.acquire(blocking=False):
            with self._source.read() as (connection, revision):
                if revision is not None and revision == self._revision:
                    yield connection, revision
                    return
            while not self._connection_lock.acquire(timeout=deadline.cap_timeout(_MAX_WAIT)):
                deadline.raise_if_expired()
        try:
            yield self._ensure_open(), self._revision
        except DBAPIError:
            self._release()  # PostgreSQL takes no more statements in this transaction
            with translate_statement_errors(self._source.engine):
                raise
        finally:
            self._connection_lock.release()
            self._release_if_closing()

    def _ensure_open(self) -> Connection:
        with self._opening:
            if self._is_refresh_due:
                self._release()
                self._is_refresh_due = False
            if self._connection is None:
                self._connection, revision = self._stack.enter_context(self._source.read())
                if self.as_of and (revision is None or revision != self._revision):
                    self._release()
                    raise DatabaseError("a statement failed, and the database has changed since: ask again")
                self._revision, self.as_of = revision, self.as_of or AsOf.from_engine(self._source.engine, revision)
            return self._connection

    def read_separately(self, read: Callable[[], A]) -> A:
        """Run a read on its own connection; `as_of` loses its revision if the database changed."""
        revision = self.revision()
        result = read()
        if self.as_of and (revision is None or self._source.current() != revision):
            self.as_of = replace(self.as_of, revision=None)
        return result

    def refresh(self) -> None:
        """Close the snapshot; the next read opens a new one."""
        self._is_refresh_due, self.as_of = True, None
        self._release_if_idle()

    def close(self) -> None:
        """Close the snapshot, as soon as the current read ends."""
        self._is_closing = True
        self._release_if_idle()

    def _release_if_closing(self) -> None:
        if self._is_closing:
            self._release_if_idle()

    def _release_if_idle(self) -> None:
        if self._connection_lock.acquire(blocking=False):
            try:
                self._release()
            finally:
                self._connection_lock.release()

    def _release(self) -> None:
        with self._opening:
            self._connection = None
            self._stack.close()
