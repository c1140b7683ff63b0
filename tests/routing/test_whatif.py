"""What if: the same answers as if the database said so, with nothing written."""

import random
from itertools import pairwise

import pytest

import trninv
from conftest import seeds
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.errors import InvalidArgumentError, UnknownAddressError, WrongLevelError
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
U = "u-trn2x64/d0"
BROKEN = [f"{U}/s1", f"{U}/s0/c5", f"{U}/s0/c0--{U}/s0/c1", f"{U}/s2/efa3"]
SLOW = {f"{U}/s2/c1": 0.5, f"{U}/s3/c0--{U}/s3/c1": 0.25}


def _answers(fleet: BaseFleet) -> list[object]:
    a, b = f"{U}/s0/c0", f"{U}/s2/c1"
    pool, half = fleet.memory_pool(a), fleet.bisection(f"{U}/s2")
    return [
        fleet.path(a, b).paths,
        fleet.path(a, b, "bandwidth", 3).paths,
        fleet.bandwidth(f"{U}/s0", f"{U}/s2").minimum_cut,
        pool.by_hops,
        (half.lower, half.upper, half.side_a, half.side_b, half.nominal),
        fleet.distances(U).by_hops,
        fleet.cut_tree(U).min_flow,
        fleet.collectives(f"{U}/s2").all_gather,
        sorted(map(str, fleet.graph(U).edges(data=True))),
    ]


def test_a_scenario_answers_as_the_database_would(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        supposed, before = _answers(fleet.what_if(BROKEN, SLOW)), _answers(fleet)
        with write_transaction(fleet.engine) as connection:
            set_state(connection, BROKEN, Condition("down"), why="test", who="test")
            for address, factor in SLOW.items():
                set_state(connection, [address], Condition.from_user("degraded", factor), why="test", who="test")
        assert _answers(fleet) == supposed != before
        with write_transaction(fleet.engine) as connection:
            set_state(connection, [*BROKEN, *SLOW], Condition("up"), why="test", who="test")
        assert _answers(fleet) == before


@pytest.mark.parametrize("scope", ["u-trn2x64", "u-trn2x64/d0/s2", "two"])
def test_chips_that_a_scenario_takes_down_are_failed_chips(seeded: str, scope: str) -> None:
    """They count as fillers (NOMINAL), just as chips that are down."""
    with trninv.open(seeded) as fleet:
        if scope == "two":
            with write_transaction(fleet.engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(2), "two")
        down = "two/d1/s0/c3" if scope == "two" else f"{U}/s2/c1"
        supposed = fleet.what_if(down).bisection(scope)
        with write_transaction(fleet.engine) as connection:
            set_state(connection, [down], Condition("down"), why="test", who="test")
        answer = fleet.bisection(scope)
        assert supposed.nominal == answer.nominal is not None
        assert supposed.side_a + supposed.side_b == answer.side_a + answer.side_b


def test_the_baseline_and_the_difference_stand_beside(fleet: BaseFleet) -> None:
    half = fleet.what_if(f"{U}/s0/c0--{U}/s1/c0").bisection("u-trn2x64")
    assert half.baseline is not None
    assert half.difference is not None
    assert (half.upper, half.baseline.upper, half.difference.bytes_per_second) == (1_984 * GB, 2_048 * GB, -64 * GB)
    assert half.baseline.baseline is None
    assert fleet.bisection("u-trn2x64").difference is None
    pool = fleet.what_if(f"{U}/s3").memory_pool(f"{U}/s0/c0")
    assert pool.difference is not None
    assert (pool.difference.chips, pool.difference.bytes) == (-16, -16 * 96 * 2**30)
    gone = fleet.what_if([f"{U}/s1", f"{U}/s3"]).path(f"{U}/s0/c0", f"{U}/s2/c0")
    assert gone.difference is not None
    assert (gone.reachable, gone.difference.hops, gone.difference.bytes_per_second) == (False, None, -64 * GB)


def test_scenarios_add_up_and_leave_the_fleet_open(fleet: BaseFleet) -> None:
    with fleet.what_if(f"{U}/s0/c1") as one:
        both = one.what_if(f"{U}/s0/c4")
    assert both.path(f"{U}/s0/c0", f"{U}/s0/c5").paths[0].hops == 4
    assert fleet.path(f"{U}/s0/c0", f"{U}/s0/c5").paths[0].hops == 2


def test_what_is_derated_to_nothing_is_gone(fleet: BaseFleet) -> None:
    link = f"{U}/s0/c0--{U}/s0/c1"
    thin = fleet.what_if(derate={link: 0.000001}).what_if(derate={f"{U}/s0/c0": 0.000001})
    assert thin.path(f"{U}/s0/c0", f"{U}/s0/c1", "time", message=10).paths[0].time is not None


def test_a_whole_rack_can_be_supposed_down(fleet: BaseFleet) -> None:
    half = fleet.what_if("trn3-gen2/r1").memory_pool("trn3-gen2/d0/s0/c0")
    assert half.chips == 72


@pytest.mark.parametrize("seed", seeds(4))
def test_more_capacity_never_carries_less(lite_fleet: BaseFleet, seed: int) -> None:
    """Derating harder lowers no flow, widest path or NOMINAL bisection the other way."""
    chance = random.Random(seed)
    links = sorted(
        f"{a}--{b}" for a, b, of in lite_fleet.graph("trn2-16.48xlarge").edges(data=True) if of["technology"] != "EFA"
    )
    chosen = chance.sample(links, 5)
    mild = lite_fleet.what_if(derate=dict.fromkeys(chosen, 0.75))
    hard = lite_fleet.what_if(derate=dict.fromkeys(chosen, 0.25))
    a, b = (f"trn2-16.48xlarge/d0/s0/c{chip}" for chip in chance.sample(range(16), 2))
    values = []
    for asked in (lite_fleet, mild, hard):
        flow = asked.bandwidth(a, b)
        assert flow.widest is not None
        assert flow.widest.bandwidth is not None
        assert sum(link.bandwidth for link in flow.minimum_cut) == flow.maximum_flow
        values.append((flow.maximum_flow, flow.widest.bandwidth, asked.bisection("trn2-16.48xlarge").upper))
    assert all(more >= less for step in pairwise(values) for more, less in zip(*step, strict=True))


@pytest.mark.parametrize(
    ("down", "derate", "error"),
    [
        ((), {}, InvalidArgumentError),
        ((), {f"{U}/s0": 1.0}, InvalidArgumentError),
        ((), {f"{U}/s0": 0.0}, InvalidArgumentError),
        ((), {f"{U}/s0": float("nan")}, InvalidArgumentError),
        (("nowhere/d0",), {}, UnknownAddressError),
        (("u-trn2x64",), {}, WrongLevelError),
        ([f"{U}/s0/c{chip}" for chip in range(1_001)], {}, InvalidArgumentError),
    ],
)
def test_a_supposition_that_can_not_be_is_refused(
    fleet: BaseFleet, down: list[str], derate: dict[str, float], error: type[Exception]
) -> None:
    with pytest.raises(error):
        fleet.what_if(down, derate).path(f"{U}/s0/c0", f"{U}/s0/c1")
