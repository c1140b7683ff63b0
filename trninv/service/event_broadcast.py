"""Poll the database for new events once per process, and pass them to all listeners.

A listener is a client of `event_stream`, which has its own position in the history instead of a queue. Recent events
are in memory, formatted once for all listeners; a listener that is further behind reads the database at its own speed,
so that slow listeners cost no memory.

Event numbers follow the order of commits (`trninv.inventory.triggers.registry`), so a new event always has a higher
number than those read before.
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

from trninv.database.engine import read_transaction
from trninv.database.revision import RevisionTracker
from trninv.errors import TrninvError
from trninv.history.events import Event, events_after

T = TypeVar("T")

POLL_SECONDS: Final = 0.25
"""Seconds between two polls."""
_PAGE_SIZE: Final = 500
"""Maximum number of events read by one query."""
_MAX_RECENT_EVENTS: Final = 1_000
"""Maximum number of recent events that are kept in memory for all listeners."""
_BY_NUMBER: Final = attrgetter("number")


@dataclass(frozen=True, slots=True)
class BroadcastEvent:
    """An event with its server-sent frame."""

    number: int
    event: Event
    frame: bytes


def _read_events(engine: Engine, after: int) -> list[BroadcastEvent]:
    """Read the first events after a number; blocks, so call it in a thread."""
    with read_transaction(engine) as connection:
        return [
            BroadcastEvent(event.event, event, _format_frame(event))
            for event in events_after(connection, after, _PAGE_SIZE)
        ]


def _format_frame(event: Event) -> bytes:
    name = event.kind or event.action  # the kind of the changed part, or the action on a job or cordon
    kind = f"event: {name}\n".encode() if name else b""
    return b"id: %d\n%bdata: %b\n\n" % (event.event, kind, orjson.dumps(event.to_json()))


class _ProbeReader(Protocol):
    """Runs a function of an engine in a thread."""

    def __call__(self, work: Callable[[Engine], T], /) -> Coroutine[Any, Any, T]: ...


ListenerReader = Callable[[Callable[..., list[BroadcastEvent]], Engine, int], Coroutine[Any, Any, list[BroadcastEvent]]]
"""Runs `_read_events` in a thread, with an engine and the number of the last event that the listener has."""


class ExceptionLogger(Protocol):
    """The part of a logger that is used here."""

    def exception(self, event: str, /) -> object:
        """Log the error that is being handled."""


class EventBroadcaster:
    """Passes new events to all listeners; polls only while there are some.

    Parameters
    ----------
    probe
        Runs a function in a thread, with an engine that requests do not use.
    read
        Runs a function in a reading thread, for a listener that is behind.
    revision
        Tracks whether the database changed.
    log
        Logs unexpected errors of a poll.

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
        """Add a listener; polling starts with the first one. `last` is the newest event's number.

        The first poll also reads a page of events up to the newest, for listeners that continue after one of them.
        """
        self._listener_count += 1
        if self._task is None:
            self._recent, self._last_number, self._wakeup = [], max(last - _PAGE_SIZE, 0), asyncio.Event()
            context = Context()  # not the request's context: polling outlives the request
            self._task = asyncio.get_running_loop().create_task(self._poll(), context=context)

    def unsubscribe(self) -> None:
        """Remove a listener; polling stops with the last one."""
        self._listener_count -= 1
        if self._listener_count == 0 and self._task is not None:
            self._task.cancel()
            self._task = None

    def close(self) -> None:
        """Stop all listeners, because the server stops."""
        self._is_closed = True
        if self._task is not None:
            self._wakeup.set()

    @property
    def is_closed(self) -> bool:
        """Whether the server is stopping."""
        return self._is_closed

    async def wait_for_events(self, number: int, seconds: float) -> list[BroadcastEvent]:
        """Return the next events after a number, and wait for them if there are none.

        Returns an empty list after `seconds` without events, when the server stops, or if reading failed.
        """
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
        """Poll for new events until cancelled; a failed poll is retried."""
        last_revision: object = None
        is_logged = False
        while True:
            events: list[BroadcastEvent] = []
            try:
                revision, events = await self._probe(partial(self._read_new_events, last_revision))
            except TrninvError:  # the database is unreachable: retry
                pass
            except Exception:
                if not is_logged:
                    self._logger.exception("polling for events failed")
                is_logged = True
            else:  # after a full page, more events may follow at the same revision
                last_revision, is_logged = revision if len(events) < _PAGE_SIZE else None, False
            if events:
                self._append(events)
            if len(events) < _PAGE_SIZE:
                await asyncio.sleep(POLL_SECONDS)

    def _append(self, events: list[BroadcastEvent]) -> None:
        """Add new events to the recent ones, and wake all listeners."""
        if events[0].number > self._last_number + 1:  # a gap: events between were archived before they were read
            self._recent = []
        self._recent = (self._recent + events)[-_MAX_RECENT_EVENTS:]
        self._last_number = events[-1].number
        self._wakeup.set()
        self._wakeup = asyncio.Event()

    def _read_new_events(self, last_revision: object, engine: Engine) -> tuple[object, list[BroadcastEvent]]:
        """Return the current revision and the first new events; none if the revision is still the last one."""
        revision = self._revision.current()
        return revision, [] if revision is not None and revision == last_revision else _read_events(
            engine, self._last_number
        )
