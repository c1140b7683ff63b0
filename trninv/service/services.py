"""Open what the routes of an application share: the fleet, the API, worker pools, metrics and the log.

`application` creates one `Services`; a route gets it by `get_services(request)`.
"""

import secrets
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache, partial
from math import inf
from typing import Any, Final, TypeVar

from anyio import Semaphore, fail_after, sleep
from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.types import Scope

import trninv
from trninv import deadline
from trninv.checks.check_report import read_report
from trninv.database.engine import enable_wal, open_engine
from trninv.database.standby import require_caught_up
from trninv.database.url import parse_url
from trninv.errors import TrninvError, UsageError
from trninv.graph_projection.query_worker import CypherWorkers
from trninv.graphql.api import Api
from trninv.graphql.responses import Response
from trninv.graphql.sweep_runner import LEASE_SECONDS, SweepRunner
from trninv.graphql.worker_pools import WorkerPool
from trninv.importers.report_batches import Outcome, PostedReport, ReportLimits, store_reports
from trninv.importers.sources import neuron_ls
from trninv.inventory.access.identity_document import IdentityDocumentVerifier
from trninv.inventory.access.quota import Quota
from trninv.routing.read_replicas import ReadReplicas
from trninv.service.connection_limits import END_RESPONSE_KEY
from trninv.service.event_broadcast import EventBroadcaster
from trninv.service.fleet_metrics import FleetMetrics
from trninv.service.json_web_keys import JsonWebKeys
from trninv.service.observation_queue import ObservationQueue, give_way
from trninv.service.openid import OpenIdVerifier
from trninv.service.telemetry import ServiceMetrics, configure_logger, count_statements
from trninv.service.token_lookup import STORE_SECONDS, TokenLookup
from trninv.settings import Settings

T = TypeVar("T")

_PROBE_SECONDS: Final = 5.0
"""Time limit of probes: /readyz, /metrics and polls for events."""
_TIMEOUT_GRACE: Final = 0.2
"""Grace period in seconds for a late task to report its own timeout."""


