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
from trninv.history.events import Event, events_after
from trninv.inventory.database import read_transaction
from trninv.inventory.revision import RevisionTracker

T = TypeVar("T")

POLL_SECONDS: Final = 0.25
"""Between two looks."""
_PAGE_SIZE: Final = 500
"""Events that are read at once."""
_MAX_RECENT_EVENTS: Final = 1_000
"""Of the newest."""
_BY_NUMBER: Final = attrgetter("number")


@dataclass(frozen=True, slots=True)
class BroadcastEvent:
    """An event as it is told."""

    number: int
    event: Event
    frame: bytes


def _read_events(engine: Engine, after: int) -> list[BroadcastEvent]:
    """The first events after one; in a thread."""
    with read_transaction(engine) as connection:
        return [
            BroadcastEvent(event.event, event, _format_frame(event))
            for event in events_after(connection, after, _PAGE_SIZE)
        ]


def _format_frame(event: Event) -> bytes:
    name = event.kind or event.action
    kind = f"event: {name}\n".encode() if name else b""
    return b"id: %d\n%bdata: %b\n\n" % (event.event, kind, orjson.dumps(event.to_json()))


class _ProbeReader(Protocol):
    def __call__(self, find: Callable[[Engine], T], /) -> Coroutine[Any, Any, T]: ...


ListenerReader = Callable[[Callable[..., list[BroadcastEvent]], Engine, int], Coroutine[Any, Any, list[BroadcastEvent]]]


class ExceptionLogger(Protocol):
    """As much of one as is needed."""

    def exception(self, event: str, /) -> object:
        """Note the error that is being handled."""


class EventBroadcaster:
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

    def __init__(
        self, probe: _ProbeReader, read: ListenerReader, revision: RevisionTracker, log: ExceptionLogger
    ) -> None:
        self._probe, self._read, self._revision, self._logger = probe, read, revision, log
        self._recent: list[BroadcastEvent] = []
        self._last_number = 0
        self._task: asyncio.Task[None] | None = None
        self._listener_count = 0
        self._is_closed = False

    def subscribe(self, last: int) -> None:
        """Somebody listens, while the newest event has this number."""
        self._listener_count += 1
        if self._task is None:
            self._recent, self._last_number, self._wakeup = [], max(last - _PAGE_SIZE, 0), asyncio.Event()
            context = Context()  # not that of a request, which ends
            self._task = asyncio.get_running_loop().create_task(self._poll(), context=context)

    def unsubscribe(self) -> None:
        """They do no longer."""
        self._listener_count -= 1
        if self._listener_count == 0 and self._task is not None:
            self._task.cancel()
            self._task = None

    def close(self) -> None:
        """The server stops: nobody is told anything any more."""
        self._is_closed = True
        if self._task is not None:
            self._wakeup.set()

    @property
    def is_closed(self) -> bool:
        """Whether the server stops."""
        return self._is_closed

    async def wait_for_events(self, number: int, seconds: float) -> list[BroadcastEvent]:
        """The next events after one, in their order; none if none came within some seconds, or the server stops."""
        wakeup = self._wakeup
        if number >= self._last_number and not self._is_closed:
            with move_on_after(seconds):
                await wakeup.wait()
        if number >= self._last_number or self._is_closed:
            return []
        if self._recent and self._recent[0].number <= number + 1:
            return self._recent[bisect_right(self._recent, number, key=_BY_NUMBER) :]
        try:
            return await self._read(_read_events, self._revision.engine, number)
        except TrninvError:
            await asyncio.sleep(POLL_SECONDS)
            return []

    async def _poll(self) -> None:
        """Look for new events as long as anybody listens; after a look that failed there is another one."""
        last_revision: object = None
        is_logged = False
        while True:
            events: list[BroadcastEvent] = []
            try:
                revision, events = await self._probe(partial(self._read_new_events, last_revision))
            except TrninvError:  # the database does not answer
                pass
            except Exception:
                if not is_logged:
                    self._logger.exception("changes are not seen")
                is_logged = True
            else:
                last_revision, is_logged = revision if len(events) < _PAGE_SIZE else None, False
            if events:
                self._append(events)
            if len(events) < _PAGE_SIZE:
                await asyncio.sleep(POLL_SECONDS)

    def _append(self, events: list[BroadcastEvent]) -> None:
        if events[0].number > self._last_number + 1:  # those between were archived before anybody saw them
            self._recent = []
        self._recent = (self._recent + events)[-_MAX_RECENT_EVENTS:]
        self._last_number = events[-1].number
        self._wakeup.set()
        self._wakeup = asyncio.Event()

    def _read_new_events(self, last_revision: object, engine: Engine) -> tuple[object, list[BroadcastEvent]]:
        revision = self._revision.current()
        return revision, [] if revision is not None and revision == last_revision else _read_events(
            engine, self._last_number
        )
