"""Distances, Gomory-Hu trees, split profiles and placements, compared with the long way around."""

import itertools
from collections import Counter

import networkx as nx
import pytest
from hypothesis import given

import trninv
from conftest import Databases, examples
from graphs import chips_in, domain, graphs, seed_clusters
from oracles import brute_force
from trninv.errors import InvalidArgumentError, ScopeTooLargeError
from trninv.routing.fleet import BaseFleet
from trninv.solvers.bisection import heuristic_bisect
from trninv.solvers.graph import Graph
from trninv.solvers.islands import CutProfile
from trninv.solvers.max_flow import gomory_hu_tree

GB = 10**9
U = "u-trn2x64/d0"


@examples(60)
@given(graph=graphs())
def test_the_tree_has_every_maximum_flow(graph: Graph) -> None:
    tree = gomory_hu_tree(graph)
    assert nx.is_tree(tree)
    for a, b in itertools.combinations(graph, 2):
        way = nx.shortest_path(tree, a, b)
        least = min(tree.edges[edge]["weight"] for edge in itertools.pairwise(way))
        assert least == nx.maximum_flow_value(graph, a, b)


def test_the_worst_connected_pair_is_cut_off_by_its_links(fleet: BaseFleet) -> None:
    lost = fleet.what_if([f"{U}/s2/c7--{U}/s2/c6", f"{U}/s2/c7--{U}/s1/c7"]).cut_tree(U)
    assert (lost.min_flow, lost.disconnected_chips) == ((640 - 128 - 64) * GB, (f"{U}/s2/c7",))
    assert sum(link.bandwidth for link in lost.cut) == lost.min_flow
    alone = fleet.cut_tree("trn1.2xlarge")
    assert (alone.a, alone.min_flow, alone.cut) == (None, 0, ())


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


@pytest.mark.parametrize("scope", ["trn1.32xlarge", "u-trn2x64", "trn3-gen2"])
def test_distances_are_those_of_the_graph(fleet: BaseFleet, scope: str) -> None:
    graph = domain(fleet, scope)
    chips, hops = chips_in(graph), dict(nx.all_pairs_shortest_path_length(graph))
    apart = sorted(hops[a][b] for a, b in itertools.combinations(chips, 2))
    answer = fleet.distances(scope)
    assert [each.hops for each in answer.by_hops for _ in range(each.pairs)] == apart
    assert (answer.diameter, answer.unreachable, answer.pairs) == (apart[-1], 0, len(apart))
    assert answer.mean == pytest.approx(sum(apart) / len(apart))


@pytest.mark.slow
def test_distances_across_a_fabric_are_those_of_the_whole_graph(databases: Databases) -> None:
    """Every pair of chips on the wiring of its own domains and the fabric alone."""
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"trn1": 20, "trn1.2xlarge": 6})) as fleet:
        for cluster, down in (
            ("c-trn1", ["c-trn1/d3/s0/c2", "c-trn1/d5", "c-trn1/d7/s0/efa1"]),
            ("c-trn1.2xlarge", []),
        ):
            supposed = fleet.what_if([*down, f"{cluster}/d1/s0/c0"])
            graph = supposed.graph(cluster)
            place = {node: node.split("/")[1] for node in graph}
            chips = [node for node, of in graph.nodes(data=True) if of["kind"] == "chip"]
            hops: Counter[int] = Counter()
            names = sorted({place[chip] for chip in chips})
            for one, other in itertools.combinations_with_replacement(names, 2):
                near = {one, other} | ({"fabric"} if one != other else set())
                part = graph.subgraph(n for n in graph if place[n] in near and (one != other or "efa" not in n))
                for a in (chip for chip in chips if place[chip] == one):
                    reached = nx.single_source_shortest_path_length(part, a)
                    ends = (chip for chip in chips if place[chip] == other and (one != other or a < chip))
                    hops.update(reached[b] for b in ends if b in reached)
            answer = supposed.distances(cluster)
            assert {each.hops: each.pairs for each in answer.by_hops} == hops
            assert answer.unreachable == len(chips) * (len(chips) - 1) // 2 - hops.total()


def test_placements_hold_what_was_asked_for_with_the_fewest_chips(lite_fleet: BaseFleet) -> None:
    here = lite_fleet.memory_placement(f"{U}/s1/c5", "1,000 GiB")
    assert (len(here.chips), here.memory.gibibytes, here.radius, here.is_sufficient) == (11, 1_056, 2, True)
    assert here.chips[0] == f"{U}/s1/c5"
    damaged = lite_fleet.what_if([f"{U}/s0/c1", f"{U}/s0/c4"])
    best = damaged.memory_placement("u-trn2x64", "672 GiB", best=True)
    assert (best.radius, len(best.chips), best.candidates_tried) == (1, 7, 62)
    assert best.place not in (f"{U}/s0/c0", f"{U}/s0/c5")  # they lost neighbours
    most = lite_fleet.memory_placement("trn1.32xlarge", "1,000 GiB", best=True)
    assert (most.is_sufficient, most.memory.gibibytes) == (False, 512)
    with pytest.raises(InvalidArgumentError):
        lite_fleet.memory_placement(U, 0)


def test_what_is_of_one_domain_says_so(databases: Databases) -> None:
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"trn2": 3})) as fleet:
        for question in (fleet.split_profile, fleet.cut_tree):
            with pytest.raises(ScopeTooLargeError, match="one domain"):
                question("c-trn2")
        assert fleet.memory_placement("c-trn2", "500 GiB", best=True).candidates_tried == 16
        limits = fleet.collectives("c-trn2")
        assert limits.all_to_all.exact
        assert limits.all_to_all.upper == pytest.approx(
            47 * 25 * GB / 32, rel=1e-8
        )  # an island's exit over those beyond
        assert limits.all_gather.exact
