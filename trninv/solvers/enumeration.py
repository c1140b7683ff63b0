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
from trninv.solvers.graph import Graph, nics_in, weighted_edges
from trninv.solvers.split import Cut

MAX_COMPONENT = 16
"""Nodes of a component whose 2¹⁶ subsets are enumerated."""
MAX_HUBS = 8
_MAX_CELLS = 2**21
"""Entries of one array: sides of the hubs × subsets of a component."""

Ints = NDArray[np.int64]
_INFINITE_CUT = np.int64(2**62)


def select_hubs(graph: Graph, endpoints: Sequence[int], sink: int | None = None) -> list[int] | None:
    """Switches, busiest first, whose removal leaves small components; None if there are too few or too many.

    Parameters
    ----------
    apart
        A node that must be one of them, and is the last.

    """
    switches = sorted(
        set(graph).difference(endpoints, [sink], nics_in(graph)), key=lambda node: (-graph.degree(node), node)
    )
    required = [] if sink is None else [sink]
    for count in range(MAX_HUBS + 1 - len(required)):
        chosen = switches[:count] + required
        if (
            max(
                (len(part) - len(isolated) for part, isolated in _split_components(graph, endpoints, chosen)), default=0
            )
            <= MAX_COMPONENT
        ):
            return chosen
        if count == len(switches):
            break
    return None


def _split_components(graph: Graph, endpoints: Sequence[int], hubs: Collection[int]) -> list[tuple[set[int], set[int]]]:
    """The components without the hubs; of them the NICs, and what touches only endpoints and hubs."""
    attached = {*endpoints, *hubs}
    rest = Graph(graph.subgraph(set(graph).difference(hubs)))
    isolated = {node for node in rest if node not in attached and attached.issuperset(graph[node])} | set(nics_in(rest))
    return [(part, part & isolated) for part in nx.connected_components(rest)]


def enumerate_profile(
    graph: Graph, endpoints: Sequence[int], hubs: Sequence[int], sink: int | None = None
) -> list[int]:
    """For each number of endpoints, the least capacity that separates that many from the rest, and from ``apart``."""
    best = np.full(len(endpoints) + 1, _INFINITE_CUT)
    for table, _, _ in _tables(graph, endpoints, hubs, _hub_sides(hubs, sink)):
        best = np.minimum(best, table.min(axis=0))
    return [int(value) for value in best]


def _hub_sides(hubs: Sequence[int], sink: int | None) -> list[tuple[int, ...]]:
    if sink is None:
        return list(product((0, 1), repeat=len(hubs)))
    return [(*side, 0) for side in product((0, 1), repeat=len(hubs) - 1)]


