"""Model a scale-up domain as an island: its exit capacities and its cut profile.

It is exact if all splits can be enumerated. Otherwise it is bounded below by the damaged hypercube
(`trninv.solvers.torus_cuts`) and above by cheap orders of the chips, until `CutProfile.refine` solves one k. That tries
the layers of the torus first (`trninv.solvers.torus_cuts`), which bound all k at once.

Let A be the side without the top of the fabric, with a_i chips of island i. The fabric does not block (an uplink
carries at least its healthy downlinks), so moving every network node to the other side costs nothing, and the cut is
Σ f_i(a_i). Here f_i(a) is the least cut between a chips of island i and its other chips and network node. Hence

lower  f_i(a) ≥ λ_i·a, with λ_i the least exit capacity per chip of any set of the island's chips (a fractional
       program, solved by flows after Dinkelbach, Management Science 13, 1967): filling the cheapest islands first
       bounds the sum.
       If no whole islands make up A, at least one is split. If the EFA links alone give f_i(a) ≥ λ_i·a and the island
       alone has cuts of at least c_i·a·(s_i - a), that is concave in each a_i, so a single split is the cheapest case.
upper  whole islands chosen by a knapsack, at most one of them split, summed in integers.

This works for clusters of any size. In a small one the f_i themselves are bounded (`trninv.solvers.islands`); a
knapsack on their lower bounds and one on their upper bounds then bound the sum (`trninv.solvers.share_selection`).

A damaged fabric, or an adopted one with several tops, is several hubs (`trninv.solvers.hubs`), each on either side. In
a small cluster the knapsack follows their tree. In a large one whole pieces are taken if they make up half. Otherwise,
for the lower bound, the chips that no whole hubs make up leave by the cheapest exits, and for the upper bound the rest
is split as if it had one hub. An island below several hubs counts for the lower bound as if it were below one of them
only, and for the upper bound as if it joined them.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from trninv.solvers import cut_enumeration, torus_cuts
from trninv.solvers.adjacency import directed_adjacency
from trninv.solvers.bisection import MAX_NODES, heuristic_bisect, sweep_orders, torus_bisection
from trninv.solvers.graph import NO_TARGET, Graph, contract_nics, weighted_edges, without_dead_nics
from trninv.solvers.max_flow import minimum_cut
from trninv.solvers.torus_cuts import PartialHypercube

Ints = NDArray[np.int64]
_METHOD_BY_CUBE = "upper bounds by cheap orders; lower bounds by the rest of the torus, chip by chip and as a whole"
_METHOD_BY_LAYERS = "upper bounds by cheap orders; lower bounds by every subset of every layer of the torus"


class CutProfile:
    """Bounds on the least cut by the number of chips on one side; ``sink``, if any, is on the other side.

    Attributes
    ----------
    lower, upper
        For 0 … n chips, bytes per second of one direction.
    method
        Why the lower bounds hold.

    """

    def __init__(self, graph: Graph, chips: Sequence[int], sink: int | None = None) -> None:
        self.chips, self._sink = tuple(chips), sink if sink in graph else None
        self._graph = graph if self._sink is None else contract_nics(graph)
        sink_neighbors = () if self._sink is None else self._graph[self._sink]
        self._nics = [neighbor for neighbor in sink_neighbors if self._graph.nodes[neighbor]["kind"] == "nic"]
        self._hubs = cut_enumeration.select_hubs(self._graph, self.chips, self._sink)
        self._witnesses, self._exhausted = dict[int, frozenset[int]](), set[int]()
        self._best_orders: dict[int, Sequence[int]] = {}
        self._cube: PartialHypercube | None = None
        self._is_layered = False
        if self._hubs is not None:
            self.lower = np.array(cut_enumeration.enumerate_profile(self._graph, self.chips, self._hubs, self._sink))
            self.upper, self.method = self.lower, "enumeration of all splits"
        else:
            self.method = _METHOD_BY_CUBE
            self.lower, self.upper = self._lower_bounds(), self._upper_bounds()

    def gap(self, size: int) -> int:
        """Return the difference of the bounds for a number of chips, or 0 if refining it again cannot help."""
        return 0 if size in self._exhausted else int(self.upper[size] - self.lower[size])

    @property
    def size(self) -> int:
        """Number of chips."""
        return len(self.chips)

    @cached_property
    def _inner_graph(self) -> Graph:
        return Graph(self._graph.subgraph(set(self._graph).difference([self._sink])))

    @cached_property
    def _has_private_exits(self) -> bool:
        """Whether only chips, and no shared NIC, are linked to the sink."""
        return self._sink is None or set(self._graph[self._sink]) <= set(self.chips)

    @cached_property
    def _exit_capacities(self) -> list[int]:
        """Capacity of each chip's own link to the sink."""
        sink_links = {} if self._sink is None else self._graph[self._sink]
        return [sink_links[chip]["capacity"] if chip in sink_links else 0 for chip in self.chips]

    def _nic_capacities(self, nic: int) -> tuple[list[int], int]:
        """Return the capacities of a NIC's links to the chips and of its uplink."""
        nic_links = self._graph[nic]
        return [nic_links[chip]["capacity"] if chip in nic_links else 0 for chip in self.chips], nic_links[self._sink][
            "capacity"
        ]

    def _exit_bounds(self) -> Ints:
        """Bound the exit capacity of k chips from below: each gets its share of the uplink of a NIC that it shares."""
        exits = list(self._exit_capacities)
        for links, uplink in map(self._nic_capacities, self._nics):
            exits = [
                sent + capacity * uplink // max(uplink, sum(links)) for sent, capacity in zip(exits, links, strict=True)
            ]
        totals: Ints = np.r_[0, np.cumsum(sorted(exits))]
        return totals

    def _lower_bounds(self) -> Ints:
        exit_bounds = self._exit_bounds()
        has_chips_only = self._inner_graph.number_of_nodes() == self.size + len(self._nics)
        self._cube = (
            PartialHypercube.from_graph(Graph(self._inner_graph.subgraph(self.chips)), self.chips)
            if has_chips_only
            else None
        )
        if self._cube is None:
            return exit_bounds
        if self._cube.is_whole:
            self.method = self._cube.method
        bounds: Ints = exit_bounds + self._cube.lower_bounds()
        return bounds

    def _upper_bounds(self) -> Ints:
        others = sorted(set(self._graph).difference(self.chips, self._nics))
        index = {node: i for i, node in enumerate([*self.chips, *others])}
        matrix = np.zeros((len(index),) * 2, dtype=np.int64)
        for a, b, capacity in weighted_edges(self._graph.subgraph(index)):
            matrix[index[a], index[b]] = matrix[index[b], index[a]] = capacity
        nics = [(np.array(links), uplink) for links, uplink in map(self._nic_capacities, self._nics)]
        best = np.full(self.size + 1, np.iinfo(np.int64).max)
        for order in self._sweep_orders():
            places = [index[chip] for chip in order]
            inner_sums = np.tril(matrix[np.ix_(places, places)]).sum(axis=1)
            cuts = np.r_[0, np.cumsum(matrix[places].sum(axis=1) - 2 * inner_sums)]
            for links, uplink in nics:
                cuts += np.minimum(np.r_[0, np.cumsum(links[places])], uplink)
            for size in np.flatnonzero(cuts < best):
                self._best_orders[int(size)] = order
            best = np.minimum(best, cuts)
        return best

    def _sweep_orders(self) -> Iterator[Sequence[int]]:
        if self._cube:
            yield from self._cube.orders()
        else:
            for order in sweep_orders(self._inner_graph, self.chips):
                yield order
                yield order[::-1]

    def refine(self, size: int, max_nodes: int = MAX_NODES, target: int = NO_TARGET) -> None:
        """Solve one number of chips with at most ``max_nodes`` search-tree nodes; stop at a lower bound of ``target``.

        With p the largest exit capacity of a chip, k chips carry p·k less the sum of what each lacks of p. So the
        problem becomes that of the other chips, each linked to the sink by what it lacks; if every chip carries p, only
        the inner links matter.
        """
        if not self._is_layered:
            self._is_layered = True
            if (layer_bounds := torus_cuts.layer_profile(self._graph, self.chips, self._sink)) is not None:
                self.lower, self.method = np.maximum(self.lower, layer_bounds), _METHOD_BY_LAYERS
            if self.lower[size] >= min(self.upper[size], target):
                return
        if not self._has_private_exits:
            cut, offset = (
                heuristic_bisect(
                    self._graph, self.chips, size, size, sink=self._sink, max_nodes=max_nodes, target=target
                ),
                0,
            )
            side = cut.side.intersection(self.chips)
        else:
            max_exit, other_side, sink = max(self._exit_capacities), self.size - size, None
            graph, missing = self._inner_graph, [max_exit - exit_capacity for exit_capacity in self._exit_capacities]
            offset = max_exit * size - sum(missing)
            if any(missing) and self._sink is not None:
                graph, sink = Graph(graph), self._sink
                missing_by_chip = zip(self.chips, missing, strict=True)
                graph.add_edges_from(
                    (chip, sink, {"capacity": capacity}) for chip, capacity in missing_by_chip if capacity
                )
            cut = heuristic_bisect(
                graph, self.chips, other_side, other_side, sink=sink, max_nodes=max_nodes, target=target - offset
            )
            side = frozenset(self.chips) - cut.side
        self.method = cut.method
        if cut.lower < min(cut.upper, target - offset):
            self._exhausted.add(size)
        self.lower[size] = max(self.lower[size], cut.lower + offset)
        if cut.upper + offset < self.upper[size]:
            self.upper[size] = cut.upper + offset
            self._witnesses[size] = side

    def witness(self, size: int) -> frozenset[int]:
        """Return a set of ``size`` chips whose cut is the upper bound."""
        if size in self._witnesses:
            return self._witnesses[size]
        if self._hubs is None:
            return frozenset(self._best_orders[size][:size])
        cut = cut_enumeration.bisect_by_enumeration(self._graph, self.chips, self._hubs, size, size, self._sink)
        side = cut.side.intersection(self.chips)
        return side if len(side) == size else frozenset(self.chips) - side


