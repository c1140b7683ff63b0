"""Symmetries preserve every link, and parts of one orbit can be exchanged."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from graphs import small_torus
from trninv.solvers.collectives import all_gather_rate, max_concurrent_flow
from trninv.solvers.graph import Graph, weighted_edges
from trninv.solvers.symmetry import automorphisms, failure_orbits, symmetry_orbits


@examples(40)
@given(st.dictionaries(st.integers(0, 11), st.integers(1, 3), max_size=3))
def test_every_symmetry_preserves_all_links(changes: dict[int, int]) -> None:
    graph = small_torus(changes)
    capacity = {frozenset((a, b)): c for a, b, c in weighted_edges(graph)}
    for permutation in automorphisms(graph):
        assert sorted(permutation.values()) == sorted(graph)
        assert {frozenset((permutation[a], permutation[b])): c for a, b, c in weighted_edges(graph)} == capacity


@examples(40)
@given(st.dictionaries(st.integers(0, 11), st.integers(1, 3), max_size=3))
def test_graphs_without_either_part_of_an_orbit_are_isomorphic(changes: dict[int, int]) -> None:
    graph = small_torus(changes)
    for orbit in symmetry_orbits(graph, {}):
        chips = [part[0] for (part,) in orbit if len(part) == 1]
        for chip in chips[1:2]:
            first, other = (graph.subgraph(set(graph) - {gone}) for gone in (chips[0], chip))
            assert nx.is_isomorphic(first, other, edge_match=lambda a, b: a["capacity"] == b["capacity"])


def _torus_with_nics(chips_per_nic: int, lost: set[int]) -> Graph:
    """Return the torus with NICs of some chips each below a network node, without some nodes."""
    graph = small_torus({})
    graph.add_node(200, kind="network_node")
    for chip in range(8):
        nic = 100 + chip // chips_per_nic
        graph.add_node(nic, kind="nic", server=0, rack=0, ordinal=chip // chips_per_nic, wiring="torus", sides=(2, 4))
        graph.add_edge(chip, nic, capacity=5)
        graph.add_edge(nic, 200, capacity=7)
    graph.remove_nodes_from(lost & set(graph))
    return graph


@examples(40)
@given(st.sampled_from([1, 2, 4]), st.sets(st.sampled_from([*range(8), *range(100, 104)]), max_size=3))
def test_nics_follow_their_chips(chips_per_nic: int, lost: set[int]) -> None:
    graph = _torus_with_nics(chips_per_nic, lost)
    capacity = {frozenset((a, b)): c for a, b, c in weighted_edges(graph)}
    found = automorphisms(graph)
    for permutation in found:
        assert sorted(permutation.values()) == sorted(graph)
        assert permutation[200] == 200
        assert {frozenset((permutation[a], permutation[b])): c for a, b, c in weighted_edges(graph)} == capacity
    assert found or lost


@examples(20)
@given(st.sampled_from([1, 2]), st.sets(st.sampled_from([*range(8), *range(100, 104)]), max_size=3))
def test_solving_one_part_of_each_orbit_changes_no_rate(chips_per_nic: int, lost: set[int]) -> None:
    graph = _torus_with_nics(chips_per_nic, lost)
    weights = {node: 1 for node in graph if node < 8} | {200: 20}
    rates = all_gather_rate(graph, weights), max_concurrent_flow(graph, weights)
    graph.add_nodes_from(range(8), wiring=None)  # without a pattern, every part is an orbit
    graph.remove_nodes_from(lost)
    gather, flow = all_gather_rate(graph, weights), max_concurrent_flow(graph, weights)
    assert gather
    assert rates[0]
    assert rates[0].rate == gather.rate
    assert rates[1].lower == pytest.approx(flow.lower, rel=1e-7, abs=1e-9)
    assert rates[1].upper == pytest.approx(flow.upper, rel=1e-7, abs=1e-9)


def test_failures_of_several_parts_follow_their_parts() -> None:
    pairs = [((1,), (3,)), ((2,), (3,)), ((1,), (2,))]
    assert failure_orbits(pairs, [{1: 2, 2: 1, 3: 3}]) == [pairs[:2], pairs[2:]]
