"""Measure bisections, collectives and flows of intact and damaged domains and clusters."""

import random
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from statistics import median

import networkx as nx
import numpy as np
from networkx.algorithms.flow import edmonds_karp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

import trninv
from bench.measure import DAMAGED, NAME, Row, median_seconds, seed_cluster
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import System, default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.routing.fleet import BaseFleet
from trninv.routing.scope import Scope, ScopeGraph
from trninv.solvers.bisection import bisect
from trninv.solvers.collectives import all_gather_rate, max_concurrent_flow
from trninv.solvers.graph import Graph
from trninv.solvers.max_flow import gomory_hu_tree

_SCOPES = ("trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen1", "trn3-gen2")
_DAMAGED_CLUSTER, _ALIKE_CLUSTER = "damaged-gen2", "alike"
"""Clusters of four trn3-gen2 and of eight u-trn2x64."""


def _seed_domains(url: str) -> None:
    """Seed one cluster of each of `_SCOPES`, and the two clusters whose domains are damaged."""
    systems = default_systems()
    clusters: list[tuple[System, str | None]] = [(systems.get(scope), None) for scope in _SCOPES]
    clusters += [
        (systems.get("trn3-gen2").resized(4), _DAMAGED_CLUSTER),
        (systems.get("u-trn2x64").resized(8), _ALIKE_CLUSTER),
    ]
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        for system, name in clusters:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), system, name)


def bisection_rows(directory: Path) -> Iterator[Row]:
    """Measure bisections of intact and damaged domains; the marks are seconds."""
    with trninv.open(f"sqlite:///{directory}/domains.db") as fleet:
        for scope in _SCOPES:
            scope_graph = _scope_graph(fleet, scope)
            value = median_seconds(partial(bisect, scope_graph.graph, scope_graph.endpoints))
            yield Row(f"bisection, {scope} undamaged", value, 0.05, "the mark", 1.0)
        for scope, mark in (("u-trn2x64", 0.06), ("trn3-gen1", 0.1), ("trn3-gen2", 0.1)):
            yield from _damaged_bisection_rows(fleet, scope, mark)


