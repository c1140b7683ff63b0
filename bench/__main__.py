"""Benchmarks, each a ratio against a baseline in the same run: ``./run bench [--domains N]``.

Rows are of a cluster of u-trn2x64 UltraServers; 6,250 of them are Project Rainier. Medians of several runs; a shared
machine makes seconds noisy, ratios less so.
"""

import argparse
import csv
import json
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import ladybug
import networkx as nx
import psycopg
from tabulate import tabulate

import postgres
import trninv
from trninv.catalog.facts import catalog
from trninv.catalog.models import systems
from trninv.inventory import migrate, stamp
from trninv.inventory.bulk import bulk
from trninv.inventory.database import connect, writing
from trninv.inventory.schema import TABLES

NAME = "bench"
A = TypeVar("A")


@dataclass(frozen=True)
class Row:
    """What was measured: seconds of ours and of the baseline, and the mark that the ratio is held against."""

    name: str
    ours: float
    baseline: float
    against: str
    mark: float

    @property
    def ratio(self) -> float:
        return self.ours / self.baseline


def seconds(run: Callable[[], object], times: int = 5) -> float:
    def once() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return statistics.median(once() for _ in range(times))


def seeded(url: str, domains: int) -> float:
    """Seconds to seed a cluster into an empty, migrated database."""
    system = systems().get("u-trn2x64").resized(domains)
    with connect(url) as engine:
        migrate.migrate(engine)

        def seed() -> None:
            with writing(engine) as connection:
                stamp.seed(connection, catalog(), system, NAME)

        return seconds(seed, 1)


def sqlite_seeding(directory: Path, domains: int) -> Row:
    ours = seeded(f"sqlite:///{directory}/ours.db", domains)
    with sqlite3.connect(directory / "ours.db") as source:
        rows = {name: source.execute(f"SELECT * FROM {name} ORDER BY id").fetchall() for name in TABLES}  # noqa: S608
    with connect(f"sqlite:///{directory}/baseline.db") as engine:
        migrate.migrate(engine)
    target = sqlite3.connect(directory / "baseline.db", isolation_level=None)
    target.execute("PRAGMA foreign_keys = ON")

    def load() -> None:
        target.execute("BEGIN IMMEDIATE")
        for name, listed in rows.items():
            if listed:
                target.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(listed[0]))})", listed)  # noqa: S608
        target.execute("COMMIT")

    baseline = seconds(load, 1)
    target.close()
    return Row(f"seeding {sum(map(len, rows.values())):,} rows, SQLite", ours, baseline, "sqlite3 executemany", 0.8)


def postgres_seeding(url: str, domains: int) -> Row:
    with psycopg.connect(url.format("postgres"), autocommit=True) as server:
        for name in ("ours", "baseline"):
            server.execute(f"CREATE DATABASE {name}".encode())
    ours = seeded(url.format("ours"), domains)
    rows = {}
    with psycopg.connect(url.format("ours")) as source, source.cursor() as cursor:
        for name in TABLES:
            copied = f"COPY (SELECT * FROM {name} ORDER BY id) TO STDOUT (FORMAT binary)"  # noqa: S608
            with cursor.copy(copied.encode()) as copy:
                rows[name] = b"".join(map(bytes, copy))
    with connect(url.format("baseline")) as engine:
        migrate.migrate(engine)

        def load() -> None:
            with engine.begin() as connection, bulk(connection, sys.maxsize, 0):
                cursor = connection.connection.cursor()
                for name, data in rows.items():
                    with cursor.copy(f"COPY {name} FROM STDIN (FORMAT binary)") as copy:
                        copy.write(data)

        baseline = seconds(load, 1)
    return Row("seeding the same, PostgreSQL", ours, baseline, "binary COPY, then keys and indexes", 1.3)


def pairs(domains: int, number: int) -> Iterator[tuple[str, str]]:
    """Random chips of different domains, out of forty."""
    chance = random.Random(7)
    known = chance.sample(range(domains), min(40, domains))
    for _ in range(number):
        a, b = (
            f"{NAME}/d{domain}/s{chance.randrange(4)}/c{chance.randrange(16)}" for domain in chance.sample(known, 2)
        )
        yield a, b


def each(ask: Callable[[A, A], object], ends: Iterable[tuple[A, A]]) -> float:
    """Median seconds of a question over pairs of places."""
    return statistics.median(seconds(partial(ask, a, b), 1) for a, b in ends)


def warm_path(database: Path, domains: int) -> float:
    """Seconds of a path across the fabric between domains that were asked about before."""
    with trninv.open(f"sqlite:///{database}") as fleet:
        asked = list(pairs(domains, 500))
        each(fleet.path, asked)
        return each(fleet.path, asked)


