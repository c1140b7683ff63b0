"""What every request passes through: a limit to its body, headers of its answer, and a note of how it went."""

import secrets
import time
from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trninv.service.wire import MAX_BODY

Note = Callable[[Scope, int, float, str], None]
"""Told of each request: its scope, the status of its answer, the seconds it took, its id."""

_OWN_FILES_ONLY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the pages: no request leaves for another host."""


class Guard:
    """ASGI middleware: bodies of at most MAX_BODY bytes in; headers, a log line and metrics out."""

    def __init__(self, app: ASGIApp, note: Note) -> None:
        self._app, self._note = app, note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        received, status, start = 0, 500, time.perf_counter()
        reference = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = reference

        async def read() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MAX_BODY:
                raise HTTPException(413, f"a request has at most {MAX_BODY:,} bytes")
            return message

        async def write(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = _OWN_FILES_ONLY
                headers["X-Content-Type-Options"] = "nosniff"
                headers["X-Request-Id"] = reference
            await send(message)

        try:
            await self._app(scope, read, write)
        finally:
            self._note(scope, status, time.perf_counter() - start, reference)
