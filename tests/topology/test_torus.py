"""Rings and tori."""

from math import prod

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trninv.topology.torus import coordinates, node_number, ring_links, torus_links

SIDES = st.lists(st.integers(min_value=1, max_value=5), min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("size", "links"),
    [(1, []), (2, [(0, 1)]), (3, [(0, 1), (0, 2), (1, 2)]), (4, [(0, 1), (0, 3), (1, 2), (2, 3)])],
)
def test_ring(size: int, links: list[tuple[int, int]]) -> None:
    assert ring_links(size) == links


@given(SIDES)
def test_coordinates_and_number_are_inverse(sides: list[int]) -> None:
    positions = [coordinates(node, sides) for node in range(prod(sides))]
    assert positions == sorted(set(positions))
    assert [node_number(position, sides) for position in positions] == list(range(prod(sides)))


@given(SIDES)
def test_links_join_neighbours_along_one_axis(sides: list[int]) -> None:
    links = torus_links(sides)
    assert links == sorted(set(links))
    for a, b, axis in links:
        assert a < b
        steps = [(x - y) % side for x, y, side in zip(coordinates(a, sides), coordinates(b, sides), sides, strict=True)]
        assert steps[axis] in (1, sides[axis] - 1)
        assert sum(step != 0 for step in steps) == 1
    rings = sum(prod(sides) * {1: 0, 2: 1}.get(side, 2) for side in sides)
    assert 2 * len(links) == rings


def test_a_4x4_torus_is_the_4_cube_as_the_trn1_page_says_both() -> None:
    """The page says "4D-HyperCube" and "2D Torus": one graph. The label is (gray(row) << 2) | gray(column)."""
    graph = nx.Graph([(a, b) for a, b, _ in torus_links((4, 4))])
    assert nx.is_isomorphic(graph, nx.hypercube_graph(4))
    gray = [0, 1, 3, 2]
    label = {node: gray[node // 4] << 2 | gray[node % 4] for node in graph}
    assert all((label[a] ^ label[b]).bit_count() == 1 for a, b in graph.edges)


def test_a_4x4x4_torus_is_the_6_cube() -> None:
    graph = nx.Graph([(a, b) for a, b, _ in torus_links((4, 4, 4))])
    assert (len(graph), graph.number_of_edges(), nx.diameter(graph)) == (64, 192, 6)
    gray = [0, 1, 3, 2]
    label = {n: gray[n // 16] << 4 | gray[n // 4 % 4] << 2 | gray[n % 4] for n in graph}
    assert all((label[a] ^ label[b]).bit_count() == 1 for a, b in graph.edges)
