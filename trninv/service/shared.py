"""What the routes of one application share."""

import secrets
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.types import Scope

import trninv
from trninv.graphql.api import Api
from trninv.inventory.database import engine_of
from trninv.service.telemetry import Metrics, count_statements, logger
from trninv.settings import Settings

T = TypeVar("T")


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
        self.api = Api(self.fleet, settings)
        self.metrics, self.log = Metrics(), logger(settings.log)
        self.login = engine_of(settings.sql_url) if settings.sql_url and self._is_on_postgresql else None
        self.exports = anyio.Semaphore(settings.exports, max_value=settings.exports)
        self.process = secrets.token_hex(8)
        count_statements(self.fleet.engine)

    @property
    def _is_on_postgresql(self) -> bool:
        return self.fleet.engine.dialect.name == "postgresql"

    def close(self) -> None:
        """Close what is open."""
        self.fleet.close()
        if self.login is not None:
            self.login.dispose()

    async def read(self, find: Callable[..., T], *arguments: Any) -> T:  # passed on
        """Run what reads the database in one of the threads that do."""
        return await to_thread.run_sync(find, *arguments, limiter=self.api.threads.reading)

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


def _served(scope: Scope) -> str:
    """The first part of a request's path, if anything is served below it."""
    first = scope["path"].split("/")[1]
    known = (route.path.split("/")[1] for route in scope["app"].routes)
    return f"/{first}" if first in known else "other"


def shared(request: Request) -> Shared:
    """What the application of a request shares."""
    found: Shared = request.app.state.shared
    return found
