"""Compare ten clusters with one of them, on PostgreSQL: what grows past a million chips.

With ``--domains 62500``, these are ten clusters of Project Rainier's size, 4,000,000 chips. Both fleets have the same
unhealthy parts, so that a ratio shows the growth with the fleet alone. Times are processor time of this process and of
PostgreSQL, because a run takes so long that other programs run too.
"""

import asyncio
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from sqlalchemy import text

import postgres
import trninv
from bench.api import peak_memory
from bench.measure import Row
from bench.processor import Database
from bench.server import Request, run_trninv
from bench.ten_fleets import ten_fleets_rows
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.revision import RevisionTracker
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request as Document
from trninv.inventory.seeding import cluster_seeding
from trninv.placement.placement_fleet import Fleet
from trninv.service.fleet_metrics import FleetMetrics
from trninv.settings import Settings

CLUSTERS = 10
_TIMES = 9
_EVENTS_PER_DOMAIN = 480
_MARK = 1.3
_FAILURES = (
    "UPDATE server SET state = 'maintenance' WHERE id % 499 = 0 AND domain_id <= :domains",
    "UPDATE node SET state = 'down' WHERE kind = 'chip' AND id % 331 = 0 AND state = 'up' AND domain_id <= :domains",
    "UPDATE link SET state = 'down' WHERE id % 4999 = 0 AND state = 'up' AND domain_id <= :domains",
)
"""Failures in the first cluster of a fleet, whose ids are the same in both."""
_HOME = Path(__file__).parents[1] / "web/src/views/home.tsx"
_DOCUMENTS = {
    "chips that are down, first 50": "{ chips(first: 50, filter: {state: {eq: DOWN}}) { nodes { address } } }",
    "links not up, first 50": "{ links(first: 50, filter: {not: {state: {eq: UP}}}) { nodes { address } } }",
    "totals of chips and links": "{ chips { totalCount aggregates(by: [CLUSTER, STATE]) { count } } "
    "links { totalCount aggregates(by: [MODEL, STATE]) { count } } }",
    "search of an address": '{ search(text: "c0/d4/s1") { name } }',
    "search of a relative address": '{ search(text: "s1/c5", near: "c0/d3") { name } }',
}
_numbers = itertools.count()
_Ask = Callable[[int], object]
"""A question, which gets a number that is new each time."""


