"""Measure loading a fleet, and questions about two places in it."""

import csv
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import ladybug
import networkx as nx
import psycopg

import postgres
import trninv
from bench.measure import NAME, RAINIER, Row, chip_pairs, median_seconds, seed_cluster
from trninv.database import migration
from trninv.database.bulk_load import deferred_indexes
from trninv.database.engine import temporary_engine
from trninv.database.tables import TABLES
from trninv.routing.fleet import BaseFleet

A = TypeVar("A")
SMALLER = 500
"""UltraServers of a smaller fleet, measured next to the full one."""


def sqlite_seeding_row(directory: Path, domains: int) -> Row:
    value = seed_cluster(f"sqlite:///{directory}/fleet.db", domains)
    with sqlite3.connect(directory / "fleet.db") as source:
        rows = {name: source.execute(f"SELECT * FROM {name} ORDER BY id").fetchall() for name in TABLES}  # noqa: S608
    with temporary_engine(f"sqlite:///{directory}/baseline.db") as engine:
        migration.migrate(engine)
    target = sqlite3.connect(directory / "baseline.db", isolation_level=None)
    target.execute("PRAGMA foreign_keys = ON")

    def load() -> None:
        target.execute("BEGIN IMMEDIATE")
        for name, table_rows in rows.items():
            if table_rows:
                target.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(table_rows[0]))})", table_rows)  # noqa: S608
        target.execute("COMMIT")

    baseline = median_seconds(load, 1)
    target.close()
    return Row(f"seeding {sum(map(len, rows.values())):,} rows, SQLite", value, baseline, "sqlite3 executemany", 0.8)


def postgres_seeding_row(url: str, domains: int) -> Row:
    with psycopg.connect(url.format("postgres"), autocommit=True) as server:
        for name in ("fleet", "baseline"):
            server.execute(f"CREATE DATABASE {name}".encode())
    value = seed_cluster(url.format("fleet"), domains)
    rows = {}
    with psycopg.connect(url.format("fleet")) as source, source.cursor() as cursor:
        for name in TABLES:
            statement = f"COPY (SELECT * FROM {name} ORDER BY id) TO STDOUT (FORMAT binary)"  # noqa: S608
            with cursor.copy(statement.encode()) as copy:
                rows[name] = b"".join(map(bytes, copy))
    with temporary_engine(url.format("baseline")) as engine:
        migration.migrate(engine)

        def load() -> None:
            with engine.begin() as connection, deferred_indexes(connection, sys.maxsize, 0):
                cursor = connection.connection.cursor()
                for name, data in rows.items():
                    with cursor.copy(f"COPY {name} FROM STDIN (FORMAT binary)") as copy:
                        copy.write(data)

        baseline = median_seconds(load, 1)
    return Row("seeding the same rows, PostgreSQL", value, baseline, "binary COPY, then keys and indexes", 1.3)


def median_over_pairs(ask: Callable[[A, A], object], ends: Iterable[tuple[A, A]]) -> float:
    """Measure the median seconds per question, over pairs of places."""
    return statistics.median(median_seconds(partial(ask, a, b), 1) for a, b in ends)


QUESTIONS: dict[str, Callable[[BaseFleet, str, str], object]] = {
    "path": lambda fleet, a, b: fleet.path(a, b),
    "widest path": lambda fleet, a, b: fleet.path(a, b, "bandwidth"),
    "flow": lambda fleet, a, b: fleet.bandwidth(a, b),
    "pool": lambda fleet, a, _: fleet.memory_pool(a),
}


def measure_warm(database: Path, domains: int, question: str, place: str) -> float:
    """Measure seconds per question about new pairs of places, in domains that are cached."""
    with trninv.open(f"sqlite:///{database}") as fleet:
        ask = partial(QUESTIONS[question], fleet)
        median_over_pairs(ask, chip_pairs(domains, 100, place, seed=8))
        return median_over_pairs(ask, chip_pairs(domains, 50, place))


def measure_cold(database: Path, question: str, places: list[tuple[str, str]]) -> float:
    """Measure seconds of the first question about a domain, in a process that has answered questions about others."""

    def ask(a: str, b: str) -> float:
        with trninv.open(f"sqlite:///{database}") as fleet:
            fleet.path(f"{NAME}/d0/s0/c0", f"{NAME}/d0/s0/c0")
            return median_seconds(partial(QUESTIONS[question], fleet, a, b), 1)

    return statistics.median(ask(a, b) for a, b in places)


IN_PROCESS = {"path": 0.0003, "flow": 0.003, "pool": 0.010}
"""Marks in seconds of a question about a cached domain."""


def question_rows(database: Path, domains: int) -> Iterator[Row]:
    """Measure every question between near and far places, against networkx with the whole fleet in memory."""
    graph, keys = load_graph(database)
    for place in ("server", "domain", "across"):
        places = list(chip_pairs(domains, 100, place))
        baseline = median_over_pairs(
            partial(nx.bidirectional_shortest_path, graph), [(keys[a], keys[b]) for a, b in places]
        )
        for question in QUESTIONS:
            row_name = f"{question}, {'across the fabric' if place == 'across' else f'same {place}'}"
            mark = (0.5 if domains >= RAINIER else 2.0) if (question, place) == ("path", "across") else None
            value = measure_warm(database, domains, question, place)
            yield Row(f"{row_name}, new pair, cached domains", value, baseline, "networkx path, fleet in memory", mark)
            if place == "domain" and question in IN_PROCESS:
                yield Row(f"{row_name}, new pair, cached domains", value, IN_PROCESS[question], "the mark", 1.0)
            value = measure_cold(database, question, places[:9])
            yield Row(f"{row_name}, cold", value, baseline, "networkx path, fleet in memory")


