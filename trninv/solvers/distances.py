"""Hops between pairs of endpoints, counted by distance.

A group of endpoints that touches a tree in one node is counted by its hops from there (`below`, `across`). One that
touches it in several (`Touching`) is counted pair by pair: a way leads from an endpoint to a node that its group
touches, on to one that the other group touches, and to the other endpoint. Between the nodes it goes over the tree or,
where that is shorter or nothing else joins them, through one of the two groups.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.solvers.graph import Graph
from trninv.solvers.paths import Links
from trninv.solvers.reach import directed_hops, hops_from

Counts = NDArray[np.int64]
"""How many pairs, or endpoints, by hops."""
UNREACHABLE = 2**30
"""More hops than any way has: there is none."""
TreeParents = Mapping[int, int]
"""The node above each node of a tree."""


@dataclass(frozen=True, slots=True)
class AttachedGroup:
    """Endpoints that reach a tree in some of its nodes.

    Attributes
    ----------
    hops
        Of each endpoint from each of the nodes, within the group.
    passing
        From each of the nodes to each other one, through the group.
    count
        How many endpoints have the same hops.

    """

    nodes: tuple[int, ...]
    hops: Counts
    through_hops: Counts
    count: Counts

    @classmethod
    def from_hops(
        cls, inner_hops: Counts, endpoints: Sequence[int], exit_places: Mapping[int, Sequence[int]], exit_hops: int
    ) -> "AttachedGroup":
        """From the hops between all places of the group.

        Parameters
        ----------
        ends
            Which places the endpoints are.
        exits
            The places from which each of the nodes is ``away`` hops.

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
        """Endpoints that are counted by their hops from the one node that they touch."""
        hops = np.flatnonzero(counts)
        return cls((node,), hops[:, None], np.zeros((1, 1), np.int64), counts[hops])


def hop_matrix(links: Links, places: Sequence[int]) -> Counts:
    """Hops from each of some places to each, over links given by the node they lead on from."""
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
    """Pairs of endpoints of one group; ``inside``: the hops from each to each within the group."""
    hops = np.minimum(inner_hops, _hops_over_tree(group, group, parents))
    return _histogram(hops[np.triu_indices(len(hops), 1)], None)


def pairs_between_groups(first: AttachedGroup, second: AttachedGroup, parents: TreeParents) -> Counts:
    """Pairs of an endpoint of one group and one of another."""
    return _histogram(_hops_over_tree(first, second, parents), np.outer(first.count, second.count))


def _hops_over_tree(first: AttachedGroup, second: AttachedGroup, parents: TreeParents) -> Counts:
    """Hops from each endpoint of one group to each of another, over the tree."""
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
    """Hops between the first of two ways to the top."""
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
    """The sum of counts of different lengths."""
    histograms = list(counts)
    totals = np.zeros(max((len(histogram) for histogram in histograms), default=0), dtype=np.int64)
    for histogram in histograms:
        totals[: len(histogram)] += histogram
    return totals


def pairs_in_graph(links: Links, endpoints: Collection[int]) -> Counts:
    """Pairs of endpoints that links connect, given by the node they lead on from."""
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
    """Endpoints, by their hops from a node."""
    hops = hops_from(graph, [] if root is None else [root])
    return np.bincount(np.array([hops[end] for end in endpoints if end in hops], dtype=np.int64))


def pairs_across_tree(groups_by_node: Mapping[int, Sequence[Counts]], parents: Mapping[int, int]) -> Iterator[Counts]:
    """Pairs of endpoints in different groups below a tree, counted at the node where their paths meet.

    Parameters
    ----------
    leaves
        For a node of the tree, the groups attached to it, each by its endpoints' hops from the node.
    above
        The node above each node but the root; its id is the higher one.

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
