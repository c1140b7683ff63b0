"""Ask PostgreSQL for its revision from the event loop, because a thread would take longer than the query.

`Api` asks before it sends a cached response or answer. Callers that wait at the same time share a query, but only one
that was sent after they called, so that a change committed before a call is never missed.
"""

import asyncio
from collections.abc import Hashable
from typing import Any, Final

from sqlalchemy.exc import SQLAlchemyError

from trninv.database.postgresql import snapshot_query
from trninv.database.revision import RevisionTracker, revision_of_snapshot
from trninv.errors import TrninvError
from trninv.graphql.worker_pools import WorkerPool

_TIMEOUT: Final = 1.0
"""Seconds after which the revision is unknown, and the connection is closed."""


class RevisionProbe:
    """Reads the revision of a database; on PostgreSQL over a connection of its own, used on the event loop only."""

    def __init__(self, tracker: RevisionTracker, workers: WorkerPool) -> None:
        self._tracker, self._workers = tracker, workers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: Any = None  # the driver's
        self._identity: Any = None
        self._value: bytes | None = None
        self._waiters = list[asyncio.Future[Hashable | None]]()  # of the query that is sent next
        self._running: list[asyncio.Future[Hashable | None]] | None = None  # waiters of the query that was sent
        self._timer: asyncio.TimerHandle | None = None
        self._opening: asyncio.Task[None] | None = None
        tracker.close_callbacks.append(self.close)

    async def current(self) -> Hashable | None:
        """Return the revision; None if it is unknown, for instance because the database does not answer."""
        if self._tracker.engine.dialect.name != "postgresql":
            return await self._workers.run(self._tracker.current)
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self.close()
            self._loop = loop
        waiter = loop.create_future()
        self._waiters.append(waiter)
        if self._running is None:
            self._start_query()
        revision: Hashable | None = await waiter
        return revision

    def close(self) -> None:
        """Close the connection; callers that wait get None."""
        waiters, self._waiters = [*(self._running or ()), *self._waiters], []
        self._running = None
        if self._timer:
            self._timer.cancel()
        if self._connection is not None:
            if self._loop and not self._loop.is_closed():
                self._loop.remove_reader(self._connection.fileno())
            self._connection.close()
            self._connection = None
        for waiter in waiters:
            _set_result(waiter, None)

    def _start_query(self) -> None:
        assert self._loop
        self._running, self._waiters = self._waiters, []
        if self._connection is None:
            self._opening = self._loop.create_task(self._open())
        else:
            self._send()

    async def _open(self) -> None:
        import psycopg  # noqa: PLC0415 # SQLite does not need it

        try:
            pooled = await self._workers.run(self._tracker.engine.raw_connection)
        except (SQLAlchemyError, psycopg.Error, TrninvError):
            self.close()
            return
        self._connection, self._identity = pooled.driver_connection, dict(pooled.info)
        pooled.detach()
        self._connection.pgconn.nonblocking = 1
        asyncio.get_running_loop().add_reader(self._connection.fileno(), self._receive)
        self._send()

    def _send(self) -> None:
        import psycopg  # noqa: PLC0415

        assert self._loop
        self._value = None
        self._timer = self._loop.call_later(_TIMEOUT, self.close)
        try:
            self._connection.pgconn.send_query(snapshot_query(self._identity).encode())
            self._connection.pgconn.flush()
        except psycopg.Error:
            self.close()

    def _receive(self) -> None:
        """Read what the server has sent, until the answer is complete."""
        import psycopg  # noqa: PLC0415

        pgconn = self._connection.pgconn
        try:
            pgconn.consume_input()
            while self._running and not pgconn.is_busy():
                if (result := pgconn.get_result()) is None:
                    self._finish()
                elif result.status == psycopg.pq.ExecStatus.TUPLES_OK:
                    self._value = result.get_value(0, 0)
                else:
                    self.close()
        except psycopg.Error:
            self.close()

    def _finish(self) -> None:
        """Give the callers the revision, and send the next query if others wait."""
        assert self._timer
        self._timer.cancel()
        waiters, self._running = self._running or (), None
        revision = revision_of_snapshot(self._identity, self._value.decode() if self._value else None)
        for waiter in waiters:
            _set_result(waiter, revision)
        if self._waiters:
            self._start_query()


def _set_result(waiter: asyncio.Future[Hashable | None], revision: Hashable | None) -> None:
    if not waiter.done() and not waiter.get_loop().is_closed():  # done if its caller was cancelled
        waiter.set_result(revision)
