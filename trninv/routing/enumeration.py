"""Bisection by enumeration: the sides of a few hub switches, then every subset of each component that is left.

Given the hubs' sides the components do not touch, so a knapsack on the number of endpoints joins their best subsets.
Cost: 2^hubs · (Σ 2^component + endpoints²). Exact in any state of the wiring.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from trninv.routing.graph import Graph, capacities
from trninv.routing.split import Split, capacity

MAX_COMPONENT = 16
"""Nodes of a component whose 2¹⁶ subsets are enumerated."""
MAX_HUBS = 8

Ints = NDArray[np.int64]
_FAR = np.int64(2**62)


def hubs(graph: Graph, ends: Sequence[int]) -> list[int] | None:
    """Switches, busiest first, whose removal leaves small components; None if there are too few or too many."""
    switches = sorted(set(graph) - set(ends), key=lambda node: (-graph.degree(node), node))
    rest, chosen = Graph(graph), list[int]()
    while max((len(part) for part in nx.connected_components(rest)), default=0) > MAX_COMPONENT:
        if not switches or len(chosen) == MAX_HUBS:
            return None
        chosen.append(switches.pop(0))
        rest.remove_node(chosen[-1])
    return chosen


def profile(graph: Graph, ends: Sequence[int], hubs: Sequence[int]) -> list[int]:
    """For each number of endpoints the least capacity that parts so many from the rest."""
    parts = _components(graph, ends, hubs)
    best = np.full(len(ends) + 1, _FAR)
    for sides in product((0, 1), repeat=len(hubs)):
        side_of = dict(zip(hubs, sides, strict=True))
        table = np.zeros(1, dtype=np.int64)
        for part in parts:
            table, _ = _add(table, part.profile(side_of)[0])
        among_hubs = capacity(graph.subgraph(side_of), {hub for hub, at in side_of.items() if at})
        best = np.minimum(best, table + among_hubs)
    return [int(value) for value in best]


def _components(graph: Graph, ends: Sequence[int], hubs: Sequence[int]) -> "list[_Component]":
    rest = Graph(graph)
    rest.remove_nodes_from(hubs)
    return [_Component.of(graph, sorted(part), ends, hubs) for part in nx.connected_components(rest)]


def bisect(graph: Graph, ends: Sequence[int], hubs: Sequence[int], low: int, high: int) -> Split:
    """Least capacity that parts ``low`` to ``high`` endpoints from the others: exact."""
    parts = _components(graph, ends, hubs)
    splits = [
        _join(graph, parts, dict(zip(hubs, sides, strict=True)), sizes)
        for sides in product((0, 1), repeat=len(hubs))
        if sides[:1] != (0,)  # the mirror image of a case with the first hub on side 1
        for sizes in {(low, high), (len(ends) - high, len(ends) - low)}
    ]
    _, side = min(splits, key=lambda found: (found[0], sorted(found[1])))
    how = f"the sides of {len(hubs)} switches and of {len(parts)} components" if hubs else "all splits"
    return Split.of(graph, side, f"enumeration of {how}")


@dataclass(frozen=True, slots=True)
class _Component:
    """All subsets of a component: what each cuts within, what it cuts to each hub on side 0 and 1, its endpoints."""

    nodes: Sequence[int]
    within: Ints
    to_hub: Mapping[int, tuple[Ints, Ints]]
    by_count: Sequence[Ints]

    @classmethod
    def of(cls, graph: Graph, nodes: Sequence[int], ends: Sequence[int], hubs: Sequence[int]) -> "_Component":
        subsets = np.arange(1 << len(nodes), dtype=np.int64)
        chosen = {node: subsets >> i & 1 for i, node in enumerate(nodes)}
        none = np.zeros_like(subsets)
        within = sum(
            (carries * (chosen[a] ^ chosen[b]) for a, b, carries in capacities(graph.subgraph(nodes))),
            none,
        )
        to_hub = {}
        for hub in hubs:
            wires = [(chosen[node], graph.edges[node, hub]["capacity"]) for node in nodes if graph.has_edge(node, hub)]
            cut = sum((carries * is_in for is_in, carries in wires), none)
            to_hub[hub] = (cut, sum(carries for _, carries in wires) - cut)
        count = sum((chosen[node] for node in set(nodes).intersection(ends)), none)
        return cls(nodes, within, to_hub, [np.flatnonzero(count == k) for k in range(int(count.max()) + 1)])

    def profile(self, side_of: Mapping[int, int]) -> tuple[Ints, Ints]:
        """For each number of endpoints the least cut and a subset that has it, given the hubs' sides."""
        cost = sum((self.to_hub[hub][side] for hub, side in side_of.items()), self.within)
        best = np.array([subsets[np.argmin(cost[subsets])] for subsets in self.by_count])
        return cost[best], best


def _join(
    graph: Graph, parts: Sequence[_Component], side_of: Mapping[int, int], sizes: tuple[int, int]
) -> tuple[int, set[int]]:
    """Least capacity with so many endpoints, from the least to the most, on side 1, and the nodes of side 1."""
    profiles = [part.profile(side_of) for part in parts]
    table, picks = np.zeros(1, dtype=np.int64), list[Ints]()
    for cost, _ in profiles:
        table, pick = _add(table, cost)
        picks.append(pick)
    count = min(range(sizes[0], sizes[1] + 1), key=lambda k: int(table[k]))
    side = {hub for hub, at in side_of.items() if at}
    among_hubs = capacity(graph.subgraph(side_of), side)
    value = among_hubs + int(table[count])
    for part, pick, (_, best) in zip(reversed(parts), reversed(picks), reversed(profiles), strict=True):
        taken = int(pick[count])
        side.update(node for i, node in enumerate(part.nodes) if best[taken] >> i & 1)
        count -= taken
    return value, side


def _add(table: Ints, cost: Ints) -> tuple[Ints, Ints]:
    """Least cost of each count with one more component, and how many endpoints that takes from it."""
    size = len(table) + len(cost) - 1
    least, pick = np.full(size, _FAR), np.zeros(size, dtype=np.int64)
    for taken, extra in enumerate(cost):
        window = slice(taken, taken + len(table))
        better = table + extra < least[window]
        least[window] = np.where(better, table + extra, least[window])
        pick[window] = np.where(better, taken, pick[window])
    return least, pick
