"""Solve balanced cuts exactly by enumerating the sides of a few hubs and all subsets of each remaining component.

Once the hubs' sides are fixed the components are independent, so a knapsack over the number of endpoints combines their
best subsets. A node that is no endpoint and is linked to endpoints and hubs only is not enumerated: it goes to the
cheaper side. Nor is a NIC, which is cut at its ports (`trninv.solvers.graph`). The cost is 2^hubs·(Σ 2^component +
endpoints²). The result is exact whatever has failed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.solvers.graph import Cut, Graph, nics_in, weighted_edges

MAX_COMPONENT = 16
"""Largest component to enumerate: it has 2¹⁶ subsets."""
MAX_HUBS = 8
_MAX_CELLS = 2**21
"""Limit of entries in one array: sides of the hubs × subsets of a component."""

Ints = NDArray[np.int64]
_INFINITE_CUT = np.int64(2**62)


def select_hubs(graph: Graph, endpoints: Sequence[int], sink: int | None = None) -> list[int] | None:
    """Return the switches, by falling degree, whose removal leaves small components; None if that takes too many.

    As few as possible are taken. O(hubs·(V + E)).

    Parameters
    ----------
    sink
        A node that is always the last of them.

    Examples
    --------
    Chips 1, 2 and 3 on switch 9:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 9, 10), (2, 9, 20), (3, 9, 40)], weight="capacity")
    >>> select_hubs(graph, [1, 2, 3])
    []
    >>> select_hubs(graph, [1, 2, 3], sink=9)
    [9]

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
    """Return the components without the hubs, each with its nodes that need no enumeration: NICs and lone switches."""
    attached = {*endpoints, *hubs}
    rest = Graph(graph.subgraph(set(graph).difference(hubs)))
    isolated = {node for node in rest if node not in attached and attached.issuperset(graph[node])} | set(nics_in(rest))
    return [(part, part & isolated) for part in nx.connected_components(rest)]


def enumerate_profile(
    graph: Graph, endpoints: Sequence[int], hubs: Sequence[int], sink: int | None = None
) -> list[int]:
    """Return, for each number of endpoints, the least cut with that many on one side and ``sink`` on the other.

    Enumeration of the hubs' sides; 2^hubs·(Σ 2^component + endpoints²).

    Examples
    --------
    One chip cuts at least 10, two at least 30 (chips 1 and 2), and all three 70, since the switch is the sink:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 9, 10), (2, 9, 20), (3, 9, 40)], weight="capacity")
    >>> enumerate_profile(graph, [1, 2, 3], [9], sink=9)
    [0, 10, 30, 70]

    """
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
    """Yield, by chunks of the hubs' sides, the least cuts by side and endpoints, the sides and the choices."""
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
    """Return the least cut with ``min_side`` to ``max_side`` endpoints on one side and ``sink`` on the other; exact.

    Enumeration of the hubs' sides; 2^hubs·(Σ 2^component + endpoints²).

    Examples
    --------
    Chips 1, 2 and 3 on switch 9:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 9, 10), (2, 9, 20), (3, 9, 40)], weight="capacity")
    >>> cut = bisect_by_enumeration(graph, [1, 2, 3], [9], 1, 1)
    >>> cut.lower, cut.upper, sorted(cut.side)
    (10, 10, [2, 3, 9])

    """
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
        raise AssertionError("no side of the cut has a number of chips that is allowed")
    parts = len(_split_components(graph, endpoints, hubs))
    description = f"the sides of {len(hubs)} switches and of {parts} components" if hubs else "all splits"
    return Cut.from_side(graph, best[1], f"enumeration of {description}")


def _nodes_on_side(hubs: Sequence[int], side: Ints, entries: "Sequence[_TableEntry]", row: int, count: int) -> set[int]:
    """Return the nodes on side 1 of the least cut with this many endpoints there."""
    members = {hub for hub, is_in in zip(hubs, side, strict=True) if is_in}
    for entry in reversed(entries):
        part_count = int(entry.taken_counts[row, count])
        members.update(entry.component.nodes_on_side(hubs, side, int(entry.subset[row, part_count])))
        count -= part_count
    return members


@dataclass(frozen=True, slots=True)
class _IsolatedNode:
    """A node that is not enumerated: its capacity to side 1 by subset, in all, and to each hub."""

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
        """Return its cut on side 0 and on side 1, by row of the hubs' sides and by subset.

        A NIC is on neither side: both are the cut at its ports.
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
    """All subsets of a component: the cut inside, the cut to each hub on side 0 and 1, and the subsets by endpoints."""

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
        """Return the least cut by row of the hubs' sides and number of endpoints, and a subset that attains it."""
        cost = np.repeat(self.inner_cuts[None, :], len(sides), axis=0)
        for index, hub in enumerate(hubs):
            if hub in self.to_hub:
                cost += np.stack(self.to_hub[hub])[sides[:, index]]
        for isolated in self.isolated:
            cost += np.minimum(*isolated.cut_by_side(hubs, sides))
        best = np.stack([subsets[np.argmin(cost[:, subsets], axis=1)] for subsets in self.by_count], axis=1)
        return np.take_along_axis(cost, best, axis=1), best

    def nodes_on_side(self, hubs: Sequence[int], side: Ints, subset: int) -> Iterator[int]:
        """Yield its nodes on side 1."""
        yield from (node for i, node in enumerate(self.nodes) if subset >> i & 1)
        for isolated in self.isolated:
            cut_outside, cut_inside = isolated.cut_by_side(hubs, side[None, :])
            if cut_inside[0, subset] < cut_outside[0, subset]:
                yield isolated.node


@dataclass(frozen=True, slots=True)
class _TableEntry:
    """A component, the number of its endpoints in each table entry, and the subset with that many."""

    component: _Component
    taken_counts: Ints
    subset: Ints


def _add_component(table: Ints, cost: Ints) -> tuple[Ints, Ints]:
    """Return the least cost of each count with one more component, by row, and the endpoints taken from it."""
    rows, size = len(table), table.shape[1] + cost.shape[1] - 1
    min_cost, taken_counts = np.full((rows, size), _INFINITE_CUT), np.zeros((rows, size), dtype=np.int64)
    for count in range(cost.shape[1]):
        window = slice(count, count + table.shape[1])
        total = table + cost[:, [count]]
        better = total < min_cost[:, window]
        min_cost[:, window] = np.where(better, total, min_cost[:, window])
        taken_counts[:, window] = np.where(better, count, taken_counts[:, window])
    return min_cost, taken_counts
