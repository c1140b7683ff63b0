"""Begin few observations in each turn of the event loop, so that other requests don't wait behind a burst of them.

When thousands of machines post at once, the loop would otherwise begin all their requests before it looks at any other
socket again.
"""

import asyncio
from collections import deque
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

POSTS_PER_TURN: Final = 8
"""Number of observations that begin in one turn of the event loop."""


class Turnstile:
    """Let a limited number of tasks pass in each turn of the event loop, in the order in which they arrive."""

    def __init__(self, limit: int) -> None:
        self._limit, self._passed = limit, 0
        self._waiting = deque[asyncio.Future[None]]()

    async def enter(self) -> None:
        """Return in this turn of the loop, or in a later one if the limit is reached."""
        if self._waiting or self._passed >= self._limit:
            self._waiting.append(future := asyncio.get_running_loop().create_future())
            await future
            return
        if not self._passed:
            asyncio.get_running_loop().call_soon(self._begin_turn)
        self._passed += 1

    def _begin_turn(self) -> None:
        self._passed = 0
        while self._waiting and self._passed < self._limit:
            future = self._waiting.popleft()
            if not future.done():  # it is cancelled if its client has gone
                future.set_result(None)
                self._passed += 1
        if self._passed:
            asyncio.get_running_loop().call_soon(self._begin_turn)


class PacedPostsMiddleware:
    """ASGI middleware: requests to one path pass a turnstile first."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app, self._path, self._turnstile = app, path, Turnstile(POSTS_PER_TURN)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == self._path:
            await self._turnstile.enter()
        await self._app(scope, receive, send)
