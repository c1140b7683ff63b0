"""Where a job fits, against every position of every domain looked at one by one."""

from collections import Counter
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placements import by_hand, harm_of, is_whole, legal, sets_of, stock_of

from conftest import examples
from trninv.placement.candidates.candidate_search import Candidate, CandidateSearch, PlacementPolicy
from trninv.placement.candidates.free_blocks import concurrent_jobs, largest_blocks, stranded_chips
from trninv.placement.candidates.gangs import place_gang
from trninv.placement.candidates.placement_model import (
    AnyServers,
    LegalSets,
    LocalPart,
    PlacementModel,
    placement_model,
    solve_limits,
)
from trninv.routing.fleet import BaseFleet
from trninv.solvers.torus_blocks import pack_masks

MODELS = ["trn1.2xlarge", "trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen1", "trn3-gen2"]


def places(found: list[Candidate]) -> list[tuple[int, int]]:
    return [(each.row, each.mask) for each in found]


@examples(40)
@given(st.data())
def test_legal_sets_and_boxes_of_torus_domains(lite_fleet: BaseFleet, data: st.DataObject) -> None:
    model = placement_model(data.draw(st.sampled_from(["u-trn2x64", "trn1.32xlarge"])))
    found = legal(lite_fleet, model)
    free = data.draw(st.lists(_free(model), min_size=1, max_size=5))
    wires = [(wire.a, wire.b) for wire in model.domain_model.blueprint.scale_up_links]
    broken = data.draw(
        st.dictionaries(st.integers(0, len(free) - 1), st.lists(st.sampled_from(wires), max_size=5), max_size=3)
    )
    damage = {row: dict[LocalPart, int](dict.fromkeys(links, 0)) for row, links in broken.items()}
    for row in data.draw(st.sets(st.integers(0, len(free) - 1))):  # chips that no job could have in any case
        dead = [chip for chip in range(model.chips) if not free[row] >> chip & 1][:3]
        damage[row] = damage.get(row, {}) | dict.fromkeys(dead, 0)
    stock = stock_of(model, free, damage)
    if data.draw(st.booleans()):
        sets = list(found.sets[data.draw(st.sampled_from(sorted(found.sets)))])
    else:
        assert model.torus
        shape = data.draw(st.sampled_from(model.torus.shapes))
        sets = [block.mask for each in model.torus.orientations(shape) for block in model.torus.blocks(each)]
    search = CandidateSearch(stock, found, sets)
    expected = by_hand(stock, found, sets, free)
    fit = search.matches
    k = data.draw(st.integers(1, 30))
    assert search.count_positions(fit) == len(expected)
    assert search.count_domains(fit) == len({row for row, _ in expected})
    assert places(search.best(fit, k, PlacementPolicy.QUALITY)) == expected[:k]

    def harm(row: int, mask: int) -> float:
        dead = set(broken.get(row, ()))
        return harm_of(found, free[row], mask, lambda other: is_whole(model, other, dead))

    packed = sorted(expected, key=lambda each: (round(harm(*each), 6), free[each[0]].bit_count()))
    assert places(search.best(fit, k, PlacementPolicy.PACK)) == packed[:k]
    racks = [sum(model.server_masks[each] for each in rack) for rack in model.racks]
    spread = sorted(expected, key=lambda each: max((each[1] & rack).bit_count() for rack in racks))
    assert places(search.best(fit, k, PlacementPolicy.SPREAD)) == spread[:k]

    def met(row: int, mask: int) -> int:
        larger = [size for size in found.sets if size > mask.bit_count()]
        return sum(free[row] & each == each and each & mask != 0 for each in found.sets[min(larger)]) if larger else 0

    def tie(row: int, mask: int) -> tuple[int, ...]:
        return len(damage.get(row, ())), row, sets.index(mask)

    slurm = sorted(expected, key=lambda each: (met(*each), free[each[0]].bit_count(), *tie(*each)))
    listed = search.best(fit, k, PlacementPolicy.SLURM)
    assert places(listed) == slurm[:k]
    harms = [harm(each.row, each.mask) for each in listed]
    assert [each.fragmentation_cost for each in listed] == pytest.approx(harms)


def _free(model: PlacementModel) -> st.SearchStrategy[int]:
    """Nothing, all, any chips, or whole servers and some chips."""
    servers = st.sets(st.integers(0, model.servers - 1)).map(
        lambda gone: sum(model.server_masks[each] for each in gone)
    )
    chips = st.sets(st.integers(0, model.chips - 1), max_size=6).map(lambda gone: sum(1 << each for each in gone))
    some = st.tuples(servers, chips).map(lambda gone: model.full & ~(gone[0] | gone[1]))
    return st.one_of(st.just(0), st.just(model.full), st.integers(0, model.full), some)


