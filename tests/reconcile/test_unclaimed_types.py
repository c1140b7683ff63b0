"""Machines of a type that no model claims are never bound and never adopted; they are listed, on both databases."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from adopting import keep, standing
from seen import instance
from sqlalchemy import Engine

import trninv
from conftest import BACKENDS, Databases, Run, both_ways
from trninv.catalog.facts import default_catalog
from trninv.catalog.instance_types import UNCLAIMED_REASON, UnclaimedType
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.importers.ingestion import ImportFile, import_files
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify
from trninv.inventory.state.bindings import bind
from trninv.reconcile.adoption import adopt
from trninv.reconcile.drift import detect_drift
from trninv.reconcile.drift_input import unclaimed_types
from trninv.reconcile.identification import identify
from trninv.reconcile.latest_observations import pinned_binding

pytestmark = pytest.mark.slow_on_postgresql


@pytest.fixture(params=BACKENDS)
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated(request.param)) as made:
        yield made


def node(name: str, kind: str, chips: int = 0) -> dict[str, Any]:
    """A node as kubectl lists it."""
    return {
        "kind": "Node",
        "metadata": {"name": f"n-{name}", "labels": {"node.kubernetes.io/instance-type": kind}},
        "spec": {"providerID": f"aws:///us-west-2d/{name}"},
        "status": {"allocatable": {"aws.amazon.com/neuron": str(chips)} if chips else {}},
    }


def devices(name: str, kind: str, neighbours: list[list[int] | None]) -> list[dict[str, Any]]:
    """What neuron-ls prints of chips with 32 GiB and two cores."""
    return [
        {
            "instance_id": name,
            "instance_type": kind,
            "neuron_device": at,
            "bdf": f"0000:{at:02x}:1c.0",
            "connected_to": near,
            "nc_count": 2,
            "memory_size": 32 << 30,
            "numa_node": "0",
        }
        for at, near in enumerate(neighbours)
    ]


TORUS: list[list[int] | None] = [
    [(at - 4) % 16, (at + 4) % 16, at // 4 * 4 + (at - 1) % 4, at // 4 * 4 + (at + 1) % 4] for at in range(16)
]
CHAIN: list[list[int] | None] = [[near for near in (at - 1, at + 1) if 0 <= near < 6] for at in range(6)]
RING: list[list[int] | None] = [[(at - 1) % 12, (at + 1) % 12] for at in range(12)]


@pytest.mark.parametrize("scope", [None, "trn3-gen1"])
def test_a_type_that_no_model_claims_takes_no_slot(engine: Engine, scope: str | None) -> None:
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn3-gen1"))
        listed = [node("i-0a", "m5.large"), node("i-0b", "m5.large"), node("i-0c", "trn3p.48xlarge", 16)]
        keep(connection, "kubernetes", {"kind": "List", "items": listed})
        found = identify(connection, resolve_place(connection, scope) if scope else None, in_order=True)
    assert found.proposed_bindings == ()
    assert {(each.name, each.why) for each in found.unassigned} == {(f"i-0{at}", UNCLAIMED_REASON) for at in "abc"}
    assert found.unclaimed_types == (UnclaimedType("m5.large", 2), UnclaimedType("trn3p.48xlarge", 1))


def test_a_server_of_trn3_still_takes_its_slot(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn3-gen1"))
        keep(connection, "kubernetes", {"kind": "List", "items": [node("i-0a", "trn3.48xlarge", 16)]})
        (found,) = identify(connection, in_order=True).proposed_bindings
        assert (found.address, found.instance) == ("trn3-gen1/d0/s0", "i-0a")


def test_four_chips_take_no_slot_of_sixteen(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn3-gen1"))
        keep(connection, "kubernetes", {"kind": "List", "items": [node("i-0a", "trn3.48xlarge", 4)]})
        found = identify(connection, in_order=True)
    assert (found.proposed_bindings, found.unclaimed_types) == ((), ())


def test_drift_finds_an_instance_that_was_bound_where_its_type_is_not(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn3-gen1"))
        keep(connection, "kubernetes", {"kind": "List", "items": [node("i-0a", "m5.large"), node("i-0b", "m5.large")]})
        bind(connection, [pinned_binding(connection, "trn3-gen1/d0/s3", "i-0a")], who="tests")
        made = detect_drift(connection)
    of_type = [each for each in made.findings if each.rule == "instance-type-unexpected"]
    assert [(each.address, each.observed) for each in of_type] == [("trn3-gen1/d0/s3", "m5.large")]
    assert "(assumed)" in str(of_type[0].expected)
    assert made.unclaimed_types == (UnclaimedType("m5.large", 1),)


@pytest.mark.parametrize(
    ("kind", "neighbours", "model"),
    [
        ("trn1n.32xlarge", TORUS, "Trn1n.32xlarge"),
        ("inf2.24xlarge", CHAIN, "Inf2.24xlarge"),
        ("inf2.48xlarge", RING, "Inf2.48xlarge"),
        ("inf2.xlarge", [None], "Inf2.xlarge"),
    ],
)
@pytest.mark.parametrize("source", ["ec2", "kubernetes", "neuron-ls"])
def test_an_instance_becomes_the_model_of_its_own_type(
    engine: Engine, kind: str, neighbours: list[list[int] | None], model: str, source: str
) -> None:
    name = f"i-{9:017x}"
    documents: dict[str, Any] = {
        "ec2": {"Reservations": [{"Instances": [instance(9, kind)]}]},
        "kubernetes": {"kind": "List", "items": [node(name, kind, len(neighbours))]},
        "neuron-ls": devices(name, kind, neighbours),
    }
    with write_transaction(engine) as connection:
        keep(connection, source, documents[source])
        found = adopt(connection, default_catalog(), default_systems(), "lab")
        assert [(each.model, each.machines, each.empty_slots) for each in found.models] == [(model, 1, 0)]
        keep(connection, "neuron-ls", devices(name, kind, neighbours))
        assert detect_drift(connection).findings == ()
    assert standing(engine) == {"lab/d0/s0": name}
    with read_transaction(engine) as connection:
        assert list(verify(connection, default_catalog(), default_systems())) == []


def test_a_cut_that_the_driver_would_show_in_a_chain_is_found(engine: Engine) -> None:
    changed = [*CHAIN[:5], [3]]
    with write_transaction(engine) as connection:
        keep(connection, "neuron-ls", devices("i-09", "inf2.24xlarge", changed))
        adopt(connection, default_catalog(), default_systems(), "lab")
        made = detect_drift(connection)
    assert [(each.rule, each.address) for each in made.findings] == [("neighbour-wrong", "lab/d0/s0/c5")]


def test_one_chip_of_trn2_is_adopted_as_neuron_ls_prints_it(engine: Engine) -> None:
    (device,) = devices("i-09", "trn2.3xlarge", [None])
    printed = device | {"nc_count": 4, "logical_neuroncore_config": 2, "memory_size": 96 << 30}
    with write_transaction(engine) as connection:
        keep(connection, "neuron-ls", [printed])
        assert adopt(connection, default_catalog(), default_systems(), "lab").models[0].model == "Trn2.3xlarge"
        assert detect_drift(connection).findings == ()


def test_the_family_that_sysfs_has_is_no_type(engine: Engine) -> None:
    driver = "/sys/devices/virtual/neuron_device/neuron0/info/architecture/instance_type"
    of = {"host": "h0", "neuron_ls": devices("i-09", "trn1.2xlarge", [None]), "sysfs": {driver: "Trn1"}}
    with write_transaction(engine) as connection:
        keep(connection, "neuron-ls", of)
        adopt(connection, default_catalog(), default_systems(), "lab")
        assert [finding.rule for finding in detect_drift(connection).findings] == [
            "field-missing"
        ]  # of ECC, not of the type


def test_every_interface_lists_types_as_drift_found_them(engine: Engine, run: Run) -> None:
    url, documents = engine.url.render_as_string(hide_password=False), {"kind": "List"}
    nodes = [node("i-0a", "m5.large"), node("i-0b", "m5.large"), node("i-0c", "trn1.32xlarge", 16)]
    ask = "{ unclaimedTypes(first: 1) { totalCount nodes { type count why } pageInfo { hasNextPage } } }"
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1.32xlarge"))
        keep(connection, "kubernetes", documents | {"items": nodes})
    with trninv.open(url) as fleet:
        answer = both_ways(fleet)
        assert fleet.unclaimed_types() == ()  # nothing was compared yet
        assert answer(ask)["data"]["unclaimedTypes"]["totalCount"] == 0
        found = json.loads(run("drift", "--format", "json", database=url)[1])
        of_type = {"type": "m5.large", "count": 2, "why": UNCLAIMED_REASON}
        assert found["unclaimedTypes"] == [of_type]
        assert fleet.unclaimed_types() == (UnclaimedType("m5.large", 2),)
        assert answer(ask)["data"]["unclaimedTypes"] == {
            "totalCount": 1,
            "nodes": [of_type],
            "pageInfo": {"hasNextPage": False},
        }


def test_what_was_last_seen_long_before_the_comparison_is_not_listed(engine: Engine) -> None:
    """As drift has it: an instance counts that was seen in the hour before, and one that was not is stale."""
    now = datetime.now(UTC).replace(microsecond=0)
    for minutes, name, kind in ((60, "i-0a", "m5.large"), (61, "i-0b", "c5.large")):
        listed = ImportFile(name, BytesIO(json.dumps(node(name, kind)).encode()))
        with write_transaction(engine) as connection:
            import_files(connection, "kubernetes", [listed], taken_at=now - timedelta(minutes=minutes))
    with write_transaction(engine) as connection:
        made = detect_drift(connection, now=now)
        assert made.unclaimed_types == unclaimed_types(connection) == (UnclaimedType("m5.large", 1),)


def test_commands_list_types_with_their_count_and_the_reason(run: Run, databases: Databases, tmp_path: Path) -> None:
    url, file = databases.migrated("sqlite"), tmp_path / "nodes.json"
    listed = [node("i-0a", "m5.large"), node("i-0b", "m5.large"), node("i-0c", "trn1.32xlarge", 16)]
    file.write_text(json.dumps({"kind": "List", "items": listed}))
    says = f"2 machines of type m5.large: {UNCLAIMED_REASON}"
    for words in (
        ("import", "kubernetes", str(file)),
        ("import", "kubernetes", str(file)),
        ("infer-bindings",),
        ("drift",),
    ):
        assert says in run(*words, database=url)[1].splitlines(), words
    assert (
        "omitted: 2 machines (i-0a, i-0b): no model in the catalog has its type m5.large"
        in run("adopt", "x", database=url)[1]
    )
    found = json.loads(run("infer-bindings", "--format", "json", database=url)[1])
    assert [(each["type"], each["count"]) for each in found["unclaimedTypes"]] == [("m5.large", 2)]
