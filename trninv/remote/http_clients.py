"""Send calls to a service with httpx2, synchronously or asynchronously.

Certificates are verified against those of the system. A redirect is not followed, so that the token reaches no other
server, and an answer that is longer than MAX_ANSWER_BYTES is not read to its end.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx2

import trninv
from trninv.errors import ServiceError, UnreachableError, UsageError
from trninv.remote.exchange import MAX_ANSWER_BYTES, Call, ConnectionRefusedByServiceError, Reply, Result

_USER_AGENT: Final = f"trninv/{trninv.__version__}"
Token = str | Callable[[], str]
"""A bearer token, or a function that returns it for each attempt, because files of tokens change."""


class HttpClient:
    """Sends calls and waits for their results; thread-safe."""

    def __init__(self, token: Token, seconds: float, transport: httpx2.BaseTransport | None = None) -> None:
        self._token, self._sleep = token, time.sleep
        self._client = httpx2.Client(transport=transport, timeout=seconds, follow_redirects=False)

    def run(self, call: Call) -> Result:
        """Send a call, again if that may help, and return its result."""
        steps = call.exchange()
        pause = next(steps)
        while True:
            if pause:
                self._sleep(pause)
            try:
                pause = steps.send(self._send(call))
            except StopIteration as end:
                result: Result = end.value
                return result

    def _send(self, call: Call) -> Reply | UnreachableError:
        try:
            with (
                _translated_errors(call),
                self._client.stream("POST", call.url, content=call.body, headers=_headers(self._token)) as response,
            ):
                body = bytearray()
                for chunk in response.iter_bytes():
                    _extend(body, chunk, call)
                return Reply(response.status_code, response.headers, bytes(body))
        except UnreachableError as failure:
            return failure

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


class AsyncHttpClient:
    """Sends calls and awaits their results."""

    def __init__(self, token: Token, seconds: float, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._token, self._sleep = token, asyncio.sleep
        self._client = httpx2.AsyncClient(transport=transport, timeout=seconds, follow_redirects=False)

    async def run(self, call: Call) -> Result:
        """Send a call, again if that may help, and return its result."""
        steps = call.exchange()
        pause = next(steps)
        while True:
            if pause:
                await self._sleep(pause)
            try:
                pause = steps.send(await self._send(call))
            except StopIteration as end:
                result: Result = end.value
                return result

    async def _send(self, call: Call) -> Reply | UnreachableError:
        try:
            with _translated_errors(call):
                request = self._client.stream("POST", call.url, content=call.body, headers=_headers(self._token))
                async with request as response:
                    body = bytearray()
                    async for chunk in response.aiter_bytes():
                        _extend(body, chunk, call)
                    return Reply(response.status_code, response.headers, bytes(body))
        except UnreachableError as failure:
            return failure

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def _headers(token: Token) -> dict[str, str]:
    text = token if isinstance(token, str) else token()
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise UsageError("the token is not one word of ASCII characters; write what trninv token create prints")
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": _USER_AGENT}
    return headers | ({"Authorization": f"Bearer {text}"} if text else {})


def _extend(body: bytearray, chunk: bytes, call: Call) -> None:
    body += chunk
    if len(body) > MAX_ANSWER_BYTES:
        raise ServiceError(f"{call.service} sends more than {MAX_ANSWER_BYTES:,} bytes; ask about a smaller scope")


@contextmanager
def _translated_errors(call: Call) -> Iterator[Any]:
    """Turn errors of httpx2 into those of `trninv.errors`."""
    try:
        yield
    except httpx2.ConnectError as error:
        raise ConnectionRefusedByServiceError(f"{call.service} does not answer: {error}") from None
    except httpx2.DecodingError as error:
        raise ServiceError(f"{call.service} sends a body that is not {call.method}'s answer: {error}") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        raise UnreachableError(f"{call.service} does not answer: {reason}") from None
