"""Bisection by enumeration: the sides of a few hub switches, then every subset of each component that is left.

Given the hubs' sides the components do not touch, so a knapsack on the number of endpoints joins their best subsets.
What is no endpoint and touches only endpoints and hubs is not enumerated: it stands where that costs less. Nor is a
NIC, which is cut at its ports (`trninv.solvers.ports`). Cost: 2^hubs · (Σ 2^component + endpoints²). Exact in any state
of the wiring.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.solvers.graph import Graph, capacities, nics_in
from trninv.solvers.split import Split

MAX_COMPONENT = 16
"""Nodes of a component whose 2¹⁶ subsets are enumerated."""
MAX_HUBS = 8
_CELLS = 2**21
"""Entries of one array: sides of the hubs × subsets of a component."""

Ints = NDArray[np.int64]
_FAR = np.int64(2**62)


def hubs(graph: Graph, ends: Sequence[int], apart: int | None = None) -> list[int] | None:
    """Switches, busiest first, whose removal leaves small components; None if there are too few or too many.

    Parameters
    ----------
    apart
        A node that must be one of them, and is the last.

    """
    switches = sorted(
        set(graph).difference(ends, [apart], nics_in(graph)), key=lambda node: (-graph.degree(node), node)
    )
    last = [] if apart is None else [apart]
    for number in range(MAX_HUBS + 1 - len(last)):
        chosen = switches[:number] + last
        if max((len(part) - len(loose) for part, loose in _parts(graph, ends, chosen)), default=0) <= MAX_COMPONENT:
            return chosen
        if number == len(switches):
            break
    return None


def _parts(graph: Graph, ends: Sequence[int], hubs: Collection[int]) -> list[tuple[set[int], set[int]]]:
    """The components without the hubs; of them the NICs, and what touches only endpoints and hubs."""
    tied = {*ends, *hubs}
    rest = Graph(graph.subgraph(set(graph).difference(hubs)))
    loose = {node for node in rest if node not in tied and tied.issuperset(graph[node])} | set(nics_in(rest))
    return [(part, part & loose) for part in nx.connected_components(rest)]


def profile(graph: Graph, ends: Sequence[int], hubs: Sequence[int], apart: int | None = None) -> list[int]:
    """For each number of endpoints, the least capacity that separates that many from the rest, and from ``apart``."""
    best = np.full(len(ends) + 1, _FAR)
    for table, _, _ in _tables(graph, ends, hubs, _sides(hubs, apart)):
        best = np.minimum(best, table.min(axis=0))
    return [int(value) for value in best]


def _sides(hubs: Sequence[int], apart: int | None) -> list[tuple[int, ...]]:
    if apart is None:
        return list(product((0, 1), repeat=len(hubs)))
    return [(*side, 0) for side in product((0, 1), repeat=len(hubs) - 1)]


def _tables(
    graph: Graph, ends: Sequence[int], hubs: Sequence[int], sides: Sequence[tuple[int, ...]]
) -> "Iterator[tuple[Ints, Ints, list[_Joined]]]":
    """Chunk by chunk of the hubs' sides: least cut by side and number of endpoints, the sides, how it came about."""
    parts = _components(graph, ends, hubs)
    largest = max((len(part.within) for part in parts), default=1)
    chunk = max(_CELLS // largest, 1)
    edges = [(hubs.index(a), hubs.index(b), carries) for a, b, carries in capacities(graph.subgraph(hubs))]
    for at in range(0, len(sides), chunk):
        deadline.check()
        some = sides[at : at + chunk]
        taken = np.array(some, dtype=np.int64).reshape(len(some), len(hubs))
        table = sum((carries * (taken[:, [a]] ^ taken[:, [b]]) for a, b, carries in edges), np.zeros((len(taken), 1)))
        table, joined = table.astype(np.int64), list[_Joined]()
        for part in parts:
            cost, subset = part.profile(hubs, taken)
            table, pick = _add(table, cost)
            joined.append(_Joined(part, pick, subset))
        yield table, taken, joined


def _components(graph: Graph, ends: Sequence[int], hubs: Sequence[int]) -> "list[_Component]":
    return [_Component.of(graph, part - loose, loose, ends, hubs) for part, loose in _parts(graph, ends, hubs)]


def bisect(
    graph: Graph, ends: Sequence[int], hubs: Sequence[int], low: int, high: int, apart: int | None = None
) -> Split:
    """Least capacity that parts ``low`` to ``high`` endpoints from the others, and from ``apart``: exact."""
    sides, sizes = _sides(hubs, apart), list(range(low, high + 1))
    if apart is None:  # the first hub is on side 1: its mirror images are other numbers of endpoints
        sides = [side for side in sides if side[:1] != (0,)]
        sizes = sorted({*sizes, *range(len(ends) - high, len(ends) - low + 1)})
    best: tuple[int, list[int]] | None = None
    for table, taken, joined in _tables(graph, ends, hubs, sides):
        row, column = divmod(int(np.argmin(table[:, sizes])), len(sizes))
        value = int(table[row, sizes[column]])
        if best is None or value < best[0]:
            best = value, sorted(_chosen(hubs, taken[row], joined, row, sizes[column]))
    if best is None:
        raise AssertionError("there is always a side")
    parts = len(_parts(graph, ends, hubs))
    how = f"the sides of {len(hubs)} switches and of {parts} components" if hubs else "all splits"
    return Split.of(graph, best[1], f"enumeration of {how}")


def _chosen(hubs: Sequence[int], side: Ints, joined: "Sequence[_Joined]", row: int, count: int) -> set[int]:
    """Nodes on side 1 of the least cut that has this many endpoints there."""
    chosen = {hub for hub, at in zip(hubs, side, strict=True) if at}
    for each in reversed(joined):
        taken = int(each.pick[row, count])
        chosen.update(each.part.chosen(hubs, side, int(each.subset[row, taken])))
        count -= taken
    return chosen


@dataclass(frozen=True, slots=True)
class _Loose:
    """A node that is not enumerated: by subset, what it carries to side 1; in all; and to each hub."""

    node: int
    is_nic: bool
    to_ends: Ints
    carries: int
    to_hub: Mapping[int, int]

    @classmethod
    def of(cls, graph: Graph, node: int, chosen: Mapping[int, Ints], hubs: Sequence[int]) -> "_Loose":
        to_hub = {hub: graph.edges[node, hub]["capacity"] for hub in hubs if graph.has_edge(node, hub)}
        wires = [(chosen[near], graph.edges[node, near]["capacity"]) for near in graph[node] if near in chosen]
        none = np.zeros_like(next(iter(chosen.values()), np.zeros(1, dtype=np.int64)))
        is_nic, to_ends = graph.nodes[node].get("kind") == "nic", sum((c * is_in for is_in, c in wires), none)
        return cls(node, is_nic, to_ends, sum(c for _, c in wires), to_hub)

    def cut(self, hubs: Sequence[int], sides: Ints) -> tuple[Ints, Ints]:
        """What is cut if it stands on side 0, and on side 1, by row of the hubs' sides and by subset.

        A NIC stands nowhere: both are what is cut at its ports.
        """
        carries = np.array([self.to_hub.get(hub, 0) for hub in hubs], dtype=np.int64)
        above = (sides @ carries)[:, None]
        others, below = self.carries - self.to_ends, carries.sum() - above
        if self.is_nic:
            least = np.minimum(self.to_ends, below) + np.minimum(above, others)
            return least, least
        return self.to_ends + above, others + below


@dataclass(frozen=True, slots=True)
class _Component:
    """All subsets of a component: what each cuts within, what it cuts to each hub on side 0 and 1, its endpoints."""

    nodes: Sequence[int]
    within: Ints
    to_hub: Mapping[int, tuple[Ints, Ints]]
    loose: Sequence[_Loose]
    by_count: Sequence[Ints]

    @classmethod
    def of(
        cls, graph: Graph, part: Collection[int], loose: Collection[int], ends: Sequence[int], hubs: Sequence[int]
    ) -> "_Component":
        nodes = sorted(part)
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
            if not wires:
                continue
            cut = sum((carries * is_in for is_in, carries in wires), none)
            to_hub[hub] = (cut, sum(carries for _, carries in wires) - cut)
        count = sum((chosen[node] for node in set(nodes).intersection(ends)), none)
        by_count = [np.flatnonzero(count == k) for k in range(int(count.max()) + 1)]
        return cls(nodes, within, to_hub, [_Loose.of(graph, node, chosen, hubs) for node in sorted(loose)], by_count)

    def profile(self, hubs: Sequence[int], sides: Ints) -> tuple[Ints, Ints]:
        """For each row of the hubs' sides and number of endpoints the least cut, and a subset that has it."""
        cost = np.repeat(self.within[None, :], len(sides), axis=0)
        for at, hub in enumerate(hubs):
            if hub in self.to_hub:
                cost += np.stack(self.to_hub[hub])[sides[:, at]]
        for each in self.loose:
            cost += np.minimum(*each.cut(hubs, sides))
        best = np.stack([subsets[np.argmin(cost[:, subsets], axis=1)] for subsets in self.by_count], axis=1)
        return np.take_along_axis(cost, best, axis=1), best

    def chosen(self, hubs: Sequence[int], side: Ints, subset: int) -> Iterator[int]:
        """Its nodes that are on side 1."""
        yield from (node for i, node in enumerate(self.nodes) if subset >> i & 1)
        for each in self.loose:
            off, on = each.cut(hubs, side[None, :])
            if on[0, subset] < off[0, subset]:
                yield each.node


@dataclass(frozen=True, slots=True)
class _Joined:
    """A component, how many of its endpoints each table entry takes, and the subset that has as many."""

    part: _Component
    pick: Ints
    subset: Ints


def _add(table: Ints, cost: Ints) -> tuple[Ints, Ints]:
    """Least cost of each count with one more component, row by row, and how many endpoints that takes from it."""
    rows, size = len(table), table.shape[1] + cost.shape[1] - 1
    least, pick = np.full((rows, size), _FAR), np.zeros((rows, size), dtype=np.int64)
    for taken in range(cost.shape[1]):
        window = slice(taken, taken + table.shape[1])
        total = table + cost[:, [taken]]
        better = total < least[:, window]
        least[:, window] = np.where(better, total, least[:, window])
        pick[:, window] = np.where(better, taken, pick[:, window])
    return least, pick
