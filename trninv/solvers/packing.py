"""Balanced cuts of a graph between a packing of trees below and a search by swaps above.

For a tree rooted at r, Σ min(endpoints below the edge, need) over its cut edges is at least ``need``: that many
endpoints lie across from r, and each one's way to r is cut (Ferreira, Martin, de Souza, Weismantel & Wolsey, Math.
Programming 74, 1996). So trees packed with weights λ that load no edge beyond its capacity prove that every such cut
carries need · Σ λ. The weights come from a linear program; the proof is checked in integers.
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
from trninv.solvers.arcs import directed_adjacency, node_of_port
from trninv.solvers.graph import Graph
from trninv.solvers.trees import Floats, Ints, subtree_weights

_MAX_ROUNDS = 40
"""Times that trees are added."""
_SCALE = 2**40
_TOLERANCE = 1e-7
_MIN_PRICE = 1e-12
_PRICE_SMOOTHING = 0.6
"""Of the old prices, when new ones come: it keeps them from swinging."""
_MIN_PROGRESS, _PATIENCE = 1e-3, 3
"""Rounds in a row that may raise the bound by less than this."""


@dataclass(frozen=True)
class CutProblem:
    """A graph in arrays, each NIC as its two ports; nodes are numbered in rising order.

    Attributes
    ----------
    weight
        1 for an endpoint, 0 for what stands on either side; more than all endpoints for a node on side 0.
    ends, carries
        Both nodes of each edge (edges × 2), and what it carries.
    one_way
        Which edges lead from their first node to their second only: they are cut where that alone is on side 1.
    wires
        Number of the link that each edge belongs to: one to an out-port is the same as one from the in-port.

    """

    nodes: tuple[int, ...]
    weight: Ints
    endpoints: Ints
    capacity: Ints
    one_way: NDArray[np.bool_]
    link_of_edge: Ints

    @classmethod
    def from_graph(cls, graph: Graph, endpoints: Collection[int], sink: int | None = None) -> "CutProblem":
        """A graph, whose endpoints are to be parted; those that are, from a node ``apart`` too."""
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
        """How many endpoints are on either side at least, of splits with so many on side 1."""
        return min(min_size, int(self.is_endpoint.sum()) - max_size)

    @cached_property
    def key(self) -> bytes:
        """The same for graphs that differ in the names of their nodes only, if these are in the same order."""
        return b"/".join(part.tobytes() for part in (self.weight, self.endpoints, self.capacity, self.one_way))

    @cached_property
    def arcs(self) -> Ints:
        """The directions in which edges lead, as arcs of `trninv.solvers.trees.below`: from, to, the wire."""
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
        """A set of nodes as a vector."""
        return np.isin(self.nodes, list(members))

    def members(self, side: NDArray[np.bool_]) -> frozenset[int]:
        """The nodes of a vector; a NIC is on neither side."""
        return frozenset(
            node for node, is_in in zip(self.nodes, side, strict=True) if is_in and node == node_of_port(node)
        )

    def cut_capacity(self, side: NDArray[np.bool_]) -> int:
        """What the edges between a set of nodes and the rest carry."""
        a, b = self.endpoints.T
        return int(self.capacity[(side[a] > side[b]) | ((side[a] < side[b]) & ~self.one_way)].sum())


@dataclass(frozen=True, slots=True)
class TreePacking:
    """Trees with weights: ``trees`` (trees × edges) says how each loads the edges; ``bound`` is proven."""

    bound: int
    trees: Ints


def pack_trees(problem: CutProblem, min_side: int, target: int) -> TreePacking:
    """Least capacity that any cut with ``need`` endpoints or more on either side must have, as far as trees prove it.

    Column generation with smoothed prices; it ends when ``enough`` is proven. Where endpoints are not connected there
    is no tree, and the bound is 0.
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
    """The bound that these weights prove, in integers: what loads an edge too much is scaled down."""
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
    """Cheapest-path trees from every endpoint, as coefficients of the edges; None if no tree reaches all of them.

    A tree goes down from its root. Turned round it is one through the other ports, so what lies below a wire counts
    for both of the wire's edges: of an endpoint and a root that are parted, the way out of side 1 is cut.
    """
    weight = problem.is_endpoint.astype(np.int64)
    link_prices = np.bincount(problem.link_of_edge, np.maximum(prices, _MIN_PRICE)).astype(np.float64)
    tree_weights = subtree_weights(problem.arcs, link_prices, np.flatnonzero(weight), weight)
    return None if tree_weights is None else np.minimum(tree_weights, min_side)[:, problem.link_of_edge]


def tabu_search(
    problem: CutProblem, size: int, starts: Sequence[NDArray[np.bool_]], steps: int = 120
) -> NDArray[np.bool_]:
    """A cheap cut with ``size`` endpoints on one side: swaps with a memory of what was just moved, from each start.

    Tabu search (Glover, ORSA Journal on Computing 1, 1989). Deterministic. Every node must have a weight.
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
    """Move the cheapest nodes one by one until ``size`` are on the side."""
    while (count := int(side.sum())) != size:
        gain = _swap_gains(problem, side)
        gain[(side != (count > size)) | ~problem.is_endpoint] = np.iinfo(np.int64).min
        node = int(np.argmax(gain))
        side[node] = not side[node]
    return side


def _swap_gains(problem: CutProblem, side: NDArray[np.bool_]) -> Ints:
    """How much less is cut when a node changes sides."""
    sign = np.where(side, 1, -1)
    gains: Ints = -(problem.matrix @ sign) * sign
    return gains


def _tabu_swaps(problem: CutProblem, side: NDArray[np.bool_], steps: int) -> Iterator[NDArray[np.bool_]]:
    """The best sides on the way, each better than the last."""
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
