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
from trninv.solvers.reach import hops_from, hops_over

Counts = NDArray[np.int64]
"""How many pairs, or endpoints, by hops."""
FAR = 2**30
"""More hops than any way has: there is none."""
Above = Mapping[int, int]
"""The node above each node of a tree."""


@dataclass(frozen=True, slots=True)
class Touching:
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
    passing: Counts
    count: Counts

    @classmethod
    def of(cls, inside: Counts, ends: Sequence[int], exits: Mapping[int, Sequence[int]], away: int) -> "Touching":
        """From the hops between all places of the group.

        Parameters
        ----------
        ends
            Which places the endpoints are.
        exits
            The places from which each of the nodes is ``away`` hops.

        """
        nodes = tuple(sorted(exits))
        nearest, passing = np.zeros((len(nodes), len(inside)), np.int64), np.zeros([len(nodes)] * 2, np.int64)
        for at, node in enumerate(nodes):
            nearest[at] = inside[exits[node]].min(axis=0) + away
        for at, node in enumerate(nodes):
            passing[:, at] = nearest[:, exits[node]].min(axis=1) + away
        np.fill_diagonal(passing, 0)
        return cls(nodes, nearest[:, ends].T, passing, np.ones(len(ends), np.int64))

    @classmethod
    def at(cls, node: int, counts: Counts) -> "Touching":
        """Endpoints that are counted by their hops from the one node that they touch."""
        hops = np.flatnonzero(counts)
        return cls((node,), hops[:, None], np.zeros((1, 1), np.int64), counts[hops])


def matrix(links: Links, places: Sequence[int]) -> Counts:
    """Hops from each of some places to each, over links given by the node they lead on from."""
    at, found = {place: number for number, place in enumerate(places)}, np.full((len(places), len(places)), FAR)
    for number, place in enumerate(places):
        for other, away in hops_over(links, [place]).items():
            if other in at:
                found[number, at[other]] = away
    return found


def among(group: Touching, inside: Counts, above: Above) -> Counts:
    """Pairs of endpoints of one group; ``inside``: the hops from each to each within the group."""
    ways = np.minimum(inside, _over(group, group, above))
    return _by_hops(ways[np.triu_indices(len(ways), 1)], None)


def between(one: Touching, other: Touching, above: Above) -> Counts:
    """Pairs of an endpoint of one group and one of another."""
    return _by_hops(_over(one, other, above), np.outer(one.count, other.count))


def _over(one: Touching, other: Touching, above: Above) -> Counts:
    """Hops from each endpoint of one group to each of another, over the tree."""
    nodes = sorted({*one.nodes, *other.nodes})
    at = {node: number for number, node in enumerate(nodes)}
    chains = [_chain(node, above) for node in nodes]
    joined = np.array([[_apart(a, b) for b in chains] for a in chains], dtype=np.int64).reshape([len(nodes)] * 2)
    starts, ends = ([at[node] for node in group.nodes] for group in (one, other))
    for places, group in ((starts, one), (ends, other)):
        joined[np.ix_(places, places)] = np.minimum(joined[np.ix_(places, places)], group.passing)
    for middle in range(len(nodes)):
        joined = np.minimum(joined, joined[:, middle, None] + joined[None, middle])
    there = (one.hops[:, :, None] + joined[np.ix_(starts, ends)]).min(axis=1, initial=FAR)
    found: Counts = (there[:, None] + other.hops).min(axis=2, initial=FAR)
    return found


def _chain(node: int, above: Above) -> list[int]:
    found = [node]
    while found[-1] in above:
        found.append(above[found[-1]])
    return found


def _apart(one: Sequence[int], other: Sequence[int]) -> int:
    """Hops between the first of two ways to the top."""
    return next((up + other.index(node) for up, node in enumerate(one) if node in other), FAR)


def _by_hops(ways: Counts, weights: Counts | None) -> Counts:
    joined = ways < FAR
    counted = np.ones(ways.shape, np.int64) if weights is None else weights
    found = np.zeros(int(ways[joined].max(initial=-1)) + 1, np.int64)
    np.add.at(found, ways[joined], counted[joined])
    return found


def total(parts: Iterable[Counts]) -> Counts:
    """The sum of counts of different lengths."""
    listed = list(parts)
    found = np.zeros(max((len(part) for part in listed), default=0), dtype=np.int64)
    for part in listed:
        found[: len(part)] += part
    return found


def within(links: Links, ends: Collection[int]) -> Counts:
    """Pairs of endpoints that links connect, given by the node they lead on from."""
    wanted, hops = set(ends), list[int]()
    for end in ends:
        deadline.check()
        hops += [away for other, away in hops_over(links, [end]).items() if other > end and other in wanted]
    return np.bincount(np.array(hops, dtype=np.int64))


def below(graph: Graph, ends: Sequence[int], root: int | None) -> Counts:
    """Endpoints, by their hops from a node."""
    away = hops_from(graph, [] if root is None else [root])
    return np.bincount(np.array([away[end] for end in ends if end in away], dtype=np.int64))


def across(leaves: Mapping[int, Sequence[Counts]], above: Mapping[int, int]) -> Iterator[Counts]:
    """Pairs of endpoints in different groups below a tree, counted at the node where their paths meet.

    Parameters
    ----------
    leaves
        For a node of the tree, the groups attached to it, each by its endpoints' hops from the node.
    above
        The node above each node but the root; its id is the higher one.

    """
    waiting = {node: list(groups) for node, groups in leaves.items()}
    while waiting:
        node = min(waiting)
        groups = waiting.pop(node)
        whole = total(groups)
        meeting = np.convolve(whole, whole)
        for group in groups:
            apart = np.convolve(group, group)
            meeting[: len(apart)] -= apart
        yield meeting // 2
        if node in above:
            waiting.setdefault(above[node], []).append(np.concatenate([[0], whole]))
