"""Compute hop counts and widest-path capacities from, to and between sets of nodes.

A histogram holds at index h the number of pairs, or of endpoints, that are h hops apart.

A group of endpoints that is attached to a tree at one node is counted by its depths below it (`leaf_depths`,
`pairs_across_tree`). A group attached at several nodes (`AttachedGroup`) is counted pair by pair: a path leads from an
endpoint to a node of its group, on to a node of the other group, and to the other endpoint. Between these nodes it
takes the tree or, if that is shorter or the only way, a path through one of the two groups.
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
    """Return the hops from the nearest source for every node that one reaches: breadth-first search, O(V + E).

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
    """Return the same for directed links, by the node they leave; O(V + E).

    Examples
    --------
    >>> directed_hops({1: {2: {}}, 2: {3: {}}, 3: {}, 4: {3: {}}}, [1])
    {1: 0, 2: 1, 3: 2}

    """
    queue = [node for node in sources if node in links]
    hops = dict.fromkeys(queue, 0)
    for node in queue:  # the loop appends to it
        for neighbor in links[node]:
            if neighbor not in hops:
                hops[neighbor] = hops[node] + 1
                queue.append(neighbor)
    return hops


def widest_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Return the bottleneck of the widest path from any source, for every other node that one reaches.

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
"""Hops, or numbers of pairs or endpoints by hops."""
UNREACHABLE = 2**30
"""Stands for no path: more hops than any path has."""
TreeParents = Mapping[int, int]
"""The parent of each node of a tree but the root."""


@dataclass(frozen=True, slots=True)
class AttachedGroup:
    """Endpoints that are attached to a tree at some of its nodes.

    Attributes
    ----------
    nodes
        The nodes of the tree, in rising order.
    hops
        Hops within the group from each endpoint (rows) to each of the nodes (columns).
    through_hops
        Hops through the group between each two of the nodes.
    count
        Number of endpoints that each row of ``hops`` stands for.

    """

    nodes: tuple[int, ...]
    hops: Counts
    through_hops: Counts
    count: Counts

    @classmethod
    def from_hops(
        cls, inner_hops: Counts, endpoints: Sequence[int], exit_places: Mapping[int, Sequence[int]], exit_hops: int
    ) -> "AttachedGroup":
        """Build a group from the hops between all places in it.

        Parameters
        ----------
        inner_hops
            Hops between each two places.
        endpoints
            The places that are endpoints.
        exit_places
            For each node of the tree, the places from which it is ``exit_hops`` hops away.

        """
        nodes = tuple(sorted(exit_places))
        nearest, through_hops = np.zeros((len(nodes), len(inner_hops)), np.int64), np.zeros([len(nodes)] * 2, np.int64)
        for index, node in enumerate(nodes):
            nearest[index] = inner_hops[exit_places[node]].min(axis=0) + exit_hops
        for index, node in enumerate(nodes):
            through_hops[:, index] = nearest[:, exit_places[node]].min(axis=1) + exit_hops
        np.fill_diagonal(through_hops, 0)
        return cls(nodes, nearest[:, endpoints].T, through_hops, np.ones(len(endpoints), np.int64))

    @classmethod
    def from_counts(cls, node: int, counts: Counts) -> "AttachedGroup":
        """Build a group attached at one node from the number of endpoints by hops from it."""
        hops = np.flatnonzero(counts)
        return cls((node,), hops[:, None], np.zeros((1, 1), np.int64), counts[hops])


def hop_matrix(links: Links, places: Sequence[int]) -> Counts:
    """Return the hops between each two of some places over directed links, by the node they leave.

    Breadth-first search from every place; O(places·(V + E)).

    Examples
    --------
    >>> ring = {1: {2: {}, 4: {}}, 2: {1: {}, 3: {}}, 3: {2: {}, 4: {}}, 4: {3: {}, 1: {}}}
    >>> hop_matrix(ring, [1, 2, 3]).tolist()
    [[0, 1, 2], [1, 0, 1], [2, 1, 0]]

    """
    index_of, hops = (
        {place: number for number, place in enumerate(places)},
        np.full((len(places), len(places)), UNREACHABLE),
    )
    for number, place in enumerate(places):
        for other, distance in directed_hops(links, [place]).items():
            if other in index_of:
                hops[number, index_of[other]] = distance
    return hops


def pairs_in_group(group: AttachedGroup, inner_hops: Counts, parents: TreeParents) -> Counts:
    """Count the pairs of endpoints of one group by hops; ``inner_hops`` are those between endpoints within the group.

    O(nodes³ + endpoints²·nodes), with the nodes that the group is attached to.

    Examples
    --------
    Endpoints 1 and 2 hang one hop below node 9 and have no other connection:

    >>> pair = AttachedGroup((9,), np.array([[1], [1]]), np.zeros((1, 1), np.int64), np.array([1, 1]))
    >>> apart = np.array([[0, UNREACHABLE], [UNREACHABLE, 0]])
    >>> pairs_in_group(pair, apart, {}).tolist()
    [0, 0, 1]

    """
    hops = np.minimum(inner_hops, _hops_over_tree(group, group, parents))
    return _histogram(hops[np.triu_indices(len(hops), 1)], None)


def pairs_between_groups(first: AttachedGroup, second: AttachedGroup, parents: TreeParents) -> Counts:
    """Count the pairs of an endpoint of one group and one of another by hops.

    O(nodes³ + endpoints²·nodes), with the nodes that the groups are attached to.

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
    index_of = {node: number for number, node in enumerate(nodes)}
    chains = [_path_to_root(node, parents) for node in nodes]
    between_nodes = np.array([[_hops_between_paths(a, b) for b in chains] for a in chains], dtype=np.int64).reshape(
        [len(nodes)] * 2
    )
    first_indices, second_indices = ([index_of[node] for node in group.nodes] for group in (first, second))
    for places, group in ((first_indices, first), (second_indices, second)):
        between_nodes[np.ix_(places, places)] = np.minimum(between_nodes[np.ix_(places, places)], group.through_hops)
    for via in range(len(nodes)):
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
    """Return the hops between the first nodes of two paths to the root."""
    return next(
        (index + second_path.index(node) for index, node in enumerate(first_path) if node in second_path), UNREACHABLE
    )


def _histogram(hops: Counts, weights: Counts | None) -> Counts:
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
    """Count the connected pairs of endpoints by hops, over links by the node they leave.

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
    """Count endpoints by their hops from a node; none without a node. Breadth-first search, O(V + E).

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

    The histogram of the sums of two depths is the convolution of the depths' histograms, less pairs within one group.
    O(nodes · depth²) and independent of the number of endpoints.

    Parameters
    ----------
    groups_by_node
        For a node of the tree, the groups attached to it, each as its endpoints' histogram of hops from the node.
    parents
        The parent of each node but the root; a parent's id is higher than its children's.

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
