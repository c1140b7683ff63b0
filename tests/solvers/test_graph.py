"""Cuts of a graph, and copies of it without NICs that change no cut."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from graphs import chips_in, graphs, torus_domain
from oracles import brute_force
from trninv.solvers.graph import (
    Cut,
    Graph,
    contract_nics,
    cut_capacity,
    cut_edges,
    nics_in,
    weighted_edges,
    without_dead_nics,
)


@given(graphs(), st.data())
def test_a_cut_is_the_links_with_one_end_on_its_side(graph: Graph, data: st.DataObject) -> None:
    side = data.draw(st.sets(st.sampled_from(sorted(graph))))
    assert cut_capacity(graph, side) == brute_force.cut(graph, side)
    assert {frozenset(edge) for edge in cut_edges(graph, side)} == {
        frozenset((a, b)) for a, b, _ in weighted_edges(graph) if (a in side) != (b in side)
    }


@given(graphs(), st.data())
def test_a_cut_never_has_a_lower_bound_above_its_capacity(graph: Graph, data: st.DataObject) -> None:
    side = data.draw(st.sets(st.sampled_from(sorted(graph))))
    exact = Cut.from_side(graph, side, "test")
    assert exact.lower == exact.upper == cut_capacity(graph, side)
    assert Cut.from_side(graph, side, "test", exact.upper + 1).lower == exact.upper


@given(st.integers(1, 5))
def test_contracting_nics_with_one_chip_changes_no_cut(exits: int) -> None:
    graph = torus_domain((4,), (7,), exits=exits)
    contracted = contract_nics(graph)
    assert not nics_in(contracted)
    for size in range(5):
        for side in combinations(chips_in(graph), size):
            assert cut_capacity(contracted, side) == cut_capacity(graph, side)


def test_a_nic_without_an_uplink_is_removed_and_one_with_an_uplink_stays() -> None:
    graph = torus_domain((4,), (7,), exits=2)
    graph.remove_edge(1_000, 10_000)
    assert set(graph) - set(without_dead_nics(graph)) == {1_000}