def scale_rows(directory: Path, domains: int) -> Iterator[Row]:
    # no parallel workers, whose processor time could not be read after they end
    settings = {"max_parallel_workers_per_gather": "0", "max_parallel_maintenance_workers": "0"}
    server = postgres.Server(directory, **settings)
    server.make()
    server.start()
    try:
        yield from _server_rows(server, directory, max(domains // CLUSTERS, 3))
    finally:
        server.stop()


def _server_rows(server: postgres.Server, directory: Path, domains: int) -> Iterator[Row]:
    postmaster = int((server.data / "postmaster.pid").read_text().split()[0])
    databases = []
    for name, clusters in (("one", 1), ("ten", CLUSTERS), ("events", CLUSTERS)):
        with psycopg.connect(server.url.format("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        databases.append(Database(name, server.url.format(name), clusters, domains, postmaster))
    *fleets, events = databases
    yield from _seeding_rows(fleets)
    yield from growth_rows(fleets)
    yield from ten_fleets_rows(directory, events, domains * _EVENTS_PER_DOMAIN)


def _seeding_rows(databases: Sequence[Database]) -> Iterator[Row]:
    """Measure seeding all clusters of a fleet together, and the size of the database, per million chips."""
    one, ten = databases
    seconds, sizes = [], []
    for database in databases:
        with temporary_engine(database.url) as engine:
            migration.migrate(engine)
            seconds.append(database.processor_seconds(partial(_seed, engine, database)) / database.chips * 1e6)
            with engine.connect() as connection:
                size = connection.scalar(text("SELECT pg_database_size(current_database())"))
                sizes.append(int(size or 0) / database.chips)
    name = f"{one.chips:,} chips"
    yield Row(f"seeding {ten.chips:,} chips, per million chips", seconds[1], seconds[0], name, _MARK)
    yield Row(f"database of {ten.chips:,} chips, per million chips", sizes[1], sizes[0], name, _MARK, "MB")


def _seed(engine: Any, database: Database) -> None:
    catalog, system = default_catalog(), default_systems().get("u-trn2x64").resized(database.domains)
    slugs = [f"c{number}" for number in range(database.clusters)]
    with (
        write_transaction(engine) as connection,
        cluster_seeding.seeding_together(connection, catalog, system, slugs),
    ):
        for slug in slugs:
            cluster_seeding.seed(connection, catalog, system, slug)


def growth_rows(databases: Sequence[Database]) -> Iterator[Row]:
    """Compare questions about two fleets, the first of which has one cluster, and the memory of their services."""
    for database in databases:
        with temporary_engine(database.url) as engine, write_transaction(engine) as connection:
            for failure in _FAILURES:
                connection.execute(text(failure), {"domains": database.domains})
    with trninv.open(databases[0].url) as one, trninv.open(databases[1].url) as ten:
        questions = [_questions(fleet, database) for fleet, database in zip((one, ten), databases, strict=True)]
        for name in questions[0]:
            yield _growth_row(name, databases, [asks[name] for asks in questions])
    peaks = [_service_memory(database) for database in databases]
    yield Row(_name("peak memory of a service", databases), peaks[1], peaks[0], _name("", databases[:1]), _MARK, "MB")


def _growth_row(name: str, databases: Sequence[Database], asks: Sequence[_Ask]) -> Row:
    processor: list[list[float]] = [[], []]
    for number in range(min(_TIMES, databases[0].domains - 1)):
        for times, database, ask in zip(processor, databases, asks, strict=True):
            times.append(database.processor_seconds(partial(ask, number)))
    one, ten = (median(times[1:]) for times in processor)  # the first time imports and connects
    return Row(_name(name, databases[1:]), ten, one, _name("", databases[:1]), _MARK)


def _name(name: str, databases: Sequence[Database]) -> str:
    return ", ".join(filter(None, (name, f"{databases[-1].chips:,} chips")))


def _questions(fleet: Fleet, database: Database) -> Mapping[str, _Ask]:
    """Return the questions; those that a fleet caches are asked of one without caches, as after a change."""
    api = Api(fleet, Settings.load())
    documents: dict[str, _Ask] = {name: partial(_run, api, document) for name, document in _DOCUMENTS.items()}
    home = re.findall(r"graphql\(`(.*?)`\)", _HOME.read_text(), re.DOTALL)

    def ask_home(number: int) -> None:
        for document in home:
            _run(api, document, number)

    def path(domain: str, number: int) -> object:
        return fleet.path(f"{domain}/s0/c{number % 16}", f"{domain}/s2/c{(number + 5) % 16}")

    return {
        "path in a known domain, new pair": lambda number: path("c0/d0", number),
        "path in a domain not asked about before": lambda number: path(f"c{database.clusters - 1}/d{number + 1}", 1),
        **documents,
        "incidents": lambda _: Fleet(fleet.engine).incidents(),
        "best 2×2×4 of a cluster": lambda _: Fleet(fleet.engine).placements("c0", "2x2x4"),
        "home page of the explorer": ask_home,
        "metrics": lambda _: FleetMetrics(RevisionTracker(fleet.engine)).render(fleet.engine),
    }


def _run(api: Api, document: str, _number: int) -> None:
    # a variable that the document does not use makes the request new, so that no kept response answers it
    response = asyncio.run(api.run(Document(query=document, variables={"request": next(_numbers)})))
    assert response.code is None, response.body


def _service_memory(database: Database) -> float:
    """Return the peak memory of a service, in megabytes, after lists, totals, searches, incidents and placements."""
    placements = '{ placements(scope: "c0", shape: "2x2x4") { definition } incidents(first: 50) { totalCount } }'
    with run_trninv(database.url, TRNINV_REQUEST_SECONDS="280") as server:
        for document in (*_DOCUMENTS.values(), placements):
            server.responses([Request("/graphql", {"query": document})])
        return peak_memory(server.process)
