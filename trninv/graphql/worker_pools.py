"""Run blocking work in thread pools whose queues respect deadlines and are fair to clients.

Waiting counts towards the deadline, a disconnected client leaves the queue, and one client uses at most half of a pool
(but at least one thread). A thread counts as busy until its work ends, even if nobody waits for the result any more.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future as ConcurrentFuture
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from math import inf
from typing import Any, Final, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from anyio import CancelScope, CapacityLimiter, WouldBlock, move_on_after

from trninv import deadline
from trninv.errors import BusyError

T = TypeVar("T")

MAX_READING: Final = 4
"""Threads per process that read; each may hold one database connection, or two while it runs a report."""
MAX_ROUTING: Final = 4
"""Threads per process that answer routing questions; each may hold connections, as those that read."""
MAX_WRITING: Final = 1
"""Writing threads: databases serialize writes; a separate pool keeps them from queueing behind reads."""
MAX_PREPARING: Final = 2
"""Threads that parse and validate documents."""
MAX_SNAPSHOTS: Final = 6
"""Documents that are executed at a time; with the 4 + 4 + 1 threads above they use all 15 connections of an engine."""

current_client: ContextVar[str | None] = ContextVar("client", default=None)
"""The client: a token's name, else an address; None is the process itself, which may use every worker."""


class _LimiterToken(NamedTuple):
    """The limiters that running work has acquired, on behalf of `borrower`, an object that identifies the work."""

    borrower: object
    limiters: tuple[CapacityLimiter, ...]

    def release(self) -> None:
        for limiter in self.limiters:
            limiter.release_on_behalf_of(self.borrower)


class FairLimiter:
    """A number of slots for concurrent work, of which one client gets at most half, but at least one."""

    def __init__(self, limit: int) -> None:
        self._all, self._share = CapacityLimiter(limit), max(limit // 2, 1)
        self._clients = WeakValueDictionary[str, CapacityLimiter]()

    @property
    def is_busy(self) -> bool:
        """Whether any slot is taken."""
        return self._all.borrowed_tokens > 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Acquire a slot, waiting until one is free.

        Raises
        ------
        BusyError
            No slot was free before the deadline.

        """
        token = await self._acquire()
        try:
            yield
        finally:
            token.release()

    async def _acquire(self) -> _LimiterToken:
        if token := self._acquire_nowait():
            return token
        with move_on_after(deadline.cap_timeout(inf)):
            return await self._acquire_queued()
        raise BusyError("no worker was free in time; try again later, or ask for less at a time")

    def _acquire_nowait(self) -> _LimiterToken | None:
        """Acquire a slot if one is free; else return None."""
        borrower, acquired = object(), list[CapacityLimiter]()
        try:
            for limiter in self._limiters():
                limiter.acquire_on_behalf_of_nowait(borrower)
                acquired.append(limiter)
        except WouldBlock:
            _LimiterToken(borrower, tuple(acquired)).release()
            return None
        return _LimiterToken(borrower, tuple(acquired))

    async def _acquire_queued(self) -> _LimiterToken:
        borrower, acquired = object(), list[CapacityLimiter]()
        try:
            for limiter in self._limiters():
                await limiter.acquire_on_behalf_of(borrower)
                acquired.append(limiter)
        except BaseException:
            _LimiterToken(borrower, tuple(acquired)).release()
            raise
        return _LimiterToken(borrower, tuple(acquired))

    def _limiters(self) -> list[CapacityLimiter]:
        who = current_client.get()
        return [self._all] if who is None else [self._clients.setdefault(who, CapacityLimiter(self._share)), self._all]


class WorkerPool(FairLimiter):
    """A thread pool with fair limits."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._pool = ThreadPoolExecutor(limit)

    async def run(self, work: Callable[..., T], *args: Any, to_end: bool = False) -> T:
        """Run work in a thread, once one is free.

        Parameters
        ----------
        to_end
            Whether to wait until the work ends even if the client disconnects, as for a write.

        Raises
        ------
        BusyError
            No thread was free before the deadline.

        """
        loop = asyncio.get_running_loop()
        token, result = await self._acquire(), loop.create_future()
        try:
            thread_future = self._pool.submit(copy_context().run, _run_unless_cancelled, result, partial(work, *args))
        except BaseException:  # no memory for a thread: the pool keeps the work, and its next thread would run it
            result.cancel()
            token.release()
            raise
        thread_future.add_done_callback(partial(_deliver_result, loop, token, result))
        return await _await_result(result, to_end=to_end)

    def close(self) -> None:
        """End each thread once its work ends, without waiting for that."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _run_unless_cancelled(result: asyncio.Future[T], work: Callable[[], T]) -> T | None:
    return None if result.cancelled() else work()


async def _await_result(result: asyncio.Future[T], *, to_end: bool) -> T:
    if to_end:
        with CancelScope(shield=True):
            await asyncio.wait([result])
    return await result


def _deliver_result(
    loop: asyncio.AbstractEventLoop,
    token: _LimiterToken,
    result: asyncio.Future[Any],
    thread_future: ConcurrentFuture[Any],
) -> None:
    """Release the slot and set the result on the loop, in one call from the thread."""

    def set_result() -> None:
        token.release()
        if result.done():  # the waiting task was cancelled
            return
        if (error := thread_future.exception()) is None:
            result.set_result(thread_future.result())
        else:
            result.set_exception(error)

    try:
        loop.call_soon_threadsafe(set_result)
    except RuntimeError:  # the loop has ended
        token.release()
