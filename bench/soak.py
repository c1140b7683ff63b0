"""Measure a service on PostgreSQL under churn for half an hour: what grows, what slows down, and what fails.

Readers, writers, collectors and event listeners come and go. Some listeners stop reading, and the tokens of instances
that go are revoked: the service must drop the former and refuse the latter. TRNINV_BENCH_MINUTES sets the duration.
"""

import asyncio
import itertools
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from statistics import linear_regression, quantiles
from typing import Any, NamedTuple, TypeVar

import psycopg
from sqlalchemy import Engine

import postgres
from bench.client import Client
from bench.event_listeners import listen, stop_reading
from bench.load import LISTS, MIN_LONG
from bench.measure import NAME, Row, seed_cluster
from bench.server import TRNINV, Server, run_trninv
from bench.storm import count_lost, create_tokens, observation_body
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.access.bearer_tokens import create_token, revoke_token

_MINUTES, _SHORT_MINUTES = 30.0, 0.5
_WARM_UP = 0.2
"""Fraction of the run after which growth and response times are compared."""
_INSTANCES, _COLLECT_SECONDS = 100, 10.0
"""Instances that report at a time, and how often each does."""
_READERS, _WRITERS, _LISTENERS, _STALLED = 8, 2, 4, 4
_READ_PAUSE, _WRITE_PAUSE = 0.1, 0.2
_CHURN_SECONDS = 2.0
"""Seconds between instances that go, of which each is replaced by a new one."""
_BACKLOG_SERVERS, _BACKLOG_TIMES = 128, 5
"""Servers that go down and come up several times first: more events than the system's buffers of a socket take."""
_MEGABYTES = 10.0
"""Accepted growth in ten minutes."""
_SETTLE_SECONDS = 20.0
"""How long after the last request descriptors are counted: streams notice at a heartbeat that their client has gone."""

T = TypeVar("T")


class Sample(NamedTuple):
    """Resources at a time.

    Attributes
    ----------
    megabytes
        Resident memory.
    connections
        Connections to the database.
    descriptors
        Open descriptors, without those of these connections.

    """

    seconds: float
    megabytes: float
    connections: int
    descriptors: int


