"""Compute the rates that a graph allows collectives: limits of any schedule, not predictions of a library.

Endpoints have weights: 1 for a chip; in a cluster the network node above a domain stands for all chips elsewhere.

all-to-all  Every unit of weight sends θ to every other: the maximum concurrent flow of uniform demands (Shahrokhi &
            Matula, J. ACM 37, 1990), a linear program over cheapest-path trees. The packed trees prove θ from below,
            the prices of the links from above: θ ≤ Σ capacity · price / Σ demand · distance.
all-gather  Every chip receives x from every other. x is the least, over sets S with some chips but not all, of the
            capacity into S over the weight outside S; packed trees attain it (Edmonds 1973; Zhao et al., ForestColl,
            2024). Dinkelbach's method (Management Science 13, 1967) computes it by flows, as an exact fraction.
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
from trninv.solvers.symmetry import symmetry_orbits

MAX_TREES = 4_000
"""Limit of trees in a linear program, which gains one per class of endpoints each round: work, not time."""
_RELATIVE_GAP = 1e-9
_PRICE_SMOOTHING = 0.92
_MIN_PRICE = 1e-7
"""Price of a free link relative to the dearest one, so that of free paths the shortest is taken."""
_INT32 = 2**31
"""SciPy's flows and residual capacities have 32 bits; networkx computes larger ones."""


@dataclass(frozen=True, slots=True)
class ConcurrentFlow:
    """Bounds on θ in bytes per second for each ordered pair.

    Attributes
    ----------
    bottleneck
        Links that every solution fills; empty if ``max_rate`` was the limit.
    tree_count
        Trees in the linear program.

    """

    lower: float
    upper: float
    bottleneck: tuple[tuple[int, int], ...]
    tree_count: int = 0


@dataclass(frozen=True, slots=True)
class AllGatherRate:
    """x in bytes per second for each pair, and a set S whose incoming links limit it."""

    rate: Fraction
    bottleneck: frozenset[int]


def all_gather_rate(graph: Graph, weights: Mapping[int, int]) -> AllGatherRate | None:
    """Return the rate of an all-gather, or None with fewer than two chips.

    Edmonds (1973) proves that packed trees attain it; Dinkelbach's method (1967) finds the limiting set. At least one
    maximum flow for each chip and one for each better set: O(V) flows in practice.

    Parameters
    ----------
    weights
        Weight of each endpoint: 1 for a chip, more for a node that stands for many. Other nodes only forward.

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
        key=lambda g: g.rate,
    )
    pending, flow = list(chips), _SourceFlow(graph, weights, best.rate)
    while pending:
        # the rate only falls, and a chip that can receive a rate can receive a lower one: check each once
        violated_cut = flow.violated_cut(pending[-1])
        if violated_cut is None:
            pending.pop()
        else:
            outside = total - sum(weights.get(node, 0) for node in violated_cut)
            best = AllGatherRate(Fraction(cut_capacity(graph, violated_cut), outside), violated_cut)
            flow = _SourceFlow(graph, weights, best.rate)
    return best


class _SourceFlow:
    """A flow network whose source feeds every endpoint its own part at a rate, to be sent to one chip."""

    def __init__(self, graph: Graph, weights: Mapping[int, int], rate: Fraction) -> None:
        graph = solvers.graph.contract_nics(graph)
        links = directed_adjacency(graph.nodes, dict(graph.adjacency())).successors
        unit = gcd(*(capacity for _, _, capacity in weighted_edges(graph))) or 1
        scaled_rate = rate / unit
        self._nodes = sorted(links)
        self._index = {node: index for index, node in enumerate(self._nodes)}
        self._source, self._demand = len(self._nodes), scaled_rate.numerator * sum(weights.values())
        link_arcs = [
            (self._index[a], self._index[b], link["capacity"] // unit * scaled_rate.denominator)
            for a, successors in links.items()
            for b, link in successors.items()
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
        """Return a set with the chip that cannot receive the rate from all weight outside; None if there is none.

        It is the chip's side of a minimum cut below the demand.
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
        for a, b, capacity in self._arcs:
            network.add_edge(a, b, capacity=capacity)
        value, (_, side) = nx.minimum_cut(network, self._source, target)
        return frozenset(self._nodes[index] for index in side) if value < self._demand else None


