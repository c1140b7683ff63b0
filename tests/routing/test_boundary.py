"""Boundary profiles: cubes against every subset, damaged ones against enumeration, clusters against a knapsack."""

import random
from collections.abc import Collection
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples, seeds
from graphs import torus_domain
from trninv.solvers import cut_enumeration, torus_cuts
from trninv.solvers.graph import Graph, cut_capacity, weighted_edges
from trninv.solvers.islands import CutProfile, Island
from trninv.solvers.quotient import bisect_quotient
from trninv.solvers.torus_cuts import PartialHypercube

GB = 10**9
ABOVE = 10_000
ULTRA = [
    *(640, 1024, 1408, 1536, 1920, 2048, 2176, 2048, 2432, 2560, 2688, 2560, 2688, 2560, 2432, 2048, 2560, 2816, 3072),
    *(3072, 3328, 3328, 3328, 3072, 3328, 3328, 3328, 3072, 3072, 2816, 2560, 2048),
]
"""The profile of a u-trn2x64 for 1 … 32 chips in GB/s, as an exact dynamic program over its layers found it."""


def _every_subset(graph: Graph, chips: list[int]) -> list[int]:
    """Least cut by number of chips, over all subsets at once; what is no chip is on side 0, ports are loose."""
    subsets = np.arange(1 << len(chips), dtype=np.int64)
    side = {chip: subsets >> i & 1 for i, chip in enumerate(chips)}
    cut = np.zeros_like(subsets)
    for a, b, carries in weighted_edges(graph):
        if {a, b} <= {*chips, ABOVE}:
            cut += carries * (side.get(a, 0) ^ side.get(b, 0))
    for nic in set(graph).difference(chips, [ABOVE]):
        to_chips = sum(graph.edges[nic, chip]["capacity"] * side[chip] for chip in graph[nic] if chip != ABOVE)
        up = graph.edges[nic, ABOVE]["capacity"] if graph.has_edge(nic, ABOVE) else 0
        cut += np.minimum(to_chips, up)
    count = sum(side.values())
    return [int(cut[count == size].min()) for size in range(len(chips) + 1)]


def _cut(graph: Graph, chips: Collection[int]) -> int:
    """What these chips are parted from the others for."""
    inner = Graph(graph.subgraph(node for node, of in graph.nodes(data=True) if of["kind"] == "chip"))
    found = cut_capacity(inner, chips)
    for nic in [nic for nic, of in graph.nodes(data=True) if of["kind"] == "nic" and graph.has_edge(nic, ABOVE)]:
        users = sum(graph.edges[nic, chip]["capacity"] for chip in graph[nic] if chip in chips)
        found += min(users, graph.edges[nic, ABOVE]["capacity"])
    return found


def _worn(graph: Graph, chance: random.Random, chips: int, links: int) -> list[int]:
    """Take some chips and links out; what is left of the chips."""
    ends = [node for node, of in graph.nodes(data=True) if of["kind"] == "chip"]
    graph.remove_edges_from(chance.sample(sorted(graph.edges), links))
    graph.remove_nodes_from(chance.sample(ends, chips))
    return [end for end in ends if end in graph]


def test_an_ultraserver_in_closed_form() -> None:
    graph = torus_domain((4, 4, 4), (64, 128, 128))
    found = CutProfile(graph, range(64))
    assert list(found.lower[1:33]) == list(found.upper[1:33]) == ULTRA
    assert "closed form of the 6-cube" in found.method
    for size in range(65):
        assert cut_capacity(graph, found.witness(size)) == found.upper[size]


@examples(50)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_a_cube_against_every_subset(weights: list[int]) -> None:
    graph = Graph()
    graph.add_nodes_from(range(1 << len(weights)))
    for node, (bit, carries) in product(list(graph), enumerate(weights)):
        graph.add_edge(node, node ^ (1 << bit), capacity=carries)
    chosen = tuple(sorted(weights, reverse=True))
    assert torus_cuts._is_proven(chosen)
    assert list(torus_cuts.hypercube_profile(chosen)) == _every_subset(graph, list(graph))


def test_a_cube_whose_heaviest_dimension_comes_last_is_not_proven() -> None:
    """The check is one: in this order the first numbers are not the densest."""
    assert not torus_cuts._is_proven((1, 2))


@examples(100)
@given(st.integers(0, 10_000), st.sampled_from([(128, 128), (128, 64), (48, 48)]))
def test_what_is_left_of_a_torus_bounds_it(seed: int, carries: tuple[int, int]) -> None:
    chance = random.Random(seed)
    graph = torus_domain((4, 4), carries)
    chips = _worn(graph, chance, chance.randint(0, 5), chance.randint(0, 5))
    cube = PartialHypercube.from_graph(graph, chips)
    assert cube is not None
    assert (cube.lower_bounds() <= _every_subset(graph, chips)).all()


