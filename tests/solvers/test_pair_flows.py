"""Flows that are looked up by symmetry are those that a search finds, with the same cut."""

from itertools import product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from graphs import blueprint_graph, small_torus
from oracles import brute_force
from trninv.catalog.models import default_systems
from trninv.solvers.max_flow import FlowNetwork
from trninv.solvers.pair_flows import PairFlows
from trninv.solvers.symmetry import share_by_wiring
from trninv.topology.blueprint import without_nics

_SYSTEMS = {system.domain.slug: system for system in default_systems().systems}
"""One system of each domain model."""


@pytest.mark.slow
@pytest.mark.parametrize("model", _SYSTEMS)
def test_one_pair_of_every_orbit_of_every_model_against_networkx(model: str) -> None:
    graph = blueprint_graph(without_nics(_SYSTEMS[model].domain.blueprint))
    flows, network = PairFlows(graph), FlowNetwork.from_graph(graph)
    chips = [node for node, data in graph.nodes(data=True) if data["kind"] == "chip"]
    pairs_by_orbit: dict[int, list[tuple[int, int]]] = {}
    for pair in product(chips, repeat=2):
        if pair[0] != pair[1]:
            pairs_by_orbit.setdefault(flows._first_pair(*pair)[0], []).append(pair)
    assert len(pairs_by_orbit) == flows.orbit_count
    for pairs in pairs_by_orbit.values():
        for source, target in (pairs[0], pairs[len(pairs) // 2], pairs[-1]):
            value, cut = flows.minimum_cut(source, target)
            assert value == nx.maximum_flow_value(graph, source, target) == network.minimum_cut([source], [target])[0]
            assert sorted(cut) == network.cut_links([source], [target])[1]
            assert value == sum(graph.edges[link]["capacity"] for link in cut)


@examples(40)
@given(st.dictionaries(st.integers(0, 11), st.integers(0, 3), max_size=3), st.sets(st.integers(0, 7), max_size=2))
def test_every_pair_of_a_damaged_torus_has_the_flow_and_cut_of_a_search(
    changes: dict[int, int], lost: set[int]
) -> None:
    graph = small_torus(changes)
    graph.remove_nodes_from(lost)
    flows, network = PairFlows(graph), FlowNetwork.from_graph(graph)
    for source, target in product(graph, repeat=2):
        if source != target:
            value, cut = flows.minimum_cut(source, target)
            assert (value, sorted(cut)) == network.cut_links([source], [target])
            assert value == nx.maximum_flow_value(graph, source, target)


def test_the_cut_separates_the_pair() -> None:
    graph = small_torus({})
    flows = PairFlows(graph)
    for source, target in product(graph, repeat=2):
        if source != target:
            value, cut = flows.minimum_cut(source, target)
            apart = graph.copy()
            apart.remove_edges_from(cut)
            assert not nx.has_path(apart, source, target)
            assert value == brute_force.minimum_cut(graph, [source], [target])


def test_equal_wirings_share_a_table() -> None:
    graph = small_torus({})
    assert share_by_wiring(PairFlows, graph) is share_by_wiring(PairFlows, graph.copy())
    assert share_by_wiring(PairFlows, graph) is not share_by_wiring(PairFlows, small_torus({3: 5}))
