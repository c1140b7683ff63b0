"""What a sweep measures of a graph, as its solvers answer."""

from hypothesis import given

from conftest import examples
from graphs import chips_in, graphs
from oracles import brute_force
from trninv.solvers.bisection import MAX_NODES
from trninv.solvers.distances import hops_from
from trninv.solvers.graph import Graph
from trninv.solvers.graph_measures import MeasureTask, SweepMeasure, measure_task


def _measure(graph: Graph, measure: SweepMeasure, failure: tuple[tuple[int, ...], ...] = ()) -> tuple[int, int]:
    return measure_task(MeasureTask.from_graph(graph, chips_in(graph), 0, failure, measure, MAX_NODES))


@examples(40)
@given(graphs(chips=6))
def test_bisection_and_diameter_are_those_of_the_graph(graph: Graph) -> None:
    chips = chips_in(graph)
    least = brute_force.bisection(graph, chips)
    assert _measure(graph, SweepMeasure.BISECTION) == (least, least)
    hops = [hops_from(graph, [chip]).get(other) for chip in chips for other in chips]
    if None not in hops:
        diameter = max(filter(None, hops), default=0)
        assert _measure(graph, SweepMeasure.DIAMETER) == (diameter, diameter)


@examples(40)
@given(graphs(chips=6))
def test_a_failure_is_measured_as_the_graph_without_its_parts(graph: Graph) -> None:
    chips = chips_in(graph)
    without = Graph(graph.subgraph(set(graph) - {chips[0]}))
    failed = MeasureTask.from_graph(graph, chips, 0, ((chips[0],),), SweepMeasure.BISECTION, MAX_NODES)
    least = brute_force.bisection(without, chips[1:]) if len(chips) > 1 else 0
    assert measure_task(failed) == (least, least)


def test_equal_tasks_have_equal_keys_and_others_not() -> None:
    graph = Graph([(1, 2)])
    graph.add_nodes_from([1, 2], kind="chip", position=None)
    graph.edges[1, 2]["capacity"] = 3
    tasks = [
        MeasureTask.from_graph(graph, [1, 2], 0, (), measure, MAX_NODES).key
        for measure in (SweepMeasure.BISECTION, SweepMeasure.BISECTION, SweepMeasure.DIAMETER)
    ]
    assert tasks[0] == tasks[1] != tasks[2]
