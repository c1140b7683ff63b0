"""Rings through all chips that share no link."""

from itertools import pairwise

import pytest
from hypothesis import given

from conftest import examples
from graphs import chips_in, graphs, torus_domain
from trninv.solvers.graph import Graph
from trninv.solvers.rings import edge_disjoint_rings, max_ring_bandwidth, ring_bandwidth, torus_rings
from trninv.topology.torus import torus_links


def _links(ring: tuple[int, ...]) -> list[frozenset[int]]:
    return [frozenset(link) for link in pairwise([*ring, ring[0]])]


@pytest.mark.parametrize("sides", [(3, 3), (3, 4), (4, 4), (5, 3), (3, 3, 3), (4, 4, 4)])
def test_the_rings_of_a_torus_use_every_link_once(sides: tuple[int, ...]) -> None:
    rings = torus_rings(sides)
    used = [link for ring in rings for link in _links(ring)]
    assert len(rings) == len(sides)
    assert all(len(set(ring)) == len(ring) for ring in rings)
    assert len(used) == len(set(used))
    assert set(used) == {frozenset((link.a, link.b)) for link in torus_links(sides)}


@examples(60)
@given(graphs(chips=6, switches=0))
def test_rings_share_no_link_and_carry_no_more_than_the_bound(graph: Graph) -> None:
    chips = chips_in(graph)
    rings = edge_disjoint_rings(graph, chips)
    used = [link for ring in rings for link in _links(ring)]
    assert len(used) == len(set(used))
    assert all(sorted(ring) == chips and all(graph.has_edge(*link) for link in _links(ring)) for ring in rings)
    assert ring_bandwidth(graph, rings) <= max_ring_bandwidth(graph, chips)


def test_a_whole_torus_reaches_the_bound() -> None:
    graph = torus_domain((4, 4), (3, 3))
    rings = edge_disjoint_rings(graph, chips_in(graph))
    assert ring_bandwidth(graph, rings) == max_ring_bandwidth(graph, chips_in(graph)) > 0
