"""Health that Kubernetes reports of nodes and of devices: found, taken down where asked, and over with it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from printed import EFAS, listed, node, resource_slice, taint, taint_rule, tainted, text, ultraserver
from sqlalchemy import Engine
from sqlalchemy import text as sql

from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.errors import InvalidFileError
from trninv.importers.import_report import render_unreported
from trninv.importers.ingestion import ImportFile, import_files
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.bindings import ProposedBinding, bind
from trninv.reconcile.changes.detect_drift import detect_drift as detect_drift_change
from trninv.reconcile.drift import DriftResult, detect_drift

pytestmark = pytest.mark.slow_on_postgresql

SLOT = "lab/d0/s0"
START = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=2)
POOL = "n0"


def _bound(url: str) -> None:
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        with write_transaction(engine) as connection:
            cluster_seeding.seed(
                connection, default_catalog(), default_systems().get("trn2-16.48xlarge").resized(1), "lab"
            )
            standing = ProposedBinding(resolve_place(connection, SLOT).id, SLOT, "i-0a", "n0", "pin", "certain")
            bind(connection, [standing], who="tests")


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.copied(request.param, _bound)) as engine:
        yield engine


def plain(**more: Any) -> dict[str, Any]:
    """A node of a plain trn2.48xlarge."""
    found = node(**more)
    found["metadata"]["labels"] = {"node.kubernetes.io/instance-type": "trn2.48xlarge"} | more.get("labels", {})
    return found


def sliced() -> dict[str, Any]:
    """The devices of that node, with its EFA devices."""
    found = resource_slice()
    for device, efa in zip(found["spec"]["devices"], EFAS["trn2"], strict=True):
        device["attributes"]["resource.aws.com/devicegroup1_id"] = {"string": efa}
    return found


def compared(engine: Engine, minutes: int, *objects: dict[str, Any], apply: bool = False) -> DriftResult:
    """What drift finds once Kubernetes has listed these, some minutes after the start."""
    at = START + timedelta(minutes=minutes)
    with write_transaction(engine) as connection:
        import_files(
            connection, "kubernetes", [ImportFile("objects.json", BytesIO(text(listed(*objects))))], taken_at=at
        )
        return detect_drift(connection, now=at, apply_as="anna" if apply else None)


def told(of: DriftResult) -> list[tuple[str, str | None, str | None]]:
    return [(each.rule, each.address, each.observed) for each in of.findings]


def not_up(engine: Engine) -> dict[str, str]:
    """States of the chips that are not up."""
    with read_transaction(engine) as connection:
        rows = connection.execute(sql("SELECT address, state FROM v_chip WHERE state <> 'up'"))
        return {row.address: row.state for row in rows}


READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
_SILENT = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
_NOT_READY = {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}
_UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_RESERVED = {"key": "aws.amazon.com/neuron", "value": "true", "effect": "NoSchedule"}
_NPD = {"type": "NeuronHealth", "status": "True", "reason": "NeuronHasError_DMA_ERROR"}
_EKS = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NeuronDMAError"}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"conditions": [_NOT_READY]}, "Ready: KubeletNotReady"),
        ({"conditions": [_SILENT]}, "Ready: NodeStatusUnknown"),
        ({"spec": {"taints": [_UNREACHABLE | {"effect": "NoSchedule"}, _UNREACHABLE]}}, "unreachable"),
        ({"spec": {"taints": [_UNREACHABLE | {"key": "node.kubernetes.io/not-ready"}]}}, "not-ready"),
        ({"conditions": [READY, _NPD]}, "NeuronHealth: NeuronHasError_DMA_ERROR"),
        ({"conditions": [_EKS]}, "AcceleratedHardwareReady: NeuronDMAError"),
        (
            {"conditions": [_SILENT, _EKS], "spec": {"taints": [_UNREACHABLE, _CORDON], "unschedulable": True}},
            "Ready: NodeStatusUnknown; AcceleratedHardwareReady: NeuronDMAError; unreachable; unschedulable",
        ),
    ],
)
def test_a_node_that_is_not_healthy_is_found_taken_down_and_over_with_its_report(
    engine: Engine, more: dict[str, Any], reason: str
) -> None:
    found = compared(engine, 1, plain(**more))
    assert told(found) == [("health-condition", SLOT, f"{reason} by kubernetes")]
    assert not_up(engine) == {}
    applied = compared(engine, 2, plain(**more), apply=True)
    assert [(change.address, str(change.after)) for change in applied.applied_changes] == [(SLOT, "down")]
    assert not_up(engine) == {f"{SLOT}/c{chip}": "down" for chip in range(16)}
    reported_up = compared(engine, 3, plain(conditions=[READY]))
    assert told(reported_up) == [("state-differs", SLOT, "up by kubernetes")]
    assert (
        f"state-differs at 1 server: --apply sets none up; if the repair is done: trninv set {SLOT} up --why REASON"
    ) in detect_drift_change.render(reported_up)


def test_chips_that_are_only_counted_are_not_named(engine: Engine) -> None:
    found = compared(engine, 1, plain(conditions=[READY], allocatable={"aws.amazon.com/neuron": "18"}))
    assert told(found) == [("chip-extra", SLOT, "18 chips by kubernetes")]


@pytest.mark.parametrize("spec", [{"unschedulable": True}, {"taints": [_CORDON]}])
def test_a_cordon_is_no_failed_check(engine: Engine, spec: dict[str, Any]) -> None:
    found = compared(engine, 1, plain(spec=spec), apply=True)
    assert told(found) == [("state-differs", SLOT, "maintenance by kubernetes (unschedulable)")]
    assert found.applied_changes == ()
    assert "sets none up" not in "\n".join(map(str, detect_drift_change.render(found)))


@pytest.mark.parametrize(
    "more",
    [
        {"conditions": [READY, {"type": "NeuronHealth", "status": "False"}]},
        {"conditions": [{"type": "NeuronHealth", "status": "Unknown"}]},
        {"conditions": [{"type": "MemoryPressure", "status": "False"}]},
        {"spec": {"taints": [_RESERVED]}},
    ],
)
def test_what_says_nothing_bad_of_a_node_is_no_finding(engine: Engine, more: dict[str, Any]) -> None:
    assert told(compared(engine, 1, plain(**more))) == []


def _slices(version: str) -> dict[str, Any]:
    """A slice as a version of the API has it."""
    found = sliced() | {"apiVersion": f"resource.k8s.io/{version}"}
    if version == "v1beta1":
        for device in found["spec"]["devices"]:
            device["basic"] = {"attributes": device.pop("attributes")}
    return found


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1"])
@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_tainted_device_is_its_chip_and_nothing_else(engine: Engine, version: str, effect: str) -> None:
    words = ("health-condition", f"{SLOT}/c3", f"neuron.aws.com/unhealthy=hbm:{effect} by kubernetes")
    for at, apply in ((1, False), (2, True)):
        found = compared(engine, at, plain(), tainted(_slices(version), taint(effect)), apply=apply)
        assert told(found) == [words]
    assert [(change.address, str(change.after)) for change in found.applied_changes] == [(f"{SLOT}/c3", "down")]
    assert not_up(engine) == {f"{SLOT}/c3": "down"}
    over = compared(engine, 3, plain(), _slices(version))
    assert (told(over), over.cleared_count) == ([], 1)


@pytest.mark.parametrize("effect", ["None", "SomethingNew"])
def test_a_taint_that_only_informs_is_no_finding_but_is_kept(engine: Engine, effect: str) -> None:
    assert told(compared(engine, 1, plain(), tainted(sliced(), taint(effect)))) == []
    with read_transaction(engine) as connection:
        kept = connection.scalars(sql("SELECT taints FROM observed_chip WHERE taints IS NOT NULL")).all()
    assert kept == [f"neuron.aws.com/unhealthy=hbm:{effect}"]


def test_all_taints_of_a_device_are_told(engine: Engine) -> None:
    taints = taint(), taint("NoSchedule", "example.com/test", ""), taint("None", "example.com/info", "x")
    ((_, _, found),) = told(compared(engine, 1, plain(), tainted(sliced(), *taints)))
    assert found == "example.com/test:NoSchedule neuron.aws.com/unhealthy=hbm:NoExecute by kubernetes"


@pytest.mark.parametrize(
    ("selector", "chips"),
    [
        ({"driver": "neuron.aws.com", "pool": POOL, "device": "neuron-device-3"}, [3]),
        ({"pool": POOL, "device": "neuron-device-3"}, [3]),
        ({"device": "neuron-device-3"}, [3]),
        ({"pool": POOL}, range(16)),
        ({"driver": "neuron.aws.com"}, range(16)),
        ({}, range(16)),
        ({"pool": "n1", "device": "neuron-device-3"}, []),
        ({"pool": POOL, "device": "neuron-device-99"}, []),
        ({"driver": "gpu.example.com"}, []),
        ({"driver": "gpu.example.com", "selectors": [{"cel": {"expression": "true"}}]}, []),
        (None, []),
    ],
)
def test_a_rule_taints_the_devices_that_it_selects(
    engine: Engine, selector: dict[str, Any] | None, chips: Sequence[int]
) -> None:
    found = compared(engine, 1, taint_rule(selector), plain(), sliced(), apply=True)
    words = "example.com/repair=rma:NoExecute by kubernetes"
    assert told(found) == [("health-condition", f"{SLOT}/c{chip}", words) for chip in chips]
    assert not_up(engine) == {f"{SLOT}/c{chip}": "down" for chip in chips}
    assert told(compared(engine, 2, plain(), sliced())) == []


_UNEVALUATED = "is not supported, so this rule is ignored; select devices by driver, pool and device"
_CEL = {"selectors": [{"cel": {"expression": "true"}}]}


@pytest.mark.parametrize(
    ("selector", "key"), [(_CEL | {"pool": POOL}, "selectors"), ({"deviceClassName": "neuron"}, "deviceClassName")]
)
def test_a_rule_that_is_not_evaluated_is_named_and_the_rest_is_kept(
    engine: Engine, selector: dict[str, Any], key: str
) -> None:
    objects = listed(
        plain(), tainted(sliced(), taint()), taint_rule(selector), taint_rule({"device": "neuron-device-5"})
    )
    with write_transaction(engine) as connection:
        (kept,) = import_files(
            connection, "kubernetes", [ImportFile("objects.json", BytesIO(text(objects)))], taken_at=START
        )
        found = detect_drift(connection, now=START)
    assert kept.unread == (f"objects.json:1.items[2].spec.deviceSelector.{key} {_UNEVALUATED}",)
    assert list(render_unreported([kept]))[-1] == f"not read: {kept.unread[0]}"
    assert {each.address for each in found.findings} == {f"{SLOT}/c3", f"{SLOT}/c5"}


def test_of_many_things_that_are_not_read_the_first_are_named(engine: Engine) -> None:
    objects = listed(plain(), sliced(), *(taint_rule(_CEL) for _ in range(30)))
    with write_transaction(engine) as connection:
        (kept,) = import_files(
            connection, "kubernetes", [ImportFile("\x1b[31m.json", BytesIO(text(objects)))], taken_at=START
        )
    assert len(kept.unread) == 20
    assert not any("\x1b" in line for line in (*kept.unread, *render_unreported([kept])))


@pytest.mark.parametrize(
    ("objects", "at", "fault"),
    [
        (
            [taint_rule({"pool": POOL})],
            "",
            "taints devices, but there is no ResourceSlice; use kubectl get nodes,resourceslices,",
        ),
        ([taint_rule({}) | {"spec": {"deviceSelector": {}}}, sliced()], ".spec.taint", "has no key and effect"),
        ([tainted(sliced(), {"key": "a"})], ".spec.devices[3].taints[0]", "has no key and effect"),
        ([tainted(sliced(), taint(key="a b"))], ".spec.devices[3].taints[0].key", "is 'a b', not a name"),
    ],
)
def test_what_cannot_be_told_of_taints_is_a_fault(
    engine: Engine, objects: list[dict[str, Any]], at: str, fault: str
) -> None:
    with pytest.raises(InvalidFileError) as refused:
        compared(engine, 1, *objects, plain())
    assert refused.value.errors[0].startswith(f"objects.json:1.items[0]{at}: {fault}")


def _with_node(*taints: dict[str, str]) -> dict[str, Any]:
    """A slice with a device that stands for the whole node, which has these taints."""
    found = sliced()
    whole = {"name": "neuron-node", "attributes": {"resourceType": {"string": "neuron_node"}}, "taints": list(taints)}
    found["spec"]["devices"].append(whole)
    return found


def test_a_taint_of_the_whole_node_is_of_all_chips_unless_it_follows_from_one(engine: Engine) -> None:
    found = compared(engine, 1, plain(), _with_node(taint()))
    assert [each.address for each in found.findings] == [f"{SLOT}/c{chip}" for chip in range(16)]
    found = compared(engine, 2, plain(), tainted(_with_node(taint()), taint("NoSchedule")), apply=True)
    assert [each.address for each in found.findings] == [f"{SLOT}/c3"]
    assert not_up(engine) == {f"{SLOT}/c3": "down"}


def _only_node(*taints: dict[str, str], kind: str | None = "trn2.48xlarge", **pool: Any) -> dict[str, Any]:
    """A slice whose only device is the whole node."""
    found = _with_node(*taints)
    found["spec"]["devices"] = found["spec"]["devices"][-1:]
    found["spec"]["pool"] |= pool
    if kind:
        found["spec"]["devices"][0]["attributes"]["instanceType"] = {"string": kind}
    return found


def test_a_taint_of_a_node_that_names_no_chip_is_of_all_chips_of_its_type(engine: Engine) -> None:
    words = "neuron.aws.com/unhealthy=hbm:NoExecute by kubernetes"
    found = compared(engine, 1, plain(), _only_node(taint()), apply=True)
    assert told(found) == [("health-condition", f"{SLOT}/c{chip}", words) for chip in range(16)]
    assert not_up(engine) == {f"{SLOT}/c{chip}": "down" for chip in range(16)}
    assert told(compared(engine, 2, plain(), _only_node())) == []
    rule = taint_rule({"device": "neuron-node"})
    assert len(compared(engine, 3, plain(), _only_node(), rule).findings) == 16
    with read_transaction(engine) as connection:  # that they are there is not seen
        assert set(connection.scalars(sql("SELECT is_partial FROM observed_server WHERE chip_count IS NULL"))) == {True}


@pytest.mark.parametrize("kind", [None, "m5.large", "trn3.48xlarge"])  # of trn3.48xlarge there are 16 chips, or 4
def test_a_tainted_node_whose_chips_no_type_tells_is_named_as_not_read(engine: Engine, kind: str | None) -> None:
    objects = listed(plain(), _only_node(taint(), kind=kind))
    with write_transaction(engine) as connection:
        (kept,) = import_files(
            connection, "kubernetes", [ImportFile("objects.json", BytesIO(text(objects)))], taken_at=START
        )
    at = "objects.json:1.items[1].spec.devices[0]"
    assert kept.unread == (f"{at} is tainted, but no device or instanceType identifies its chips",)
    assert (kept.servers, kept.chips) == (1, 0)


@pytest.mark.parametrize("generations", [(1, 7), (7, 1)])
def test_generations_are_those_of_a_pool(engine: Engine, generations: tuple[int, int]) -> None:
    """A driver may list the node in a pool of its own beside that of the chips."""
    chips, whole = generations
    with_chips, node_pool = sliced(), _only_node(taint(), name="n0-node", generation=whole)
    with_chips["spec"]["pool"]["generation"] = chips
    found = compared(engine, 1, plain(), node_pool, with_chips)
    assert [each.address for each in found.findings] == [f"{SLOT}/c{chip}" for chip in range(16)]
    with read_transaction(engine) as connection:
        (nodes,) = connection.scalars(sql("SELECT network_nodes FROM observed_server WHERE chip_count IS NULL"))
    assert nodes == "nn-a"


def test_a_device_without_its_number_has_it_in_its_name(engine: Engine) -> None:
    """As kubectl's jsonpath printed the slices of an EKS cluster, with few of their attributes."""
    found = sliced()
    for device in found["spec"]["devices"]:
        del device["attributes"]["deviceId"]
    assert told(compared(engine, 1, plain(), tainted(found, taint())))[0][1] == f"{SLOT}/c3"


def test_taints_of_stale_slices_give_way_to_nothing_newer(engine: Engine) -> None:
    """What is stale is still compared where nothing is fresh: the taint lasts until a listing is without it."""
    compared(engine, 1, plain(), tainted(sliced(), taint()))
    with write_transaction(engine) as connection:
        found = detect_drift(connection, now=START + timedelta(minutes=119))
    assert {rule for rule, _, _ in told(found)} == {"stale", "health-condition"}


def test_an_older_listing_with_a_taint_overrides_none_without(engine: Engine) -> None:
    compared(engine, 5, plain(), sliced(), ultraserver())
    assert told(compared(engine, 1, plain(), tainted(sliced(), taint()))) == []
