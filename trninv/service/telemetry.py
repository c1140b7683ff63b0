"""Define the service's Prometheus metrics and its log of JSON lines or text, and count SQL statements."""

import logging
import sys
from functools import lru_cache
from typing import Final

import orjson
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sqlalchemy import Connection, Engine, event

from trninv.graphql.statement_runner import count_statement

_MAX_LABELS: Final = 256
"""Most combinations of labels that are kept; others are looked up each time."""


class ServiceMetrics:
    """Prometheus metrics of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "trninv_requests_total",
            "Requests, by the first part of the path.",
            ["path", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "trninv_request_seconds",
            "Time from request to response; endless responses, such as /changes, are not counted.",
            ["path"],
            registry=self.registry,
        )
        self.cost = Histogram(
            "trninv_document_cost",
            "Cost of GraphQL documents.",
            registry=self.registry,
            buckets=(1, 10, 100, 1_000, 10_000, 100_000),
        )
        self.statements = Histogram(
            "trninv_document_statements",
            "SQL statements of GraphQL documents.",
            registry=self.registry,
            buckets=(1, 2, 3, 5, 10, 20, 50, 100),
        )
        self.errors = Counter(
            "trninv_errors_total",
            "GraphQL responses with errors, by the code of the first.",
            ["code"],
            registry=self.registry,
        )

        self.reads = Counter(
            "trninv_reads_total",
            "Reads, by the database server that answered, standby or primary; only if TRNINV_READ_URL is set.",
            ["server"],
            registry=self.registry,
        )
        self.refused = Counter(
            "trninv_observations_refused_total",
            "Observations that were refused (429) because a token had used its hourly quota of rows or bytes.",
            ["unit"],
            registry=self.registry,
        )
        # labels() takes a lock and checks its arguments
        self._request_counter = lru_cache(_MAX_LABELS)(self.requests.labels)
        self._request_histogram = lru_cache(_MAX_LABELS)(self.seconds.labels)
        for unit in ("rows", "bytes"):
            self.refused.labels(unit)
        self.listeners = Gauge("trninv_listeners", "Clients that are following changes.", registry=self.registry)
        self.ready = Gauge(
            "trninv_ready",
            "1 if the gauges of the fleet were read, 0 if the database did not answer.",
            registry=self.registry,
        )

    def count_request(self, path: str, status: int, seconds: float | None) -> None:
        """Count a request to a path; its seconds are None if it was endless, as they have no meaning then."""
        self._request_counter(path, str(status)).inc()
        if seconds is not None:
            self._request_histogram(path).observe(seconds)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)


def count_statements(engine: Engine) -> None:
    """Count an engine's statements for the request that sends them."""

    @event.listens_for(engine, "before_cursor_execute")
    def count(connection: Connection, *_: object) -> None:  # noqa: ARG001 # SQLAlchemy's signature
        count_statement()


def configure_logger(style: str) -> structlog.typing.FilteringBoundLogger:
    """Create a logger to stderr in a style: "json", "text" for people, or "off"."""
    is_json = style == "json"
    render = (
        structlog.processors.JSONRenderer(serializer=orjson.dumps, default=repr)
        if is_json
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    level = logging.CRITICAL if style == "off" else logging.INFO
    bound_logger: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.BytesLogger(sys.stderr.buffer) if is_json else structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    return bound_logger
