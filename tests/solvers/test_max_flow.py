"""Flows, Gomory-Hu trees and disjoint paths, compared with networkx."""

from itertools import combinations, pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import chips_in, graphs
from oracles import brute_force
from trninv.solvers.graph import Graph
from trninv.solvers.max_flow import disjoint_paths, gomory_hu_tree, minimum_cut, minimum_cut_directed, minimum_edge


@given(graphs())
def test_the_tree_has_every_pairs_flow(graph: Graph) -> None:
    tree = gomory_hu_tree(graph)
    assert nx.is_tree(tree)
    for a, b in combinations(sorted(graph), 2):
        path = nx.shortest_path(tree, a, b)
        least = min(tree.edges[edge]["weight"] for edge in pairwise(path))
        assert least == minimum_cut(graph, [a], [b])[0] == nx.maximum_flow_value(graph, a, b)


@given(graphs())
def test_the_worst_pair_has_the_least_flow_of_all(graph: Graph) -> None:
    chips = chips_in(graph)
    value, side = minimum_edge(gomory_hu_tree(graph), set(chips))
    assert value == min(nx.maximum_flow_value(graph, a, b) for a, b in combinations(chips, 2))
    assert brute_force.cut(graph, side) == value


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 4)), max_size=14))
def test_a_directed_flow_counts_links_one_way(arcs: list[tuple[int, int, int]]) -> None:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(6))
    graph.add_weighted_edges_from([(a, b, c) for a, b, c in arcs if a != b], weight="capacity")
    value, side = minimum_cut_directed(dict(graph.adjacency()), [0], [5])
    assert value == nx.maximum_flow_value(graph, 0, 5)
    assert value == sum(link["capacity"] for a, b, link in graph.edges(data=True) if a in side and b not in side)


@given(graphs(), st.booleans(), st.data())
def test_as_many_paths_are_disjoint_as_there_can_be(graph: Graph, by_node: bool, data: st.DataObject) -> None:
    source, target = data.draw(st.permutations(sorted(graph)))[:2]
    paths = list(disjoint_paths(dict(graph.adjacency()), [source], [target], by_node=by_node, max_paths=20))
    links = [frozenset(link) for path in paths for link in pairwise(path)]
    inner = [node for path in paths for node in path[1:-1]]
    assert len(links) == len(set(links))
    assert not by_node or len(inner) == len(set(inner))
    whole = graph.copy()
    if not by_node:
        assert len(paths) == nx.edge_connectivity(whole, source, target)
    elif not whole.has_edge(source, target):
        assert len(paths) == nx.node_connectivity(whole, source, target)


@pytest.mark.parametrize("sources", [[], [77]])
def test_a_node_that_is_not_in_the_graph_sends_nothing(sources: list[int]) -> None:
    graph = Graph([(1, 2)])
    graph.edges[1, 2]["capacity"] = 4
    assert minimum_cut(graph, sources, [2])[0] == 0
