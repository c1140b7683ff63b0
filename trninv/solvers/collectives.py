"""Compute the highest rates that a graph allows all-to-all and all-gather: limits, not predictions of a library.

The question `trninv.routing.questions.collectives` calls this module, as do sweeps over failures and placement.

Endpoints have weights. A chip has weight 1. If the graph is one domain of a cluster, the network node above the domain
is an endpoint too, whose weight is the number of chips in other domains.

all-to-all  Every unit of weight sends at the rate θ to every other unit: the maximum concurrent flow of uniform demands
            (Shahrokhi & Matula, J. ACM 37, 1990), a linear program over cheapest-path trees. The packed trees bound θ
            from below, the prices of the links from above: θ ≤ Σ capacity · price / Σ demand · distance.
all-gather  Every chip receives at the rate x from every other unit. For a set S with some chips but not all, x is at
            most the capacity into S divided by the weight outside S. The least of these bounds is x, because packed
            trees attain it (Edmonds 1973; Zhao et al., ForestColl, 2024). Dinkelbach's method (Management Science 13,
            1967) computes it by flows, as an exact fraction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import networkx as nx
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, dijkstra, maximum_flow

from trninv import deadline, solvers
from trninv.solvers.adjacency import directed_adjacency, node_of_port
from trninv.solvers.graph import Graph, cut_capacity, weighted_edges
from trninv.solvers.path_trees import Floats, Ints, price_matrix, subtree_weights
from trninv.solvers.symmetry import Failure, symmetry_orbits

MAX_TREES = 4_000
"""Limit of trees in a linear program, to which each round adds one for each orbit of equivalent endpoints.

It limits work instead of time, so a busy machine gives the same answer.
"""
_RELATIVE_GAP = 1e-9
"""The bounds count as equal if they differ by at most this fraction."""
_PRICE_SMOOTHING = 0.92
"""Weight of the old prices in the average of old and new prices, which keeps prices from oscillating."""
_MIN_PRICE = 1e-7
"""Price of a free link as a fraction of the highest price. It makes the shortest of several free paths the cheapest."""
_INT32 = 2**31
"""SciPy's flows and residual capacities must be less than this; networkx computes larger flows."""


@dataclass(frozen=True, slots=True)
class ConcurrentFlow:
    """Bounds on θ of an all-to-all, in bytes per second for each ordered pair.

    Attributes
    ----------
    bottleneck
        Links that every solution fills; empty if the caller's limit of the rate was reached first.
    tree_count
        Trees in the linear program.

    """

    lower: float
    upper: float
    bottleneck: tuple[tuple[int, int], ...]
    tree_count: int = 0


@dataclass(frozen=True, slots=True)
class AllGatherRate:
    """The rate x of an all-gather in bytes per second for each pair, and a set S whose incoming links limit it."""

    rate: Fraction
    bottleneck: frozenset[int]


def all_gather_rate(graph: Graph, weights: Mapping[int, int]) -> AllGatherRate | None:
    """Return the rate of an all-gather, or None with fewer than two chips.

    Edmonds (1973) proves that packed trees attain the rate; Dinkelbach's method (1967) finds the set of nodes that
    limits it. One maximum flow for each orbit of equivalent chips and for each lower rate: O(V) flows in practice.

    Parameters
    ----------
    weights
        Weight of each endpoint: 1 for a chip, more for a node that represents many chips. Other nodes only forward.

    Examples
    --------
    Chip 1 of a ring receives from three others over links of 30 and 10, so (30 + 10) / 3 from each; chips 3 and 4
    together receive from two others over links of 20 and 10, so (20 + 10) / 2. The lesser is the rate:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> result = all_gather_rate(graph, {1: 1, 2: 1, 3: 1, 4: 1})
    >>> result.rate, sorted(result.bottleneck)
    (Fraction(40, 3), [1])

    """
    total = sum(weights.values())
    chips = sorted(node for node, weight in weights.items() if weight == 1)
    if total < 2 or not chips:  # noqa: PLR2004 # one chip has nobody to gather from
        return None
    best = min(
        (AllGatherRate(Fraction(cut_capacity(graph, {chip}), total - 1), frozenset([chip])) for chip in chips),
        key=lambda candidate: candidate.rate,
    )
    pending = [
        orbit[0][0][0]
        for orbit in symmetry_orbits(graph, weights)
        if weights.get(orbit[0][0][0]) == 1 and len(orbit[0][0]) == 1
    ]
    flow = _SourceFlow(graph, weights, best.rate)
    while pending:
        # a chip that can receive the rate, as then can all chips of its orbit, is done, because the rate only falls
        violated_cut = flow.violated_cut(pending[-1])
        if violated_cut is None:
            pending.pop()
        else:
            outside = total - sum(weights.get(node, 0) for node in violated_cut)
            best = AllGatherRate(Fraction(cut_capacity(graph, violated_cut), outside), violated_cut)
            flow = _SourceFlow(graph, weights, best.rate)
    return best


