"""Send calls to a service with httpx2, synchronously or asynchronously.

Certificates are verified against those of the system. A redirect is not followed, so that the token reaches no other
server, and an answer that is longer than MAX_ANSWER_BYTES is not read to its end.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import httpx2

import trninv
from trninv.errors import ServiceError, TrninvError, UnreachableError, UsageError
from trninv.remote.exchange import MAX_ANSWER_BYTES, Call, Reply, Result, SendFailure

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
        pause, attempt = next(steps)
        while True:
            try:
                if pause:
                    self._sleep(pause)
                pause, attempt = steps.send(self._send(attempt))
            except StopIteration as end:
                result: Result = end.value
                return result
            except KeyboardInterrupt as interruption:
                _, cancellation = steps.throw(interruption)  # raises it again if there is nothing to cancel
                with suppress(TrninvError):
                    self._send(cancellation)
                raise

    def _send(self, call: Call) -> Reply | SendFailure:
        headers, body = _headers(self._token), bytearray()
        try:
            with self._client.stream(call.verb, call.url, content=call.body or None, headers=headers) as response:
                for chunk in response.iter_bytes():
                    _extend(body, chunk, call)
                return Reply(response.status_code, response.headers, bytes(body))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return _failure(error, call)

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
        pause, attempt = next(steps)
        while True:
            try:
                if pause:
                    await self._sleep(pause)
                pause, attempt = steps.send(await self._send(attempt))
            except StopIteration as end:
                result: Result = end.value
                return result
            except asyncio.CancelledError as cancelled:
                _, cancellation = steps.throw(cancelled)  # raises it again if there is nothing to cancel
                with suppress(TrninvError):
                    # shielded, since a cancel scope of anyio cancels each further wait too
                    await asyncio.shield(self._send(cancellation))
                raise

    async def _send(self, call: Call) -> Reply | SendFailure:
        headers, body = _headers(self._token), bytearray()
        try:
            async with self._client.stream(call.verb, call.url, content=call.body or None, headers=headers) as response:
                async for chunk in response.aiter_bytes():
                    _extend(body, chunk, call)
                return Reply(response.status_code, response.headers, bytes(body))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return _failure(error, call)

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


def _failure(error: Exception, call: Call) -> SendFailure:
    """Translate an error of httpx2.

    Raises
    ------
    ServiceError
        The service's body can't be decompressed.

    """
    if isinstance(error, httpx2.DecodingError):
        raise ServiceError(f"{call.service} sends a body that is not {call.method}'s answer: {error}") from None
    reason = str(error) or type(error).__name__
    is_refused = isinstance(error, httpx2.ConnectError)
    return SendFailure(UnreachableError(f"{call.service} does not answer: {reason}"), is_refused)
