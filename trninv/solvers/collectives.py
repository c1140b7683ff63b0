"""What the wiring allows collectives to reach: limits of any schedule, not predictions of a library.

Endpoints have weights: 1 for a chip; in a cluster the network node above a domain stands for all chips elsewhere.

all-to-all  every unit of weight sends θ to every other: the maximum concurrent flow of uniform demands (Shahrokhi &
            Matula, J. ACM 37, 1990), a linear program over cheapest-path trees. The packed trees prove θ from below,
            the prices of the links from above: θ ≤ Σ capacity · price / Σ demand · distance.
all-gather  every chip receives x of every other: x is the least, over sets S that hold a chip but not all, of the
            capacity into S over the weight outside S, and is reached by packed trees (Edmonds 1973; Zhao et al.,
            ForestColl, 2024). Found by flows after Dinkelbach (Management Science 13, 1967), an exact fraction.
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
from trninv.solvers.arcs import directed_adjacency, node_of_port
from trninv.solvers.graph import Graph, weighted_edges
from trninv.solvers.split import cut_capacity
from trninv.solvers.symmetry import symmetry_orbits
from trninv.solvers.trees import Floats, Ints, price_matrix, subtree_weights

MAX_TREES = 4_000
"""Trees of one linear program, which grows by one from each kind of endpoint a round: work and not time."""
_RELATIVE_GAP = 1e-9
_PRICE_SMOOTHING = 0.92
_MIN_PRICE = 1e-7
"""Price of a link that costs nothing, the dearest being 1: of free ways the one with fewer links is taken."""
_INT32 = 2**31
"""SciPy's flows and residues are of 32 bits; larger ones are left to networkx."""


@dataclass(frozen=True, slots=True)
class ConcurrentFlow:
    """Bounds on θ in bytes per second for each ordered pair.

    Attributes
    ----------
    tight
        Links that every solution fills; none are told where what was known before allows no more.
    columns
        Trees that it took.

    """

    lower: float
    upper: float
    bottleneck: tuple[tuple[int, int], ...]
    tree_count: int = 0


@dataclass(frozen=True, slots=True)
class AllGatherRate:
    """x in bytes per second for each pair, and a set S whose incoming links allow no more."""

    rate: Fraction
    bottleneck: frozenset[int]


def all_gather_rate(graph: Graph, weights: Mapping[int, int]) -> AllGatherRate | None:
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
    best = min(
        (AllGatherRate(Fraction(cut_capacity(graph, {chip}), total - 1), frozenset([chip])) for chip in chips),
        key=lambda g: g.rate,
    )
    pending, flow = list(chips), _SourceFlow(graph, weights, best.rate)
    while pending:
        # a set that allowed more of the last rate may allow too little of no lower one: each chip is asked once
        violated_cut = flow.violated_cut(pending[-1])
        if violated_cut is None:
            pending.pop()
        else:
            outside = total - sum(weights.get(node, 0) for node in violated_cut)
            best = AllGatherRate(Fraction(cut_capacity(graph, violated_cut), outside), violated_cut)
            flow = _SourceFlow(graph, weights, best.rate)
    return best


class _SourceFlow:
    """Every endpoint is given its own part at a rate, to send it to one chip."""

    def __init__(self, graph: Graph, weights: Mapping[int, int], rate: Fraction) -> None:
        graph = solvers.ports.contract_nics(graph)
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
        max_residual = 2 * max(capacity for _, _, capacity in self._arcs)  # no link's residue is more than it has twice
        self._matrix = None if max(self._demand, max_residual) >= _INT32 else self._capacity_matrix()

    def _capacity_matrix(self) -> csr_array:
        table = np.array(self._arcs, dtype=np.int32)
        return csr_array((table[:, 2], (table[:, 0], table[:, 1])), shape=(self._source + 1, self._source + 1))

    def violated_cut(self, chip: int) -> frozenset[int] | None:
        """A set with a chip that can't take the rate from each unit of weight outside of it; None if there is none.

        A cut of all that is given to the chip is what the set takes and owns.
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
    """All-to-all's θ; 0 where some pair is not connected.

    Prices come near to a proof long after trees that fill the wiring are found, so a bound that is known spares most of
    the work.

    Parameters
    ----------
    most
        Known before: no more, or more does not matter.
    columns
        Trees that it may take, or those of one round; then the bounds so far stand.

    Raises
    ------
    TimeLimitError
        The deadline came first.

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
        Of `trees.below`, by the edges' numbers in the graph; a NIC is two ports (`trninv.solvers.arcs`).
        Turned round they are the same, so what the trees load counts for both directions of an edge together.
    weight
        Of nodes and ports.

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
        """Price of all demands by θ = 1; links may cost nothing."""
        distance = dijkstra(price_matrix(self.arcs, prices, len(self.weight)), indices=self.endpoints)[
            :, self.endpoints
        ]
        return float(self.weight[self.endpoints] @ distance @ self.weight[self.endpoints])

    def cheapest_loads(self, prices: Floats) -> Floats | None:
        """Loads of the edges (endpoints × edges) by θ = 1; None if some endpoints are not connected."""
        min_price = prices.max() * _MIN_PRICE  # so that of free ways the one with fewer links is taken
        loads = subtree_weights(self.arcs, np.maximum(prices, min_price), self.endpoints, self.weight)
        return None if loads is None else loads * self.weight[self.endpoints][:, None]


def _symmetry_classes(graph: Graph, weights: Mapping[int, int], links: Sequence[tuple[int, ...]]) -> tuple[Ints, Ints]:
    """Numbers of the links' and of the endpoints' classes: a symmetry takes each to any other of its class."""
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
