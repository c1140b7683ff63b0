"""Hops between all pairs of chips, compared with the whole graph."""

import itertools
from collections import Counter

import networkx as nx
import pytest

import trninv
from conftest import Databases
from graphs import chips_in, domain, seed_clusters
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
U = "u-trn2x64/d0"


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