class Services:
    """An application's fleet and shared services, open as long as the application lives.

    Attributes
    ----------
    readers
        The fleets that serve reads: that of the primary database, and that of a standby if TRNINV_READ_URL names one.
    exports, listeners
        Semaphores with the free slots for exports and event listeners.
    broadcaster
        Passes new events to the clients that listen to them.
    tokens, openid
        Find the principals of bearer tokens, and of OpenID tokens; the latter is None unless they are configured.
    enrollment
        Verifies EC2 instance identity documents; None unless instances may enroll.
    observations
        Stores what machines post, in batches and on a connection of its own.
    cypher_workers
        Processes that wait for a Cypher query.
    process_id
        Random id of this process, part of its ETags.

    """

    def __init__(self, url: str | None, settings: Settings) -> None:
        self.settings = settings
        self.fleet = trninv.open(url or settings.database_url, seconds=settings.request_seconds)
        enable_wal(self.fleet.engine)
        self.metrics, self.log = ServiceMetrics(), configure_logger(settings.log)
        self.readers = self._open_readers()
        self.sweeps = SweepRunner(self.fleet.engine, url or settings.database_url)
        self.api = Api(self.fleet, settings, self.readers, self.sweeps)
        self._probe_workers, self._metrics_workers = WorkerPool(1), WorkerPool(1)
        self._probe_engine = open_engine(url or settings.database_url, _PROBE_SECONDS)
        if settings.sql_url and self._is_on_postgresql:
            self.readers.logins = {fleet.engine: self._open_login_engine(fleet.engine) for fleet in self.readers.fleets}
        self.exports = Semaphore(settings.exports, max_value=settings.exports)
        self.listeners = Semaphore(settings.listeners, max_value=settings.listeners)
        self.metrics.listeners.set_function(lambda: settings.listeners - self.listeners.value)
        self.broadcaster = EventBroadcaster(self.read_for_probe, self.read, self.fleet.revision_tracker, self.log)
        self._observation_engine = open_engine(url or settings.database_url, settings.request_seconds)
        self.observations = ObservationQueue(self._store_reports, self._is_answering)
        self.cypher_workers = CypherWorkers()
        self.metrics.cypher_workers.set_function(lambda: len(self.cypher_workers))
        self._fleet_metrics = FleetMetrics(self.fleet.revision_tracker)
        key = self.api.observation_commits.key
        self.tokens = TokenLookup(self.fleet.engine, self.read, settings.heartbeat, self.api.current_revision, key)
        keys = JsonWebKeys(settings.oidc_jwks, lambda error: self.log.error("loading keys failed", exc_info=error))
        self.openid = OpenIdVerifier(settings, keys) if settings.oidc_issuer else None
        certificates = settings.enroll_certificates
        self.enrollment = IdentityDocumentVerifier(certificates, settings.enroll_accounts) if certificates else None
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

    def _open_login_engine(self, engine: Engine) -> Engine:
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

    def _store_reports(self, reports: Sequence[PostedReport]) -> Sequence[Outcome]:
        quota = Quota(self.settings.observe_rows, self.settings.observe_bytes)
        limits = ReportLimits(quota, self.settings.observations)
        turn = partial(give_way, self._is_answering)
        commits = self.api.observation_commits
        return store_reports(self._observation_engine, neuron_ls.SOURCE.name, reports, limits, commits, turn)

    def _is_answering(self) -> bool:
        return self.api.threads.are_answering

    def get_version(self) -> Hashable | None:
        """Return what responses depend on: revision, results of checks, report files; None if one is unknown."""
        revision, directory = self.fleet.revision(), self.settings.reports
        if revision is not None and (report := read_report(self.settings.check_results)):
            revision = revision, tuple(report.statuses)
        if revision is None or directory is None:
            return revision
        try:
            files = [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in directory.glob("*.sql")]
        except OSError:  # removed meanwhile
            return None
        return revision, tuple(sorted(files))

    async def read(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run a read in a reading thread, within the request's time limit.

        Raises
        ------
        TimeLimitError
            The read took too long.

        """
        return await self.run_in_time(self.api.threads.reading, work, *arguments)

    @staticmethod
    async def run_in_time(workers: WorkerPool, work: Callable[..., T], *arguments: Any) -> T:
        """Run work in a pool until the request's deadline, with a grace period.

        Raises
        ------
        TimeLimitError
            The work took too long.

        """
        try:
            with fail_after(deadline.cap_timeout(inf) + _TIMEOUT_GRACE):
                return await workers.run(work, *arguments)
        except TimeoutError:
            deadline.raise_if_expired()
            raise

    async def read_for_probe(self, work: Callable[[Engine], T]) -> T:
        """Run a probe in a thread and on a connection that requests do not use.

        Raises
        ------
        TimeLimitError
            The probe took too long.

        """
        with deadline.time_limit(_PROBE_SECONDS):
            return await self.run_in_time(self._probe_workers, work, self._probe_engine)

    async def render_fleet_metrics(self) -> bytes:
        """Return the fleet's metrics, read in a separate thread so that probes don't wait for the count of all parts.

        Raises
        ------
        TimeLimitError
            Counting took too long.

        """
        with deadline.time_limit(_PROBE_SECONDS):
            return await self.run_in_time(self._metrics_workers, self._fleet_metrics.render, self._probe_engine)

    async def resume_sweeps(self) -> None:
        """Start interrupted sweeps again, until cancelled."""
        while True:
            try:
                await self.api.threads.writing.run(self.sweeps.resume)
            except TrninvError:  # the database is unreachable, or can only be read here: retry
                pass
            except Exception:
                self.log.exception("starting interrupted sweeps failed")
            await sleep(LEASE_SECONDS / 2)

    async def store_token_uses(self) -> None:
        """Store the uses of tokens every STORE_SECONDS, until cancelled."""
        while True:
            await sleep(STORE_SECONDS)
            try:
                await self.api.threads.writing.run(self.tokens.store_uses)
            except TrninvError:  # the database is unreachable, or can only be read here: retry
                pass
            except Exception:
                self.log.exception("storing the uses of tokens failed")

    def close(self) -> None:
        """Stop sweeps, end all threads and close all connections."""
        self.sweeps.close()
        self.observations.close()
        self.cypher_workers.close()
        for pool in (self.api.threads, self._probe_workers, self._metrics_workers):
            pool.close()
        for fleet in self.readers.fleets:
            fleet.close()
        for engine in (self._probe_engine, self._observation_engine, *self.readers.logins.values()):
            engine.dispose()

    def log_request(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        """Log and count a finished request."""
        path = _path_label(scope)
        self.metrics.count_request(path, status, None if END_RESPONSE_KEY in scope else seconds)
        if self.settings.log == "off":
            return
        fields = {key: value for key, value in scope["state"].items() if key in ("who", "cost", "statements", "code")}
        self.log.info(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(seconds * 1000, 2),
            request_id=request_id,
            **fields,
        )

    def record_response(self, state: dict[str, Any], response: Response, statements: int) -> None:
        """Count a GraphQL response, and add what the log shows of it to the state of its request."""
        state |= {"cost": response.cost, "statements": statements}
        self.metrics.cost.observe(response.cost)
        self.metrics.statements.observe(statements)
        if response.code:
            state["code"] = response.code
            self.metrics.errors.labels(response.code).inc()

    def log_failure(self, request_id: str, failure: BaseException) -> None:
        """Log a failure whose details the client does not see."""
        self.log.error("failure", request_id=request_id, exc_info=failure)


def _path_label(scope: Scope) -> str:
    """Return the first part of a path as a metric label, or "other" if no route has it."""
    root, *parts = scope["path"].split("/", 2)
    first = parts[0] if parts and not root else "*"  # a path such as * (OPTIONS *) has no slash
    return f"/{first}" if first in _route_prefixes(scope["app"]) else "other"


@lru_cache(maxsize=1)
def _route_prefixes(app: Starlette) -> frozenset[str]:
    """Return the first path part of each route."""
    return frozenset(route.path.split("/")[1] for route in app.routes if isinstance(route, Route | Mount))


def get_services(request: Request) -> Services:
    """Return the services of a request's application."""
    services: Services = request.app.state.shared
    return services
