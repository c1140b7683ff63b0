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


def bisection_rows(directory: Path) -> Iterator[Row]:
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
            scope_graph = _scope_graph(fleet, scope)
            value = median_seconds(partial(bisect, scope_graph.graph, scope_graph.endpoints))
            yield Row(f"bisection, {scope} undamaged", value, 0.05, "the mark", 1.0)
        for scope, mark in (("u-trn2x64", 5.0), ("trn3-gen1", 1.0), ("trn3-gen2", 1.0)):
            graph, times, exact = _scope_graph(fleet, scope).graph, [], 0
            for seed in range(DAMAGED):
                damaged, endpoints = _damage(graph, random.Random(seed))
                start = time.perf_counter()
                answer = bisect(damaged, endpoints)
                times.append(time.perf_counter() - start)
                exact += answer.lower == answer.upper and times[-1] <= mark
            p95 = sorted(times)[DAMAGED * 19 // 20 - 1]
            name, note = f"bisection, {scope} without up to 3 chips and 3 links: p95", f"{exact} of {DAMAGED} exact"
            yield Row(name, p95, mark, "the mark", 1.0, note=note)


def _scope_graph(fleet: BaseFleet, scope: str) -> ScopeGraph:
    with WiringCache(fleet.engine).open_reader() as reader:
        return Scope.resolve(reader, scope).graph(reader, "this")


def _damage(graph: Graph, rng: random.Random) -> tuple[Graph, list[int]]:
    damaged = Graph(graph)
    chips = [node for node, data in graph.nodes(data=True) if data["kind"] == "chip"]
    damaged.remove_nodes_from(rng.sample(chips, rng.randint(0, 3)))
    damaged.remove_edges_from(rng.sample(list(damaged.edges), rng.randint(0, 3)))
    return damaged, [node for node in chips if node in damaged]


def cluster_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Measure a whole cluster: intact, with a failed chip or link in hundreds of domains, with 1 % failed chips."""
    with trninv.open(f"sqlite:///{directory}/fleet.db") as fleet:
        for name, question in (("bisection", fleet.bisection), ("collectives", fleet.collectives)):
            yield Row(f"{name}, undamaged cluster", median_seconds(partial(question, NAME), 1), 0.5, "the mark", 1.0)
    failures = min(250, domains // 8)
    cases = {
        "hundreds of failures": ({"node": failures, "link": failures}, 10.0),
        "1 % of its chips down": ({"node": 64 * domains // 100}, 3.0),
    }
    for name, (failed, mark) in cases.items():
        _copy_with_failures(directory, failed)
        with trninv.open(f"sqlite:///{directory}/damaged.db") as fleet:
            start = time.perf_counter()
            answer = fleet.bisection(NAME)
            value = time.perf_counter() - start
        gap = 1 - answer.lower / answer.upper
        note = f"gap {gap:.2%}, mark 1 %"
        yield Row(f"bisection, cluster with {name}", value, mark, "the mark", 1.0, note=note)


def _copy_with_failures(directory: Path, failures: Mapping[str, int]) -> None:
    """Write a copy of the database in which a number of chips and links are down."""
    with sqlite3.connect(directory / "fleet.db") as source, sqlite3.connect(directory / "damaged.db") as copy:
        source.backup(copy)
        rng = random.Random(3)
        for table, kind in (("node", "kind = 'chip'"), ("link", "scope IN ('server', 'domain')")):
            ids = [row[0] for row in copy.execute(f"SELECT id FROM {table} WHERE {kind}")]  # noqa: S608
            down = rng.sample(ids, failures.get(table, 0))
            copy.executemany(f"UPDATE {table} SET state = 'down' WHERE id = ?", [(key,) for key in down])  # noqa: S608


def _all_flows(graph: Graph, source: int, targets: Iterable[int]) -> list[float]:
    return [nx.minimum_cut_value(graph, source, target) for target in targets]


def flow_rows(directory: Path) -> Iterator[Row]:
    """Measure questions about an intact domain, against plain networkx."""
    with trninv.open(f"sqlite:///{directory}/domains.db") as fleet:
        for scope in ("u-trn2x64", "trn3-gen2"):
            scope_graph = _scope_graph(fleet, scope)
            weights = dict.fromkeys(scope_graph.endpoints, 1)
            first, *others = scope_graph.endpoints
            baseline = median_seconds(partial(_all_flows, scope_graph.graph, first, others), 1)
            value = median_seconds(partial(gomory_hu_tree, scope_graph.graph), 3)
            yield Row(
                f"all maximum flows, {scope}", value, baseline, "networkx, flows from one chip to all others", 3.0
            )
            value = median_seconds(partial(all_gather_rate, scope_graph.graph, weights), 3)
            yield Row(f"all-gather rate, {scope}", value, baseline, "networkx, flows from one chip to all others", 3.0)
            value = median_seconds(partial(max_concurrent_flow, scope_graph.graph, weights), 3)
            yield Row(f"all-to-all rate, {scope}", value, baseline, "networkx, flows from one chip to all others", 3.0)


def rack_row(directory: Path) -> Row:
    """Measure the collectives of a rack, which has links of two kinds."""
    with trninv.open(f"sqlite:///{directory}/domains.db") as fleet:
        value = median_seconds(partial(fleet.collectives, "trn3-gen2/r0"), 1)
    return Row("collectives, trn3-gen2/r0", value, 1.0, "the mark", 1.0)


def routing_rows(directory: Path, domains: int) -> Iterator[Row]:
    yield from bisection_rows(directory)
    yield from flow_rows(directory)
    yield rack_row(directory)
    if not (directory / "fleet.db").exists():
        seed_cluster(f"sqlite:///{directory}/fleet.db", domains)
    yield from cluster_rows(directory, domains)
