"""Hops between pairs, counted per group and across a tree, compared with breadth-first search in networkx."""

from collections import Counter

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphs import chips_in, graphs
from trninv.solvers.distances import (
    UNREACHABLE,
    AttachedGroup,
    hop_matrix,
    leaf_depths,
    pairs_across_tree,
    pairs_between_groups,
    pairs_in_graph,
    pairs_in_group,
    sum_counts,
)
from trninv.solvers.graph import Graph


def _count(hops: Counter[int]) -> list[int]:
    return [hops[distance] for distance in range(max(hops, default=-1) + 1)]


@given(graphs())
def test_pairs_are_counted_by_their_distance(graph: Graph) -> None:
    chips, hops = chips_in(graph), dict(nx.all_pairs_shortest_path_length(graph))
    counted = Counter(hops[a][b] for a in chips for b in chips if a < b and b in hops[a])
    counts = pairs_in_graph(dict(graph.adjacency()), chips).tolist()
    assert counts == _count(counted) or (not counted and not sum(counts))
    matrix = hop_matrix(dict(graph.adjacency()), chips)
    for i, a in enumerate(chips):
        for j, b in enumerate(chips):
            assert matrix[i, j] == hops[a].get(b, UNREACHABLE)


@given(graphs(), st.data())
def test_depths_are_hops_from_the_root(graph: Graph, data: st.DataObject) -> None:
    root = data.draw(st.sampled_from(sorted(graph)))
    hops = nx.single_source_shortest_path_length(graph, root)
    chips = [chip for chip in chips_in(graph) if chip in hops]
    counts = leaf_depths(graph, chips_in(graph), root).tolist()
    assert counts == _count(Counter(hops[chip] for chip in chips))
    assert not leaf_depths(graph, chips_in(graph), None).sum()


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=4), min_size=1, max_size=3), st.data())
def test_pairs_across_a_tree_agree_with_the_tree_as_a_graph(depths: list[list[int]], data: st.DataObject) -> None:
    """Leaves hang on some nodes of a path that leads up to its last node."""
    tree: Graph = nx.path_graph(range(100, 104), create_using=Graph)
    parents, attached = {100: 101, 101: 102, 102: 103}, list[tuple[int, list[int], np.ndarray]]()
    for group in depths:
        node = data.draw(st.integers(100, 103))
        leaves = [tree.number_of_nodes() + 1_000 + number for number in range(sum(group))]
        hops = [distance + 1 for distance, count in enumerate(group) for _ in range(count)]
        for leaf, distance in zip(leaves, hops, strict=True):
            nx.add_path(tree, [node, *(leaf * 100 + step for step in range(1, distance)), leaf])
        attached.append((node, leaves, np.array([0, *group])))
    groups = {node: [counts for at, _, counts in attached if at == node] for node, _, _ in attached}
    hops_in_tree = dict(nx.all_pairs_shortest_path_length(tree))
    wanted = Counter(
        hops_in_tree[a][b]
        for first, (_, some, _) in enumerate(attached)
        for _, others, _ in attached[first + 1 :]
        for a in some
        for b in others
    )
    found = sum_counts(pairs_across_tree(groups, parents)).tolist()
    assert [*found, *[0] * 20][:20] == [*_count(wanted), *[0] * 20][:20]
    by_pairs = [
        pairs_between_groups(AttachedGroup.from_counts(a, first), AttachedGroup.from_counts(b, second), parents)
        for number, (a, _, first) in enumerate(attached)
        for b, _, second in attached[number + 1 :]
    ]
    assert [*sum_counts(by_pairs).tolist(), *[0] * 20][:20] == [*found, *[0] * 20][:20]


def test_a_group_counts_the_shorter_of_the_ways_inside_and_over_the_tree() -> None:
    near = AttachedGroup((9,), np.array([[1], [1]]), np.zeros((1, 1), np.int64), np.array([1, 1]))
    assert pairs_in_group(near, np.array([[0, 1], [1, 0]]), {}).tolist() == [0, 1]
    assert pairs_in_group(near, np.array([[0, 3], [3, 0]]), {}).tolist() == [0, 0, 1]
