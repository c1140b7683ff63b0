"""The boundary profile of a domain: what k of its chips must cut at least, from its others and from the fabric.

Exact at once where all splits can be enumerated. Else bounded below by the cube that is left of the domain's torus
(`trninv.solvers.hypercube`) and above by cheap orders of the chips, until `refine` solves one k: it looks at the layers
of the torus first (`trninv.solvers.layers`), which bound all k at once.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trninv.solvers import enumeration, layers, ports
from trninv.solvers.bisection import MOST_NODES, orders, search
from trninv.solvers.graph import Graph, capacities
from trninv.solvers.hypercube import Cube
from trninv.solvers.split import EVERY

Ints = NDArray[np.int64]
_BOUNDED = "cheap orders above; below, what is left of the torus, chip by chip and as a whole"
_LAYERED = "cheap orders above; below, every subset of every layer of the torus"


class Profile:
    """Bounds by the number of chips on one side; ``apart``, where there is such a node, is on the other.

    Attributes
    ----------
    lower, upper
        For 0 … n chips, bytes per second of one direction.
    method
        Why the lower ones hold.

    """

    def __init__(self, graph: Graph, chips: Sequence[int], apart: int | None = None) -> None:
        self.chips, self._apart = tuple(chips), apart if apart in graph else None
        self._graph = graph if self._apart is None else ports.folded(graph)
        beside = () if self._apart is None else self._graph[self._apart]
        self._nics = [near for near in beside if self._graph.nodes[near]["kind"] == "nic"]
        self._hubs = enumeration.hubs(self._graph, self.chips, self._apart)
        self._sides, self._given_up = dict[int, frozenset[int]](), set[int]()
        self._cheapest: dict[int, Sequence[int]] = {}
        self._cube: Cube | None = None
        self._is_layered = False
        if self._hubs is not None:
            self.lower = np.array(enumeration.profile(self._graph, self.chips, self._hubs, self._apart))
            self.upper, self.method = self.lower, "enumeration of all splits"
        else:
            self.method = _BOUNDED
            self.lower, self.upper = self._below(), self._above()

    def gap(self, size: int) -> int:
        """How far the bounds for a number of chips are apart, if more can be done about it; else 0."""
        return 0 if size in self._given_up else int(self.upper[size] - self.lower[size])

    @property
    def size(self) -> int:
        """How many chips there are."""
        return len(self.chips)

    @cached_property
    def _inner(self) -> Graph:
        return Graph(self._graph.subgraph(set(self._graph).difference([self._apart])))

    @cached_property
    def _leave_alone(self) -> bool:
        """Whether all that leads to the node apart is a chip's own."""
        return self._apart is None or set(self._graph[self._apart]) <= set(self.chips)

    @cached_property
    def _exits(self) -> list[int]:
        """What each chip carries to the node that is apart."""
        near = {} if self._apart is None else self._graph[self._apart]
        return [near[chip]["capacity"] if chip in near else 0 for chip in self.chips]

    def _through(self, nic: int) -> tuple[list[int], int]:
        """What a NIC's links to the chips carry, and its uplink."""
        near = self._graph[nic]
        return [near[chip]["capacity"] if chip in near else 0 for chip in self.chips], near[self._apart]["capacity"]

    def _leaving(self) -> Ints:
        """What k chips send out at least: through a NIC that they share as much as a part of its uplink a link."""
        least = list(self._exits)
        for links, up in map(self._through, self._nics):
            least = [sent + carries * up // max(up, sum(links)) for sent, carries in zip(least, links, strict=True)]
        found: Ints = np.r_[0, np.cumsum(sorted(least))]
        return found

    def _below(self) -> Ints:
        leaving = self._leaving()
        alone = self._inner.number_of_nodes() == self.size + len(self._nics)
        self._cube = Cube.of(Graph(self._inner.subgraph(self.chips)), self.chips) if alone else None
        if self._cube is None:
            return leaving
        if self._cube.is_whole:
            self.method = self._cube.method
        found: Ints = leaving + self._cube.least()
        return found

    def _above(self) -> Ints:
        others = sorted(set(self._graph).difference(self.chips, self._nics))
        at = {node: i for i, node in enumerate([*self.chips, *others])}
        matrix = np.zeros((len(at),) * 2, dtype=np.int64)
        for a, b, carries in capacities(self._graph.subgraph(at)):
            matrix[at[a], at[b]] = matrix[at[b], at[a]] = carries
        ports = [(np.array(links), up) for links, up in map(self._through, self._nics)]
        best = np.full(self.size + 1, np.iinfo(np.int64).max)
        for order in self._listed():
            places = [at[chip] for chip in order]
            within = np.tril(matrix[np.ix_(places, places)]).sum(axis=1)
            cuts = np.r_[0, np.cumsum(matrix[places].sum(axis=1) - 2 * within)]
            for links, up in ports:
                cuts += np.minimum(np.r_[0, np.cumsum(links[places])], up)
            for size in np.flatnonzero(cuts < best):
                self._cheapest[int(size)] = order
            best = np.minimum(best, cuts)
        return best

    def _listed(self) -> Iterator[Sequence[int]]:
        if self._cube:
            yield from self._cube.orders()
        else:
            for order in orders(self._inner, self.chips):
                yield order
                yield order[::-1]

    def refine(self, size: int, nodes: int = MOST_NODES, enough: int = EVERY) -> None:
        """Solve one number of chips, with no more than so many nodes of a search tree; no less than enough will do.

        With p the most that a chip carries out, k chips carry p·k less what they lack of it. So what the others lack
        counts for them, and where all carry p it is a matter of the inner links alone.
        """
        if not self._is_layered:
            self._is_layered = True
            if (layered := layers.least(self._graph, self.chips, self._apart)) is not None:
                self.lower, self.method = np.maximum(self.lower, layered), _LAYERED
            if self.lower[size] >= min(self.upper[size], enough):
                return
        if not self._leave_alone:
            found, more = search(self._graph, self.chips, size, size, apart=self._apart, nodes=nodes, enough=enough), 0
            side = found.side.intersection(self.chips)
        else:
            most, others, hub = max(self._exits), self.size - size, None
            graph, lacks = self._inner, [most - carries for carries in self._exits]
            more = most * size - sum(lacks)
            if any(lacks) and self._apart is not None:
                graph, hub = Graph(graph), self._apart
                wires = zip(self.chips, lacks, strict=True)
                graph.add_edges_from((chip, hub, {"capacity": lack}) for chip, lack in wires if lack)
            found = search(graph, self.chips, others, others, apart=hub, nodes=nodes, enough=enough - more)
            side = frozenset(self.chips) - found.side
        self.method = found.method
        if found.lower < min(found.upper, enough - more):
            self._given_up.add(size)
        self.lower[size] = max(self.lower[size], found.lower + more)
        if found.upper + more < self.upper[size]:
            self.upper[size] = found.upper + more
            self._sides[size] = side

    def side(self, size: int) -> frozenset[int]:
        """So many chips that cut the upper bound."""
        if size in self._sides:
            return self._sides[size]
        if self._hubs is None:
            return frozenset(self._cheapest[size][:size])
        found = enumeration.bisect(self._graph, self.chips, self._hubs, size, size, self._apart)
        side = found.side.intersection(self.chips)
        return side if len(side) == size else frozenset(self.chips) - side
