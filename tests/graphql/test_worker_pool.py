"""A pool of threads loses no slot, and does nothing that it refused."""

import asyncio
import threading

import pytest

from trninv.graphql.worker_pools import WorkerPool


@pytest.mark.parametrize("is_write", [False, True])
def test_work_that_got_no_thread_takes_no_slot_and_is_never_done(
    monkeypatch: pytest.MonkeyPatch, is_write: bool
) -> None:
    """Its thread can't start for lack of memory; the next piece of work has one."""
    done: list[str] = []

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def run() -> None:
        pool = WorkerPool(1)
        for _ in range(3):
            with monkeypatch.context() as patch:
                patch.setattr(threading.Thread, "start", refuse)
                with pytest.raises(RuntimeError):
                    await pool.run(done.append, "refused", to_end=is_write)
        await pool.run(done.append, "accepted")
        assert not pool.is_busy
        pool.close()

    asyncio.run(asyncio.wait_for(run(), 10))
    assert done == ["accepted"]
