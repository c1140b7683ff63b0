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
from trninv.solvers.arcs import arcs, place
from trninv.solvers.graph import Graph
from trninv.solvers.trees import Floats, Ints, below

_ROUNDS = 40
"""Times that trees are added."""
_SCALE = 2**40
_ENOUGH = 1e-7
_LEAST = 1e-12
_KEPT = 0.6
"""Of the old prices, when new ones come: it keeps them from swinging."""
_PROGRESS, _PATIENCE = 1e-3, 3
"""Rounds in a row that may raise the bound by less than this."""


@dataclass(frozen=True)
class Problem:
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
    ends: Ints
    carries: Ints
    one_way: NDArray[np.bool_]
    wires: Ints

    @classmethod
    def of(cls, graph: Graph, endpoints: Collection[int], apart: int | None = None) -> "Problem":
        """A graph, whose endpoints are to be parted; those that are, from a node ``apart`` too."""
        links = arcs(graph.nodes, dict(graph.adjacency())).ahead
        nodes = tuple(sorted(links))
        index = {node: i for i, node in enumerate(nodes)}
        edges = sorted(
            (index[a], index[b], of["capacity"], a not in links[b])
            for a, ahead in links.items()
            for b, of in ahead.items()
            if of["capacity"] and (a < b or a not in links[b])
        )
        table = np.array(edges, dtype=np.int64).reshape(-1, 4)
        named = [frozenset((place(nodes[a]), place(nodes[b]))) for a, b, _, _ in edges]
        wire = {ends: at for at, ends in enumerate(dict.fromkeys(named))}
        weight = np.zeros(len(nodes), dtype=np.int64)
        weight[[index[end] for end in endpoints]] = 1
        if apart is not None:
            weight[index[apart]] = len(endpoints) + 1
        wires = np.array([wire[ends] for ends in named], dtype=np.int64)
        return cls(nodes, weight, table[:, :2], table[:, 2], table[:, 3] > 0, wires)

    @cached_property
    def unit(self) -> int:
        """Common divisor of the capacities: every cut is a multiple of it."""
        return gcd(*map(int, self.carries)) or 1

    @cached_property
    def is_end(self) -> NDArray[np.bool_]:
        """Which nodes are endpoints."""
        found: NDArray[np.bool_] = self.weight == 1
        return found

    def need(self, low: int, high: int) -> int:
        """How many endpoints are on either side at least, of splits with so many on side 1."""
        return min(low, int(self.is_end.sum()) - high)

    @cached_property
    def key(self) -> bytes:
        """The same for graphs that differ in the names of their nodes only, if these are in the same order."""
        return b"/".join(part.tobytes() for part in (self.weight, self.ends, self.carries, self.one_way))

    @cached_property
    def ways(self) -> Ints:
        """The directions in which edges lead, as arcs of `trninv.solvers.trees.below`: from, to, the wire."""
        ahead = np.c_[self.ends, self.wires]
        found: Ints = np.r_[ahead, ahead[~self.one_way][:, [1, 0, 2]]]
        return found

    @cached_property
    def matrix(self) -> Ints:
        """Capacities between nodes, in units."""
        table = np.zeros((len(self.nodes),) * 2, dtype=np.int64)
        a, b = self.ends.T
        table[a, b] = table[b, a] = self.carries // self.unit
        return table

    def mask(self, chosen: Collection[int]) -> NDArray[np.bool_]:
        """A set of nodes as a vector."""
        return np.isin(self.nodes, list(chosen))

    def members(self, side: NDArray[np.bool_]) -> frozenset[int]:
        """The nodes of a vector; a NIC is on neither side."""
        return frozenset(node for node, is_in in zip(self.nodes, side, strict=True) if is_in and node == place(node))

    def cut(self, side: NDArray[np.bool_]) -> int:
        """What the edges between a set of nodes and the rest carry."""
        a, b = self.ends.T
        return int(self.carries[(side[a] > side[b]) | ((side[a] < side[b]) & ~self.one_way)].sum())


@dataclass(frozen=True, slots=True)
class Packing:
    """Trees with weights: ``trees`` (trees × edges) says how each loads the edges; ``bound`` is proven."""

    bound: int
    trees: Ints


