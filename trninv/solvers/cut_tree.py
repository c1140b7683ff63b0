"""Compute the Gomory-Hu tree, which holds the maximum flow of every pair of nodes (Gomory & Hu, J. SIAM 9, 1961).

The maximum flow of two nodes is the least weight on the tree's path between them.
"""

import networkx as nx

from trninv.solvers.graph import Graph


def gomory_hu_tree(graph: Graph) -> Graph:
    """Return a graph's Gomory-Hu tree (1961), its components joined by edges of weight 0; V - 1 maximum flows.

    Examples
    --------
    Two separate links, so that pairs across them have no flow:

    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (3, 4, 20)], weight="capacity")
    >>> list(gomory_hu_tree(graph).edges(data="weight"))
    [(1, 2, 30), (1, 3, 0), (3, 4, 20)]

    """
    parts = [Graph(graph.subgraph(part)) for part in sorted(nx.connected_components(graph), key=min)]
    tree = Graph()
    tree.add_nodes_from(graph)
    for part in parts:
        tree.add_weighted_edges_from(nx.gomory_hu_tree(part).edges(data="weight"))
    tree.add_weighted_edges_from((min(parts[0]), min(part), 0) for part in parts[1:])
    return tree


def minimum_edge(tree: Graph, endpoints: set[int]) -> tuple[int, set[int]]:
    """Return the maximum flow of the worst connected pair of endpoints and one side of their cut; O(V²).

    It is the lightest edge of a Gomory-Hu tree that separates endpoints. Without a pair the result is 0 and all nodes.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> minimum_edge(gomory_hu_tree(graph), {1, 2, 3, 4})
    (30, {1, 2})

    """
    edges: list[tuple[int, int, int]] = list(tree.edges(data="weight"))
    for a, b, weight in sorted(edges, key=lambda edge: (edge[2], edge[:2])):
        rest = tree.copy()
        rest.remove_edge(a, b)
        side = nx.node_connected_component(rest, a)
        if side & endpoints and endpoints - side:
            return int(weight), side
    return 0, set(tree)
