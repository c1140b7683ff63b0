"""Copies of a job and sets to spare, against every choice of every position by hand."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from placements import by_hand, legal, stock_of

import trninv
from conftest import examples
from trninv.database.engine import write_transaction
from trninv.errors import InvalidArgumentError
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.candidates.candidate_search import PlacementPolicy, meets
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.job_request import JobRequest as Wanted
from trninv.placement.candidates.placement_model import AnyServers, LegalSets, PlacementModel, placement_model
from trninv.placement.candidates.replicas import Constraints, ReplicaSearch, SpreadLevel
from trninv.placement.candidates.results import ReplicaRequest, place_on_domains
from trninv.placement.placement_fleet import Fleet
from trninv.routing.fleet import BaseFleet as Asked
from trninv.solvers.integer_programs import max_disjoint_sets
from trninv.solvers.torus_blocks import BlockLimits, unpack_masks

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
Place = tuple[int, int]


@given(st.lists(st.integers(1, 1023), max_size=9), st.integers(1, 6))
@examples(25)
def test_the_most_sets_that_share_nothing(sets: list[int], enough: int) -> None:
    most = max(
        n
        for n in range(len(sets) + 1)
        if n == 0 or any(_apart(chosen) for chosen in combinations(dict.fromkeys(sets), n))
    )
    assert max_disjoint_sets(sets, enough) == min(most, enough)


def _apart(sets: tuple[int, ...]) -> bool:
    return all(not a & b for a, b in combinations(sets, 2))


def touched(model: PlacementModel, spread: SpreadLevel, place: Place) -> set[tuple[object, ...]]:
    """What others may not have in common with a place."""
    row, mask = place
    servers = [at for at, server in enumerate(model.server_masks) if server & mask]
    match spread:
        case SpreadLevel.CHIP:
            return {(row, chip) for chip in range(model.chips) if mask >> chip & 1}
        case SpreadLevel.SERVER:
            return {(row, server) for server in servers}
        case SpreadLevel.RACK if model.domain_model.domains_per_rack == 1:
            return {(row, at) for at, rack in enumerate(model.racks) if set(rack) & set(servers)}
        case SpreadLevel.RACK:
            return {(row // model.domain_model.domains_per_rack,)}
        case SpreadLevel.NETWORK_NODE:
            return {(row // 8,)}
    return {(row,)}


class ByHand:
    """The sets of some domains, every one looked at."""

    def __init__(self, found: LegalSets, model: PlacementModel, sets: list[int], spread: SpreadLevel) -> None:
        self.found, self.model, self.sets, self.spread = found, model, sets, spread

    def room(self, places: list[Place], sets: int) -> bool:
        """Whether so many places are apart."""
        if not sets:
            return True
        if not places:
            return False
        first, *rest = places
        taken = touched(self.model, self.spread, first)
        apart = [each for each in rest if not taken & touched(self.model, self.spread, each)]
        return self.room(apart, sets - 1) or self.room(rest, sets)

    def chosen(self, stock: FreeCapacity, sets: int) -> list[Place] | None:
        """One after the other the best place that leaves room for the others."""
        free, taken, found = unpack_masks(stock.free), set[tuple[object, ...]](), list[Place]()
        for left in range(sets - 1, -1, -1):
            places = [
                each
                for each in by_hand(stock, self.found, self.sets, free)
                if not taken & touched(self.model, self.spread, each)
            ]
            pick = next(
                (each for each in places if self.room([p for p in places if self._apart(p, each)], left)),
                None,
            )
            if pick is None:
                return None
            found.append(pick)
            taken |= touched(self.model, self.spread, pick)
            free[pick[0]] &= ~pick[1]
        return found

    def _apart(self, one: Place, other: Place) -> bool:
        return not touched(self.model, self.spread, one) & touched(self.model, self.spread, other)


@examples(10)
@given(st.data())
def test_copies_are_the_best_that_leave_room_for_the_rest(lite_fleet: Asked, data: st.DataObject) -> None:
    model = placement_model(data.draw(st.sampled_from(["trn1.32xlarge", "u-trn2x64"])))
    found = legal(lite_fleet, model)
    assert model.torus
    dense = st.integers(0, model.full).map(lambda mask: mask | mask >> 3)
    free = data.draw(st.lists(dense, min_size=1, max_size=2))
    wires = [(wire.a, wire.b) for wire in model.domain_model.blueprint.scale_up_links]
    stock = stock_of(model, free, {0: dict.fromkeys(data.draw(st.lists(st.sampled_from(wires), max_size=2)), 0)})
    if data.draw(st.booleans()):
        shape = data.draw(st.sampled_from([(2, 3), (2, 2), (3, 3), (4, 2)]))
        sets = [block.mask for each in model.torus.orientations(shape) for block in model.torus.blocks(each)]
    else:
        sets = list(found.sets[data.draw(st.sampled_from([4, 8, 16]))])
    spread = data.draw(st.sampled_from(list(SpreadLevel)))
    hand, sizes = ByHand(found, model, sets, spread), range(2, 4)
    places = ReplicaSearch(stock, found, sets, Constraints(), spread)
    for wanted in sizes:
        expected = hand.chosen(stock, wanted)
        assert (places.max_replicas(wanted) >= wanted) == (expected is not None)
        if expected is not None:
            assert [(each.candidate.row, each.candidate.mask) for each in places.place_all(wanted)] == expected


def test_a_greedy_choice_would_leave_no_room(lite_fleet: Asked) -> None:
    """Of six chips in a row of two the best pair is in the middle, and leaves no room for two more."""
    model = placement_model("trn1.32xlarge")
    found = legal(lite_fleet, model)
    assert model.torus
    free = sum(1 << chip for chip in (0, 1, 2, 4, 5, 6))
    sets = [block.mask for each in model.torus.orientations((2, 1)) for block in model.torus.blocks(each)]
    stock = stock_of(model, [free])
    hand = ByHand(found, model, sets, SpreadLevel.CHIP)
    places = ReplicaSearch(stock, found, sets, Constraints())
    assert places.max_replicas(9) == 3
    assert [each.candidate.mask for each in places.place_all(3)] == [mask for _, mask in hand.chosen(stock, 3) or ()]


@examples(10)
@given(st.data())
def test_servers_of_a_rack_and_those_beside_them(lite_fleet: Asked, data: st.DataObject) -> None:
    """Broken and degraded links of servers leave the others of their rack."""
    model = placement_model("trn3-gen2")
    found = legal(lite_fleet, model)
    servers = data.draw(st.sets(st.integers(0, model.servers - 1), max_size=12))
    free = model.full & ~sum(model.server_masks[each] for each in servers)
    wires = [(wire.a, wire.b) for wire in model.domain_model.blueprint.scale_up_links if wire.role == "server"]
    damage = data.draw(st.dictionaries(st.sampled_from(wires), st.sampled_from([0, 500_000]), max_size=6))
    stock = stock_of(model, [free], {0: dict(damage.items())})
    size, spares = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 3))
    healthy = data.draw(st.booleans())
    bad = {a // model.chips_per_server for (a, _), left in damage.items() if healthy or not left}
    good = [[server for server in rack if server not in servers | bad] for rack in model.racks]
    places = ReplicaSearch(stock, found, AnyServers(size, spares), Constraints(healthy_only=healthy))
    assert places.max_replicas(99) == sum(len(rack) // (size + spares) for rack in good)
    positions = places.search.count_positions(places.matches)
    assert positions == sum(len([*combinations(rack, size)]) for rack in good if len(rack) >= size + spares)
    for pick in places.place_all(places.max_replicas(99)):
        assert len(pick.spares) == spares
        in_use = {at for at, server in enumerate(model.server_masks) if server & pick.chips}
        assert len(in_use) == size + spares
        assert any(in_use <= set(rack) for rack in good)


ULTRA = "u-trn2x64/d0"


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened:
        yield opened


def test_copies_can_all_be_held_and_no_more_fit(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0/c0"], who="me")
    answer = own.placements("u-trn2x64", chips=16, copies=3)
    assert [each.places for each in answer.placements] == [(f"{ULTRA}/s{at}",) for at in (1, 2, 3)]
    more = own.placements("u-trn2x64", chips=16, copies=4)
    assert (more.placements, more.reason) == ((), "4 requested: only 3 fit at once")
    for at, each in enumerate(answer.placements):
        own.allocate(f"job-{at}", each.places, who="me")
    assert not own.placements("u-trn2x64", chips=16).placements


def test_copies_are_apart_and_why_says_how(own: Fleet) -> None:
    racks = own.placements("u-trn2x64", chips=4, copies=2, spread="rack").placements
    assert {each.servers[0] for each in racks} == {f"{ULTRA}/s0", f"{ULTRA}/s2"}
    servers = own.placements("u-trn2x64", chips=4, copies=4, spread="server").placements
    assert len({each.servers for each in servers}) == 4
    three = own.placements("u-trn2x64", chips=4, copies=3, spread="rack")
    assert three.reason == "3 requested, no two with the same rack: only 2 fit at once"
    assert own.placements("u-trn2x64", chips=4, copies=2, spread="domain").reason
    with pytest.raises(InvalidArgumentError, match=r"--spread network-node: .* by domain only"):
        own.placements("u-trn2x64", domains=2, copies=2, spread="network_node")


def test_what_is_to_spare_can_be_held_with_the_job(own: Fleet) -> None:
    (first, *others) = own.placements("u-trn2x64", chips=16, spares=1, k=9).placements
    assert (first.places, first.spares) == ((f"{ULTRA}/s0",), (f"{ULTRA}/s1",))
    assert len(others) == 3
    four = own.placements("u-trn2x64", chips=16, copies=3, spares=1)
    assert four.reason == "3 requested with 1 spare each: only 4 of 6 sets fit at once"
    assert {*own.placements("u-trn2x64", chips=16, copies=2, spares=1).placements[1].spares} <= {
        f"{ULTRA}/s2",
        f"{ULTRA}/s3",
    }
    own.allocate("a", first.places, spares=first.spares, who="me")
    assert not next(iter(own.drain_impact(f"{ULTRA}/s0").jobs)).must_stop
    rack = own.placements("trn3-gen2", servers=3, spares=2).placements[0]
    assert len(rack.places) == 3
    assert len(rack.spares) == 2
    assert len({place.rpartition("/")[0] for place in rack.places + rack.spares}) == 1
    assert own.placements("trn3-gen2", servers=16, spares=3).reason == "no domain has such a set of free chips"


@pytest.mark.parametrize(
    ("carried", "least"),
    [
        ({7: 0.1}, BlockLimits(576 * GB, 0)),
        ({3: 0.1, 7: 0.1}, BlockLimits(576 * GB, 0)),
        ({0: 0.1, 1: 0.1, 2: 0.1, 3: 0.1, 4: 0.5}, BlockLimits(400 * GB, 0)),
        ({0: 0.1, 1: 0.1, 2: 0.1, 3: 0.1, 4: 0.5}, BlockLimits(500 * GB, 0)),
        ({5: 0.1}, BlockLimits(0, 2_560 * GB)),
    ],
)
def test_degraded_servers_of_a_rack_against_every_choice(
    lite_fleet: Asked, carried: dict[int, float], least: BlockLimits
) -> None:
    """Four of the first eight; a link of a chip of some of these to its rack's switch carries a part."""
    model = placement_model("trn3-gen2")
    free = sum(model.server_masks[:8])
    switch = next(wire.b for wire in model.domain_model.blueprint.scale_up_links if (wire.a, wire.role) == (0, "rack"))
    links = {(server * model.chips_per_server, switch): int(part * 10**6) for server, part in carried.items()}
    stock = stock_of(model, [free], {0: dict(links.items())})
    masks = map(sum, combinations(model.server_masks[:8], 4))
    worth = {mask: model.degraded_limits(mask, stock.failures_by_row[0].link_capacities) for mask in masks}
    good = {mask: each for mask, each in worth.items() if meets(each, least)}
    places = ReplicaSearch(stock, legal(lite_fleet, model), AnyServers(4), Constraints(least))
    assert places.search.count_positions(places.matches) == len(good)
    best = sorted(((each.all_gather, each.bisection) for each in good.values()), reverse=True)
    found = places.search.best(places.matches, 1, PlacementPolicy.QUALITY)
    assert [(each.limits.all_gather, each.limits.bisection) for each in found] == best[:1]
    apart = any(not a & b for a, b in combinations(good, 2))
    assert places.max_replicas(9) == len([*places.place_all(places.max_replicas(9))]) == bool(good) + apart