def _damaged_bisection_rows(fleet: BaseFleet, scope: str, mark: float) -> Iterator[Row]:
    """Measure a question with a scenario, which is answered with and without it and with failed chips as fillers.

    Kernighan-Lin from ten starts, the nearest thing in networkx, finds one split and proves nothing, so that a question
    with three proofs may take three times as long.
    """
    graph, times, peer_times, exact = _scope_graph(fleet, scope).graph, [], [], 0
    for seed in range(DAMAGED):
        down = _draw_damage(graph, random.Random(seed))
        if not down:
            continue
        start = time.perf_counter()
        answer = fleet.what_if(down=down).bisection(scope)
        times.append(time.perf_counter() - start)
        exact += answer.exact
        damaged: Graph = nx.Graph(fleet.what_if(down=down).graph(scope))
        damaged.remove_nodes_from([node for node, data in damaged.nodes(data=True) if data["kind"] == "nic"])
        peer_times.append(median_seconds(partial(_kernighan_lin, damaged), 1))
    name, note = f"bisection, {scope} without up to 3 chips and 3 links", f"{exact} of {len(times)} exact"
    yield Row(name, median(times), mark, "the mark", 1.0, note=note)
    yield Row(name, median(times), median(peer_times), "networkx, Kernighan-Lin, ten starts", 3.0)
    yield Row(f"{name}: p95", sorted(times)[len(times) * 19 // 20], 5 * mark, "the mark", 1.0)


def _kernighan_lin(graph: Graph) -> None:
    for seed in range(10):
        nx.algorithms.community.kernighan_lin_bisection(graph, weight="bandwidth", seed=seed)


def _scope_graph(fleet: BaseFleet, scope: str) -> ScopeGraph:
    with fleet.open_snapshot() as reader:
        return Scope.resolve(reader, scope).graph(reader, "this")


def _draw_damage(graph: Graph, rng: random.Random) -> list[str]:
    """Return the addresses of up to three chips and three links."""
    address = dict(graph.nodes.data("address"))
    chips = [address[node] for node, data in graph.nodes(data=True) if data["kind"] == "chip"]
    links = [f"{address[min(link)]}--{address[max(link)]}" for link in sorted(graph.edges)]
    return rng.sample(chips, rng.randint(0, 3)) + rng.sample(links, rng.randint(0, 3))


def cluster_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Measure a whole cluster: intact, with hundreds of failed chips and links, and with 1 % of its chips failed."""
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


def pair_flow_rows(directory: Path) -> Iterator[Row]:
    """Measure the maximum flow between two chips of a domain, every time another pair, against flow libraries.

    The libraries have the domain's graph in memory and return the flow alone, without a cut and a widest path.
    """
    url = f"sqlite:///{directory}/domains.db"
    with trninv.open(url) as fleet:
        graph = _scope_graph(fleet, "u-trn2x64").graph
    yield from _pair_flow_rows(url, graph, "a u-trn2x64", 150e-6, 1.0)
    broken = [node for node, data in graph.nodes(data=True) if data["kind"] == "chip"][5::20]
    with sqlite3.connect(directory / "domains.db") as source, sqlite3.connect(directory / "broken.db") as copy:
        source.backup(copy)
        copy.executemany("UPDATE node SET state = 'down' WHERE id = ?", [(chip,) for chip in broken])
    damaged = Graph(graph)
    damaged.remove_nodes_from(broken)
    name = f"a u-trn2x64 without {len(broken)} chips"
    yield from _pair_flow_rows(f"sqlite:///{directory}/broken.db", damaged, name, 400e-6, 2.0)


def _collectives_without(fleet: BaseFleet, down: Sequence[str]) -> None:
    fleet.what_if(down=down).collectives(_ALIKE_CLUSTER)


def _pair_flow_rows(url: str, graph: Graph, name: str, mark: float, peer_mark: float) -> Iterator[Row]:
    chips = [node for node, data in graph.nodes(data=True) if data["kind"] == "chip"]
    address = dict(graph.nodes.data("address"))
    pairs = random.Random(7).sample(list(permutations(chips, 2)), 600)
    warm, new = pairs[:300], pairs[300:]
    with trninv.open(url) as fleet:
        for pair in warm:
            fleet.bandwidth(*(address[end] for end in pair))
        value = median(median_seconds(partial(fleet.bandwidth, address[a], address[b]), 1) for a, b in new)
    number = {node: i for i, node in enumerate(graph)}
    links = [(number[a], number[b], edge["capacity"] // 10**9) for a, b, edge in graph.edges(data=True)]
    ends, opposite, capacity = np.array(links + [(b, a, width) for a, b, width in links], dtype=np.int32).T
    matrix = csr_array((capacity, (ends, opposite)), shape=(len(number), len(number)))
    baselines = {
        "networkx, edmonds_karp": lambda a, b: nx.maximum_flow_value(graph, a, b, flow_func=edmonds_karp),
        "scipy, maximum_flow of a matrix": lambda a, b: maximum_flow(matrix, number[a], number[b]),
    }
    row_name = f"maximum flow in {name}, new pair"
    yield Row(row_name, value, mark, "the mark", 1.0)
    for baseline_name, solve in baselines.items():
        baseline = median(median_seconds(partial(solve, a, b), 1) for a, b in new[:100])
        yield Row(row_name, value, baseline, baseline_name, peer_mark)


def damaged_cluster_rows(directory: Path) -> Iterator[Row]:
    """Measure collectives of clusters of damaged domains, in scenarios: each answer includes the undamaged cluster."""
    rng, down = random.Random(1), list[str]()
    for domain in range(4):
        place = f"{_DAMAGED_CLUSTER}/d{domain}"
        server, chip = rng.sample(range(36), 2), rng.randrange(4)
        down += [f"{place}/s{server[0]}/c{chip}", f"{place}/s{server[1]}/c{chip}--{place}/sw{server[1]}"]
        down += [f"{place}/s{server[0]}/efa{(chip + 1) % 4}"] if domain % 2 else []
    with trninv.open(f"sqlite:///{directory}/domains.db") as fleet:
        graph = _scope_graph(fleet, "trn3-gen2").graph
        first, *others = [node for node, data in graph.nodes(data=True) if data["kind"] == "chip"]
        fleet.collectives(_DAMAGED_CLUSTER)
        value = median_seconds(lambda: fleet.what_if(down=down).collectives(_DAMAGED_CLUSTER), 5)
        name, note = "collectives, 4 × trn3-gen2, each damaged otherwise", f"{len(down)} parts down"
        yield Row(name, value, 1.5, "the mark", 1.0, note=note)
        baseline = 4 * median_seconds(partial(_networkx_flows, graph, first, others), 1)
        yield Row(name, value, baseline, "networkx, flows from one chip to all others of each domain", 1.0)
        alike = [f"{_ALIKE_CLUSTER}/d{domain}/s{domain % 4}/c{3 * domain % 16}" for domain in range(8)]
        for count in (1, 8):  # import everything and build the symmetries
            fleet.what_if(down=alike[:count]).collectives(_ALIKE_CLUSTER)
        one, all_alike = (
            median_seconds(partial(_collectives_without, fleet, places), 5) for places in (alike[:1], alike)
        )
        yield Row("collectives, 8 × u-trn2x64, one chip of each down", all_alike, one, "of one of them down", 1.5)


def _networkx_flows(graph: Graph, source: int, targets: Iterable[int]) -> list[float]:
    return [nx.minimum_cut_value(graph, source, target) for target in targets]


def flow_rows(directory: Path) -> Iterator[Row]:
    """Measure questions about an intact domain, against plain networkx."""
    with trninv.open(f"sqlite:///{directory}/domains.db") as fleet:
        for scope in ("u-trn2x64", "trn3-gen2"):
            scope_graph = _scope_graph(fleet, scope)
            weights = dict.fromkeys(scope_graph.endpoints, 1)
            first, *others = scope_graph.endpoints
            baseline = median_seconds(partial(_networkx_flows, scope_graph.graph, first, others), 1)
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
    _seed_domains(f"sqlite:///{directory}/domains.db")
    yield from bisection_rows(directory)
    yield from pair_flow_rows(directory)
    yield from damaged_cluster_rows(directory)
    yield from flow_rows(directory)
    yield rack_row(directory)
    if not (directory / "fleet.db").exists():
        seed_cluster(f"sqlite:///{directory}/fleet.db", domains)
    yield from cluster_rows(directory, domains)
