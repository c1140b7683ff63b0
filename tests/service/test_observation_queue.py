"""Observations are queued while a batch is stored; the queue is bounded, and nobody in it waits in vain."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from trninv import deadline
from trninv.errors import BusyError, ForbiddenError, UnreachableError
from trninv.importers.import_report import ImportResult
from trninv.importers.report_batches import Outcome, PostedReport
from trninv.service import observation_queue
from trninv.service.observation_queue import ObservationQueue


@dataclass
class Store:
    """Stores batches; each begins when it is let go."""

    batches: list[list[bytes]] = field(default_factory=list)
    began: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    failure: Exception | None = None

    def __call__(self, reports: Sequence[PostedReport]) -> Sequence[Outcome]:
        self.batches.append([report.content for report in reports])
        self.began.release()
        assert self.go.acquire(timeout=30)
        if self.failure:
            raise self.failure
        return [
            ForbiddenError("no")
            if report.content == b"no"
            else ImportResult(report.content.decode(), 1, 16, is_duplicate=False)
            for report in reports
        ]

    async def next_begun(self) -> None:
        """Wait until another batch has begun."""
        assert await asyncio.to_thread(self.began.acquire, timeout=30)


def queue_test(scenario: Callable[[ObservationQueue, Store], Awaitable[None]]) -> Store:
    """Run a scenario on a queue that stores batches until it ends."""
    store = Store()

    async def run() -> None:
        queue = ObservationQueue(store)
        task = asyncio.create_task(queue.run())
        try:
            await scenario(queue, store)
        finally:
            task.cancel()
            store.go.release(100)
            with suppress(asyncio.CancelledError):
                await task
            queue.close()

    asyncio.run(run())
    return store


def post(queue: ObservationQueue, content: str) -> "asyncio.Task[ImportResult]":
    return asyncio.create_task(queue.store(PostedReport(content.encode(), datetime.now(UTC))))


async def settle() -> None:
    """Let all tasks run until they wait."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_comes_meanwhile_is_the_next_batch() -> None:
    async def scenario(queue: ObservationQueue, store: Store) -> None:
        first = post(queue, "a")
        await store.next_begun()
        others = [post(queue, name) for name in ("b", "no", "c")]
        await settle()
        store.go.release()
        assert (await first).name == "a"
        assert not any(other.done() for other in others)
        store.go.release()
        results = await asyncio.gather(*others, return_exceptions=True)
        assert [type(result) for result in results] == [ImportResult, ForbiddenError, ImportResult]

    assert queue_test(scenario).batches == [[b"a"], [b"b", b"no", b"c"]]


def test_a_batch_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation_queue, "MAX_BATCH", 3)

    async def scenario(queue: ObservationQueue, store: Store) -> None:
        posts = [post(queue, str(number)) for number in range(7)]
        store.go.release(3)
        await asyncio.gather(*posts)

    assert [len(batch) for batch in queue_test(scenario).batches] == [3, 3, 1]


def test_a_batch_of_large_observations_is_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation_queue, "MAX_BATCH_BYTES", 6)

    async def scenario(queue: ObservationQueue, store: Store) -> None:
        posts = [post(queue, content) for content in ("abc", "bcd", "cde", "d" * 100, "e")]
        store.go.release(4)
        await asyncio.gather(*posts)

    assert [len(batch) for batch in queue_test(scenario).batches] == [2, 2, 1]


@pytest.mark.parametrize(("limit", "most"), [("MAX_REPORTS", 2), ("MAX_BYTES", 6)])
def test_a_full_queue_refuses_one_more(monkeypatch: pytest.MonkeyPatch, limit: str, most: int) -> None:
    monkeypatch.setattr(observation_queue, limit, most)

    async def scenario(queue: ObservationQueue, store: Store) -> None:
        first = post(queue, "abc")
        await store.next_begun()
        waiting = [post(queue, "bcd"), post(queue, "cde")]
        await settle()
        with pytest.raises(BusyError, match="send it again later"):
            await post(queue, "d")
        store.go.release(2)
        await asyncio.gather(first, *waiting)
        store.go.release()
        await post(queue, "d")

    assert queue_test(scenario).batches == [[b"abc"], [b"bcd", b"cde"], [b"d"]]


def test_what_nobody_waits_for_is_not_stored() -> None:
    async def scenario(queue: ObservationQueue, store: Store) -> None:
        first = post(queue, "a")
        await store.next_begun()
        gone, stays = post(queue, "b"), post(queue, "c")
        await settle()
        gone.cancel()
        store.go.release(2)
        await asyncio.gather(first, stays)
        only_gone = post(queue, "d")
        await settle()
        only_gone.cancel()
        store.go.release()
        await post(queue, "e")

    batches = queue_test(scenario).batches
    assert batches[:2] == [[b"a"], [b"c"]]
    assert batches[-1][-1] == b"e"


def test_who_goes_while_a_batch_is_stored_harms_nobody() -> None:
    async def scenario(queue: ObservationQueue, store: Store) -> None:
        gone, stays = post(queue, "a"), post(queue, "b")
        await store.next_begun()
        gone.cancel()
        await settle()
        store.go.release()
        assert (await stays).name == "b"

    queue_test(scenario)


def test_a_database_that_fails_refuses_a_batch_and_not_the_next() -> None:
    async def scenario(queue: ObservationQueue, store: Store) -> None:
        for failure in (UnreachableError("gone"), ZeroDivisionError()):
            store.failure = failure
            posts = [post(queue, "a"), post(queue, "b")]
            store.go.release()
            assert await asyncio.gather(*posts, return_exceptions=True) == [failure, failure]
        store.failure = None
        store.go.release()
        assert (await post(queue, "c")).name == "c"

    queue_test(scenario)


def test_nobody_waits_beyond_the_deadline() -> None:
    async def scenario(queue: ObservationQueue, store: Store) -> None:
        with deadline.time_limit(0.05), pytest.raises(BusyError, match="not stored in time"):
            await queue.store(PostedReport(b"a", datetime.now(UTC)))
        assert store.batches == [[b"a"]]  # it may be stored all the same

    queue_test(scenario)
