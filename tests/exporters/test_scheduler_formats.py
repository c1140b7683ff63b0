"""Schedulers' formats: what they say, what is refused, and how other readers and programs' schemas take them."""

import json
import re
from collections.abc import Callable
from itertools import chain
from math import log2, prod
from pathlib import Path
from typing import Any

import pytest
import yaml

import exporting
from conftest import Databases, Run
from exporting import exported
from trninv.database.engine import temporary_engine, write_transaction
from trninv.exporters import schedulers, slurm_settings, yaml_syntax
from trninv.exporters.format import format_names
from trninv.hostlist import expand
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

SERVERS = [f"lab-d{domain}-s{server}" for domain in range(3) for server in range(4)]


@pytest.fixture(scope="module")
def url(databases: Databases) -> str:
    """Of a database that no test changes."""
    made = databases.migrated("sqlite")
    exporting.seed(made)
    return made


@pytest.fixture
def lab(databases: Databases) -> str:
    return exporting.lab(databases)


@pytest.fixture(scope="module")
def partly(databases: Databases) -> str:
    """Of a cluster with a server and a chip that are not up, which no test changes."""
    made = exporting.lab(databases)
    with temporary_engine(made) as engine, write_transaction(engine) as connection:
        set_state(connection, ["lab/d1/s2"], Condition.from_user("maintenance"), why="a fan", who="tests")
        set_state(connection, ["lab/d2/s0/c5"], Condition.from_user("down"), why="it fell", who="tests")
    return made


def refused(run: Run, database: str, scope: str, name: str, *options: str) -> str:
    status, out, error = run("topology", scope, "--as", name, *options, database=database)
    assert (status, out) == (2, "")
    return error


def test_the_fabric_of_a_large_cluster_has_its_tiers_in_the_tree(run: Run, url: str) -> None:
    lines = exported(run, url, "wide", "slurm-tree").splitlines()
    assert len([line for line in lines if "Nodes=" in line]) == 40
    assert lines[-1] == "SwitchName=wide-t2-n0 Switches=wide-t3-n[0-4]"
    assert lines[-2] == "SwitchName=wide-t3-n4 Switches=wide-d[32-39]"
    coarse = exported(run, url, "wide", "slurm-tree", "--coarse").splitlines()
    assert len([line for line in coarse if "Nodes=" in line]) == 5


def test_servers_that_are_domains_hang_below_the_fabric(run: Run, url: str) -> None:
    assert exported(run, url, "small", "slurm-tree").splitlines()[1:] == [
        "SwitchName=small-t3-n0 Nodes=small-d[0-2]-s[0]"
    ]


@pytest.mark.parametrize("name", format_names())
def test_what_is_not_up_is_left_out_and_named(run: Run, partly: str, name: str) -> None:
    scope = exporting.scope_of(name)
    if name in ("slurm-block", "slurm-yaml"):
        assert "lab-d1 would be a block of 3 servers" in refused(run, partly, scope, name)
        assert "lab-d1-s[0-3]" in exported(run, partly, scope, name, "--include-down")
        return
    out = exported(run, partly, scope, name)
    if name not in ("hwloc", "astra-sim", "booksim"):
        assert not re.search("lab-d1-s2(?! \\(lab/d1/s2\\), maintenance( -->)?$)", out, re.MULTILINE)
    assert exported(run, partly, scope, name, "--include-down")


def test_nodes_have_as_many_chips_as_carry(run: Run, lab: str) -> None:
    run("set", "lab/d0/s1", "down", "--why", "power", database=lab)
    run("set", "lab/d2/s0/c5", "down", "--why", "it fell", database=lab)
    lines = exported(run, lab, "lab", "slurm-nodes", "--include-down").splitlines()
    parts = "CPUs=192 RealMemory=1966080 Gres=neuron:trainium2:{} Feature=u-trn2x64 State={}"
    assert f'NodeName=lab-d0-s1 {parts.format(16, "DOWN")} Reason="trninv: down"' in lines
    assert f"NodeName=lab-d2-s0 {parts.format(15, 'UNKNOWN')}" in lines
    assert "# NodeName=lab-d2-s0 Name=neuron Type=trainium2 File=/dev/neuron[0-4,6-15]" in lines
    assert "# lab as slurm-nodes, written by trninv as of event 34" in lines


def test_a_degraded_server_takes_jobs(run: Run, lab: str) -> None:
    before = [exported(run, lab, "lab", name).splitlines()[1:] for name in ("slurm-nodes", "slurm-block")]
    run("set", "lab/d0/s1", "degraded", "--factor", "0.5", "--why", "heat", database=lab)
    assert [exported(run, lab, "lab", name).splitlines()[1:] for name in ("slurm-nodes", "slurm-block")] == before
    assert "unschedulable" not in exported(run, lab, "lab", "kubernetes")


