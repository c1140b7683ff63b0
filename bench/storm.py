"""Measure a storm: all machines of a fleet report at once, on PostgreSQL and on SQLite, while others read.

Each machine has its own token and posts once; the posts come over fewer connections, one after another on each. A
refused post is repeated after the pause that the service asks for, and a random one.
"""

import asyncio
import http.client
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from printed import neuron_ls
from sqlalchemy import Connection, func, select

import postgres
from bench.client import Client
from bench.load import LISTS, MIN_LONG
from bench.measure import RAINIER, Row, seed_cluster
from bench.server import Server, encode_body, processor_time, run_trninv
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.access.bearer_tokens import create_token, issue_tokens

if TYPE_CHECKING:
    from multiprocessing.connection import Connection as Pipe

_SERVERS_PER_DOMAIN = 4
_POSTS_PER_CONNECTION = 12.5
_SECONDS = 60.0
"""Accepted processor seconds of the service for the posts of Project Rainier's 25,000 servers."""
_MAX_ATTEMPTS = 10
_READERS = 4
_LONG, _SHORT = 20.0, 3.0
"""Seconds of reading before the storm."""
_READ_PAUSE = 0.05


@dataclass
class _Results:
    """What became of the posts: instances whose post was answered, and the statuses of all answers."""

    stored: set[str] = field(default_factory=set)
    statuses: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


def storm_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Yield processor time, losses, refusals and readers' response times of a storm on each database."""
    with (
        tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as place,
        postgres.server(Path(place)) as url,
    ):
        for name, database in {
            "PostgreSQL": url.format("postgres"),
            "SQLite": f"sqlite:///{directory}/fleet.db",
        }.items():
            seed_cluster(database, domains)
            yield from _measure_storm(name, database, domains)


def _measure_storm(name: str, database: str, domains: int) -> Iterator[Row]:
    posts = domains * _SERVERS_PER_DOMAIN
    connections = round(posts / _POSTS_PER_CONNECTION)
    with temporary_engine(database) as engine, write_transaction(engine) as connection:
        tokens, reader = create_tokens(connection, posts), create_token(connection, "reader", "read", None)
    with run_trninv(database, TRNINV_AUTH="tokens") as server:
        with _reading(server.port, reader):
            time.sleep(_SHORT)  # the first reads fill caches
        before_reads = processor_time([server.process])
        with _reading(server.port, reader) as quiet:
            time.sleep(_LONG if domains >= MIN_LONG else _SHORT)
        results, before, start = _Results(), processor_time([server.process]), time.perf_counter()
        seconds_per_read = (before - before_reads) / len(quiet)
        with _reading(server.port, reader) as stormy, _low_priority():
            asyncio.run(_post_all(server, tokens, connections, results))
            seconds = time.perf_counter() - start
        used = processor_time([server.process]) - before - seconds_per_read * len(stormy)
    name = f"{name}, {posts:,} posts over {connections:,} connections"
    answers = ", ".join(f"{status} {number:,}" for status, number in sorted(results.statuses.items()))
    note = f"{seconds:.0f} s, median answer {sorted(results.seconds)[len(results.seconds) // 2]:.1f} s"
    allowed = _SECONDS * domains / RAINIER
    yield Row(f"{name}: processor time of the service", used, allowed, f"{_SECONDS:.0f} s for 25,000", 1.0, note=note)
    yield Row(f"{name}: lost", count_lost(database, results.stored), 1.0, "one", 0.0, "posts")
    refused = posts - len(results.stored)
    yield Row(f"{name}: refused after retries", refused, 1.0, "one", 0.0, "posts", note=answers)
    note = f"{len(stormy):,} reads, {len(quiet):,} before"
    yield Row(f"{name}: p99 of lists", _p99(stormy), _p99(quiet), "p99 without the storm", 3.0, note=note)


def create_tokens(connection: Connection, number: int) -> dict[str, str]:
    """Create a token for each of many instances; return them by instance."""
    instances = [f"i-{index:017x}" for index in range(number)]
    issued = issue_tokens(connection, instances, "observe", None, who="bench")
    return {instance: token.token for instance, token in zip(instances, issued, strict=True)}


