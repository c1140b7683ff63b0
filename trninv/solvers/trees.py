"""Cheapest-path trees from many roots at once, and the weight that each of their edges has below it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def price_matrix(arcs: Ints, prices: Floats, count: int) -> csr_array:
    """A sparse matrix of the arcs' prices (``count`` × ``count``), which are those of their edges."""
    a, b, edge = arcs.T
    return csr_array((prices[edge], (a, b)), shape=(count, count))


def subtree_weights(arcs: Ints, prices: Floats, roots: Ints, weight: NDArray[Any]) -> NDArray[Any] | None:
    """The weight below each edge of the tree from each root (roots × edges); None if some weight is out of reach.

    Parameters
    ----------
    arcs
        Where each leads from, where to, and its edge's number (arcs × 3); edges may lead one way only.
    prices
        Of the edges, above 0.
    weight
        Of the nodes.

    """
    count = len(weight)
    distance, predecessors = dijkstra(price_matrix(arcs, prices, count), indices=roots, return_predecessors=True)
    if np.isinf(distance[:, weight > 0]).any():
        return None
    edge_of = np.zeros((count, count), dtype=np.int64)
    a, b, edge = arcs.T
    edge_of[a, b] = edge
    carried = np.repeat(weight[None, :], len(roots), axis=0)
    weights = np.zeros((len(roots), len(prices)), dtype=weight.dtype)
    tree = np.arange(len(roots))
    for node in np.argsort(-_depth(predecessors), axis=1, kind="stable").T:  # children before their parents
        parent = predecessors[tree, node]
        inner = parent >= 0
        row, child, parent_inner = tree[inner], node[inner], parent[inner]
        weights[row, edge_of[parent_inner, child]] += carried[row, child]
        carried[row, parent_inner] += carried[row, child]
    return weights


def _depth(predecessors: NDArray[Any]) -> Ints:
    """Edges from the root, by predecessors: prices may be too small a part of a distance to order it."""
    parent, tree = (
        np.maximum(predecessors, 0),
        np.arange(len(predecessors))[:, None],
    )  # dijkstra's "none" is far below 0
    depth = np.zeros(predecessors.shape, dtype=np.int64)
    while True:
        deeper = np.where(predecessors >= 0, depth[tree, parent] + 1, 0)
        if (deeper == depth).all():
            return depth
        depth = deeper