def test_blocks_are_domains_and_their_doubles(run: Run, url: str) -> None:
    assert exported(run, url, "lab", "slurm-block").splitlines()[-1] == "BlockSizes=4,8"
    assert exported(run, url, "wide", "slurm-block").splitlines()[-1] == "BlockSizes=4,8,16,32,64,128"
    assert exported(run, url, "trn3-gen2", "slurm-block").splitlines()[-1] == "BlockSizes=36"


@pytest.mark.parametrize(("scope", "kinds"), [("lab", 4), ("trn3-gen2", 2), ("small", 2), ("u-trn2x64", 4)])
def test_topology_yaml_keeps_the_grammar_of_slurm(run: Run, url: str, scope: str, kinds: int) -> None:
    text = exported(run, url, scope, "slurm-yaml")
    assert not re.search(r"[&*!]", text)
    found = yaml.safe_load(text)
    assert len(found) == kinds == len({each["topology"] for each in found})
    assert [list(each)[:2] for each in found] == [["topology", "cluster_default"]] * kinds
    assert [each["cluster_default"] for each in found] == [True] + [False] * (kinds - 1)
    everywhere = []
    for each in found:
        ((kind, body),) = ((key, of) for key, of in each.items() if key not in ("topology", "cluster_default"))
        everywhere.append(sorted(GRAMMAR[kind](body)))
    assert all(here == everywhere[0] for here in everywhere)


def _tree(body: Any) -> list[str]:
    switches = {each.pop("switch"): each for each in body["switches"]}
    assert all(list(each) in (["nodes"], ["children"]) for each in switches.values())
    children = [name for each in switches.values() for name in expand(each.get("children", ""))]
    assert len(children) == len(set(children)) == len(switches) - 1
    assert set(children) < set(switches)
    return [name for each in switches.values() for name in expand(each.get("nodes", ""))]


def _block(body: Any) -> list[str]:
    base = body["block_sizes"][0]
    assert all(log2(size / base).is_integer() for size in body["block_sizes"])
    blocks = [expand(each["nodes"]) for each in body["blocks"]]
    assert all(len(each) == base for each in blocks)
    return list(chain(*blocks))


def _ring(body: Any) -> list[str]:
    rings = [expand(each["nodes"]) for each in body["rings"]]
    assert all(1 < len(each) <= 16 for each in rings)
    return list(chain(*rings))


def _torus(body: Any) -> list[str]:
    for each in body["toruses"]:
        assert prod(each["dims"].values()) == len(expand(each["nodes"]))
        assert [place["dims"]["z"] for place in each["placements"]] == [1, 2, 4]
    return [name for each in body["toruses"] for name in expand(each["nodes"])]


GRAMMAR: dict[str, Callable[[Any], list[str]]] = {"tree": _tree, "block": _block, "ring": _ring, "torus3d": _torus}


@pytest.mark.parametrize(
    "word",
    [
        *[
            "no",
            "on",
            "y",
            "1:30",
            "0x1f",
            "012",
            "1e3",
            "~",
            "é\u2028",
            "🔥",
            "\\🔥",
            "\\ud83d\\udd25",
            "\x7f\x85\ufeff",
        ],
        "a: b",
        "# a",
        "- a",
        "",
        " a",
    ],
)
def test_a_text_stays_a_text_in_yaml(word: str) -> None:
    value = [{"a": word, "b": [word, {word or "x": 1}]}]
    assert yaml.safe_load("\n".join(yaml_syntax.YAML.write(value))) == value


def test_kueue_asks_for_labels_that_every_node_has(run: Run, url: str) -> None:
    topology, *flavors = yaml.safe_load_all(exported(run, url, "lab", "kueue"))
    nodes = list(yaml.safe_load_all(exported(run, url, "lab", "kubernetes")))
    *keys, last = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    assert last == "kubernetes.io/hostname"
    assert 1 <= len(keys) + 1 == len({*keys, last}) <= 16
    for flavor in flavors:
        assert flavor["spec"]["topologyName"] == topology["metadata"]["name"]
        assert all(flavor["spec"]["nodeLabels"].items() <= node["metadata"]["labels"].items() for node in nodes)
    assert [node["metadata"]["name"] for node in nodes] == SERVERS
    assert all(set(keys) <= set(node["metadata"]["labels"]) for node in nodes)
    assert all(len(value) <= 63 for node in nodes for value in node["metadata"]["labels"].values())


