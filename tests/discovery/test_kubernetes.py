"""Discovery of Kubernetes against a stand-in that replays objects in pages, with faults and expired pages."""

from collections.abc import Iterator
from pathlib import Path

import clouds
import kubernetes_api
import pytest
from kubernetes_api import Cluster, node
from sqlalchemy import Engine, text

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.discovery.provider import all_providers
from trninv.discovery.pull import pull_target
from trninv.discovery.target import parse_target
from trninv.errors import DiscoveryError, InvalidFileError, UsageError
from trninv.exporters.schedulers import LABEL_PREFIX
from trninv.importers.sources.kubernetes import DOMAIN_LABEL
from trninv.reconcile.adoption import adopt
from trninv.reconcile.findings import Finding, list_findings

TARGET = parse_target("kubernetes")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cluster]:
    with kubernetes_api.serving(Cluster()) as served:
        kubernetes_api.use(monkeypatch, tmp_path, served)
        served.objects["nodes"] = [node(number, f"lab-d{number // 4}") for number in range(8)]
        yield served


@pytest.fixture
def lab(tables: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A fleet that was adopted from what AWS reports."""
    with temporary_engine(tables) as engine, clouds.serving(clouds.fleet(2)) as cloud:
        clouds.use(monkeypatch, cloud)
        pull_target(engine, parse_target("aws:us-east-2"))
        with write_transaction(engine) as connection:
            adopt(connection, default_catalog(), default_systems(), "lab")
        yield engine


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


def test_heartbeats_and_versions_store_nothing(cluster: Cluster, lab: Engine) -> None:
    pull_target(lab, TARGET)
    for entry in cluster.objects["nodes"]:
        entry["metadata"]["resourceVersion"] += "0"
        entry["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-28T01:00:00Z"
        entry["metadata"]["labels"]["team"] = "y"
    assert pull_target(lab, TARGET).stored == 0


def test_only_declared_lists_are_read(cluster: Cluster, lab: Engine) -> None:
    pull_target(lab, TARGET)
    assert {method for method, _ in cluster.calls} == {"GET"}
    declared = {call.name.split()[1].partition(".")[0] for call in all_providers()["kubernetes"].api_calls()}
    assert {path.rpartition("/")[2] for _, path in cluster.calls} == declared


def test_pages_that_expire_are_read_again_from_the_start(cluster: Cluster, lab: Engine) -> None:
    cluster.page = 3
    cluster.fault = lambda _, number: 410 if number == 2 else None
    assert pull_target(lab, TARGET).servers == 8
    cluster.fault = lambda resource, _: 410 if resource == "nodes" else None
    with pytest.raises(DiscoveryError, match=r"expired 3 times \(410\)"):
        pull_target(lab, TARGET)


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