@examples(25)
@given(st.data())
def test_sets_of_switched_domains(lite_fleet: BaseFleet, data: st.DataObject) -> None:
    model = placement_model(data.draw(st.sampled_from(["trn3-gen1", "trn3-gen2"])))
    found = legal(lite_fleet, model)
    free = data.draw(st.lists(_free(model), min_size=1, max_size=3))
    size = data.draw(st.sampled_from([size for size in found.sizes if size != 16 or model.slug == "trn3-gen1"]))
    wanted = found.any_of.get(size) or found.sets[size]
    search = CandidateSearch(stock_of(model, free), found, wanted)
    fit = search.matches
    expected = [
        (row, mask) for row, mask in product(range(len(free)), sets_of(found, model, size)) if free[row] & mask == mask
    ]
    assert search.count_positions(fit) == len(expected)
    assert search.count_domains(fit) == len({row for row, _ in expected})
    best = places(search.best(fit, 3, PlacementPolicy.QUALITY))
    assert set(best) <= set(expected)
    assert bool(best) == bool(expected)


def test_every_free_set_of_a_server_has_as_many_positions_as_a_loop_finds(lite_fleet: BaseFleet) -> None:
    """All 65,536 at once, each as a domain of its own."""
    model = placement_model("trn1.32xlarge")
    assert model.torus
    free = np.arange(1 << 16, dtype=np.uint64)
    stock = stock_of(model, free.tolist())
    for spans in ((1,), (2,), (3,), (4,), (2, 2), (2, 3), (2, 4), (3, 3), (3, 4), (4, 4)):
        masks = [block.mask for shape in model.torus.orientations(spans) for block in model.torus.blocks(shape)]
        search = CandidateSearch(stock, legal(lite_fleet, model), masks)
        counted = sum(int(((free & np.uint64(mask)) == np.uint64(mask)).sum()) for mask in masks)
        assert search.count_positions(search.free) == counted == len(masks) << 16 - prod(spans)


def test_a_broken_link_takes_only_the_blocks_that_it_is_in(lite_fleet: BaseFleet) -> None:
    model = placement_model("u-trn2x64")
    stock = stock_of(model, [model.full] * 2, {1: {(0, 1): 0}})
    assert model.torus
    sets = [block.mask for block in model.torus.blocks((1, 1, 2))]
    search = CandidateSearch(stock, legal(lite_fleet, model), sets)
    assert search.count_positions(search.free) == 128
    assert search.count_positions(search.intact) == 127
    assert largest_blocks(stock, legal(lite_fleet, model))[1].chips == 48


def test_of_equal_places_the_one_without_unhealthy_parts_beside_it_is_first(lite_fleet: BaseFleet) -> None:
    model = placement_model("u-trn2x64")
    half = model.server_masks[0] | model.server_masks[1]
    rest = [model.chips - 1, model.chips - 2]  # of a server that is down in d0, and of a job in d1
    stock = stock_of(model, [half, half], {0: dict.fromkeys(rest, 0)})
    found = legal(lite_fleet, model)
    for policy in PlacementPolicy:
        search = CandidateSearch(stock, found, found.sets[16])
        best = places(search.best(search.intact, 4, policy))
        assert [row for row, _ in best] == [1, 1, 0, 0], policy


def test_what_is_degraded_comes_last_and_says_what_it_carries(lite_fleet: BaseFleet) -> None:
    model = placement_model("u-trn2x64")
    stock = stock_of(model, [model.full, model.full], {0: {(0, 1): 500_000}, 1: {5: 500_000}})
    found = legal(lite_fleet, model)
    search = CandidateSearch(stock, found, found.sets[16])
    best = search.best(search.intact, 8, PlacementPolicy.QUALITY)
    assert [each.is_degraded for each in best] == [False] * 6 + [True] * 2
    assert best[0].limits.all_gather == 512 * 10**9
    assert best[6].limits.all_gather == 448 * 10**9
    assert best[7].limits.all_gather == 256 * 10**9
    assert search.count_positions(search.intact & ~search.degraded) == 6


