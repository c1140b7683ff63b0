"""Measure a service under load: 64 clients read lists while states change, on SQLite and on PostgreSQL.

Each client has its own IP address, because one address may use at most half of the service's threads.
"""

import http.client
import itertools
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import postgres
from bench.measure import NAME, Row, seed_cluster
from bench.server import encode_body
from serving import serving

CLIENTS = 64
_LONG, _SHORT = 60.0, 5.0
"""Seconds of the load."""
MIN_LONG = 1_000
"""UltraServers from which the load is long."""
LISTS = (
    "{ clusters { nodes { slug } } }",
    "{ chips(first: 100) { nodes { address state memory { gibibytes } links { nodes { technology } } } } }",
    "{ chips(first: 50, filter: {state: {eq: DOWN}}) { totalCount nodes { address server { address } } } }",
)
_CHANGE = "mutation ($i: SetStateInput!) { setState(input: $i) { changes { after } } }"
_PAUSE = 0.02
"""Seconds between two changes."""


@dataclass
class _Measurements:
    """Results of the clients: seconds per response, and error codes of requests that failed."""

    lists: list[float] = field(default_factory=list)
    changes: list[float] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def load_rows(directory: Path, domains: int) -> Iterator[Row]:
    seconds = _LONG if domains >= MIN_LONG else _SHORT
    seconds_per_list = dict[str, float]()
    urls = {"SQLite": f"sqlite:///{directory}/fleet.db"}
    folder = tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True)
    with folder as place, postgres.server(Path(place)) as url:
        urls["PostgreSQL"] = url.format("postgres")
        for name, database in urls.items():
            seed_cluster(database, domains)
            measurements = _measure_load(database, seconds)
            seconds_per_list[name] = seconds / len(measurements.lists)
            yield from _rows(f"{name}, {CLIENTS} clients, {seconds:.0f} s", measurements)
    name = f"SQLite, {CLIENTS} clients, {seconds:.0f} s: time per list"
    yield Row(name, seconds_per_list["SQLite"], seconds_per_list["PostgreSQL"], "PostgreSQL", 1 / 0.8)
    yield Row(name, seconds_per_list["SQLite"], 1 / 500, "500 lists a second", 1.0)


def _rows(name: str, measurements: _Measurements) -> Iterator[Row]:
    durations = sorted(measurements.lists)
    p50, p99 = durations[len(durations) // 2], durations[int(len(durations) * 0.99)]
    yield Row(f"{name}: p99 of lists", p99, p50, "p50", 10.0, note=f"{len(durations):,}")
    slowest, number = max(measurements.changes), f"{len(measurements.changes):,}"
    yield Row(f"{name}: slowest setState", slowest, 1.0, "a second", 1.0, note=f"of {number}")
    errors = ", ".join(f"{code} {number}" for code, number in measurements.refused.items()) or "TIME_LIMIT, BUSY, …"
    yield Row(f"{name}: failed requests", sum(measurements.refused.values()), 1.0, "one", 0.0, "requests", note=errors)


def _measure_load(database: str, seconds: float) -> _Measurements:
    measurements, stop = _Measurements(), Event()
    with serving(database, TRNINV_LOG="off") as url, ThreadPoolExecutor(CLIENTS + 1) as clients:
        port = urlsplit(url).port or 0
        running = [clients.submit(_read_lists, port, number, measurements, stop) for number in range(CLIENTS)]
        running.append(clients.submit(_change_states, port, measurements, stop))
        time.sleep(seconds)
        stop.set()
        for future in running:
            future.result()
    return measurements


def _read_lists(port: int, number: int, measurements: _Measurements, stop: Event) -> None:
    connection = _connection(port, number)
    for document in itertools.cycle(LISTS[number % len(LISTS) :] + LISTS[: number % len(LISTS)]):
        if stop.is_set():
            return
        measurements.lists.append(_post(connection, {"query": document}, measurements))


def _change_states(port: int, measurements: _Measurements, stop: Event) -> None:
    connection = _connection(port, CLIENTS)
    for state in itertools.cycle(("DOWN", "UP")):
        if stop.is_set():
            return
        change_input = {"addresses": [f"{NAME}/d0/s0/c1"], "state": state, "why": "load", "who": "bench"}
        measurements.changes.append(
            _post(connection, {"query": _CHANGE, "variables": {"i": change_input}}, measurements)
        )
        time.sleep(_PAUSE)


def _connection(port: int, number: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=120, source_address=(f"127.0.1.{number + 1}", 0))


def _post(connection: http.client.HTTPConnection, body: Mapping[str, Any], measurements: _Measurements) -> float:
    start = time.perf_counter()
    connection.request("POST", "/graphql", encode_body(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    errors = json.loads(response.read()).get("errors", [])
    if response.status != HTTPStatus.OK or errors:
        measurements.refused[errors[0]["extensions"]["code"] if errors else str(response.status)] += 1
    return time.perf_counter() - start