def test_a_server_in_maintenance_is_unschedulable(run: Run, lab: str) -> None:
    run("set", "lab/d1/s2", "maintenance", "--why", "a fan", database=lab)
    nodes = yaml.safe_load_all(exported(run, lab, "lab", "kubernetes", "--include-down"))
    assert [node["metadata"]["name"] for node in nodes if node.get("spec", {}).get("unschedulable")] == ["lab-d1-s2"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--include-down"]])
def test_kubernetes_own_schema_takes_the_nodes(run: Run, lab: str, options: list[str]) -> None:
    import kubernetes_validate  # noqa: PLC0415 # only where it is used

    run("set", "lab/d1/s2", "maintenance", "--why", "a fan", database=lab)
    for node in yaml.safe_load_all(exported(run, lab, "lab", "kubernetes", *options)):
        kubernetes_validate.validate(node, kubernetes_validate.latest_version(), strict=True)


def test_an_answer_of_ec2_has_three_network_nodes_and_ids_of_our_own(run: Run, url: str) -> None:
    found = json.loads(exported(run, url, "lab", "aws"))["Instances"]
    assert found[-1] == {
        "InstanceId": "i-trninv-lab-d2-s3",
        "InstanceType": "trn2u.48xlarge",
        "NetworkNodes": ["nn-trninv-lab-t1-n0", "nn-trninv-lab-t2-n0", "nn-trninv-lab-t3-n0"],
        "CapacityBlockId": "cb-trninv-lab-d2",
    }
    assert "CapacityBlockId" not in json.loads(exported(run, url, "small", "aws"))["Instances"][0]


@pytest.mark.parametrize(
    ("scope", "name", "options", "why"),
    [
        ("trn3-gen2", "aws", [], "EC2 has no instance type for trn3-gen2"),
        ("u-trn2x64", "aws", [], "has no fabric"),
        ("lab/d0/s1", "slurm-block", [], "lab-d0 would be a block of 1 servers"),
        ("lab/d0/s1/c0", "slurm-tree", [], "lab/d0/s1/c0 is a chip: name a server, rack, domain or cluster"),
        ("lab", "slurm-tree", ["--hostname", "a"], "calls lab/d0/s0 and lab/d0/s1 both a"),
        ("my_lab", "kubernetes", [], "'my_lab-d0-s0' can't name a machine"),
        ("my_lab", "kueue", ["--hostname", "n{domain}"], "my_lab is not a Kubernetes object name"),
        ("a" * 64, "slurm-tree", ["--hostname", "n{domain}"], "names in Slurm have at most 64 characters"),
        ("a" * 64, "kubernetes", ["--hostname", "n{domain}"], "is not a Kubernetes label"),
    ],
)
def test_what_a_format_cant_say_is_refused(
    run: Run, url: str, scope: str, name: str, options: list[str], why: str
) -> None:
    assert why in refused(run, url, scope, name, *options)


def test_sizes_beyond_slurms_are_refused(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedulers, "MAX_SLURM_LEAVES", 2)
    assert "--coarse to use network nodes as leaves" in refused(run, url, "lab", "slurm-tree")
    assert "--coarse to use network nodes as leaves" in refused(run, url, "lab", "slurm-yaml")
    monkeypatch.setattr(schedulers, "MAX_SLURM_NODES", 11)
    for name in (name for name in format_names() if name.startswith("slurm-")):
        assert "lab has 12 servers, and a Slurm cluster has at most 11 nodes" in refused(run, url, "lab", name)


def test_nothing_that_is_up_is_refused(run: Run, lab: str) -> None:
    run("set", "lab/d1/s2", "maintenance", "--why", "a fan", database=lab)
    assert "lab/d1/s2 has no servers that are up" in refused(run, lab, "lab/d1/s2", "slurm-tree")


def test_a_file_gets_its_name_once_it_reads_back(run: Run, url: str, tmp_path: Path) -> None:
    file = tmp_path / "topology.conf"
    assert run("topology", "lab", "--as", "slurm-tree", "-o", str(file), "--check", database=url) == (0, "", "")
    assert file.read_text() == exported(run, url, "lab", "slurm-tree")
    file.write_text("mine")
    assert "EC2 has no" in refused(run, url, "trn3-gen2", "aws", "-o", str(file))
    assert file.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [file]
    assert "can't write" in refused(run, url, "lab", "aws", "-o", str(tmp_path / "no" / "file"))


def test_what_does_not_read_back_is_neither_printed_nor_saved(
    run: Run, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_settings, "_HOST_LISTS", frozenset())
    (file := tmp_path / "topology.conf").write_text("mine")
    for options in ([], ["-o", str(file)]):
        status, out, error = run("topology", "lab", "--as", "slurm-tree", "--check", *options, database=url)
        assert (status, out) == (1, "")
        assert "slurm-tree reads back as 'lab-d0-s[0-3]', not as ['lab-d0-s0'" in error
    assert file.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [file]
