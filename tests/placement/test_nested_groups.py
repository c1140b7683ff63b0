"""Groups of groups of chips: as brute force places them, and every group in its unit."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placements import legal, stock_of

import trninv
from conftest import Run, both_ways, examples
from trninv.errors import IllegalSizeError, InvalidArgumentError
from trninv.placement.candidates.candidate_search import CandidateSearch
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.nested_groups import Group, GroupSearch, Units, check_sizes
from trninv.placement.candidates.placement_model import LegalSets, placement_model
from trninv.placement.placement_fleet import Fleet
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql
D = "u-trn2x64/d0"
_ULTRA = placement_model("u-trn2x64")
_KINDS = ["server", "domain", "network node of tier 3", "network node of tier 2", "cluster"]
Set = tuple[int, int]


@pytest.fixture(scope="module")
def legal_sets(lite_fleet: BaseFleet) -> LegalSets:
    return legal(lite_fleet, _ULTRA)


@pytest.fixture
def opened(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as fleet:
        yield fleet


def _search(capacity: FreeCapacity, legal_sets: LegalSets, sizes: Sequence[int]) -> GroupSearch:
    return GroupSearch(capacity, CandidateSearch(capacity, legal_sets, legal_sets.sets[sizes[-1]]), sizes)


def _unit(capacity: FreeCapacity, sets: Sequence[Set], kind: str) -> set[object]:
    """The units of a kind in which sets lie."""
    ordinals = [int(capacity.ordinals[row]) for row, _ in sets]
    match kind:
        case "server":
            return {(row, at) for row, mask in sets for at, server in enumerate(_ULTRA.server_masks) if server & mask}
        case "domain":
            return set(ordinals)
        case "network node of tier 3":
            return {ordinal // 8 for ordinal in ordinals}
        case "network node of tier 2":
            return {ordinal // 256 for ordinal in ordinals}
    return {0}


def _all_groups(capacity: FreeCapacity, legal_sets: LegalSets, sizes: Sequence[int]) -> list[frozenset[Set]]:
    """Every group of the first size: all choices of smaller groups that share nothing and lie in one unit."""
    if len(sizes) == 1:
        free = [int(words[0]) for words in capacity.free]
        return [
            frozenset([(row, mask)])
            for row, chips in enumerate(free)
            for mask in legal_sets.sets[sizes[0]]
            if not mask & ~chips
        ]
    kind = Units(_ULTRA, capacity.ordinals.tolist()).kind_for(sizes[0])
    inner = _all_groups(capacity, legal_sets, sizes[1:])
    return [
        group
        for chosen in combinations(inner, sizes[0] // sizes[1])
        if len(group := frozenset().union(*chosen)) == sum(map(len, chosen))
        and len(_unit(capacity, [*group], kind)) == 1
    ]


def _disjoint(groups: Sequence[frozenset[Set]], count: int) -> Iterator[frozenset[Set]]:
    """Every choice of so many groups that share nothing."""
    if not count:
        yield frozenset()
    for index, group in enumerate(groups if count else ()):
        for others in _disjoint([each for each in groups[index + 1 :] if not each & group], count - 1):
            yield group | others


def _best(capacity: FreeCapacity, legal_sets: LegalSets, count: int, sizes: Sequence[int]) -> tuple[int, int] | None:
    """The smallest unit that fits so many groups, as an index, and the fewest domains in it."""
    smallest = _KINDS.index(Units(_ULTRA, capacity.ordinals.tolist()).kind_for(count * sizes[0]))
    found = set[tuple[int, int]]()
    for chosen in _disjoint(_all_groups(capacity, legal_sets, sizes), count):
        sets = [*chosen]
        kind = next(at for at in range(smallest, 5) if len(_unit(capacity, sets, _KINDS[at])) == 1)
        found.add((kind, len({row for row, _ in sets})))
    return min(found, default=None)


def _assert_sound(groups: Sequence[Group], sizes: Sequence[int], capacity: FreeCapacity) -> None:
    kind = Units(_ULTRA, capacity.ordinals.tolist()).kind_for(sizes[0])
    for group in groups:
        assert sum(mask.bit_count() for _, mask in group.sets()) == sizes[0]
        assert len(_unit(capacity, group.sets(), kind)) == 1
        assert len(group.parts) == (sizes[0] // sizes[1] if len(sizes) > 1 else 0)
        if len(sizes) > 1:
            _assert_sound(group.parts, sizes[1:], capacity)


@examples(60)
@given(seed=st.integers(0, 10**6))
def test_groups_are_placed_as_brute_force_places_them(legal_sets: LegalSets, seed: int) -> None:
    draw = random.Random(seed)
    sizes, count, unit = draw.choice(
        [((48, 16), 2, 16), ((48, 16), 1, 16), ((32, 16), 2, 16), ((16, 8), 2, 8), ((16, 8), 3, 8), ((32,), 2, 16)]
        if seed % 2
        else [((16,), 3, 16), ((64, 16), 1, 16), ((64, 32), 2, 16), ((128, 64), 1, 16), ((96, 16), 1, 16)]
    )
    domains = draw.randint(1, 2 if unit == 8 else 4)
    share = draw.choice([0.15, 0.3, 0.5])
    free = [sum(mask for mask in legal_sets.sets[unit] if draw.random() > share) for _ in range(domains)]
    ordinals = np.array(sorted(draw.sample([0, 1, 7, 8, 9, 300], domains)))
    capacity = replace(stock_of(_ULTRA, free), ordinals=ordinals)
    chosen = _search(capacity, legal_sets, sizes).place(count, 1)
    best = _best(capacity, legal_sets, count, sizes)
    assert (chosen is None) == (best is None), seed
    if chosen is None or best is None:
        return
    sets = [each for group in chosen for each in group.sets()]
    assert len(set(sets)) == len(sets)
    assert all(not mask & ~free[row] for row, mask in sets)
    _assert_sound(chosen, sizes, capacity)
    assert len(_unit(capacity, sets, _KINDS[best[0]])) == 1, seed
    if sizes[0] <= _ULTRA.chips:
        assert len({row for row, _ in sets}) == best[1], seed


@examples(40)
@given(free=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6), sizes=st.sampled_from([(48, 16), (8, 4, 1)]))
def test_as_many_groups_as_fit_at_once(legal_sets: LegalSets, free: list[int], sizes: tuple[int, ...]) -> None:
    """Place n groups for each n: it works up to their number, and not beyond."""
    capacity = stock_of(_ULTRA, free)
    search = _search(capacity, legal_sets, sizes)
    groups = search.groups()
    sets = [each for group in groups for each in group.sets()]
    assert len(set(sets)) == len(sets)
    _assert_sound(groups, sizes, capacity)
    assert search.place(len(groups) + 1, 1) is None
    if groups:
        placed = search.place(len(groups), 1)
        assert placed is not None
        assert len(placed) == len(groups)
    if sizes == (48, 16):
        servers = [sum(chips & server == server for server in _ULTRA.server_masks) for chips in free]
        assert len(groups) == sum(count // 3 for count in servers)


@pytest.mark.parametrize(
    ("chips", "sizes", "message"),
    [
        (96, (40, 16), "groups of 40: 96 chips are not several"),
        (96, (48, 32), "groups of 32: 48 chips are not several"),
        (96, (96, 16), "groups of 96: 96 chips are not several"),  # =
        (96, (16, 48), "groups of 48: 16 chips are not several"),
        (256, (128,), "groups of 128: the smallest group must fit in a domain"),
        (1024, (512, 256, 128, 64, 32), "5 sizes of groups are too many"),
    ],
)
def test_sizes_that_do_not_divide_are_refused(
    legal_sets: LegalSets, chips: int, sizes: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        check_sizes(_ULTRA, legal_sets, chips, sizes)


def test_the_smallest_size_must_be_legal(legal_sets: LegalSets) -> None:
    with pytest.raises(IllegalSizeError, match="48 chips are not legal on u-trn2x64"):
        check_sizes(_ULTRA, legal_sets, 96, (48,))


def test_the_question_names_each_group(opened: Fleet) -> None:
    answer = opened.placements("u-trn2x64", chips=48, group=(24, 8))
    assert answer.is_satisfied()
    (placement,) = answer.placements
    assert (placement.chips, placement.whole_servers, placement.tier, placement.remaining_free) == (48, True, None, 16)
    assert [(group.level, group.chips) for group in placement.groups] == 2 * [(1, 24), (2, 8), (2, 8), (2, 8)]
    inner = [place for group in placement.groups if group.level == 2 for place in group.places]
    assert len(set(inner)) == 48
    opened.allocate("a", placement.places, who="me")
    answer = opened.placements("u-trn2x64", chips=48, group=(24, 8))
    assert "2 groups of 24 (in one domain), each of groups of 8 (in one server) requested, 0 fit" in str(answer.reason)
    racks = opened.placements("trn3-gen2", chips=64, group=(32, 16))  # any servers of a rack
    assert [(group.level, group.chips) for group in racks.placements[0].groups] == 2 * [(1, 32), (2, 16), (2, 16)]


def test_groups_heed_what_other_jobs_heed(opened: Fleet) -> None:
    opened.set_state([f"{D}/s0/c0"], "degraded", factor=0.5, why="so", who="me")
    opened.cordon([f"{D}/s1"], why="so", who="me")
    (placement,) = opened.placements("u-trn2x64", chips=32, group=(16,)).placements
    assert placement.places == (f"{D}/s2", f"{D}/s3")
    (placement,) = opened.placements("u-trn2x64", chips=48, group=(16,)).placements
    assert placement.degraded
    assert not opened.placements("u-trn2x64", chips=48, group=(16,), healthy=True).is_satisfied()
    opened.reserve("r", [f"{D}/s3"], from_="2126-01-01T00:00:00Z", until="4h", who="me")
    assert (
        opened.placements("u-trn2x64", chips=32, group=(16,), until="1h").placements[0].places == placement.places[1:]
    )
    assert opened.placements("u-trn2x64", chips=32, group=(16,)).placements[0].degraded
    assert not opened.placements("u-trn2x64", chips=32, group=(16,), healthy=True).is_satisfied()


@pytest.mark.parametrize(
    "others", [{"copies": 2}, {"spares": 1}, {"servers": 2, "chips": None}, {"policy": "pack"}, {"rack": True}]
)
def test_other_conditions_are_refused(lite_fleet: Any, others: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="--group divides --chips"):
        lite_fleet.placements("u-trn2x64", **{"chips": 32, "group": (16,)} | others)


@pytest.mark.parametrize("group", [(0,), (-1,), (2**31,), tuple(range(1, 1200))])
def test_numbers_beyond_their_limits_are_refused(lite_fleet: Any, group: tuple[int, ...]) -> None:
    with pytest.raises(InvalidArgumentError):
        lite_fleet.placements("u-trn2x64", chips=32, group=group)


def test_graphql_and_the_command_line_take_sizes(lite_fleet: BaseFleet, run: Run) -> None:
    ask = both_ways(lite_fleet)
    document = """query ($group: [Int!]) { placements(scope: "u-trn2x64", chips: 48, group: $group)
        { placements { chips groups { level chips } } } }"""
    answer = ask(document, group=[24, 8])
    assert not answer["errors"]
    (placement,) = answer["data"]["placements"]["placements"]
    assert [group["chips"] for group in placement["groups"]] == 2 * [24, 8, 8, 8]
    for wrong in [24, 7], [0], [-8]:
        assert ask(document, group=wrong)["errors"]
    assert ask(document, group=["x"])["errors"]
    status, shown, _ = run("place", "u-trn2x64", "--chips", "48", "--group", "24", "--group", "8")
    assert (status, "48 chips in groups of 24 of groups of 8" in shown) == (0, True)
    assert run("place", "u-trn2x64", "--chips", "48", "--group", "many")[0] == 2
