"""Bound balanced cuts from below by packing spanning trees and from above by tabu search.

`trninv.solvers.bisection` calls this module for graphs that are too large to enumerate.

Let both sides of a cut have at least b endpoints. For a tree rooted at r, the sum of min(endpoints below the edge, b)
over its cut edges is at least b, because at least b endpoints are on the other side than r, and the path from each of
them to r is cut (Ferreira, Martin, de Souza, Weismantel & Wolsey, Math. Programming 74, 1996). Pack trees with weights
λ so that no edge is loaded beyond its capacity. Then every such cut carries at least b·Σ λ. A linear program finds the
weights; the bound is then computed in integers.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, gcd

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from trninv import deadline
from trninv.solvers.adjacency import directed_adjacency, node_of_port
from trninv.solvers.graph import Graph
from trninv.solvers.path_trees import Floats, Ints, subtree_weights

_MAX_ROUNDS = 40
"""Limit of rounds, each of which adds trees."""
_SCALE = 2**40
"""Weights of trees are rounded down to multiples of 1 / `_SCALE`."""
_TOLERANCE = 1e-7
"""Rounding error allowed in comparisons of the linear program's results."""
_MIN_PRICE = 1e-12
"""Price of a free edge. It makes the shortest of several free paths the cheapest."""
_PRICE_SMOOTHING = 0.6
"""Weight of the old prices in the average of old and new prices, which keeps prices from oscillating."""
_NO_MOVE = -(2**60)
"""Gain of a node that must not move."""
_MIN_PROGRESS, _PATIENCE = 1e-3, 3
"""`pack_trees` stops after `_PATIENCE` rounds in a row that raise the bound by less than `_MIN_PROGRESS` of it."""


@dataclass(frozen=True)
class CutProblem:
    """A graph as arrays, with each NIC as its two ports; nodes are numbered by rising id.

    Attributes
    ----------
    nodes
        Ids of nodes and ports.
    weight
        1 for an endpoint, 0 for another node that may be on either side, and more than the number of endpoints for a
        node that must be on side 0.
    endpoints, capacity
        Numbers of the two nodes that each edge connects (edges × 2), and the edge's capacity.
    one_way
        Whether each edge leads only from its first node to its second. Then it is cut only if the first node is on side
        1 and the second on side 0.
    link_of_edge
        Number of the link to which each edge belongs. A link of a NIC has two edges, one to or from each port.

    """

    nodes: tuple[int, ...]
    weight: Ints
    endpoints: Ints
    capacity: Ints
    one_way: NDArray[np.bool_]
    link_of_edge: Ints

    @classmethod
    def from_graph(cls, graph: Graph, endpoints: Collection[int], sink: int | None = None) -> "CutProblem":
        """Build the problem of dividing a graph's endpoints, with ``sink``, if any, on side 0."""
        successors_of = directed_adjacency(graph.nodes, dict(graph.adjacency())).successors
        nodes = tuple(sorted(successors_of))
        index = {node: i for i, node in enumerate(nodes)}
        edges = sorted(
            (index[u], index[v], link["capacity"], u not in successors_of[v])
            for u, successors in successors_of.items()
            for v, link in successors.items()
            if link["capacity"] and (u < v or u not in successors_of[v])
        )
        table = np.array(edges, dtype=np.int64).reshape(-1, 4)
        link_keys = [frozenset((node_of_port(nodes[u]), node_of_port(nodes[v]))) for u, v, _, _ in edges]
        link_number = {key: number for number, key in enumerate(dict.fromkeys(link_keys))}
        weight = np.zeros(len(nodes), dtype=np.int64)
        weight[[index[endpoint] for endpoint in endpoints]] = 1
        if sink is not None:
            weight[index[sink]] = len(endpoints) + 1
        link_of_edge = np.array([link_number[key] for key in link_keys], dtype=np.int64)
        return cls(nodes, weight, table[:, :2], table[:, 2], table[:, 3] > 0, link_of_edge)

    @cached_property
    def unit(self) -> int:
        """Greatest common divisor of the capacities, of which every cut is a multiple."""
        return gcd(*map(int, self.capacity)) or 1

    @cached_property
    def is_endpoint(self) -> NDArray[np.bool_]:
        """Which nodes are endpoints."""
        mask: NDArray[np.bool_] = self.weight == 1
        return mask

    def min_side(self, min_size: int, max_size: int) -> int:
        """Return the least number of endpoints on either side if side 1 has ``min_size`` to ``max_size`` of them."""
        return min(min_size, int(self.is_endpoint.sum()) - max_size)

    @cached_property
    def key(self) -> bytes:
        """A key that is equal for graphs that differ only in their node ids, if the ids are in the same order."""
        return b"/".join(part.tobytes() for part in (self.weight, self.endpoints, self.capacity, self.one_way))

    @cached_property
    def arcs(self) -> Ints:
        """Rows of tail node, head node and link for each direction of an edge, for `path_trees.subtree_weights`."""
        forward = np.c_[self.endpoints, self.link_of_edge]
        arcs: Ints = np.r_[forward, forward[~self.one_way][:, [1, 0, 2]]]
        return arcs

    @cached_property
    def matrix(self) -> Ints:
        """Capacities between nodes, in multiples of ``unit``."""
        table = np.zeros((len(self.nodes),) * 2, dtype=np.int64)
        u, v = self.endpoints.T
        table[u, v] = table[v, u] = self.capacity // self.unit
        return table

    def mask(self, members: Collection[int]) -> NDArray[np.bool_]:
        """Return a vector that says of each node whether it is in a set."""
        return np.isin(self.nodes, list(members))

    def members(self, side: NDArray[np.bool_]) -> frozenset[int]:
        """Return the set of nodes of a vector, without NICs, whose two ports can be on different sides."""
        return frozenset(
            node for node, is_in in zip(self.nodes, side, strict=True) if is_in and node == node_of_port(node)
        )

    def cut_capacity(self, side: NDArray[np.bool_]) -> int:
        """Return the capacity of the edges from a set of nodes to the rest."""
        u, v = self.endpoints.T
        return int(self.capacity[(side[u] > side[v]) | ((side[u] < side[v]) & ~self.one_way)].sum())