@examples(40)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_an_island_of_sixteen_chips_against_every_subset(seed: int, chips_per_nic: int) -> None:
    """With NICs of up to four chips, and some of everything dead."""
    chance = random.Random(seed)
    graph = torus_domain((4, 4), (128, 128), exits=25, chips_per_nic=chips_per_nic, above=ABOVE)
    chips = _worn(graph, chance, chance.randint(0, 4), chance.randint(0, 8))
    found = CutProfile(graph, chips, ABOVE)
    assert list(found.lower) == list(found.upper) == _every_subset(graph, chips)


@pytest.mark.parametrize("seed", seeds(2))
def test_a_number_of_chips_is_solved_as_enumeration_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A domain that is too large to enumerate, made so by looking away: each number, with dead exits."""
    chance = random.Random(seed)
    graph = torus_domain((4, 4), (128, 64), exits=25, above=ABOVE)
    chips = _worn(graph, chance, 2, 5)
    wanted = _every_subset(graph, chips)
    monkeypatch.setattr(cut_enumeration, "select_hubs", lambda *_: None)
    found = CutProfile(graph, chips, ABOVE)
    assert all(found.lower <= wanted)
    assert all(found.upper >= wanted)
    for size in range(0, len(chips) + 1, 3):
        found.refine(size)
        assert found.lower[size] == found.upper[size] == wanted[size]
        side = found.witness(size)
        assert len(side) == size
        assert _cut(graph, side) == wanted[size]


@pytest.mark.parametrize("seed", seeds(2))
def test_that_a_number_of_chips_cuts_enough_may_be_all_that_is_found_out(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    graph = torus_domain((4, 4), (128, 64), exits=25, above=ABOVE)
    chips = _worn(graph, chance, 2, 5)
    wanted = _every_subset(graph, chips)
    monkeypatch.setattr(cut_enumeration, "select_hubs", lambda *_: None)
    for size in range(3, len(chips), 4):
        for enough in (wanted[size] - 60, wanted[size], wanted[size] + 1):
            found = CutProfile(graph, chips, ABOVE)
            found.refine(size, target=enough)
            assert min(enough, wanted[size]) <= found.lower[size] <= wanted[size] <= found.upper[size]


def _least_sum(profiles: list[list[int]], chips: int) -> int:
    table = {0: 0}
    for profile in profiles:
        made: dict[int, int] = {}
        for count, cost in table.items():
            for more, least in enumerate(profile):
                made[count + more] = min(made.get(count + more, cost + least), cost + least)
        table = made
    return table[chips]


@pytest.mark.parametrize("chips_per_nic", [1, 2, 4])
@pytest.mark.parametrize("seed", seeds(10, 2))
def test_a_damaged_cluster_of_sixteens_against_every_subset_and_a_knapsack(seed: int, chips_per_nic: int) -> None:
    chance = random.Random(seed)
    parts = [
        torus_domain((4, 4), (128, 128), exits=25, chips_per_nic=chips_per_nic, above=ABOVE)
        for _ in range(chance.randint(2, 5))
    ]
    chips = [_worn(graph, chance, chance.randint(0, 2), chance.randint(0, 2)) for graph in parts]
    kinds = [(Island.from_graph(graph, ends, ABOVE), 1) for graph, ends in zip(parts, chips, strict=True)]
    count = sum(map(len, chips))
    profiles = [_every_subset(graph, ends) for graph, ends in zip(parts, chips, strict=True)]
    wanted = min(_least_sum(profiles, half) for half in (count // 2, count - count // 2))
    found = bisect_quotient(kinds, count // 2, count - count // 2)
    assert found.lower == found.upper == wanted
    assert sum(len(taken.chips) for taken in found.selections) in (count // 2, count - count // 2)


@pytest.mark.parametrize("seed", seeds(4))
def test_damaged_ultraservers_are_exact(seed: int) -> None:
    """Two to four of them with up to four chips and four links lost."""
    chance = random.Random(seed)
    parts = [torus_domain((4, 4, 4), (64, 128, 128), exits=25, above=ABOVE) for _ in range(chance.randint(2, 4))]
    chips = [_worn(graph, chance, chance.randint(0, 1), chance.randint(0, 1)) for graph in parts]
    kinds = [(Island.from_graph(graph, ends, ABOVE), 1) for graph, ends in zip(parts, chips, strict=True)]
    count = sum(map(len, chips))
    found = bisect_quotient(kinds, count // 2, count - count // 2)
    assert found.lower == found.upper
    cut = sum(_cut(parts[taken.class_index], taken.chips) for taken in found.selections)
    assert cut == found.upper
