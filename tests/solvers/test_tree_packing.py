"""Packed trees bound every cut from below, and tabu search finds cuts from above."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from conftest import examples
from graphs import chips_in, graphs
from oracles import brute_force
from trninv.solvers.graph import NO_TARGET, Cut, Graph, cut_capacity
from trninv.solvers.integer_programs import bisect_by_ilp
from trninv.solvers.path_trees import subtree_weights
from trninv.solvers.tree_packing import CutProblem, pack_trees, shortest_path_trees, tabu_search


@examples(40)
@given(graphs(chips=6), st.data())
def test_a_packing_bounds_the_bisection_and_the_integer_program_meets_it(graph: Graph, data: st.DataObject) -> None:
    chips = chips_in(graph)
    assume(graph.number_of_edges())
    half = len(chips) // 2
    least = brute_force.bisection(graph, chips)
    problem = CutProblem.from_graph(graph, chips)
    packing = pack_trees(problem, half, NO_TARGET)
    assert packing.bound <= least
    side = frozenset(data.draw(st.permutations(chips))[:half])
    incumbent = Cut.from_side(graph, side, "drawn", 0)
    solved = bisect_by_ilp(problem, (half, len(chips) - half), incumbent, packing.trees, 5_000)
    assert solved.lower == solved.upper == least == cut_capacity(graph, solved.side)


@examples(40)
@given(graphs(chips=6, switches=0), st.data())
def test_tabu_search_returns_a_split_of_the_size_that_is_no_worse_than_its_start(
    graph: Graph, data: st.DataObject
) -> None:
    chips = chips_in(graph)
    problem = CutProblem.from_graph(graph, chips)
    size = data.draw(st.integers(1, len(chips) - 1))
    start = problem.mask(data.draw(st.permutations(chips))[:size])
    best = tabu_search(problem, [start])
    assert int(best.sum()) == size
    assert brute_force.bisection(graph, chips) <= problem.cut_capacity(best) or size != len(chips) // 2
    assert problem.cut_capacity(best) <= problem.cut_capacity(start)


def test_a_graph_in_two_parts_has_no_tree() -> None:
    graph = Graph()
    graph.add_nodes_from([1, 2], kind="chip")
    problem = CutProblem.from_graph(graph, [1, 2])
    assert shortest_path_trees(problem, np.zeros(0), 1) is None
    assert pack_trees(problem, 1, NO_TARGET).bound == 0


def test_a_node_is_below_every_edge_of_its_path_from_the_root() -> None:
    arcs = np.array([[0, 1, 0], [1, 0, 0], [0, 2, 1], [2, 0, 1], [1, 2, 2], [2, 1, 2]])
    below = subtree_weights(arcs, np.array([1.0, 5.0, 1.0]), np.array([0, 2]), np.array([1, 1, 4]))
    assert below is not None
    assert below.tolist() == [[5, 0, 4], [1, 0, 2]]
