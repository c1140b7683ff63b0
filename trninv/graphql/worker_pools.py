"""Run blocking work in thread pools with bounded, deadline-aware queues.

Waiting counts towards the deadline, a disconnected client leaves the queue, and one client uses at most half of a pool.
A thread counts as busy until its work ends, even if nobody waits for the result any more.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future as ConcurrentFuture
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from math import inf
from threading import Thread
from typing import Any, Final, NamedTuple, TypeVar, cast
from weakref import WeakValueDictionary

from anyio import CancelScope, CapacityLimiter, WouldBlock, move_on_after

from trninv import deadline
from trninv.errors import BusyError

T = TypeVar("T")

MAX_READING: Final = 4
"""Reading threads per process; each may hold a connection, as may each routing thread."""
MAX_ROUTING: Final = 4
MAX_WRITING: Final = 1
"""Writing threads: databases serialize writes; a pool of their own keeps them from queueing behind reads."""
MAX_PREPARING: Final = 2
"""Threads that parse and validate documents."""
MAX_SNAPSHOTS: Final = 6
"""Documents executed at a time; each holds a connection beyond those of the threads, of a pool of 15."""

_serving_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("home", default=None)
"""The serving event loop, which owns the queues; set for work on a loop of `LoopPool`."""

current_client: ContextVar[str | None] = ContextVar("client", default=None)
"""The client: a token's name, else an address; None is the process itself, which may use every worker."""


class _LimiterToken(NamedTuple):
    """The limiters that running work has acquired."""

    borrower: object
    limiters: tuple[CapacityLimiter, ...]

    def release(self) -> None:
        for limiter in self.limiters:
            limiter.release_on_behalf_of(self.borrower)


class FairLimiter:
    """Concurrency limit of which one client gets at most half."""

    def __init__(self, limit: int) -> None:
        self._all, self._share = CapacityLimiter(limit), max(limit // 2, 1)
        self._clients = WeakValueDictionary[str, CapacityLimiter]()

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
            Whether to wait for the end even if the client disconnects.

        Raises
        ------
        BusyError
            No thread was free before the deadline.

        """
        loop = asyncio.get_running_loop()
        if (home := _serving_loop.get()) not in (None, loop):
            remote = asyncio.run_coroutine_threadsafe(self.run(work, *args, to_end=to_end), home)
            return await _await_result(asyncio.wrap_future(remote), to_end=to_end)
        token, answer = await self._acquire(), loop.create_future()
        submitted = self._pool.submit(copy_context().run, partial(work, *args))
        submitted.add_done_callback(partial(_deliver_result, loop, token, answer))
        return await _await_result(answer, to_end=to_end)

    def close(self) -> None:
        """End each thread once its work ends, without waiting for that."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _await_result(answer: asyncio.Future[T], *, to_end: bool) -> T:
    if to_end:
        with CancelScope(shield=True):
            await asyncio.wait([answer])
    return await answer


class LoopPool:
    """Threads with an event loop each, for large documents that would block the serving loop."""

    def __init__(self) -> None:
        self._idle = list[asyncio.AbstractEventLoop]()
        self._threads = dict[asyncio.AbstractEventLoop, Thread]()

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on one of the loops; it has ended when this returns, even if cancelled."""
        loop = self._idle.pop() if self._idle else self._start_loop()
        serving_loop, scope = asyncio.get_running_loop(), CancelScope()

        async def cancellable() -> T | None:
            _serving_loop.set(serving_loop)
            with scope:
                return await work()
            return None

        submitted = asyncio.run_coroutine_threadsafe(cancellable(), loop)
        answer = asyncio.wrap_future(submitted)
        try:
            await asyncio.wait([answer])
        finally:
            if not answer.done():
                loop.call_soon_threadsafe(scope.cancel)
                with CancelScope(shield=True):
                    await asyncio.wait([answer])
            self._idle.append(loop)
        return cast("T", answer.result())

    def _start_loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        thread = self._threads[loop] = Thread(target=loop.run_forever, name="trninv-document", daemon=True)
        thread.start()
        return loop

    def close(self) -> None:
        """End the threads; nothing may run on them any more."""
        for loop, thread in self._threads.items():
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
        self._threads.clear()
        self._idle.clear()


def _deliver_result(
    loop: asyncio.AbstractEventLoop, token: _LimiterToken, answer: asyncio.Future[Any], done: ConcurrentFuture[Any]
) -> None:
    """Release the slot and set the result on the loop, in one call from the thread."""

    def set_result() -> None:
        token.release()
        if answer.done():  # cancelled
            return
        if (error := done.exception()) is None:
            answer.set_result(done.result())
        else:
            answer.set_exception(error)

    try:
        loop.call_soon_threadsafe(set_result)
    except RuntimeError:  # the loop has ended
        token.release()