def test_in_one_rack(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0"], who="me")
    answer = own.placements("u-trn2x64", "4x4x2", k=9)
    near = own.placements("u-trn2x64", "4x4x2", k=9, rack=True)
    assert (answer.positions, near.positions) == (2, 1)
    assert near.placements[0].servers == (f"{ULTRA}/s2", f"{ULTRA}/s3")
    assert own.placements("trn3-gen2", chips=144, rack=True).reason == "no domain has it in one rack"


def test_what_is_degraded_must_carry_as_much_as_is_asked_for(own: Fleet) -> None:
    with write_transaction(own.engine) as connection:
        set_state(connection, [f"{ULTRA}/s0/c5"], Condition("degraded", 500_000), why="x", who="me")
    for least, fits in ((200 * GB, 4), (500 * GB, 3)):
        answer = own.placements("u-trn2x64", servers=1, k=9, min_all_gather=least)
        assert (answer.positions, len(answer.placements)) == (fits, fits)
        assert all(each.all_gather >= least for each in answer.placements)
    whole_one = own.placements("u-trn2x64", domains=1)
    assert whole_one.placements[0].degraded


def test_of_degraded_domains_those_that_carry_most_are_taken(lite_fleet: Asked) -> None:
    found = placement_model("u-trn2x64")
    links: Mapping[int, Mapping[int | tuple[int, int], int]] = {
        row: {(0, 1): left} for row, left in enumerate([100_000, 500_000, 900_000, 300_000])
    }
    stock = stock_of(found, [found.full] * 4, links)
    asked = Wanted("", 128, 2), Constraints(), ReplicaRequest(1, 0, SpreadLevel.CHIP, 1), 1
    (one,) = place_on_domains(stock, legal(lite_fleet, found), *asked).placements
    assert (one.places, one.degraded) == (("fleet/d2", "fleet/d1"), True)


def test_jobs_of_whole_domains_at_once_and_to_spare(lite_fleet: Asked) -> None:
    found = placement_model("u-trn2x64")
    stock = stock_of(found, [found.full] * 20)

    laws = legal(lite_fleet, found)
    two = Wanted("", 128, 2)

    def ask(several: ReplicaRequest, wish: Constraints | None = None) -> list[tuple[int | None, int, int]]:
        answer = place_on_domains(stock, laws, two, wish or Constraints(), several, 1)
        return [(each.tier, len(each.places), len(each.spares)) for each in answer.placements]

    assert ask(ReplicaRequest(6, 1, SpreadLevel.DOMAIN, 1)) == [(3, 2, 1)] * 5 + [(2, 2, 1)]
    assert ask(ReplicaRequest(5, 1, SpreadLevel.DOMAIN, 3)) == [(3, 2, 1)] * 5
    assert ask(ReplicaRequest(6, 1, SpreadLevel.DOMAIN, 3)) == []
    assert ask(ReplicaRequest(7, 1, SpreadLevel.DOMAIN, 1)) == []
    assert ask(ReplicaRequest(1, 0, SpreadLevel.CHIP, 1), Constraints(BlockLimits(700 * GB, 0))) == []
    assert ask(ReplicaRequest(1, 0, SpreadLevel.CHIP, 1), Constraints(same_rack=True)) == []
    worn = _worn(stock, 0, 1, 8, 9, 10)
    for copies, degraded in ((7, False), (8, True)):
        placed = place_on_domains(
            worn, laws, two, Constraints(), ReplicaRequest(copies, 0, SpreadLevel.DOMAIN, 1), 1
        ).placements
        assert (len(placed), any(each.degraded for each in placed)) == (copies, degraded)
    three = ReplicaRequest(1, 1, SpreadLevel.DOMAIN, 1)
    (one,) = place_on_domains(_worn(stock, *range(1, 19)), laws, two, Constraints(), three, 1).placements
    assert (one.places, one.degraded) == (("fleet/d19", "fleet/d16"), True)
    (one,) = place_on_domains(
        _worn(stock, 0), laws, two, Constraints(), ReplicaRequest(1, 18, SpreadLevel.DOMAIN, 1), 1
    ).placements
    assert one.spares[-1] == "fleet/d0"


def _worn(stock: FreeCapacity, *rows: int) -> FreeCapacity:
    return replace(stock, unhealthy_parts={row: {0: 500_000} for row in rows})
