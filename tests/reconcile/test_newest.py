"""The newest of everything that was seen, whatever order it came in, on both databases."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from printed import instance_topology, instances, listed, neuron_ls, node, slurm, slurm_node, text, ultraserver
from sqlalchemy import Engine, event

from conftest import Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.importers.ingestion import ImportFile, import_files
from trninv.reconcile.latest_observations import (
    ChipListing,
    LatestObservations,
    Machine,
    ReportedState,
    RingPosition,
    load_latest_observations,
)

pytestmark = pytest.mark.slow_on_postgresql

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated(request.param)) as engine:
        yield engine


def keep(engine: Engine, kind: str, document: object, hours: int = 0, **more: Any) -> None:
    with write_transaction(engine) as connection:
        files = [ImportFile("host-a.json", BytesIO(text(document)))]
        import_files(connection, kind, files, taken_at=START + timedelta(hours=hours), **more)


def known(engine: Engine) -> LatestObservations:
    with read_transaction(engine) as connection:
        return load_latest_observations(connection)


def called(instance: str, host: str) -> dict[str, Any]:
    """An instance with a name of its host, as EC2 lists it."""
    page = instances(instance)
    page["Reservations"][0]["Instances"][0]["PrivateDnsName"] = host
    return page


def only(engine: Engine) -> Machine:
    (machine,) = known(engine).machines.values()
    return machine


def test_what_is_older_never_overrides_what_is_newer(engine: Engine) -> None:
    blocks = {hours: f"cb-{hours}" for hours in range(6)}
    for hours in random.Random(5).sample(sorted(blocks), len(blocks)):
        keep(engine, "ec2", instance_topology(["i-a"], block=blocks[hours]), hours)
    assert only(engine).value("capacity_block") == "cb-5"
    keep(engine, "ec2", instance_topology(["i-a"], block="cb-2"), 9)  # the same content as long ago holds again
    assert only(engine).value("capacity_block") == "cb-2"


def test_facts_of_all_sources_are_joined_each_source_apart(engine: Engine) -> None:
    keep(engine, "ec2", instance_topology(["i-a"], block="cb-old"), 1)
    keep(engine, "ec2", instances("i-a", state="stopped"), 3)  # says nothing of a block
    keep(engine, "kubernetes", listed(node("n0", "i-a"), ultraserver(linkStatusHorizontal="down")), 2)
    keep(engine, "neuron-ls", neuron_ls("i-a", chips=[0, 1, 2]), 2)
    machine = only(engine)
    assert (machine.instance, machine.host, machine.name) == ("i-a", "n0", "i-a")
    assert machine.value("capacity_block") == "cb-old"
    assert machine.value("ring_position") == RingPosition("00000000000000ab", 2)
    assert machine.value("condition") == ReportedState("down", "stopped")
    assert {source: said.value.state for source, said in machine.latest_by_source("condition").items()} == {
        "ec2": "down",
        "kubernetes": "up",
    }
    assert isinstance(machine.value("chips"), ChipListing)
    assert machine.value("chips").is_partial
    assert {side: said.value for side, said in machine.link_states.items()} == {"H": "down", "V": "up"}
    assert machine.value("zone") == "usw2-az4"
    assert machine.value("ultraserver_mode") == "1_2_4"
    assert machine.latest("reservation") == machine.latest_by_source("reservation")["ec2"]


def test_a_place_is_an_ultraserver_with_its_own_number(engine: Engine) -> None:
    """Not the newest of either: the number in one UltraServer says nothing of another."""
    keep(engine, "kubernetes", node("n0", "i-a"), 1)
    later = {"neuron.amazonaws.com/ultraserver-server-id-4": "cd", "neuron.amazonaws.com/ultraserver-node-id-4": "-1"}
    keep(engine, "kubernetes", node("n0", "i-a", labels=later), 2)
    assert only(engine).value("ring_position") == RingPosition("cd", None)


def test_what_is_said_of_a_host_is_said_of_its_instance(engine: Engine) -> None:
    keep(engine, "neuron-ls", neuron_ls(None), 1, trust_host_names=True)
    assert known(engine).hosts["host-a"].instance is None
    keep(engine, "kubernetes", node("host-a", "i-a"), 2)
    machine = only(engine)
    assert (machine.name, known(engine).hosts["host-a"].name) == ("i-a", "i-a")
    assert machine.latest("chips") is not None


DRAINED = slurm(slurm_node("n0", "IDLE", "DRAIN", old=True))


def test_a_host_may_be_called_without_its_domain(engine: Engine) -> None:
    """As Slurm calls its nodes, and many machines themselves."""
    keep(engine, "ec2", called("i-a", "n0.us-west-2.compute.internal"), 1)
    keep(engine, "slurm", DRAINED, 2)
    keep(engine, "neuron-ls", {"host": "n0", "neuron_ls": neuron_ls(None)}, 3)
    keep(engine, "kubernetes", ultraserver(), 3)
    machine = only(engine)
    assert set(machine.latest_by_source("condition")) == {"ec2", "slurm"}
    assert machine.latest("chips") is not None
    assert set(machine.link_states) == {"H", "V"}
    assert machine.host == "n0"  # Slurm's name counts before that of EC2, as where Slurm knows the instance
    assert {name: each.name for name, each in known(engine).hosts.items()} == {
        "n0": "i-a",
        "n0.us-west-2.compute.internal": "i-a",
    }


def test_a_manager_may_leave_the_domain_out_that_the_machine_has(engine: Engine) -> None:
    keep(engine, "kubernetes", node("n0", "i-a"), 1)
    keep(engine, "neuron-ls", {"host": "n0.lan", "neuron_ls": neuron_ls(None)}, 2)
    assert only(engine).latest("chips") is not None


def test_two_names_of_one_host_whose_instance_is_not_known(engine: Engine) -> None:
    keep(engine, "slurm", DRAINED, 1)
    keep(engine, "neuron-ls", {"host": "n0.lan", "neuron_ls": neuron_ls(None)}, 2)
    machine = only(engine)
    assert (machine.name, set(machine.latest_by_source("condition"))) == ("n0.lan", {"slurm"})
    assert known(engine).hosts["n0"].name == "n0.lan"


def test_a_name_without_a_domain_that_two_hosts_may_have_is_neither(engine: Engine) -> None:
    for instance, host in (("i-a", "n0.us-west-2.compute.internal"), ("i-b", "n0.us-east-1.compute.internal")):
        keep(engine, "ec2", called(instance, host), 1)
    keep(engine, "slurm", DRAINED, 2)
    found = known(engine)
    assert [set(each.latest_by_source("condition")) for each in found.machines.values()] == [
        {"ec2"},
        {"ec2"},
        {"slurm"},
    ]


def test_a_name_without_a_domain_that_two_instances_have_is_nobody_s(engine: Engine) -> None:
    keep(engine, "ec2", called("i-a", "n0.lan"), 1)
    keep(engine, "kubernetes", listed(node("n0", "i-b"), node("n0", "i-c")), 1)
    keep(engine, "slurm", DRAINED, 2)
    assert "slurm" not in known(engine).machines["i-a"].latest_by_source("condition")


def test_no_machine_speaks_for_another_by_its_name(engine: Engine) -> None:
    collected = [{"host": "n0", "neuron_ls": neuron_ls(instance)} for instance in ("i-a", "i-bad")]
    keep(engine, "neuron-ls", collected[0], 1)
    assert only(engine).host == "n0"
    keep(engine, "neuron-ls", collected[1], 2)
    found = known(engine)
    assert found.ambiguous_hosts == {"n0": ("i-a", "i-bad")}
    assert [machine.host for machine in found.machines.values()] == [None, None]
    keep(engine, "kubernetes", node("n0", "i-a"), 0)
    found = known(engine)
    assert found.ambiguous_hosts == {}
    assert found.hosts["n0"] is found.machines["i-a"]
    assert found.machines["i-bad"].host is None


def test_a_name_that_a_manager_gave_on_is_the_new_instances(engine: Engine) -> None:
    keep(engine, "kubernetes", node("n0", "i-old"), 1)
    keep(engine, "kubernetes", node("n0", "i-new"), 2)
    assert known(engine).hosts["n0"].name == "i-new"
    keep(engine, "kubernetes", listed(node("n0", "i-new"), node("n0", "i-newer")), 3)
    assert known(engine).ambiguous_hosts == {"n0": ("i-new", "i-newer")}


def test_the_number_of_statements_does_not_grow(engine: Engine) -> None:
    keep(engine, "ec2", instance_topology([f"i-{number}" for number in range(3_000)]))
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert len(known(engine).machines) == 3_000
    assert sum(statement.startswith("SELECT") and "observ" in statement for statement in statements) == 2
