"""New events for all who listen in one process: one look at the database for all of them, and no queue for any.

A listener is a position in the history. What came lately is kept, framed once for all; who is further behind reads the
database at their own pace. So who listens slowly costs no memory.

Numbers of events are given in the order of the commits (`trninv.inventory.triggers`): what is seen is never before what
was seen already.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Final, Protocol, TypeVar

import orjson
from anyio import move_on_after
from sqlalchemy import Engine

from trninv.errors import TrninvError
from trninv.history.events import Event, every
from trninv.inventory.database import reading
from trninv.inventory.revision import Revision

T = TypeVar("T")

SECONDS: Final = 0.25
"""Between two looks."""
_PAGE: Final = 500
"""Events that are read at once."""
_KEPT: Final = 1_000
"""Of the newest."""
_NUMBER: Final = attrgetter("number")


@dataclass(frozen=True, slots=True)
class Change:
    """An event as it is told."""

    number: int
    event: Event
    frame: bytes


def _changes(engine: Engine, after: int) -> list[Change]:
    """The first events after one; in a thread."""
    with reading(engine) as connection:
        return [Change(each.event, each, _frame(each)) for each in every(connection, after, _PAGE)]


def _frame(event: Event) -> bytes:
    named = event.kind or event.action
    kind = f"event: {named}\n".encode() if named else b""
    return b"id: %d\n%bdata: %b\n\n" % (event.event, kind, orjson.dumps(event.fields()))


class _Watch(Protocol):
    def __call__(self, find: Callable[[Engine], T], /) -> Coroutine[Any, Any, T]: ...


Read = Callable[[Callable[..., list[Change]], Engine, int], Coroutine[Any, Any, list[Change]]]


class Log(Protocol):
    """As much of one as is needed."""

    def exception(self, event: str, /) -> object:
        """Note the error that is being handled."""


class News:
    """What has happened since somebody began to listen.

    Parameters
    ----------
    watch
        Runs something in a thread, with an engine that questions do not use.
    read
        Runs something for a listener in one of the threads that read.
    revision
        Tells whether anything was written.
    log
        Where a look is noted that failed as none should.

    """

    def __init__(self, watch: _Watch, read: Read, revision: Revision, log: Log) -> None:
        self._watch, self._read, self._revision, self._logger = watch, read, revision, log
        self._kept: list[Change] = []
        self._last = 0
        self._task: asyncio.Task[None] | None = None
        self._listeners = 0
        self._has_ended = False

    def begin(self, last: int) -> None:
        """Somebody listens, while the newest event has this number."""
        self._listeners += 1
        if self._task is None:
            self._kept, self._last, self._came = [], max(last - _PAGE, 0), asyncio.Event()
            context = Context()  # not that of a request, which ends
            self._task = asyncio.get_running_loop().create_task(self._look(), context=context)

    def leave(self) -> None:
        """They do no longer."""
        self._listeners -= 1
        if self._listeners == 0 and self._task is not None:
            self._task.cancel()
            self._task = None

    def end(self) -> None:
        """The server stops: nobody is told anything any more."""
        self._has_ended = True
        if self._task is not None:
            self._came.set()

    @property
    def has_ended(self) -> bool:
        """Whether the server stops."""
        return self._has_ended

    async def after(self, number: int, seconds: float) -> list[Change]:
        """The next events after one, in their order; none if none came within some seconds, or the server stops."""
        came = self._came
        if number >= self._last and not self._has_ended:
            with move_on_after(seconds):
                await came.wait()
        if number >= self._last or self._has_ended:
            return []
        if self._kept and self._kept[0].number <= number + 1:
            return self._kept[bisect_right(self._kept, number, key=_NUMBER) :]
        try:
            return await self._read(_changes, self._revision.engine, number)
        except TrninvError:
            await asyncio.sleep(SECONDS)
            return []

    async def _look(self) -> None:
        """Look for new events as long as anybody listens; after a look that failed there is another one."""
        seen: object = None
        is_noted = False
        while True:
            found: list[Change] = []
            try:
                revision, found = await self._watch(partial(self._new, seen))
            except TrninvError:  # the database does not answer
                pass
            except Exception:
                if not is_noted:
                    self._logger.exception("changes are not seen")
                is_noted = True
            else:
                seen, is_noted = revision if len(found) < _PAGE else None, False
            if found:
                self._keep(found)
            if len(found) < _PAGE:
                await asyncio.sleep(SECONDS)

    def _keep(self, found: list[Change]) -> None:
        if found[0].number > self._last + 1:  # those between were archived before anybody saw them
            self._kept = []
        self._kept = (self._kept + found)[-_KEPT:]
        self._last = found[-1].number
        self._came.set()
        self._came = asyncio.Event()

    def _new(self, seen: object, engine: Engine) -> tuple[object, list[Change]]:
        revision = self._revision.current()
        return revision, [] if revision is not None and revision == seen else _changes(engine, self._last)
