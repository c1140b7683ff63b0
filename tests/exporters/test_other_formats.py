"""hwloc, OpenMetrics, ASTRA-sim and BookSim: what they say, what they can't, and how their own readers take them."""

import subprocess
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import yaml
from prometheus_client.openmetrics import parser

import exporting
import programs
from conftest import Databases, Run
from exporting import exported
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql


@pytest.fixture
def lab(databases: Databases) -> str:
    return exporting.lab(databases)


def refused(run: Run, database: str, scope: str, name: str) -> str:
    status, out, error = run("topology", scope, "--as", name, database=database)
    assert (status, out) == (2, "")
    return error


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "chips"), [("lab/d0/s0", 16), ("lab/d1/s2", 15)])
def test_lstopo_draws_a_server_and_says_nothing(run: Run, lab: str, tmp_path: Path, scope: str, chips: int) -> None:
    programs.require("lstopo-no-graphics", packages="hwloc-nox")
    run("set", "lab/d1/s2/c3", "down", "--why", "it fell", database=lab)
    file = tmp_path / "server.xml"
    file.write_text(exported(run, lab, scope, "hwloc"))

    def lstopo(*options: str) -> str:
        command = ["lstopo-no-graphics", "-i", str(file), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout

    drawn = lstopo("--of", "console", "--whole-io")
    assert drawn.count("CoProc") == chips
    assert drawn.count("OpenFabrics") == 16
    assert drawn.count("PU L#") == 192
    assert "2048GB" in drawn
    distances = lstopo("--distances")
    assert "NeuronLinkBandwidth" in distances
    assert distances.count("128000") == 4 * (16 if chips == 16 else 14)


def test_a_whole_domain_is_no_machine(run: Run, lab: str) -> None:
    assert "has 4 servers, and hwloc describes one machine; name one, such as lab/d0/s0" in refused(
        run, lab, "lab/d0", "hwloc"
    )


def test_prometheus_own_parser_counts_what_is_in_which_state(run: Run, worn: BaseFleet) -> None:
    url = worn.engine.url.render_as_string(hide_password=False)
    text = exported(run, url, "u-trn2x64", "openmetrics")
    read: Any = parser.text_string_to_metric_families
    found = {family.name: family for family in read(text)}
    assert all(family.type == "gauge" and family.documentation for family in found.values())
    samples = {
        (sample.name, *sample.labels.values()): sample.value for family in found.values() for sample in family.samples
    }
    assert samples["trninv_servers", "u-trn2x64", "maintenance"] == 1
    assert samples["trninv_nodes", "u-trn2x64", "chip", "down"] == 1
    assert samples["trninv_nodes", "u-trn2x64", "chip", "maintenance"] == 16
    assert samples["trninv_nodes", "u-trn2x64", "chip", "up"] == 46
    assert samples["trninv_links", "u-trn2x64", "domain", "up"] == 64
    assert [key for key in samples if key[0] == "trninv_unhealthy"] == [
        ("trninv_unhealthy", "u-trn2x64/d0/s2", "server", "maintenance"),
        ("trninv_unhealthy", "u-trn2x64/d0/s0/c3", "chip", "down"),
        ("trninv_unhealthy", "u-trn2x64/d0/s1/c5", "chip", "degraded"),
    ]
    assert samples["trninv_event",] == 39  # seven changes, and 32 parts that a server took along


def test_astra_sim_has_a_ring_for_each_dimension_the_innermost_first(run: Run, lite: str) -> None:
    assert yaml.safe_load(exported(run, lite, "u-trn2x64", "astra-sim")) == {
        "topology": ["Ring", "Ring", "Ring"],
        "npus_count": [4, 4, 4],
        "bandwidth": [128e9 / 2**30, 128e9 / 2**30, 64e9 / 2**30],
        "latency": [2000.0, 2000.0, 2000.0],
    }


@pytest.mark.parametrize(
    ("scope", "why"),
    [
        ("trn3-gen2", "has the wiring switched, and ASTRA-sim needs a product of rings"),
        ("trn1.2xlarge", "has the wiring single"),
        ("u-trn2x64/d0/s0", "is not a complete torus of 4x4x4 now"),
        ("u-trn2x64", "is not a complete torus of 4x4x4 now"),
        ("trn1.32xlarge", "along one axis differ in bandwidth"),
    ],
)
def test_astra_sim_takes_nothing_but_whole_tori(run: Run, worn: BaseFleet, scope: str, why: str) -> None:
    assert why in refused(run, worn.engine.url.render_as_string(hide_password=False), scope, "astra-sim")


def test_several_domains_are_no_network_of_one_kind(run: Run, lab: str) -> None:
    for name in ("astra-sim", "booksim"):
        assert "lab has 3 domains" in refused(run, lab, "lab", name)


@pytest.mark.parametrize("scope", ["u-trn2x64", "trn3-gen1", "trn3-gen2", "trn1.32xlarge", "trn2-16.48xlarge/d0/s0"])
def test_booksim_has_the_routers_and_links_of_a_domain(run: Run, lite: str, lite_fleet: BaseFleet, scope: str) -> None:
    near: dict[int, list[int]] = {}
    nodes = []
    for line in exported(run, lite, scope, "booksim").splitlines():
        words = line.split()
        assert words[0] == "router"
        here, rest = int(words[1]), words[2:]
        if rest[0] == "node":
            nodes.append(int(rest[1]))
            rest = rest[2:]
        near[here] = [int(other) for other in rest[1::3]]
        assert rest[0::3] == ["router"] * len(near[here])
        assert rest[2::3] == ["1"] * len(near[here])
    kinds = dict(lite_fleet.graph(scope).nodes(data="kind"))
    wanted = lite_fleet.graph(scope).subgraph([name for name in kinds if str(kinds[name]) in ("chip", "switch")])
    assert list(near) == list(range(len(wanted)))
    assert nodes == list(range(list(kinds.values()).count("chip")))
    assert all(here in near[there] for here, others in near.items() for there in others)
    assert nx.is_isomorphic(nx.Graph((here, there) for here in near for there in near[here]), wanted)


def test_booksim_routes_between_all_or_not_at_all(run: Run, lite: str, lab: str) -> None:
    assert "trn1.2xlarge is not one connected network" in refused(run, lite, "trn1.2xlarge", "booksim")
    apart = [f"lab/d0/s0/c0--lab/d0/s{server}/c0" for server in (1, 3)]
    apart += [f"lab/d0/s0/c0--lab/d0/s0/c{chip}" for chip in (1, 3, 4, 12)]
    run("set", *apart, "down", "--why", "cut", database=lab)
    assert "lab/d0 is not one connected network" in refused(run, lab, "lab/d0", "booksim")
