"""A document's life: what its execution begins is over when its answer is sent.

graphql-core leaves work behind when a field fails: where a resolver raises at once, its siblings go on as tasks that
nobody awaits; where an awaited field fails, siblings are cancelled, and those that had not begun drop coroutines that
were never awaited. So the tasks of a document are counted here, each begins before it can be cancelled, and all are
settled at the end.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Coroutine, Generator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

from anyio import CancelScope

_tasks: ContextVar["tuple[asyncio.AbstractEventLoop, set[asyncio.Task[Any]]] | None"] = ContextVar(
    "tasks", default=None
)
"""The loop that a document is executed on, and its tasks; those of other loops are awaited by one of them."""


class _Task(asyncio.Task[Any]):
    """A task whose coroutine begins before it is cancelled, so that what it would await is not dropped."""

    def cancel(self, msg: object = None) -> bool:
        coroutine = self.get_coro()
        if inspect.iscoroutine(coroutine) and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
            self.get_loop().call_soon(self.cancel, msg)
            return True
        return super().cancel(msg)


def _create_task(
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
    /,
    **options: Any,
) -> asyncio.Task[Any]:
    """The loop's task factory: tasks of documents are counted, others are asyncio's."""
    document_loop, tasks = _tasks.get() or (None, set())
    if document_loop is not loop:
        return asyncio.Task(coroutine, loop=loop, **options)
    task = _Task(coroutine, loop=loop, **options)
    tasks.add(task)
    return task


@asynccontextmanager
async def document_tasks() -> AsyncIterator[None]:
    """Execute a document within it; at the end nothing of it is left."""
    loop = asyncio.get_running_loop()
    loop.set_task_factory(_create_task)
    tasks: set[asyncio.Task[Any]] = set()
    token = _tasks.set((loop, tasks))
    try:
        yield
    finally:
        _tasks.reset(token)
        with CancelScope(shield=True):
            await _cancel_and_wait(tasks)


async def _cancel_and_wait(tasks: "set[asyncio.Task[Any]]") -> None:
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending)
    await asyncio.gather(*tasks, return_exceptions=True)
