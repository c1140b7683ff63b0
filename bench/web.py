"""Requests over HTTP, with clients that keep their connections."""

import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import psycopg

import postgres
from bench.api import FLAT, NAMED, NESTED, TRIVIAL
from bench.handwritten_routes import FILE
from bench.measure import Row, pairs, seeded
from bench.server import Request, Served, below, ours, processor_time, served

_ROUNDS = 5
_ASKED = 100
_ROUTED = 2.0
"""Times the trivial document that an answer from what is remembered may take."""
_PLANNED = "-c plan_cache_mode=force_custom_plan"
"""PostgreSQL's option (PGOPTIONS) to plan each statement each time."""
ROUTED = {
    "path": "path(from: $a, to: $b) { paths { hops bandwidth { gigabytesPerSecond } steps { kind address } } }",
    "all shortest paths": "path(from: $a, to: $b, shape: ALL) { equallyGood links { paths source target share } }",
    "three hops around": "memoryPool(scope: $a, maxHops: 3) { byHops { hops reached { address widest { bytesPerSecond "
    "} } } }",
}


def web_rows(directory: Path, domains: int) -> Iterator[Row]:
    file = directory / "ours.db"
    url = f"sqlite:///{file}"
    seeded(url, domains)
    command = [sys.executable, "-m", "uvicorn", "--factory", "bench.handwritten_routes:application", "--port", "{port}"]
    with ours(url) as server, served([*command, "--log-level", "error"], **{FILE: str(file)}) as hand:
        yield from _connections(server, hand)
        yield from _routed(server, domains, "SQLite")
    with postgres.server(directory) as every:
        with psycopg.connect(every.format("postgres"), autocommit=True) as made:
            made.execute("CREATE DATABASE ours")
        url = every.format("ours")
        seeded(url, domains)
        postmaster = int((directory / "data" / "postmaster.pid").read_text().split()[0])
        with ours(url) as server:
            yield from _routed(server, domains, "PostgreSQL")
        yield from _planned(url, postmaster)


def _connections(server: Served, hand: Served) -> Iterator[Row]:
    """Requests back to back on connections that are kept."""
    cases = [("trivial", TRIVIAL, "/bare"), ("100 chips nested", NESTED, "/nested"), ("1,000 flat rows", FLAT, "/flat")]
    for connections in (1, 8):
        for name, document, path in cases:
            asked = [Request("/graphql", {"query": document})] * 20
            by_hand = [Request(path, {})] * 20
            taken = [(server.seconds(asked, connections), hand.seconds(by_hand, connections)) for _ in range(_ROUNDS)]
            took, baseline = map(statistics.median, zip(*taken, strict=True))
            what = f"HTTP, {connections} connection{'s'[: connections > 1]} kept, {name}"
            yield Row(what, took, baseline, "a route by hand, uvicorn")


def _routed(server: Served, domains: int, database: str) -> Iterator[Row]:
    """Questions about new pairs of places inside of domains seen before."""
    trivial = [Request("/graphql", {"query": TRIVIAL})] * _ASKED
    for name in ROUTED:
        server.answers(routed(name, pairs(domains, _ASKED, "domain", 8)))
        asked = routed(name, pairs(domains, _ASKED, "domain"))
        took, baseline = (statistics.median(server.each(some)) for some in (asked, trivial))
        yield Row(f"HTTP, {name} inside a known domain, {database}", took, baseline, "the trivial document", _ROUTED)


def routed(name: str, ends: Iterable[tuple[str, str]]) -> list[Request]:
    """One of these questions, about each pair of places."""
    field = ROUTED[name]
    names = [each for each in "ab" if f"${each}" in field]
    document = f"query ({', '.join(f'${each}: Address!' for each in names)}) {{ {field} }}"
    values = (dict(zip(names, pair, strict=False)) for pair in ends)
    return [Request("/graphql", {"query": document, "variables": each}) for each in values]


def _planned(url: str, postmaster: int) -> Iterator[Row]:
    """Seconds of PostgreSQL's processor."""
    for name, document in (("100 chips nested", NESTED), ("the same, links named", NAMED), ("1,000 flat rows", FLAT)):
        asked = [Request("/graphql", {"query": document})] * 150  # a process's clock ticks every 10 ms
        with ours(url) as server:
            took = _used(server, asked, postmaster)
        with ours(url, PGOPTIONS=_PLANNED) as server:
            baseline = _used(server, asked, postmaster)
        yield Row(f"PostgreSQL's processor, {name}", took, baseline, "planned at each request", 0.75)


def _used(server: Served, asked: Sequence[Request], postmaster: int) -> float:
    """Of a request."""
    server.answers(asked)
    backends = below(postmaster, "postgres: trninv ")
    before = processor_time(backends)
    server.answers(asked)
    return (processor_time(backends) - before) / len(asked)
