"""/changes: the history as server-sent events, as it comes."""

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
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from trninv.errors import BusyError, ForbiddenError, MomentError, RequestError, TrninvError, UnauthenticatedError
from trninv.history.events import last
from trninv.history.within import Within
from trninv.inventory.happened import EVENT
from trninv.routing.fleet import Fleet
from trninv.service.access import holder
from trninv.service.connections import ENDING
from trninv.service.news import Change
from trninv.service.query import query
from trninv.service.shared import Shared, shared
from trninv.service.wire import EVENTS

_HEADERS: Final = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
_AT_ONCE: Final = 32
"""Events that are told before others have their turn: half of those that a subscription remembers for all."""
_NUMBER: Final = re.compile("[0-9]{1,18}")

Tell = Callable[[Change], bytes]
"""A change as bytes."""


async def changes(request: Request) -> Response:
    """Every change of a state, of a scope or of everything, from now on or after an event (Last-Event-ID)."""
    await holder(request, "read")
    if request.method == "HEAD":
        return Response(headers=_HEADERS, media_type=EVENTS)
    return await listening(request, query(request, ["scope", "lastEventId"]).get("scope"), lambda change: change.frame)


async def listening(request: Request, scope: str | None, tell: Tell) -> Response:
    """An answer that goes on as things change.

    Raises
    ------
    BusyError
        Too many listen.
    MomentError
        The event that it goes on after is yet to come, or is not kept any more.
    RequestError
        It is not the number of an event.
    AddressError, UnknownAddressError, WrongLevelError
        The scope is no place with parts that have states.

    """
    at, number = shared(request), _asked(request)

    def begin(fleet: Fleet) -> tuple[int, int, Within | None]:
        with fleet.reading() as connection:
            newest = last(connection)
            oldest = connection.scalar(select(func.min(EVENT.c.id))) or 1
            within = None if scope is None else Within.of(connection, scope)
        return newest if number is None else _checked(number, oldest, newest), newest, within

    try:
        at.listeners.acquire_nowait()
    except anyio.WouldBlock:
        raise BusyError(f"{at.listeners.max_value:,} listen to changes already: ask again later") from None
    try:
        position, newest, within = await at.read(begin, at.fleet)
    except BaseException:
        at.listeners.release()
        raise
    at.news.begin(newest)
    return _Listening(at, _told(request, position, within, tell))


def _asked(request: Request) -> int | None:
    """The event after which to go on: the header's, which a client that comes again sends, else the parameter's."""
    given = request.headers.get("last-event-id") or request.query_params.get("lastEventId") or None
    if given is not None and not _NUMBER.fullmatch(given):
        raise RequestError(f"Last-Event-ID {given[:40]!r} is not the number of an event: send an id of this stream")
    return None if given is None else int(given)


def _checked(number: int, oldest: int, newest: int) -> int:
    if number > newest:
        raise MomentError(f"there is no event {number}: the last one is {newest}")
    if number < oldest - 1:
        raise MomentError(f"events before {oldest} are not kept any more: go on after {oldest - 1}")
    return number


async def _told(request: Request, position: int, within: Within | None, tell: Tell) -> AsyncIterator[bytes]:
    at = shared(request)
    seconds = at.settings.heartbeat
    yield b"retry: %d\n\n" % (1_000 + secrets.randbelow(2_000))  # not all at once after a restart
    beat = time.monotonic() + seconds
    while not at.news.has_ended:
        found = await at.news.after(position, beat - time.monotonic())
        if found and found[0].number > position + 1:
            yield b": events before %d are not kept any more\n\n" % found[0].number
            return  # who comes again is refused, and told so
        for begin in range(0, len(found), _AT_ONCE):
            some = found[begin : begin + _AT_ONCE]
            if told := b"".join(tell(each) for each in some if within is None or within.has(each.event.address)):
                yield told
            position = some[-1].number
            await asyncio.sleep(0)  # others have their turn
        if time.monotonic() >= beat:
            beat = time.monotonic() + seconds
            if not await _may_listen(request):
                return
            yield b":\nid: %d\n\n" % position


async def _may_listen(request: Request) -> bool:
    """Whether the token is still good; as long as nobody can tell, it is."""
    try:
        await holder(request, "read")
    except (UnauthenticatedError, ForbiddenError):
        return False
    except TrninvError:
        pass
    return True


class _Listening(StreamingResponse):
    """What a listener is told; its place is free however that ends."""

    def __init__(self, at: Shared, told: AsyncIterator[bytes]) -> None:
        super().__init__(told, headers=_HEADERS, media_type=EVENTS)
        self._at = at

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ENDING] = self._at.news.end
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._at.news.leave()
            self._at.listeners.release()


ROUTES = [Route("/changes", changes)]
