"""Discovery of Kubernetes against a stand-in that replays objects in pages, with faults and expired pages."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clouds
import kubernetes_api
import pytest
from kubernetes_api import Cluster, node
from sqlalchemy import Engine, text

from conftest import BACKENDS, Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.discovery.kubernetes_blocks import find_blocks, read_flavors
from trninv.discovery.provider import all_providers
from trninv.discovery.providers.kubernetes import system_name
from trninv.discovery.pull import pull_target
from trninv.discovery.target import parse_target
from trninv.errors import DiscoveryError, InvalidFileError, UsageError
from trninv.exporters.schedulers import LABEL_PREFIX
from trninv.importers.sources.kubernetes import DOMAIN_LABEL
from trninv.reconcile.adoption import adopt
from trninv.reconcile.findings import Finding, list_findings

pytestmark = pytest.mark.slow_on_postgresql
TARGET = parse_target("kubernetes")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cluster]:
    with kubernetes_api.serving(Cluster()) as served:
        kubernetes_api.use(monkeypatch, tmp_path, served)
        served.objects["nodes"] = [node(number, f"lab-d{number // 4}") for number in range(8)]
        yield served


def _adopt(url: str) -> None:
    with (
        temporary_engine(url) as engine,
        clouds.serving(clouds.fleet(2)) as cloud,
        pytest.MonkeyPatch.context() as patched,
    ):
        clouds.use(patched, cloud)
        pull_target(engine, parse_target("aws:us-east-2"))
        with write_transaction(engine) as connection:
            adopt(connection, default_catalog(), default_systems(), "lab")


@pytest.fixture(params=BACKENDS)
def lab(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    """A fleet that was adopted from what AWS reports."""
    url = databases.copied(request.param, _adopt)
    with temporary_engine(url) as engine:
        yield engine
    databases.drop(url)


def findings(engine: Engine, rule: str) -> list[Finding]:
    with read_transaction(engine) as connection:
        return [found for found in list_findings(connection) if found.rule == rule]


def test_health_and_dropped_nodes_are_found(cluster: Cluster, lab: Engine) -> None:
    assert pull_target(lab, TARGET).servers == 8
    assert not findings(lab, "scheduler-block-differs")
    cluster.objects["nodes"][2] = node(2)
    cluster.objects["nodes"][5] = node(5, "lab-d1", is_ready=False)
    pull_target(lab, TARGET)
    ((dropped,), (unhealthy,)) = (findings(lab, rule) for rule in ("scheduler-block-differs", "health-condition"))
    assert (dropped.instance, dropped.observed) == ("i-00000000000000002", "in no block by kubernetes")
    assert unhealthy.instance == "i-00000000000000005"
    del cluster.objects["nodes"][7]
    pull_target(lab, TARGET)
    with read_transaction(lab) as connection:
        assert connection.scalar(text("SELECT count(*) FROM binding WHERE ended_at IS NULL")) == 8


def test_the_label_is_the_exporters() -> None:
    assert f"{LABEL_PREFIX}/domain" == DOMAIN_LABEL


def label(cluster: Cluster, number: int, **labels: str | None) -> None:
    """Set labels of a node, whose names have no prefix here; None removes one."""
    for name, value in labels.items():
        kept = cluster.objects["nodes"][number]["metadata"]["labels"]
        kept.pop(f"example.com/{name}", None)
        kept |= {f"example.com/{name}": value} if value else {}


def test_a_node_that_kueue_drops_is_found(cluster: Cluster, lab: Engine) -> None:
    """Kueue ignores nodes without one of the labels of the levels, and nodes that no flavor selects."""
    for number in range(8):
        cluster.objects["nodes"][number] = node(number)
        label(cluster, number, rack=f"r{number // 4}", block=f"b{number // 4}", pool="trn")
    levels = "example.com/rack", "example.com/block"
    cluster.objects["topologies"] = [kubernetes_api.topology("lab", *levels), kubernetes_api.topology("other", "x")]
    cluster.objects["resourceflavors"] = [
        kubernetes_api.flavor("a", "other"),
        kubernetes_api.flavor("b", "lab", **{"example.com/pool": "trn"}),
        kubernetes_api.flavor("c", "gone"),
    ]
    pull_target(lab, TARGET)
    assert not findings(lab, "scheduler-block-differs")
    for number, change in ((1, {"block": None}), (4, {"rack": "r7"}), (6, {"pool": None})):
        label(cluster, number, **change)
    pull_target(lab, TARGET)
    expected = [(1, "r0/b0", "in no block"), (4, "r1/b1", "r7/b1"), (6, "r1/b1", "in no block")]
    assert [(f.instance, f.expected, f.observed) for f in findings(lab, "scheduler-block-differs")] == [
        (f"i-{number:017x}", usual, f"{observed} by kubernetes") for number, usual, observed in expected
    ]


@pytest.mark.parametrize(
    "name",
    [
        "accelerator.topograph.run/domain",
        "network.topology.nvidia.com/accelerator",
        "topology.k8s.aws/ultraserver-id",
        DOMAIN_LABEL,
    ],
)
def test_without_kueue_the_label_of_a_domain_is_a_nodes_block(name: str) -> None:
    assert find_blocks({"a": {name: "d0"}, "b": {}}, []) == {"a": "d0", "b": "-"}
    assert find_blocks({"a": {name: "d0"} | {DOMAIN_LABEL: "d1"}}, []) == {"a": "d1"}
    assert find_blocks({"a": {"other": "d0"}}, []) == {}


def test_network_nodes_that_differ_from_those_of_ec2_are_found(cluster: Cluster, lab: Engine) -> None:
    for number, entry in enumerate(cluster.objects["nodes"]):
        names = "nn-1", "nn-2-0", f"nn-3-{number // 4 if number != 3 else 1}"
        entry["metadata"]["labels"] |= {
            f"topology.k8s.aws/network-node-layer-{layer}": name for layer, name in enumerate(names, start=1)
        }
    pull_target(lab, TARGET)
    with read_transaction(lab) as connection:
        rules = {found.rule for found in list_findings(connection) if found.instance == "i-00000000000000003"}
    assert rules & {"conflict-between-sources", "network-node-moved"}


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("topologies", {"metadata": {"name": "lab"}, "spec": {"levels": [3, {"nodeLabel": 4}, {}]}}),
        ("topologies", {"metadata": {"name": "lab"}, "spec": {"levels": {"nodeLabel": "x"}}}),
        ("topologies", {"metadata": 3, "spec": 3}),
        ("resourceflavors", {"metadata": {"name": "a"}, "spec": {"nodeLabels": 3, "topologyName": []}}),
        ("resourceflavors", {"metadata": {"name": "a"}, "spec": []}),
    ],
)
def test_objects_of_kueue_that_are_none_are_ignored(kind: str, entry: dict[str, Any]) -> None:
    kueue = {
        "topologies": [kubernetes_api.topology("lab", "rack")],
        "resourceflavors": [kubernetes_api.flavor("a", "lab")],
    } | {kind: [entry]}
    flavors = list(read_flavors(kueue["topologies"], kueue["resourceflavors"]))
    assert find_blocks({"a": {"rack": "r", DOMAIN_LABEL: "d0"}}, flavors) == {"a": "d0"}


def test_a_block_with_a_long_name_is_compared_as_any_other() -> None:
    names = [f"example.com/level-{number}" for number in range(16)]
    flavors = list(read_flavors([kubernetes_api.topology("lab", *names)], [kubernetes_api.flavor("a", "lab")]))
    nodes = {
        key: {name: f"{number:063}" for number, name in enumerate(names)} | {names[0]: first}
        for key, first in (("a", "x"), ("b", "x"), ("c", "y"))
    }
    blocks = find_blocks(nodes, flavors)
    assert blocks["a"] == blocks["b"] != blocks["c"]
    assert len(blocks["a"]) <= 253


def jobs(engine: Engine) -> list[tuple[object, ...]]:
    query = (
        "SELECT job.system, job.name, count(*) FROM job JOIN allocation ON job_id = job.id "
        "WHERE job.ended_at IS NULL AND allocation.ended_at IS NULL GROUP BY job.system, job.name ORDER BY job.name"
    )
    with read_transaction(engine) as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def test_claims_allocate_the_chips_of_jobs(cluster: Cluster, lab: Engine) -> None:
    pull_target(lab, TARGET)
    cluster.objects["resourceclaims"] = [
        kubernetes_api.claim("a", 0, 0, 1),
        kubernetes_api.claim("b", 1, 5),
        kubernetes_api.claim("elsewhere", 77, 0),
        {"metadata": {"name": "pending", "namespace": "team"}, "status": {}},
    ]
    notes = pull_target(lab, TARGET).notes
    assert jobs(lab) == [("kubernetes", "team/a", 2), ("kubernetes", "team/b", 1)]
    assert any("2 allocated" in note for note in notes)
    assert any("1 omitted, such as" in note and "elsewhere" in note for note in notes)
    assert not any("allocated" in note for note in pull_target(lab, TARGET).notes)
    cluster.objects["resourceclaims"] = []
    pull_target(lab, TARGET)
    assert jobs(lab) == []


def test_without_the_permission_to_list_claims_jobs_stay(cluster: Cluster, lab: Engine) -> None:
    cluster.objects["resourceclaims"] = [kubernetes_api.claim("a", 0, 0)]
    pull_target(lab, TARGET)
    cluster.fault = lambda resource, _: 403 if resource == "resourceclaims" else None
    pull_target(lab, TARGET)
    assert len(jobs(lab)) == 1


def test_invalid_claims_refuse_the_pull(cluster: Cluster, lab: Engine) -> None:
    cluster.objects["resourceclaims"] = [kubernetes_api.claim("a", 0, 0)] * 2
    pull_target(lab, TARGET)  # an object that a list has twice is one object
    cluster.objects["resourceclaims"] = [kubernetes_api.claim("a", 0, 0) | {"metadata": {}}]
    with pytest.raises(InvalidFileError):
        pull_target(lab, TARGET)
    assert len(jobs(lab)) == 1


def test_each_cluster_has_a_system_of_its_own() -> None:
    contexts = ["", "prod", "Prod", "p.rod", "arn:aws:eks:us-east-2:123456789012:cluster/prod", "x" * 28, "x" * 29]
    systems = [system_name(context) for context in contexts]
    assert systems[:2] == ["kubernetes", "kubernetes-prod"]
    assert len(set(systems)) == len(systems)
    assert all(re.fullmatch("[a-z][a-z0-9-]{0,39}", system) for system in systems)


def test_heartbeats_and_versions_store_nothing(cluster: Cluster, lab: Engine) -> None:
    pull_target(lab, TARGET)
    for entry in cluster.objects["nodes"]:
        entry["metadata"]["resourceVersion"] += "0"
        entry["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-28T01:00:00Z"
        entry["metadata"]["labels"]["team"] = "y"
    assert pull_target(lab, TARGET).stored == 0


def test_only_declared_lists_are_read(cluster: Cluster, lab: Engine) -> None:
    pull_target(lab, TARGET)
    assert {method for method, _ in cluster.calls} == {"GET"}  # one pull alone watches nothing
    declared = {call.name.split()[1].partition(".")[0] for call in all_providers()["kubernetes"].api_calls()}
    assert {path.rpartition("/")[2] for _, path in cluster.calls} == declared


def test_pages_that_expire_are_read_again_from_the_start(cluster: Cluster, lab: Engine) -> None:
    cluster.page = 3
    cluster.fault = lambda _, number: 410 if number == 2 else None
    assert pull_target(lab, TARGET).servers == 8
    cluster.fault = lambda resource, _: 410 if resource == "nodes" else None
    with pytest.raises(DiscoveryError, match=r"expired 3 times \(410\)"):
        pull_target(lab, TARGET)


def test_credentials_that_expire_midway_leave_nothing(cluster: Cluster, lab: Engine) -> None:
    cluster.page = 3
    cluster.fault = lambda resource, number: 401 if (resource, number) == ("nodes", 2) else None
    with pytest.raises(DiscoveryError, match="401"):
        pull_target(lab, TARGET)
    with read_transaction(lab) as connection:
        assert not connection.scalar(text("SELECT count(*) FROM observation WHERE source = 'kubernetes'"))
        query = "SELECT error, read_at, holder FROM discovery WHERE target = 'kubernetes'"
        ((error, read_at, holder),) = connection.execute(text(query))
    assert "401" in error
    assert (read_at, holder) == (None, None)


def test_nodes_without_neuron_devices_are_not_stored(cluster: Cluster, lab: Engine) -> None:
    """Those of other types; a type of one's own is kept if the node offers chips."""
    for number, type_ in enumerate(("m5.large", "p5.48xlarge", "mine"), start=8):
        other = node(number, "lab-d9")
        other["metadata"]["labels"]["node.kubernetes.io/instance-type"] = type_
        if type_ != "mine":
            other["status"]["allocatable"] = {"cpu": "2"}
        cluster.objects["nodes"].append(other)
    assert pull_target(lab, TARGET).servers == 9
    with read_transaction(lab) as connection:
        types = "SELECT DISTINCT instance_type FROM observed_server ORDER BY instance_type"
        assert list(connection.scalars(text(types))) == ["mine", "trn2u.48xlarge"]


