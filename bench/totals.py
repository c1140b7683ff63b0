"""Measure totals and lists by state in a large and in a small cluster, on SQLite and PostgreSQL."""

import asyncio
import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psycopg
from sqlalchemy import text

import postgres
import trninv
from bench.measure import Row, median_seconds, seed_cluster
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.revision import RevisionTracker
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.routing.fleet import BaseFleet
from trninv.service.fleet_metrics import FleetMetrics
from trninv.settings import Settings

_TIMES = 51
_TOTAL_SECONDS, _LIST_SECONDS = 0.01, 0.002
"""The marks for a total and for a list by state, at any size."""
_NODES = "nodes { address }"
_TOTALS = """{ chips { totalCount aggregates(by: [MODEL, STATE]) { count memory { bytes } } }
    links { totalCount aggregates(by: [MODEL, STATE]) { count bandwidth { bytesPerSecond } } } }"""
_DOCUMENTS = {
    "totals of chips and links": (_TOTALS, _TOTAL_SECONDS),
    "chips that are down, first 50": (
        f"{{ chips(first: 50, filter: {{state: {{eq: DOWN}}}}) {{ {_NODES} }} }}",
        _LIST_SECONDS,
    ),
    "chips by memory, first 50": (f"{{ chips(first: 50, orderBy: [{{memory: DESC}}]) {{ {_NODES} }} }}", _LIST_SECONDS),
    "servers not up, first 50": (
        f"{{ servers(first: 50, filter: {{not: {{state: {{eq: UP}}}}}}) {{ {_NODES} }} }}",
        _LIST_SECONDS,
    ),
    "chips of a job": (f'{{ chips(first: 50, filter: {{job: {{eq: "train"}}}}) {{ {_NODES} }} }}', _LIST_SECONDS),
}
_FAILURES = (
    "UPDATE node SET state = 'down' WHERE kind = 'chip' AND id % 331 = 0",
    "UPDATE server SET state = 'maintenance' WHERE id % 499 = 0",
)
_numbers = itertools.count()
_Asks = list[Callable[[], object]]
"""The same question, asked of the large and of the small fleet."""


def totals_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Compare a large with a small cluster; for 6,250 domains, 1,000,000 chips with 29,952."""
    sizes = domains * 5 // 2, max(domains * 3 // 40, 2)
    yield from _backend_rows("SQLite", f"sqlite:///{directory}/totals{{}}.db", sizes)
    place = directory / "totals"
    place.mkdir()
    with postgres.server(place) as url:
        with psycopg.connect(url.format("postgres"), autocommit=True) as server:
            for size in sizes:
                server.execute(f"CREATE DATABASE totals{size}".encode())
        yield from _backend_rows("PostgreSQL", url.format("totals{}"), sizes)


def _backend_rows(name: str, url: str, sizes: tuple[int, int]) -> Iterator[Row]:
    for size in sizes:
        seed_cluster(url.format(size), size)
        with temporary_engine(url.format(size)) as engine, write_transaction(engine) as connection:
            for failure in _FAILURES:
                connection.execute(text(failure))
    with ExitStack() as stack:
        fleets = [stack.enter_context(trninv.open(url.format(size))) for size in sizes]
        yield from _growth_rows(name, sizes, _questions(fleets))


def _growth_rows(backend: str, sizes: tuple[int, int], questions: Mapping[str, tuple[_Asks, float]]) -> Iterator[Row]:
    for what, (asks, mark) in questions.items():
        durations: list[list[float]] = [[], []]
        for _ in range(_TIMES):  # in turn, so that other load on the machine affects both
            for times, ask in zip(durations, asks, strict=True):
                times.append(median_seconds(ask, 1))
        large, small = map(statistics.median, durations)
        label = f"{what}, {64 * sizes[0]:,} chips, {backend}"
        yield Row(label, large, small, f"{64 * sizes[1]:,} chips", 1.3)
        yield Row(label, large, mark, "the mark", 1.0)


def _questions(fleets: Sequence[BaseFleet]) -> dict[str, tuple[_Asks, float]]:
    """Return how each question is asked of each fleet, and its mark."""
    apis = [Api(fleet, Settings.load()) for fleet in fleets]
    questions: dict[str, tuple[_Asks, float]] = {
        name: ([partial(_run_document, api, document) for api in apis], mark)
        for name, (document, mark) in _DOCUMENTS.items()
    }
    scrapes: _Asks = [partial(FleetMetrics(_AlwaysChanged(fleet.engine)).render, fleet.engine) for fleet in fleets]
    for scrape in scrapes:
        scrape()
    return questions | {"next scrape of /metrics after a change": (scrapes, _TOTAL_SECONDS)}


class _AlwaysChanged(RevisionTracker):
    """A tracker for which each scrape follows a change."""

    def current(self) -> None:
        """Return None: the revision is not known."""


def _run_document(api: Api, document: str) -> None:
    # a variable that the document does not use makes the request new, so that no kept response answers it
    response = asyncio.run(api.run(Request(query=document, variables={"request": next(_numbers)})))
    assert response.code is None, response.body
