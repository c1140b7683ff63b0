"""Build cheapest-path trees from many roots and sum the weight below each edge."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def price_matrix(arcs: Ints, prices: Floats, count: int) -> csr_array:
    """Return the prices of arcs, which are those of their edges, as a sparse matrix (``count`` × ``count``); O(arcs).

    Examples
    --------
    Edge 0 between nodes 0 and 1 in both directions, edge 1 from node 1 to node 2:

    >>> price_matrix(np.array([[0, 1, 0], [1, 0, 0], [1, 2, 1]]), np.array([0.5, 2.0]), 3).toarray().tolist()
    [[0.0, 0.5, 0.0], [0.5, 0.0, 2.0], [0.0, 0.0, 0.0]]

    """
    a, b, edge = arcs.T
    return csr_array((prices[edge], (a, b)), shape=(count, count))


def subtree_weights(arcs: Ints, prices: Floats, roots: Ints, weight: NDArray[Any]) -> NDArray[Any] | None:
    """Return the weight below each edge of the tree from each root (roots × edges); None if a root misses any weight.

    Dijkstra's algorithm (1959) from every root; O(roots·(E + V·log V)).

    Parameters
    ----------
    arcs
        From, to and the edge's number for each arc (arcs × 3); an edge may lead one way only.
    prices
        Price of each edge, above 0.
    weight
        Weight of each node.

    Examples
    --------
    On the path 0-1-2 with edges 0 and 1, the tree from node 0 has both other nodes below edge 0 and one below edge 1:

    >>> arcs = np.array([[0, 1, 0], [1, 0, 0], [1, 2, 1], [2, 1, 1]])
    >>> subtree_weights(arcs, np.array([1.0, 1.0]), np.array([0]), np.array([1, 1, 1])).tolist()
    [[2, 1]]

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
    """Return the depth of each node by predecessors: after rounding, distances may not order a path's nodes."""
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
