"""trninv over HTTP beside others that are asked the same about the same fleet: ``./run bench --section peers --peers``.

Without ``--peers`` their recorded medians stand in, and nothing is recorded.
"""

from collections.abc import Iterator
from pathlib import Path

import psycopg

import postgres
from bench import results
from bench.measure import RAINIER, Row, seeded
from bench.peers.graphs import graph_rows
from bench.peers.lists import list_rows
from bench.served import ours


def peer_rows(directory: Path, domains: int, *, live: bool) -> Iterator[Row]:
    recorded = results.read(results.file("peers", domains)) or results.read(results.file("peers", RAINIER))
    rows = _measured(directory, domains, live=live)
    yield from rows if live else results.with_recorded(rows, recorded)


def _measured(directory: Path, domains: int, *, live: bool) -> Iterator[Row]:
    file = directory / "ours.db"
    seeded(f"sqlite:///{file}", domains)
    with postgres.server(directory) as every:
        with psycopg.connect(every.format("postgres"), autocommit=True) as made:
            made.execute("CREATE DATABASE ours")
        url = every.format("ours")
        seeded(url, domains)
        with ours(url) as server:
            yield from list_rows(server, url, live=live)
            with ours(f"sqlite:///{file}") as other:
                yield from graph_rows({"SQLite": other, "PostgreSQL": server}, file, domains, live=live)
