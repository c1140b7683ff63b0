"""Measure loading a fleet, and questions about two places in it."""

import csv
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import ladybug
import networkx as nx
import psycopg
from sqlalchemy import event

import postgres
import trninv
from bench.measure import NAME, RAINIER, Row, chip_pairs, median_seconds, sample_domains, seed_cluster
from bench.totals import totals_rows
from trninv.database import migration
from trninv.database.bulk_load import deferred_indexes
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.triggers.count_triggers import count_triggers, without_counting
from trninv.routing.fleet import BaseFleet

A = TypeVar("A")
COLD_DOMAINS = 50
"""Domains in which paths are asked for the first time; those of the smallest fleet of a benchmark."""
_NETWORKX = "networkx path, its domains in memory"
SMALLER = 500
"""UltraServers of a smaller fleet, which is measured in addition to the full one."""


def sqlite_seeding_row(directory: Path, domains: int) -> Row:
    """Measure seeding a cluster in SQLite, against plain inserts of the same rows into the same tables."""
    value = seed_cluster(f"sqlite:///{directory}/fleet.db", domains)
    with sqlite3.connect(directory / "fleet.db") as source:
        rows = {name: source.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in TABLES}  # noqa: S608
    with temporary_engine(f"sqlite:///{directory}/baseline.db") as engine:
        migration.migrate(engine)
        with write_transaction(engine) as connection:  # seeding counts without these triggers, too
            for trigger in count_triggers("sqlite"):
                connection.exec_driver_sql(f"DROP TRIGGER {trigger.name}")
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
    name = "sqlite3 executemany, foreign keys and indexes in place"
    return Row(f"seeding {sum(map(len, rows.values())):,} rows, SQLite", value, baseline, name, 0.35)


def postgres_seeding_row(url: str, domains: int) -> Row:
    """Measure seeding a cluster in PostgreSQL, against a binary COPY of the same rows."""
    with psycopg.connect(url.format("postgres"), autocommit=True) as server:
        for name in ("fleet", "baseline"):
            server.execute(f"CREATE DATABASE {name}".encode())
    value = seed_cluster(url.format("fleet"), domains)
    rows = {}
    with psycopg.connect(url.format("fleet")) as source, source.cursor() as cursor:
        for name in TABLES:
            statement = f"COPY (SELECT * FROM {name} ORDER BY 1) TO STDOUT (FORMAT binary)"  # noqa: S608
            with cursor.copy(statement.encode()) as copy:
                rows[name] = b"".join(map(bytes, copy))
    with temporary_engine(url.format("baseline")) as engine:
        migration.migrate(engine)

        def load() -> None:
            with (
                engine.begin() as connection,
                deferred_indexes(connection, sys.maxsize, 0),
                without_counting(connection),
            ):
                cursor = connection.connection.cursor()
                for name, data in rows.items():
                    with cursor.copy(f"COPY {name} FROM STDIN (FORMAT binary)") as copy:
                        copy.write(data)

        baseline = median_seconds(load, 1)
    return Row("seeding the same rows, PostgreSQL", value, baseline, "binary COPY, then keys and indexes", 1.0)


def copy_row(directory: Path, url: str) -> Row:
    """Measure `trninv copy` of Project Rainier from PostgreSQL to an SQLite file, which compares every row."""
    command = [sys.executable, "-m", "trninv", "copy", url, f"sqlite:///{directory}/copied.db"]
    value = median_seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL), 1)
    return Row("trninv copy of the same rows, PostgreSQL to SQLite", value, 90, "the mark", 1.0)


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
    """Measure seconds of the first question about a domain, after a question about another domain."""

    def ask(a: str, b: str) -> float:
        with trninv.open(f"sqlite:///{database}") as fleet:
            fleet.path(f"{NAME}/d0/s0/c0", f"{NAME}/d0/s0/c0")
            return median_seconds(partial(QUESTIONS[question], fleet, a, b), 1)

    return statistics.median(ask(a, b) for a, b in places)


def cold_rows(url: str, plain: Any, driver: str) -> Iterator[Row]:  # Any: a connection of either driver
    """Measure a path in a domain not asked about before, against the driver running the same SELECTs."""
    values, baselines, selects = [], [], list[tuple[str, Any]]()

    def note(_connection: object, _cursor: object, statement: str, values: Any, *_: object) -> None:
        if statement.startswith(("SELECT", "WITH")):
            selects.append((statement, values))

    def run_selects() -> None:
        for statement, parameters in selects:
            plain.execute(statement, parameters).fetchall()

    with trninv.open(url) as fleet:
        event.listen(fleet.engine, "before_cursor_execute", note)
        for ordinal in sample_domains(COLD_DOMAINS):
            selects.clear()
            domain = f"{NAME}/d{ordinal}"
            values.append(median_seconds(partial(fleet.path, f"{domain}/s0/c0", f"{domain}/s2/c5"), 1))
            baselines.append(median_seconds(run_selects, 1))
    value, baseline = statistics.median(values), statistics.median(baselines)
    name = f"path in a domain not asked about before, {driver}"
    yield Row(name, value, 0.0015, "the mark", 1.0)
    yield Row(name, value, baseline, f"the same {len(selects)} SELECTs by {driver}", 3.0)


