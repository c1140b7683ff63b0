"""PostgreSQL's revision, asked from the event loop, is the one that threads read, and never an earlier one."""

import asyncio
from collections.abc import Iterator

import pytest
from hearing import change

import trninv
from conftest import Databases
from trninv.database.revision import RevisionTracker
from trninv.graphql.revision_probe import RevisionProbe
from trninv.graphql.worker_pools import WorkerPool

CHIP = "trn1.2xlarge/d0/s0/c0"
pytestmark = pytest.mark.quick_on_postgresql


@pytest.fixture
def tracker(databases: Databases) -> Iterator[RevisionTracker]:
    url = databases.seeded("postgresql")
    with trninv.open(url) as fleet:
        yield fleet.revision_tracker
    databases.drop(url)


def test_it_equals_what_threads_read_and_follows_each_change(tracker: RevisionTracker) -> None:
    async def ask() -> None:
        probe = RevisionProbe(tracker, WorkerPool(1))
        for chip in ("c0", "c1", "c2"):
            before = await probe.current()
            assert before is not None
            assert before == tracker.current() == await probe.current()
            await asyncio.to_thread(change, tracker.engine, f"u-trn2x64/d0/s0/{chip}")
            assert await probe.current() not in (None, before)

    asyncio.run(ask())


def test_callers_share_a_query_that_was_sent_after_they_called(
    tracker: RevisionTracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = 0
    send = RevisionProbe._send

    def count(self: RevisionProbe) -> None:
        nonlocal sent
        sent += 1
        send(self)

    monkeypatch.setattr(RevisionProbe, "_send", count)

    async def ask() -> None:
        probe = RevisionProbe(tracker, WorkerPool(1))
        await probe.current()
        revisions = await asyncio.gather(*(probe.current() for _ in range(10)))
        assert len({*revisions}) == 1
        # the first caller's query was sent before the others called, so they share a second one
        assert sent == 3

    asyncio.run(ask())


def test_a_caller_that_leaves_does_not_disturb_others(tracker: RevisionTracker) -> None:
    async def ask() -> None:
        probe = RevisionProbe(tracker, WorkerPool(1))
        first, *others = (asyncio.create_task(probe.current()) for _ in range(3))
        await asyncio.sleep(0)
        first.cancel()
        assert None not in await asyncio.gather(*others)
        assert first.cancelled()

    asyncio.run(ask())


def test_a_lost_connection_is_opened_again(tracker: RevisionTracker) -> None:
    async def ask() -> None:
        probe = RevisionProbe(tracker, WorkerPool(1))
        before = await probe.current()
        process = probe._connection.info.backend_pid
        with tracker.engine.connect() as connection:
            connection.exec_driver_sql("SELECT pg_terminate_backend(%s, 10000)", (process,))
        revisions = [await probe.current(), await probe.current()]
        assert revisions[-1] == before
        assert revisions[0] in (None, before)  # None, unless the loop has seen the end of the connection already

    asyncio.run(ask())


def test_another_event_loop_opens_another_connection_and_the_tracker_closes_it(tracker: RevisionTracker) -> None:
    probe = RevisionProbe(tracker, WorkerPool(1))
    first = asyncio.run(probe.current())
    assert asyncio.run(probe.current()) == first is not None
    tracker.close()
    assert probe._connection is None
