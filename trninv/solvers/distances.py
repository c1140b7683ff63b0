"""Compute hop counts and widest-path capacities from, to and between sets of nodes.

The questions `distances` and `pool` of `trninv.routing` call this module, for clusters through
`trninv.routing.hop_counts`.

A histogram holds at index h the number of pairs of endpoints that are h hops apart, or of endpoints h hops from a node.

In a cluster, the tree is the fabric of network nodes, and a group is the endpoints (chips) of one domain. Groups that
are attached to the tree at one node are counted by the endpoints' depths below that node (`leaf_depths`,
`pairs_across_tree`). A group attached at several nodes (`AttachedGroup`) is counted pair by pair. A path leads from an
endpoint to a tree node of its group, on to a tree node of the other group, and to the other endpoint. Between the two
tree nodes, the path follows the tree, or passes through one of the two groups if that is shorter or if the tree does
not connect them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.solvers.adjacency import Links
from trninv.solvers.graph import Graph
from trninv.solvers.shortest_paths import widest_capacities


def hops_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Return the hops from the nearest source to every node that a source reaches; breadth-first search, O(V + E).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> hops_from(graph, [1])
    {1: 0, 2: 1, 4: 1, 3: 2}

    """
    return directed_hops(dict(graph.adjacency()), sources)


def directed_hops(links: Links, sources: Collection[int]) -> dict[int, int]:
    """Return the hops from the nearest source over directed links to every node that a source reaches.

    Links are given by the node they leave. Breadth-first search, O(V + E).

    Examples
    --------
    >>> directed_hops({1: {2: {}}, 2: {3: {}}, 3: {}, 4: {3: {}}}, [1])
    {1: 0, 2: 1, 3: 2}

    """
    queue = [node for node in sources if node in links]
    hops = dict.fromkeys(queue, 0)
    for node in queue:  # the loop appends to the queue
        for neighbor in links[node]:
            if neighbor not in hops:
                hops[neighbor] = hops[node] + 1
                queue.append(neighbor)
    return hops


def widest_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Return the bottleneck of the widest path from any source, for every other node that a source reaches.

    Dijkstra's algorithm on bottlenecks instead of lengths (Pollack, Operations Research 8, 1960); O(E·log E).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> widest_from(graph, [1])
    {2: 30, 3: 20, 4: 20}

    """
    return widest_capacities(dict(graph.adjacency()), [node for node in sources if node in graph])


Counts = NDArray[np.int64]
"""An array of hops, or a histogram."""
UNREACHABLE = 2**30
"""Hops between nodes without a path, which is more than any path has."""
TreeParents = Mapping[int, int]
"""The parent of each node of a tree, except the root."""


@dataclass(frozen=True, slots=True)
class AttachedGroup:
    """Endpoints that are attached to a tree at some of its nodes.

    Attributes
    ----------
    nodes
        The nodes of the tree to which the group is attached, in rising order.
    hops
        Hops within the group from each endpoint (rows) to each of ``nodes`` (columns).
    through_hops
        Hops through the group between each pair of ``nodes``.
    count
        Number of endpoints that each row of ``hops`` represents.

    """

    nodes: tuple[int, ...]
    hops: Counts
    through_hops: Counts
    count: Counts

    @classmethod
    def from_hops(
        cls, inner_hops: Counts, endpoints: Sequence[int], exit_chips: Mapping[int, Sequence[int]], exit_hops: int
    ) -> "AttachedGroup":
        """Build a group from the hops between all chips of a domain, which are numbered from 0.

        Parameters
        ----------
        inner_hops
            Hops within the domain between each pair of chips.
        endpoints
            The chips that are endpoints.
        exit_chips
            For each node of the tree to which the domain is attached, the chips that are ``exit_hops`` hops away.

        """
        nodes = tuple(sorted(exit_chips))
        hops_to_node = np.zeros((len(nodes), len(inner_hops)), np.int64)
        through_hops = np.zeros((len(nodes), len(nodes)), np.int64)
        for index, node in enumerate(nodes):
            hops_to_node[index] = inner_hops[exit_chips[node]].min(axis=0) + exit_hops
        for index, node in enumerate(nodes):
            through_hops[:, index] = hops_to_node[:, exit_chips[node]].min(axis=1) + exit_hops
        np.fill_diagonal(through_hops, 0)
        return cls(nodes, hops_to_node[:, endpoints].T, through_hops, np.ones(len(endpoints), np.int64))

    @classmethod
    def from_counts(cls, node: int, counts: Counts) -> "AttachedGroup":
        """Build a group attached at one node from the histogram of its endpoints' hops to the node."""
        hops = np.flatnonzero(counts)
        return cls((node,), hops[:, None], np.zeros((1, 1), np.int64), counts[hops])


