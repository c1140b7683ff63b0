"""Upgrade two services behind nginx while requests flow: migrate the database, then restart one after the other.

The older release is this one. The next release has one more migration, after which the older one still reads but
changes nothing (KEEPS_READERS), so that a client has to repeat its change until a service of the next release answers.
"""

import asyncio
import itertools
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from next_release import VERSION, write_next_release
from rolling import Proxy, proxied

import postgres
from bench.client import Client
from bench.load import LISTS, MIN_LONG
from bench.measure import NAME, Row, seed_cluster
from bench.server import TRNINV, processor_time
from trninv.database.engine import temporary_engine
from trninv.database.migration import schema_version
from trninv.errors import SchemaOutdatedError
from trninv.settings import resource_directory

_REQUESTS, _FEW_REQUESTS = 10_000, 500
_READERS = 6
_RETRY_SECONDS, _WRITE_PAUSE = 0.1, 0.2
_MAX_READ, _MAX_CHANGE = 5.0, 60.0
"""Accepted seconds of the longest read, and until a change succeeds."""
_CHANGE = "mutation ($i: SetStateInput!) { setState(input: $i) { __typename } }"


@dataclass
class _Requests:
    """Clients of nginx and what they measured.

    Attributes
    ----------
    number
        How many reads to send; more are sent until `is_upgraded`.
    reads, changes
        The seconds that each took, of a change with its repetitions.
    refused
        How often a service of the older release refused a change.
    failures
        What failed otherwise.
    processors
        The processor seconds of each process, as measured last.

    """

    proxy: Proxy
    number: int
    is_upgraded: bool = True
    reads: list[float] = field(default_factory=list)
    changes: list[float] = field(default_factory=list)
    refused: int = 0
    failures: list[str] = field(default_factory=list)
    processors: dict[int, float] = field(default_factory=dict)

    @property
    def is_running(self) -> bool:
        return len(self.reads) < self.number or not self.is_upgraded

    async def run(self) -> float:
        """Send all requests and return the processor seconds of the services."""
        self._measure()
        before = sum(self.processors.values())
        await asyncio.gather(self._change(), self._watch(), *(self._read(reader) for reader in range(_READERS)))
        return sum(self.processors.values()) - before

    async def _read(self, reader: int) -> None:
        for document in itertools.islice(itertools.cycle(LISTS), reader, None):
            if not self.is_running:
                return
            start = time.perf_counter()
            if error := await self._query(document):
                self.failures.append(error)
            self.reads.append(time.perf_counter() - start)

    async def _change(self) -> None:
        for count in itertools.count():
            if not self.is_running:
                return
            address, state = f"{NAME}/d0/s0/c{count // 2 % 16}", ("DOWN", "UP")[count % 2]
            change_input = {"addresses": [address], "state": state, "why": "upgrade", "who": "bench"}
            start = time.perf_counter()
            while error := await self._query(_CHANGE, i=change_input):
                if not error.startswith(SchemaOutdatedError.code):
                    self.failures.append(error)
                    break
                self.refused += 1
                await asyncio.sleep(_RETRY_SECONDS)
            self.changes.append(time.perf_counter() - start)
            await asyncio.sleep(_WRITE_PAUSE)

    async def _query(self, document: str, **variables: object) -> str | None:
        client = Client(self.proxy.plain)  # a connection for each request, as nginx closes its own when it is reloaded
        try:
            return await client.query(document, **variables)
        finally:
            client.close()

    async def _watch(self) -> None:
        while self.is_running:
            self._measure()
            await asyncio.sleep(_RETRY_SECONDS)
        self._measure()

    def _measure(self) -> None:
        for process in self.proxy.process_ids():
            with suppress(FileNotFoundError):  # it ended, and its successor has not started yet
                self.processors[process] = processor_time([process])


def upgrade_rows(_directory: Path, domains: int) -> Iterator[Row]:
    """Yield failures, pauses and processor time of an upgrade on PostgreSQL."""
    number = _REQUESTS if domains >= MIN_LONG else _FEW_REQUESTS
    with (
        tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as place,
        tempfile.TemporaryDirectory(prefix="up", ignore_cleanup_errors=True) as name,
        postgres.server(Path(place)) as url,
    ):
        database, release, directory = url.format("postgres"), Path(name) / "next", Path(name) / "nginx"
        seed_cluster(database, domains)
        directory.mkdir()
        write_next_release(release, "KEEPS_READERS = True")
        for folder in ("trninv", "seed"):
            shutil.copytree(resource_directory() / folder, release / folder)
        with proxied(directory, database) as proxy:
            quiet = _Requests(proxy, number // 5)
            quiet_seconds = asyncio.run(quiet.run())
            requests = _Requests(proxy, number, is_upgraded=False)
            seconds = asyncio.run(_run_with_upgrade(requests, release))
        with temporary_engine(database) as engine, engine.connect() as connection:
            assert schema_version(connection) == VERSION
    label = f"PostgreSQL, {len(requests.reads):,} requests during an upgrade"
    failures = quiet.failures + requests.failures
    note = "; ".join(sorted(set(failures))[:3])
    yield Row(f"{label}: failed", len(failures), 1.0, "one", 0.0, "requests", note=note)
    note = f"{max(quiet.reads):.2g} s before"
    yield Row(f"{label}: longest read", max(requests.reads), _MAX_READ, f"{_MAX_READ:g} s", 1.0, note=note)
    note = f"{requests.refused:,} refusals by the older release, {len(requests.changes):,} changes"
    yield Row(f"{label}: longest change", max(requests.changes), _MAX_CHANGE, f"{_MAX_CHANGE:g} s", 1.0, note=note)
    as_before = quiet_seconds / len(quiet.reads) * len(requests.reads)
    yield Row(f"{label}: processor time of the services", seconds, as_before, "without the upgrade", 2.0)


async def _run_with_upgrade(requests: _Requests, release: Path) -> float:
    sending = asyncio.create_task(requests.run())
    await asyncio.to_thread(_upgrade, requests.proxy, release)
    requests.is_upgraded = True
    return await sending


def _upgrade(proxy: Proxy, release: Path) -> None:
    proxy.environment["PYTHONPATH"] = str(release)
    migrate = [*TRNINV, "migrate"]
    # not in a checkout, whose trninv would go before that of the next release
    subprocess.run(migrate, env=proxy.environment, cwd=proxy.directory, check=True, capture_output=True)
    before = proxy.process_ids()
    with proxy.restart() as restart:
        _, error = restart.communicate()
    assert restart.returncode == 0, error
    assert not set(before) & set(proxy.process_ids())