class _SourceFlow:
    """A flow network that tests whether a chip can receive at a rate from every other unit of weight.

    An additional node, the source, feeds each endpoint with the rate times the endpoint's weight.
    """

    def __init__(self, graph: Graph, weights: Mapping[int, int], rate: Fraction) -> None:
        graph = solvers.graph.contract_nics(graph)
        links = directed_adjacency(graph.nodes, dict(graph.adjacency())).successors
        unit = gcd(*(capacity for _, _, capacity in weighted_edges(graph))) or 1
        scaled_rate = rate / unit
        self._nodes = sorted(links)
        self._index = {node: index for index, node in enumerate(self._nodes)}
        self._source, self._demand = len(self._nodes), scaled_rate.numerator * sum(weights.values())
        link_arcs = [
            (self._index[u], self._index[v], link["capacity"] // unit * scaled_rate.denominator)
            for u, successors in links.items()
            for v, link in successors.items()
        ]
        source_arcs = [
            (self._source, self._index[node], weight * scaled_rate.numerator) for node, weight in weights.items()
        ]
        self._arcs = [*link_arcs, *source_arcs]
        # a residual capacity is at most twice the capacity
        max_residual = 2 * max(capacity for _, _, capacity in self._arcs)
        self._matrix = None if max(self._demand, max_residual) >= _INT32 else self._capacity_matrix()

    def _capacity_matrix(self) -> csr_array:
        table = np.array(self._arcs, dtype=np.int32)
        return csr_array((table[:, 2], (table[:, 0], table[:, 1])), shape=(self._source + 1, self._source + 1))

    def violated_cut(self, chip: int) -> frozenset[int] | None:
        """Return a set with the chip into which the rate times the weight outside does not fit; None if there is none.

        The set is the chip's side of a minimum cut, if the cut's capacity is less than the demand of all endpoints.
        """
        deadline.raise_if_expired()
        if not self._demand:
            return None
        target = self._index[chip]
        if self._matrix is None:
            return self._violated_cut_by_networkx(target)
        max_flow = maximum_flow(self._matrix, self._source, target)
        if max_flow.flow_value >= self._demand:
            return None
        residual = csr_array(self._matrix - max_flow.flow)
        residual.data = (residual.data > 0).astype(np.int32)
        residual.eliminate_zeros()
        reachable = breadth_first_order(residual, self._source, return_predecessors=False)
        return frozenset(self._nodes[index] for index in set(range(self._source)).difference(reachable.tolist()))

    def _violated_cut_by_networkx(self, target: int) -> frozenset[int] | None:
        network: nx.DiGraph[int] = nx.DiGraph()
        for u, v, capacity in self._arcs:
            network.add_edge(u, v, capacity=capacity)
        value, (_, side) = nx.minimum_cut(network, self._source, target)
        return frozenset(self._nodes[index] for index in side) if value < self._demand else None


def max_concurrent_flow(
    graph: Graph, weights: Mapping[int, int], max_rate: float = np.inf, max_trees: int = MAX_TREES
) -> ConcurrentFlow:
    """Return bounds on the rate θ of an all-to-all; 0 if some pair is not connected.

    Maximum concurrent flow (Shahrokhi & Matula 1990) by column generation with smoothed prices. Each round costs one
    Dijkstra search for each orbit of equivalent endpoints and a linear program; ``max_trees`` limits the rounds. The
    trees reach the best rate long before the prices prove it, so a known upper bound saves most of the work.

    Parameters
    ----------
    max_rate
        A rate that is known to be an upper bound, or beyond which the value does not matter.
    max_trees
        Limit of trees. At least one round is made; at the limit, the bounds so far are returned.

    Raises
    ------
    TimeLimitError
        The deadline came first.

    Examples
    --------
    Chips 1 and 2 of a ring send θ to each of chips 3 and 4, so 4·θ over links of 20 and 10:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> graph.add_nodes_from([1, 2, 3, 4], kind="chip")
    >>> result = max_concurrent_flow(graph, {1: 1, 2: 1, 3: 1, 4: 1})
    >>> round(result.lower, 6), round(result.upper, 6), result.bottleneck
    (7.5, 7.5, ((1, 4), (2, 3)))

    """
    edges = weighted_edges(graph)
    if len(weights) < 2 or not edges:  # noqa: PLR2004 # nobody to send to
        return ConcurrentFlow(0.0, 0.0, ())
    edge_capacities = np.array([capacity for _, _, capacity in edges])
    unit = float(edge_capacities.max())
    orbits = symmetry_orbits(graph, weights)
    trees = _CheapestPathTrees.from_graph(graph, weights, orbits)
    link_class = {part: number for number, orbit in enumerate(orbits) for (part,) in orbit}
    link_classes = np.unique([link_class[min(u, v), max(u, v)] for u, v, _ in edges], return_inverse=True)[1]
    solver = solvers.tree_program.TreeProgram(2 * edge_capacities / unit, link_classes, trees.orbit_sizes)
    center = prices = 1 / solver.capacity / len(edges)
    lower, upper = 0.0, max_rate / unit
    while True:
        deadline.raise_if_expired()
        loads = trees.cheapest_loads(center)
        if loads is None:
            return ConcurrentFlow(0.0, 0.0, ())
        lower, prices = solver.add_columns(loads)
        prices /= solver.capacity @ prices
        costs = [(trial, trees.cost(trial)) for trial in (center, prices)]
        upper = min(upper, *(float(solver.capacity @ trial) / cost for trial, cost in costs if cost > 0))
        if upper - lower <= _RELATIVE_GAP * upper or solver.tree_count >= max_trees:
            break
        center = _PRICE_SMOOTHING * center + (1 - _PRICE_SMOOTHING) * prices
    saturated = np.flatnonzero(prices > _RELATIVE_GAP * prices.max()) if upper < max_rate / unit else ()
    bottleneck = tuple(edges[index][:2] for index in saturated)
    upper = min(upper * unit, max_rate)
    # the linear program may round its value up above the bound
    return ConcurrentFlow(min(lower * unit, upper), upper, bottleneck, solver.tree_count)


@dataclass(frozen=True, slots=True)
class _CheapestPathTrees:
    """Cheapest-path trees to all endpoints, one from an endpoint of each orbit.

    An orbit is a set of nodes or links that symmetries of the graph map onto each other. Links of an orbit have equal
    prices, so the trees of the other endpoints are images of these.

    Attributes
    ----------
    arcs
        Rows of tail, head and number of the edge in the graph, as `trninv.solvers.path_trees.subtree_weights` takes
        them; a NIC is two ports (`trninv.solvers.adjacency`). The reversed arcs are the same set, so loads count for
        both directions of an edge together.
    roots
        Indices of one endpoint of each orbit.
    orbit_sizes
        Number of endpoints in each orbit.
    weight
        Weight of each node and port.

    """

    arcs: Ints
    roots: Ints
    orbit_sizes: Ints
    weight: Floats

    @classmethod
    def from_graph(
        cls, graph: Graph, weights: Mapping[int, int], orbits: Sequence[Sequence[Failure]]
    ) -> "_CheapestPathTrees":
        successors = directed_adjacency(graph.nodes, dict(graph.adjacency())).successors
        index = {node: i for i, node in enumerate(sorted(successors))}
        edge_number = {frozenset(edge): i for i, edge in enumerate(graph.edges)}
        arc_rows = [
            (index[u], index[v], edge_number[frozenset((node_of_port(u), node_of_port(v)))])
            for u in successors
            for v in successors[u]
        ]
        weight = np.array([float(weights.get(node, 0)) for node in sorted(successors)])
        endpoint_orbits = [orbit for orbit in orbits if weights.get(orbit[0][0][0]) and len(orbit[0][0]) == 1]
        roots = np.array([index[orbit[0][0][0]] for orbit in endpoint_orbits])
        return cls(np.array(arc_rows), roots, np.array([len(orbit) for orbit in endpoint_orbits]), weight)

    def cost(self, prices: Floats) -> float:
        """Return Σ demand · distance at θ = 1, where the length of a link is its price, which may be 0."""
        distance = dijkstra(price_matrix(self.arcs, prices, len(self.weight)), indices=self.roots)
        endpoints = np.flatnonzero(self.weight)
        return float((self.weight[self.roots] * self.orbit_sizes) @ distance[:, endpoints] @ self.weight[endpoints])

    def cheapest_loads(self, prices: Floats) -> Floats | None:
        """Return each tree's loads of the edges (orbits × edges) at θ = 1; None if some endpoints are not connected."""
        min_price = prices.max() * _MIN_PRICE
        loads = subtree_weights(self.arcs, np.maximum(prices, min_price), self.roots, self.weight)
        return None if loads is None else loads * self.weight[self.roots][:, None]