@examples(20)
@given(st.data())
def test_what_is_degraded_is_ranked_by_what_it_carries(lite_fleet: BaseFleet, data: st.DataObject) -> None:
    model = placement_model(data.draw(st.sampled_from(["trn1.32xlarge", "u-trn2x64", "trn3-gen1", "trn3-gen2"])))
    found, policy = legal(lite_fleet, model), data.draw(st.sampled_from(list(PlacementPolicy)))
    wires = [(wire.a, wire.b) for wire in model.domain_model.blueprint.scale_up_links]
    left = st.dictionaries(st.sampled_from([*wires, *range(model.chips)]), st.sampled_from([0, 250_000, 900_000]))
    stock = stock_of(model, [model.full] * 2, {row: data.draw(left) for row in range(2)})
    size = data.draw(st.sampled_from([size for size in found.sizes if 1 < size <= 16]))
    search = CandidateSearch(stock, found, found.any_of.get(size) or found.sets[size])
    best = search.best(search.intact, 100, policy)

    def rank(of: Candidate) -> tuple[float, ...]:
        worth, cost = (-of.limits.all_gather, -of.limits.bisection), (of.fragmentation_cost, of.remaining_free)
        return cost + worth if policy is PlacementPolicy.PACK else worth + cost

    worn = [each for each in best if each.is_degraded]
    assert best == [*(each for each in best if not each.is_degraded), *worn]
    assert len(best) == min(search.max_results(search.intact), 100)
    for each in worn:
        assert each.limits == model.degraded_limits(each.mask, stock.failures_by_row[each.row].link_capacities)
    if policy in {PlacementPolicy.QUALITY, PlacementPolicy.PACK}:
        assert worn == sorted(worn, key=rank)


@pytest.mark.parametrize("slug", MODELS)
def test_limits_of_legal_sets_are_the_solvers(lite_fleet: BaseFleet, slug: str) -> None:
    model = placement_model(slug)
    for size, sets in legal(lite_fleet, model).sets.items():
        for mask in sets[:2] + sets[-1:]:
            if 1 < size <= 36:
                assert model.limits(mask) == solve_limits(model.graph(mask), mask.bit_count())


@examples(20)
@given(st.data())
def test_what_fits_together_is_a_count_and_what_is_left_is_split(lite_fleet: BaseFleet, data: st.DataObject) -> None:
    model = placement_model(data.draw(st.sampled_from(MODELS)))
    found = legal(lite_fleet, model)
    free = data.draw(st.lists(_free(model), min_size=1, max_size=3))
    stock = stock_of(model, free)
    down, closed = (
        pack_masks(data.draw(st.lists(_free(model), min_size=len(free), max_size=len(free))), model.chips) for _ in "ab"
    )
    stock = replace(stock, up=~down & stock.in_scope, cordoned=closed)
    for each in stranded_chips(stock, found):
        taken, jobs = 0, 0
        for row in range(len(free)):
            here = int(sum(int(word) << 64 * at for at, word in enumerate(stock.free[row])))
            for mask in _disjoint(found, model, each.size, here):
                assert here & mask == mask
                here &= ~mask
                jobs += 1
            taken += here.bit_count()
        assert (each.jobs, each.chips) == (jobs, taken)
        assert each.by_failure + each.by_cordon + each.by_shape == each.chips
        assert min(each.by_failure, each.by_cordon, each.by_shape) >= 0
        assert concurrent_jobs(stock, found)[each.size] == jobs


@examples(20)
@given(st.data())
def test_what_fits_together_has_every_link(lite_fleet: BaseFleet, data: st.DataObject) -> None:
    model = placement_model(data.draw(st.sampled_from(MODELS)))
    found = legal(lite_fleet, model)
    ends = st.sampled_from([(wire.a, wire.b) for wire in model.domain_model.blueprint.scale_up_links])
    broken = data.draw(st.sets(ends, min_size=1, max_size=4)) if model.domain_model.blueprint.scale_up_links else set()
    free = data.draw(_free(model))
    stock = stock_of(model, [model.full, free], {1: dict.fromkeys(broken, 0)})
    for size, jobs in concurrent_jobs(stock, found).items():
        whole = len(_disjoint(found, model, size, model.full))
        if size in found.any_of:
            cut = sum(mask for mask in model.server_masks if not is_whole(model, mask, broken))
            here = len(_disjoint(found, model, size, free & ~cut))
        else:
            sets = _disjoint(found, model, size, free)
            here = sum(size == 1 or is_whole(model, mask, broken) for mask in sets)
        assert jobs == whole + here
    for each in stranded_chips(stock, found):
        assert each.jobs == concurrent_jobs(stock, found)[each.size]
        assert (
            each.by_shape
            == stranded_chips(replace(stock, unhealthy_parts={}), found)[found.sizes.index(each.size)].chips
        )