@dataclass
class Soak:
    """A run against a server and what it measured.

    Attributes
    ----------
    observer
        The URL of the database, for connections that are not the service's.
    tokens
        Tokens of instances, in the order in which they come.
    reader, operator
        Tokens of clients.
    reads
        When each read ended, and the seconds it took.
    errors
        Descriptions of what failed and should not have.
    refused
        Posts with revoked tokens, which were refused as they should be.
    dropped
        Listeners that did not read, and that the service disconnected as it should.
    stored
        Instances whose observation was answered.

    """

    server: Server
    seconds: float
    observer: str
    tokens: dict[str, str]
    reader: str
    operator: str
    start: float = field(default_factory=time.monotonic)
    samples: list[Sample] = field(default_factory=list)
    reads: list[tuple[float, float]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    refused: int = 0
    dropped: int = 0
    changes: int = 0
    events: int = 0
    stored: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)

    @property
    def is_running(self) -> bool:
        return time.monotonic() - self.start < self.seconds

    async def read(self, number: int) -> None:
        """Read lists on one connection, and open another one now and then."""
        client = Client(self.server.port)
        for count in itertools.count(number):
            if not self.is_running:
                break
            begin = time.monotonic()
            self.note(await client.query(LISTS[count % len(LISTS)], self.reader))
            self.reads.append((begin - self.start, time.monotonic() - begin))
            await asyncio.sleep(_READ_PAUSE)
            if count % 200 == 0:
                client.close()
        client.close()

    async def write(self, number: int) -> None:
        """Set states, allocate and release, each writer in a domain of its own."""
        client, server = Client(self.server.port), f"{NAME}/d{number}/s0"
        for count in itertools.count():
            if not self.is_running:
                break
            job = f"job-{number}-{count}"
            for document in (
                _set_state(f"{NAME}/d{number}/s1/c{count % 16}", "DOWN"),
                _change("allocate", f'job: "{job}", places: ["{server}"]'),
                _set_state(f"{NAME}/d{number}/s1/c{count % 16}", "UP"),
                _change("release", f'job: "{job}"'),
            ):
                self.note(await client.query(document, self.operator))
                self.changes += 1
                await asyncio.sleep(_WRITE_PAUSE)
        client.close()

    async def collect(self, instance: str) -> None:
        """Report as a machine does until it goes; then its token must be refused."""
        for count in itertools.count():
            await asyncio.sleep(random.uniform(0, 2) * _COLLECT_SECONDS)
            is_gone = instance in self.gone  # before the post, during which it may go
            if not self.is_running:
                return
            client = Client(self.server.port)
            try:
                body = observation_body(instance, count)
                status = (await client.post("/observations?age=0.5", body, self.tokens[instance])).status
            except (OSError, asyncio.IncompleteReadError) as error:
                self.note(f"observation: {type(error).__name__}")
                continue
            finally:
                client.close()
            if status == HTTPStatus.ACCEPTED and not is_gone:
                self.stored.add(instance)
            elif status == HTTPStatus.UNAUTHORIZED and instance in self.gone:
                self.refused += 1
                return
            else:
                self.note(f"observation: {status}")

    async def listen(self) -> None:
        """Listen to events, which must come without gaps; connect again after a while."""
        last = 0
        while self.is_running:
            before, left = last, self.seconds - (time.monotonic() - self.start)
            last, error = await listen(self.server.port, self.reader, last, min(random.uniform(5, 60), left))
            self.events += last - before
            self.note(error)

    async def stall(self) -> None:
        """Connect, ask for all events and read none of them, until the service disconnects."""
        while self.is_running:
            self.dropped += await stop_reading(self.server.port, self.reader)

    async def churn(self, engine: Engine) -> None:
        """Let an instance go every few seconds, and another one come to its slot."""
        client, come = Client(self.server.port), iter(self.tokens)
        here, tasks = list[str](), set[asyncio.Task[None]]()
        for slot in itertools.count():
            if slot >= _INSTANCES:
                await asyncio.sleep(_CHURN_SECONDS)
                await asyncio.to_thread(self._revoke, engine, here.pop(0))
            if not self.is_running or (instance := next(come, None)) is None:
                break
            here.append(instance)
            tasks.add(asyncio.create_task(self.collect(instance)))
            place = f"{NAME}/d{slot % _INSTANCES // 4 + _WRITERS}/s{slot % 4}"
            self.note(await client.query(_change("bind", f'slot: "{place}", instance: "{instance}"'), self.operator))
        client.close()
        await asyncio.gather(*tasks)

    def _revoke(self, engine: Engine, instance: str) -> None:
        with write_transaction(engine) as connection:
            revoke_token(connection, instance)
        self.gone.add(instance)

    async def sample(self) -> None:
        """Measure the service every second."""
        while self.is_running:
            self.samples.append(self.measure())
            await asyncio.sleep(1)

    def measure(self) -> Sample:
        process = Path(f"/proc/{self.server.process}")
        pages = int((process / "statm").read_text().split()[1])
        with psycopg.connect(self.observer) as connection:
            query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'soak'"
            connections = sum(count for (count,) in connection.execute(query))
        descriptors = len(list((process / "fd").iterdir())) - connections
        megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        return Sample(time.monotonic() - self.start, megabytes, connections, descriptors)

    def note(self, error: str | None) -> None:
        """Note an error, if it is one."""
        if error:
            self.errors.append(error)


