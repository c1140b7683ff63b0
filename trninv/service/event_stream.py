"""Serve /changes, the event history as server-sent events; GraphQL subscriptions use the same stream."""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

import anyio
from sqlalchemy import func, select
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from trninv.errors import BusyError, ForbiddenError, InvalidTimeError, RequestError, TrninvError, UnauthenticatedError
from trninv.history.events import last_event_number
from trninv.history.scope_filter import ScopeMatcher
from trninv.inventory.schema.event_fields import EVENT
from trninv.routing.fleet import BaseFleet
from trninv.service.api_route import INTEGER, TEXT, ApiRoute, HttpParameter, RouteDeclaration
from trninv.service.authentication import authenticate
from trninv.service.connection_limits import END_RESPONSE_KEY
from trninv.service.event_broadcast import BroadcastEvent
from trninv.service.graphql_http import EVENT_STREAM
from trninv.service.services import Services, get_services

_HEADERS: Final = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
"""Keep caches and proxies from storing, compressing or buffering the stream."""
_EVENTS_PER_TURN: Final = 32
"""Number of events that are formatted before other tasks get a turn."""
_EVENT_ID: Final = re.compile("[0-9]{1,18}")
"""An event number that fits the database's 64-bit integers."""

EventFormatter = Callable[[BroadcastEvent], bytes]
"""Formats an event as a server-sent frame."""


async def stream_events(request: Request) -> Response:
    """Stream all events, or those of a scope: new ones, or, with Last-Event-ID, all after that event."""
    if request.method == "HEAD":
        return Response(headers=_HEADERS, media_type=EVENT_STREAM)
    return await event_stream_response(request, request.query_params.get("scope"), lambda event: event.frame)


async def event_stream_response(request: Request, scope: str | None, format_event: EventFormatter) -> Response:
    """Return a response that streams events until the client disconnects or the server stops.

    Raises
    ------
    BusyError
        Too many clients listen.
    InvalidTimeError
        The event to start after does not exist yet, or is not stored any more.
    RequestError
        Last-Event-ID is not an event's number.

    """
    services, number = get_services(request), _last_event_id(request)

    def read_position(fleet: BaseFleet) -> tuple[int, int, ScopeMatcher | None]:
        with fleet.connect() as connection:
            newest = last_event_number(connection)
            oldest = connection.scalar(select(func.min(EVENT.c.id))) or 1
            scope_filter = None if scope is None else ScopeMatcher.from_scope(connection, scope)
        return newest if number is None else _check_position(number, oldest, newest), newest, scope_filter

    try:
        services.listeners.acquire_nowait()
    except anyio.WouldBlock:
        raise BusyError(f"{services.listeners.max_value:,} clients listen already; try again later") from None
    try:
        position, newest, scope_filter = await services.read(read_position, services.fleet)
    except BaseException:
        services.listeners.release()
        raise
    services.broadcaster.subscribe(newest)
    return _EventStreamResponse(services, _generate_frames(request, position, scope_filter, format_event))


def _last_event_id(request: Request) -> int | None:
    """Return the event to start after: from the header, which reconnecting clients send, else from the URL."""
    text = request.headers.get("last-event-id") or request.query_params.get("lastEventId") or None
    if text is not None and not _EVENT_ID.fullmatch(text):
        raise RequestError(f"Last-Event-ID {text[:40]!r} is not an event number; send an id from this stream")
    return None if text is None else int(text)


def _check_position(number: int, oldest: int, newest: int) -> int:
    """Return an event number after which the stored events have no gap; refuse others."""
    if number > newest:
        raise InvalidTimeError(f"event {number} does not exist; the last event is {newest}")
    if number < oldest - 1:
        raise InvalidTimeError(f"events before {oldest} are no longer stored; continue after {oldest - 1}")
    return number


async def _generate_frames(
    request: Request, position: int, scope_filter: ScopeMatcher | None, format_event: EventFormatter
) -> AsyncIterator[bytes]:
    """Yield a retry delay, the frames of the events after a position, and a heartbeat every TRNINV_HEARTBEAT seconds.

    The stream ends when the server stops, the token is no longer valid, or the next event is no longer stored.
    """
    services = get_services(request)
    seconds = services.settings.heartbeat
    yield b"retry: %d\n\n" % (1_000 + secrets.randbelow(2_000))  # ms; spreads reconnections after a restart
    next_heartbeat = time.monotonic() + seconds
    while not services.broadcaster.is_closed:
        entries = await services.broadcaster.wait_for_events(position, next_heartbeat - time.monotonic())
        if entries and entries[0].number > position + 1:
            yield b": events before %d are no longer stored\n\n" % entries[0].number
            return  # a reconnect is refused with an explanation
        for start in range(0, len(entries), _EVENTS_PER_TURN):
            chunk = entries[start : start + _EVENTS_PER_TURN]
            if frames := b"".join(
                format_event(entry)
                for entry in chunk
                if scope_filter is None or scope_filter.matches(entry.event.address)
            ):
                yield frames
            position = chunk[-1].number
            await asyncio.sleep(0)  # let other tasks run
        if time.monotonic() >= next_heartbeat:
            next_heartbeat = time.monotonic() + seconds
            if not await _is_token_valid(request):
                return
            # with this id, a reconnecting client also skips the events outside its scope, which it was not sent
            yield b":\nid: %d\n\n" % position


async def _is_token_valid(request: Request) -> bool:
    """Return whether the token is still valid; assume so if the database is unreachable."""
    try:
        await authenticate(request, "read", is_recheck=True)
    except (UnauthenticatedError, ForbiddenError):
        return False
    except TrninvError:
        pass
    return True


class _EventStreamResponse(StreamingResponse):
    """An event stream that always releases its listener slot."""

    def __init__(self, services: Services, frames: AsyncIterator[bytes]) -> None:
        super().__init__(frames, headers=_HEADERS, media_type=EVENT_STREAM)
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[END_RESPONSE_KEY] = self._services.broadcaster.close  # ends all streams when the server stops
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._services.broadcaster.unsubscribe()
            self._services.listeners.release()


ROUTES = [
    ApiRoute(
        "/changes",
        stream_events,
        RouteDeclaration(
            "read",
            {EVENT_STREAM: TEXT},
            [
                HttpParameter("scope", "Only events at or below this address", example="u-trn2x64/d0"),
                HttpParameter("lastEventId", "Begin after this event", INTEGER),
                HttpParameter(
                    "Last-Event-ID", "The same; a reconnecting EventSource sends it", INTEGER, place="header"
                ),
            ],
        ),
    )
]
