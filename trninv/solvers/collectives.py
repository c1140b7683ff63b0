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
from trninv.solvers.arcs import arcs, place
from trninv.solvers.graph import Graph, capacities
from trninv.solvers.split import capacity
from trninv.solvers.symmetry import orbits
from trninv.solvers.trees import Floats, Ints, below, network

MOST_COLUMNS = 4_000
"""Trees of one linear program, which grows by one from each kind of endpoint a round: work and not time."""
_CLOSE = 1e-9
_KEPT = 0.92
_LEAST = 1e-7
"""Price of a link that costs nothing, the dearest being 1: of free ways the one with fewer links is taken."""
_INT32 = 2**31
"""SciPy's flows and residues are of 32 bits; larger ones are left to networkx."""


@dataclass(frozen=True, slots=True)
class Concurrent:
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
    tight: tuple[tuple[int, int], ...]
    columns: int = 0


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
    waiting, offer = list(chips), _Offer(graph, weights, best.rate)
    while waiting:
        # a set that allowed more of the last rate may allow too little of no lower one: each chip is asked once
        side = offer.starved(waiting[-1])
        if side is None:
            waiting.pop()
        else:
            outside = total - sum(weights.get(node, 0) for node in side)
            best = Gather(Fraction(capacity(graph, side), outside), side)
            offer = _Offer(graph, weights, best.rate)
    return best


class _Offer:
    """Every endpoint is given its own part at a rate, to send it to one chip."""

    def __init__(self, graph: Graph, weights: Mapping[int, int], rate: Fraction) -> None:
        graph = solvers.ports.folded(graph)
        links = arcs(graph.nodes, dict(graph.adjacency())).ahead
        unit = gcd(*(carries for _, _, carries in capacities(graph))) or 1
        share = rate / unit
        self._nodes = sorted(links)
        self._index = {node: at for at, node in enumerate(self._nodes)}
        self._source, self._wanted = len(self._nodes), share.numerator * sum(weights.values())
        ends = [
            (self._index[a], self._index[b], of["capacity"] // unit * share.denominator)
            for a, ahead in links.items()
            for b, of in ahead.items()
        ]
        given = [(self._source, self._index[node], weight * share.numerator) for node, weight in weights.items()]
        self._arcs = [*ends, *given]
        most = 2 * max(carries for _, _, carries in self._arcs)  # no link's residue is more than it has twice
        self._matrix = None if max(self._wanted, most) >= _INT32 else self._table()

    def _table(self) -> csr_array:
        table = np.array(self._arcs, dtype=np.int32)
        return csr_array((table[:, 2], (table[:, 0], table[:, 1])), shape=(self._source + 1, self._source + 1))

    def starved(self, chip: int) -> frozenset[int] | None:
        """A set with a chip that can't take the rate from each unit of weight outside of it; None if there is none.

        A cut of all that is given to the chip is what the set takes and owns.
        """
        deadline.check()
        if not self._wanted:
            return None
        target = self._index[chip]
        if self._matrix is None:
            return self._starved_of_much(target)
        result = maximum_flow(self._matrix, self._source, target)
        if result.flow_value >= self._wanted:
            return None
        left = csr_array(self._matrix - result.flow)
        left.data = (left.data > 0).astype(np.int32)
        left.eliminate_zeros()
        near = breadth_first_order(left, self._source, return_predecessors=False)
        return frozenset(self._nodes[at] for at in set(range(self._source)).difference(near.tolist()))

    def _starved_of_much(self, target: int) -> frozenset[int] | None:
        network: nx.DiGraph[int] = nx.DiGraph()
        for a, b, carries in self._arcs:
            network.add_edge(a, b, capacity=carries)
        value, (_, side) = nx.minimum_cut(network, self._source, target)
        return frozenset(self._nodes[at] for at in side) if value < self._wanted else None


def concurrent(
    graph: Graph, weights: Mapping[int, int], most: float = np.inf, columns: int = MOST_COLUMNS
) -> Concurrent:
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
    edges = capacities(graph)
    if len(weights) < 2 or not edges:  # noqa: PLR2004 # nobody to send to
        return Concurrent(0.0, 0.0, ())
    carries = np.array([each for _, _, each in edges])
    unit = float(carries.max())
    routes = _Routes.of(graph, weights)
    solver = solvers.tree_program.TreeProgram(
        2 * carries / unit, *_classes(graph, weights, [edge[:2] for edge in edges])
    )
    centre = prices = 1 / solver.capacity / len(edges)
    lower, upper = 0.0, most / unit
    while True:
        deadline.check()
        loads = routes.cheapest(centre)
        if loads is None:
            return Concurrent(0.0, 0.0, ())
        lower, prices = solver.add(loads)
        prices /= solver.capacity @ prices
        upper = min(upper, *(float(solver.capacity @ p) / c for p in (centre, prices) if (c := routes.cost(p)) > 0))
        if upper - lower <= _CLOSE * upper or solver.columns >= columns:
            break
        centre = _KEPT * centre + (1 - _KEPT) * prices
    filled = np.flatnonzero(prices > _CLOSE * prices.max()) if upper < most / unit else ()
    tight = tuple(edges[at][:2] for at in filled)
    return Concurrent(min(lower * unit, most), upper * unit, tight, solver.columns)


@dataclass(frozen=True, slots=True)
class _Routes:
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
    ends: Ints
    weight: Floats

    @classmethod
    def of(cls, graph: Graph, weights: Mapping[int, int]) -> "_Routes":
        ahead = arcs(graph.nodes, dict(graph.adjacency())).ahead
        index = {node: at for at, node in enumerate(sorted(ahead))}
        number = {frozenset(edge): at for at, edge in enumerate(graph.edges)}
        made = [(index[a], index[b], number[frozenset((place(a), place(b)))]) for a in ahead for b in ahead[a]]
        weight = np.array([float(weights.get(node, 0)) for node in sorted(ahead)])
        return cls(np.array(made), np.flatnonzero(weight), weight)

    def cost(self, prices: Floats) -> float:
        """Price of all demands by θ = 1; links may cost nothing."""
        distance = dijkstra(network(self.arcs, prices, len(self.weight)), indices=self.ends)[:, self.ends]
        return float(self.weight[self.ends] @ distance @ self.weight[self.ends])

    def cheapest(self, prices: Floats) -> Floats | None:
        """Loads of the edges (endpoints × edges) by θ = 1; None if some endpoints are not connected."""
        least = prices.max() * _LEAST  # so that of free ways the one with fewer links is taken
        found = below(self.arcs, np.maximum(prices, least), self.ends, self.weight)
        return None if found is None else found * self.weight[self.ends][:, None]


def _classes(graph: Graph, weights: Mapping[int, int], links: Sequence[tuple[int, ...]]) -> tuple[Ints, Ints]:
    """Numbers of the links' and of the endpoints' classes: a symmetry takes each to any other of its class."""
    number = {part: at for at, alike in enumerate(orbits(graph, weights)) for part in alike}
    parts = [(tuple(sorted(ends)),) for ends in links], [((node,),) for node in sorted(weights) if weights[node]]
    wires, ends = (np.unique([number[part] for part in listed], return_inverse=True)[1] for listed in parts)
    return wires, ends
