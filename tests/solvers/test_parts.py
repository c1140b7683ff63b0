"""Bisections of graphs in several parts: whole parts if their sizes allow it, otherwise the cheapest cut of one."""

from itertools import combinations

import networkx as nx
from hypothesis import given

from conftest import examples
from graphs import chips_in, graphs
from oracles import brute_force
from trninv.solvers.graph import Graph, cut_capacity
from trninv.solvers.parts import bisect_parts, connected_parts, whole_parts_cut


@examples(60)
@given(graphs(chips=7, switches=1))
def test_a_split_of_parts_is_the_bisection(graph: Graph) -> None:
    chips = chips_in(graph)
    parts = connected_parts(graph, chips)
    components = [component for component in nx.connected_components(graph) if component.intersection(chips)]
    assert sorted(sorted(part.endpoints) for part in parts) == sorted(sorted(c.intersection(chips)) for c in components)
    low, high = len(chips) // 2, len(chips) - len(chips) // 2
    free = whole_parts_cut(graph, parts, low, high)
    sizes = [len(part.endpoints) for part in parts]
    sums = {sum(some) for count in range(len(sizes) + 1) for some in combinations(sizes, count)}
    assert (free is not None) == bool(sums.intersection(range(low, high + 1)))
    cut = free or bisect_parts(graph, parts, low, high)
    assert cut.lower == cut.upper == cut_capacity(graph, cut.side) == brute_force.bisection(graph, chips)
