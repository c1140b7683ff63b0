"""Measure requests over HTTP on kept-alive connections."""

import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import psycopg

import postgres
from bench.api import FLAT, NAMED, NESTED, TRIVIAL
from bench.handwritten_routes import FILE
from bench.measure import NAME, Row, chip_pairs, seed_cluster
from bench.server import Request, Server, child_processes, processor_time, run_server, run_trninv
from bench.workers import worker_rows
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.access import bearer_tokens

_ROUNDS = 5
_REQUESTS = 100
ROUNDS, SEED = 6, 8
"""Rounds of questions, the first of which is a warm-up, and the seed of its pairs."""
_QUESTION_MARK = 2.0
"""Mark: a question in a cached domain may take this many times as long as the trivial document."""
_TOKEN_MARK = 1.2
"""Mark: a request with a token may take this many times as long as one to a service that needs none."""
_PLAN_EACH_TIME = "-c plan_cache_mode=force_custom_plan"
"""PostgreSQL's option (PGOPTIONS) to plan each statement at each execution."""
QUESTIONS = {
    "path": "path(from: $a, to: $b) { paths { hops bandwidth { gigabytesPerSecond } steps { kind address } } }",
    "all shortest paths": "path(from: $a, to: $b, shape: ALL) { tiedPaths links { paths source target share } }",
    "three-hop memory pool": (
        "memoryPool(scope: $a, maxHops: 3) { byHops { hops reached { address widest { bytesPerSecond } } } }"
    ),
}


def web_rows(directory: Path, domains: int) -> Iterator[Row]:
    file = directory / "fleet.db"
    url = f"sqlite:///{file}"
    seed_cluster(url, domains)
    command = [sys.executable, "-m", "uvicorn", "--factory", "bench.handwritten_routes:application", "--port", "{port}"]
    with run_trninv(url) as server, run_server([*command, "--log-level", "error"], **{FILE: str(file)}) as handwritten:
        yield from _measure_connections(server, handwritten)
        yield from _measure_questions(server, domains, "SQLite")
        yield _measure_tokens(url, server, "SQLite")
    yield from worker_rows(url)
    with postgres.server(directory) as server_url:
        with psycopg.connect(server_url.format("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE fleet")
        url = server_url.format("fleet")
        seed_cluster(url, domains)
        postmaster = int((directory / "data" / "postmaster.pid").read_text().split()[0])
        with run_trninv(url) as server:
            yield from _measure_questions(server, domains, "PostgreSQL")
            yield _measure_tokens(url, server, "PostgreSQL")
        yield from _measure_planning(url, postmaster)


def _measure_connections(server: Server, handwritten: Server) -> Iterator[Row]:
    """Measure requests one after another on kept-alive connections."""
    cases = [("trivial", TRIVIAL, "/bare"), ("100 chips nested", NESTED, "/nested"), ("1,000 flat rows", FLAT, "/flat")]
    for connections in (1, 8):
        for name, document, path in cases:
            requests = [Request("/graphql", {"query": document})] * 20
            baseline_requests = [Request(path, {})] * 20
            measurements = [
                (server.seconds(requests, connections), handwritten.seconds(baseline_requests, connections))
                for _ in range(_ROUNDS)
            ]
            value, baseline = map(statistics.median, zip(*measurements, strict=True))
            row_name = f"HTTP, {connections} kept-alive connection{'s'[: connections > 1]}, {name}"
            yield Row(row_name, value, baseline, "a hand-written route, uvicorn")


def _measure_questions(server: Server, domains: int, database: str) -> Iterator[Row]:
    """Measure questions about new pairs of places in cached domains, and responses that are kept."""
    medians = question_seconds(server, domains)
    trivial = [Request("/graphql", {"query": TRIVIAL})] * _REQUESTS
    baseline = statistics.median(server.response_seconds(trivial))
    for name, value in medians.items():
        yield Row(
            f"HTTP, {name} inside a cached domain, {database}", value, baseline, "the trivial document", _QUESTION_MARK
        )
    for name, document in (("trivial", TRIVIAL), ("100 chips nested", NESTED)):
        new, kept = ([Request("/graphql", {"query": document}, is_repeated=kept)] * _REQUESTS for kept in (False, True))
        server.responses(kept)
        value, baseline = (statistics.median(server.response_seconds(batch)) for batch in (kept, new))
        row_name = f"HTTP, a response kept since the same request at the same revision, {name}, {database}"
        yield Row(row_name, value, baseline, "a new request", 1.0)


def _measure_tokens(url: str, server: Server, database: str) -> Row:
    """Compare a service that asks for tokens with one that does not, in turn."""
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        token = bearer_tokens.create_token(connection, NAME, "read", None)
    with run_trninv(url, TRNINV_AUTH="tokens") as guarded:
        measurements: list[tuple[float, float]] = []
        for _ in range(_ROUNDS):
            requests = [Request("/graphql", {"query": TRIVIAL}, token=one) for one in (token, "")]
            guarded_seconds, open_seconds = (
                statistics.median(one.response_seconds([request] * _REQUESTS))
                for one, request in zip((guarded, server), requests, strict=True)
            )
            measurements.append((guarded_seconds, open_seconds))
    value, baseline = map(statistics.median, zip(*measurements, strict=True))
    return Row(f"HTTP, trivial, with a token, {database}", value, baseline, "without a token", _TOKEN_MARK)


def question_seconds(server: Server, domains: int) -> dict[str, float]:
    """Measure the median seconds of questions about new pairs of places in cached domains, the questions in turn."""
    samples: dict[str, list[float]] = {name: [] for name in QUESTIONS}
    for round_ in range(ROUNDS):
        for name, durations in samples.items():
            pairs = chip_pairs(domains, _REQUESTS, "domain", SEED + round_)
            batch = server.response_seconds(question_requests(name, pairs))
            durations.extend(batch if round_ else ())
    return {name: statistics.median(durations) for name, durations in samples.items()}


def question_requests(name: str, ends: Iterable[tuple[str, str]]) -> list[Request]:
    """Return requests for a question, one per pair of places."""
    field = QUESTIONS[name]
    parameters = [parameter for parameter in "ab" if f"${parameter}" in field]
    document = f"query ({', '.join(f'${parameter}: Address!' for parameter in parameters)}) {{ {field} }}"
    values = (dict(zip(parameters, pair, strict=False)) for pair in ends)
    return [Request("/graphql", {"query": document, "variables": variables}) for variables in values]


def _measure_planning(url: str, postmaster: int) -> Iterator[Row]:
    """Measure PostgreSQL's processor time per request, against a new plan for each statement."""
    for name, document in (
        ("100 chips nested", NESTED),
        ("100 chips nested, with link addresses", NAMED),
        ("1,000 flat rows", FLAT),
    ):
        requests = [Request("/graphql", {"query": document})] * 150  # a process's clock ticks every 10 ms
        with run_trninv(url) as server:
            value = _postgres_seconds(server, requests, postmaster)
        with run_trninv(url, PGOPTIONS=_PLAN_EACH_TIME) as server:
            baseline = _postgres_seconds(server, requests, postmaster)
        yield Row(f"PostgreSQL processor time, {name}", value, baseline, "planned for each request", 0.75)


def _postgres_seconds(server: Server, requests: Sequence[Request], postmaster: int) -> float:
    """Return PostgreSQL's processor seconds per request."""
    server.responses(requests)
    backends = child_processes(postmaster, "postgres: trninv ")
    before = processor_time(backends)
    server.responses(requests)
    return (processor_time(backends) - before) / len(requests)
