"""Measure a service with several worker processes, in processor time, as clients and workers share the processors."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.api import TRIVIAL
from bench.measure import Row
from bench.server import Request, Server, run_server

_CONNECTIONS = 32
_REQUESTS = 100 * _CONNECTIONS


def worker_rows(url: str) -> Iterator[Row]:
    """Compare one worker with two, and two with four, on 32 connections that are opened at once."""
    (one, memory), (two, second_memory), (four, _) = (_measure(url, workers) for workers in (1, 2, 4))
    name = "processor time of the busiest worker per request"
    yield Row(f"{name}, 2 workers", two, one, "1 worker", 1 / 1.7)
    yield Row(f"{name}, 4 workers", four, two, "2 workers", 1.0)
    yield Row("memory of a second worker that it does not share", second_memory, memory, "1 worker", 0.6, "MB")


def _measure(url: str, workers: int) -> tuple[float, float]:
    """Return the busiest worker's processor seconds per request of the service, and the least unshared memory."""
    command = [sys.executable, "-m", "trninv", "--database", url, "serve", "--port", "{port}"]
    with run_server([*command, "--workers", str(workers)], TRNINV_LOG="off") as server:
        requests = [Request("/graphql", {"query": TRIVIAL})] * _REQUESTS
        server.responses(requests[: _REQUESTS // 4], _CONNECTIONS)
        processes = _worker_processes(server, workers)
        before = [_processor_seconds(process) for process in processes]
        server.responses(requests, _CONNECTIONS)
        used = [_processor_seconds(process) - start for process, start in zip(processes, before, strict=True)]
        return max(used) / _REQUESTS, min(map(_unshared_memory, processes))


def _worker_processes(server: Server, workers: int) -> list[int]:
    """Return the processes that serve: the workers, or the only process."""
    if workers == 1:
        return [server.process]
    children = Path(f"/proc/{server.process}/task/{server.process}/children")
    while len(processes := children.read_text().split()) < workers:
        time.sleep(0.1)
    return [*map(int, processes)]


def _processor_seconds(process: int) -> float:
    """Return the processor seconds of a process's threads, to the nanosecond."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def _unshared_memory(process: int) -> float:
    """Return the megabytes that only this process uses."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024
