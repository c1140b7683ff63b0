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
from bench.server import run_trninv


def recorded_rows(_directory: Path, domains: int) -> Iterator[Row]:
    """Return the recorded rows, of this size or of the size of Project Rainier."""
    recorded = results.read(results.file("peers", domains)) or results.read(results.file("peers", RAINIER))
    if not recorded:
        print("no recorded results: run ./run bench --section peers --peers")
    return (replace(row, recorded=True) for row in recorded)


def peer_rows(directory: Path, domains: int) -> Iterator[Row]:
    file = directory / "fleet.db"
    seed_cluster(f"sqlite:///{file}", domains)
    with postgres.server(directory) as server_url:
        with psycopg.connect(server_url.format("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE fleet")
        url = server_url.format("fleet")
        seed_cluster(url, domains)
        with run_trninv(url) as server:
            yield from list_rows(server, url)
            with run_trninv(f"sqlite:///{file}") as sqlite_server:
                yield from graph_rows({"SQLite": sqlite_server, "PostgreSQL": server}, file, domains)
