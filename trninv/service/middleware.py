"""ASGI middleware: log each request, check host and path, read the body, cancel work when the client disconnects."""

import asyncio
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from math import inf

from anyio import CancelScope, Event
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

import trninv
from trninv import deadline
from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.errors import ForbiddenError, RequestError, TimeLimitError
from trninv.graphql import worker_pools
from trninv.service import graphql_http
from trninv.service.request_parsing import is_cross_site_refused, is_host_allowed

RequestLogger = Callable[[Scope, int, float, str], None]
"""Called for each request with its ASGI scope, response status, duration in seconds and id."""
DirectResponder = Callable[[Scope, bytes], Awaitable[ASGIApp | None]]
"""Returns the response to a request with a body, or None."""
_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Pages load files from this server only (images and fonts also from data URLs), and send requests to no other host."""
_HEADERS = (
    (b"content-security-policy", _CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-trninv-version", trninv.__version__.encode()),
)


class PeerAddressMiddleware:
    """ASGI middleware: keeps the address of the connection's peer, and takes the client's from a proxy on this machine.

    Who may name a person (`trninv.service.people`) depends on the peer, which no header changes.
    """

    def __init__(self, app: ASGIApp) -> None:
        trusted = os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")  # uvicorn's variable and default
        self._app = ProxyHeadersMiddleware(app, trusted_hosts=trusted)  # type: ignore[arg-type] # uvicorn's own types

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})["peer"] = (scope.get("client") or ("", 0))[0]
        await self._app(scope, receive, send)  # type: ignore[arg-type] # as above


class AccessLogMiddleware:
    """ASGI middleware: adds headers to each response, and logs and counts the request."""

    def __init__(self, app: ASGIApp, log_request: RequestLogger) -> None:
        self._app, self._log_request = app, log_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 500, time.perf_counter()
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            self._log_request(scope, status, time.perf_counter() - start, request_id)


class AllowedHostsMiddleware:
    """ASGI middleware: refuses requests whose Host is not allowed (protects against DNS rebinding)."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app, self._names = app, tuple(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_host_allowed(Headers(scope=scope).get("host", ""), self._names):
            await self._app(scope, receive, send)
            return
        error = RequestError("the Host header is not a name of this server; use one of TRNINV_ALLOWED_HOSTS")
        await graphql_http.error_response(error, 400)(scope, receive, send)


class CrossSiteMiddleware:
    """ASGI middleware: refuses requests that a page of another site makes, unless a user follows a link.

    A browser says so in the Sec-Fetch headers. Without this, any page that a user visits could start expensive
    questions on a service that only the user's machine reaches; other rules keep it only from reading the answer.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app, self._origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_cross_site_refused(scope, self._origins):
            error = ForbiddenError(
                "a page of another site made this request; open the address itself, or allow the page's origin with "
                "TRNINV_CORS_ORIGINS"
            )
            await graphql_http.error_response(error, 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class PathCharactersMiddleware:
    """ASGI middleware: refuses requests with forbidden characters in the path, or NUL in the query."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (b"%00" in scope["query_string"] or has_forbidden_characters(scope["path"])):
            await graphql_http.error_response(RequestError(f"the URL {FORBIDDEN_MESSAGE}"), 400)(scope, receive, send)
            return
        await self._app(scope, receive, send)


MAX_BODY_BYTES = 1_000_000
"""Maximum length of a request's body."""
CLIENT_CLOSED_REQUEST = 499
"""Status that is logged for a request whose client disconnected; nginx uses the same."""


class _ClientDisconnectedError(Exception):
    """The client disconnected."""


class _BodyTooLargeError(Exception):
    """The body is longer than MAX_BODY_BYTES."""


class RequestBodyMiddleware:
    """ASGI middleware: reads the body, then runs the application, and stops both if the client disconnects.

    The time limit starts here and ends when the response starts.

    Parameters
    ----------
    respond_directly
        Returns the response to a request that the application need not see, from its scope and body; else None.

    """

    def __init__(self, app: ASGIApp, seconds: float, respond_directly: DirectResponder) -> None:
        self._app, self._seconds, self._respond_directly = app, seconds, respond_directly

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        worker_pools.current_client.set((scope.get("client") or ("", 0))[0])
        with deadline.time_limit(self._seconds) as clock:
            try:
                body = await _read_body(receive)
            except _ClientDisconnectedError:
                response: ASGIApp = Response(status_code=CLIENT_CLOSED_REQUEST)
            except _BodyTooLargeError:
                response = graphql_http.error_response(
                    RequestError(f"the body is longer than {MAX_BODY_BYTES:,} bytes; send less in a request"), 413
                )
            except TimeoutError:
                error = TimeLimitError(
                    f"the request body did not arrive within {self._seconds:g} s; send it without pauses"
                )
                response = graphql_http.error_response(error, 408)
            else:
                if (direct_response := await self._respond_directly(scope, body)) is None:
                    await _PendingResponse(clock, receive, send).run(self._app, scope, body)
                    return
                response = direct_response
                clock.lift()
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
        # a response that is ready before the loop's next iteration needs no watching
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