def max_concurrent_flow(
    graph: Graph, weights: Mapping[int, int], max_rate: float = np.inf, max_trees: int = MAX_TREES
) -> ConcurrentFlow:
    """Return bounds on θ of an all-to-all; 0 if some pair is not connected.

    Maximum concurrent flow (Shahrokhi & Matula 1990) by column generation with smoothed prices. Each round costs a
    Dijkstra search from every endpoint and a linear program; ``max_trees`` limits them. The trees fill the links long
    before prices prove it, so a known bound saves most of the work.

    Parameters
    ----------
    max_rate
        A rate that is known to be an upper bound, or beyond which the value does not matter.
    max_trees
        Limit of trees, at least one round; the bounds so far are returned then.

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
    trees = _ShortestPathTrees.from_graph(graph, weights)
    solver = solvers.tree_program.TreeProgram(
        2 * edge_capacities / unit, *_symmetry_classes(graph, weights, [edge[:2] for edge in edges])
    )
    center = prices = 1 / solver.capacity / len(edges)
    lower, upper = 0.0, max_rate / unit
    while True:
        deadline.raise_if_expired()
        loads = trees.cheapest_loads(center)
        if loads is None:
            return ConcurrentFlow(0.0, 0.0, ())
        lower, prices = solver.add_columns(loads)
        prices /= solver.capacity @ prices
        upper = min(upper, *(float(solver.capacity @ p) / c for p in (center, prices) if (c := trees.cost(p)) > 0))
        if upper - lower <= _RELATIVE_GAP * upper or solver.tree_count >= max_trees:
            break
        center = _PRICE_SMOOTHING * center + (1 - _PRICE_SMOOTHING) * prices
    saturated = np.flatnonzero(prices > _RELATIVE_GAP * prices.max()) if upper < max_rate / unit else ()
    bottleneck = tuple(edges[index][:2] for index in saturated)
    return ConcurrentFlow(min(lower * unit, max_rate), upper * unit, bottleneck, solver.tree_count)


@dataclass(frozen=True, slots=True)
class _ShortestPathTrees:
    """Cheapest-path trees from every endpoint to all the others.

    Attributes
    ----------
    arcs
        As `trninv.solvers.path_trees.subtree_weights` takes them, with the edges' numbers in the graph; a NIC is two
        ports (`trninv.solvers.adjacency`). Reversed they are the same, so loads count for both directions of an edge
        together.
    endpoints
        Indices of the endpoints.
    weight
        Weight of each node and port.

    """

    arcs: Ints
    endpoints: Ints
    weight: Floats

    @classmethod
    def from_graph(cls, graph: Graph, weights: Mapping[int, int]) -> "_ShortestPathTrees":
        successors = directed_adjacency(graph.nodes, dict(graph.adjacency())).successors
        index = {node: i for i, node in enumerate(sorted(successors))}
        edge_number = {frozenset(edge): i for i, edge in enumerate(graph.edges)}
        arc_rows = [
            (index[a], index[b], edge_number[frozenset((node_of_port(a), node_of_port(b)))])
            for a in successors
            for b in successors[a]
        ]
        weight = np.array([float(weights.get(node, 0)) for node in sorted(successors)])
        return cls(np.array(arc_rows), np.flatnonzero(weight), weight)

    def cost(self, prices: Floats) -> float:
        """Return the price of all demands at θ = 1; links may be free."""
        distance = dijkstra(price_matrix(self.arcs, prices, len(self.weight)), indices=self.endpoints)[
            :, self.endpoints
        ]
        return float(self.weight[self.endpoints] @ distance @ self.weight[self.endpoints])

    def cheapest_loads(self, prices: Floats) -> Floats | None:
        """Return the loads of the edges (endpoints × edges) at θ = 1; None if some endpoints are not connected."""
        min_price = prices.max() * _MIN_PRICE
        loads = subtree_weights(self.arcs, np.maximum(prices, min_price), self.endpoints, self.weight)
        return None if loads is None else loads * self.weight[self.endpoints][:, None]


def _symmetry_classes(graph: Graph, weights: Mapping[int, int], links: Sequence[tuple[int, ...]]) -> tuple[Ints, Ints]:
    """Return the class of each link and of each endpoint: symmetries map its members onto each other."""
    class_of = {
        part: class_number for class_number, orbit in enumerate(symmetry_orbits(graph, weights)) for part in orbit
    }
    parts = (
        [(tuple(sorted(endpoint_classes)),) for endpoint_classes in links],
        [((node,),) for node in sorted(weights) if weights[node]],
    )
    link_classes, endpoint_classes = (
        np.unique([class_of[part] for part in members], return_inverse=True)[1] for members in parts
    )
    return link_classes, endpoint_classes
