"""The Gomory-Hu tree of a scope: which pair of chips is worst connected (Gomory & Hu, J. SIAM 9, 1961)."""

import networkx as nx

from trninv.routing import evidence
from trninv.routing.graph import Graph, cut_links
from trninv.routing.scope import Scope
from trninv.routing.surveys import CutTreeAnswer, TreeEdge
from trninv.routing.wiring import Reader
from trninv.units import Bandwidth

_CUT_TREE = (
    "maximum flow, one direction, between every two chips and switches of the domain: the least edge on the tree's way "
    "between them; of the scope's healthy chips the worst connected pair, and its minimum cut"
)


def cut_tree_answer(reader: Reader, of: str) -> CutTreeAnswer:
    """The tree of a scope within one domain; other chips of the domain may forward."""
    scope = Scope.of(reader, of, transit=True)
    inside = scope.inside(reader, "a Gomory-Hu tree")
    graph, ends = inside.graph, inside.ends
    tree = cut_tree(graph)
    worst, side = worst_pair(tree, set(ends))
    near = [end for end in ends if end in side]
    far = [end for end in ends if end not in side]
    name = {node: graph.nodes[node]["address"] for node in graph}
    few = min(near, far, key=lambda chips: (len(chips), chips))
    return CutTreeAnswer(
        of=scope.place.address,
        a=name[near[0]] if far else None,
        b=name[far[0]] if far else None,
        worst=Bandwidth(worst),
        cut_off=tuple(name[chip] for chip in few),
        cut=cut_links(graph, side) if far else (),
        tree=tuple(TreeEdge(name[a], name[b], Bandwidth(of["weight"])) for a, b, of in tree.edges(data=True)),
        definition=_CUT_TREE,
        facts=evidence.of_wiring(reader.connection, graph.nodes.values(), graph.edges.values()),
    )


def cut_tree(graph: Graph) -> Graph:
    """The tree, of a graph in any state: its parts are joined by edges of no flow."""
    parts = [Graph(graph.subgraph(part)) for part in sorted(nx.connected_components(graph), key=min)]
    tree = Graph()
    tree.add_nodes_from(graph)
    for part in parts:
        tree.add_weighted_edges_from(nx.gomory_hu_tree(part).edges(data="weight"))
    tree.add_weighted_edges_from((min(parts[0]), min(part), 0) for part in parts[1:])
    return tree


def worst_pair(tree: Graph, ends: set[int]) -> tuple[int, set[int]]:
    """Maximum flow of the worst connected endpoints and one side of their cut; all nodes where there is no pair."""
    edges: list[tuple[int, int, int]] = list(tree.edges(data="weight"))
    for a, b, weight in sorted(edges, key=lambda edge: (edge[2], edge[:2])):
        rest = tree.copy()
        rest.remove_edge(a, b)
        side = nx.node_connected_component(rest, a)
        if side & ends and ends - side:
            return int(weight), side
    return 0, set(tree)