@dataclass(frozen=True)
class Island:
    """A domain as the rest of the cluster sees it.

    Attributes
    ----------
    make_graph
        Builds its graph, which is needed for few of many islands.
    network_node
        The network node that its chips' NICs lead to, or None if that is down.
    private_exits
        Capacity of each chip to the network node through NICs of its own; None if any NIC is shared or not a chip's.
    exit_capacity
        Capacity from all its chips to the network node.
    uplink_degraded
        Whether the fabric above its network node may block: not all islands of the question are below one hub.
    hubs
        The hubs above it; one if the fabric is intact.
    at_one
        For an island below several hubs, the same with the links to the first hub only, which cuts no more.

    """

    make_graph: Callable[[], Graph]
    chips: tuple[int, ...]
    network_node: int | None
    private_exits: tuple[int, ...] | None
    exit_capacity: int
    uplink_degraded: bool = False
    hubs: frozenset[int] = frozenset([0])
    at_one: "Island | None" = None

    @cached_property
    def graph(self) -> Graph:
        """Its nodes, with the network node if that is up."""
        return self.make_graph()

    @cached_property
    def exit_ratio(self) -> Fraction:
        """λ: the least exit capacity per chip of any set of its chips (Dinkelbach 1967)."""
        if self.network_node is None or not self.exit_capacity:
            return Fraction(0)
        exits = self.private_exits
        if exits and min(exits) == max(exits):  # every set leaves by its own NICs, and no other link leads out
            return Fraction(exits[0])
        return _min_exit_ratio(self.graph, self.chips, self.network_node)

    @cached_property
    def spread_ratio(self) -> Fraction:
        """A c such that a of its chips cut at least c·a·(chips - a) inside, besides λ·a over its EFA links.

        0 if the EFA links alone carry less than λ per chip.
        """
        if self.network_node is None or not self.exit_ratio:
            return Fraction(0)
        nics = {node for node, attributes in self.graph.nodes(data=True) if attributes["kind"] == "nic"}
        exit_graph = Graph(self.graph)
        exit_graph.remove_edges_from([edge for edge in self.graph.edges if nics.isdisjoint(edge)])
        has_private_exits = _min_exit_ratio(exit_graph, self.chips, self.network_node) >= self.exit_ratio
        return _min_spread(self.graph, self.chips) if has_private_exits else Fraction(0)

    @property
    def chip_count(self) -> int:
        """Number of its chips."""
        return len(self.chips)

    @property
    def joins(self) -> frozenset[int]:
        """The hubs that it can send to."""
        return self.hubs if self.exit_capacity else frozenset()

    @property
    def below(self) -> "Island":
        """The island that bounds it from below: itself, or its version below one hub."""
        return self.at_one or self

    @classmethod
    def from_graph(
        cls, graph: Graph, chips: Collection[int], network_node: int | None, hubs: frozenset[int] = frozenset([0])
    ) -> "Island":
        """Build an island from its graph, measuring its exits."""
        graph, endpoints = without_dead_nics(graph), tuple(sorted(chips))
        live_node = network_node if network_node in graph else None
        private_exits = (
            private_exit_capacities(graph, endpoints, live_node) if live_node is not None and endpoints else None
        )
        exit_capacity = (
            sum(private_exits)
            if private_exits
            else minimum_cut(graph, endpoints, [live_node])[0]
            if live_node is not None and endpoints
            else 0
        )
        return cls(
            lambda: graph,
            endpoints,
            live_node,
            None if private_exits is None else tuple(private_exits),
            exit_capacity,
            hubs=hubs,
        )

    @cached_property
    def profile(self) -> CutProfile:
        """Its cut by the number of its chips on side A; the network node is on side B."""
        return CutProfile(self.graph, self.chips, self.network_node)

    def witness(self, count: int) -> tuple[int, ...]:
        """Return ``count`` chips whose cut is the profile's upper bound."""
        side = self.profile.witness(count) if count < self.chip_count else self.chips
        return tuple(chip for chip in self.chips if chip in side)

    def others(self, chips: Collection[int]) -> tuple[int, ...]:
        """Return its other chips."""
        rest = set(self.chips).difference(chips)
        return tuple(chip for chip in self.chips if chip in rest)


