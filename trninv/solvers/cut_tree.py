"""The Gomory-Hu tree: maximum flows of all pairs of nodes (Gomory & Hu, J. SIAM 9, 1961)."""

import networkx as nx

from trninv.solvers.graph import Graph


def gomory_hu_tree(graph: Graph) -> Graph:
    """The tree of a graph in any state: its components are joined by edges of weight 0."""
    parts = [Graph(graph.subgraph(part)) for part in sorted(nx.connected_components(graph), key=min)]
    tree = Graph()
    tree.add_nodes_from(graph)
    for part in parts:
        tree.add_weighted_edges_from(nx.gomory_hu_tree(part).edges(data="weight"))
    tree.add_weighted_edges_from((min(parts[0]), min(part), 0) for part in parts[1:])
    return tree


def minimum_edge(tree: Graph, endpoints: set[int]) -> tuple[int, set[int]]:
    """Maximum flow of the worst connected endpoints and one side of their cut; all nodes where there is no pair."""
    edges: list[tuple[int, int, int]] = list(tree.edges(data="weight"))
    for a, b, weight in sorted(edges, key=lambda edge: (edge[2], edge[:2])):
        rest = tree.copy()
        rest.remove_edge(a, b)
        side = nx.node_connected_component(rest, a)
        if side & endpoints and endpoints - side:
            return int(weight), side
    return 0, set(tree)
