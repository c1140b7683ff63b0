"""A call that failed declares no fleet gone and no job ended: answers with errors or without their list are refused."""

import io
import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from printed import (
    HYPERPOD,
    instance_topology,
    instances,
    listed,
    neuron_ls,
    node,
    resource_slice,
    slurm,
    slurm_node,
    text,
)
from sqlalchemy import Engine, func, select

from conftest import Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import InvalidFileError
from trninv.importers.ingestion import ImportFile, import_files
from trninv.placement.allocations.job_import import read_jobs

pytestmark = pytest.mark.slow_on_postgresql

_ANSWER = {"error": "Unable to contact slurm controller (connect failure)", "error_number": 1800}


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated(request.param)) as engine:
        yield engine


def refused(engine: Engine, kind: str, *documents: object) -> list[str]:
    """The faults of a file of these documents; nothing of it is kept."""
    content = b"\n".join(map(text, documents)) + b"\n"
    with pytest.raises(InvalidFileError) as told, write_transaction(engine) as connection:
        import_files(connection, kind, [ImportFile("f", BytesIO(content))])
    with read_transaction(engine) as connection:
        assert connection.scalar(select(func.count()).select_from(TABLES["observation"])) == 0
    return list(told.value.errors)


@pytest.mark.parametrize(
    ("kind", "answer", "fault"),
    [
        ("slurm", {"errors": [_ANSWER], "nodes": []}, "f:1.errors: reports 'Unable to contact slurm controller"),
        ("slurm", slurm(slurm_node()) | {"errors": [_ANSWER]}, "f:1.errors: reports 'Unable to contact"),
        ("slurm", {"errors": ["no route"], "nodes": None}, "f:1.errors: reports 'no route'; run the command again"),
        ("slurm", {"nodes": None}, "f:1.nodes: is null, not a list; run the command again"),
        ("kubernetes", listed() | {"items": None}, "f:1.items: is null, not a list; run the command again"),
        ("kubernetes", {"apiVersion": "v1", "kind": "List"}, "f:1: has no list items"),
        ("kubernetes", {"kind": "Status", "message": "Unauthorized"}, "f:1: is not a List, Node, "),
        ("ec2", {"Reservations": None}, "f:1.Reservations: is null, not a list; run the command again"),
        ("ec2", {"Instances": None}, "f:1.Instances: is null, not a list"),
        ("ec2", {"CapacityReservations": None}, "f:1.CapacityReservations: is null, not a list"),
        ("ec2", {"CapacityBlockStatuses": None}, "f:1.CapacityBlockStatuses: is null, not a list"),
        ("ec2", {"Reservations": [{"ReservationId": "r-0"}]}, "f:1.Reservations[0]: has no list Instances"),
        (
            "ec2",
            {"Reservations": [], "Error": {"Code": "RequestLimitExceeded", "Message": "slow down"}},
            "f:1.Error: reports 'slow down'; run the command again",
        ),
        ("hyperpod", {"ClusterNodeSummaries": None}, "f:1.ClusterNodeSummaries: is null, not a list"),
    ],
)
def test_an_answer_with_errors_or_without_its_list_is_refused(
    engine: Engine, kind: str, answer: dict[str, Any], fault: str
) -> None:
    assert any(each.startswith(fault) for each in refused(engine, kind, answer))


def test_a_page_with_an_error_refuses_the_pages_before(engine: Engine) -> None:
    failed = {"Error": {"Code": "RequestLimitExceeded", "Message": "slow down"}}
    assert refused(engine, "ec2", instances("i-0a", next_page="more"), failed)
    assert refused(engine, "kubernetes", listed(node(), next_page="more"), listed() | {"items": None})


_EMPTY: list[tuple[str, Any]] = [
    ("slurm", slurm()),
    ("kubernetes", listed()),
    ("kubernetes", listed({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})),
    ("hyperpod", {"ClusterNodeSummaries": []}),
    ("ec2", instance_topology([])),
    ("ec2", {"Reservations": []}),
]


@pytest.mark.parametrize(("kind", "listing"), _EMPTY)
def test_a_listing_without_an_instance_is_refused_unless_allowed(
    engine: Engine, kind: str, listing: dict[str, Any]
) -> None:
    hint = "f: lists no instances; add --allow-empty if there are none"
    assert refused(engine, kind, listing) == [hint]
    with write_transaction(engine) as connection:
        (kept,) = import_files(connection, kind, [ImportFile("f", BytesIO(text(listing)))], allow_empty=True)
    assert kept.servers == 0


def test_the_last_of_several_pages_may_be_empty(engine: Engine) -> None:
    pages = [instance_topology(["i-0a"], next_page="more"), instance_topology([])]
    with write_transaction(engine) as connection:
        (kept,) = import_files(connection, "ec2", [ImportFile("f", BytesIO(b"\n".join(map(text, pages))))])
    assert kept.servers == 1


