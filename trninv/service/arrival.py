"""Read request bodies within limits, and cancel the work when the client disconnects."""

import asyncio
from math import inf

from anyio import CancelScope, Event
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trninv import deadline
from trninv.errors import RequestError, TimeLimitError
from trninv.graphql import workers
from trninv.service import wire

MAX_BODY_BYTES = 1_000_000
CLIENT_CLOSED_REQUEST = 499


class _ClientDisconnectedError(Exception):
    """The client disconnected."""


class _BodyTooLargeError(Exception):
    """The body is longer than MAX_BODY_BYTES."""


class RequestBodyMiddleware:
    """ASGI middleware: reads the whole body before the application runs; cancels it if the client disconnects.

    The time limit starts here and ends when the response starts.
    """

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        workers.current_client.set((scope.get("client") or ("", 0))[0])
        with deadline.time_limit(self._seconds) as clock:
            try:
                body = await _read_body(receive)
            except _ClientDisconnectedError:
                response = Response(status_code=CLIENT_CLOSED_REQUEST)
            except _BodyTooLargeError:
                response = wire.error_response(RequestError(f"a request has at most {MAX_BODY_BYTES:,} bytes"), 413)
            except TimeoutError:
                error = TimeLimitError(f"the request did not arrive within {self._seconds:g} s: send it at once")
                response = wire.error_response(error, 408)
            else:
                await _PendingResponse(clock, receive, send).run(self._app, scope, body)
                return
            await response(scope, receive, send)


async def _read_body(receive: Receive) -> bytes:
    body, has_more = bytearray(), True
    async with asyncio.timeout(deadline.cap_timeout(inf)):
        while has_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _ClientDisconnectedError
            body += message.get("body", b"")
            if len(body) > MAX_BODY_BYTES:
                raise _BodyTooLargeError
            has_more = message.get("more_body", False)
    return bytes(body)


class _PendingResponse:
    """A request in progress, cancelled if its client disconnects before the response starts."""

    def __init__(self, clock: deadline.Deadline, receive: Receive, send: Send) -> None:
        self._clock, self._receive, self._send = clock, receive, send
        self._cancel_scope, self._disconnected = CancelScope(), Event()
        self._body: bytes | None = None
        self._has_started = False
        self._watch_task: asyncio.Task[None] | None = None

    async def run(self, app: ASGIApp, scope: Scope, body: bytes) -> None:
        self._body = body
        # a response that is ready at once is never watched
        start_handle = asyncio.get_running_loop().call_soon(self._start_watching)
        try:
            with self._cancel_scope:
                await app(scope, self._next_message, self._send_message)
        finally:
            start_handle.cancel()
            if self._watch_task:
                self._watch_task.cancel()
        if self._cancel_scope.cancelled_caught:
            await Response(status_code=CLIENT_CLOSED_REQUEST)(scope, self._receive, self._send)

    def _start_watching(self) -> None:
        self._watch_task = asyncio.create_task(self._watch_for_disconnect())

    async def _watch_for_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._disconnected.set()
        if not self._has_started:  # a started response notices the disconnect by itself
            self._clock.cancel()
            self._cancel_scope.cancel()

    async def _next_message(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def _send_message(self, message: Message) -> None:
        if not self._has_started:
            self._has_started = True
            self._clock.lift()
        await self._send(message)
