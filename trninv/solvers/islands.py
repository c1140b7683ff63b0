"""Model a scale-up domain as an island: its exit capacities and its cut profile.

A domain is the largest group of chips that NeuronLink connects. An island is a domain as the rest of its cluster sees
it: its chips send out through EFA NICs (the island's exits) to one network node of the fabric.
`trninv.solvers.quotient` bounds the bisection of a cluster by its islands, with the exit ratio λ and the spread ratio c
that are defined at `Island`. `trninv.solvers.parts` uses the cut profiles of the connected parts of one domain.

A cut profile bounds, for each k, the least cut between k chips and the others. The profile is exact if all splits can
be enumerated (`trninv.solvers.cut_enumeration`). Otherwise the damaged hypercube (`trninv.solvers.torus_cuts`) gives
lower bounds, and orders of the chips whose prefixes are cheap to cut off give upper bounds. `CutProfile.refine` narrows
the bounds for one k; it first tries the layers of the torus (`trninv.solvers.torus_cuts`), which bound all k at once.
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
    """Bounds on the least cut, by the number of chips on one side.

    If there is a ``sink``, such as the network node above the domain, it is on the other side.

    Attributes
    ----------
    lower, upper
        The bounds for 0 … n chips, in bytes per second of one direction.
    method
        Why the lower bounds hold, as text for users.

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
        """Return the difference of the bounds for a number of chips, or 0 if `refine` can no longer narrow them."""
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
        """Return the capacity of a NIC's link to each chip (0 where there is none), and that of its uplink."""
        nic_links = self._graph[nic]
        chip_capacities = [nic_links[chip]["capacity"] if chip in nic_links else 0 for chip in self.chips]
        return chip_capacities, nic_links[self._sink]["capacity"]

    def _exit_bounds(self) -> Ints:
        """Bound the exit capacity of k chips from below, for 0 … n chips.

        The uplink of a shared NIC is divided among its chips in proportion to their links; then the k chips with the
        least exits are added up.
        """
        exits = list(self._exit_capacities)
        for links, uplink in map(self._nic_capacities, self._nics):
            limit = max(uplink, sum(links))
            exits = [
                exit_capacity + capacity * uplink // limit for exit_capacity, capacity in zip(exits, links, strict=True)
            ]
        totals: Ints = np.r_[0, np.cumsum(sorted(exits))]
        return totals

    def _lower_bounds(self) -> Ints:
        """Bound the cut of k chips from below by their exits and, in a torus, by the links between chips."""
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
        """Return, for each k, the least cut of the first k chips of any sweep order, and store that order."""
        others = sorted(set(self._graph).difference(self.chips, self._nics))
        index = {node: i for i, node in enumerate([*self.chips, *others])}
        matrix = np.zeros((len(index),) * 2, dtype=np.int64)
        for u, v, capacity in weighted_edges(self._graph.subgraph(index)):
            matrix[index[u], index[v]] = matrix[index[v], index[u]] = capacity
        nics = [(np.array(links), uplink) for links, uplink in map(self._nic_capacities, self._nics)]
        best = np.full(self.size + 1, np.iinfo(np.int64).max)
        for order in self._sweep_orders():
            rows = [index[chip] for chip in order]
            inner_sums = np.tril(matrix[np.ix_(rows, rows)]).sum(axis=1)
            cuts = np.r_[0, np.cumsum(matrix[rows].sum(axis=1) - 2 * inner_sums)]
            for links, uplink in nics:
                cuts += np.minimum(np.r_[0, np.cumsum(links[rows])], uplink)
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
        """Narrow the bounds for ``size`` chips, with at most ``max_nodes`` search-tree nodes.

        The search stops once the cut is proven to have at least the capacity ``target``.

        If a NIC is shared, the graph with the sink is searched as it is. Otherwise let p be the largest exit capacity
        of a chip, and let a chip lack p minus its own exit capacity. Then the exits of k chips carry p·k minus what
        these chips lack, which is a constant plus what the other chips lack. So the other chips are searched as a side,
        each with a link to the sink of the capacity that it lacks. If no chip lacks any, only inner links matter.
        """
        if not self._is_layered:
            self._is_layered = True
            if (layer_bounds := torus_cuts.layer_profile(self._graph, self.chips, self._sink)) is not None:
                self.lower, self.method = np.maximum(self.lower, layer_bounds), _METHOD_BY_LAYERS
            if self.lower[size] >= min(self.upper[size], target):
                return
        if not self._has_private_exits:
            offset = 0
            cut = heuristic_bisect(
                self._graph, self.chips, size, size, sink=self._sink, max_nodes=max_nodes, target=target
            )
            side = cut.side.intersection(self.chips)
        else:
            max_exit, other_size = max(self._exit_capacities), self.size - size
            missing = [max_exit - exit_capacity for exit_capacity in self._exit_capacities]
            offset = max_exit * size - sum(missing)
            graph, sink = self._inner_graph, None
            if any(missing) and self._sink is not None:
                graph, sink = Graph(graph), self._sink
                missing_by_chip = zip(self.chips, missing, strict=True)
                graph.add_edges_from(
                    (chip, sink, {"capacity": capacity}) for chip, capacity in missing_by_chip if capacity
                )
            cut = heuristic_bisect(
                graph, self.chips, other_size, other_size, sink=sink, max_nodes=max_nodes, target=target - offset
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
        Builds the island's graph on first use, because few of many islands need it.
    network_node
        The network node that the NICs' uplinks lead to, or None if it is down.
    private_exits
        Capacity of each chip to the network node through NICs of its own; None if some NIC is shared or has no chip of
        the island.
    exit_capacity
        Capacity from all chips to the network node.
    uplink_degraded
        Whether the fabric above the network node may block, because not all islands of the question are below one hub.
    hubs
        The hubs above the island; one hub if the fabric is intact. A hub is a group of network nodes
        (`trninv.solvers.hubs`).
    one_hub_variant
        For an island below several hubs, the same island with links to the first hub only, whose cuts have no more
        capacity.

    """

    make_graph: Callable[[], Graph]
    chips: tuple[int, ...]
    network_node: int | None
    private_exits: tuple[int, ...] | None
    exit_capacity: int
    uplink_degraded: bool = False
    hubs: frozenset[int] = frozenset([0])
    one_hub_variant: "Island | None" = None

    @cached_property
    def graph(self) -> Graph:
        """The graph of the island's nodes, and of the network node if that is up."""
        return self.make_graph()

    @cached_property
    def exit_ratio(self) -> Fraction:
        """The exit ratio λ: the least exit capacity per chip of any set of the island's chips (Dinkelbach 1967)."""
        if self.network_node is None or not self.exit_capacity:
            return Fraction(0)
        exits = self.private_exits
        if exits and min(exits) == max(exits):  # every set leaves by its own NICs, and no other link leads out
            return Fraction(exits[0])
        return _min_exit_ratio(self.graph, self.chips, self.network_node)

    @cached_property
    def spread_ratio(self) -> Fraction:
        """The spread ratio c: any a of the n chips cut inner links with a capacity of at least c·a·(n - a).

        These links are cut in addition to EFA links with a capacity of at least λ·a. The ratio is 0 if some chips can
        send at λ per chip only with the help of inner links, because then the two capacities can't be added.
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
        """Number of chips."""
        return len(self.chips)

    @property
    def reachable_hubs(self) -> frozenset[int]:
        """The hubs that the chips can send to; none if the island has no exit capacity."""
        return self.hubs if self.exit_capacity else frozenset()

    @property
    def lower_bound_island(self) -> "Island":
        """The island whose cuts bound this island's cuts from below: its variant below one hub, or itself."""
        return self.one_hub_variant or self

    @classmethod
    def from_graph(
        cls, graph: Graph, chips: Collection[int], network_node: int | None, hubs: frozenset[int] = frozenset([0])
    ) -> "Island":
        """Build an island from its graph, and compute the capacities of its exits."""
        graph, endpoints = without_dead_nics(graph), tuple(sorted(chips))
        live_node = network_node if network_node in graph else None
        private_exits, exit_capacity = None, 0
        if live_node is not None and endpoints:
            private_exits = private_exit_capacities(graph, endpoints, live_node)
            exit_capacity = sum(private_exits) if private_exits else minimum_cut(graph, endpoints, [live_node])[0]
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
        """Bounds on the island's cut, by the number of chips on the other side than the network node."""
        return CutProfile(self.graph, self.chips, self.network_node)

    def witness(self, count: int) -> tuple[int, ...]:
        """Return ``count`` chips whose cut is the profile's upper bound."""
        side = self.profile.witness(count) if count < self.chip_count else self.chips
        return tuple(chip for chip in self.chips if chip in side)

    def others(self, chips: Collection[int]) -> tuple[int, ...]:
        """Return the island's chips that are not among some chips."""
        rest = set(self.chips).difference(chips)
        return tuple(chip for chip in self.chips if chip in rest)


def private_exit_capacities(graph: Graph, chips: Sequence[int], network_node: int) -> list[int] | None:
    """Return the capacity of each chip to the network node through NICs of its own; O(V + E).

    None if some NIC is shared, or is linked to a node that is not in ``chips``.

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
                [chip] = chips_of_nic
                exits[chip] += min(graph.edges[nic, end]["capacity"] for end in (chip, network_node))
    return list(exits.values())


def scale_up_graph(graph: Graph) -> Graph:
    """Return the part of a graph that consists of chips and switches; O(V + E).

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_nodes_from([(1, {"kind": "chip"}), (2, {"kind": "switch"}), (3, {"kind": "nic"})])
    >>> graph.add_node(4, kind="network_node")
    >>> list(scale_up_graph(graph))
    [1, 2]

    """
    return Graph(
        graph.subgraph(node for node, attributes in graph.nodes(data=True) if attributes["kind"] in ("chip", "switch"))
    )


def _min_exit_ratio(graph: Graph, chips: Sequence[int], network_node: int) -> Fraction:
    """Return the least capacity per chip from any non-empty set of chips to the network node.

    Dinkelbach's method: a source feeds each chip at the current ratio, and the minimum cut from the source to the
    network node shows a set of chips with a smaller ratio. This is repeated until there is no such set.
    """
    graph = contract_nics(graph)
    ratio = Fraction(minimum_cut(graph, chips, [network_node])[0], len(chips))
    adjacency = directed_adjacency(graph.nodes, dict(graph.adjacency())).successors
    while ratio:
        demand: nx.DiGraph[object] = nx.DiGraph()
        source = object()
        for u, successors in adjacency.items():
            demand.add_edges_from(
                (u, v, {"capacity": link["capacity"] * ratio.denominator}) for v, link in successors.items()
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
    """Return a number c such that every cut between a of the n chips and the others carries at least c·a·(n - a).

    In an undamaged torus, c follows from the bisection B, because dimension-order routing of one unit between each pair
    of chips loads no link with more than n²/4 / B of its capacity. If all splits can be enumerated, c is the least
    ratio of cut to a·(n - a). Otherwise c is 0.
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
