"""Sizes of the connected components of a large graph, by SciPy.

`trninv.solvers.hubs` groups a few nodes with networkx instead, because SciPy takes longer to import than that takes.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def component_sizes(
    links: NDArray[np.int64], members: NDArray[np.int64], is_counted: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return, for each member, how many counted members its connected component has.

    Breadth-first search by SciPy; O(V·log V + E).

    Parameters
    ----------
    links
        Ids of both ends, shape (links, 2).
    members
        Ids of nodes, in any order; they may have no links.
    is_counted
        Whether each member is counted.

    Examples
    --------
    Node 7 is alone; node 3 is not counted:

    >>> links, members = np.array([[1, 2], [2, 3]]), np.array([1, 2, 3, 7])
    >>> component_sizes(links, members, np.array([True, True, False, True])).tolist()
    [2, 2, 2, 1]

    """
    nodes = np.unique(np.concatenate([links.ravel(), members]))
    u, v = np.searchsorted(nodes, links.T)
    graph = coo_array((np.ones(len(links)), (u, v)), shape=(len(nodes), len(nodes)))
    component = connected_components(graph, directed=False)[1][np.searchsorted(nodes, members)]
    member_sizes: NDArray[np.int64] = np.bincount(component[is_counted], minlength=len(nodes))[component]
    return member_sizes
