"""What is degraded is never recommended as healthy: a chip alone, a chip of several, a NIC, a domain of one chip."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placements import harm_of, is_whole, legal, stock_of

import trninv
from conftest import Run, examples
from trninv.database.engine import write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.candidates.candidate_search import CandidateSearch, PlacementPolicy
from trninv.placement.candidates.placement_model import AnyServers, PlacementModel, placement_model
from trninv.placement.moves.planner import MovePlanner
from trninv.placement.placement_fleet import Fleet
from trninv.solvers.torus_blocks import BlockLimits

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"
HALF = Condition("degraded", 500_000)


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened:
        yield opened


def put(own: Fleet, condition: Condition, *places: str) -> None:
    with write_transaction(own.engine) as connection:
        set_state(connection, places, condition, why="ecc", who="tests")


@pytest.mark.parametrize("condition", [HALF, Condition("degraded")])
def test_a_degraded_chip_alone_is_not_healthy_and_comes_last(own: Fleet, condition: Condition) -> None:
    put(own, condition, f"{ULTRA}/s0/c0")
    healthy = own.placements("u-trn2x64", chips=1, healthy=True, k=100)
    assert (healthy.positions, healthy.placements[0].places) == (63, (f"{ULTRA}/s0/c1",))
    every = own.placements("u-trn2x64", chips=1, k=100)
    assert [each.degraded for each in every.placements] == [False] * 63 + [True]
    assert every.placements[-1].places == (f"{ULTRA}/s0/c0",)
    assert own.placements(f"{ULTRA}/s0/c0", chips=1, healthy=True).reason == "no domain has it without degraded parts"
    copies = own.placements("u-trn2x64", chips=1, copies=2, policy="pack").placements
    assert not any(each.degraded for each in copies)
    assert own.placements("u-trn2x64", "1x1", healthy=True, k=100).positions == 63
    assert own.placements(ULTRA, domains=1, healthy=True).reason == "no domain has it without degraded parts"


def test_what_is_supposed_to_be_degraded_is_not_healthy_either(own: Fleet) -> None:
    there = own.what_if(derate={f"{ULTRA}/s0/c0": 0.5})
    assert isinstance(there, Fleet)
    assert there.placements("u-trn2x64", chips=1, healthy=True, k=1).placements[0].places == (f"{ULTRA}/s0/c1",)
    assert own.placements("u-trn2x64", chips=1, healthy=True, k=1).placements[0].places == (f"{ULTRA}/s0/c0",)


@pytest.mark.parametrize("state", ["degraded", "down", "maintenance"])
def test_a_nic_that_is_not_up_makes_its_chips_unhealthy_and_no_others(own: Fleet, state: str) -> None:
    put(own, HALF if state == "degraded" else Condition(state), f"{ULTRA}/s0/efa3")
    one = own.placements(f"{ULTRA}/s0", chips=1, k=100)
    assert [(each.places[0], each.degraded) for each in one.placements][-1] == (f"{ULTRA}/s0/c3", True)
    assert sum(each.degraded for each in one.placements) == 1
    assert own.placements(f"{ULTRA}/s0", servers=1, healthy=True).reason == "no domain has it without degraded parts"
    (server,) = own.placements(f"{ULTRA}/s0", servers=1).placements
    undamaged = own.placements(f"{ULTRA}/s1", servers=1).placements[0]
    assert (server.degraded, server.all_gather, server.bisection) == (True, undamaged.all_gather, undamaged.bisection)
    assert own.placements("u-trn2x64", servers=1, k=1).placements[0].places == (f"{ULTRA}/s1",)


def test_a_link_to_a_nic_and_a_nic_of_two_chips_count(own: Fleet) -> None:
    put(own, HALF, "trn1.32xlarge/d0/s0/c4--trn1.32xlarge/d0/s0/efa2")
    put(own, HALF, "trn1.32xlarge/d0/s0/efa7")
    found = own.placements("trn1.32xlarge", chips=1, k=100).placements
    degraded = [each.places[0].rpartition("/")[2] for each in found if each.degraded]
    assert degraded == ["c4", "c14", "c15"]


def test_a_domain_of_one_chip_is_not_healthy_while_that_is_degraded(own: Fleet) -> None:
    put(own, HALF, "trn1.2xlarge/d0/s0/c0")
    assert own.placements("trn1.2xlarge", chips=1, healthy=True).reason == "no domain has it without degraded parts"
    assert [each.degraded for each in own.placements("trn1.2xlarge", chips=1).placements] == [True]
    assert [each.degraded for each in own.placements("trn1.2xlarge", domains=1).placements] == [True]


def test_servers_of_a_rack_that_have_a_degraded_nic_come_last(own: Fleet) -> None:
    put(own, HALF, "trn3-gen2/d0/s0/efa0")
    assert own.placements("trn3-gen2", servers=1, k=1).placements[0].places == ("trn3-gen2/d0/s1",)
    assert own.placements("trn3-gen2", servers=3, healthy=True, k=1).placements[0].places[0] == "trn3-gen2/d0/s1"
    assert not own.placements("trn3-gen2", servers=16, k=1).placements[0].degraded
    whole = own.placements("trn3-gen2/r0", servers=18, k=1)
    assert [each.degraded for each in whole.placements] == [True]


def test_gangs_take_domains_with_nothing_degraded_first(lite_fleet: Fleet) -> None:
    model = placement_model("u-trn2x64")
    nic = model.chips + 4
    search = CandidateSearch(stock_of(model, [model.full] * 2, {0: {nic: 0}}), legal(lite_fleet, model), (model.full,))
    best = search.best(search.matches, 2, PlacementPolicy.QUALITY)
    assert [(each.row, each.is_degraded) for each in best] == [(1, False), (0, True)]
    assert best[0].limits == best[1].limits


def test_a_limit_that_is_exactly_reached_is_enough(own: Fleet) -> None:
    put(own, HALF, f"{ULTRA}/s0/c0")
    (place,) = own.placements(f"{ULTRA}/s0", servers=1).placements
    least = int(place.all_gather)
    assert own.placements(f"{ULTRA}/s0", servers=1, min_all_gather=least).placements
    assert not own.placements(f"{ULTRA}/s0", servers=1, min_all_gather=least + 1).placements


def test_free_says_how_many_are_degraded(own: Fleet, run: Run, seeded: str) -> None:
    put(own, HALF, f"{ULTRA}/s0/c0", f"{ULTRA}/s0/efa3")
    put(own, Condition("down"), f"{ULTRA}/s1/c0")
    own.allocate("a", [f"{ULTRA}/s0/c3"], who="me")
    answer = own.free(ULTRA)
    assert (answer.free, answer.degraded, answer.unusable) == (62, 1, 1)
    shown = run("free", "u-trn2x64", database=seeded)[1].splitlines()
    assert shown[1] == "allocated 1, free 62 (1 degraded), unusable 1 (down 1, cordoned 0)"


def test_make_room_prefers_and_tells_what_is_degraded(own: Fleet) -> None:
    put(own, HALF, f"{ULTRA}/s0/c0")
    there = own.make_room(scope="u-trn2x64", chips=1)
    assert (there.places, there.degraded) == ((f"{ULTRA}/s0/c1",), False)
    server = own.make_room(scope="u-trn2x64", servers=1)
    assert (server.places, server.degraded) == ((f"{ULTRA}/s1",), False)
    only = own.make_room(scope=f"{ULTRA}/s0", servers=1)
    assert (only.places, only.degraded, only.moves) == ((f"{ULTRA}/s0",), True, ())
    assert next(only.render()) == f"room for 1 server in {ULTRA}/s0 is already free: {ULTRA}/s0 (degraded)"
    put(own, HALF, "trn3-gen2/d0/s0/efa0")
    rack = own.make_room(scope="trn3-gen2", servers=3)
    assert (rack.places[0], rack.degraded) == ("trn3-gen2/d0/s1", False)


def test_a_plan_takes_a_chip_that_is_not_degraded(lite_fleet: Fleet) -> None:
    model = placement_model("u-trn2x64")
    stock = stock_of(model, [0b111], {0: {0: 500_000}})
    plan = MovePlanner(stock, legal(lite_fleet, model), [], ()).plan([0b1, 0b10])
    assert plan is not None
    assert plan.targets == ((0, 0b10),)


def test_drain_tells_what_links_carry_as_they_are(own: Fleet) -> None:
    put(own, HALF, *(f"{ULTRA}/s{server}/c0" for server in range(1, 4)))
    own.allocate("a", [f"{ULTRA}/s0/c0-3"], who="me")
    own.allocate("b", [f"{ULTRA}/s{server}/c{chips}" for server in range(4) for chips in ("4-15",)], who="me")
    (job, *_) = [each for each in own.drain_impact(f"{ULTRA}/s0/c0").jobs if each.job == "a"]
    whole, half = own.placements("trn2-16.48xlarge", chips=4).placements[0], job.all_gather_after
    assert job.all_gather == whole.all_gather
    assert (job.degraded_after, half) == (True, own.placements(f"{ULTRA}/s1", chips=4).placements[0].all_gather)
    assert half is not None
    assert half < whole.all_gather
    put(own, HALF, f"{ULTRA}/s0/c1--{ULTRA}/s0/c2")
    (job, *_) = [each for each in own.drain_impact(f"{ULTRA}/s0/c0").jobs if each.job == "a"]
    assert job.all_gather < whole.all_gather


@pytest.mark.parametrize("best", [True, False])
def test_memory_is_placed_on_chips_with_nothing_degraded_first(own: Fleet, best: bool) -> None:
    put(own, HALF, f"{ULTRA}/s0/c0", f"{ULTRA}/s0/c1")
    if best:
        found = own.memory_placement("u-trn2x64", "96 GiB")
        assert (found.chips, found.degraded) == ((f"{ULTRA}/s0/c2",), ())
    else:
        found = own.memory_placement(f"{ULTRA}/s0/c0", "96 GiB", best=False)
        assert (found.chips, found.degraded) == ((f"{ULTRA}/s0/c0",), (f"{ULTRA}/s0/c0",))
        near = own.memory_placement(f"{ULTRA}/s0/c5", "288 GiB", best=False)
        assert f"{ULTRA}/s0/c1" not in near.chips
    there = own.what_if(derate={f"{ULTRA}/s0/c2": 0.5})
    assert isinstance(there, Fleet)
    assert there.memory_placement("u-trn2x64", "96 GiB").chips == (f"{ULTRA}/s0/c3",)


@examples(30)
@given(st.data())
def test_what_is_degraded_is_what_has_a_part_that_is(lite_fleet: Fleet, data: st.DataObject) -> None:
    """Every set of every size against a look at each of its parts."""
    model = placement_model(data.draw(st.sampled_from(["trn1.2xlarge", "trn1.32xlarge", "u-trn2x64", "trn3-gen1"])))
    found, blueprint = legal(lite_fleet, model), model.domain_model.blueprint
    wires = [(link.a, link.b) for link in blueprint.links]
    parts = st.sampled_from([*range(len(blueprint.nodes)), *wires])
    damage = data.draw(st.dictionaries(parts, st.sampled_from([0, 400_000, 1_000_000]), max_size=6))
    down = sum(1 << part for part, left in damage.items() if isinstance(part, int) and not left) & model.full
    stock = stock_of(model, [model.full & ~down], {0: damage})
    broken = {
        (link.a, link.b)
        for link in blueprint.scale_up_links
        if any(damage.get(part, 1) == 0 for part in (link.a, link.b, (link.a, link.b)))
    }

    def parts_of(mask: int) -> set[int | tuple[int, int]]:
        chips = {chip for chip in range(model.chips) if mask >> chip & 1}
        nics = {link.b for link in blueprint.links if link.a in chips and blueprint.nodes[link.b].kind == "nic"}
        inner = {
            (link.a, link.b)
            for link in blueprint.links
            if link.a in chips and (link.b in chips | nics or blueprint.nodes[link.b].kind == "switch")
        }
        alone = len(chips) == 1
        inner = {each for each in inner if not alone or each[1] in nics}
        switches = {b for _, b in inner if blueprint.nodes[b].kind == "switch"}
        return {*chips, *nics, *inner, *switches}

    for size in found.sizes:
        if isinstance(wanted := found.any_of.get(size) or found.sets[size], AnyServers):
            continue
        search = CandidateSearch(stock, found, wanted)
        for at, mask in enumerate(wanted):
            free = not mask & down
            whole = free and (mask.bit_count() == 1 or is_whole(model, mask, broken))
            assert bool(search.intact[0, at]) == whole
            if whole:
                assert bool(search.degraded[0, at]) == bool(damage.keys() & parts_of(mask)), (model.slug, mask, damage)
        best = search.best(search.matches, 100, PlacementPolicy.QUALITY)
        assert [each.is_degraded for each in best] == sorted(each.is_degraded for each in best)
        harms = [
            harm_of(found, model.full & ~down, each.mask, lambda mask: is_whole(model, mask, broken)) for each in best
        ]
        assert [each.fragmentation_cost for each in best] == pytest.approx(harms)
        healthy = CandidateSearch(stock, found, wanted, healthy_only=True)
        assert not np.any(healthy.matches & healthy.degraded)
        limited = CandidateSearch(stock, found, wanted, min_limits=BlockLimits(1, 0)) if size > 1 else healthy
        assert np.all(~limited.matches | limited.intact)


def _is_intact(model: PlacementModel, broken: set[tuple[int, int]], mask: int) -> bool:
    return is_whole(model, mask, broken)


def test_harm_counts_no_set_that_lacks_a_link(own: Fleet) -> None:
    before = own.placements(f"{ULTRA}/s0", chips=1, k=1).placements[0].fragmentation_cost
    put(own, Condition("down"), f"{ULTRA}/s0/c0--{ULTRA}/s0/c1")
    after = own.placements(f"{ULTRA}/s0", chips=1, k=1).placements[0].fragmentation_cost
    assert before == pytest.approx((4 + 8 + 16) / 5)
    assert after == 0, "every set of several chips that has c0 lacks the link"
