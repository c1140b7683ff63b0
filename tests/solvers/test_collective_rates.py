"""Rates of collectives: bounds that no set of chips exceeds."""

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given

from conftest import examples
from graphs import chips_in, graphs, torus_domain
from oracles import brute_force
from trninv.solvers.collectives import all_gather_rate, max_concurrent_flow
from trninv.solvers.graph import Graph


@examples(60)
@given(graphs(chips=6))
def test_an_all_gather_is_limited_by_the_worst_set(graph: Graph) -> None:
    """Into every set that lacks m chips flow m times the rate; the least of these bounds is attained (Edmonds)."""
    chips = chips_in(graph)
    rate = all_gather_rate(graph, dict.fromkeys(chips, 1))
    assert rate
    bounds = [
        brute_force.cut(graph, side) / missing
        for size in range(1, len(graph))
        for side in combinations(sorted(graph), size)
        if (missing := len(set(chips) - set(side))) and set(side).intersection(chips)
    ]
    assert float(rate.rate) == pytest.approx(min(bounds))


@examples(40)
@given(graphs(chips=5))
def test_an_all_to_all_is_within_its_bounds_and_below_every_cut(graph: Graph) -> None:
    chips = chips_in(graph)
    flow = max_concurrent_flow(graph, dict.fromkeys(chips, 1))
    assert 0 <= flow.lower <= flow.upper
    for size in range(1, len(graph)):
        for side in combinations(sorted(graph), size):
            inside = len(set(chips).intersection(side))
            if pairs := inside * (len(chips) - inside):
                assert flow.lower * pairs <= brute_force.cut(graph, side) * (1 + 1e-6)
    if not all(nx.has_path(graph, a, b) for a, b in combinations(chips, 2)):
        assert flow.lower == flow.upper == 0


def test_a_ring_of_four_is_solved_in_closed_form() -> None:
    """Each of its two opposite links of an axis carries, per pair, (1 + 2·½ + …)·θ: capacity 6 gives θ = 3."""
    graph = torus_domain((4,), (6,))
    flow = max_concurrent_flow(graph, dict.fromkeys(range(4), 1))
    assert (flow.lower, flow.upper) == pytest.approx((3, 3))


def test_rounding_does_not_lift_the_lower_bound_above_the_upper() -> None:
    graph = Graph()
    graph.add_weighted_edges_from([(0, 1, 1), (1, 2, 1)], weight="capacity")
    graph.add_nodes_from([0, 1, 2], kind="chip")
    for max_rate in (0.3, 1 / 3, 0.5 - 1e-16):
        flow = max_concurrent_flow(graph, dict.fromkeys(graph, 1), max_rate)
        assert flow.lower <= flow.upper <= max_rate


def test_one_chip_has_no_collective() -> None:
    graph = Graph()
    graph.add_node(1, kind="chip")
    assert all_gather_rate(graph, {1: 1}) is None