def private_exit_capacities(graph: Graph, chips: Sequence[int], network_node: int) -> list[int] | None:
    """Return the capacity of each chip to the network node through NICs of its own; None if any NIC is shared.

    O(V + E).

    Examples
    --------
    Chip 1 with NIC 2, whose uplink to network node 4 is the narrower link; chip 3 has no NIC:

    >>> graph = Graph()
    >>> graph.add_nodes_from([(1, {"kind": "chip"}), (2, {"kind": "nic"}), (3, {"kind": "chip"})])
    >>> graph.add_node(4, kind="network_node")
    >>> graph.add_weighted_edges_from([(1, 2, 12), (2, 4, 10)], weight="capacity")
    >>> private_exit_capacities(graph, [1, 3], 4)
    [10, 0]

    """
    exits = dict.fromkeys(chips, 0)
    for nic, attributes in graph.nodes(data=True):
        if attributes["kind"] == "nic":
            chips_of_nic = [neighbor for neighbor in graph[nic] if neighbor != network_node]
            if len(chips_of_nic) > 1 or not exits.keys() >= set(chips_of_nic):
                return None
            if chips_of_nic and graph.has_edge(nic, network_node):
                exits[chips_of_nic[0]] += min(
                    graph.edges[nic, end]["capacity"] for end in (chips_of_nic[0], network_node)
                )
    return list(exits.values())


