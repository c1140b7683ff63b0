"""Cancel and await every task a document started once its response is sent.

graphql-core leaves tasks behind when a field fails: if a resolver raises at once, its siblings continue as tasks that
nobody awaits; if an awaited field fails, siblings are cancelled, and those that had not started leave coroutines that
were never awaited. Therefore a document's tasks are recorded here, each starts before it can be cancelled, and all are
cancelled and awaited at the end.
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
"""The loop that executes the document, and its tasks; a task on another loop is awaited by one of these."""


class _Task(asyncio.Task[Any]):
    """A task that starts before it is cancelled, so that no coroutine is left that was never awaited."""

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
    """Create a task, and record it if it belongs to a document (the loop's task factory)."""
    document_loop, tasks = _tasks.get() or (None, set())
    if document_loop is not loop:
        return asyncio.Task(coroutine, loop=loop, **options)
    task = _Task(coroutine, loop=loop, **options)
    tasks.add(task)
    return task


@asynccontextmanager
async def document_tasks() -> AsyncIterator[None]:
    """Record the tasks created in this context; cancel and await them on exit."""
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