@dataclass(frozen=True, slots=True)
class TreePacking:
    """The lower bound of a cut that packed trees prove, and the load of each tree on each edge (trees × edges)."""

    bound: int
    trees: Ints


def pack_trees(problem: CutProblem, min_side: int, target: int) -> TreePacking:
    """Return the best lower bound that packed trees prove for cuts with ``min_side`` endpoints or more on either side.

    Tree-balance inequalities (Ferreira et al. 1996) are packed by column generation with smoothed prices, in at most 40
    rounds of a Dijkstra search from every endpoint and a linear program. The search stops once ``target`` is proven. If
    some endpoints are not connected, there is no tree, and the bound is 0.

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> pack_trees(CutProblem.from_graph(graph, [1, 2, 3, 4]), min_side=2, target=30).bound
    30

    """
    tree_rows: Ints = np.zeros((0, len(problem.capacity)), dtype=np.int64)
    if min_side <= 0 or not len(problem.capacity):
        return TreePacking(0, tree_rows)
    capacities = problem.capacity / problem.unit
    center = prices = 1.0 / capacities
    weights: Floats = np.zeros(0)
    best_bound, stalled = 0.0, 0
    for _ in range(_MAX_ROUNDS):
        deadline.raise_if_expired()
        cheapest = shortest_path_trees(problem, center, min_side)
        if cheapest is None:
            return TreePacking(0, tree_rows)
        # a tree improves the packing only if its edges' prices sum to less than 1, which a unit of its weight is worth
        new_rows = cheapest[cheapest @ prices < 1 - _TOLERANCE] if len(tree_rows) else cheapest
        if not len(new_rows) and center is prices:
            break
        tree_rows = np.unique(np.concatenate([tree_rows, new_rows]), axis=0)
        solved = linprog(-np.ones(len(tree_rows)), A_ub=tree_rows.T.astype(float), b_ub=capacities, method="highs")
        if solved.x is None:
            break
        weights, prices = solved.x, np.maximum(-solved.ineqlin.marginals, 0)
        # bounds are rounded up to a multiple of the unit, so a bound above the last multiple below the target proves it
        if min_side * weights.sum() > target / problem.unit - 1 + _TOLERANCE:
            break
        stalled = stalled + 1 if weights.sum() < best_bound * (1 + _MIN_PROGRESS) else 0
        if stalled == _PATIENCE:
            break
        best_bound = weights.sum()
        center = _PRICE_SMOOTHING * center + (1 - _PRICE_SMOOTHING) * prices if len(new_rows) else prices
    used = weights > 0
    return TreePacking(_scale_to_feasible(problem, tree_rows[used], weights[used], min_side), tree_rows[used])


