"""Solve balanced cuts exactly by enumerating the sides of a few hubs and all subsets of each remaining component.

`trninv.solvers.bisection` and `trninv.solvers.islands` call this module for one domain, whose endpoints are its chips.
Hubs are the switches with the most links, and the sink: a node that must be on side 0, such as the network node above
the domain.

Once the hubs' sides are fixed, the components of the rest are independent, so a knapsack over the number of endpoints
combines their best subsets. Two sorts of nodes are not enumerated ("isolated" in the code): a node that is no endpoint
and is linked to endpoints and hubs only goes to the cheaper side, and a NIC is cut at its ports
(`trninv.solvers.graph`). The cost is 2^hubs·(Σ 2^component + endpoints²). The result is exact whatever has failed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.solvers.graph import Cut, Graph, nics_in, weighted_edges

MAX_COMPONENT = 16
"""Limit of enumerated nodes in a component, which then has at most 2¹⁶ subsets."""
MAX_HUBS = 8
"""Limit of hubs, which then have at most 2⁸ combinations of sides."""
_MAX_CELLS = 2**21
"""Limit of entries in one array (combinations of the hubs' sides × subsets of a component)."""

Ints = NDArray[np.int64]
_INFINITE_CUT = np.int64(2**62)
"""More than the capacity of any cut."""


def capacities_to(graph: Graph, node: int, others: Sequence[int]) -> list[int]:
    """Return the capacity of a node's link to each of some other nodes, 0 where there is no link; O(others).

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20)], weight="capacity")
    >>> capacities_to(graph, 2, [1, 2, 3])
    [30, 0, 20]

    """
    links = graph[node]
    return [links[other]["capacity"] if other in links else 0 for other in others]


def subset_sums(values: Sequence[int]) -> Ints:
    """Return the sum of each subset of some values; bit i of a subset's index is value i; O(2^values).

    Examples
    --------
    >>> subset_sums([1, 10]).tolist()
    [0, 1, 10, 11]

    """
    sums = np.zeros(1, dtype=np.int64)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def subset_cuts(matrix: Sequence[Sequence[int]]) -> Ints:
    """Return the capacity between each subset of some nodes and the others, from a matrix of capacities; O(2^nodes).

    Adding a node to a subset adds the node's links to the cut, less twice its links into the subset.

    Examples
    --------
    >>> subset_cuts([[0, 30, 0], [30, 0, 20], [0, 20, 0]]).tolist()
    [0, 30, 50, 20, 20, 50, 30, 0]

    """
    cuts = np.zeros(1, dtype=np.int64)
    for node, capacities in enumerate(matrix):
        cuts = np.concatenate([cuts, cuts + sum(capacities) - 2 * subset_sums(capacities[:node])])
    return cuts


@lru_cache(maxsize=16)
def subsets_by_count(is_counted: tuple[bool, ...]) -> tuple[Ints, ...]:
    """Return, for each number, the subsets of some nodes that have so many counted nodes; O(2^nodes).

    Examples
    --------
    Of three nodes the second does not count:

    >>> [subsets.tolist() for subsets in subsets_by_count((True, False, True))]
    [[0, 2], [1, 3, 4, 6], [5, 7]]

    """
    counts = subset_sums(is_counted).astype(np.uint8)
    order = np.argsort(counts, kind="stable")
    return tuple(np.split(order, np.cumsum(np.bincount(counts))[:-1]))


def select_hubs(graph: Graph, endpoints: Sequence[int], sink: int | None = None) -> list[int] | None:
    """Return the fewest switches, by falling degree, whose removal leaves components small enough to enumerate.

    None if more than `MAX_HUBS` would be needed. O(hubs·(V + E)).

    Parameters
    ----------
    sink
        A node that is always a hub, the last one.

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
        components = _split_components(graph, endpoints, chosen)
        if max((len(part) - len(isolated) for part, isolated in components), default=0) <= MAX_COMPONENT:
            return chosen
        if count == len(switches):
            break
    return None


def _split_components(graph: Graph, endpoints: Sequence[int], hubs: Collection[int]) -> list[tuple[set[int], set[int]]]:
    """Return the components without the hubs, and the nodes of each that are not enumerated (NICs, lone switches)."""
    attached = {*endpoints, *hubs}
    rest = Graph(graph.subgraph(set(graph).difference(hubs))) if hubs else graph
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
    for table, _, _ in _cut_tables(graph, endpoints, hubs, _hub_sides(hubs, sink)):
        best = np.minimum(best, table.min(axis=0))
    return [int(value) for value in best]


def _hub_sides(hubs: Sequence[int], sink: int | None) -> list[tuple[int, ...]]:
    """List the combinations of the hubs' sides (0 or 1); the sink, which is the last hub, is on side 0."""
    if sink is None:
        return list(product((0, 1), repeat=len(hubs)))
    return [(*side, 0) for side in product((0, 1), repeat=len(hubs) - 1)]


def _cut_tables(
    graph: Graph, endpoints: Sequence[int], hubs: Sequence[int], sides: Sequence[tuple[int, ...]]
) -> "Iterator[tuple[Ints, Ints, list[_TableEntry]]]":
    """Yield, for chunks of combinations of hubs' sides, the least cuts, the combinations, and the components' entries.

    The least cuts have a row for each combination and a column for each number of endpoints on side 1.
    """
    parts = _components(graph, endpoints, hubs)
    largest = max((len(part.inner_cuts) for part in parts), default=1)
    chunk_size = max(_MAX_CELLS // largest, 1)
    edges = [(hubs.index(u), hubs.index(v), capacity) for u, v, capacity in weighted_edges(graph.subgraph(hubs))]
    for offset in range(0, len(sides), chunk_size):
        deadline.raise_if_expired()
        chunk_sides = sides[offset : offset + chunk_size]
        hub_sides = np.array(chunk_sides, dtype=np.int64).reshape(len(chunk_sides), len(hubs))
        table = sum(
            (capacity * (hub_sides[:, [u]] ^ hub_sides[:, [v]]) for u, v, capacity in edges),
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
    if sink is None:  # exchanging the sides gives the same cut, so splits with the first hub on side 1 are enough
        sides = [side for side in sides if side[:1] != (0,)]
        sizes = sorted({*sizes, *range(len(endpoints) - max_side, len(endpoints) - min_side + 1)})
    best: tuple[int, list[int]] | None = None
    for table, hub_sides, entries in _cut_tables(graph, endpoints, hubs, sides):
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
    """Return the nodes on side 1 of the least cut that has ``count`` endpoints on that side."""
    members = {hub for hub, is_in in zip(hubs, side, strict=True) if is_in}
    for entry in reversed(entries):
        part_count = int(entry.taken_counts[row, count])
        members.update(entry.component.nodes_on_side(hubs, side, int(entry.subset[row, part_count])))
        count -= part_count
    return members


@dataclass(frozen=True, slots=True)
class _IsolatedNode:
    """A node that is not enumerated.

    Attributes
    ----------
    capacity_to_side
        Capacity to the component's nodes on side 1, by subset.
    total_capacity
        Capacity to all enumerated nodes of the component.
    to_hub
        Capacity to each hub that is linked to the node.

    """

    node: int
    is_nic: bool
    capacity_to_side: Ints
    total_capacity: int
    to_hub: Mapping[int, int]

    @classmethod
    def from_graph(cls, graph: Graph, node: int, enumerated: Sequence[int], hubs: Sequence[int]) -> "_IsolatedNode":
        to_hub = {hub: graph.edges[node, hub]["capacity"] for hub in hubs if graph.has_edge(node, hub)}
        capacities = capacities_to(graph, node, enumerated)
        is_nic = graph.nodes[node].get("kind") == "nic"
        return cls(node, is_nic, subset_sums(capacities), sum(capacities), to_hub)

    def cut_by_side(self, hubs: Sequence[int], sides: Ints) -> tuple[Ints, Ints]:
        """Return the cut links' capacity if the node is on side 0 and if it is on side 1.

        Both have a row for each combination of the hubs' sides and a column for each subset. A NIC is on neither side,
        so both are the cut at its ports.
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
    """A component with all subsets of its enumerated nodes. A subset is the set on side 1; its bit i is node i.

    Attributes
    ----------
    inner_cuts
        The cut inside the component, by subset.
    to_hub
        For each hub, the cut between component and hub by subset, if the hub is on side 0 and if it is on side 1.
    isolated
        The component's nodes that are not enumerated.
    by_count
        For each number of endpoints, the subsets that have so many.

    """

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
        to_hub = {}
        for hub in hubs:
            capacities = capacities_to(graph, hub, nodes)
            if any(capacities):
                cut = subset_sums(capacities)
                to_hub[hub] = (cut, sum(capacities) - cut)
        endpoint_set = set(endpoints)
        return cls(
            nodes,
            subset_cuts([capacities_to(graph, node, nodes) for node in nodes]),
            to_hub,
            [_IsolatedNode.from_graph(graph, node, nodes, hubs) for node in sorted(isolated)],
            subsets_by_count(tuple(node in endpoint_set for node in nodes)),
        )

    def profile(self, hubs: Sequence[int], sides: Ints) -> tuple[Ints, Ints]:
        """Return the least cut and a subset that attains it, by combination of hubs' sides and number of endpoints."""
        cost = np.repeat(self.inner_cuts[None, :], len(sides), axis=0)
        for index, hub in enumerate(hubs):
            if hub in self.to_hub:
                cost += np.stack(self.to_hub[hub])[sides[:, index]]
        for isolated in self.isolated:
            cost += np.minimum(*isolated.cut_by_side(hubs, sides))
        best = np.stack([subsets[np.argmin(cost[:, subsets], axis=1)] for subsets in self.by_count], axis=1)
        return np.take_along_axis(cost, best, axis=1), best

    def nodes_on_side(self, hubs: Sequence[int], side: Ints, subset: int) -> Iterator[int]:
        """Yield the component's nodes on side 1 for a subset, with isolated nodes on their cheaper side."""
        yield from (node for i, node in enumerate(self.nodes) if subset >> i & 1)
        for isolated in self.isolated:
            cut_outside, cut_inside = isolated.cut_by_side(hubs, side[None, :])
            if cut_inside[0, subset] < cut_outside[0, subset]:
                yield isolated.node


@dataclass(frozen=True, slots=True)
class _TableEntry:
    """What one component contributes to a table of `_cut_tables`.

    Attributes
    ----------
    taken_counts
        How many of the endpoints counted by each cell of the table are in the component.
    subset
        The component's best subset, by combination of hubs' sides and number of its endpoints.

    """

    component: _Component
    taken_counts: Ints
    subset: Ints


def _add_component(table: Ints, cost: Ints) -> tuple[Ints, Ints]:
    """Return the table with one more component, and how many of the endpoints that each cell counts are in it.

    ``table`` and ``cost`` have the least cut of the components so far and of the new component, by combination of hubs'
    sides (rows) and number of endpoints (columns).
    """
    rows, size = len(table), table.shape[1] + cost.shape[1] - 1
    min_cost, taken_counts = np.full((rows, size), _INFINITE_CUT), np.zeros((rows, size), dtype=np.int64)
    for count in range(cost.shape[1]):
        window = slice(count, count + table.shape[1])
        total = table + cost[:, [count]]
        better = total < min_cost[:, window]
        min_cost[:, window] = np.where(better, total, min_cost[:, window])
        taken_counts[:, window] = np.where(better, count, taken_counts[:, window])
    return min_cost, taken_counts
