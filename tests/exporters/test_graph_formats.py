"""Graph formats: networkx, igraph and trninv's own reader find the same graph as the database holds."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import trninv
from conftest import Databases, Run, wear
from exporting import exported
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql

U = "u-trn2x64/d0"
Read = Callable[[str], "nx.Graph[str]"]


def _of_jgf(text: str) -> "nx.Graph[str]":
    of = json.loads(text)["graph"]
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from((name, node["metadata"]) for name, node in of["nodes"].items())
    graph.add_edges_from((edge["source"], edge["target"], edge["metadata"]) for edge in of["edges"])
    return graph


READERS: dict[str, Read] = {
    "graphml": lambda text: nx.read_graphml(io.BytesIO(text.encode())),
    "gexf": lambda text: nx.read_gexf(io.BytesIO(text.encode())),
    "node-link": lambda text: nx.node_link_graph(json.loads(text), edges="edges"),
    "jgf": _of_jgf,
}


@pytest.fixture(scope="module")
def broken(databases: Databases) -> Iterator[BaseFleet]:
    """A fleet in which not everything is up."""
    url = databases.seeded("sqlite")
    wear(url)
    with trninv.open(url) as opened:
        yield opened


def edges(graph: Any, bandwidth: str) -> set[tuple[frozenset[str], int]]:
    return {(frozenset((a, b)), of[bandwidth]) for a, b, of in graph.edges(data=True)}


def kinds(graph: Any) -> dict[str, str]:
    """Of nodes with links: a NIC whose chip is down has none, and routing forgets it."""
    return {name: kind for name, kind in graph.nodes(data="kind") if graph.degree(name)}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("scope", ["u-trn2x64", "trn3-gen1", "trn1.2xlarge", "trn1.32xlarge"])
def test_networkx_reads_the_graph_that_routing_uses(run: Run, broken: BaseFleet, name: str, scope: str) -> None:
    url = broken.engine.url.render_as_string(hide_password=False)
    found, wanted = READERS[name](exported(run, url, scope, name)), broken.graph(scope)
    assert kinds(found) == kinds(wanted)
    assert edges(found, "bandwidth_bytes_per_s") == edges(wanted, "bandwidth")


@pytest.mark.parametrize("name", READERS)
def test_what_is_down_is_there_on_request_and_carries_nothing(run: Run, broken: BaseFleet, name: str) -> None:
    url = broken.engine.url.render_as_string(hide_password=False)
    found = READERS[name](exported(run, url, "u-trn2x64", name, "--include-down"))
    assert found.nodes[f"{U}/s0/c3"]["state"] == "down"
    assert found.nodes[f"{U}/s2/c0"]["state"] == "maintenance"
    assert (len(found), found.number_of_edges()) == (128, 256)
    assert found.edges[f"{U}/s0/c3", f"{U}/s0/c2"]["bandwidth_bytes_per_s"] == 0
    assert f"{U}/s0/c3" not in READERS[name](exported(run, url, "u-trn2x64", name))


@pytest.mark.parametrize(("scope", "nodes"), [(f"{U}/s1", 32), ("u-trn2x64/r0", 64), (f"{U}/s1/c3", 1)])
def test_a_part_has_the_links_within_it(run: Run, lite: str, scope: str, nodes: int) -> None:
    found = _of_jgf(exported(run, lite, scope, "jgf"))
    assert len(found) == nodes
    whole = _of_jgf(exported(run, lite, "u-trn2x64", "jgf")).subgraph(found)
    assert edges(found, "bandwidth_bytes_per_s") == edges(whole, "bandwidth_bytes_per_s")


def test_the_fabric_is_in_the_graph_of_a_cluster(run: Run, empty: str) -> None:
    run("migrate", database=empty)
    run("seed", "trn1.32xlarge", "--name", "lab", "--domains", "2", database=empty)
    found = _of_jgf(exported(run, empty, "lab", "jgf"))
    assert nx.is_connected(found)
    assert list(kinds(found).values()).count("network_node") == 3


@pytest.mark.slow
def test_igraph_reads_the_graph_that_routing_uses(run: Run, lite_fleet: BaseFleet, lite: str, tmp_path: Path) -> None:
    import igraph  # noqa: PLC0415 # only where it is used

    (tmp_path / "gen2.graphml").write_text(exported(run, lite, "trn3-gen2", "graphml"))
    found = igraph.Graph.Read_GraphML(str(tmp_path / "gen2.graphml"))
    wanted = lite_fleet.graph("trn3-gen2")
    assert dict(zip(found.vs["id"], found.vs["kind"], strict=True)) == dict(wanted.nodes(data="kind"))
    ends = (frozenset(found.vs[end]["id"] for end in edge.tuple) for edge in found.es)
    assert set(zip(ends, found.es["bandwidth_bytes_per_s"], strict=True)) == edges(wanted, "bandwidth")