def soak_rows(_directory: Path, domains: int) -> Iterator[Row]:
    """Yield growth, response times at the begin and the end, errors and losses of a run on PostgreSQL."""
    default = _MINUTES if domains >= MIN_LONG else _SHORT_MINUTES
    minutes = float(os.environ.get("TRNINV_BENCH_MINUTES") or default)
    with (
        tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as place,
        postgres.server(Path(place)) as url,
    ):
        database = url.format("postgres")
        seed_cluster(database, domains)
        with temporary_engine(database) as engine:
            instances = _INSTANCES + int(minutes * 60 / _CHURN_SECONDS) + 1
            with write_transaction(engine) as connection:
                tokens = create_tokens(connection, instances)
                reader, operator = (create_token(connection, scope, scope, None) for scope in ("read", "operate"))
            with run_trninv(f"{database}&application_name=soak", TRNINV_AUTH="tokens") as server:
                soak = Soak(server, minutes * 60, database, tokens, reader, operator)
                before, after = asyncio.run(_run(soak, engine))
        lost = count_lost(database, soak.stored)
        differences = int(subprocess.run([*TRNINV, "--database", database, "verify"], check=False).returncode != 0)
    yield from _growth_rows(soak, before, after)
    yield from _time_rows(soak)
    name, asked = _name(soak), f"{soak.refused:,} revoked tokens refused, {soak.dropped:,} listeners disconnected"
    note = f"{asked}; {'; '.join(sorted(set(soak.errors))[:3]) or 'none other'}"
    yield Row(f"{name}: errors", len(soak.errors), 1.0, "one", 0.0, "errors", note=note)
    note = f"{len(soak.stored):,} instances, {soak.changes:,} changes, {soak.events:,} events read"
    yield Row(f"{name}: observations lost", lost, 1.0, "one", 0.0, "observations", note=note)
    yield Row(f"{name}: verify differs", differences, 1.0, "one", 0.0, "runs")


async def _run(soak: Soak, engine: Engine) -> tuple[Sample, Sample]:
    """Run all clients; return what was in use before and after them, when nobody is connected."""
    client = Client(soak.server.port)
    for state in ("DOWN", "UP") * _BACKLOG_TIMES:
        places = [f"{NAME}/d{index // 4}/s{index % 4}" for index in range(_BACKLOG_SERVERS)]
        soak.note(await client.query(_set_state('", "'.join(places), state), soak.operator))
    client.close()
    soak.start = time.monotonic()
    before = soak.measure()
    work: list[Coroutine[Any, Any, None]] = [soak.sample(), soak.churn(engine)]
    work += [soak.read(number) for number in range(_READERS)] + [soak.write(number) for number in range(_WRITERS)]
    work += [soak.listen() for _ in range(_LISTENERS)] + [soak.stall() for _ in range(_STALLED)]
    await asyncio.gather(*work)
    await asyncio.sleep(_SETTLE_SECONDS)
    return before, soak.measure()


def _growth_rows(soak: Soak, before: Sample, after: Sample) -> Iterator[Row]:
    samples = [sample for sample in soak.samples if sample.seconds >= _WARM_UP * soak.seconds]
    slope, _ = linear_regression([sample.seconds for sample in samples], [sample.megabytes for sample in samples])
    name, note = _name(soak), f"{before.megabytes:,.0f} MB before, {after.megabytes:,.0f} MB after"
    yield Row(
        f"{name}: growth in 10 minutes", max(slope * 600, 0.0), _MEGABYTES, f"{_MEGABYTES:.0f} MB", 1.0, "MB", note
    )
    note = f"at most {max(sample.descriptors for sample in samples):,}"
    yield Row(f"{name}: descriptors after it", after.descriptors, before.descriptors, "before", 1.25, "files", note)
    first, last = _ends(samples)
    connections = [max(sample.connections for sample in part) for part in (first, last)]
    yield Row(f"{name}: database connections", connections[1], connections[0], "at the begin", 1.25, "connections")


def _time_rows(soak: Soak) -> Iterator[Row]:
    first, last = _ends([read for read in soak.reads if read[0] >= _WARM_UP * soak.seconds])
    for position, name, mark in ((49, "p50", 1.5), (98, "p99", 3.0)):
        begin, end = (quantiles([seconds for _, seconds in part], n=100)[position] for part in (first, last))
        note = f"{len(soak.reads):,} reads"
        yield Row(f"{_name(soak)}: {name} of lists at the end", end, begin, "at the begin", mark, note=note)


def _ends(items: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Return the first and the last quarter of a list."""
    quarter = max(len(items) // 4, 1)
    return items[:quarter], items[-quarter:]


def _name(soak: Soak) -> str:
    return f"PostgreSQL, {soak.seconds / 60:g} minutes"


def _change(name: str, fields: str) -> str:
    return f"mutation {{ {name}(input: {{{fields}}}) {{ __typename }} }}"


def _set_state(addresses: str, state: str) -> str:
    return _change("setState", f'addresses: ["{addresses}"], state: {state}, why: "soak"')
