"""Measure bisections, collectives and flows of intact and damaged domains and clusters."""

import random
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import networkx as nx

import trninv
from bench.measure import DAMAGED, NAME, Row, median_seconds, seed_cluster
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.routing.fleet import BaseFleet
from trninv.routing.scope import Scope, ScopeGraph
from trninv.routing.wiring_cache import WiringCache
from trninv.solvers.bisection import bisect
from trninv.solvers.collectives import all_gather_rate, max_concurrent_flow
from trninv.solvers.graph import Graph
from trninv.solvers.max_flow import gomory_hu_tree


def bisections(directory: Path) -> Iterator[Row]:
    """Measure bisections of intact and damaged domains; the marks are seconds."""
    url = f"sqlite:///{directory}/domains.db"
    scopes = ["trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen1", "trn3-gen2"]
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        for scope in scopes:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), default_systems().get(scope))
    with trninv.open(url) as fleet:
        for scope in scopes:
            inside = _inside(fleet, scope)
            took = median_seconds(partial(bisect, inside.graph, inside.endpoints))
            yield Row(f"bisection, {scope} undamaged", took, 0.05, "the mark", 1.0)
        for scope, mark in (("u-trn2x64", 5.0), ("trn3-gen1", 1.0), ("trn3-gen2", 1.0)):
            graph, times, exact = _inside(fleet, scope).graph, [], 0
            for seed in range(DAMAGED):
                left, ends = _damaged(graph, random.Random(seed))
                start = time.perf_counter()
                found = bisect(left, ends)
                times.append(time.perf_counter() - start)
                exact += found.lower == found.upper and times[-1] <= mark
            most = sorted(times)[DAMAGED * 19 // 20 - 1]
            name, note = f"bisection, {scope} without up to 3 chips and 3 links: p95", f"{exact} of {DAMAGED} exact"
            yield Row(name, most, mark, "the mark", 1.0, note=note)


def _inside(fleet: BaseFleet, scope: str) -> ScopeGraph:
    with WiringCache(fleet.engine).open_reader() as reader:
        return Scope.resolve(reader, scope).graph(reader, "this")


def _damaged(graph: Graph, chance: random.Random) -> tuple[Graph, list[int]]:
    left = Graph(graph)
    chips = [node for node, of in graph.nodes(data=True) if of["kind"] == "chip"]
    left.remove_nodes_from(chance.sample(chips, chance.randint(0, 3)))
    left.remove_edges_from(chance.sample(list(left.edges), chance.randint(0, 3)))
    return left, [node for node in chips if node in left]


def clusters(directory: Path, domains: int) -> Iterator[Row]:
    """Measure a whole cluster: intact, with one chip or link down in hundreds of domains, with 1 % of its chips down."""
    with trninv.open(f"sqlite:///{directory}/ours.db") as fleet:
        for name, ask in (("bisection", fleet.bisection), ("collectives", fleet.collectives)):
            yield Row(f"{name}, undamaged cluster", median_seconds(partial(ask, NAME), 1), 0.5, "the mark", 1.0)
    few = min(250, domains // 8)
    worn = {
        "hundreds of failures": ({"node": few, "link": few}, 10.0),
        "1 % of its chips down": ({"node": 64 * domains // 100}, 3.0),
    }
    for name, (lost, mark) in worn.items():
        _wear(directory, lost)
        with trninv.open(f"sqlite:///{directory}/damaged.db") as fleet:
            start = time.perf_counter()
            found = fleet.bisection(NAME)
            took = time.perf_counter() - start
        gap = 1 - found.lower / found.upper
        note = f"gap {gap:.2%}, mark 1 %"
        yield Row(f"bisection, cluster with {name}", took, mark, "the mark", 1.0, note=note)


def _wear(directory: Path, lost: Mapping[str, int]) -> None:
    """Write a copy of the database in which a number of chips and links are down."""
    with sqlite3.connect(directory / "ours.db") as source, sqlite3.connect(directory / "damaged.db") as copy:
        source.backup(copy)
        chance = random.Random(3)
        for table, kind in (("node", "kind = 'chip'"), ("link", "scope IN ('server', 'domain')")):
            ids = [row[0] for row in copy.execute(f"SELECT id FROM {table} WHERE {kind}")]  # noqa: S608
            down = chance.sample(ids, lost.get(table, 0))
            copy.executemany(f"UPDATE {table} SET state = 'down' WHERE id = ?", [(key,) for key in down])  # noqa: S608


def _all_flows(graph: Graph, first: int, others: Iterable[int]) -> list[float]:
    return [nx.minimum_cut_value(graph, first, other) for other in others]


def flows(directory: Path) -> Iterator[Row]:
    """Measure questions about an intact domain, against plain networkx."""
    with trninv.open(f"sqlite:///{directory}/domains.db") as fleet:
        for scope in ("u-trn2x64", "trn3-gen2"):
            inside = _inside(fleet, scope)
            weights = dict.fromkeys(inside.endpoints, 1)
            first, *others = inside.endpoints
            baseline = median_seconds(partial(_all_flows, inside.graph, first, others), 1)
            ours = median_seconds(partial(gomory_hu_tree, inside.graph), 3)
            yield Row(f"all maximum flows, {scope}", ours, baseline, "networkx, flows from one chip to all others", 3.0)
            ours = median_seconds(partial(all_gather_rate, inside.graph, weights), 3)
            yield Row(f"all-gather rate, {scope}", ours, baseline, "networkx, flows from one chip to all others", 3.0)
            ours = median_seconds(partial(max_concurrent_flow, inside.graph, weights), 3)
            yield Row(f"all-to-all rate, {scope}", ours, baseline, "networkx, flows from one chip to all others", 3.0)


def rack(directory: Path) -> Row:
    """Measure the collectives of a rack, which has links of two kinds."""
    with trninv.open(f"sqlite:///{directory}/domains.db") as fleet:
        took = median_seconds(partial(fleet.collectives, "trn3-gen2/r0"), 1)
    return Row("collectives, trn3-gen2/r0", took, 1.0, "the mark", 1.0)


def routing_rows(directory: Path, domains: int) -> Iterator[Row]:
    yield from bisections(directory)
    yield from flows(directory)
    yield rack(directory)
    if not (directory / "ours.db").exists():
        seed_cluster(f"sqlite:///{directory}/ours.db", domains)
    yield from clusters(directory, domains)
