"""The best paths by hops, bandwidth and time, compared with every simple path."""

from hypothesis import given
from hypothesis import strategies as st

from graphs import graphs
from oracles import brute_force
from trninv.solvers.graph import Graph
from trninv.solvers.shortest_paths import (
    PathCriterion,
    PathMetric,
    PathsToTarget,
    all_best_paths,
    best_paths,
    path_cost,
    widest_capacities,
)

_CRITERIA = st.sampled_from(
    [PathCriterion(PathMetric.HOPS), PathCriterion(PathMetric.BANDWIDTH), PathCriterion(PathMetric.TIME, 6)]
)


def _ends(graph: Graph, data: st.DataObject) -> tuple[int, int]:
    source, target = data.draw(st.permutations(sorted(graph)))[:2]
    return source, target


@given(graphs(), _CRITERIA, st.data())
def test_paths_come_in_the_order_of_their_cost_and_none_is_missing(
    graph: Graph, criterion: PathCriterion, data: st.DataObject
) -> None:
    (source, target), links = _ends(graph, data), dict(graph.adjacency())
    wanted = sorted((path_cost(links, path, criterion), path) for path in brute_force.paths(graph, [source], [target]))
    found = [path for path, _ in zip(best_paths(links, [source], [target], criterion), range(4), strict=False)]
    assert [path_cost(links, path, criterion) for path in found] == [cost for cost, _ in wanted[:4]]
    assert len(set(found)) == len(found)
    assert set(found) <= {path for _, path in wanted}


@given(graphs(), _CRITERIA, st.data())
def test_the_count_of_tied_paths_is_theirs(graph: Graph, criterion: PathCriterion, data: st.DataObject) -> None:
    (source, target), links = _ends(graph, data), dict(graph.adjacency())
    costs = [path_cost(links, path, criterion) for path in brute_force.paths(graph, [source], [target])]
    dag = all_best_paths(links, [source], [target], criterion)
    assert (dag.count if dag else 0) == costs.count(min(costs, default=()))


@given(graphs(), st.data())
def test_paths_to_one_target_agree_with_a_search_from_each_source(graph: Graph, data: st.DataObject) -> None:
    links = dict(graph.adjacency())
    target = data.draw(st.sampled_from(sorted(graph)))
    cached, hops = PathsToTarget.from_links(links, target), PathCriterion(PathMetric.HOPS)
    for source in sorted(graph):
        best = next(iter(best_paths(links, [source], [target], hops)), None)
        if best is None or source == target:
            continue
        dag = all_best_paths(links, [source], [target], hops)
        assert dag is not None
        assert cached.path(source) == best
        assert cached.all_paths(source).count == dag.count


@given(graphs(), st.data())
def test_the_widest_path_is_the_widest_of_all(graph: Graph, data: st.DataObject) -> None:
    targets = sorted(data.draw(st.sets(st.sampled_from(sorted(graph)), min_size=1, max_size=2)))
    widths = widest_capacities(dict(graph.adjacency()), targets)
    for node in set(graph) - set(targets):
        paths = list(brute_force.paths(graph, [node], targets))
        assert widths.get(node) == (max(brute_force.narrowest(graph, path) for path in paths) if paths else None)
