"""Look up the maximum flow between two chips of a domain, solved once for all pairs that symmetries make equivalent.

Let g be a symmetry: a permutation of the nodes that preserves every link and its capacity. It maps a flow from s to t
onto a flow of the same value from g(s) to g(t), and a cut that separates s from t onto a cut of the same capacity that
separates g(s) from g(t). So both pairs have the same maximum flow. One of the minimum cuts between s and t has a target
side that is contained in the target sides of all the others; g maps this cut onto the corresponding cut between g(s)
and g(t). It is the cut that `trninv.solvers.max_flow` returns, so the image of a pair's cut is the cut that would be
computed for the pair's image.

The pairs that compositions of symmetries map onto each other form an orbit. A breadth-first search over all pairs, with
generators of the symmetries as steps, finds the orbits once for each wiring, and stores the step that led to each pair.
Following these steps back leads to the first pair of the orbit; following them forward maps its cut onto the pair's.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from trninv import solvers

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

Ints = NDArray[np.int64]
PairFlow = tuple[int, Sequence[tuple[int, int]]]
"""A maximum flow in bytes per second, and the links of a minimum cut, each from the source's side to the target's."""


class PairFlows:
    """The maximum flows between any two chips of a graph.

    O(pairs·symmetries) to build; then one maximum flow for each orbit of pairs on first use.

    Examples
    --------
    The flow between opposite nodes of a ring is the image of the first one that was solved:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(0, 1, 10), (1, 2, 10), (2, 3, 10), (3, 0, 10)], weight="capacity")
    >>> for chip in range(4):
    ...     graph.add_node(chip, kind="chip", server=0, rack=0, ordinal=chip, wiring="torus", sides=(4,))
    >>> flows = PairFlows(graph)
    >>> flows.minimum_cut(0, 2), flows.minimum_cut(1, 3), flows.orbit_count
    ((20, [(1, 2), (3, 2)]), (20, [(2, 3), (0, 3)]), 2)

    """

    def __init__(self, graph: "Graph") -> None:
        arrays = solvers.symmetry.GraphArrays.from_graph(graph)
        chips = np.flatnonzero(arrays.kinds == 0)  # kind 0 is a chip
        images = np.array([*arrays.symmetries()], dtype=np.int64).reshape(-1, len(arrays.nodes))
        self._chips = [arrays.nodes[chip] for chip in chips.tolist()]
        self._number = {chip: number for number, chip in enumerate(self._chips)}
        self._network = solvers.max_flow.FlowNetwork.from_graph(graph)
        self._images = [
            dict(zip(arrays.nodes, map(arrays.nodes.__getitem__, image), strict=True)) for image in images.tolist()
        ]
        self._parents, self._steps = _pair_trees(np.searchsorted(chips, images[:, chips]), len(chips))
        self._cuts = dict[int, PairFlow]()  # by the first pair of the orbit

    @property
    def orbit_count(self) -> int:
        """Number of orbits of pairs of two different chips."""
        # the first pair of an orbit has the step -1; a pair of a chip with itself is a multiple of the chips plus one
        return sum(step < 0 and pair % (len(self._chips) + 1) > 0 for pair, step in enumerate(self._steps))

    def minimum_cut(self, source: int, target: int) -> PairFlow:
        """Return the maximum flow from one chip to another one, and the minimum cut with the smallest target side."""
        pair, steps = self._first_pair(source, target)
        if (solved := self._cuts.get(pair)) is None:
            first_source, first_target = (self._chips[number] for number in divmod(pair, len(self._chips)))
            solved = self._cuts[pair] = self._network.cut_links([first_source], [first_target])
        value, links = solved
        for step in reversed(steps):
            image = self._images[step]
            links = [(image[u], image[v]) for u, v in links]
        return value, links

    def _first_pair(self, source: int, target: int) -> tuple[int, list[int]]:
        """Return the first pair of a pair's orbit, and the steps back to it, each as the index of a symmetry."""
        pair, steps = self._number[source] * len(self._chips) + self._number[target], list[int]()
        while (step := self._steps[pair]) >= 0:
            steps.append(step)
            pair = self._parents[pair]
        return pair, steps


def _pair_trees(images: Ints, count: int) -> tuple[list[int], list[int]]:
    """Return, for each pair of chips, its predecessor in the search and the symmetry that maps the predecessor onto it.

    The pair of the chips numbered u and v is encoded as u·count + v. The first pair of an orbit has itself as
    predecessor and -1 as symmetry.
    """
    pairs = np.arange(count * count)
    u, v = np.divmod(pairs, count)
    targets = images[:, u] * count + images[:, v]
    exchanges = coo_array(
        (np.ones(targets.size, dtype=bool), (np.tile(pairs, len(images)), targets.ravel())), (len(pairs),) * 2
    )
    firsts = np.unique(connected_components(exchanges, directed=False)[1], return_index=True)[1]
    parents, steps, frontier = pairs.copy(), np.full(len(pairs), -1), firsts
    is_reached = np.zeros(len(pairs), dtype=bool)
    is_reached[firsts] = True
    while len(frontier):
        next_pairs = targets[:, frontier].ravel()
        candidates = np.flatnonzero(~is_reached[next_pairs])
        reached, first = np.unique(next_pairs[candidates], return_index=True)
        step, index = np.divmod(candidates[first], len(frontier))
        parents[reached], steps[reached], is_reached[reached] = frontier[index], step, True
        frontier = reached
    return parents.tolist(), steps.tolist()
