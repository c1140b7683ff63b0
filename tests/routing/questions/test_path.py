"""Paths, compared with all simple paths."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice, pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import chips_in, count_best, domain, graphs
from oracles import brute_force
from trninv.routing.fleet import BaseFleet
from trninv.solvers.graph import Graph
from trninv.solvers.max_flow import disjoint_paths
from trninv.solvers.shortest_paths import (
    NodePath,
    PathCriterion,
    PathMetric,
    PathsToTarget,
    all_best_paths,
    best_paths,
    widest_capacities,
)

MESSAGE = 3


def _rank(graph: Graph, path: NodePath, metric: PathMetric) -> tuple[float | Fraction, ...]:
    hops = len(path) - 1
    if metric is PathMetric.TIME:
        narrowest = brute_force.narrowest(graph, path)
        latency = sum(graph.edges[edge]["latency"] for edge in pairwise(path))
        return (latency + (Fraction(MESSAGE * 10**9, int(narrowest)) if hops else 0), hops, -narrowest)
    return (-brute_force.narrowest(graph, path), hops) if metric is PathMetric.BANDWIDTH else (hops,)


def _places(graph: Graph, data: st.DataObject) -> tuple[Sequence[int], Sequence[int]]:
    nodes = st.lists(st.sampled_from(sorted(graph)), min_size=1, max_size=3, unique=True)
    return data.draw(nodes), data.draw(nodes)


@pytest.mark.parametrize("metric", list(PathMetric))
@given(graph=graphs(), data=st.data())
def test_all_paths_in_order(graph: Graph, metric: PathMetric, data: st.DataObject) -> None:
    sources, targets = _places(graph, data)
    every = set(brute_force.paths(graph, sources, targets))
    wanted = sorted((_rank(graph, path, metric), path) for path in every)
    found = list(best_paths(graph.adj, sources, targets, PathCriterion(metric, MESSAGE)))
    assert [(_rank(graph, path, metric), path) for path in found] == wanted
    best = [rank for rank, _ in wanted if rank == wanted[0][0]]
    assert count_best(graph.adj, sources, targets, PathCriterion(metric, MESSAGE)) == len(best)


@given(graph=graphs(), data=st.data())
def test_paths_toward_a_node_are_the_best_ones(graph: Graph, data: st.DataObject) -> None:
    source, target = (data.draw(st.sampled_from(sorted(graph))) for _ in range(2))
    wide = widest_capacities(graph.adj, [target])
    assert wide.keys() == nx.node_connected_component(graph, target) - {target}
    for metric in (PathMetric.HOPS, PathMetric.BANDWIDTH):
        rule = PathCriterion(metric)
        best = next(best_paths(graph.adj, [source], [target], rule), ())
        floor = wide.get(source, 0) if metric is PathMetric.BANDWIDTH else 0
        assert not floor or floor == brute_force.narrowest(graph, best)
        ways = PathsToTarget.from_links(graph.adj, target, floor)
        assert ways.path(source) == best
        assert ways.path_counts.get(source, 0) == count_best(graph.adj, [source], [target], rule)


@given(graph=graphs(), data=st.data())
def test_answers_do_not_depend_on_the_order_of_rows(graph: Graph, data: st.DataObject) -> None:
    sources, targets = _places(graph, data)
    shuffled = Graph()
    shuffled.add_nodes_from(data.draw(st.permutations(list(graph.nodes(data=True)))))
    shuffled.add_edges_from(data.draw(st.permutations([(b, a, edge) for a, b, edge in graph.edges(data=True)])))
    for metric in PathMetric:
        found = [
            list(islice(best_paths(g.adj, sources, targets, PathCriterion(metric, MESSAGE)), 5))
            for g in (graph, shuffled)
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize("scope", ["trn1.32xlarge", "u-trn2x64", "trn3-gen1", "trn3-gen2"])
def test_agrees_with_networkx_on_seeded_systems(lite_fleet: BaseFleet, scope: str) -> None:
    graph = domain(lite_fleet, scope)
    chips = chips_in(graph)
    distance = dict(nx.all_pairs_shortest_path_length(graph))
    widest_tree = nx.maximum_spanning_tree(graph, weight="capacity")
    for source, target in zip(chips[::7], reversed(chips[::5]), strict=False):
        if source != target:
            shortest = next(best_paths(graph.adj, [source], [target], PathCriterion(PathMetric.HOPS)))
            assert len(shortest) - 1 == distance[source][target]
            assert nx.is_simple_path(graph, shortest)
            assert count_best(graph.adj, [source], [target], PathCriterion(PathMetric.HOPS)) == sum(
                1 for _ in nx.all_shortest_paths(graph, source, target)
            )
            widest = next(best_paths(graph.adj, [source], [target], PathCriterion(PathMetric.BANDWIDTH)))
            along_tree = nx.shortest_path(widest_tree, source, target)
            assert brute_force.narrowest(graph, widest) == min(graph.edges[e]["capacity"] for e in pairwise(along_tree))


def test_nothing_leads_to_a_place_that_is_down() -> None:
    graph = Graph()
    graph.add_edge(1, 2, capacity=1)
    assert list(best_paths(graph.adj, [1], [9], PathCriterion(PathMetric.HOPS))) == []
    assert count_best(graph.adj, [9], [1], PathCriterion(PathMetric.BANDWIDTH)) == 0


@pytest.mark.parametrize("metric", list(PathMetric))
@given(graph=graphs(), data=st.data())
def test_the_graph_of_all_best_paths(graph: Graph, metric: PathMetric, data: st.DataObject) -> None:
    """Every link's count is that of the best paths over it, and what leaves a node is what came in."""
    sources, targets = _places(graph, data)
    ranked = [(_rank(graph, path, metric), path) for path in brute_force.paths(graph, sources, targets)]
    best = [path for rank, path in ranked if rank == min(ranked)[0]]
    ways = all_best_paths(graph.adj, sources, targets, PathCriterion(metric, MESSAGE))
    if ways is None:
        assert not best
        return
    assert ways.count == len(best)
    assert ways.flow == Counter(edge for path in best for edge in pairwise(path))
    for node in graph:
        into, out = (sum(share for ends, share in ways.share.items() if ends[i] == node) for i in (1, 0))
        if node in {path[0] for path in best} and ways.share:
            assert (into, out) == (0, Fraction(1, len({path[0] for path in best})))
        elif node not in targets:
            assert into == out
    assert not ways.share or sum(share for (_, b), share in ways.share.items() if b in targets) == 1


