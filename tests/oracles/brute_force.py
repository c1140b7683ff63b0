"""Slow and obvious oracles: every path, every split. For graphs of up to sixteen chips."""

from collections.abc import Collection, Iterator
from itertools import combinations, pairwise
from typing import Any

import networkx as nx

from trninv.solvers.graph import Graph


def paths(graph: Graph, sources: Collection[int], targets: Collection[int]) -> Iterator[tuple[int, ...]]:
    """Every simple path that touches sources in its first node only and targets in its last only."""
    for source in sources:
        for target in targets:
            if source == target:
                yield (source,)
            elif source not in targets and target not in sources:
                inner = set(graph) - set(sources) - set(targets)
                for path in nx.all_simple_paths(graph.subgraph(inner | {source, target}), source, target):
                    yield tuple(path)


def narrowest(graph: Graph, path: tuple[int, ...]) -> float:
    return min((graph.edges[edge]["capacity"] for edge in pairwise(path)), default=float("inf"))


def cut(graph: Graph, side: Collection[int]) -> int:
    return sum(edge["capacity"] for a, b, edge in graph.edges(data=True) if (a in side) != (b in side))


def minimum_cut(graph: Graph, sources: Collection[int], targets: Collection[int]) -> int:
    """Least capacity over every set that holds the sources and none of the targets."""
    free = sorted(set(graph) - set(sources) - set(targets))
    return min(cut(graph, {*sources, *chosen}) for size in range(len(free) + 1) for chosen in combinations(free, size))


def bisection(graph: Graph, ends: Collection[int], fillers: int = 0) -> int:
    """Least capacity over every split of the endpoints in halves and every placing of the other nodes."""
    total = len(ends) + fillers
    free = sorted(set(graph) - set(ends))
    best = None
    for live in range(len(ends) + 1):
        if not any(live <= half <= live + fillers for half in (total // 2, total - total // 2)):
            continue
        for chosen in combinations(sorted(ends), live):
            for size in range(len(free) + 1):
                for others in combinations(free, size):
                    value = cut(graph, {*chosen, *others})
                    best = value if best is None else min(best, value)
    return best or 0


def least_flow(graph: "nx.DiGraph[Any]", ends: Collection[int]) -> int:
    """Return the least flow from one half of the ends to the other, over every split."""
    flows = []
    for half in halves(ends):
        joined = graph.copy()
        joined.add_edges_from(("s", end) for end in half)
        joined.add_edges_from((end, "t") for end in ends if end not in half)
        flows.append(int(nx.maximum_flow_value(joined, "s", "t")))
    return min(flows)


def minimum_cut_with_halves(graph: Graph, half: Collection[int], other: Collection[int]) -> int:
    """Least capacity between two given halves, by a flow algorithm that trninv does not use."""
    joined = Graph(graph)
    joined.add_edges_from(("s", node) for node in half)
    joined.add_edges_from(("t", node) for node in other)
    return int(nx.maximum_flow_value(joined, "s", "t", flow_func=nx.algorithms.flow.dinitz))


def halves(ends: Collection[int]) -> Iterator[tuple[int, ...]]:
    """Every set of half of the endpoints, rounded down."""
    return combinations(sorted(ends), len(ends) // 2)