def _scale_to_feasible(problem: CutProblem, tree_rows: Ints, weights: Floats, min_side: int) -> int:
    """Return the bound that the trees prove, in integers, after scaling their weights so that no edge is overloaded."""
    integer_weights = [int(weight * _SCALE) for weight in weights]
    loads = [
        sum(weight * int(load) for weight, load in zip(integer_weights, edge_loads, strict=True) if load)
        for edge_loads in tree_rows.T
    ]
    scales = (
        Fraction(int(capacity) // problem.unit * _SCALE, load)
        for capacity, load in zip(problem.capacity, loads, strict=True)
        if load
    )
    scale = min(scales, default=Fraction(0))
    bound = min_side * Fraction(sum(integer_weights), _SCALE) * min(scale, Fraction(1))
    return ceil(bound) * problem.unit


def shortest_path_trees(problem: CutProblem, prices: Floats, min_side: int) -> Ints | None:
    """Return the tree-balance coefficients of a cheapest-path tree from every endpoint (trees × edges).

    None if some endpoints are not connected. A tree's paths lead from its root to the endpoints; in the reverse
    direction they pass through the NICs' other ports. If an endpoint and the root are on different sides, the path that
    leads out of side 1, which may be either direction, is cut. So the weight below a link counts for both of the link's
    edges. Dijkstra (1959) from every endpoint, O(endpoints·(E + V·log V)).

    Examples
    --------
    The tree of chip 1 has link 1-2 with chips 2 and 3 below it, and link 1-4 with chip 4 below it:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> problem = CutProblem.from_graph(graph, [1, 2, 3, 4])
    >>> problem.endpoints.tolist()
    [[0, 1], [0, 3], [1, 2], [2, 3]]
    >>> shortest_path_trees(problem, np.array([1.0, 1.0, 1.0, 1.5]), min_side=2)[0].tolist()
    [2, 1, 1, 0]

    """
    weight = problem.is_endpoint.astype(np.int64)
    link_prices = np.bincount(problem.link_of_edge, np.maximum(prices, _MIN_PRICE)).astype(np.float64)
    tree_weights = subtree_weights(problem.arcs, link_prices, np.flatnonzero(weight), weight)
    return None if tree_weights is None else np.minimum(tree_weights, min_side)[:, problem.link_of_edge]


def tabu_search(
    problem: CutProblem, starts: Sequence[NDArray[np.bool_]], floor: int = 0, steps: int = 120
) -> NDArray[np.bool_]:
    """Return the side of the cheapest cut that tabu searches from some starting sides find.

    Its number of endpoints is that of the starting sides. Tabu search over swaps (Glover, ORSA Journal on Computing 1,
    1989); deterministic, O(starts·steps·V²). Each step swaps the best pair of nodes on different sides. A node that has
    moved may not move again for some steps (it is tabu), unless the move gives the best side so far. All starts are
    searched at the same time, as arrays.

    Parameters
    ----------
    starts
        Sides of equal size. Every node must have a weight other than 0.
    floor
        A proven lower bound; the search ends when a cut reaches it.

    Examples
    --------
    Chips 1 and 3 cut all links; one swap leads from this side to the bisection:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> problem = CutProblem.from_graph(graph, [1, 2, 3, 4])
    >>> side = tabu_search(problem, [problem.mask([1, 3])])
    >>> sorted(problem.members(side)), problem.cut_capacity(side)
    ([3, 4], 30)

    """
    sides, matrix, floor = np.array(starts), problem.matrix, -(-floor // problem.unit)
    rows, tenure = np.arange(len(sides)), max(len(problem.nodes) // 6, 1)
    signs = np.where(sides, 1, -1)
    pull = signs @ matrix  # capacity to side 1 minus capacity to side 0, by start and node
    values = (matrix.sum() - (signs * pull).sum(axis=1)) // 4
    best_sides, best_values = sides.copy(), values.copy()
    tabu_until = np.zeros(sides.shape, dtype=np.int64)
    for step in range(steps):
        deadline.raise_if_expired()
        if best_values.min() <= floor:
            break
        gains = -pull * np.where(sides, 1, -1)  # by how much the cut falls if the node changes sides
        out_gains = np.where(sides, gains, _NO_MOVE)
        in_gains = np.where(sides | ~problem.is_endpoint, _NO_MOVE, gains)
        moved_out, moved_in, change = _best_swaps(out_gains, in_gains, matrix)
        is_tabu = tabu_until > step
        repeats = (is_tabu[rows, moved_out] | is_tabu[rows, moved_in]) & (values - change >= best_values)
        if repeats.any():
            others = _best_swaps(
                np.where(is_tabu, _NO_MOVE, out_gains)[repeats], np.where(is_tabu, _NO_MOVE, in_gains)[repeats], matrix
            )
            moved_out[repeats], moved_in[repeats], change[repeats] = others
        moves = change > _NO_MOVE // 2
        if not moves.any():
            break
        row, u, v = rows[moves], moved_out[moves], moved_in[moves]
        sides[row, u], sides[row, v] = False, True
        tabu_until[row, u] = tabu_until[row, v] = step + tenure
        pull[row] += 2 * (matrix[v] - matrix[u])
        values[row] -= change[moves]
        better = values < best_values
        best_values[better], best_sides[better] = values[better], sides[better]
    best: NDArray[np.bool_] = best_sides[int(np.argmin(best_values))]
    return best


def _best_swaps(out_gains: Ints, in_gains: Ints, matrix: Ints) -> tuple[Ints, Ints, Ints]:
    """Return, for each row, the pair of nodes whose swap lowers the cut most, and by how much it does."""
    change = out_gains[:, :, None] + in_gains[:, None, :] - 2 * matrix
    table = change.reshape(len(change), -1)
    position = table.argmax(axis=1)
    moved_out, moved_in = np.divmod(position, len(matrix))
    return moved_out, moved_in, table[np.arange(len(table)), position]
