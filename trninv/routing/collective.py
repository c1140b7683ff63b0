"""What the wiring allows collectives to reach: limits of any schedule, not predictions of a library.

Endpoints have weights: 1 for a chip; in a cluster the network node above a domain stands for all chips elsewhere.

all-to-all  every unit of weight sends θ to every other: the maximum concurrent flow of uniform demands (Shahrokhi &
            Matula, J. ACM 37, 1990), a linear program over cheapest-path trees. The packed trees prove θ from below,
            the prices of the links from above: θ ≤ Σ capacity · price / Σ demand · distance.
all-gather  every chip receives x of every other: x is the least, over sets S that hold a chip but not all, of the
            capacity into S over the weight outside S, and is reached by packed trees (Edmonds 1973; Zhao et al.,
            ForestColl, 2024). Found by flows after Dinkelbach (Management Science 13, 1967), an exact fraction.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from trninv.routing.graph import Graph, capacities
from trninv.routing.split import capacity

Floats = NDArray[np.float64]

_ROUNDS = 200
_CLOSE = 1e-9
_KEPT = 0.5


@dataclass(frozen=True, slots=True)
class Concurrent:
    """Bounds on θ in bytes per second for each ordered pair; ``tight`` are the links that every solution fills."""

    lower: float
    upper: float
    tight: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Gather:
    """x in bytes per second for each pair, and a set S whose incoming links allow no more."""

    rate: Fraction
    into: frozenset[int]


def gather(graph: Graph, weights: Mapping[int, int]) -> Gather | None:
    """All-gather's rate; None with fewer than two chips.

    Parameters
    ----------
    weights
        Of the endpoints: 1, a chip; more, what stands for many. Other nodes forward only.

    """
    total = sum(weights.values())
    chips = sorted(node for node, weight in weights.items() if weight == 1)
    if total < 2 or not chips:  # noqa: PLR2004 # one chip has nobody to gather from
        return None
    best = min((Gather(Fraction(capacity(graph, {c}), total - 1), frozenset([c])) for c in chips), key=lambda g: g.rate)
    improved = True
    while improved:
        improved = False
        network = _fed(graph, weights, best.rate)
        for chip in chips:
            value, (_, side) = nx.minimum_cut(network, None, chip)
            if value < best.rate.numerator * total:
                outside = total - sum(weights.get(node, 0) for node in side)
                best = Gather(Fraction(capacity(graph, side), outside), frozenset(side))
                improved = True
                break
    return best


def _fed(graph: Graph, weights: Mapping[int, int], rate: Fraction) -> "nx.DiGraph[int | None]":
    """The graph with a source that gives each endpoint its own part; all times the rate's denominator."""
    network: nx.DiGraph[int | None] = nx.DiGraph()
    for a, b, carries in capacities(graph):
        network.add_edge(a, b, capacity=carries * rate.denominator)
        network.add_edge(b, a, capacity=carries * rate.denominator)
    for node, weight in weights.items():
        network.add_edge(None, node, capacity=weight * rate.numerator)
    return network


def concurrent(graph: Graph, weights: Mapping[int, int]) -> Concurrent:
    """All-to-all's θ; 0 where some pair is not connected."""
    nodes = sorted(graph)
    index = {node: i for i, node in enumerate(nodes)}
    edges = [(index[a], index[b], carries) for a, b, carries in capacities(graph) if carries]
    ends = np.array([index[node] for node in sorted(weights)])
    weight = np.array([weights[nodes[end]] for end in ends], dtype=float)
    if len(ends) < 2 or not edges:  # noqa: PLR2004 # nobody to send to
        return Concurrent(0.0, 0.0, ())
    a, b, carries = (np.array(column) for column in zip(*edges, strict=True))
    unit = float(carries.max())
    trees = _Trees(len(nodes), a, b, ends, weight)
    solver = _Master(2 * carries / unit, len(ends))
    centre = prices = 1 / (carries / unit)
    lower, upper = 0.0, np.inf
    for _ in range(_ROUNDS):
        found = trees.cheapest(centre)
        if found is None:
            return Concurrent(0.0, 0.0, ())
        loads, cost = found
        upper = min(upper, float(solver.capacity @ centre) / float(cost.sum()))
        lower, prices = solver.add(loads)
        if upper - lower <= _CLOSE * upper:
            break
        centre = _KEPT * centre + (1 - _KEPT) * prices / max(prices.max(), _CLOSE) * centre.max()
    filled = np.flatnonzero(prices > _CLOSE * prices.max())
    return Concurrent(lower * unit, upper * unit, tuple((nodes[a[at]], nodes[b[at]]) for at in filled))