def pack(problem: Problem, need: int, enough: int) -> Packing:
    """Least capacity that any cut with ``need`` endpoints or more on either side must have, as far as trees prove it.

    Column generation with smoothed prices; it ends when ``enough`` is proven. Where endpoints are not connected there
    is no tree, and the bound is 0.
    """
    rows: Ints = np.zeros((0, len(problem.carries)), dtype=np.int64)
    if need <= 0 or not len(problem.carries):
        return Packing(0, rows)
    capacity = problem.carries / problem.unit
    centre = prices = 1.0 / capacity
    weights: Floats = np.zeros(0)
    proven, stalled = 0.0, 0
    for _ in range(_ROUNDS):
        deadline.check()
        cheapest = trees(problem, centre, need)
        if cheapest is None:
            return Packing(0, rows)
        new = cheapest[cheapest @ prices < 1 - _ENOUGH] if len(rows) else cheapest
        if not len(new) and centre is prices:
            break
        rows = np.unique(np.concatenate([rows, new]), axis=0)
        solved = linprog(-np.ones(len(rows)), A_ub=rows.T.astype(float), b_ub=capacity, method="highs")
        if solved.x is None:
            break
        weights, prices = solved.x, np.maximum(-solved.ineqlin.marginals, 0)
        if need * weights.sum() > enough / problem.unit - 1 + _ENOUGH:
            break
        stalled = stalled + 1 if weights.sum() < proven * (1 + _PROGRESS) else 0
        if stalled == _PATIENCE:
            break
        proven = weights.sum()
        centre = _KEPT * centre + (1 - _KEPT) * prices if len(new) else prices
    used = weights > 0
    return Packing(_proven(problem, rows[used], weights[used], need), rows[used])


def _proven(problem: Problem, rows: Ints, weights: Floats, need: int) -> int:
    """The bound that these weights prove, in integers: what loads an edge too much is scaled down."""
    whole = [int(weight * _SCALE) for weight in weights]
    loads = [sum(w * int(c) for w, c in zip(whole, column, strict=True) if c) for column in rows.T]
    fits = min(
        (
            Fraction(int(carries) // problem.unit * _SCALE, load)
            for carries, load in zip(problem.carries, loads, strict=True)
            if load
        ),
        default=Fraction(0),
    )
    least = need * Fraction(sum(whole), _SCALE) * min(fits, Fraction(1))
    return ceil(least) * problem.unit


def trees(problem: Problem, prices: Floats, need: int) -> Ints | None:
    """Cheapest-path trees from every endpoint, as coefficients of the edges; None if no tree reaches all of them.

    A tree goes down from its root. Turned round it is one through the other ports, so what lies below a wire counts
    for both of the wire's edges: of an endpoint and a root that are parted, the way out of side 1 is cut.
    """
    weight = problem.is_end.astype(np.int64)
    of_wires = np.bincount(problem.wires, np.maximum(prices, _LEAST)).astype(np.float64)
    found = below(problem.ways, of_wires, np.flatnonzero(weight), weight)
    return None if found is None else np.minimum(found, need)[:, problem.wires]


def search(problem: Problem, size: int, starts: Sequence[NDArray[np.bool_]], steps: int = 120) -> NDArray[np.bool_]:
    """A cheap cut with ``size`` endpoints on one side: swaps with a memory of what was just moved, from each start.

    Tabu search (Glover, ORSA Journal on Computing 1, 1989). Deterministic. Every node must have a weight.
    """
    best, least = starts[0], None
    for start in starts:
        side = _repaired(problem, start.copy(), size)
        for found in _swaps(problem, side, steps):
            value = problem.cut(found)
            if least is None or value < least:
                best, least = found, value
    return best


def _repaired(problem: Problem, side: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    """Move the cheapest nodes one by one until ``size`` are on the side."""
    while (count := int(side.sum())) != size:
        gain = _gains(problem, side)
        gain[(side != (count > size)) | ~problem.is_end] = np.iinfo(np.int64).min
        moved = int(np.argmax(gain))
        side[moved] = not side[moved]
    return side


def _gains(problem: Problem, side: NDArray[np.bool_]) -> Ints:
    """How much less is cut when a node changes sides."""
    sign = np.where(side, 1, -1)
    found: Ints = -(problem.matrix @ sign) * sign
    return found


def _swaps(problem: Problem, side: NDArray[np.bool_], steps: int) -> Iterator[NDArray[np.bool_]]:
    """The best sides on the way, each better than the last."""
    matrix, count = problem.matrix, len(problem.nodes)
    tenure = max(count // 6, 1)
    until = np.zeros(count, dtype=np.int64)
    gains = _gains(problem, side)
    value = least = 0
    yield side.copy()
    for step in range(steps):
        deadline.check()
        inside, outside = np.flatnonzero(side), np.flatnonzero(~side & problem.is_end)
        if not (len(inside) and len(outside)):
            return
        change = gains[inside][:, None] + gains[outside][None, :] - 2 * matrix[np.ix_(inside, outside)]
        barred = (until[inside][:, None] > step) | (until[outside][None, :] > step)
        change = np.where(barred & (value - change >= least), np.iinfo(np.int64).min, change)
        a, b = divmod(int(np.argmax(change)), len(outside))
        if change[a, b] == np.iinfo(np.int64).min:
            return
        value -= int(change[a, b])
        one, other = inside[a], outside[b]
        side[one], side[other] = False, True
        until[[one, other]] = step + tenure
        gains = _gains(problem, side)
        if value < least:
            least = value
            yield side.copy()