def hop_matrix(links: Links, nodes: Sequence[int]) -> Counts:
    """Return the hops between each pair of some nodes, over directed links, which are listed by the node they leave.

    Breadth-first search from each of the nodes; O(nodes·(V + E)).

    Examples
    --------
    >>> ring = {1: {2: {}, 4: {}}, 2: {1: {}, 3: {}}, 3: {2: {}, 4: {}}, 4: {3: {}, 1: {}}}
    >>> hop_matrix(ring, [1, 2, 3]).tolist()
    [[0, 1, 2], [1, 0, 1], [2, 1, 0]]

    """
    index_of = {node: index for index, node in enumerate(nodes)}
    hops = np.full((len(nodes), len(nodes)), UNREACHABLE)
    for index, node in enumerate(nodes):
        for other, distance in directed_hops(links, [node]).items():
            if other in index_of:
                hops[index, index_of[other]] = distance
    return hops


def pairs_in_group(group: AttachedGroup, inner_hops: Counts, parents: TreeParents) -> Counts:
    """Count the pairs of endpoints of one group by hops; ``inner_hops`` are the hops of paths within the group.

    Shortest paths between the nodes that the group is attached to (Floyd 1962); O(nodes³ + endpoints²·nodes).

    Examples
    --------
    Two endpoints one hop below node 9, with no other connection, are two hops apart:

    >>> pair = AttachedGroup((9,), np.array([[1], [1]]), np.zeros((1, 1), np.int64), np.array([1, 1]))
    >>> apart = np.array([[0, UNREACHABLE], [UNREACHABLE, 0]])
    >>> pairs_in_group(pair, apart, {}).tolist()
    [0, 0, 1]

    """
    hops = np.minimum(inner_hops, _hops_over_tree(group, group, parents))
    return _histogram(hops[np.triu_indices(len(hops), 1)], None)


def pairs_between_groups(first: AttachedGroup, second: AttachedGroup, parents: TreeParents) -> Counts:
    """Count the pairs of one endpoint in each of two groups by hops.

    Shortest paths between the nodes that the groups are attached to (Floyd 1962); O(nodes³ + endpoints²·nodes).

    Examples
    --------
    Three endpoints below node 1 and one below node 2, both one hop below node 3:

    >>> first, second = (AttachedGroup.from_counts(node, np.array([0, count])) for node, count in [(1, 3), (2, 1)])
    >>> pairs_between_groups(first, second, {1: 3, 2: 3}).tolist()
    [0, 0, 0, 0, 3]

    """
    return _histogram(_hops_over_tree(first, second, parents), np.outer(first.count, second.count))


def _hops_over_tree(first: AttachedGroup, second: AttachedGroup, parents: TreeParents) -> Counts:
    """Return the hops from each endpoint of one group to each of another."""
    nodes = sorted({*first.nodes, *second.nodes})
    index_of = {node: index for index, node in enumerate(nodes)}
    paths = [_path_to_root(node, parents) for node in nodes]
    tree_hops = [[_hops_between_paths(path, other) for other in paths] for path in paths]
    between_nodes = np.array(tree_hops, dtype=np.int64).reshape(len(nodes), len(nodes))
    first_indices, second_indices = ([index_of[node] for node in group.nodes] for group in (first, second))
    for indices, group in ((first_indices, first), (second_indices, second)):
        square = np.ix_(indices, indices)
        between_nodes[square] = np.minimum(between_nodes[square], group.through_hops)
    for via in range(len(nodes)):  # Floyd's algorithm for shortest paths between all nodes
        between_nodes = np.minimum(between_nodes, between_nodes[:, via, None] + between_nodes[None, via])
    hops_to_exits = (first.hops[:, :, None] + between_nodes[np.ix_(first_indices, second_indices)]).min(
        axis=1, initial=UNREACHABLE
    )
    hops: Counts = (hops_to_exits[:, None] + second.hops).min(axis=2, initial=UNREACHABLE)
    return hops


def _path_to_root(node: int, parents: TreeParents) -> list[int]:
    path = [node]
    while path[-1] in parents:
        path.append(parents[path[-1]])
    return path


