"""Bisections of small graphs, compared with every split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from graphs import chips_in, graphs, torus_domain
from oracles import brute_force
from trninv.solvers.bisection import bisect, heuristic_bisect, sweep_orders, torus_bisection
from trninv.solvers.graph import Graph, cut_capacity


@examples(60)
@given(graphs(), st.integers(0, 2))
def test_no_split_into_halves_cuts_less(graph: Graph, fillers: int) -> None:
    chips = chips_in(graph)
    cut = bisect(graph, chips, fillers=fillers)
    assert cut.lower == cut.upper == brute_force.bisection(graph, chips, fillers)
    assert cut_capacity(graph, cut.side) == cut.upper


@examples(40)
@given(graphs())
def test_without_enumeration_the_bounds_hold_the_answer(graph: Graph) -> None:
    chips = chips_in(graph)
    half = len(chips) // 2
    cut = heuristic_bisect(graph, chips, half, len(chips) - half)
    assert cut.lower <= brute_force.bisection(graph, chips) <= cut.upper
    assert half <= len(cut.side.intersection(chips)) <= len(chips) - half


@pytest.mark.parametrize("sides", [(4,), (2, 4), (4, 2), (2, 2, 2), (2, 2, 4)])
def test_the_closed_form_of_a_torus_is_its_bisection(sides: tuple[int, ...]) -> None:
    graph = torus_domain(sides, (3, 5, 2)[: len(sides)])
    closed = torus_bisection(graph, chips_in(graph))
    assert closed
    assert (
        closed.lower
        == closed.upper
        == cut_capacity(graph, closed.side)
        == brute_force.bisection(graph, chips_in(graph))
    )


def test_there_is_no_closed_form_of_odd_sides_or_of_damage() -> None:
    odd = torus_domain((3, 4), (1, 1))
    assert torus_bisection(odd, chips_in(odd)) is None
    damaged = torus_domain((4, 4), (1, 1))
    damaged.edges[0, 1]["capacity"] = 2
    assert torus_bisection(damaged, chips_in(damaged)) is None


@given(graphs())
def test_every_order_has_all_endpoints_once(graph: Graph) -> None:
    orders = list(sweep_orders(graph, chips_in(graph)))
    assert orders
    assert all(sorted(order) == chips_in(graph) for order in orders)
