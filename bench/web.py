"""Requests over HTTP, with clients that keep their connections."""

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.api import FLAT, NESTED, TRIVIAL
from bench.by_hand import FILE
from bench.measure import Row, seeded
from bench.served import Request, Served, ours, served

_ROUNDS = 7


def web_rows(directory: Path, domains: int) -> Iterator[Row]:
    file = directory / "ours.db"
    url = f"sqlite:///{file}"
    seeded(url, domains)
    command = [sys.executable, "-m", "uvicorn", "--factory", "bench.by_hand:served", "--port", "{port}"]
    with ours(url) as server, served([*command, "--log-level", "error"], **{FILE: str(file)}) as hand:
        yield from _connections(server, hand)


def _connections(server: Served, hand: Served) -> Iterator[Row]:
    """Requests back to back on connections that are kept."""
    cases = [("trivial", TRIVIAL, "/bare"), ("100 chips nested", NESTED, "/nested"), ("1,000 flat rows", FLAT, "/flat")]
    for connections in (1, 8):
        for name, document, path in cases:
            asked = [Request("/graphql", {"query": document})] * 40
            by_hand = [Request(path, {})] * 40
            taken = [(server.seconds(asked, connections), hand.seconds(by_hand, connections)) for _ in range(_ROUNDS)]
            took, baseline = map(statistics.median, zip(*taken, strict=True))
            what = f"HTTP, {connections} connection{'s'[: connections > 1]} kept, {name}"
            yield Row(what, took, baseline, "a route by hand, uvicorn", 3.0)
