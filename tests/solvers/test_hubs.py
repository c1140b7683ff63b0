"""Hubs of islands: which are joined, and the tree that joins them."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from trninv.solvers.hubs import NarrowUplink, connected_islands, contract_hubs, group_connected, hub_tree
from trninv.solvers.share_selection import Hub

_PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8)


def _islands(hub: Hub) -> list[int]:
    return [*hub.islands, *(island for below, _, _ in hub.children for island in _islands(below))]


@given(_PAIRS)
def test_components_are_those_of_networkx_largest_first(pairs: list[tuple[int, int]]) -> None:
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(6))
    graph.add_edges_from(pairs)
    groups = group_connected(range(6), pairs)
    assert {frozenset(group) for group in groups} == set(map(frozenset, nx.connected_components(graph)))
    assert [len(group) for group in groups] == sorted(map(len, groups), reverse=True)


@given(st.lists(st.sets(st.integers(10, 13), max_size=2), min_size=1, max_size=5), _PAIRS)
def test_every_island_is_once_in_the_tree_and_in_the_groups(
    hubs_by_island: list[set[int]], pairs: list[tuple[int, int]]
) -> None:
    forest: nx.Graph[int] = nx.Graph()
    narrow = []
    for number, (a, b) in enumerate(pairs):
        ends = (10 + a % 4, 10 + b % 4)
        if ends[0] != ends[1] and not (forest.has_node(ends[0]) and forest.has_node(ends[1])):
            forest.add_edge(*ends)
            narrow.append(NarrowUplink(number, ends, number))
    every = list(range(len(hubs_by_island)))
    groups = connected_islands(hubs_by_island, narrow)
    assert sorted(island for group in groups for island in group) == every
    assert sorted(_islands(hub_tree(hubs_by_island, narrow))) == every
    assert sorted(_islands(contract_hubs(hubs_by_island, narrow))) == every


def test_a_failed_uplink_joins_nothing() -> None:
    assert connected_islands([{7}, {8}], [NarrowUplink(1, (7, 8), 0)]) == [[0], [1]]
    assert connected_islands([{7}, {8}], [NarrowUplink(1, (7, 8), 1)]) == [[0, 1]]