def small_fleet_row(directory: Path) -> Row:
    """Measure a path across the fabric of a smaller fleet, which networkx searches quickly."""
    file = directory / f"{SMALLER}.db"
    seed_cluster(f"sqlite:///{file}", SMALLER)
    graph, keys = load_graph(file)
    ends = [(keys[a], keys[b]) for a, b in chip_pairs(SMALLER, 100)]
    baseline = median_over_pairs(partial(nx.bidirectional_shortest_path, graph), ends)
    name = f"path, across the fabric, new pair, cached domains, {SMALLER} domains"
    return Row(name, measure_warm(file, SMALLER, "path", "across"), baseline, "networkx path, fleet in memory", 2.0)


def cypher_row(database: Path, domains: int) -> Row:
    """Measure a path across the fabric, against an embedded graph database queried in Cypher."""
    value = measure_warm(database, domains, "path", "across")
    _, keys = load_graph(database)
    with tempfile.TemporaryDirectory(prefix="b") as name, sqlite3.connect(database) as source:
        for table, query in (("N", "SELECT id FROM node"), ("L", "SELECT a_id, b_id FROM link")):
            with Path(name, f"{table}.csv").open("w", newline="") as file:
                csv.writer(file).writerows(source.execute(query))
        connection: Any = ladybug.Connection(ladybug.Database(f"{name}/graph"))
        connection.execute("CREATE NODE TABLE N(id INT64, PRIMARY KEY(id))")
        connection.execute("CREATE REL TABLE L(FROM N TO N)")
        for table in ("N", "L"):
            connection.execute(f"COPY {table} FROM '{name}/{table}.csv'")

        def path(a: int, b: int) -> object:
            result = connection.execute(
                f"MATCH p=(a:N {{id: {a}}})-[:L* SHORTEST 1..10]-(b:N {{id: {b}}}) RETURN length(p)"
            )
            return result.get_next()

        baseline = median_over_pairs(path, [(keys[a], keys[b]) for a, b in chip_pairs(domains, 15)])
    return Row("path, across the fabric, new pair, cached domains", value, baseline, "ladybug, Cypher", 0.05)


def load_graph(database: Path) -> tuple["nx.Graph[int]", dict[str, int]]:
    """Load the whole fleet as a networkx graph; return it and the chips' keys by address."""
    with sqlite3.connect(database) as source:
        graph: nx.Graph[int] = nx.Graph(source.execute("SELECT a_id, b_id FROM link").fetchall())
        chips = source.execute(
            "SELECT d.ordinal, s.ordinal, c.ordinal, c.id FROM chip c JOIN server s ON s.id = c.server_id "
            "JOIN domain d ON d.id = s.domain_id"
        )
        return graph, {f"{NAME}/d{d}/s{s}/c{c}": key for d, s, c, key in chips}


def size_growth_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Compare a large with a small cluster: with 6,250 domains, 1,000,000 with 29,952 chips."""
    sizes = domains * 5 // 2, max(domains * 3 // 40, 2)
    for size in sizes:
        seed_cluster(f"sqlite:///{directory}/{size}.db", size)
    fleets = [trninv.open(f"sqlite:///{directory}/{size}.db") for size in sizes]
    places = [list(chip_pairs(size, 50)) for size in sizes]
    for question, ask in QUESTIONS.items():
        durations: list[list[float]] = [[], []]
        for fleet, size in zip(fleets, sizes, strict=True):
            median_over_pairs(partial(ask, fleet), chip_pairs(size, 100, seed=8))
        for ends in zip(*places, strict=True):  # in turn, so that other load on the machine affects both
            for fleet, times, (a, b) in zip(fleets, durations, ends, strict=True):
                times.append(median_seconds(partial(ask, fleet, a, b), 1))
        large, small = map(statistics.median, durations)
        yield Row(f"{question}, {64 * sizes[0]:,} chips", large, small, f"{64 * sizes[1]:,} chips", 1.3)


def memory_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Measure the peak memory of a process that seeds, and of one that answers questions across the fabric."""
    url = f"sqlite:///{directory}/memory.db"
    seed = (
        f"from trninv.cli.main import trninv as run; common = ['--database', {url!r}]\n"
        f"run([*common, 'migrate'], standalone_mode=False)\n"
        f"run([*common, 'seed', 'u-trn2x64', '--domains', '{domains}', '--name', '{NAME}'], standalone_mode=False)"
    )
    ask = (
        f"import trninv; fleet = trninv.open({url!r})\n"
        f"for a, b in {list(chip_pairs(domains, 200))}: fleet.path(a, b), fleet.bandwidth(a, b), fleet.memory_pool(a)"
    )
    for name, code, mark in (("seeding", seed, 300), ("routing", ask, 100)):
        program = f"{code}\nprint(open('/proc/self/status').read())"
        completed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        kilobytes = int(completed.stdout.split("VmHWM:")[1].split()[0])
        yield Row(f"{name} process, peak", kilobytes / 1024, mark, "the mark", 1.0, "MB")


def fleet_rows(directory: Path, domains: int) -> Iterator[Row]:
    yield sqlite_seeding_row(directory, domains)
    with postgres.server(directory) as url:
        yield postgres_seeding_row(url, domains)
    yield from memory_rows(directory, domains)
    yield from question_rows(directory / "fleet.db", domains)
    if domains > SMALLER:
        yield small_fleet_row(directory)
    yield cypher_row(directory / "fleet.db", domains)
    yield from size_growth_rows(directory, domains)
