"""Compare trninv over HTTP with other systems on the same fleet: ``./run bench --section peers --peers``.

Without ``--peers``, show the recorded rows.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg

import postgres
from bench import results
from bench.measure import RAINIER, Row, seed_cluster
from bench.peers.graphs import graph_rows
from bench.peers.lists import list_rows
from bench.server import ours


def recorded_rows(_directory: Path, domains: int) -> Iterator[Row]:
    """Return the recorded rows, of this size or of the size of Project Rainier."""
    recorded = results.read(results.file("peers", domains)) or results.read(results.file("peers", RAINIER))
    if not recorded:
        print("no recorded results: run ./run bench --section peers --peers")
    return (replace(row, recorded=True) for row in recorded)


def peer_rows(directory: Path, domains: int) -> Iterator[Row]:
    file = directory / "ours.db"
    seed_cluster(f"sqlite:///{file}", domains)
    with postgres.server(directory) as every:
        with psycopg.connect(every.format("postgres"), autocommit=True) as made:
            made.execute("CREATE DATABASE ours")
        url = every.format("ours")
        seed_cluster(url, domains)
        with ours(url) as server:
            yield from list_rows(server, url)
            with ours(f"sqlite:///{file}") as other:
                yield from graph_rows({"SQLite": other, "PostgreSQL": server}, file, domains)