def test_a_typed_list_of_the_api_names_the_kind_of_its_items_once(engine: Engine) -> None:
    """``kubectl get --raw /api/v1/nodes``: its items have no kind, and were taken for a list of nothing."""
    items = [{name: value for name, value in node().items() if name not in ("kind", "apiVersion")}]
    with write_transaction(engine) as connection:
        page = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": items}
        (kept,) = import_files(connection, "kubernetes", [ImportFile("f", BytesIO(text(page)))])
        assert kept.servers == 1
        assert connection.scalar(select(TABLES["observation"].c.is_whole))


_NO_INSTANCES = "../../x", "i-", "i-0A", "i-0a;rm", "i-0a/../b", "x-0a", "i-" + "0" * 65
_NO_HOSTS = "../../x", "a/b", "-a", "a=b", "a,b", "a[0-9]", "$(x)", "a;b", "é"


@pytest.mark.parametrize("kind", ["ec2", "ec2 topology", "hyperpod", "slurm", "neuron-ls", "neuron-monitor"])
def test_an_instance_is_called_as_instances_are(engine: Engine, kind: str) -> None:
    for name in _NO_INSTANCES:
        documents: dict[str, object] = {
            "ec2": instances(name),
            "ec2 topology": instance_topology([name]),
            "hyperpod": {"ClusterNodeSummaries": [HYPERPOD["ClusterNodeSummaries"][0] | {"InstanceId": name}]},
            "slurm": slurm(slurm_node() | {"instance_id": name}),
            "neuron-ls": neuron_ls(name),
            "neuron-monitor": {"instance_info": {"instance_id": name}},
        }
        faults = refused(engine, kind.partition(" ")[0], documents[kind])
        assert any("is not an instance id such as i-0123456789abcdef0" in fault for fault in faults), name


@pytest.mark.parametrize("kind", ["ec2", "hyperpod", "slurm", "slurm text", "kubernetes", "side", "slice", "neuron-ls"])
def test_a_host_is_called_as_hosts_are(engine: Engine, kind: str) -> None:
    for name in _NO_HOSTS:
        pages = instances("i-0a")
        pages["Reservations"][0]["Instances"][0]["PrivateDnsName"] = name
        side = {"nodeName": name, "linkStatusHorizontal": "up", "linkStatusVertical": "up"}
        documents: dict[str, object] = {
            "ec2": pages,
            "hyperpod": {"ClusterNodeSummaries": [HYPERPOD["ClusterNodeSummaries"][0] | {"PrivateDnsHostname": name}]},
            "slurm": slurm(slurm_node(name)),
            "slurm text": f"NodeName={name} State=IDLE",
            "kubernetes": listed(node(name)),
            "side": listed(node(), {"kind": "NeuronUltraServer", "spec": {"topology": [side]}}),
            "slice": listed(resource_slice(name)),
            "neuron-ls": {"host": name, "neuron_ls": neuron_ls()},
        }
        of = {"side": "kubernetes", "slice": "kubernetes"}.get(kind, kind.partition(" ")[0])
        faults = refused(engine, of, documents[kind])
        assert any("is not a host name: use letters, digits, '.', '_' and '-'" in fault for fault in faults), name


@pytest.mark.parametrize(
    ("kind", "answer", "fault"),
    [
        ("slurm", {"errors": [_ANSWER], "jobs": []}, "f:1.errors: reports 'Unable to contact slurm controller"),
        ("slurm", {"jobs": None, "errors": []}, "f:1.jobs: is null, not a list; run the command again"),
        ("kubernetes", {"kind": "List", "items": None}, "f:1.items: is null, not a list; run the command again"),
        ("kubernetes", {"kind": "Status", "message": "Unauthorized"}, "f:1: is not a List, ResourceClaim or Reso"),
        (
            "kubernetes",
            {"kind": "List", "items": [], "metadata": {"continue": "token"}},
            "f:1.metadata.continue: has more pages; put all of them into one file, one per line",
        ),
    ],
)
def test_a_call_for_jobs_that_failed_ends_none(kind: str, answer: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidFileError) as told:
        read_jobs(kind, [ImportFile("f", io.BytesIO(json.dumps(answer).encode()))])
    assert any(each.startswith(fault) for each in told.value.errors)


def test_pages_of_claims_are_one_listing() -> None:
    pages = [{"kind": "List", "items": [], "metadata": {"continue": at}} for at in ("token", "")]
    assert read_jobs("kubernetes", [ImportFile("f", io.BytesIO(b"\n".join(map(text, pages))))]) == []
