"""Least cuts by number of endpoints, compared with every set of nodes."""

from itertools import combinations

from hypothesis import assume, given
from hypothesis import strategies as st

from conftest import examples
from graphs import chips_in, graphs
from oracles import brute_force
from trninv.solvers.cut_enumeration import bisect_by_enumeration, enumerate_profile, select_hubs
from trninv.solvers.graph import Graph, cut_capacity


def _least_cuts(graph: Graph, endpoints: list[int], sink: int | None) -> list[int]:
    """Return the least cut with 0, 1, … endpoints on the side without the sink."""
    others = sorted(set(graph) - set(endpoints) - {sink})
    sides = [side for size in range(len(others) + 1) for side in combinations(others, size)]
    return [
        min(brute_force.cut(graph, {*some, *side}) for some in combinations(endpoints, size) for side in sides)
        for size in range(len(endpoints) + 1)
    ]


@examples(60)
@given(graphs(), st.booleans())
def test_the_profile_is_the_least_cut_of_every_size(graph: Graph, has_sink: bool) -> None:
    chips = chips_in(graph)
    sink = chips.pop() if has_sink else None
    assume(chips)
    hubs = select_hubs(graph, chips, sink)
    assert hubs is not None
    profile, least = list(enumerate_profile(graph, chips, hubs, sink)), _least_cuts(graph, chips, sink)
    assert profile == least
    low = len(chips) // 2
    cut = bisect_by_enumeration(graph, chips, hubs, low, len(chips), sink)
    assert cut.lower == cut.upper == min(least[low:]) == cut_capacity(graph, cut.side)
    taken = len(cut.side.intersection(chips))
    assert low <= (taken if has_sink else max(taken, len(chips) - taken))
    assert sink not in cut.side