@dataclass(frozen=True, slots=True)
class _Trees:
    """Cheapest-path trees from every endpoint to all the others, as loads of the edges by θ = 1."""

    count: int
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    ends: NDArray[np.int64]
    weight: Floats

    def cheapest(self, prices: Floats) -> tuple[Floats, Floats] | None:
        """Loads (endpoints × edges) and cost of each; None if some endpoints are not connected."""
        price = np.maximum(prices, 1e-12)
        both = np.r_[self.a, self.b], np.r_[self.b, self.a]
        network = csr_array((np.r_[price, price], both), shape=(self.count, self.count))
        distance, before = dijkstra(network, indices=self.ends, return_predecessors=True)
        if np.isinf(distance[:, self.ends]).any():
            return None
        edge_of = np.zeros((self.count, self.count), dtype=np.int64)
        edge_of[self.a, self.b] = edge_of[self.b, self.a] = np.arange(len(self.a))
        below = np.zeros((len(self.ends), self.count))
        below[:, self.ends] = self.weight
        loads = np.zeros((len(self.ends), len(self.a)))
        tree = np.arange(len(self.ends))
        reached = np.where(np.isinf(distance), -1, distance)
        for node in np.argsort(-reached, axis=1).T:  # leaves first
            parent = before[tree, node]
            inner = parent >= 0
            at = edge_of[parent[inner], node[inner]]
            loads[tree[inner], at] += below[tree[inner], node[inner]] * self.weight[inner]
            below[tree[inner], parent[inner]] += below[tree[inner], node[inner]]
        return loads, loads @ price


class _Master:
    """The linear program over the trees so far: every endpoint sends θ along trees, no link gets too much."""

    def __init__(self, capacity: Floats, ends: int) -> None:
        self.capacity, self._ends = capacity, ends
        self._loads: list[Floats] = []

    def add(self, loads: Floats) -> tuple[float, Floats]:
        """Best θ with more trees, and the prices of the links."""
        self._loads.append(loads)
        rounds = len(self._loads)
        columns = np.concatenate(self._loads)
        sends = np.tile(-np.eye(self._ends), rounds)
        matrix = np.block([[np.zeros((len(self.capacity), 1)), columns.T], [np.ones((self._ends, 1)), sends]])
        bounds = np.concatenate([self.capacity, np.zeros(self._ends)])
        cost = np.zeros(matrix.shape[1])
        cost[0] = -1
        solved = linprog(cost, A_ub=matrix, b_ub=bounds, method="highs")
        if solved.x is None:
            raise AssertionError(f"a linear program that always has a solution: {solved.message}")
        flows = solved.x[1:]
        loaded = (columns.T @ flows) / self.capacity
        sent = np.bincount(np.arange(len(columns)) % self._ends, weights=flows)
        theta = float(sent.min()) / max(float(loaded.max()), 1.0)
        return theta, np.maximum(-solved.ineqlin.marginals[: len(self.capacity)], 0)


def rings(graph: Graph, chips: Sequence[int], tries: int = 20_000) -> tuple[tuple[int, ...], ...]:
    """Hamiltonian cycles of the chips that share no link, widest links first, as far as a bounded search finds them.

    Both directions of a cycle carry a ring of their own, each at the capacity of the cycle's narrowest link.
    """
    left, found = Graph(graph.subgraph(chips)), []
    while cycle := _widest_cycle(left, chips, tries):
        found.append(cycle)
        left.remove_edges_from(_closed(cycle))
    return tuple(found)


def ring_rate(graph: Graph, cycles: Collection[Sequence[int]]) -> int:
    """Bus bandwidth of ring all-reduces on such cycles, both directions of each together: bytes per second."""
    return sum(2 * min(graph.edges[edge]["capacity"] for edge in _closed(cycle)) for cycle in cycles)


def _closed(cycle: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(cycle, [*cycle[1:], cycle[0]], strict=True)


def _widest_cycle(graph: Graph, chips: Sequence[int], tries: int) -> tuple[int, ...]:
    for floor in sorted({carries for _, _, carries in capacities(graph)}, reverse=True):
        wide = {node: {near for near, of in graph[node].items() if of["capacity"] >= floor} for node in chips}
        if cycle := _cycle(wide, chips, tries):
            return cycle
    return ()


def _cycle(near: Mapping[int, set[int]], chips: Sequence[int], tries: int) -> tuple[int, ...]:
    """A Hamiltonian cycle by depth-first search, nodes with the fewest ways on first (Warnsdorff's rule)."""
    if len(chips) < 3 or any(len(near[chip]) < 2 for chip in chips):  # noqa: PLR2004 # a cycle enters and leaves
        return ()
    path, on_path = [chips[0]], {chips[0]}
    stack = [_onward(near, path, on_path)]
    for _ in range(tries):
        if len(path) == len(chips) and chips[0] in near[path[-1]]:
            return tuple(path)
        if not stack:
            return ()
        if following := next(stack[-1], None):
            path.append(following)
            on_path.add(following)
            stack.append(_onward(near, path, on_path))
        else:
            stack.pop()
            on_path.discard(path.pop())
    return ()


def _onward(near: Mapping[int, set[int]], path: Sequence[int], on_path: Collection[int]) -> Iterator[int]:
    free = [node for node in near[path[-1]] if node not in on_path]
    return iter(sorted(free, key=lambda node: (len(near[node].difference(on_path)), node)))
