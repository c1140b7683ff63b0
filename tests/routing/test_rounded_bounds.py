"""Bounds are rounded in the direction in which they still hold, to the next value that there can be."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor

import pytest
from scipy.optimize import OptimizeResult

import trninv
from conftest import BACKENDS, Databases
from graphs import seed_clusters, torus_domain
from oracles import brute_force
from trninv.routing.fleet import BaseFleet
from trninv.solvers import integer_programs, quotient, tree_packing
from trninv.solvers.islands import Island

pytestmark = pytest.mark.slow_on_postgresql

ABOVE = 999


def _sharing(chips: int, carries: int, hub: int = 0) -> Island:
    """Chips in a ring that share one NIC, whose uplink carries one."""
    graph = torus_domain((chips,), (carries,), exits=1, chips_per_nic=chips, above=ABOVE)
    return Island.from_graph(graph, range(chips), ABOVE, frozenset([hub]))


def test_exits_of_a_part_of_a_domain_are_rounded_up() -> None:
    """Three chips of three domains: by exits of a half each 1.5, and 10 within the one that is split."""
    found = quotient._bisect_by_ratios([(_sharing(2, 10), 3)], 3, 3)
    assert (found.lower, found.upper) == (12, 12)


def test_exits_of_whole_domains_are_rounded_up() -> None:
    """Of 3 chips with an exit of a third each and two others 2 leave by two thirds, and whole domains by one."""
    found = quotient._bisect_by_ratios([(_sharing(3, 9), 1), (_sharing(1, 1), 2)], 2, 3)
    assert (found.lower, found.upper) == (1, 1)


def test_exits_beside_whole_hubs_are_rounded_up() -> None:
    """Of 3 and 12 chips 7 are taken: the 3, and 4 others with an exit of a third each."""
    found = quotient._bisect_pieces([(_sharing(3, 9, 1), 1), (_sharing(3, 9, 2), 4)], 7, 8, ())
    assert found.lower == 2


@pytest.mark.parametrize(("bound", "rounded"), [(2.5, 3), (3.0, 3), (3 + 1e-9, 3), (3.001, 4), (-1.0, 0), (None, 0)])
def test_bounds_of_the_integer_program_are_rounded_up_but_for_its_tolerance(bound: float | None, rounded: int) -> None:
    result = OptimizeResult()
    result["mip_dual_bound"] = bound
    assert integer_programs._dual_bound(result) == rounded


@pytest.mark.parametrize(("sides", "carries", "value"), [((5,), (4,), 8), ((3, 4), (4, 4), 24), ((2, 3), (4, 8), 12)])
def test_a_packing_of_trees_is_rounded_up_to_a_multiple_of_the_capacities(
    sides: tuple[int, ...], carries: tuple[int, ...], value: int
) -> None:
    """The weights prove a part of it, and there is no cut of as much: rounded down it would be a multiple less."""
    graph = torus_domain(sides, carries)
    problem = tree_packing.CutProblem.from_graph(graph, sorted(graph))
    assert (
        tree_packing.pack_trees(problem, len(graph) // 2, 2**62).bound
        == value
        == brute_force.bisection(graph, sorted(graph))
    )


@pytest.fixture(scope="module", params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """Four trn2-16.48xlarge."""
    with trninv.open(seed_clusters(databases.migrated(request.param), {"trn2": 4})) as opened:
        yield opened


def test_limits_of_collectives_are_rounded_outward(fleet: BaseFleet) -> None:
    """25 GB/s leave each of 3 + 3 chips for three elsewhere; of 7 chips in pairs and one each may reduce 12/7 of it."""
    even = fleet.collectives("c-trn2", [f"c-trn2/d{domain}/s0/c{chip}" for domain in (0, 1) for chip in (0, 1, 2)])
    rate = Fraction(25 * 10**9 * 5, 3)
    assert (even.all_to_all.lower, even.all_to_all.upper) == (floor(rate), ceil(rate))
    pairs = [f"c-trn2/d{domain}/s0/c{chip}" for domain in (0, 1, 2) for chip in (0, 1)]
    odd = fleet.collectives("c-trn2", [*pairs, "c-trn2/d3/s0/c1"])
    assert odd.all_reduce.upper == ceil(Fraction(25 * 10**9 * 12, 7))
    assert odd.all_reduce_algorithm.lower == floor(Fraction(25 * 10**9 * 7, 12))