def test_chips_stay_if_slices_are_refused_later(cluster: Cluster, lab: Engine) -> None:
    devices = [kubernetes_api.device(chip) for chip in range(16)]
    cluster.objects["resourceslices"] = [kubernetes_api.resource_slice(number, devices) for number in range(8)]
    assert pull_target(lab, TARGET).stored == 2
    cluster.fault = lambda resource, _: 403 if resource == "resourceslices" else None
    result = pull_target(lab, TARGET)
    assert result.stored == 0
    assert any("resourceslices: 403" in note for note in result.notes)


def test_kinds_that_a_cluster_lacks_are_noted(cluster: Cluster, lab: Engine) -> None:
    cluster.fault = lambda resource, _: 404 if resource == "neuronultraservers" else None
    assert any("neuronultraservers: 404" in note for note in pull_target(lab, TARGET).notes)
    cluster.fault = lambda resource, _: 403 if resource == "nodes" else None
    with pytest.raises(DiscoveryError, match="/api/v1/nodes: 403"):
        pull_target(lab, TARGET)


@pytest.mark.parametrize(
    "answer",
    [
        *("", "<html>", "[]", "{}", '{"items": null}', '{"items": [3]}', '{"items": [{"metadata": 3}]}'),
        '{"items": [{"metadata": {"name": "a b"}}]}',
        '{"items": [{"metadata": {"name": "a", "labels": 1}, "spec": {"taints": 1}, "status": []}]}',
    ],
)
def test_hostile_answers_are_refused_whole(cluster: Cluster, lab: Engine, answer: str) -> None:
    cluster.fault = lambda resource, _: answer if resource == "nodes" else None
    with pytest.raises((DiscoveryError, InvalidFileError)):
        pull_target(lab, TARGET)
    with read_transaction(lab) as connection:
        assert not connection.scalar(text("SELECT count(*) FROM observation WHERE source = 'kubernetes'"))


def test_a_context_that_does_not_exist_is_named(cluster: Cluster, lab: Engine) -> None:
    with pytest.raises(UsageError, match="kubernetes:nowhere"):
        pull_target(lab, parse_target("kubernetes:nowhere"))
    assert not cluster.calls
