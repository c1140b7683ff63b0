"""Measure requests over HTTP on kept-alive connections."""

import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import psycopg

import postgres
from bench.api import FLAT, NAMED, NESTED, TRIVIAL
from bench.handwritten_routes import FILE
from bench.measure import Row, chip_pairs, seed_cluster
from bench.server import Request, Served, below, ours, processor_time, served

_ROUNDS = 5
_ASKED = 100
_ROUTED = 2.0
"""An answer from the cache may take this many times as long as the trivial document."""
_PLANNED = "-c plan_cache_mode=force_custom_plan"
"""PostgreSQL's option (PGOPTIONS) to plan each statement at each execution."""
ROUTED = {
    "path": "path(from: $a, to: $b) { paths { hops bandwidth { gigabytesPerSecond } steps { kind address } } }",
    "all shortest paths": "path(from: $a, to: $b, shape: ALL) { tiedPaths links { paths source target share } }",
    "three-hop memory pool": "memoryPool(scope: $a, maxHops: 3) { byHops { hops reached { address widest { bytesPerSecond "
    "} } } }",
}


def web_rows(directory: Path, domains: int) -> Iterator[Row]:
    file = directory / "ours.db"
    url = f"sqlite:///{file}"
    seed_cluster(url, domains)
    command = [sys.executable, "-m", "uvicorn", "--factory", "bench.handwritten_routes:application", "--port", "{port}"]
    with ours(url) as server, served([*command, "--log-level", "error"], **{FILE: str(file)}) as hand:
        yield from _connections(server, hand)
        yield from _routed(server, domains, "SQLite")
    with postgres.server(directory) as every:
        with psycopg.connect(every.format("postgres"), autocommit=True) as made:
            made.execute("CREATE DATABASE ours")
        url = every.format("ours")
        seed_cluster(url, domains)
        postmaster = int((directory / "data" / "postmaster.pid").read_text().split()[0])
        with ours(url) as server:
            yield from _routed(server, domains, "PostgreSQL")
        yield from _planned(url, postmaster)


def _connections(server: Served, hand: Served) -> Iterator[Row]:
    """Measure requests one after another on kept-alive connections."""
    cases = [("trivial", TRIVIAL, "/bare"), ("100 chips nested", NESTED, "/nested"), ("1,000 flat rows", FLAT, "/flat")]
    for connections in (1, 8):
        for name, document, path in cases:
            asked = [Request("/graphql", {"query": document})] * 20
            by_hand = [Request(path, {})] * 20
            taken = [(server.seconds(asked, connections), hand.seconds(by_hand, connections)) for _ in range(_ROUNDS)]
            took, baseline = map(statistics.median, zip(*taken, strict=True))
            what = f"HTTP, {connections} kept-alive connection{'s'[: connections > 1]}, {name}"
            yield Row(what, took, baseline, "a hand-written route, uvicorn")


def _routed(server: Served, domains: int, database: str) -> Iterator[Row]:
    """Measure questions about new pairs of places in cached domains."""
    trivial = [Request("/graphql", {"query": TRIVIAL})] * _ASKED
    for name in ROUTED:
        server.answers(routed(name, chip_pairs(domains, _ASKED, "domain", 8)))
        asked = routed(name, chip_pairs(domains, _ASKED, "domain"))
        took, baseline = (statistics.median(server.each(some)) for some in (asked, trivial))
        yield Row(f"HTTP, {name} inside a cached domain, {database}", took, baseline, "the trivial document", _ROUTED)


def routed(name: str, ends: Iterable[tuple[str, str]]) -> list[Request]:
    """Return requests for a question, one per pair of places."""
    field = ROUTED[name]
    names = [each for each in "ab" if f"${each}" in field]
    document = f"query ({', '.join(f'${each}: Address!' for each in names)}) {{ {field} }}"
    values = (dict(zip(names, pair, strict=False)) for pair in ends)
    return [Request("/graphql", {"query": document, "variables": each}) for each in values]


def _planned(url: str, postmaster: int) -> Iterator[Row]:
    """Measure PostgreSQL's processor time per request."""
    for name, document in (("100 chips nested", NESTED), ("100 chips nested, with link addresses", NAMED), ("1,000 flat rows", FLAT)):
        asked = [Request("/graphql", {"query": document})] * 150  # a process's clock ticks every 10 ms
        with ours(url) as server:
            took = _used(server, asked, postmaster)
        with ours(url, PGOPTIONS=_PLANNED) as server:
            baseline = _used(server, asked, postmaster)
        yield Row(f"PostgreSQL processor time, {name}", took, baseline, "planned for each request", 0.75)


def _used(server: Served, asked: Sequence[Request], postmaster: int) -> float:
    """Return PostgreSQL's processor seconds per request."""
    server.answers(asked)
    backends = below(postmaster, "postgres: trninv ")
    before = processor_time(backends)
    server.answers(asked)
    return (processor_time(backends) - before) / len(asked)
