"""Collect observations from concurrent requests and store them in batches, one transaction for each (group commit).

A request waits until its batch is durable. While one batch is stored, the next requests are queued. After each commit
the queue pauses for `COMMIT_SECONDS`, since storing slows other requests, every commit makes what reads observations be
read again, and other processes read everything again. The queue is bounded; a request that finds it full is refused,
and its client should try again later.
"""

import time
from asyncio import Future, get_running_loop
from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from typing import Final, NamedTuple

import anyio.lowlevel
from anyio import Event, move_on_after, sleep

from trninv import deadline
from trninv.errors import BusyError
from trninv.graphql.worker_pools import WorkerPool
from trninv.importers.import_report import ImportResult
from trninv.importers.report_batches import Outcome, PostedReport

COMMIT_SECONDS: Final = 0.2
"""Seconds from one commit to the next batch, in which other requests have the interpreter for themselves."""
MAX_BATCH: Final = 128
"""Maximum number of observations in a batch."""
MAX_BATCH_BYTES: Final = 8 << 20
"""Bytes after which a batch takes no further observation."""
MAX_REPORTS: Final = 10_000
"""Maximum number of observations in the queue."""
MAX_BYTES: Final = 64 << 20
"""Maximum bytes of all observations in the queue."""
_ANSWERS: Final = 4
"""Number of requests that are answered before others get a turn."""
_TURN_SECONDS: Final = 0.004
"""How long to wait at a time while the service answers other requests."""


def give_way(is_answering: Callable[[], bool]) -> None:
    """Wait in a storing thread while the service answers requests, for `_TURN_SECONDS` at most.

    All threads share one interpreter: without this, a busy one delays each step of an answer by milliseconds.
    """
    end = time.monotonic() + _TURN_SECONDS
    while is_answering() and time.monotonic() < end:
        time.sleep(_TURN_SECONDS / 8)


class _Entry(NamedTuple):
    """An observation in the queue, and the future that gets its outcome."""

    report: PostedReport
    outcome: "Future[Outcome]"


class ObservationQueue:
    """A queue of observations.

    Parameters
    ----------
    store
        Stores a batch and returns an outcome for each observation; called in a thread of its own.
    is_answering
        Returns whether the service is answering other requests, which go first.

    """

    def __init__(
        self,
        store: Callable[[Sequence[PostedReport]], Sequence[Outcome]],
        is_answering: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store, self._is_answering, self._workers = store, is_answering, WorkerPool(1)
        self._entries, self._arrival, self._bytes = deque[_Entry](), Event(), 0

    async def store(self, report: PostedReport) -> ImportResult:
        """Store an observation and return once it is durable.

        Raises
        ------
        BusyError
            The queue is full, or storing took too long; the observation may still be stored later.
        Exception
            The observation's outcome, if it was not stored.

        """
        size = len(report.content)
        if len(self._entries) >= MAX_REPORTS or self._bytes + size > MAX_BYTES:
            raise BusyError("too many observations are waiting to be stored; send it again later")
        entry = _Entry(report, get_running_loop().create_future())
        self._entries.append(entry)
        self._bytes += size
        self._arrival.set()
        with move_on_after(deadline.cap_timeout(inf)):
            outcome = await entry.outcome
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        raise BusyError("the observation was not stored in time; send it again later")

    async def run(self) -> None:
        """Store batches until cancelled."""
        while True:
            await self._arrival.wait()
            if batch := self._next_batch():
                outcomes = await self._store_batch([entry.report for entry in batch])
                await self._answer(batch, outcomes)
                await sleep(COMMIT_SECONDS)

    def close(self) -> None:
        """End the thread."""
        self._workers.close()

    def _next_batch(self) -> list[_Entry]:
        """Take the oldest observations from the queue, without those whose clients have gone."""
        entries, size = list[_Entry](), 0
        while self._entries and len(entries) < MAX_BATCH and size < MAX_BATCH_BYTES:
            entries.append(entry := self._entries.popleft())
            size += len(entry.report.content)
        if not self._entries:
            self._arrival = Event()
        self._bytes -= size
        return [entry for entry in entries if not entry.outcome.done()]

    async def _store_batch(self, reports: Sequence[PostedReport]) -> Sequence[Outcome]:
        try:
            return await self._workers.run(self._store, reports, to_end=True)
        except Exception as error:  # noqa: BLE001 # each request raises it, and this queue goes on
            return [error] * len(reports)

    async def _answer(self, batch: Sequence[_Entry], outcomes: Sequence[Outcome]) -> None:
        """Pass outcomes to the waiting requests, a few at a time: each answer brings the client's next request."""
        for position, (entry, outcome) in enumerate(zip(batch, outcomes, strict=True), 1):
            if not entry.outcome.done():
                entry.outcome.set_result(outcome)
            if position % _ANSWERS == 0:
                await anyio.lowlevel.checkpoint()
