"""Log each request, check its host and path, read its body, and cancel work when its client disconnects."""

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf

from anyio import CancelScope, Event
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trninv import deadline
from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.errors import RequestError, TimeLimitError
from trninv.graphql import worker_pools
from trninv.service import graphql_http

RequestLogger = Callable[[Scope, int, float, str], None]
"""Called for each request with its ASGI scope, response status, duration in seconds and id."""
_OWN_FILES_ONLY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the pages: no request leaves for another host."""
_HEADERS = ((b"content-security-policy", _OWN_FILES_ONLY.encode()), (b"x-content-type-options", b"nosniff"))


class AccessLogMiddleware:
    """ASGI middleware: adds headers to each response, and logs and counts the request."""

    def __init__(self, app: ASGIApp, note: RequestLogger) -> None:
        self._app, self._note = app, note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 500, time.perf_counter()
        reference = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = reference

        async def write(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS, (b"x-request-id", reference.encode())]
            await send(message)

        try:
            await self._app(scope, receive, write)
        finally:
            self._note(scope, status, time.perf_counter() - start, reference)


class AllowedHostsMiddleware:
    """ASGI middleware: refuses requests whose Host is not allowed (protects against DNS rebinding)."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or any(
            _matches_host(name, Headers(scope=scope).get("host", "")) for name in self._names
        ):
            await self._app(scope, receive, send)
            return
        error = RequestError("the Host header is not a name of this server; use one of TRNINV_ALLOWED_HOSTS")
        await graphql_http.error_response(error, 400)(scope, receive, send)


class PathCharactersMiddleware:
    """ASGI middleware: refuses requests with forbidden characters in path or query."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (b"%00" in scope["query_string"] or has_forbidden_characters(scope["path"])):
            await graphql_http.error_response(RequestError(f"the URL {FORBIDDEN_MESSAGE}"), 400)(scope, receive, send)
            return
        await self._app(scope, receive, send)


@lru_cache(maxsize=64)
def _matches_host(name: str, host: str) -> bool:
    """Return whether an allowed name (NAME, *.DOMAIN or *) matches a Host header, ignoring its port."""
    bare = re.sub(r":\d*$", "", host).lower()
    return name in ("*", bare) or (name.startswith("*.") and bare.endswith(name[1:]))


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
        worker_pools.current_client.set((scope.get("client") or ("", 0))[0])
        with deadline.time_limit(self._seconds) as clock:
            try:
                body = await _read_body(receive)
            except _ClientDisconnectedError:
                response = Response(status_code=CLIENT_CLOSED_REQUEST)
            except _BodyTooLargeError:
                response = graphql_http.error_response(
                    RequestError(f"the body is longer than {MAX_BODY_BYTES:,} bytes; send less in a request"), 413
                )
            except TimeoutError:
                error = TimeLimitError(f"the request did not arrive within {self._seconds:g} s; send it at once")
                response = graphql_http.error_response(error, 408)
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
