"""Bound balanced cuts from below by packing spanning trees and from above by tabu search.

Let every side of a cut have at least b endpoints. For a tree rooted at r, Σ min(endpoints below the edge, b) over its
cut edges is at least b: that many endpoints are across from r, and the path of each one to r is cut (Ferreira, Martin,
de Souza, Weismantel & Wolsey, Math. Programming 74, 1996). So trees packed with weights λ that load no edge beyond its
capacity prove that every such cut carries at least b·Σ λ. A linear program finds the weights; integers check the proof.
"""

from collections.abc import Collection, Iterator, Sequence
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
_TOLERANCE = 1e-7
_MIN_PRICE = 1e-12
_PRICE_SMOOTHING = 0.6
"""Weight of the old prices when new ones come, so that they do not oscillate."""
_MIN_PROGRESS, _PATIENCE = 1e-3, 3
"""The search stops after so many rounds in a row that raise the bound by less than this fraction."""


@dataclass(frozen=True)
class CutProblem:
    """A graph as arrays, with each NIC as its two ports; nodes are numbered by rising id.

    Attributes
    ----------
    nodes
        Ids of nodes and ports.
    weight
        1 for an endpoint, 0 for a node on either side, more than all endpoints for a node that has to be on side 0.
    endpoints, capacity
        Numbers of both nodes of each edge (edges × 2), and its capacity.
    one_way
        Which edges lead from their first node to their second only: they are cut if only the first is on side 1.
    link_of_edge
        Number of the link of each edge: an edge to an out-port has the same link as the one from the in-port.

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
            (index[a], index[b], link["capacity"], a not in successors_of[b])
            for a, successors in successors_of.items()
            for b, link in successors.items()
            if link["capacity"] and (a < b or a not in successors_of[b])
        )
        table = np.array(edges, dtype=np.int64).reshape(-1, 4)
        link_keys = [frozenset((node_of_port(nodes[a]), node_of_port(nodes[b]))) for a, b, _, _ in edges]
        link_number = {key: number for number, key in enumerate(dict.fromkeys(link_keys))}
        weight = np.zeros(len(nodes), dtype=np.int64)
        weight[[index[endpoint] for endpoint in endpoints]] = 1
        if sink is not None:
            weight[index[sink]] = len(endpoints) + 1
        link_of_edge = np.array([link_number[key] for key in link_keys], dtype=np.int64)
        return cls(nodes, weight, table[:, :2], table[:, 2], table[:, 3] > 0, link_of_edge)

    @cached_property
    def unit(self) -> int:
        """Common divisor of the capacities: every cut is a multiple of it."""
        return gcd(*map(int, self.capacity)) or 1

    @cached_property
    def is_endpoint(self) -> NDArray[np.bool_]:
        """Which nodes are endpoints."""
        mask: NDArray[np.bool_] = self.weight == 1
        return mask

    def min_side(self, min_size: int, max_size: int) -> int:
        """Return the least number of endpoints on either side, of splits with these sizes of side 1."""
        return min(min_size, int(self.is_endpoint.sum()) - max_size)

    @cached_property
    def key(self) -> bytes:
        """A key that is equal for graphs that differ only in their node ids, if these are in the same order."""
        return b"/".join(part.tobytes() for part in (self.weight, self.endpoints, self.capacity, self.one_way))

    @cached_property
    def arcs(self) -> Ints:
        """Edges by direction, as `trninv.solvers.path_trees.subtree_weights` takes them: from, to, link."""
        forward = np.c_[self.endpoints, self.link_of_edge]
        arcs: Ints = np.r_[forward, forward[~self.one_way][:, [1, 0, 2]]]
        return arcs

    @cached_property
    def matrix(self) -> Ints:
        """Capacities between nodes, in units."""
        table = np.zeros((len(self.nodes),) * 2, dtype=np.int64)
        a, b = self.endpoints.T
        table[a, b] = table[b, a] = self.capacity // self.unit
        return table

    def mask(self, members: Collection[int]) -> NDArray[np.bool_]:
        """Return a set of nodes as a vector."""
        return np.isin(self.nodes, list(members))

    def members(self, side: NDArray[np.bool_]) -> frozenset[int]:
        """Return the nodes of a vector without ports: a NIC is on neither side."""
        return frozenset(
            node for node, is_in in zip(self.nodes, side, strict=True) if is_in and node == node_of_port(node)
        )

    def cut_capacity(self, side: NDArray[np.bool_]) -> int:
        """Return the capacity of the edges from a set of nodes to the rest."""
        a, b = self.endpoints.T
        return int(self.capacity[(side[a] > side[b]) | ((side[a] < side[b]) & ~self.one_way)].sum())


@dataclass(frozen=True, slots=True)
class TreePacking:
    """The proven lower bound of a cut, and the load of each packed tree on each edge (trees × edges)."""

    bound: int
    trees: Ints


def pack_trees(problem: CutProblem, min_side: int, target: int) -> TreePacking:
    """Return the best lower bound that packed trees prove for cuts with ``min_side`` endpoints or more on either side.

    Tree-balance inequalities (Ferreira et al. 1996) packed by column generation with smoothed prices. At most 40
    rounds, each a Dijkstra search from every endpoint and a linear program. It stops once ``target`` is proven. If some
    endpoints are not connected there is no tree, and the bound is 0.

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
        new_rows = cheapest[cheapest @ prices < 1 - _TOLERANCE] if len(tree_rows) else cheapest
        if not len(new_rows) and center is prices:
            break
        tree_rows = np.unique(np.concatenate([tree_rows, new_rows]), axis=0)
        solved = linprog(-np.ones(len(tree_rows)), A_ub=tree_rows.T.astype(float), b_ub=capacities, method="highs")
        if solved.x is None:
            break
        weights, prices = solved.x, np.maximum(-solved.ineqlin.marginals, 0)
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
    """Return the bound that these weights prove in integers, after scaling them so that no edge is overloaded."""
    integer_weights = [int(weight * _SCALE) for weight in weights]
    loads = [sum(w * int(c) for w, c in zip(integer_weights, column, strict=True) if c) for column in tree_rows.T]
    scale = min(
        (
            Fraction(int(capacity) // problem.unit * _SCALE, load)
            for capacity, load in zip(problem.capacity, loads, strict=True)
            if load
        ),
        default=Fraction(0),
    )
    bound = min_side * Fraction(sum(integer_weights), _SCALE) * min(scale, Fraction(1))
    return ceil(bound) * problem.unit


def shortest_path_trees(problem: CutProblem, prices: Floats, min_side: int) -> Ints | None:
    """Return the tree-balance coefficients of a cheapest-path tree from every endpoint (trees × edges).

    None if some endpoints are not connected. A tree leads down from its root; reversed, it passes through the other
    ports. So the weight below a link counts for both of the link's edges: of an endpoint and a root on different sides,
    the path out of side 1 is cut. Dijkstra (1959) from every endpoint, O(endpoints·(E + V·log V)).

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
    problem: CutProblem, size: int, starts: Sequence[NDArray[np.bool_]], steps: int = 120
) -> NDArray[np.bool_]:
    """Return a cheap cut with ``size`` endpoints on one side, the best of tabu searches from several starts.

    Tabu search over swaps (Glover, ORSA Journal on Computing 1, 1989); deterministic, O(starts·steps·V²). Every node
    must have a weight.

    Examples
    --------
    From chips 1 and 3, which cut everything, one swap leads to the bisection:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> problem = CutProblem.from_graph(graph, [1, 2, 3, 4])
    >>> side = tabu_search(problem, 2, [problem.mask([1, 3])])
    >>> sorted(problem.members(side)), problem.cut_capacity(side)
    ([3, 4], 30)

    """
    best, best_value = starts[0], None
    for start in starts:
        side = _rebalance(problem, start.copy(), size)
        for candidate in _tabu_swaps(problem, side, steps):
            value = problem.cut_capacity(candidate)
            if best_value is None or value < best_value:
                best, best_value = candidate, value
    return best


def _rebalance(problem: CutProblem, side: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    """Move the cheapest nodes one by one until ``size`` of them are on the side."""
    while (count := int(side.sum())) != size:
        gain = _swap_gains(problem, side)
        gain[(side != (count > size)) | ~problem.is_endpoint] = np.iinfo(np.int64).min
        node = int(np.argmax(gain))
        side[node] = not side[node]
    return side


def _swap_gains(problem: CutProblem, side: NDArray[np.bool_]) -> Ints:
    """Return how much the cut falls if a node changes sides."""
    sign = np.where(side, 1, -1)
    gains: Ints = -(problem.matrix @ sign) * sign
    return gains


def _tabu_swaps(problem: CutProblem, side: NDArray[np.bool_], steps: int) -> Iterator[NDArray[np.bool_]]:
    """Yield the start and every side that is better than all before it."""
    matrix, count = problem.matrix, len(problem.nodes)
    tenure = max(count // 6, 1)
    tabu_until = np.zeros(count, dtype=np.int64)
    gains = _swap_gains(problem, side)
    value = best_value = 0
    yield side.copy()
    for step in range(steps):
        deadline.raise_if_expired()
        inside, outside = np.flatnonzero(side), np.flatnonzero(~side & problem.is_endpoint)
        if not (len(inside) and len(outside)):
            return
        change = gains[inside][:, None] + gains[outside][None, :] - 2 * matrix[np.ix_(inside, outside)]
        is_tabu = (tabu_until[inside][:, None] > step) | (tabu_until[outside][None, :] > step)
        change = np.where(is_tabu & (value - change >= best_value), np.iinfo(np.int64).min, change)
        a, b = divmod(int(np.argmax(change)), len(outside))
        if change[a, b] == np.iinfo(np.int64).min:
            return
        value -= int(change[a, b])
        moved_out, moved_in = inside[a], outside[b]
        side[moved_out], side[moved_in] = False, True
        tabu_until[[moved_out, moved_in]] = step + tenure
        gains = _swap_gains(problem, side)
        if value < best_value:
            best_value = value
            yield side.copy()
