"""Hops between pairs of endpoints, counted by distance."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.solvers.graph import Graph
from trninv.solvers.paths import Links
from trninv.solvers.reach import hops_from, hops_over

Counts = NDArray[np.int64]
"""How many pairs, or endpoints, by hops."""


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
