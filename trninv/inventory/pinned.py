"""One state of a database for everything that makes up an answer, and its name."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock, RLock
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from trninv import deadline
from trninv.errors import DatabaseError
from trninv.inventory.database import translate_statement_errors
from trninv.inventory.past import OmittedCluster, as_of_time, omitted_clusters
from trninv.inventory.revision import RevisionTracker, revision_id

A = TypeVar("A")

_MAX_WAIT = 60.0
"""Seconds between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """Which state of the database was read.

    Attributes
    ----------
    time
        When it was the newest.
    revision
        Equal for equal states; None where they can't be told apart.
    left_out
        The clusters of which nothing is known at that time.

    """

    time: datetime
    revision: str | None
    omitted: tuple[OmittedCluster, ...] = ()

    @classmethod
    def latest(cls, revision: Hashable | None) -> "AsOf":
        """A state that was just found: the newest."""
        return cls(datetime.now(UTC), revision_id(revision))

    @classmethod
    def from_engine(cls, engine: Engine, revision: Hashable | None) -> "AsOf":
        """A state that was just found: the newest, or that of the engine's moment."""
        return cls(as_of_time(engine) or datetime.now(UTC), revision_id(revision), omitted_clusters(engine))

    def fields(self) -> dict[str, str | None]:
        """Both as texts, the time to the millisecond."""
        return {"time": f"{self.time:%Y-%m-%dT%H:%M:%S}.{self.time.microsecond // 1000:03}Z", "revision": self.revision}


def read_with_revision(source: RevisionTracker, read: Callable[[], A]) -> tuple[A, AsOf]:
    """What is found on connections of its own, and of which state if that was the same throughout."""
    revision = source.current()
    result = read()
    return result, AsOf.from_engine(source.engine, revision if revision == source.current() else None)


class SharedSnapshot:
    """The state that the first reading finds, through a connection that is kept, for all other readings.

    A reading beside another has a connection of its own as long as that sees the same state; else they take turns.
    """

    def __init__(self, source: RevisionTracker) -> None:
        self._source, self._connection_lock, self._opening, self._stack = source, Lock(), RLock(), ExitStack()
        self._connection: Connection | None = None
        self._revision: Hashable | None = None
        self._is_refresh_due = self._is_closing = False
        self.as_of: AsOf | None = None

    def revision(self) -> Hashable | None:
        """The value of `Revision.current` in this state."""
        self._ensure_open()
        try:
            return self._revision
        finally:
            self._release_if_closing()

    @contextmanager
    def connection(self) -> Iterator[tuple[Connection, Hashable | None]]:
        """A connection, and the state's revision.

        Raises
        ------
        TimeLimitError
            Another reading takes too long.
        DatabaseError
            A statement failed, or failed before and the state is gone.

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
        """What is found on a connection of its own; if anything was written since, the state loses its name."""
        revision = self.revision()
        result = read()
        if self.as_of and (revision is None or self._source.current() != revision):
            self.as_of = replace(self.as_of, revision=None)
        return result

    def refresh(self) -> None:
        """Let this state go; the next reading finds another."""
        self._is_refresh_due, self.as_of = True, None
        self._release_if_idle()

    def close(self) -> None:
        """Let this state go, at the end of the reading that still runs."""
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
