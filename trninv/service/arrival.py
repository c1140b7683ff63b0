"""How requests arrive and leave: whole, within their time, and only for as long as somebody waits for the answer."""

import asyncio
from math import inf

from anyio import CancelScope, Event
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trninv import deadline
from trninv.errors import RequestError, TimeLimitError
from trninv.graphql import workers
from trninv.service import wire

MAX_BODY = 1_000_000
CLIENT_LEFT = 499


class _LeftError(Exception):
    """The client hung up."""


class _LongError(Exception):
    """The body is longer than MAX_BODY."""


class Arrival:
    """ASGI middleware: reads a request whole before it is answered, and cancels the answer if its client leaves.

    The time limit begins here, and ends when the answer begins.
    """

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        workers.client.set((scope.get("client") or ("", 0))[0])
        with deadline.limit(self._seconds) as clock:
            try:
                body = await _whole(receive)
            except _LeftError:
                answer = Response(status_code=CLIENT_LEFT)
            except _LongError:
                answer = wire.refusal(RequestError(f"a request has at most {MAX_BODY:,} bytes"), 413)
            except TimeoutError:
                late = TimeLimitError(f"the request did not arrive within {self._seconds:g} s: send it at once")
                answer = wire.refusal(late, 408)
            else:
                await _Waiting(clock, receive, send).answer(self._app, scope, body)
                return
            await answer(scope, receive, send)


async def _whole(receive: Receive) -> bytes:
    body, more = bytearray(), True
    async with asyncio.timeout(deadline.remaining(inf)):
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _LeftError
            body += message.get("body", b"")
            if len(body) > MAX_BODY:
                raise _LongError
            more = message.get("more_body", False)
    return bytes(body)


class _Waiting:
    """A client that waits for its answer, as far as is known."""

    def __init__(self, clock: deadline.Deadline, receive: Receive, send: Send) -> None:
        self._clock, self._receive, self._send = clock, receive, send
        self._answering, self._gone = CancelScope(), Event()
        self._body: bytes | None = None
        self._begun = False
        self._watching: asyncio.Task[None] | None = None

    async def answer(self, app: ASGIApp, scope: Scope, body: bytes) -> None:
        self._body = body
        beginning = asyncio.get_running_loop().call_soon(self._begin)  # never, of what is answered at once
        try:
            with self._answering:
                await app(scope, self._read, self._write)
        finally:
            beginning.cancel()
            if self._watching:
                self._watching.cancel()
        if self._answering.cancelled_caught:
            await Response(status_code=CLIENT_LEFT)(scope, self._receive, self._send)

    def _begin(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
        if not self._begun:  # what is being sent sees for itself
            self._clock.cancel()
            self._answering.cancel()

    async def _read(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _write(self, message: Message) -> None:
        if not self._begun:
            self._begun = True
            self._clock.lift()
        await self._send(message)
