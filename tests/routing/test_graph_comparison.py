"""A graph that a user brings, compared with the wiring that the inventory has."""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import pytest

import trninv
from conftest import Databases, wear
from trninv.errors import AddressError, InvalidArgumentError, UnknownAddressError
from trninv.placement.placement_fleet import Fleet
from trninv.routing.graph_comparison import DifferentBandwidth, GraphLink, compare_graphs
from trninv.units import Bandwidth

D = "u-trn2x64/d0"
GB = 10**9


@pytest.fixture(scope="module")
def worn_fleet(databases: Databases) -> Iterator[Fleet]:
    url = databases.seeded("sqlite")
    wear(url)
    with trninv.open(url) as fleet:
        yield fleet
    databases.drop(url)


@pytest.mark.parametrize("scope", [D, f"{D}/s0", "trn3-gen1/d0/s0", "trn1.32xlarge"])
def test_the_graph_of_the_inventory_is_equal(worn_fleet: Fleet, scope: str) -> None:
    graph = worn_fleet.graph(scope)
    answer = worn_fleet.check_against(graph, scope)
    assert answer.is_equal
    assert answer.compared == graph.number_of_edges()
    assert repr(answer).endswith(f"the graph is that of the inventory, {answer.compared} links")


def test_what_is_missing_extra_and_different_is_listed(worn_fleet: Fleet) -> None:
    graph = worn_fleet.graph(D)
    graph.remove_node(f"{D}/s0/efa0")
    graph.remove_edge(f"{D}/s0/c1", f"{D}/s0/c0")
    graph.add_edge("<b>", f"{D}/s0/c0", bandwidth=GB)
    graph.edges[f"{D}/s3/c1", f"{D}/s3/c0"]["bandwidth"] = "100 GB/s"
    answer = worn_fleet.check_against(graph)
    assert (answer.scope, answer.missing_nodes, answer.extra_nodes) == (D, (f"{D}/s0/efa0",), ("<b>",))
    assert GraphLink(f"{D}/s0/c0", f"{D}/s0/c1") in answer.missing_links
    assert len(answer.missing_links) == 2  # the NIC's, too
    assert answer.extra_links == (GraphLink("<b>", f"{D}/s0/c0"),)
    assert answer.different == (
        DifferentBandwidth(f"{D}/s3/c0", f"{D}/s3/c1", Bandwidth(128 * GB), Bandwidth(100 * GB)),
    )
    assert not answer.is_equal
    assert "missing 1 node and 2 links; extra 1 node and 1 link" in repr(answer)
    assert "&lt;b&gt;" in answer._repr_html_()
    assert "<b>" not in answer._repr_html_()
    assert answer.to_arrow("different").to_pylist()[0]["graph_bytes_per_s"] == 100 * GB
    assert answer.to_dict()["is_equal"] is False


def test_a_failed_part_is_none_of_the_inventory_but_of_an_earlier_time(worn_fleet: Fleet) -> None:
    design = worn_fleet.at(0).graph(D)
    assert f"{D}/s0/c3" in worn_fleet.check_against(design).extra_nodes
    assert worn_fleet.at(0).check_against(design).is_equal


A, B = f"{D}/s3/c0", f"{D}/s3/c1"


@pytest.mark.parametrize(
    ("value", "tolerance", "is_equal"),
    [
        (128 * GB, 0.0, True),
        (128 * GB - 1, 0.0, False),
        (96 * GB, 0.25, True),  # just within
        (96 * GB - 1, 0.25, False),
        (160 * GB, 0.25, True),
        (160 * GB + 1, 0.25, False),
        ("128 GB/s", 0.0, True),
        (None, 0.0, True),
        (128.0 * GB, 0.0, True),
    ],
)
def test_a_bandwidth_may_differ_by_the_tolerance(value: object, tolerance: float, is_equal: bool) -> None:
    inventory: Any = nx.Graph([(A, B, {"bandwidth": 128 * GB})])
    graph: Any = nx.Graph([(B, A, {"measured": value})])
    assert compare_graphs(D, inventory, graph, "measured", tolerance).is_equal is is_equal


def test_parallel_edges_add_up_and_directions_are_compared() -> None:
    inventory = nx.Graph([(A, B, {"bandwidth": 128 * GB})])
    parallel: Any = nx.MultiGraph([(A, B, {"bandwidth": 64 * GB}), (B, A, {"bandwidth": 64 * GB})])
    assert compare_graphs(D, inventory, parallel).is_equal
    directed = nx.DiGraph([(A, B, {"bandwidth": 128 * GB}), (B, A, {"bandwidth": 100 * GB})])
    assert [(link.a, link.b) for link in compare_graphs(D, inventory, directed).different] == [(B, A)]


@pytest.mark.parametrize("value", ["fast", "-1", -1, float("nan"), float("inf"), [], "1 GiB", 10**400])
def test_a_bandwidth_that_is_none_is_refused(value: object) -> None:
    inventory = nx.Graph([(A, B, {"bandwidth": 128 * GB})])
    with pytest.raises(InvalidArgumentError, match="is not a bandwidth"):
        compare_graphs(D, inventory, nx.Graph([(A, B, {"bandwidth": value})]))


def test_what_is_no_graph_and_what_has_no_place_is_refused(worn_fleet: Fleet) -> None:
    graphs: list[Any] = [{}, None, [(A, B)], "u-trn2x64"]
    for graph in graphs:
        with pytest.raises(InvalidArgumentError, match="is not a graph of networkx"):
            worn_fleet.check_against(graph, D)
    for nodes in ([], ["a", "b"], [A, "lab/d0/s0/c0"]):
        with pytest.raises(InvalidArgumentError, match="name the scope"):
            worn_fleet.check_against(nx.empty_graph(nodes))
    with pytest.raises((UnknownAddressError, AddressError)):
        worn_fleet.check_against(nx.empty_graph(["nowhere/d0/s0/c0"]))
    with pytest.raises(InvalidArgumentError, match="tolerance"):
        worn_fleet.check_against(nx.Graph([(A, B)]), tolerance=1.0)
    assert worn_fleet.check_against(nx.empty_graph([1, (2, 3)]), f"{D}/s0/c0").extra_nodes == ("(2, 3)", "1")
