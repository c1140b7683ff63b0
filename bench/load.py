"""Measure a service under load: 64 clients read lists while states change, on SQLite and on PostgreSQL.

Each client has its own IP address, because one address may use at most half of the service's threads.
"""

import http.client
import itertools
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import orjson

import postgres
from bench.measure import NAME, Row, seed_cluster
from serving import serving

CLIENTS = 64
_LONG, _SHORT = 60.0, 5.0
_MANY = 1_000
"""UltraServers from which the load takes the long duration."""
LISTS = (
    "{ clusters { nodes { slug } } }",
    "{ chips(first: 100) { nodes { address state memory { gibibytes } links { nodes { technology } } } } }",
    "{ chips(first: 50, filter: {state: {eq: DOWN}}) { totalCount nodes { address server { address } } } }",
)
_CHANGE = "mutation ($i: SetStateInput!) { setState(input: $i) { changes { after } } }"
_PAUSE = 0.02


@dataclass
class _Seen:
    """Results of the clients: seconds per response, and error codes of requests that failed."""

    lists: list[float] = field(default_factory=list)
    changes: list[float] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def load_rows(directory: Path, domains: int) -> Iterator[Row]:
    seconds = _LONG if domains >= _MANY else _SHORT
    urls = {"SQLite": f"sqlite:///{directory}/ours.db"}
    folder = tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True)
    with folder as place, postgres.server(Path(place)) as url:
        urls["PostgreSQL"] = url.format("postgres")
        for name, each in urls.items():
            seed_cluster(each, domains)
            yield from _rows(f"{name}, {CLIENTS} clients, {seconds:.0f} s", _asked(each, seconds))


def _rows(name: str, seen: _Seen) -> Iterator[Row]:
    taken = sorted(seen.lists)
    p50, p99 = taken[len(taken) // 2], taken[int(len(taken) * 0.99)]
    yield Row(f"{name}: p99 of lists", p99, p50, "p50", 10.0, note=f"{len(taken):,}")
    slowest, number = max(seen.changes), f"{len(seen.changes):,}"
    yield Row(f"{name}: slowest setState", slowest, 1.0, "a second", 1.0, note=f"of {number}")
    told = ", ".join(f"{code} {number}" for code, number in seen.refused.items()) or "TIME_LIMIT, BUSY, …"
    yield Row(f"{name}: failed requests", sum(seen.refused.values()), 1.0, "one", 0.0, "requests", note=told)


def _asked(database: str, seconds: float) -> _Seen:
    seen, over = _Seen(), Event()
    with serving(database, TRNINV_LOG="off") as url, ThreadPoolExecutor(CLIENTS + 1) as clients:
        port = urlsplit(url).port or 0
        running = [clients.submit(_lists, port, number, seen, over) for number in range(CLIENTS)]
        running.append(clients.submit(_changes, port, seen, over))
        time.sleep(seconds)
        over.set()
        for each in running:
            each.result()
    return seen


def _lists(port: int, number: int, seen: _Seen, over: Event) -> None:
    connection = _connection(port, number)
    for document in itertools.cycle(LISTS[number % len(LISTS) :] + LISTS[: number % len(LISTS)]):
        if over.is_set():
            return
        seen.lists.append(_post(connection, {"query": document}, seen))


def _changes(port: int, seen: _Seen, over: Event) -> None:
    connection = _connection(port, CLIENTS)
    for state in itertools.cycle(("DOWN", "UP")):
        if over.is_set():
            return
        given = {"addresses": [f"{NAME}/d0/s0/c1"], "state": state, "why": "load", "who": "bench"}
        seen.changes.append(_post(connection, {"query": _CHANGE, "variables": {"i": given}}, seen))
        time.sleep(_PAUSE)


def _connection(port: int, number: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=120, source_address=(f"127.0.1.{number + 1}", 0))


def _post(connection: http.client.HTTPConnection, body: object, seen: _Seen) -> float:
    start = time.perf_counter()
    connection.request("POST", "/graphql", orjson.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    errors = json.loads(answer.read()).get("errors", [])
    if answer.status != HTTPStatus.OK or errors:
        seen.refused[errors[0]["extensions"]["code"] if errors else str(answer.status)] += 1
    return time.perf_counter() - start
