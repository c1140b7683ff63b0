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
from trninv.inventory.database import failing
from trninv.inventory.past import Unknown, time_of, unknown
from trninv.inventory.revision import Revision, name_of

A = TypeVar("A")

_LONGEST = 60.0
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
    left_out: tuple[Unknown, ...] = ()

    @classmethod
    def now(cls, revision: Hashable | None) -> "AsOf":
        """A state that was just found: the newest."""
        return cls(datetime.now(UTC), name_of(revision))

    @classmethod
    def of(cls, engine: Engine, revision: Hashable | None) -> "AsOf":
        """A state that was just found: the newest, or that of the engine's moment."""
        return cls(time_of(engine) or datetime.now(UTC), name_of(revision), unknown(engine))

    def fields(self) -> dict[str, str | None]:
        """Both as texts, the time to the millisecond."""
        return {"time": f"{self.time:%Y-%m-%dT%H:%M:%S}.{self.time.microsecond // 1000:03}Z", "revision": self.revision}


def stamped(source: Revision, read: Callable[[], A]) -> tuple[A, AsOf]:
    """What is found on connections of its own, and of which state if that was the same throughout."""
    before = source.current()
    found = read()
    return found, AsOf.of(source.engine, before if before == source.current() else None)


class State:
    """The state that the first reading finds, through a connection that is kept, for all other readings.

    A reading beside another has a connection of its own as long as that sees the same state; else they take turns.
    """

    def __init__(self, source: Revision) -> None:
        self._source, self._turn, self._opening, self._stack = source, Lock(), RLock(), ExitStack()
        self._connection: Connection | None = None
        self._revision: Hashable | None = None
        self._renewed = self._closed = False
        self.as_of: AsOf | None = None

    def revision(self) -> Hashable | None:
        """The value of `Revision.current` in this state."""
        self._opened()
        try:
            return self._revision
        finally:
            self._let_go_if_closed()

    @contextmanager
    def reading(self) -> Iterator[tuple[Connection, Hashable | None]]:
        """A connection, and the state's revision.

        Raises
        ------
        TimeLimitError
            Another reading takes too long.
        DatabaseError
            A statement failed, or failed before and the state is gone.

        """
        self._opened()
        if not self._turn.acquire(blocking=False):
            with self._source.reading() as (connection, revision):
                if revision is not None and revision == self._revision:
                    yield connection, revision
                    return
            while not self._turn.acquire(timeout=deadline.remaining(_LONGEST)):
                deadline.check()
        try:
            yield self._opened(), self._revision
        except DBAPIError:
            self._let_go()  # PostgreSQL takes no more statements in this transaction
            with failing(self._source.engine):
                raise
        finally:
            self._turn.release()
            self._let_go_if_closed()

    def _opened(self) -> Connection:
        with self._opening:
            if self._renewed:
                self._let_go()
                self._renewed = False
            if self._connection is None:
                self._connection, revision = self._stack.enter_context(self._source.reading())
                if self.as_of and (revision is None or revision != self._revision):
                    self._let_go()
                    raise DatabaseError("a statement failed, and the database has changed since: ask again")
                self._revision, self.as_of = revision, self.as_of or AsOf.of(self._source.engine, revision)
            return self._connection

    def beside(self, read: Callable[[], A]) -> A:
        """What is found on a connection of its own; if anything was written since, the state loses its name."""
        revision = self.revision()
        found = read()
        if self.as_of and (revision is None or self._source.current() != revision):
            self.as_of = replace(self.as_of, revision=None)
        return found

    def renew(self) -> None:
        """Let this state go; the next reading finds another."""
        self._renewed, self.as_of = True, None
        self._let_go_if_idle()

    def close(self) -> None:
        """Let this state go, at the end of the reading that still runs."""
        self._closed = True
        self._let_go_if_idle()

    def _let_go_if_closed(self) -> None:
        if self._closed:
            self._let_go_if_idle()

    def _let_go_if_idle(self) -> None:
        if self._turn.acquire(blocking=False):
            try:
                self._let_go()
            finally:
                self._turn.release()

    def _let_go(self) -> None:
        with self._opening:
            self._connection = None
            self._stack.close()
