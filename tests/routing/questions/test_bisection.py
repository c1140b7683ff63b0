"""Bisection: known values, brute force, and methods against each other."""

import os
import random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult, milp

from conftest import examples, seeds
from graphs import chips_in, domain, graphs, without
from oracles import brute_force
from trninv.deadline import time_limit
from trninv.errors import TimeLimitError
from trninv.routing.fleet import BaseFleet
from trninv.solvers import cut_enumeration, integer_programs, tree_packing
from trninv.solvers.bisection import bisect, heuristic_bisect
from trninv.solvers.graph import Cut, Graph
from trninv.topology.torus import coordinates, torus_links

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9


def torus_graph(sides: tuple[int, ...], capacity: tuple[int, ...]) -> Graph:
    graph = Graph()
    for a, b, axis in torus_links(sides):
        graph.add_edge(a, b, id=graph.number_of_edges(), capacity=capacity[axis])
    for node in graph:
        graph.nodes[node].update(kind="chip", position=coordinates(node, sides))
    return graph


def check(graph: Graph, ends: list[int], split: Cut, fillers: int = 0) -> None:
    """The side is a fair split, and its links sum to the upper bound."""
    inside, total = len(split.side.intersection(ends)), len(ends) + fillers
    assert any(inside <= half <= inside + fillers for half in (total // 2, total - total // 2))
    assert brute_force.cut(graph, split.side) == split.upper
    assert 0 <= split.lower <= split.upper


@pytest.mark.parametrize(
    ("scope", "value", "links"),
    [
        ("trn1.2xlarge", 0, 0),
        ("trn1.32xlarge", 384, 8),
        ("trn2-16.48xlarge", 1_024, 8),
        ("u-trn2x64", 2_048, 32),
        ("u-trn2x64/d0/s2", 1_024, 8),
        ("u-trn2x64/r1", 1_024, 16),
        ("trn3-gen1", 4_096, 32),
        ("trn3-gen2", 9_216, 72),
        ("trn3-gen2/d0/s7", 1_152, 4),
    ],
)
def test_documented_systems(fleet: BaseFleet, scope: str, value: int, links: int) -> None:
    answer = fleet.bisection(scope)
    assert (answer.lower, answer.upper, answer.exact) == (value * GB, value * GB, True)
    assert len(answer.cut) == links
    assert sum(link.bandwidth for link in answer.cut) == answer.upper
    assert answer.both_directions == 2 * value * GB
    assert abs(answer.side_a - answer.side_b) <= 1
    assert answer.nominal is None


@pytest.mark.parametrize("scope", ["trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2/d0/s0"])
def test_up_to_sixteen_chips_against_every_split(lite_fleet: BaseFleet, scope: str) -> None:
    graph = domain(lite_fleet, scope)
    members = [node for node in chips_in(graph) if graph.nodes[node]["address"].startswith(scope)]
    switches = {near for node in members for near in graph[node] if graph.nodes[near]["kind"] == "switch"}
    within = Graph(graph.subgraph({*members, *switches}))
    assert lite_fleet.bisection(scope).upper == brute_force.bisection(within, members)


@pytest.mark.parametrize(
    ("sides", "capacity"),
    [
        ((2, 2), (3, 5)),
        ((4, 2), (1, 7)),
        ((2, 4), (9, 1)),
        ((2, 2, 2), (4, 2, 1)),
        ((4, 2, 1), (1, 1, 1)),
        ((2, 1), (1, 1)),
    ],
)
def test_the_closed_form_against_every_split(sides: tuple[int, ...], capacity: tuple[int, ...]) -> None:
    graph = torus_graph(sides, capacity)
    split = bisect(graph, list(graph))
    assert split.method.startswith("closed form")
    assert split.lower == split.upper == brute_force.bisection(graph, list(graph))
    check(graph, list(graph), split)


@pytest.mark.parametrize("change", ["link lost", "link slower", "chip lost", "odd sides", "link too many"])
def test_the_closed_form_is_only_for_a_whole_even_torus(change: str) -> None:
    graph = torus_graph((4, 4) if change != "odd sides" else (3, 4), (2, 2))
    if change == "link lost":
        graph.remove_edge(0, 1)
    elif change == "link slower":
        graph.edges[0, 1]["capacity"] = 1
    elif change == "chip lost":
        graph.remove_node(5)
    elif change == "link too many":
        graph.add_edge(0, 5, id=999, capacity=2)
    split = bisect(graph, list(graph))
    assert split.method.startswith("enumeration")
    assert split.lower == split.upper == brute_force.bisection(graph, list(graph))


@examples(150)
@given(graph=graphs(), fillers=st.integers(min_value=0, max_value=3))
def test_enumeration_against_every_split(graph: Graph, fillers: int) -> None:
    ends = chips_in(graph)
    split = bisect(graph, ends, fillers=fillers)
    assert split.lower == split.upper == brute_force.bisection(graph, ends, fillers)
    check(graph, ends, split, fillers)


@given(graph=graphs(), data=st.data())
def test_any_choice_of_hubs_gives_the_same_value(graph: Graph, data: st.DataObject) -> None:
    ends = chips_in(graph)
    switches = sorted(set(graph) - set(ends))
    hubs = data.draw(st.lists(st.sampled_from(switches), unique=True)) if switches else []
    half = len(ends) // 2
    assert cut_enumeration.bisect_by_enumeration(graph, ends, hubs, half, half).upper == bisect(graph, ends).upper


def by_program(graph: Graph, ends: list[int], fillers: int = 0) -> Cut:
    """The integer program alone, with no bound to start from."""
    problem, half = tree_packing.CutProblem.from_graph(graph, ends), (len(ends) + fillers) // 2
    nothing = Cut(0, int(problem.capacity.sum()) + problem.unit, frozenset(), "")
    sizes = max(half - fillers, 0), min(half, len(ends))
    return integer_programs.bisect_by_ilp(
        problem, sizes, nothing, np.zeros((0, len(problem.capacity)), dtype=np.int64), 20_000
    )


@pytest.mark.slow
@examples(60)
@given(graph=graphs(), fillers=st.integers(min_value=0, max_value=2))
def test_trees_below_and_swaps_above_against_every_split(graph: Graph, fillers: int) -> None:
    ends = chips_in(graph)
    half, exact = (len(ends) + fillers) // 2, brute_force.bisection(graph, ends, fillers)
    low, high = max(half - fillers, 0), min(half, len(ends))
    found = heuristic_bisect(graph, ends, low, high)
    assert found.lower == found.upper == exact
    check(graph, ends, found, fillers)
    problem = tree_packing.CutProblem.from_graph(graph, ends)
    assert tree_packing.pack_trees(problem, min(low, len(ends) - high), exact).bound <= exact


@examples(40)
@given(graph=graphs(), fillers=st.integers(min_value=0, max_value=2))
def test_the_integer_program_against_every_split(graph: Graph, fillers: int) -> None:
    ends = chips_in(graph)
    split = by_program(graph, ends, fillers)
    assert split.lower == split.upper == brute_force.bisection(graph, ends, fillers)
    check(graph, ends, split, fillers)


def damaged(graph: Graph, rng: random.Random, chips: int, links: int) -> tuple[Graph, list[int]]:
    lost = rng.sample(chips_in(graph), chips)
    rest = without(graph, lost, rng.sample([edge["id"] for _, _, edge in graph.edges(data=True)], links))
    return rest, chips_in(rest)


@pytest.mark.parametrize("seed", seeds(6))
def test_two_methods_agree_on_damaged_servers(lite_fleet: BaseFleet, seed: int) -> None:
    rng = random.Random(seed)
    graph, ends = damaged(domain(lite_fleet, "trn2-16.48xlarge"), rng, chips=rng.randint(0, 3), links=rng.randint(0, 4))
    one, other = bisect(graph, ends), by_program(graph, ends)
    assert one.lower == one.upper == other.lower == other.upper
    check(graph, ends, one)
    check(graph, ends, other)


@pytest.mark.parametrize("scope", ["trn3-gen1", "trn3-gen2"])
@pytest.mark.parametrize("seed", seeds(3))
def test_damaged_switched_domains_are_exact_and_consistent(lite_fleet: BaseFleet, scope: str, seed: int) -> None:
    """Its cut is real, names do not matter, and no exchange of a few chips between the halves finds a smaller one."""
    rng = random.Random(seed)
    graph, ends = damaged(domain(lite_fleet, scope), rng, chips=seed, links=5)
    split = bisect(graph, ends)
    assert split.lower == split.upper
    check(graph, ends, split)
    relabelled: Graph = nx.relabel_nodes(graph, {node: 10_000 - node for node in graph})
    assert bisect(relabelled, chips_in(relabelled)).upper == split.upper
    half = split.side.intersection(ends)
    for exchanged in (1, 1, 2, 2, 3, 4, 8, 16):
        other = half - set(rng.sample(sorted(half), exchanged))
        other |= set(rng.sample(sorted(set(ends) - half), exchanged))
        assert split.upper <= brute_force.minimum_cut_with_halves(graph, other, set(ends) - other)


@pytest.mark.parametrize(("kind", "value"), [("neuronlink-v3-ring", 1_984), ("neuronlink-v3-plane", 2_048)])
def test_an_ultraserver_that_lost_a_link(lite_fleet: BaseFleet, kind: str, value: int) -> None:
    graph = domain(lite_fleet, "u-trn2x64")
    link = next(edge["id"] for _, _, edge in graph.edges(data=True) if edge["model"] == kind)
    rest = without(graph, [], [link])
    split = bisect(rest, chips_in(rest))
    assert (split.lower, split.upper) == (value * GB, value * GB)
    check(rest, chips_in(rest), split)


@pytest.mark.parametrize(
    ("sides", "whole", "live", "nominal"),
    [((3, 3, 2), 576, 896, 448), ((4, 4, 2), 1_024, 1_344, 896)],
    ids=["every split", "integer program"],
)
def test_two_chips_lost_in_a_layer_raise_the_live_value(
    sides: tuple[int, ...], whole: int, live: int, nominal: int
) -> None:
    """Live balance is not monotone: layers no longer halve what is left, and NOMINAL tells."""
    graph = torus_graph(sides, (128, 128, 64))
    rest = without(graph, [node for node in graph if graph.nodes[node]["position"][2] == 0][:2], [])
    for of, fillers, value in ((graph, 0, whole), (rest, 0, live), (rest, 2, nominal)):
        split = bisect(of, chips_in(of), fillers=fillers)
        assert (split.lower, split.upper) == (value, value)
        check(of, chips_in(of), split, fillers)


@pytest.mark.slow
def test_an_ultraserver_without_two_chips_of_a_layer(lite_fleet: BaseFleet) -> None:
    """The same in a documented system: 1,920 GB/s nominal, and live 2,432, within bounds that little work proves."""
    graph = domain(lite_fleet, "u-trn2x64")
    rest = without(graph, chips_in(graph)[:2], [])
    nominal = bisect(rest, chips_in(rest), fillers=2)
    assert (nominal.lower, nominal.upper) == (1_920 * GB, 1_920 * GB)
    live = heuristic_bisect(rest, chips_in(rest), 31, 31, max_nodes=1)
    assert live.lower <= 2_432 * GB <= live.upper
    check(rest, chips_in(rest), live)


def test_work_and_not_time_decides_what_is_exact(lite_fleet: BaseFleet) -> None:
    """Where a request's time is up it fails: no answer depends on how busy the machine is."""
    graph, ends = damaged(domain(lite_fleet, "u-trn2x64"), random.Random(1), chips=3, links=3)
    with time_limit(0.001), pytest.raises(TimeLimitError):
        bisect(graph, ends)


def test_hubs_are_switches_never_chips(lite_fleet: BaseFleet) -> None:
    gen2 = domain(lite_fleet, "trn3-gen2")
    hubs = cut_enumeration.select_hubs(gen2, chips_in(gen2))
    assert [gen2.nodes[hub]["address"] for hub in hubs or ()] == ["trn3-gen2/d0/sw36", "trn3-gen2/d0/sw37"]
    torus64 = domain(lite_fleet, "u-trn2x64")
    assert cut_enumeration.select_hubs(torus64, chips_in(torus64)) is None


def test_values_are_python_integers(fleet: BaseFleet) -> None:
    answer = fleet.bisection("trn3-gen1")
    assert not isinstance(answer.upper.bytes_per_second, np.integer)


def test_the_same_damage_elsewhere_is_known(lite_fleet: BaseFleet) -> None:
    graph, ends = damaged(domain(lite_fleet, "u-trn2x64"), random.Random(8), chips=1, links=2)
    first = bisect(graph, ends)
    moved: Graph = nx.relabel_nodes(graph, {node: node + 10_000 for node in graph})
    again = bisect(moved, chips_in(moved), max_nodes=1)
    assert (again.lower, again.upper, again.method) == (first.lower, first.upper, first.method)
    check(moved, chips_in(moved), again)


def test_chips_without_a_link_fill_up_the_halves(lite_fleet: BaseFleet) -> None:
    """Exact at once, where the rest of a torus has a packing."""
    graph = domain(lite_fleet, "u-trn2x64").copy()
    lonely = chips_in(graph)[21]
    graph.remove_edges_from(list(graph.edges(lonely)))
    split = bisect(graph, chips_in(graph))
    assert split.lower == split.upper
    check(graph, chips_in(graph), split)
    assert (
        split.upper
        == bisect(without(graph, [lonely], []), chips_in(graph)[:21] + chips_in(graph)[22:], fillers=1).upper
    )


def test_what_the_solver_prints_does_not_reach_stdout(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def chatty(**given: Any) -> OptimizeResult:
        os.write(1, b"HiGHS says hello")
        return milp(**given)

    monkeypatch.setattr(integer_programs, "milp", chatty)
    graph = torus_graph((4, 4), (1, 1))
    assert by_program(graph, sorted(graph)).upper == 8
    out, err = capfd.readouterr()
    assert (out, "HiGHS says hello" in err) == ("", True)