def across_path(database: Path, domains: int) -> Row:
    ours = warm_path(database, domains)
    graph, number = resident(database)
    ends = [(number[a], number[b]) for a, b in pairs(domains, 500)]
    baseline = each(partial(nx.bidirectional_shortest_path, graph), ends)
    return Row("path across the fabric, warm", ours, baseline, "networkx, the whole fleet resident", 2.0)


def across_cypher(database: Path, domains: int) -> Row:
    """The same graph in an embedded graph database, asked in Cypher."""
    ours = warm_path(database, domains)
    _, number = resident(database)
    with tempfile.TemporaryDirectory(prefix="b") as name, sqlite3.connect(database) as source:
        for table, query in (("N", "SELECT id FROM node"), ("L", "SELECT a_id, b_id FROM link")):
            with Path(name, f"{table}.csv").open("w", newline="") as file:
                csv.writer(file).writerows(source.execute(query))
        other: Any = ladybug.Connection(ladybug.Database(f"{name}/graph"))
        other.execute("CREATE NODE TABLE N(id INT64, PRIMARY KEY(id))")
        other.execute("CREATE REL TABLE L(FROM N TO N)")
        for table in ("N", "L"):
            other.execute(f"COPY {table} FROM '{name}/{table}.csv'")

        def path(a: int, b: int) -> object:
            found = other.execute(f"MATCH p=(a:N {{id: {a}}})-[:L* SHORTEST 1..10]-(b:N {{id: {b}}}) RETURN length(p)")
            return found.get_next()

        baseline = each(path, [(number[a], number[b]) for a, b in pairs(domains, 15)])
    return Row("path across the fabric, warm", ours, baseline, "ladybug, Cypher", 0.05)


def resident(database: Path) -> tuple["nx.Graph[int]", dict[str, int]]:
    """The whole fleet as a networkx graph, and its chips by address."""
    with sqlite3.connect(database) as source:
        graph: nx.Graph[int] = nx.Graph(source.execute("SELECT a_id, b_id FROM link").fetchall())
        chips = source.execute(
            "SELECT d.ordinal, s.ordinal, c.ordinal, c.id FROM chip c JOIN server s ON s.id = c.server_id "
            "JOIN domain d ON d.id = s.domain_id"
        )
        return graph, {f"{NAME}/d{d}/s{s}/c{c}": key for d, s, c, key in chips}


def size_growth(directory: Path, domains: int) -> Row:
    """The same question at a fifteenth of the size."""
    small = max(domains // 15, 2)
    seeded(f"sqlite:///{directory}/small.db", small)
    ours, baseline = warm_path(directory / "ours.db", domains), warm_path(directory / "small.db", small)
    return Row(f"the same of {domains:,} domains", ours, baseline, f"{small:,} domains", 1.3)


def cold_start(database: Path) -> Row:
    a, b = next(pairs(40, 1))
    command = [sys.executable, "-m", "trninv", "--database", f"sqlite:///{database}", "path", a, b]
    ours = seconds(lambda: subprocess.run(command, check=True, capture_output=True), 7)
    baseline = seconds(lambda: subprocess.run([sys.executable, "-c", "import networkx"], check=True), 7)
    return Row("trninv path, cold start", ours, baseline, 'python -c "import networkx"', 2.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, default=6_250, help="UltraServers; 40 or more (default: %(default)s)")
    domains = parser.parse_args().domains
    with tempfile.TemporaryDirectory(prefix="b") as name:
        directory = Path(name)
        rows = [sqlite_seeding(directory, domains)]
        with postgres.server(directory) as url:
            rows.append(postgres_seeding(url, domains))
        rows += [
            cold_start(directory / "ours.db"),
            size_growth(directory, domains),
            across_path(directory / "ours.db", domains),
            across_cypher(directory / "ours.db", domains),
        ]
        megabytes = (directory / "ours.db").stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(tabulate(
        [(r.name, f"{r.ours:.4g} s", f"{r.baseline:.4g} s", r.against, f"{r.ratio:.2g}", f"≤ {r.mark}") for r in rows],
        headers=["what", "trninv", "baseline", "which is", "ratio", "mark"],
    ))  # fmt: skip
    print(f"database: {megabytes:,.0f} MB; this process with its baselines: {peak:,.0f} MB")
    Path(__file__).with_name(f"results-{domains}.json").write_text(
        json.dumps({"domains": domains, "rows": [asdict(r) | {"ratio": r.ratio} for r in rows]}, indent=2) + "\n"
    )


if __name__ == "__main__":
    main()
