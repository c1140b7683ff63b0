"""What the routes of one application share."""

import secrets
from collections.abc import Callable
from functools import lru_cache
from math import inf
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Final, TypeVar
from weakref import finalize

from anyio import Semaphore, fail_after
from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.types import Scope

import trninv
from trninv import deadline
from trninv.errors import UsageError
from trninv.graphql.api import Api
from trninv.graphql.jobs import Jobs
from trninv.graphql.workers import Workers
from trninv.inventory.database import engine_of, keep_log
from trninv.inventory.standby import only_current
from trninv.inventory.urls import parsed
from trninv.routing.readers import Readers
from trninv.service.connections import ENDING
from trninv.service.gauges import Gauges
from trninv.service.news import News
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
    readers
        Where what only reads goes.
    exports
        How many exports may begin besides those that run.
    listeners, news
        How many may begin to listen besides those that do, and what they hear.
    process
        Tells this process from every other, for what must not be taken for another's.

    """

    def __init__(self, url: str | None, settings: Settings) -> None:
        self.settings = settings
        self.fleet = trninv.open(url or settings.database_url, seconds=settings.request_seconds)
        keep_log(self.fleet.engine)
        self.metrics, self.log = Metrics(), logger(settings.log)
        self.readers = self._readers()
        directory = settings.jobs or Path(mkdtemp(prefix="trninv-jobs-"))
        self._made = None if settings.jobs else finalize(self, rmtree, directory, ignore_errors=True)
        self.jobs = Jobs(directory, url or settings.database_url)
        self.api = Api(self.fleet, settings, self.readers, self.jobs)
        self._watching, self._counting = Workers(1), Workers(1)
        self._watched = engine_of(url or settings.database_url, _WATCH_SECONDS)
        if settings.sql_url and self._is_on_postgresql:
            self.readers.logins = {each.engine: self._login(each.engine) for each in self.readers.fleets}
        self.exports = Semaphore(settings.exports, max_value=settings.exports)
        self.listeners = Semaphore(settings.listeners, max_value=settings.listeners)
        self.metrics.listeners.set_function(lambda: settings.listeners - self.listeners.value)
        self.news = News(self.watch, self.read, self.fleet.watched, self.log)
        self._gauges = Gauges(self.fleet.watched)
        self.process = secrets.token_hex(8)
        for each in self.readers.fleets:
            count_statements(each.engine)

    def _readers(self) -> Readers:
        url = self.settings.read_url
        if not url:
            return Readers(self.fleet)
        if not self._is_on_postgresql:
            raise UsageError("TRNINV_READ_URL is a standby of PostgreSQL, and the database is an SQLite file: unset it")
        standby = trninv.open(url, seconds=self.settings.request_seconds)
        only_current(standby.engine, self.fleet.engine)
        return Readers(self.fleet, standby, lambda server: self.metrics.reads.labels(server).inc())

    def _login(self, engine: Engine) -> Engine:
        """The login of TRNINV_SQL_URL, on the server of an engine."""
        if engine is self.fleet.engine:
            return engine_of(self.settings.sql_url)
        login = parsed(self.settings.sql_url)
        made = engine_of(engine.url.set(username=login.username, password=login.password))
        only_current(made, self.fleet.engine)
        return made

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

    async def counted(self) -> bytes:
        """What /metrics tells of the fleet, by a thread of its own: probes don't wait for the first count.

        Raises
        ------
        TimeLimitError
            It took too long.

        """
        with deadline.limit(_WATCH_SECONDS):
            return await _in_time(self._counting, self._gauges.text, self._watched)

    def close(self) -> None:
        """Close what is open, and end what runs."""
        self.jobs.close()
        if self._made:
            self._made()
        for each in self.readers.fleets:
            each.close()
        for engine in (self._watched, *self.readers.logins.values()):
            engine.dispose()

    def note(self, scope: Scope, status: int, seconds: float, reference: str) -> None:
        """Log and count a request that was answered."""
        path = _served(scope)
        self.metrics.requests.labels(path, str(status)).inc()
        if ENDING not in scope:
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
    return f"/{first}" if first in _first_parts(scope["app"]) else "other"


@lru_cache(maxsize=1)
def _first_parts(app: Starlette) -> frozenset[str]:
    """Below which anything is served."""
    return frozenset(route.path.split("/")[1] for route in app.routes if isinstance(route, Route | Mount))


def shared(request: Request) -> Shared:
    """What the application of a request shares."""
    found: Shared = request.app.state.shared
    return found