IN_PROCESS = {"path": 0.0003, "flow": 0.003, "pool": 0.010}
"""Marks in seconds of a question about a cached domain."""


def question_rows(database: Path, domains: int) -> Iterator[Row]:
    """Measure every question between near and far places, and paths against networkx.

    networkx has only the domains of the places, and the fabric between them, in memory.
    """
    graph, keys = load_graph(database, sample_domains(domains))
    for place in ("server", "domain", "across"):
        places = list(chip_pairs(domains, 100, place))
        baseline = median_over_pairs(
            partial(nx.bidirectional_shortest_path, graph), [(keys[a], keys[b]) for a, b in places]
        )
        for question in QUESTIONS:
            row_name = f"{question}, {'across the fabric' if place == 'across' else f'same {place}'}"
            mark = (0.5 if domains >= RAINIER else 2.0) if (question, place) == ("path", "across") else None
            value = measure_warm(database, domains, question, place)
            if question == "path":
                yield Row(f"{row_name}, new pair, cached domains", value, baseline, _NETWORKX, mark)
            if place == "domain" and question in IN_PROCESS:
                yield Row(f"{row_name}, new pair, cached domains", value, IN_PROCESS[question], "the mark", 1.0)
            if question == "path":
                yield Row(f"{row_name}, cold", measure_cold(database, question, places[:9]), baseline, _NETWORKX)


def small_fleet_row(directory: Path) -> Row:
    """Measure a path across the fabric of a smaller fleet, which networkx searches quickly."""
    file = directory / f"{SMALLER}.db"
    seed_cluster(f"sqlite:///{file}", SMALLER)
    graph, keys = load_graph(file, sample_domains(SMALLER))
    ends = [(keys[a], keys[b]) for a, b in chip_pairs(SMALLER, 100)]
    baseline = median_over_pairs(partial(nx.bidirectional_shortest_path, graph), ends)
    name = f"path, across the fabric, new pair, cached domains, {SMALLER} domains"
    return Row(name, measure_warm(file, SMALLER, "path", "across"), baseline, _NETWORKX, 2.0)


def cypher_row(database: Path, domains: int) -> Row:
    """Measure a path across the fabric, against an embedded graph database queried in Cypher."""
    value = measure_warm(database, domains, "path", "across")
    _, keys = load_graph(database, [])
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


def load_graph(database: Path, domains: Sequence[int]) -> tuple["nx.Graph[int]", dict[str, int]]:
    """Load some domains and the fabric as a networkx graph; return it and the keys of all chips by address."""
    places = "JOIN server s ON s.id = part.server_id JOIN domain d ON d.id = s.domain_id"
    elsewhere = " UNION ALL ".join(
        f"SELECT part.id FROM {table} part {places} WHERE d.ordinal NOT IN (SELECT value FROM json_each(:domains))"  # noqa: S608
        for table in ("chip", "nic")
    )
    links = (
        f"WITH elsewhere AS MATERIALIZED ({elsewhere}) SELECT a_id, b_id FROM link "  # noqa: S608
        "WHERE a_id NOT IN elsewhere AND b_id NOT IN elsewhere"
    )
    with sqlite3.connect(database) as source:
        graph: nx.Graph[int] = nx.Graph(source.execute(links, {"domains": json.dumps(domains)}).fetchall())
        chips = source.execute(
            "SELECT d.ordinal, s.ordinal, c.ordinal, c.id FROM chip c JOIN server s ON s.id = c.server_id "
            "JOIN domain d ON d.id = s.domain_id"
        )
        return graph, {f"{NAME}/d{d}/s{s}/c{c}": key for d, s, c, key in chips}


def size_growth_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Compare a large with a small cluster; for 6,250 domains, 1,000,000 chips with 29,952."""
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
        if domains == RAINIER:  # a smaller fleet is copied before the command has started
            yield copy_row(directory, url.format("fleet"))
        with psycopg.connect(url.format("fleet")) as plain:
            yield from cold_rows(url.format("fleet"), plain, "psycopg")
    with closing(sqlite3.connect(directory / "fleet.db")) as plain_sqlite:
        yield from cold_rows(f"sqlite:///{directory}/fleet.db", plain_sqlite, "sqlite3")
    yield from memory_rows(directory, domains)
    yield from question_rows(directory / "fleet.db", domains)
    if domains > SMALLER:
        yield small_fleet_row(directory)
    yield cypher_row(directory / "fleet.db", domains)
    yield from size_growth_rows(directory, domains)
    yield from totals_rows(directory, domains)