def observation_body(instance: str, errors: int = 0) -> bytes:
    """Return what `trninv collect` prints on a machine whose chips count some uncorrected errors."""
    number = int(instance.removeprefix("i-"), 16)
    driver = "/sys/devices/virtual/neuron_device/neuron"
    serials = {f"{driver}{chip}/info/serial_number": f"{number * 16 + chip:016x}" for chip in range(16)}
    counters = {f"{driver}{chip}/stats/hardware/mem_ecc_uncorrected": f"{errors}" for chip in range(16)}
    observation = {"host": f"ip-{number}", "neuron_ls": neuron_ls(instance), "sysfs": serials | counters}
    return json.dumps(observation, separators=(",", ":")).encode()


@contextmanager
def _low_priority() -> Iterator[None]:
    """Let this process use only what others leave of the processor, as if it were on another machine."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


async def _post_all(server: Server, tokens: dict[str, str], connections: int, results: _Results) -> None:
    machines = list(tokens.items())
    await asyncio.gather(*(_post(server, machines[number::connections], results) for number in range(connections)))


async def _post(server: Server, machines: Sequence[tuple[str, str]], results: _Results) -> None:
    """Post the observations of some machines over one connection, and repeat those that are refused."""
    client = Client(server.port)
    for instance, token in machines:
        body = observation_body(instance)
        for attempt in range(_MAX_ATTEMPTS):
            start, retry_after = time.perf_counter(), 0.0
            try:
                answer = await client.post("/observations", body, token)
                status, retry_after = str(answer.status), float(answer.headers.get("retry-after", 0))
            except (OSError, asyncio.IncompleteReadError) as error:
                status = type(error).__name__
            results.statuses[status] += 1
            if status == str(HTTPStatus.ACCEPTED.value):
                results.stored.add(instance)
                results.seconds.append(time.perf_counter() - start)
                break
            await asyncio.sleep(retry_after + random.uniform(0, min(60, 2**attempt)))
    client.close()


@contextmanager
def _reading(port: int, token: str) -> Iterator[list[float]]:
    """Read lists in another process until the context ends; the list then has the seconds of each read."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_read, args=(port, token, theirs))
    process.start()
    durations = list[float]()
    try:
        ours.recv()  # the readers are connected
        yield durations
        ours.send("stop")
        durations += ours.recv()
    finally:
        process.join()


def _read(port: int, token: str, pipe: "Pipe[Any, Any]") -> None:
    durations, stop = list[float](), list[bool]()

    def read_lists(number: int) -> None:
        address = f"127.0.1.{number + 1}"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120, source_address=(address, 0))
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        for document in cycle(LISTS[number % len(LISTS) :] + LISTS[: number % len(LISTS)]):
            if stop:
                return
            start = time.perf_counter()
            connection.request("POST", "/graphql", encode_body({"query": document}), headers)
            response = connection.getresponse()
            answer = response.read()
            assert response.status == HTTPStatus.OK, answer
            durations.append(time.perf_counter() - start)
            time.sleep(_READ_PAUSE)

    threads = [Thread(target=read_lists, args=(number,)) for number in range(_READERS)]
    for thread in threads:
        thread.start()
    pipe.send("started")
    pipe.recv()
    stop.append(True)
    for thread in threads:
        thread.join()
    pipe.send(durations)


def _p99(durations: Sequence[float]) -> float:
    return sorted(durations)[int(len(durations) * 0.99)]


def count_lost(database: str, stored: set[str]) -> int:
    """Return how many observations were answered as stored, and are not there with all of their chips."""
    observation, server, chip = (TABLES[name] for name in ("observation", "observed_server", "observed_chip"))
    joined = observation.join(server, server.c.observation_id == observation.c.id)
    joined = joined.join(chip, chip.c.observed_server_id == server.c.id)
    query = select(server.c.instance).select_from(joined).group_by(observation.c.id, server.c.instance)
    with temporary_engine(database) as engine, read_transaction(engine) as connection:
        return len(stored - set(connection.scalars(query.having(func.count() == observation.c.chips))))