def _disjoint(found: LegalSets, model: PlacementModel, size: int, free: int) -> list[int]:
    if size not in found.any_of:
        return [mask for mask in found.sets[size] if free & mask == mask]
    taken = []
    for rack in model.racks:
        whole = [
            server
            for server in rack
            if free >> model.chips_per_server * server & model.server_masks[0] == model.server_masks[0]
        ]
        step = found.any_of[size].servers
        taken += [
            sum(model.server_masks[s] for s in whole[at : at + step]) for at in range(0, len(whole) - step + 1, step)
        ]
    return taken


@given(st.lists(st.integers(0, 600), unique=True, max_size=60), st.integers(1, 40))
def test_whole_domains_are_taken_under_the_least_tier(free: list[int], wanted: int) -> None:
    """Eight domains to a node of tier 3, 32 of those to one of tier 2."""
    model = placement_model("u-trn2x64")
    stock = stock_of(model, [model.full if at in free else 0 for at in range(601)])
    found = place_gang(stock, wanted)
    assert (found is None) == (len(free) < wanted)
    if found is None:
        return
    assert len(set(found.rows)) == wanted
    assert set(found.rows) <= set(free)
    leaves = {row // 8 for row in found.rows}
    tiers = {3: 8, 2: 256, 1: 10**6}
    assert len({row // tiers[found.tier] for row in found.rows}) == 1
    for tier in range(found.tier + 1, 4):
        groups = [row // tiers[tier] for row in free]
        assert all(groups.count(group) < wanted for group in groups)
    above = {row // tiers[found.tier] for row in free}
    assert len(leaves) == min(_fewest([r for r in free if r // tiers[found.tier] == group], wanted) for group in above)


@given(st.lists(st.integers(0, 600), unique=True, max_size=60), st.integers(1, 40), st.integers(1, 3))
def test_whole_domains_apart_are_the_fewest_below_one_node(free: list[int], wanted: int, tier: int) -> None:
    model = placement_model("u-trn2x64")
    stock = stock_of(model, [model.full if at in free else 0 for at in range(601)])
    found = place_gang(stock, wanted, tier=tier, spread=True)
    tiers = {3: 8, 2: 256, 1: 10**6}
    groups = {row // tiers[tier] for row in free}
    dealt = [_dealt([row for row in free if row // tiers[tier] == group], wanted) for group in groups]
    assert (found is None) == (not any(dealt))
    if found:
        assert len(set(found.rows)) == wanted
        assert set(found.rows) <= set(free)
        assert max(Counter(row // 8 for row in found.rows).values()) == min(filter(None, dealt))
        assert found.tier == max(of for of in tiers if len({row // tiers[of] for row in found.rows}) == 1) >= tier


def _dealt(rows: list[int], wanted: int) -> int:
    """Most below one node, each domain being dealt to the one that has fewest; 0: there are not enough."""
    if len(rows) < wanted:
        return 0
    left, taken = Counter(row // 8 for row in rows), Counter[int]()
    for _ in range(wanted):
        taken[min((leaf for leaf in left if taken[leaf] < left[leaf]), key=taken.__getitem__)] += 1
    return max(taken.values())


def _fewest(rows: list[int], wanted: int) -> int:
    counts = sorted((sum(row // 8 == leaf for row in rows) for leaf in {row // 8 for row in rows}), reverse=True)
    return next((n for n in range(1, len(counts) + 1) if sum(counts[:n]) >= wanted), 10**6)


def test_any_of_a_rack_takes_the_first_free_servers(lite_fleet: BaseFleet) -> None:
    model = placement_model("trn3-gen2")
    free = model.full & ~model.server_masks[1]
    search = CandidateSearch(stock_of(model, [free]), legal(lite_fleet, model), AnyServers(3))
    (first, second) = search.best(search.intact, 5, PlacementPolicy.QUALITY)
    assert first.mask == sum(model.server_masks[each] for each in (0, 2, 3))
    assert second.mask == sum(model.server_masks[each] for each in (18, 19, 20))


def test_slurms_rule_meets_as_few_of_the_next_larger_sets_as_it_can(lite_fleet: BaseFleet) -> None:
    model = placement_model("u-trn2x64")
    stock = stock_of(model, [0xFFFF | 0xF << 16, 0xFF])
    found = legal(lite_fleet, model)
    search = CandidateSearch(stock, found, found.sets[4])
    best = places(search.best(search.matches, 3, PlacementPolicy.SLURM))
    assert best == [(0, 0xF << 16), (1, 0xF), (1, 0xF0)], "no set of 8 is met, then few free chips are left"