def _hops_between_paths(first_path: Sequence[int], second_path: Sequence[int]) -> int:
    """Return the hops between the first nodes of two paths to the root, which meet at their first common node."""
    return next(
        (index + second_path.index(node) for index, node in enumerate(first_path) if node in second_path), UNREACHABLE
    )


def _histogram(hops: Counts, weights: Counts | None) -> Counts:
    """Return the histogram of ``hops`` without unreachable pairs; ``weights`` are 1 by default."""
    is_reachable = hops < UNREACHABLE
    pair_weights = np.ones(hops.shape, np.int64) if weights is None else weights
    histogram = np.zeros(int(hops[is_reachable].max(initial=-1)) + 1, np.int64)
    np.add.at(histogram, hops[is_reachable], pair_weights[is_reachable])
    return histogram


def sum_counts(counts: Iterable[Counts]) -> Counts:
    """Return the sum of histograms of different lengths; O(total length).

    Examples
    --------
    >>> sum_counts([np.array([1, 2]), np.array([0, 1, 5])]).tolist()
    [1, 3, 5]

    """
    histograms = list(counts)
    totals = np.zeros(max((len(histogram) for histogram in histograms), default=0), dtype=np.int64)
    for histogram in histograms:
        totals[: len(histogram)] += histogram
    return totals


def pairs_in_graph(links: Links, endpoints: Collection[int]) -> Counts:
    """Count the connected pairs of endpoints by hops, over directed links, which are listed by the node they leave.

    Breadth-first search from every endpoint; O(endpoints·(V + E)).

    Examples
    --------
    A ring of four has four pairs one hop apart and two pairs two hops apart:

    >>> ring = {1: {2: {}, 4: {}}, 2: {1: {}, 3: {}}, 3: {2: {}, 4: {}}, 4: {3: {}, 1: {}}}
    >>> pairs_in_graph(ring, [1, 2, 3, 4]).tolist()
    [0, 4, 2]

    """
    endpoint_set, hops = set(endpoints), list[int]()
    for source in endpoints:
        deadline.raise_if_expired()
        hops += [
            distance
            for other, distance in directed_hops(links, [source]).items()
            if other > source and other in endpoint_set
        ]
    return np.bincount(np.array(hops, dtype=np.int64))


def leaf_depths(graph: Graph, endpoints: Sequence[int], root: int | None) -> Counts:
    """Count endpoints by their hops from ``root``; the histogram is empty if ``root`` is None.

    Breadth-first search, O(V + E).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> leaf_depths(graph, [2, 3, 4], 1).tolist()
    [0, 2, 1]

    """
    hops = hops_from(graph, [] if root is None else [root])
    return np.bincount(np.array([hops[end] for end in endpoints if end in hops], dtype=np.int64))


def pairs_across_tree(groups_by_node: Mapping[int, Sequence[Counts]], parents: Mapping[int, int]) -> Iterator[Counts]:
    """Count the pairs of endpoints of different groups by hops, at each tree node where their paths meet.

    Two endpoints are as many hops apart as the sum of their depths below this node. The histogram of the sums is the
    convolution of the depths' histograms, less the pairs within one group. O(nodes · depth²), independent of the number
    of endpoints.

    Parameters
    ----------
    groups_by_node
        For each node of the tree, the groups attached to it. A group is the histogram of its endpoints' hops from the
        node.
    parents
        The parent of each node except the root; a parent's id is higher than its children's.

    Examples
    --------
    Two groups of two endpoints, one hop below nodes 1 and 2, whose parent is node 3: four pairs, four hops apart.

    >>> groups = {node: [np.array([0, 2])] for node in (1, 2)}
    >>> [pairs.tolist() for pairs in pairs_across_tree(groups, {1: 3, 2: 3})]
    [[0, 0, 0], [0, 0, 0], [0, 0, 0, 0, 4]]

    """
    pending = {node: list(groups) for node, groups in groups_by_node.items()}
    while pending:
        node = min(pending)
        groups = pending.pop(node)
        combined = sum_counts(groups)
        pairs = np.convolve(combined, combined)
        for group in groups:
            same_group = np.convolve(group, group)
            pairs[: len(same_group)] -= same_group
        yield pairs // 2
        if node in parents:
            pending.setdefault(parents[node], []).append(np.concatenate([[0], combined]))
