"""Laws that hold for any graph: more capacity never carries less, and names do not matter."""

from collections.abc import Callable

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from graphs import chips_in, count_best, graphs
from trninv.solvers.bisection import bisect
from trninv.solvers.collectives import all_gather_rate, max_concurrent_flow
from trninv.solvers.distances import hops_from, widest_from
from trninv.solvers.graph import Graph
from trninv.solvers.max_flow import gomory_hu_tree, minimum_cut, minimum_edge
from trninv.solvers.shortest_paths import PathCriterion, PathMetric, best_paths


def _measures(graph: Graph, fillers: int) -> dict[str, float]:
    """What grows with capacity."""
    ends = chips_in(graph)
    weights = dict.fromkeys(ends, 1)
    rate = all_gather_rate(graph, weights)
    widest = widest_from(graph, ends[:1])
    return {
        "nominal bisection": bisect(graph, ends, fillers=fillers).upper,
        "flow": minimum_cut(graph, ends[:1], ends[1:2])[0],
        "widest path": widest.get(ends[1], 0),
        "worst flow": minimum_edge(gomory_hu_tree(graph), set(ends))[0],
        "all-gather": float(rate.rate) if rate else 0.0,
        "all-to-all": max_concurrent_flow(graph, weights).lower,
    }


@examples(60)
@given(graph=graphs(chips=6), data=st.data())
def test_adding_capacity_never_lowers_what_flows(graph: Graph, data: st.DataObject) -> None:
    fillers = data.draw(st.integers(min_value=0, max_value=2))
    before = _measures(graph, fillers)
    pairs = [(a, b) for a in graph for b in graph if a < b]
    a, b = data.draw(st.sampled_from(pairs))
    more = graph.copy()
    had = more.edges[a, b]["capacity"] if more.has_edge(a, b) else 0
    more.add_edge(a, b, id=99, latency=1, capacity=had + data.draw(st.integers(min_value=1, max_value=3)))
    after = _measures(more, fillers)
    assert all(after[name] >= value * (1 - 1e-9) for name, value in before.items())


@examples(60)
@given(graph=graphs(chips=6), data=st.data())
def test_names_do_not_matter(graph: Graph, data: st.DataObject) -> None:
    image = {node: 1_000 + at for at, node in enumerate(data.draw(st.permutations(sorted(graph))))}
    other: Graph = nx.relabel_nodes(graph, image)
    ends = chips_in(graph)
    weights = dict.fromkeys(ends, 1)

    def same(measure: Callable[[Graph, dict[int, int]], object]) -> bool:
        return measure(graph, weights) == measure(other, {image[end]: 1 for end in ends})

    assert same(lambda g, w: bisect(g, list(w)).upper)
    assert same(lambda g, w: getattr(all_gather_rate(g, w), "rate", None))
    assert same(lambda g, w: minimum_edge(gomory_hu_tree(g), set(w))[0])
    for metric in PathMetric:
        rule = PathCriterion(metric, 5)
        here = (graph.adj, [ends[0]], [ends[1]])
        there = (other.adj, [image[ends[0]]], [image[ends[1]]])
        assert count_best(*here, rule) == count_best(*there, rule)
        lengths = [[len(path) for path in best_paths(*places, rule)] for places in (here, there)]
        assert lengths[0] == lengths[1]


@given(graph=graphs())
def test_hops_add_up(graph: Graph) -> None:
    """Neighbours are at most one hop further, and no way is shorter than the distance."""
    for source in graph:
        hops = hops_from(graph, [source])
        assert all(abs(hops[a] - hops[b]) <= 1 for a, b in graph.edges if a in hops)
        assert hops == nx.single_source_shortest_path_length(graph, source)
