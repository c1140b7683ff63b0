"""Machines find their slots: never wrongly, however an UltraServer is numbered, and as a brute force finds them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from cProfile import Profile
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trninv.inventory.state.bindings import Binding
from trninv.reconcile.identification import Identification, match_machines
from trninv.reconcile.latest_observations import LatestObservations, Machine, MachineObservation
from trninv.reconcile.machine_groups import Slot
from trninv.reconcile.ring_order import ring_symmetries, server_ring

AT = "2026-03-01T00:00:00+00:00"
TYPES = {"u-trn2x64": "trn2u.48xlarge", "trn2-16.48xlarge": "trn2.48xlarge", "trn3-gen1": "trn3.48xlarge"}


def slots(*models: str, below: Mapping[int, int] | None = None) -> list[Slot]:
    """Of a cluster with a domain of each of these models; ``below`` is the network node above each domain."""
    found = list[Slot]()
    for domain, model in enumerate(models):
        servers = 1 if model == "trn2-16.48xlarge" else 4
        node = (below or {}).get(domain)
        found += [
            Slot(10 * domain + n, f"lab/d{domain}/s{n}", domain, n, "lab", domain, model, servers, node)
            for n in range(servers)
        ]
    return found


def machine(name: str, model: str = "u-trn2x64", *, host: str | None = None, at: str = AT, **more: Any) -> Machine:
    told: dict[str, Any] = dict.fromkeys(MachineObservation._fields) | {
        "source": "kubernetes",
        "observation": 1,
        "observed_at": at,
        "id": 1,
        "instance": name,
        "host": host,
        "instance_type": TYPES[model],
        "is_partial": False,
        "has_chips": False,
    }
    return Machine(name, host, [MachineObservation(**(told | more))])


def elected(ultraserver: str, numbers: Mapping[str, int], **more: Any) -> list[Machine]:
    return [machine(name, ultraserver=ultraserver, position=place, **more) for name, place in numbers.items()]


def seen(machines: Iterable[Machine]) -> LatestObservations:
    found = {each.name: each for each in machines}
    return LatestObservations(found, {each.host: each for each in found.values() if each.host}, {}, {})


def bound(slot: Slot, name: str, host: str | None = None) -> Binding:
    return Binding(slot.id, slot.address, name, host, AT, None, "pin", "certain", None, "tests", None, None)


def given_to(found: Identification) -> dict[str, str]:
    return {each.instance or "": each.address.removeprefix("lab/") for each in found.proposed_bindings}


def test_the_instances_of_one_ultraserver_follow_the_one_that_stands() -> None:
    of = slots("u-trn2x64", "u-trn2x64")
    found = match_machines(of, [bound(of[6], "i-2")], seen(elected("ab", {"i-0": 0, "i-1": 1, "i-2": 2, "i-3": 3})))
    assert given_to(found) == {"i-0": "d1/s0", "i-1": "d1/s1", "i-3": "d1/s3"}
    assert {each.method for each in found.proposed_bindings} == {"ultraserver"}
    assert found.proposed_bindings[0].evidence == "UltraServer ab; position 0; i-2 is in lab/d1"
    assert {each.address[-2:]: each.confidence for each in found.proposed_bindings} == {
        "s0": "certain",
        "s1": "interchangeable",  # or in s3, if the ring is numbered the other way
        "s3": "interchangeable",
    }


def test_what_nothing_tells_apart_is_listed_and_not_guessed() -> None:
    of = slots("u-trn2x64", "u-trn2x64", "u-trn2x64")
    machines = [*elected("ab", {"i-0": 0, "i-1": 1}), *elected("cd", {"i-8": 0})]
    found = match_machines(of, [], seen(machines))
    assert found.proposed_bindings == ()
    assert [each.name for each in found.unassigned] == ["i-0", "i-1", "i-8"]
    assert {each.why for each in found.unassigned} == {"several slots fit equally well"}
    assert (found.unassigned[0].count, found.unassigned[0].candidates[:2]) == (12, ("lab/d0/s0", "lab/d0/s1"))
    in_order = match_machines(of, [], seen(machines), in_order=True)
    assert given_to(in_order) == {"i-0": "d0/s0", "i-1": "d0/s1", "i-8": "d1/s0"}
    assert {(each.method, each.confidence) for each in in_order.proposed_bindings} == {("in-order", "interchangeable")}


def test_machines_without_a_position_come_last_in_order_however_high_the_positions() -> None:
    machines = [machine("i-a", capacity_block="cb-0"), machine("i-b", capacity_block="cb-0")]
    machines += elected("ab", {"i-c": 64, "i-d": 7}, capacity_block="cb-0")
    found = match_machines(slots("u-trn2x64"), [], seen(machines), in_order=True)
    assert given_to(found) == {"i-d": "d0/s0", "i-c": "d0/s1", "i-a": "d0/s2", "i-b": "d0/s3"}


def test_taking_slots_in_order_is_work_in_proportion() -> None:
    def work(domains: int) -> int:
        of = slots(*["trn2-16.48xlarge"] * domains, below={n: n for n in range(domains)})
        machines = [machine(f"i-{n}", "trn2-16.48xlarge", network_nodes=f"nn-0 nn-{n}") for n in range(domains)]
        with Profile() as profile:
            found = match_machines(of, [], seen(machines), in_order=True)
        assert len(found.proposed_bindings) == domains
        return sum(each.callcount for each in profile.getstats())

    assert work(400) < 5 * work(100)


def test_the_last_ultraserver_takes_the_last_domain() -> None:
    of = slots("u-trn2x64", "u-trn2x64")
    held = [bound(of[n], f"i-a{n}") for n in range(4)]
    machines = [*elected("ab", {f"i-a{n}": n for n in range(4)}), *elected("cd", {f"i-c{n}": n for n in range(4)})]
    found = match_machines(of, held, seen(machines))
    assert given_to(found) == {f"i-c{n}": f"d1/s{n}" for n in range(4)}
    assert {each.method for each in found.proposed_bindings} == {"only-place"}


def test_a_capacity_block_names_a_domain_of_ultraservers_alone() -> None:
    of = slots("u-trn2x64", "trn2-16.48xlarge", "trn2-16.48xlarge", "u-trn2x64")
    block = [machine(f"i-{n}", capacity_block="cb-0") for n in range(4)]
    plain = [machine(f"i-p{n}", "trn2-16.48xlarge", capacity_block="cb-1") for n in range(2)]
    found = match_machines(of, [bound(of[n], f"i-{n}") for n in (0, 1, 2)], seen([*block, *plain]))
    assert given_to(found) == {"i-3": "d0/s3"}
    assert [(each.name, each.count) for each in found.unassigned] == [("i-p0", 2), ("i-p1", 2)]
    alone = match_machines(of, [bound(of[0], "i-0")], seen(block))
    assert given_to(alone) == {}
    assert {(each.why, each.count) for each in alone.unassigned} == {("its domain is known, but not its slot", 3)}


def test_a_block_for_two_ultraservers_is_no_domain() -> None:
    of = slots("u-trn2x64", "u-trn2x64")
    machines = [
        *elected("ab", {f"i-a{n}": n for n in range(4)}, capacity_block="cb"),
        *elected("cd", {f"i-c{n}": n for n in range(4)}, capacity_block="cb"),
    ]
    found = match_machines(of, [bound(of[4], "i-a0"), bound(of[0], "i-c0")], seen(machines))
    assert {name: slot[:2] for name, slot in given_to(found).items()} == {
        **{f"i-a{n}": "d1" for n in (1, 2, 3)},
        **{f"i-c{n}": "d0" for n in (1, 2, 3)},
    }


def test_two_halves_of_a_block_are_not_one_domain() -> None:
    of = slots("u-trn2x64", "u-trn2x64")
    machines = [
        *elected("ab", {"i-a0": 0, "i-a1": 1}, capacity_block="cb"),
        *elected("cd", {"i-c0": 0, "i-c1": 1}, capacity_block="cb"),
    ]
    found = match_machines(of, [bound(of[0], "i-a0"), bound(of[4], "i-c0")], seen(machines))
    assert given_to(found) == {"i-a1": "d0/s1", "i-c1": "d1/s1"}


def test_two_ultraservers_do_not_both_take_the_last_domain() -> None:
    machines = [*elected("ab", {"i-a0": 0, "i-a1": 1}), *elected("cd", {"i-c0": 0})]
    found = match_machines(slots("u-trn2x64"), [], seen(machines))
    assert found.proposed_bindings == ()
    assert {each.name: each.count for each in found.unassigned} == {"i-a0": 4, "i-a1": 4, "i-c0": 4}


def test_hosts_that_are_called_after_slots_stand_there_and_take_the_others_along() -> None:
    of = slots("u-trn2x64", "u-trn2x64")
    machines = elected("ab", {"i-1": 1, "i-2": 2, "i-3": 3})
    machines += elected("ab", {"i-0": 0}, host="lab-d1-s0.ec2.internal")
    found = match_machines(of, [], seen(machines))
    assert given_to(found) == {f"i-{n}": f"d1/s{n}" for n in range(4)}
    assert {each.instance: each.method for each in found.proposed_bindings}["i-0"] == "host-name"
    assert {each.confidence for each in found.proposed_bindings} == {"likely", "interchangeable"}
    two = elected("ab", {"i-0": 0}, host="lab-d1-s0") + elected("ab", {"i-1": 1}, host="lab-d0-s1")
    assert {each.why for each in match_machines(of, [], seen(two)).unassigned} == {
        "UltraServer ab and the host names disagree"
    }


def test_a_machine_of_unknown_type_gets_the_slot_of_its_name_and_no_other() -> None:
    of = slots("u-trn2x64", "trn2-16.48xlarge")
    hosts = "lab-d0-s1", "lab-d1-s0", "head", "lab-d9-s0"
    nodes = [machine(f"i-{n}", host=host, instance_type=None) for n, host in enumerate(hosts)]
    found = match_machines(of, [], seen(nodes))
    assert given_to(found) == {"i-0": "d0/s1", "i-1": "d1/s0"}
    assert {each.confidence for each in found.proposed_bindings} == {"likely"}
    unnamed = "no source reports its instance type, and no free slot has its host name"
    assert {each.name: each.why for each in found.unassigned} == dict.fromkeys(("i-2", "i-3"), unnamed)
    # of two that have the name, one gets the slot, and the other not the only one that is left
    twins = [
        machine(f"i-{n}", host=host, instance_type=None) for n, host in enumerate(["lab-d0-s1", "lab-d0-s1.local"])
    ]
    stands = [bound(of[n], f"i-{n}0") for n in (2, 3)]
    found = match_machines(of, stands, seen([*twins, machine("i-20"), machine("i-30")]))
    assert [each.address for each in found.proposed_bindings] == ["lab/d0/s1"]
    assert [each.why for each in found.unassigned] == [
        "no source reports its instance type, and the slot of its name is taken"
    ]
    taken = match_machines(of, [bound(of[1], "i-a")], seen([twins[0], machine("i-a")]))
    assert (taken.proposed_bindings, [each.why for each in taken.unassigned]) == ((), [unnamed])


def test_the_network_node_above_it_tells_the_domain() -> None:
    of = slots("trn2-16.48xlarge", "trn2-16.48xlarge", "trn2-16.48xlarge", below={0: 100, 1: 100, 2: 200})
    kind = "trn2-16.48xlarge"
    machines = [machine(f"i-{n}", kind, network_nodes=nodes) for n, nodes in enumerate(["t a", "t a", "t b"])]
    found = match_machines(of, [bound(of[0], "i-0")], seen(machines))
    assert given_to(found) == {"i-1": "d1/s0", "i-2": "d2/s0"}
    assert found.proposed_bindings[0].method == "network-node"
    other = match_machines(of, [bound(of[0], "i-0")], seen([machines[0], machines[2]]))  # not below the node of another
    assert given_to(other) == {"i-2": "d2/s0"}


def test_what_cannot_be_is_said() -> None:
    of = slots("u-trn2x64", "u-trn2x64")
    split = match_machines(
        of, [bound(of[0], "i-0"), bound(of[4], "i-1")], seen(elected("ab", {"i-0": 0, "i-1": 1, "i-2": 2}))
    )
    assert [each.why for each in split.unassigned] == ["instances of UltraServer ab are in lab/d0 and lab/d1"]
    full = match_machines(of, [], seen(elected("ab", {f"i-{n}": n % 4 for n in range(5)})))
    assert {each.why for each in full.unassigned} == {"UltraServer ab has 5 instances, but its domain has 4 servers"}
    twice = match_machines(of, [], seen(elected("ab", {"i-0": 1, "i-1": 1})))
    assert {each.why for each in twice.unassigned} == {"UltraServer ab has several instances at position 1"}
    other = match_machines(of, [], seen([machine("i-0", "trn2-16.48xlarge")]))
    assert [each.why for each in other.unassigned] == ["no slot has its instance type"]
    askew = elected("ab", {"i-0": 0, "i-1": 1, "i-2": 2})
    held = [bound(of[0], "i-0"), bound(of[2], "i-1")]  # neighbours stand opposite each other
    assert [each.why for each in match_machines(of, held, seen(askew)).unassigned] == [
        "its position 2 contradicts the ring positions of the others in its domain"
    ]


def test_an_instance_that_took_anothers_place_takes_its_slot() -> None:
    of = slots("u-trn2x64")
    later = "2026-03-01T02:00:00+00:00"
    machines = elected("ab", {"i-0": 0, "i-1": 1, "i-new": 2}, at=later) + elected("ab", {"i-old": 2})
    held = [bound(of[n], name) for n, name in enumerate(("i-0", "i-1", "i-old"))]
    assert given_to(match_machines(of, held, seen(machines))) == {"i-new": "d0/s2"}


@pytest.mark.parametrize("positions", [(0, 1, 2, 3), (None,) * 4])
def test_a_machine_that_a_complete_listing_lacks_gives_its_slot_to_a_new_one(positions: tuple[int | None, ...]) -> None:
    """Also if others came and went meanwhile; without positions only if one slot is left for one machine."""
    of = slots("u-trn2x64")

    def at(position: int, *names: str) -> list[Machine]:
        place = positions[position]
        group = {"capacity_block": "cb"} if place is None else {"ultraserver": "ab", "position": place}
        return [machine(name, **group) for name in names]

    machines = [*at(0, "i-0"), *at(1, "i-1"), *at(2, "i-old", "i-between", "i-new"), *at(3, "i-3")]
    held = [bound(of[n], name) for n, name in enumerate(("i-0", "i-1", "i-old", "i-3"))]
    missing = {"i-old", "i-between"}
    assert given_to(match_machines(of, held, seen(machines), missing=missing)) == {"i-new": "d0/s2"}
    assert match_machines(of, held, seen(machines)).proposed_bindings == ()
    both = match_machines(of, held, seen(machines), missing={*missing, "i-3"})
    assert given_to(both) == ({} if positions[0] is None else {"i-new": "d0/s2"})
    alone = [entry for entry in machines if entry.name != "i-new"]
    assert match_machines(of, held, seen(alone), missing=missing).proposed_bindings == ()


def test_machines_that_are_long_gone_take_no_slot() -> None:
    of = slots("trn2-16.48xlarge")
    kind = "trn2-16.48xlarge"
    machines = [machine("i-old", kind, at="2026-02-01T00:00:00+00:00"), machine("i-new", kind)]
    assert given_to(match_machines(of, [], seen(machines))) == {"i-new": "d0/s0"}


def test_names_that_no_host_can_have_are_left_out() -> None:
    of = slots("trn2-16.48xlarge")
    kind = "trn2-16.48xlarge"
    (found,) = match_machines(of, [], seen([machine("i-0", kind, host="a[1-9],b")])).proposed_bindings
    assert (found.instance, found.host) == ("i-0", None)
    assert match_machines(of, [], seen([machine("x y", kind)])).proposed_bindings == ()
    (found,) = match_machines(of, [], seen([machine("i-0", kind, host="i-1")])).proposed_bindings
    assert found.host is None


def test_what_is_learnt_of_an_instance_is_written_anew() -> None:
    of = slots("u-trn2x64")
    (found,) = match_machines(of, [bound(of[0], "i-0")], seen([machine("i-0", host="n0")])).proposed_bindings
    assert (found.instance, found.host, found.method) == ("i-0", "n0", "pin")
    assert match_machines(of, [bound(of[0], "i-0", "n0")], seen([machine("i-0", host="n0")])).proposed_bindings == ()


@pytest.mark.parametrize("model", ["u-trn2x64", "trn3-gen1"])
@given(data=st.data())
def test_however_a_ring_is_numbered_the_domain_is_the_same_and_neighbours_stay_neighbours(
    model: str, data: st.DataObject
) -> None:
    """Relabelled, turned and mirrored numbers: what is bound decides."""
    of, ring = slots(model, model, model), server_ring(model)
    domain, count = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 3))
    truth = data.draw(st.permutations([f"i-{letter}" for letter in "abcd"]))  # by place in the ring
    turned = data.draw(st.sampled_from([tuple(way) for way in ring_symmetries(range(4))]))
    machines = elected("ab", {name: turned[place] for place, name in enumerate(truth)})
    for of_ring in machines:
        of_ring.observations[0] = of_ring.observations[0]._replace(instance_type=TYPES[model])
    stand = data.draw(st.permutations(range(4)))[:count]
    by_server = {(slot.domain, slot.ordinal): slot for slot in of}
    held = [bound(by_server[domain, ring[place]], truth[place]) for place in stand]
    found = match_machines(of, held, seen(machines))
    places = given_to(found) | {each.instance or "": each.address.removeprefix("lab/") for each in held}
    assert found.unassigned == ()
    assert {slot[:2] for slot in places.values()} == {f"d{domain}"}
    servers = [int(places[name][-1]) for name in truth]
    assert tuple(servers) in set(ring_symmetries(ring))
    for each in found.proposed_bindings:
        if each.confidence == "certain":
            assert int(each.address[-1]) == ring[truth.index(each.instance or "")]


@dataclass(frozen=True)
class Known:
    """What a brute force is given: the UltraServer, place and network node of each machine, and where some stand."""

    machines: tuple[tuple[str, str | None, int | None, str | None], ...]
    held: Mapping[str, int]
    below: Mapping[int, int]
    domains: int


def possible(known: Known, of: Sequence[Slot]) -> Iterator[dict[str, Slot]]:
    """Every way in which all machines may stand."""
    ring, groups = server_ring("u-trn2x64"), dict[str, list[str]]()
    facts = {name: (ultraserver, place, node) for name, ultraserver, place, node in known.machines}
    for name, (ultraserver, _, _) in facts.items():
        if ultraserver:
            groups.setdefault(ultraserver, []).append(name)
    by_id = {slot.id: slot for slot in of}
    free = [slot for slot in of if slot.id not in known.held.values()]
    names = [name for name in facts if name not in known.held]
    for chosen in permutations(free, len(names)):
        at = dict(zip(names, chosen, strict=True)) | {name: by_id[key] for name, key in known.held.items()}
        domains = {key: {at[name].domain for name in members} for key, members in groups.items()}
        if any(len(each) > 1 for each in domains.values()):
            continue
        if len({next(iter(each)) for each in domains.values()}) < len(domains):
            continue
        rings = ({facts[n][1]: at[n].ordinal for n in members} for members in groups.values())
        if not all(any(all(way[p or 0] == s for p, s in r.items()) for way in ring_symmetries(ring)) for r in rings):
            continue
        above = {(node, known.below[at[name].domain]) for name, (_, _, node) in facts.items() if node}
        if len({node for node, _ in above}) == len(above) == len({of for _, of in above}):
            yield at


@st.composite
def fleets(draw: st.DrawFn) -> Known:
    """Machines that stand somewhere, of which less is told than there is."""
    domains = draw(st.integers(1, 2))
    of, ring = slots(*["u-trn2x64"] * domains), server_ring("u-trn2x64")
    below = {domain: draw(st.integers(100, 101)) for domain in range(domains)}
    truth = draw(st.permutations(of))[: draw(st.integers(1, min(5, len(of))))]
    way = draw(st.sampled_from(list(ring_symmetries(ring))))
    machines, held = list[tuple[str, str | None, int | None, str | None]](), dict[str, int]()
    tells = [draw(st.booleans()) for _ in range(domains)]
    for number, slot in enumerate(truth):
        told = tells[slot.domain]
        node = f"nn-{below[slot.domain]}" if draw(st.booleans()) else None
        machines.append(
            (f"i-{number}", f"u{slot.domain}" if told else None, way.index(slot.ordinal) if told else None, node)
        )
        if draw(st.booleans()):
            held[f"i-{number}"] = slot.id
    return Known(tuple(machines), held, below, domains)


@given(known=fleets())
def test_what_is_certain_is_so_in_every_way_in_which_all_may_stand(known: Known) -> None:
    """And what is likely or interchangeable is so in one of them; what is possible in one way alone is found out."""
    of = slots(*["u-trn2x64"] * known.domains, below=known.below)
    by_id = {slot.id: slot for slot in of}
    machines = [
        machine(name, ultraserver=ultraserver, position=place, network_nodes=node and f"top {node}")
        for name, ultraserver, place, node in known.machines
    ]
    ways = list(possible(known, of))
    found = match_machines(of, [bound(by_id[key], name) for name, key in known.held.items()], seen(machines))
    for each in found.proposed_bindings:
        may = {way[each.instance or ""].address for way in ways}
        assert each.address in may
        if each.confidence == "certain":
            assert may == {each.address}
    proposed = {each.instance: each.address for each in found.proposed_bindings}
    assert any(all(way[name or ""].address == slot for name, slot in proposed.items()) for way in ways)
    for left in found.unassigned:
        may = {way[left.name].address for way in ways}
        assert may <= set(left.candidates)
        assert len(may) > 1