def scale_up_graph(graph: Graph) -> Graph:
    """Return the part of a graph that is chips and switches; O(V + E).

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_nodes_from([(1, {"kind": "chip"}), (2, {"kind": "switch"}), (3, {"kind": "nic"})])
    >>> list(scale_up_graph(graph))
    [1, 2]

    """
    return Graph(
        graph.subgraph(node for node, attributes in graph.nodes(data=True) if attributes["kind"] in ("chip", "switch"))
    )


def _min_exit_ratio(graph: Graph, chips: Sequence[int], network_node: int) -> Fraction:
    """Return the least capacity per chip from any non-empty set of chips to the network node.

    Dinkelbach's method: a minimum cut with the current ratio as every chip's supply finds a set of a smaller ratio,
    until there is none.
    """
    graph = contract_nics(graph)
    ratio = Fraction(minimum_cut(graph, chips, [network_node])[0], len(chips))
    adjacency = directed_adjacency(graph.nodes, dict(graph.adjacency())).successors
    while ratio:
        demand: nx.DiGraph[object] = nx.DiGraph()
        source = object()
        for a, successors in adjacency.items():
            demand.add_edges_from(
                (a, b, {"capacity": link["capacity"] * ratio.denominator}) for b, link in successors.items()
            )
        for chip in chips:
            demand.add_edge(source, chip, capacity=ratio.numerator)
        value, (side, _) = nx.minimum_cut(demand, source, network_node)
        if value == ratio.numerator * len(chips):
            break
        cheapest_set = side.intersection(chips)
        ratio = Fraction(minimum_cut(graph, cheapest_set, [network_node])[0], len(cheapest_set))
    return ratio


def _min_spread(graph: Graph, chips: Sequence[int]) -> Fraction:
    """Return a c such that every cut of a of the n chips carries at least c·a·(n - a).

    In an undamaged torus it follows from the bisection B: dimension-order routing of one unit between each pair loads
    no link with more than n²/4 / B of its capacity. If all splits can be enumerated, it is the least ratio over a.
    Otherwise it is 0.
    """
    count = len(chips)
    if count < 2:  # noqa: PLR2004 # one chip has no cut
        return Fraction(0)
    inner_graph = scale_up_graph(graph)
    if torus_cut := torus_bisection(inner_graph, chips):
        return Fraction(4 * torus_cut.lower, count**2)
    hub_nodes = cut_enumeration.select_hubs(inner_graph, chips)
    if hub_nodes is None:
        return Fraction(0)
    profile = cut_enumeration.enumerate_profile(inner_graph, chips, hub_nodes)
    return min(Fraction(profile[a], a * (count - a)) for a in range(1, count))
