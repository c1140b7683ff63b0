"""Benchmarks, each a ratio against a baseline in the same run: ``./run bench [--domains N] [--only fleet|routing]``.

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
from trninv.routing.bisection import bisect
from trninv.routing.collective import concurrent, gather
from trninv.routing.cuttree import cut_tree
from trninv.routing.fleet import Fleet
from trninv.routing.graph import Graph
from trninv.routing.scope import Inside, Scope
from trninv.routing.wiring import Wirings

NAME = "bench"
DAMAGED = 60
"""Randomly damaged domains of each kind."""
A = TypeVar("A")


@dataclass(frozen=True)
class Row:
    """What was measured of ours and of the baseline, and the mark that their ratio is held against, if there is one."""

    name: str
    ours: float
    baseline: float
    against: str
    mark: float | None = None
    unit: str = "s"

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


def pairs(domains: int, number: int, place: str = "across") -> Iterator[tuple[str, str]]:
    """Random pairs of chips of one server, of one domain or of two, out of forty domains."""
    chance = random.Random(7)
    known = chance.sample(range(domains), min(40, domains))
    for _ in range(number):
        one, other = chance.sample(known, 2)
        server, far = chance.sample(range(4), 2)
        chip, next_to = chance.sample(range(16), 2)
        end = {
            "server": f"{one}/s{server}/c{next_to}",
            "domain": f"{one}/s{far}/c{next_to}",
            "across": f"{other}/s{far}/c{next_to}",
        }
        yield f"{NAME}/d{one}/s{server}/c{chip}", f"{NAME}/d{end[place]}"


def each(ask: Callable[[A, A], object], ends: Iterable[tuple[A, A]]) -> float:
    """Median seconds of a question over pairs of places."""
    return statistics.median(seconds(partial(ask, a, b), 1) for a, b in ends)


QUESTIONS: dict[str, Callable[[Fleet, str, str], object]] = {
    "path": lambda fleet, a, b: fleet.path(a, b),
    "widest path": lambda fleet, a, b: fleet.path(a, b, "bandwidth"),
    "flow": lambda fleet, a, b: fleet.bandwidth(a, b),
    "pool": lambda fleet, a, _: fleet.memory_pool(a),
}


def warm(database: Path, question: str, asked: list[tuple[str, str]]) -> float:
    """Seconds of a question about domains that were asked about before."""
    with trninv.open(f"sqlite:///{database}") as fleet:
        ask = partial(QUESTIONS[question], fleet)
        each(ask, asked)
        return each(ask, asked)


def cold(database: Path, question: str, asked: list[tuple[str, str]]) -> float:
    """Seconds of a first question about its domains, in a process that has answered others."""

    def ask(a: str, b: str) -> float:
        with trninv.open(f"sqlite:///{database}") as fleet:
            fleet.path(f"{NAME}/d0/s0/c0", f"{NAME}/d0/s0/c0")
            return seconds(partial(QUESTIONS[question], fleet, a, b), 1)

    return statistics.median(ask(a, b) for a, b in asked)


def questions(database: Path, domains: int) -> Iterator[Row]:
    """Every question between places near and far, against a search by hops that has the whole fleet in memory."""
    graph, number = resident(database)
    for place in ("server", "domain", "across"):
        asked = list(pairs(domains, 100, place))
        baseline = each(partial(nx.bidirectional_shortest_path, graph), [(number[a], number[b]) for a, b in asked])
        for question in QUESTIONS:
            where = f"{question}, {'across the fabric' if place == 'across' else f'same {place}'}"
            mark = 2.0 if (question, place) == ("path", "across") else None
            ours = warm(database, question, asked)
            yield Row(f"{where}, warm", ours, baseline, "networkx path, whole fleet resident", mark)
            ours = cold(database, question, asked[:15])
            yield Row(f"{where}, cold", ours, baseline, "networkx path, whole fleet resident")


def across_cypher(database: Path, domains: int) -> Row:
    """The same graph in an embedded graph database, asked in Cypher."""
    ours = warm(database, "path", list(pairs(domains, 100)))
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
    return Row("path, across the fabric, warm", ours, baseline, "ladybug, Cypher", 0.05)


def resident(database: Path) -> tuple["nx.Graph[int]", dict[str, int]]:
    """The whole fleet as a networkx graph, and its chips by address."""
    with sqlite3.connect(database) as source:
        graph: nx.Graph[int] = nx.Graph(source.execute("SELECT a_id, b_id FROM link").fetchall())
        chips = source.execute(
            "SELECT d.ordinal, s.ordinal, c.ordinal, c.id FROM chip c JOIN server s ON s.id = c.server_id "
            "JOIN domain d ON d.id = s.domain_id"
        )
        return graph, {f"{NAME}/d{d}/s{s}/c{c}": key for d, s, c, key in chips}


def size_growth(directory: Path, domains: int) -> Iterator[Row]:
    """The same questions of a large and a small cluster: for 6,250 domains 1,000,000 and 30,016 chips."""
    sizes = domains * 5 // 2, max(domains * 3 // 40, 2)
    for size in sizes:
        seeded(f"sqlite:///{directory}/{size}.db", size)
    fleets = [trninv.open(f"sqlite:///{directory}/{size}.db") for size in sizes]
    asked = [list(pairs(size, 100)) for size in sizes]
    for question, ask in QUESTIONS.items():
        took: list[list[float]] = [[], []]
        for again in range(2):  # large and small by turns, so that what else the machine does befalls both
            for ends in zip(*asked, strict=True):
                for fleet, times, (a, b) in zip(fleets, took, ends, strict=True):
                    taken = seconds(partial(ask, fleet, a, b), 1)
                    times.extend([taken] * again)
        large, small = map(statistics.median, took)
        yield Row(f"{question}, {64 * sizes[0]:,} chips", large, small, f"{64 * sizes[1]:,} chips", 1.3)


def cold_start(database: Path) -> Row:
    a, b = next(pairs(40, 1))
    command = [sys.executable, "-m", "trninv", "--database", f"sqlite:///{database}", "path", a, b]
    ours = seconds(lambda: subprocess.run(command, check=True, capture_output=True), 15)
    baseline = seconds(lambda: subprocess.run([sys.executable, "-c", "import networkx"], check=True), 15)
    return Row("trninv path, cold start", ours, baseline, 'python -c "import networkx"', 2.5)


def memory(directory: Path, domains: int) -> Iterator[Row]:
    """Peak memory of a process that seeds, and of one that answers every question across the fabric."""
    url = f"sqlite:///{directory}/memory.db"
    seed = (
        f"from trninv.cli.main import trninv as run; common = ['--database', {url!r}]\n"
        f"run([*common, 'migrate'], standalone_mode=False)\n"
        f"run([*common, 'seed', 'u-trn2x64', '--domains', '{domains}', '--name', '{NAME}'], standalone_mode=False)"
    )
    ask = (
        f"import trninv; fleet = trninv.open({url!r})\n"
        f"for a, b in {list(pairs(domains, 200))}: fleet.path(a, b), fleet.bandwidth(a, b), fleet.memory_pool(a)"
    )
    for name, code, most in (("seeding", seed, 300), ("routing", ask, 100)):
        watched = f"{code}\nprint(open('/proc/self/status').read())"
        done = subprocess.run([sys.executable, "-c", watched], check=True, capture_output=True, text=True)
        kilobytes = int(done.stdout.split("VmHWM:")[1].split()[0])
        yield Row(f"{name} process, peak", kilobytes / 1024, most, "the mark", 1.0, "MB")


def bisections(directory: Path) -> Iterator[Row]:
    """Bisections of whole and of damaged domains; the marks are seconds."""
    url = f"sqlite:///{directory}/domains.db"
    scopes = ["trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen1", "trn3-gen2"]
    with connect(url) as engine:
        migrate.migrate(engine)
        for scope in scopes:
            with writing(engine) as connection:
                stamp.seed(connection, catalog(), systems().get(scope))
    with trninv.open(url) as fleet:
        for scope in scopes:
            inside = _inside(fleet, scope)
            took = seconds(partial(bisect, inside.graph, inside.ends))
            yield Row(f"bisection, {scope} undamaged", took, 0.05, "the mark", 1.0)
        for scope, mark in (("u-trn2x64", 5.0), ("trn3-gen1", 1.0), ("trn3-gen2", 1.0)):
            graph, times, exact = _inside(fleet, scope).graph, [], 0
            for seed in range(DAMAGED):
                left, ends = _damaged(graph, random.Random(seed))
                start = time.perf_counter()
                found = bisect(left, ends, seconds=30)
                times.append(time.perf_counter() - start)
                exact += found.lower == found.upper and times[-1] <= mark
            most = sorted(times)[DAMAGED * 19 // 20 - 1]
            name = (
                f"bisection, {scope} less up to 3 chips, 3 links: {exact} of {DAMAGED} exact in {mark:g} s, 19 of 20 in"
            )
            yield Row(name, most, mark, "the mark", 1.0)


def _inside(fleet: Fleet, scope: str) -> Inside:
    with Wirings(fleet.engine).reading() as reader:
        return Scope.of(reader, scope).inside(reader, "this")


def _damaged(graph: Graph, chance: random.Random) -> tuple[Graph, list[int]]:
    left = Graph(graph)
    chips = [node for node, of in graph.nodes(data=True) if of["kind"] == "chip"]
    left.remove_nodes_from(chance.sample(chips, chance.randint(0, 3)))
    left.remove_edges_from(chance.sample(list(left.edges), chance.randint(0, 3)))
    return left, [node for node in chips if node in left]


def damaged_cluster(directory: Path, domains: int) -> Row:
    """The bisection of a cluster of which one chip or link in five hundred domains is down."""
    with sqlite3.connect(directory / "ours.db") as source, sqlite3.connect(directory / "damaged.db") as copy:
        source.backup(copy)
        chance = random.Random(3)
        for table, kind in (("node", "kind = 'chip'"), ("link", "scope IN ('server', 'domain')")):
            ids = [row[0] for row in copy.execute(f"SELECT id FROM {table} WHERE {kind}")]  # noqa: S608
            lost = chance.sample(ids, min(250, domains // 8))
            copy.executemany(f"UPDATE {table} SET state = 'down' WHERE id = ?", [(key,) for key in lost])  # noqa: S608
    with trninv.open(f"sqlite:///{directory}/damaged.db") as fleet:
        found: list[Any] = []
        took = seconds(lambda: found.append(fleet.bisection(NAME)), 1)
    gap = 1 - found[0].lower / found[0].upper
    return Row(f"bisection, cluster with hundreds damaged (gap {gap:.2%}, mark 1 %)", took, 10.0, "the mark", 1.0)


def _all_flows(graph: Graph, first: int, others: Iterable[int]) -> list[float]:
    return [nx.minimum_cut_value(graph, first, other) for other in others]


def flows(directory: Path) -> Iterator[Row]:
    """Questions of a whole domain against the plain networkx way."""
    with trninv.open(f"sqlite:///{directory}/domains.db") as fleet:
        for scope in ("u-trn2x64", "trn3-gen2"):
            inside = _inside(fleet, scope)
            weights = dict.fromkeys(inside.ends, 1)
            first, *others = inside.ends
            baseline = seconds(partial(_all_flows, inside.graph, first, others), 1)
            ours = seconds(partial(cut_tree, inside.graph), 3)
            yield Row(f"all maximum flows, {scope}", ours, baseline, "networkx, flows of one chip to all", 3.0)
            ours = seconds(partial(gather, inside.graph, weights), 3)
            yield Row(f"all-gather's limit, {scope}", ours, baseline, "networkx, flows of one chip to all", 3.0)
            ours = seconds(partial(concurrent, inside.graph, weights), 3)
            yield Row(f"all-to-all's limit, {scope}", ours, baseline, "networkx, flows of one chip to all", 3.0)


def fleet_rows(directory: Path, domains: int) -> Iterator[Row]:
    yield sqlite_seeding(directory, domains)
    with postgres.server(directory) as url:
        yield postgres_seeding(url, domains)
    yield from memory(directory, domains)
    yield cold_start(directory / "ours.db")
    yield from questions(directory / "ours.db", domains)
    yield across_cypher(directory / "ours.db", domains)
    yield from size_growth(directory, domains)


def routing_rows(directory: Path, domains: int) -> Iterator[Row]:
    yield from bisections(directory)
    yield from flows(directory)
    if not (directory / "ours.db").exists():
        seeded(f"sqlite:///{directory}/ours.db", domains)
    yield damaged_cluster(directory, domains)


SECTIONS = {"fleet": fleet_rows, "routing": routing_rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, default=6_250, help="UltraServers; 40 or more (default: %(default)s)")
    parser.add_argument(
        "--only", choices=SECTIONS, help="fleet: loading, and questions about two places; routing: the rest"
    )
    given = parser.parse_args()
    for section in [given.only] if given.only else SECTIONS:
        with tempfile.TemporaryDirectory(prefix="b") as name:
            rows = list(SECTIONS[section](Path(name), given.domains))
            megabytes = (Path(name) / "ours.db").stat().st_size / 1e6
        shown = [
            [r.name, *(f"{x:.4g} {r.unit}" for x in (r.ours, r.baseline)), r.against, f"{r.ratio:.2g}", f"≤ {r.mark}"]
            for r in rows
        ]
        print(
            tabulate(shown, headers=["what", "trninv", "baseline", "which is", "ratio", "mark"]).replace("≤ None", "")
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"database: {megabytes:,.0f} MB; this process with its baselines: {peak:,.0f} MB\n")
        Path(__file__).with_name(f"results-{section}-{given.domains}.json").write_text(
            json.dumps({"domains": given.domains, "rows": [asdict(r) | {"ratio": r.ratio} for r in rows]}, indent=2)
            + "\n"
        )


if __name__ == "__main__":
    main()