def _tables(
    graph: Graph, endpoints: Sequence[int], hubs: Sequence[int], sides: Sequence[tuple[int, ...]]
) -> "Iterator[tuple[Ints, Ints, list[_TableEntry]]]":
    """Chunk by chunk of the hubs' sides: least cut by side and number of endpoints, the sides, how it came about."""
    parts = _components(graph, endpoints, hubs)
    largest = max((len(part.inner_cuts) for part in parts), default=1)
    chunk_size = max(_MAX_CELLS // largest, 1)
    edges = [(hubs.index(a), hubs.index(b), capacity) for a, b, capacity in weighted_edges(graph.subgraph(hubs))]
    for offset in range(0, len(sides), chunk_size):
        deadline.raise_if_expired()
        chunk_sides = sides[offset : offset + chunk_size]
        hub_sides = np.array(chunk_sides, dtype=np.int64).reshape(len(chunk_sides), len(hubs))
        table = sum(
            (capacity * (hub_sides[:, [a]] ^ hub_sides[:, [b]]) for a, b, capacity in edges),
            np.zeros((len(hub_sides), 1)),
        )
        table, entries = table.astype(np.int64), list[_TableEntry]()
        for part in parts:
            cost, subset = part.profile(hubs, hub_sides)
            table, taken_counts = _add_component(table, cost)
            entries.append(_TableEntry(part, taken_counts, subset))
        yield table, hub_sides, entries


def _components(graph: Graph, endpoints: Sequence[int], hubs: Sequence[int]) -> "list[_Component]":
    return [
        _Component.from_graph(graph, part - isolated, isolated, endpoints, hubs)
        for part, isolated in _split_components(graph, endpoints, hubs)
    ]


def bisect_by_enumeration(
    graph: Graph, endpoints: Sequence[int], hubs: Sequence[int], min_side: int, max_side: int, sink: int | None = None
) -> Cut:
    """Least capacity that parts ``low`` to ``high`` endpoints from the others, and from ``apart``: exact."""
    sides, sizes = _hub_sides(hubs, sink), list(range(min_side, max_side + 1))
    if sink is None:  # the first hub is on side 1: its mirror images are other numbers of endpoints
        sides = [side for side in sides if side[:1] != (0,)]
        sizes = sorted({*sizes, *range(len(endpoints) - max_side, len(endpoints) - min_side + 1)})
    best: tuple[int, list[int]] | None = None
    for table, hub_sides, entries in _tables(graph, endpoints, hubs, sides):
        row, column = divmod(int(np.argmin(table[:, sizes])), len(sizes))
        value = int(table[row, sizes[column]])
        if best is None or value < best[0]:
            best = value, sorted(_nodes_on_side(hubs, hub_sides[row], entries, row, sizes[column]))
    if best is None:
        raise AssertionError("there is always a side")
    parts = len(_split_components(graph, endpoints, hubs))
    description = f"the sides of {len(hubs)} switches and of {parts} components" if hubs else "all splits"
    return Cut.from_side(graph, best[1], f"enumeration of {description}")


def _nodes_on_side(hubs: Sequence[int], side: Ints, entries: "Sequence[_TableEntry]", row: int, count: int) -> set[int]:
    """Nodes on side 1 of the least cut that has this many endpoints there."""
    members = {hub for hub, is_in in zip(hubs, side, strict=True) if is_in}
    for entry in reversed(entries):
        part_count = int(entry.taken_counts[row, count])
        members.update(entry.component.nodes_on_side(hubs, side, int(entry.subset[row, part_count])))
        count -= part_count
    return members


@dataclass(frozen=True, slots=True)
class _IsolatedNode:
    """A node that is not enumerated: by subset, what it carries to side 1; in all; and to each hub."""

    node: int
    is_nic: bool
    capacity_to_side: Ints
    total_capacity: int
    to_hub: Mapping[int, int]

    @classmethod
    def from_graph(
        cls, graph: Graph, node: int, is_in_subset: Mapping[int, Ints], hubs: Sequence[int]
    ) -> "_IsolatedNode":
        to_hub = {hub: graph.edges[node, hub]["capacity"] for hub in hubs if graph.has_edge(node, hub)}
        links = [
            (is_in_subset[neighbor], graph.edges[node, neighbor]["capacity"])
            for neighbor in graph[node]
            if neighbor in is_in_subset
        ]
        zeros = np.zeros_like(next(iter(is_in_subset.values()), np.zeros(1, dtype=np.int64)))
        is_nic, capacity_to_side = (
            graph.nodes[node].get("kind") == "nic",
            sum((capacity * is_in for is_in, capacity in links), zeros),
        )
        return cls(node, is_nic, capacity_to_side, sum(capacity for _, capacity in links), to_hub)

    def cut_by_side(self, hubs: Sequence[int], sides: Ints) -> tuple[Ints, Ints]:
        """What is cut if it stands on side 0, and on side 1, by row of the hubs' sides and by subset.

        A NIC stands nowhere: both are what is cut at its ports.
        """
        hub_capacities = np.array([self.to_hub.get(hub, 0) for hub in hubs], dtype=np.int64)
        to_hubs = (sides @ hub_capacities)[:, None]
        from_side, from_hubs = self.total_capacity - self.capacity_to_side, hub_capacities.sum() - to_hubs
        if self.is_nic:
            min_cut = np.minimum(self.capacity_to_side, from_hubs) + np.minimum(to_hubs, from_side)
            return min_cut, min_cut
        return self.capacity_to_side + to_hubs, from_side + from_hubs


@dataclass(frozen=True, slots=True)
class _Component:
    """All subsets of a component: what each cuts within, what it cuts to each hub on side 0 and 1, its endpoints."""

    nodes: Sequence[int]
    inner_cuts: Ints
    to_hub: Mapping[int, tuple[Ints, Ints]]
    isolated: Sequence[_IsolatedNode]
    by_count: Sequence[Ints]

    @classmethod
    def from_graph(
        cls,
        graph: Graph,
        part: Collection[int],
        isolated: Collection[int],
        endpoints: Sequence[int],
        hubs: Sequence[int],
    ) -> "_Component":
        nodes = sorted(part)
        subsets = np.arange(1 << len(nodes), dtype=np.int64)
        is_in_subset = {node: subsets >> i & 1 for i, node in enumerate(nodes)}
        zeros = np.zeros_like(subsets)
        inner_cuts = sum(
            (
                capacity * (is_in_subset[a] ^ is_in_subset[b])
                for a, b, capacity in weighted_edges(graph.subgraph(nodes))
            ),
            zeros,
        )
        to_hub = {}
        for hub in hubs:
            links = [
                (is_in_subset[node], graph.edges[node, hub]["capacity"]) for node in nodes if graph.has_edge(node, hub)
            ]
            if not links:
                continue
            cut = sum((capacity * is_in for is_in, capacity in links), zeros)
            to_hub[hub] = (cut, sum(capacity for _, capacity in links) - cut)
        count = sum((is_in_subset[node] for node in set(nodes).intersection(endpoints)), zeros)
        by_count = [np.flatnonzero(count == k) for k in range(int(count.max()) + 1)]
        return cls(
            nodes,
            inner_cuts,
            to_hub,
            [_IsolatedNode.from_graph(graph, node, is_in_subset, hubs) for node in sorted(isolated)],
            by_count,
        )

    def profile(self, hubs: Sequence[int], sides: Ints) -> tuple[Ints, Ints]:
        """For each row of the hubs' sides and number of endpoints the least cut, and a subset that has it."""
        cost = np.repeat(self.inner_cuts[None, :], len(sides), axis=0)
        for index, hub in enumerate(hubs):
            if hub in self.to_hub:
                cost += np.stack(self.to_hub[hub])[sides[:, index]]
        for isolated in self.isolated:
            cost += np.minimum(*isolated.cut_by_side(hubs, sides))
        best = np.stack([subsets[np.argmin(cost[:, subsets], axis=1)] for subsets in self.by_count], axis=1)
        return np.take_along_axis(cost, best, axis=1), best

    def nodes_on_side(self, hubs: Sequence[int], side: Ints, subset: int) -> Iterator[int]:
        """Its nodes that are on side 1."""
        yield from (node for i, node in enumerate(self.nodes) if subset >> i & 1)
        for isolated in self.isolated:
            cut_outside, cut_inside = isolated.cut_by_side(hubs, side[None, :])
            if cut_inside[0, subset] < cut_outside[0, subset]:
                yield isolated.node


@dataclass(frozen=True, slots=True)
class _TableEntry:
    """A component, how many of its endpoints each table entry takes, and the subset that has as many."""

    component: _Component
    taken_counts: Ints
    subset: Ints


def _add_component(table: Ints, cost: Ints) -> tuple[Ints, Ints]:
    """Least cost of each count with one more component, row by row, and how many endpoints that takes from it."""
    rows, size = len(table), table.shape[1] + cost.shape[1] - 1
    min_cost, taken_counts = np.full((rows, size), _INFINITE_CUT), np.zeros((rows, size), dtype=np.int64)
    for count in range(cost.shape[1]):
        window = slice(count, count + table.shape[1])
        total = table + cost[:, [count]]
        better = total < min_cost[:, window]
        min_cost[:, window] = np.where(better, total, min_cost[:, window])
        taken_counts[:, window] = np.where(better, count, taken_counts[:, window])
    return min_cost, taken_counts
