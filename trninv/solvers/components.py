"""Connected components of graphs as arrays of links."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def component_sizes(
    links: NDArray[np.int64], members: NDArray[np.int64], is_counted: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """How many counted members the component of each member has.

    Parameters
    ----------
    links
        Both ends of each, shape (links, 2); members may have none.
    members
        Ids of nodes, in any order.
    counted
        Whether each of the members counts.

    """
    nodes = np.unique(np.concatenate([links.ravel(), members]))
    a, b = np.searchsorted(nodes, links.T)
    graph = coo_array((np.ones(len(links)), (a, b)), shape=(len(nodes), len(nodes)))
    component = connected_components(graph, directed=False)[1][np.searchsorted(nodes, members)]
    member_sizes: NDArray[np.int64] = np.bincount(component[is_counted], minlength=len(nodes))[component]
    return member_sizes
