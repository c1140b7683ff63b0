"""Cheapest-path trees from many roots at once, and the weight that each of their edges has below it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def network(ends: Ints, prices: Floats, count: int) -> csr_array:
    """A sparse matrix of the edges' prices (``count`` × ``count``), from edges (edges × 2), in both directions."""
    a, b = ends.T
    return csr_array((np.r_[prices, prices], (np.r_[a, b], np.r_[b, a])), shape=(count, count))


def below(ends: Ints, prices: Floats, roots: Ints, weight: NDArray[Any]) -> NDArray[Any] | None:
    """The weight below each edge of the tree from each root (roots × edges); None if some weight is out of reach.

    Parameters
    ----------
    prices
        Of the edges, above 0.
    weight
        Of the nodes.

    """
    count = len(weight)
    distance, before = dijkstra(network(ends, prices, count), indices=roots, return_predecessors=True)
    if np.isinf(distance[:, weight > 0]).any():
        return None
    edge_of = np.zeros((count, count), dtype=np.int64)
    a, b = ends.T
    edge_of[a, b] = edge_of[b, a] = np.arange(len(a))
    carried = np.repeat(weight[None, :], len(roots), axis=0)
    found = np.zeros((len(roots), len(a)), dtype=weight.dtype)
    tree = np.arange(len(roots))
    for node in np.argsort(-_depth(before), axis=1, kind="stable").T:  # children before their parents
        parent = before[tree, node]
        inner = parent >= 0
        row, child, up = tree[inner], node[inner], parent[inner]
        found[row, edge_of[up, child]] = carried[row, child]
        carried[row, up] += carried[row, child]
    return found


def _depth(before: NDArray[Any]) -> Ints:
    """Edges from the root, by predecessors: prices may be too small a part of a distance to order it."""
    parent, tree = np.maximum(before, 0), np.arange(len(before))[:, None]  # dijkstra's "none" is far below 0
    depth = np.zeros(before.shape, dtype=np.int64)
    while True:
        deeper = np.where(before >= 0, depth[tree, parent] + 1, 0)
        if (deeper == depth).all():
            return depth
        depth = deeper