@pytest.mark.parametrize("nodes", [False, True])
@given(graph=graphs(), data=st.data())
def test_disjoint_paths_are_as_many_as_a_cut_allows(graph: Graph, nodes: bool, data: st.DataObject) -> None:
    source, target = data.draw(st.lists(st.sampled_from(sorted(graph)), min_size=2, max_size=2, unique=True))
    found = disjoint_paths(graph.adj, [source], [target], by_node=nodes, max_paths=99)
    if found:  # fewer are as short as so few can be: one is a shortest path
        (one,) = disjoint_paths(graph.adj, [source], [target], by_node=nodes, max_paths=1)
        assert len(one) - 1 == nx.shortest_path_length(graph, source, target)
    assert all(nx.is_simple_path(graph, path) and (path[0], path[-1]) == (source, target) for path in found)
    used = [frozenset(edge) for path in found for edge in pairwise(path)]
    assert len(used) == len(set(used))
    if nodes:
        inner = [node for path in found for node in path[1:-1]]
        assert len(inner) == len(set(inner))
        direct = graph.has_edge(source, target)
        rest = graph.copy()
        rest.remove_edges_from([(source, target)])
        assert len(found) == direct + nx.node_connectivity(rest, source, target)
    else:
        assert len(found) == nx.edge_connectivity(graph, source, target)
