"""The least cut of every number of chips, compared with every subset."""

import itertools

import pytest
from hypothesis import given

from conftest import examples
from graphs import chips_in, graphs
from oracles import brute_force
from trninv.routing.fleet import BaseFleet
from trninv.solvers.bisection import heuristic_bisect
from trninv.solvers.graph import Graph
from trninv.solvers.islands import CutProfile

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
U = "u-trn2x64/d0"


@examples(40)
@given(graph=graphs(chips=6))
def test_profiles_against_every_subset(graph: Graph) -> None:
    ends = chips_in(graph)
    wanted = [
        min(
            brute_force.minimum_cut_with_halves(graph, set(chosen), set(ends) - set(chosen))
            for chosen in itertools.combinations(ends, size)
        )
        for size in range(1, len(ends) // 2 + 1)
    ]
    exact = CutProfile(graph, ends)
    assert list(exact.lower[1 : len(ends) // 2 + 1]) == wanted
    assert exact.lower is exact.upper
    found = [heuristic_bisect(graph, ends, size, size) for size in range(1, len(ends) // 2 + 1)]
    assert [(split.lower, split.upper) for split in found] == [(value, value) for value in wanted]


def test_a_profile_ends_in_the_bisection(fleet: BaseFleet) -> None:
    for scope in ("trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen1", "trn3-gen2"):
        answer = fleet.split_profile(scope)
        assert len(answer.splits) == answer.chips // 2
        assert all(split.exact for split in answer.splits)
        assert answer.splits[-1].upper == fleet.bisection(scope).upper
