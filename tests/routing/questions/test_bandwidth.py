"""Flow, cut and reach, compared with slow and obvious oracles."""

from collections.abc import Sequence

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphs import chips_in, domain, graphs
from oracles import brute_force
from trninv.routing.fleet import BaseFleet
from trninv.solvers.distances import hops_from, widest_from
from trninv.solvers.graph import Graph
from trninv.solvers.max_flow import minimum_cut, set_to_set_flow

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9


def _two_places(graph: Graph, data: st.DataObject) -> tuple[Sequence[int], Sequence[int]]:
    nodes = data.draw(st.permutations(sorted(graph)))
    assume(len(nodes) >= 2)
    first = data.draw(st.integers(min_value=1, max_value=min(3, len(nodes) - 1)))
    return nodes[:first], nodes[first : first + 2]


@given(graph=graphs(), data=st.data())
def test_flow_is_the_least_cut(graph: Graph, data: st.DataObject) -> None:
    sources, targets = _two_places(graph, data)
    value, side = minimum_cut(graph, sources, targets)
    assert value == brute_force.minimum_cut(graph, sources, targets) == brute_force.cut(graph, side)
    assert set(sources) <= side
    assert not side.intersection(targets)


@given(graph=graphs(), data=st.data(), more=st.integers(min_value=1, max_value=5))
def test_capacity_never_lowers_a_flow_or_a_widest_path(graph: Graph, data: st.DataObject, more: int) -> None:
    sources, targets = _two_places(graph, data)
    assume(graph.number_of_edges() > 0)
    a, b = data.draw(st.sampled_from(sorted(graph.edges)))
    wider = graph.copy()
    wider.edges[a, b]["capacity"] += more
    assert minimum_cut(wider, sources, targets)[0] >= minimum_cut(graph, sources, targets)[0]
    before, after = widest_from(graph, sources), widest_from(wider, sources)
    assert before.keys() == after.keys()
    assert all(after[node] >= width for node, width in before.items())


@given(graph=graphs(), data=st.data())
def test_reach(graph: Graph, data: st.DataObject) -> None:
    sources, _ = _two_places(graph, data)
    hops, widest = hops_from(graph, sources), widest_from(graph, sources)
    for node in graph:
        found = list(brute_force.paths(graph, sources, [node]))
        if node in sources:
            assert hops[node] == 0
            assert node not in widest
        elif found:
            assert hops[node] == min(len(path) - 1 for path in found)
            assert widest[node] == max(brute_force.narrowest(graph, path) for path in found)
        else:
            assert node not in hops
            assert node not in widest


@pytest.mark.parametrize(
    ("scope", "ports"),
    [("trn1.32xlarge", 192), ("trn2-16.48xlarge", 512), ("u-trn2x64", 640), ("trn3-gen1", 704), ("trn3-gen2", 704)],
)
def test_the_worst_connected_chips_have_all_their_ports(lite_fleet: BaseFleet, scope: str, ports: int) -> None:
    """Gomory-Hu of a healthy domain: every pair of chips gets the ports of one chip."""
    graph = domain(lite_fleet, scope)
    chips = chips_in(graph)
    for chip in chips[1::9]:
        assert minimum_cut(graph, chips[:1], [chip])[0] == ports * GB
    assert set_to_set_flow(graph, chips[1:], chips[:1]) == ports * GB


def test_a_place_that_is_down_gets_nothing(fleet: BaseFleet) -> None:
    graph = domain(fleet, "trn1.32xlarge")
    chip = chips_in(graph)[0]
    graph.remove_node(chip)
    assert minimum_cut(graph, [chip], chips_in(graph)[:1])[0] == 0
    assert hops_from(graph, [chip]) == {}


def test_agrees_with_a_second_flow_algorithm(lite_fleet: BaseFleet) -> None:
    graph = domain(lite_fleet, "trn3-gen2")
    chips = chips_in(graph)
    one, other = chips[:4], chips[-8:]
    joined = graph.copy()
    for end, nodes in (("s", one), ("t", other)):
        joined.add_edges_from((end, node) for node in nodes)
    flow = nx.maximum_flow_value(joined, "s", "t", flow_func=nx.algorithms.flow.dinitz)
    assert minimum_cut(graph, one, other)[0] == flow
