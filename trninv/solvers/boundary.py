"""Compute a domain's cut profile: the least cut between k of its chips, its other chips and the fabric, for each k.

It is exact if all splits can be enumerated. Otherwise it is bounded below by the damaged hypercube
(`trninv.solvers.hypercube`) and above by cheap orders of the chips, until `CutProfile.refine` solves one k. That tries
the layers of the torus first (`trninv.solvers.layers`), which bound all k at once.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trninv.solvers import enumeration, layers, ports
from trninv.solvers.bisection import MAX_NODES, heuristic_bisect, sweep_orders
from trninv.solvers.graph import Graph, weighted_edges
from trninv.solvers.hypercube import PartialHypercube
from trninv.solvers.split import NO_TARGET

Ints = NDArray[np.int64]
_METHOD_BY_CUBE = "cheap orders above; below, what is left of the torus, chip by chip and as a whole"
_METHOD_BY_LAYERS = "cheap orders above; below, every subset of every layer of the torus"


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
        self._graph = graph if self._sink is None else ports.contract_nics(graph)
        sink_neighbors = () if self._sink is None else self._graph[self._sink]
        self._nics = [neighbor for neighbor in sink_neighbors if self._graph.nodes[neighbor]["kind"] == "nic"]
        self._hubs = enumeration.select_hubs(self._graph, self.chips, self._sink)
        self._witnesses, self._exhausted = dict[int, frozenset[int]](), set[int]()
        self._best_orders: dict[int, Sequence[int]] = {}
        self._cube: PartialHypercube | None = None
        self._is_layered = False
        if self._hubs is not None:
            self.lower = np.array(enumeration.enumerate_profile(self._graph, self.chips, self._hubs, self._sink))
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
            if (layer_bounds := layers.layer_profile(self._graph, self.chips, self._sink)) is not None:
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
        cut = enumeration.bisect_by_enumeration(self._graph, self.chips, self._hubs, size, size, self._sink)
        side = cut.side.intersection(self.chips)
        return side if len(side) == size else frozenset(self.chips) - side
