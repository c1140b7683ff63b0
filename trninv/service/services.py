"""Share the fleet, the API, the worker pools and the metrics among the routes of an application."""

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
from trninv.database.engine import enable_wal, open_engine
from trninv.database.standby import require_caught_up
from trninv.database.url import parse_url
from trninv.errors import UsageError
from trninv.graphql.api import Api
from trninv.graphql.sweep_store import SweepStore
from trninv.graphql.worker_pools import WorkerPool
from trninv.routing.read_replicas import ReadReplicas
from trninv.service.connection_limits import END_RESPONSE_KEY
from trninv.service.event_broadcast import EventBroadcaster
from trninv.service.fleet_metrics import FleetMetrics
from trninv.service.telemetry import ServiceMetrics, configure_logger, count_statements
from trninv.settings import Settings

T = TypeVar("T")

_PROBE_SECONDS: Final = 5.0
_TIMEOUT_GRACE: Final = 0.2
"""Grace period in seconds for a late task to report its own timeout."""


class Services:
    """An application's fleet and shared services, open as long as the application lives.

    Attributes
    ----------
    readers
        The fleets that serve reads: the primary's or a standby's.
    exports, listeners
        Semaphores with the free slots for exports and event listeners.
    broadcaster
        Hands new events to the listeners.
    process_id
        Random id of this process, part of its ETags.

    """

    def __init__(self, url: str | None, settings: Settings) -> None:
        self.settings = settings
        self.fleet = trninv.open(url or settings.database_url, seconds=settings.request_seconds)
        enable_wal(self.fleet.engine)
        self.metrics, self.log = ServiceMetrics(), configure_logger(settings.log)
        self.readers = self._open_readers()
        directory = settings.jobs or Path(mkdtemp(prefix="trninv-jobs-"))
        self._remove_directory = None if settings.jobs else finalize(self, rmtree, directory, ignore_errors=True)
        self.sweeps = SweepStore(directory, url or settings.database_url)
        self.api = Api(self.fleet, settings, self.readers, self.sweeps)
        self._probe_workers, self._metrics_workers = WorkerPool(1), WorkerPool(1)
        self._probe_engine = open_engine(url or settings.database_url, _PROBE_SECONDS)
        if settings.sql_url and self._is_on_postgresql:
            self.readers.logins = {fleet.engine: self._login(fleet.engine) for fleet in self.readers.fleets}
        self.exports = Semaphore(settings.exports, max_value=settings.exports)
        self.listeners = Semaphore(settings.listeners, max_value=settings.listeners)
        self.metrics.listeners.set_function(lambda: settings.listeners - self.listeners.value)
        self.broadcaster = EventBroadcaster(self.read_for_probe, self.read, self.fleet.revision_tracker, self.log)
        self._fleet_metrics = FleetMetrics(self.fleet.revision_tracker)
        self.process_id = secrets.token_hex(8)
        for fleet in self.readers.fleets:
            count_statements(fleet.engine)

    def _open_readers(self) -> ReadReplicas:
        url = self.settings.read_url
        if not url:
            return ReadReplicas(self.fleet)
        if not self._is_on_postgresql:
            raise UsageError("TRNINV_READ_URL needs PostgreSQL, and the database is an SQLite file; unset it")
        standby = trninv.open(url, seconds=self.settings.request_seconds)
        require_caught_up(standby.engine, self.fleet.engine)
        return ReadReplicas(self.fleet, standby, lambda server: self.metrics.reads.labels(server).inc())

    def _login(self, engine: Engine) -> Engine:
        """Open an engine with the login of TRNINV_SQL_URL on another engine's server."""
        if engine is self.fleet.engine:
            return open_engine(self.settings.sql_url)
        login = parse_url(self.settings.sql_url)
        login_engine = open_engine(engine.url.set(username=login.username, password=login.password))
        require_caught_up(login_engine, self.fleet.engine)
        return login_engine

    @property
    def _is_on_postgresql(self) -> bool:
        return self.fleet.engine.dialect.name == "postgresql"

    async def read(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run a read in a reading thread, within the request's time limit.

        Raises
        ------
        TimeLimitError
            The read took too long.

        """
        return await _run_in_time(self.api.threads.reading, work, *arguments)

    async def read_for_probe(self, work: Callable[[Engine], T]) -> T:
        """Run a probe in a thread and on a connection that requests do not use.

        Raises
        ------
        TimeLimitError
            It took too long.

        """
        with deadline.time_limit(_PROBE_SECONDS):
            return await _run_in_time(self._probe_workers, work, self._probe_engine)

    async def render_fleet_metrics(self) -> bytes:
        """Return the fleet's metrics, in a thread of their own so that probes don't wait for the first count.

        Raises
        ------
        TimeLimitError
            It took too long.

        """
        with deadline.time_limit(_PROBE_SECONDS):
            return await _run_in_time(self._metrics_workers, self._fleet_metrics.render, self._probe_engine)

    def close(self) -> None:
        """Stop sweeps, end all threads and close all connections."""
        self.sweeps.close()
        for pool in (self.api.threads, self._probe_workers, self._metrics_workers):
            pool.close()
        if self._remove_directory:
            self._remove_directory()
        for fleet in self.readers.fleets:
            fleet.close()
        for engine in (self._probe_engine, *self.readers.logins.values()):
            engine.dispose()

    def log_request(self, scope: Scope, status: int, seconds: float, reference: str) -> None:
        """Log and count a finished request."""
        path = _path_label(scope)
        self.metrics.requests.labels(path, str(status)).inc()
        if END_RESPONSE_KEY not in scope:
            self.metrics.seconds.labels(path).observe(seconds)
        fields = {key: value for key, value in scope["state"].items() if key in ("who", "cost", "statements", "code")}
        self.log.info(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(seconds * 1000, 2),
            request_id=reference,
            **fields,
        )

    def log_failure(self, request: Request, failure: BaseException) -> None:
        """Log a failure whose details the client does not see."""
        self.log.error("failure", request_id=request.state.request_id, exc_info=failure)


async def _run_in_time(workers: WorkerPool, work: Callable[..., T], *arguments: Any) -> T:
    try:
        with fail_after(deadline.cap_timeout(inf) + _TIMEOUT_GRACE):
            return await workers.run(work, *arguments)
    except TimeoutError:
        deadline.raise_if_expired()
        raise


def _path_label(scope: Scope) -> str:
    """Return the first part of a path as a metric label, or "other" if no route has it."""
    root, *parts = scope["path"].split("/")
    first = parts[0] if parts and not root else "*"
    return f"/{first}" if first in _route_prefixes(scope["app"]) else "other"


@lru_cache(maxsize=1)
def _route_prefixes(app: Starlette) -> frozenset[str]:
    """Return the first path part of each route."""
    return frozenset(route.path.split("/")[1] for route in app.routes if isinstance(route, Route | Mount))


def get_services(request: Request) -> Services:
    """Return the services of a request's application."""
    services: Services = request.app.state.shared
    return services
