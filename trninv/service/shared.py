"""What the routes of one application share."""

import secrets
from collections.abc import Callable
from math import inf
from typing import Any, Final, TypeVar

from anyio import Semaphore, fail_after
from sqlalchemy import Engine
from starlette.requests import Request
from starlette.types import Scope

import trninv
from trninv import deadline
from trninv.graphql.api import Api
from trninv.graphql.workers import Workers
from trninv.inventory.database import engine_of, keep_log
from trninv.service.telemetry import Metrics, count_statements, logger
from trninv.settings import Settings

T = TypeVar("T")

_WATCH_SECONDS: Final = 5.0
_GRACE: Final = 0.2
"""Seconds in which what is late may say so itself."""


class Shared:
    """A fleet, open as long as the application lives, and what is told of its use.

    Attributes
    ----------
    login
        On PostgreSQL, what a user's SQL connects with, if there is one.
    exports
        How many exports may begin besides those that run.
    process
        Tells this process from every other, for what must not be taken for another's.

    """

    def __init__(self, url: str | None, settings: Settings) -> None:
        self.settings = settings
        self.fleet = trninv.open(url or settings.database_url, seconds=settings.request_seconds)
        keep_log(self.fleet.engine)
        self.api = Api(self.fleet, settings)
        self.metrics, self.log = Metrics(), logger(settings.log)
        self._watching, self._watched = Workers(1), engine_of(url or settings.database_url, _WATCH_SECONDS)
        self.login = engine_of(settings.sql_url) if settings.sql_url and self._is_on_postgresql else None
        self.exports = Semaphore(settings.exports, max_value=settings.exports)
        self.process = secrets.token_hex(8)
        count_statements(self.fleet.engine)

    @property
    def _is_on_postgresql(self) -> bool:
        return self.fleet.engine.dialect.name == "postgresql"

    async def read(self, find: Callable[..., T], *arguments: Any) -> T:  # passed on
        """Run what reads the database in one of the threads that do, for no longer than the request may take.

        Raises
        ------
        TimeLimitError
            It took longer, or no thread was free.

        """
        return await _in_time(self.api.threads.reading, find, *arguments)

    async def watch(self, find: Callable[[Engine], T]) -> T:
        """Run what watches the service, through a thread and a connection that no question can take.

        Raises
        ------
        TimeLimitError
            It took too long.

        """
        with deadline.limit(_WATCH_SECONDS):
            return await _in_time(self._watching, find, self._watched)

    def close(self) -> None:
        """Close what is open."""
        self.fleet.close()
        self._watched.dispose()
        if self.login is not None:
            self.login.dispose()

    def note(self, scope: Scope, status: int, seconds: float, reference: str) -> None:
        """Log and count a request that was answered."""
        path = _served(scope)
        self.metrics.requests.labels(path, str(status)).inc()
        self.metrics.seconds.labels(path).observe(seconds)
        said = {key: value for key, value in scope["state"].items() if key in ("who", "cost", "statements", "code")}
        self.log.info(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(seconds * 1000, 2),
            request_id=reference,
            **said,
        )

    def failed(self, request: Request, failure: BaseException) -> None:
        """Log a failure of which the client is told only the id."""
        self.log.error("failure", request_id=request.state.request_id, exc_info=failure)


async def _in_time(workers: Workers, work: Callable[..., T], *given: Any) -> T:
    try:
        with fail_after(deadline.remaining(inf) + _GRACE):
            return await workers.run(work, *given)
    except TimeoutError:
        deadline.check()
        raise


def _served(scope: Scope) -> str:
    """The first part of a request's path, if anything is served below it."""
    root, *parts = scope["path"].split("/")
    first = parts[0] if parts and not root else "*"
    known = (route.path.split("/")[1] for route in scope["app"].routes)
    return f"/{first}" if first in known else "other"


def shared(request: Request) -> Shared:
    """What the application of a request shares."""
    found: Shared = request.app.state.shared
    return found
