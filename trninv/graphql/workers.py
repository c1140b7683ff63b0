"""Where a process runs what blocks: threads of several kinds, each with a queue in which nobody waits in vain.

Waiting counts into the deadline, who leaves is taken out of the queue, and one client holds at most half of a kind. A
thread counts as busy until it ends, also where nobody waits for its answer any more.
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

READING: Final = 4
"""Threads of one process that read the inventory; each may hold a connection, as each that routes may."""
ROUTING: Final = 4
WRITING: Final = 1
"""Threads that change the inventory, which every database does one at a time; in no queue behind those that read."""
PREPARING: Final = 2
"""Threads that parse and check documents."""
STATES: Final = 6
"""Documents that are executed at a time; each keeps a connection besides those of the threads, of a pool of 15."""

_home: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("home", default=None)
"""The loop that serves, which has the queues, for what runs on one of `Loops`."""

client: ContextVar[str | None] = ContextVar("client", default=None)
"""Who asks: a token's name, else an address; None is the process itself, which may use every worker."""


class _Place(NamedTuple):
    """What work holds while it runs."""

    holder: object
    limiters: tuple[CapacityLimiter, ...]

    def leave(self) -> None:
        for limiter in self.limiters:
            limiter.release_on_behalf_of(self.holder)


class Places:
    """Room for so many at a time, half of it at most for one client."""

    def __init__(self, most: int) -> None:
        self._all, self._share = CapacityLimiter(most), max(most // 2, 1)
        self._clients = WeakValueDictionary[str, CapacityLimiter]()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """A place, once one is free.

        Raises
        ------
        BusyError
            None was before the deadline.

        """
        place = await self._place()
        try:
            yield
        finally:
            place.leave()

    async def _place(self) -> _Place:
        if free := self._free():
            return free
        with move_on_after(deadline.remaining(inf)):
            return await self._queued()
        raise BusyError("no worker was free in time: ask again later, or for less at a time")

    def _free(self) -> _Place | None:
        """A place, if nobody has to wait for it."""
        holder, taken = object(), list[CapacityLimiter]()
        try:
            for limiter in self._limiters():
                limiter.acquire_on_behalf_of_nowait(holder)
                taken.append(limiter)
        except WouldBlock:
            _Place(holder, tuple(taken)).leave()
            return None
        return _Place(holder, tuple(taken))

    async def _queued(self) -> _Place:
        holder, taken = object(), list[CapacityLimiter]()
        try:
            for limiter in self._limiters():
                await limiter.acquire_on_behalf_of(holder)
                taken.append(limiter)
        except BaseException:
            _Place(holder, tuple(taken)).leave()
            raise
        return _Place(holder, tuple(taken))

    def _limiters(self) -> list[CapacityLimiter]:
        who = client.get()
        return [self._all] if who is None else [self._clients.setdefault(who, CapacityLimiter(self._share)), self._all]


class Workers(Places):
    """Threads of one kind."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._pool = ThreadPoolExecutor(most)

    async def run(self, work: Callable[..., T], *given: Any, to_end: bool = False) -> T:
        """Run something in a thread, once one is free.

        Parameters
        ----------
        to_end
            Whether to wait for it even if the client has left meanwhile.

        Raises
        ------
        BusyError
            No thread was free before the deadline.

        """
        loop = asyncio.get_running_loop()
        if (home := _home.get()) not in (None, loop):
            there = asyncio.run_coroutine_threadsafe(self.run(work, *given, to_end=to_end), home)
            return await _ended(asyncio.wrap_future(there), to_end=to_end)
        place, answer = await self._place(), loop.create_future()
        running = self._pool.submit(copy_context().run, partial(work, *given))
        running.add_done_callback(partial(_over, loop, place, answer))
        return await _ended(answer, to_end=to_end)


async def _ended(answer: asyncio.Future[T], *, to_end: bool) -> T:
    if to_end:
        with CancelScope(shield=True):
            await asyncio.wait([answer])
    return await answer


class Loops:
    """Threads with an event loop each, for what takes long to be put together while the loop that serves goes on."""

    def __init__(self) -> None:
        self._idle = list[asyncio.AbstractEventLoop]()

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in one of them; it ends before this does, also if nobody waits for it any more."""
        loop = self._idle.pop() if self._idle else _begun()
        home, scope = asyncio.get_running_loop(), CancelScope()

        async def cancellable() -> T | None:
            _home.set(home)
            with scope:
                return await work()
            return None

        running = asyncio.run_coroutine_threadsafe(cancellable(), loop)
        answer = asyncio.wrap_future(running)
        try:
            await asyncio.wait([answer])
        finally:
            if not answer.done():
                loop.call_soon_threadsafe(scope.cancel)
                with CancelScope(shield=True):
                    await asyncio.wait([answer])
            self._idle.append(loop)
        return cast("T", answer.result())


def _begun() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="trninv-document", daemon=True).start()
    return loop


def _over(
    loop: asyncio.AbstractEventLoop, place: _Place, answer: asyncio.Future[Any], done: ConcurrentFuture[Any]
) -> None:
    """Tell the loop, from the thread, what came of it: one call for both, the place and the answer."""

    def tell() -> None:
        place.leave()
        if answer.done():  # nobody waits any more
            return
        if (error := done.exception()) is None:
            answer.set_result(done.result())
        else:
            answer.set_exception(error)

    try:
        loop.call_soon_threadsafe(tell)
    except RuntimeError:  # the loop has ended
        place.leave()
