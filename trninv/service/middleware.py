"""Log each request, add security headers, and check its host and path."""

import re
import secrets
import time
from collections.abc import Callable, Sequence
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.errors import RequestError
from trninv.service import wire

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
        error = RequestError("the Host is none of this server's names: use one of TRNINV_ALLOWED_HOSTS")
        await wire.error_response(error, 400)(scope, receive, send)


class PathCharactersMiddleware:
    """ASGI middleware: refuses requests with forbidden characters in path or query."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (b"%00" in scope["query_string"] or has_forbidden_characters(scope["path"])):
            await wire.error_response(RequestError(f"the address {FORBIDDEN_MESSAGE}"), 400)(scope, receive, send)
            return
        await self._app(scope, receive, send)


@lru_cache(maxsize=64)
def _matches_host(name: str, host: str) -> bool:
    """Return whether an allowed name (NAME, *.DOMAIN or *) matches a Host header, ignoring its port."""
    bare = re.sub(r":\d*$", "", host).lower()
    return name in ("*", bare) or (name.startswith("*.") and bare.endswith(name[1:]))
