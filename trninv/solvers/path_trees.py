"""Build cheapest-path trees from many roots and sum the weight of the nodes below each edge.

`trninv.solvers.collectives` and `trninv.solvers.tree_packing` use the trees as columns of linear programs, whose
solutions give the edges' prices (lengths in the search for paths) for the next trees. An arc is one direction of an
edge.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def price_matrix(arcs: Ints, prices: Floats, count: int) -> csr_array:
    """Return the prices of the arcs between nodes as a sparse matrix (``count`` × ``count``); O(arcs).

    Parameters
    ----------
    arcs
        Tail node, head node and number of the edge for each arc (arcs × 3).
    prices
        Price of each edge, in either direction.
    count
        Number of nodes.

    Examples
    --------
    Edge 0 between nodes 0 and 1 in both directions, edge 1 from node 1 to node 2, and node 3 without an edge:

    >>> price_matrix(np.array([[0, 1, 0], [1, 0, 0], [1, 2, 1]]), np.array([0.5, 2.0]), 4).toarray().tolist()
    [[0.0, 0.5, 0.0, 0.0], [0.5, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]

    """
    u, v, edge = arcs.T
    return csr_array((prices[edge], (u, v)), shape=(count, count))


def subtree_weights(arcs: Ints, prices: Floats, roots: Ints, weight: NDArray[Any]) -> NDArray[Any] | None:
    """Return, for the tree of each root, the weight of the nodes below each edge (roots × edges).

    None if a root does not reach every node that has a weight.

    Dijkstra's algorithm (1959) from every root; O(roots·(E + V·log V)).

    Parameters
    ----------
    arcs
        Tail node, head node and number of the edge for each arc (arcs × 3); an edge may have an arc in one direction
        only.
    prices
        Price of each edge, greater than 0.
    weight
        Weight of each node.

    Examples
    --------
    On the path 0-1-2-3 with edges 0, 1 and 2, the tree from node 0 has three nodes below edge 0 and one below edge 2:

    >>> arcs = np.array([[0, 1, 0], [1, 0, 0], [1, 2, 1], [2, 1, 1], [2, 3, 2], [3, 2, 2]])
    >>> subtree_weights(arcs, np.ones(3), roots=np.array([0]), weight=np.ones(4, np.int64)).tolist()
    [[3, 2, 1]]

    """
    count = len(weight)
    distance, predecessors = dijkstra(price_matrix(arcs, prices, count), indices=roots, return_predecessors=True)
    if np.isinf(distance[:, weight > 0]).any():
        return None
    edge_of = np.zeros((count, count), dtype=np.int64)
    u, v, edge = arcs.T
    edge_of[u, v] = edge
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
    """Return the depth of each node in each tree.

    Depths are computed from predecessors, because rounded distances may not be in the order of a path's nodes.
    """
    parent = np.maximum(predecessors, 0)  # SciPy's value for "no predecessor" is negative
    tree = np.arange(len(predecessors))[:, None]
    depth = np.zeros(predecessors.shape, dtype=np.int64)
    while True:
        deeper = np.where(predecessors >= 0, depth[tree, parent] + 1, 0)
        if (deeper == depth).all():
            return depth
        depth = deeper
