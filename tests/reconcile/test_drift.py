"""Each rule of drift finds its own fault in a whole fleet, and nothing where all is well, on both databases."""

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from drifting import MEASURED_RULES, MINUTES, START, alive_fleet, bound, found, keep, monitored, seeded
from printed import MONITOR, listed, neuron_ls, node, slurm, slurm_node, ultraserver
from queries import run_query
from sqlalchemy import Engine, func, select

import trninv
from conftest import Databases, Run, both_ways, services
from fleet_outputs import FAULTS, NEW, Machine, machines, outputs, placed, renumbered
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.cli.messages import format_unapplied
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.finding_rules import FINDING_RULES
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError
from trninv.graphql.document_request import Request
from trninv.history.events import list_events
from trninv.importers.ingestion import ImportFile, import_files
from trninv.incidents.unapplied_findings import list_unapplied_findings
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state import bindings
from trninv.inventory.state.author import OMITTED_JOB_PREFIX
from trninv.inventory.state.bindings import ProposedBinding, bind, unbind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.uncordon import uncordon
from trninv.reconcile import chip_drift, drift
from trninv.reconcile.changes.detect_drift import detect_drift as drift_change
from trninv.reconcile.drift import DriftResult, UncomparedServers, detect_drift
from trninv.reconcile.findings import list_findings
from trninv.reconcile.occupied_slots import load_occupied_slots
from trninv.reconcile.rules import CHIP_RULES, DOMAIN_RULES, FLEET_RULES, SERVER_RULES
from trninv.units import format_timestamp

pytestmark = pytest.mark.slow_on_postgresql


@pytest.fixture(params=["sqlite", "postgresql"])
def alive(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.copied(request.param, alive_fleet)) as engine:
        yield engine


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.copied(request.param, seeded)) as engine:
        yield engine


def rules(of: DriftResult) -> list[str]:
    return [finding.rule for finding in of.findings]


def test_every_rule_is_declared_once_and_has_a_fault() -> None:
    asked = [*CHIP_RULES.rules, *SERVER_RULES.rules, *DOMAIN_RULES.rules, *FLEET_RULES.rules]
    assert sorted(asked) == sorted(FINDING_RULES)
    assert sorted([*FAULTS, *MEASURED_RULES, "scheduler-block-differs", "stale"]) == sorted(FINDING_RULES)


def faulty(engine: Engine, rule: str, at: datetime) -> None:
    """Import what the fleet prints otherwise with a fault than where all is well."""
    changed = outputs(machines())
    FAULTS[rule](changed)
    keep(engine, changed, at, set(outputs(machines()).files()))


@pytest.mark.parametrize("rule", sorted(FAULTS.keys() - {"server-unbound"}))
def test_a_rule_finds_its_fault_and_no_other_does(alive: Engine, rule: str) -> None:
    faulty(alive, rule, START + 10 * MINUTES)
    if rule == "instance-replaced":
        bound(alive, [NEW])
    made = found(alive, START + 20 * MINUTES)
    assert set(rules(made)) == {rule}
    assert {finding.severity for finding in made.findings} == {FINDING_RULES[rule].severity}


def test_where_all_is_well_nothing_is_found_until_it_is_stale(alive: Engine) -> None:
    assert found(alive, START + 60 * MINUTES).findings == ()
    made = found(alive, START + 61 * MINUTES)
    assert set(rules(made)) == {"stale"}
    assert (made.new_count, made.cleared_count) == (len(machines()), 0)


def test_each_server_is_told_of_and_how_many_there_are(alive: Engine) -> None:
    told: list[tuple[str, int, int]] = []
    with write_transaction(alive) as connection:
        detect_drift(connection, now=START, progress=lambda *step: told.append(step))
    total = told[0][2]
    assert total > 1
    assert told == [("servers", at, total) for at in range(total)]


def test_chips_that_are_alike_are_compared_once(alive: Engine) -> None:
    chip_drift._check_chip.cache_clear()
    assert found(alive, START + MINUTES).findings == ()
    compared = chip_drift._check_chip.cache_info()
    with alive.connect() as connection:
        shown = connection.scalar(select(func.count()).select_from(TABLES["observed_chip"]))
    assert 0 < compared.hits + compared.misses < (shown or 0) // 2


def test_a_slot_without_an_instance_is_unbound_unless_it_is_out_of_service(engine: Engine) -> None:
    fleet = [machine for machine in machines() if machine.number != 17]
    keep(engine, outputs(fleet), START)
    bound(engine, fleet)
    (finding,) = found(engine, START).findings
    assert (finding.rule, finding.address) == ("server-unbound", "trn1.32xlarge/d1/s0")
    with write_transaction(engine) as connection:
        set_state(connection, ["trn1.32xlarge/d1/s0"], Condition("down"), why="none there", who="tests")
    assert found(engine, START).findings == ()


def well(engine: Engine, at: datetime) -> None:
    keep(engine, outputs(machines()), at)


def test_a_finding_lasts_ends_and_comes_back_as_another(alive: Engine) -> None:
    faulty(alive, "memory-wrong", START + 10 * MINUTES)
    first, again = found(alive, START + 11 * MINUTES), found(alive, START + 12 * MINUTES)
    assert (first.new_count, again.new_count, again.cleared_count) == (1, 0, 0)
    (one,), (same,) = first.findings, again.findings
    assert (same.id, same.first_seen) == (one.id, one.first_seen)
    assert same.last_seen > one.last_seen
    well(alive, START + 13 * MINUTES)
    assert found(alive, START + 14 * MINUTES).cleared_count == 1
    faulty(alive, "memory-wrong", START + 15 * MINUTES)
    (back,) = found(alive, START + 16 * MINUTES).findings
    assert back.id != one.id
    with read_transaction(alive) as connection:
        kept = list_findings(connection, include_cleared=True)
        assert list_findings(connection) == [back]
    assert [each.cleared_at is None for each in kept] == [False, True]


def test_what_is_older_never_overrides_what_is_newer(alive: Engine) -> None:
    faulty(alive, "chip-missing", START - 30 * MINUTES)
    assert found(alive, START + 2 * MINUTES).findings == ()


@pytest.mark.parametrize(
    ("rule", "parts", "sources"),
    [
        ("chip-missing", {"trn2-16.48xlarge/d1/s0/c5": "down"}, {" by kubernetes, neuron-ls"}),
        ("health-condition", {"trn2-16.48xlarge/d1/s0": "down"}, {""}),  # what it observed names the source
        ("instance-gone", {"trn1.32xlarge/d1/s0": "down"}, {" by ec2", " by kubernetes"}),
        (
            "side-link-down",  # node 1 is joined with node 2 by its side H
            {f"u-trn2x64/d0/s1/c{chip}--u-trn2x64/d0/s2/c{chip}": "down" for chip in range(16)},
            {" by kubernetes"},
        ),
        ("memory-wrong", {}, set()),
        ("state-differs", {}, set()),
    ],
)
def test_states_are_set_where_asked_by_what_does_not_work(
    alive: Engine, rule: str, parts: dict[str, str], sources: set[str]
) -> None:
    faulty(alive, rule, START + 10 * MINUTES)
    assert found(alive, START + 11 * MINUTES).applied_changes == ()
    assert found(alive, START + 11 * MINUTES, "trn1.32xlarge/d0", apply=True).applied_changes == ()
    with read_transaction(alive) as connection:
        unapplied = list_unapplied_findings(connection)
    assert ("--apply" in format_unapplied(unapplied)) == bool(parts)
    made = found(alive, START + 12 * MINUTES, apply=True)
    assert {change.address: str(change.after) for change in made.applied_changes} == parts
    assert found(alive, START + 13 * MINUTES, apply=True).applied_changes == ()
    with read_transaction(alive) as connection:
        assert not parts or list_unapplied_findings(connection) == []
        written = list(list_events(connection, limit=100))
    assert {row.who for row in written} <= {"anna"}
    whys = {row.why for row in written}
    (finding,) = [each for each in made.findings if each.rule == rule]
    assert len(whys) == bool(parts)
    assert whys <= {f"finding {finding.id}{by}: {rule}: {finding.observed}" for by in sources}


def test_a_closed_server_is_drained_by_its_scheduler(alive: Engine) -> None:
    faulty(alive, "state-differs", START + 10 * MINUTES)
    (finding,) = found(alive, START + 11 * MINUTES).findings
    assert finding.address is not None
    with write_transaction(alive) as connection:
        cordon(connection, [finding.address], who="me", why="tested by hand")
    assert found(alive, START + 12 * MINUTES).findings == ()
    with write_transaction(alive) as connection:
        uncordon(connection, [finding.address])
    assert rules(found(alive, START + 13 * MINUTES)) == ["state-differs"]
    with write_transaction(alive) as connection:
        cordon(connection, [finding.address], who="slurm", why=f"{OMITTED_JOB_PREFIX}train (7)")
    assert rules(found(alive, START + 14 * MINUTES)) == ["state-differs"], "an import's closing is nobody's will"


def test_what_is_out_of_service_already_is_left_alone(alive: Engine) -> None:
    with write_transaction(alive) as connection:
        set_state(connection, ["trn2-16.48xlarge/d1/s0/c5"], Condition("maintenance"), why="mine", who="tests")
    faulty(alive, "chip-missing", START + 10 * MINUTES)
    assert found(alive, START + 11 * MINUTES, apply=True).applied_changes == ()


@pytest.mark.parametrize("numbers", [(1, 2, 3, 0), (3, 2, 1, 0), (0, 3, 2, 1), (2, 3, 0, 1)])
def test_a_ring_that_is_numbered_from_elsewhere_is_the_same(alive: Engine, numbers: tuple[int, ...]) -> None:
    changed = outputs(machines())
    renumbered(changed, *numbers)
    keep(alive, changed, START + 10 * MINUTES)
    assert found(alive, START + 11 * MINUTES).findings == ()


@pytest.mark.parametrize(("numbers", "count"), [((0, 1, 2, 3), 1), ((0, 1, 3, 2), 0), ((1, 0, 2, 3), 0)])
def test_the_ring_of_a_switched_ultraserver_is_that_by_which_its_instances_are_bound(
    engine: Engine, numbers: tuple[int, ...], count: int
) -> None:
    """The driver of Trn3 Gen1 numbers the second rack's servers backwards; a switch connects the servers of a rack.

    So no link leads from a server to the other of its rack.
    """
    label = "neuron.amazonaws.com/ultraserver-node-id-4"
    nodes = [
        node(
            f"n{server}",
            f"i-{server}",
            labels={label: str(number), "node.kubernetes.io/instance-type": "trn3.48xlarge"},
        )
        for server, number in enumerate(numbers)
    ]
    sides = [
        {"nodeId": number, "nodeName": f"n{server}", "linkStatusVertical": "down"}
        for server, number in enumerate(numbers)
    ]
    pod = ultraserver()
    pod["spec"]["topology"] = sides
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn3-gen1"))
        slots = [resolve_place(connection, f"trn3-gen1/d0/s{server}") for server in range(4)]
        standing = [
            ProposedBinding(slot.id, slot.address, f"i-{server}", None, "pin", "certain")
            for server, slot in enumerate(slots)
        ]
        bind(connection, standing, who="tests")
        content = json.dumps(listed(*nodes, pod)).encode()
        import_files(connection, "kubernetes", [ImportFile("f", BytesIO(content))], taken_at=START)
    made = found(engine, START, apply=True)
    assert rules(made).count("node-order-wrong") == count
    assert (rules(made).count("side-link-down"), made.applied_changes) == (4, ())
    assert {finding.observed for finding in made.findings if finding.rule == "side-link-down"} == {"side V down"}
    with read_transaction(engine) as connection:
        assert "--apply" not in format_unapplied(list_unapplied_findings(connection))


def test_what_is_not_known_is_no_finding(alive: Engine) -> None:
    changed = outputs(machines())
    for block in changed.blocks.values():
        block["InterconnectStatus"] = "insufficient-data"
    for instance in changed.topology.values():
        instance["CapacityBlockId"] = "null"
    keep(alive, changed, START + 10 * MINUTES)
    assert found(alive, START + 11 * MINUTES).findings == ()


def test_a_count_of_what_may_be_allocated_does_not_say_which_chip_is_missing(alive: Engine) -> None:
    changed = outputs(machines())
    changed.nodes[machines()[13].instance]["status"]["allocatable"]["aws.amazon.com/neuron"] = "15"
    keep(alive, changed, START + 10 * MINUTES)
    made = found(alive, START + 11 * MINUTES, apply=True)
    (finding,) = made.findings
    assert (finding.rule, finding.address) == ("chip-missing", "trn2-16.48xlarge/d1/s0")
    assert finding.observed == "15 by kubernetes, which does not list them"
    assert made.applied_changes == ()
    assert (
        "chip-missing at 1 server: no source says which chip, so --apply sets none down; "
        f"import neuron-ls of {machines()[13].instance}"
    ) in drift_change.render(made)


def test_counters_that_fell_start_anew(alive: Engine) -> None:
    instance = machines()[13].instance
    path = "/sys/devices/virtual/neuron_device/neuron5/stats/hardware/mem_ecc_uncorrected/total"
    grew = []
    for minute, count in enumerate((3, 3, 0, 2, 2, 1, 1)):
        changed = outputs(machines())
        changed.sysfs[instance][path] = str(count)
        keep(alive, changed, START + (10 + minute) * MINUTES)
        grew.append([(each.expected, each.observed) for each in found(alive, START + (10 + minute) * MINUTES).findings])
    assert grew == [[("0", "3")], [("0", "3")], [], [("0", "2")], [("0", "2")], [], []]


def test_errors_that_grew_cite_both_counts_so_that_both_are_kept(alive: Engine) -> None:
    instance = machines()[13].instance
    path = "/sys/devices/virtual/neuron_device/neuron5/stats/hardware/mem_ecc_uncorrected/total"
    for minute, count in enumerate((1, 2, 3)):
        changed = outputs(machines())
        changed.sysfs[instance][path] = str(count)
        keep(alive, changed, START + (10 + minute) * MINUTES)
    (finding,) = found(alive, START + 20 * MINUTES).findings
    observation, chip, server = (TABLES[name] for name in ("observation", "observed_chip", "observed_server"))
    counts = select(chip.c.ecc_uncorrected).join(server, server.c.id == chip.c.observed_server_id).order_by(server.c.id)
    counts = counts.where(chip.c.ordinal == 5)
    with read_transaction(alive) as connection:
        shown = connection.scalars(counts.where(server.c.observation_id.in_(finding.evidence))).all()
        cited = connection.scalars(select(observation.c.id).where(observation.c.is_cited)).all()
    assert (finding.expected, finding.observed, shown) == ("0", "3", [0, 3])
    assert sorted(cited) == list(finding.evidence)


def test_what_is_bound_again_is_where_it_is(alive: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty(alive, "network-node-moved", START + 5 * MINUTES)
    assert rules(found(alive, START + 6 * MINUTES)) == ["network-node-moved"]
    later = format_timestamp(datetime.now(UTC) + MINUTES)
    monkeypatch.setattr(bindings, "current_timestamp", lambda: later)
    with write_transaction(alive) as connection:
        unbind(connection, "trn2-16.48xlarge/d3/s0", who="tests")
    bound(alive, [machines()[15]])
    assert rules(found(alive, START + 7 * MINUTES)) == ["fabric-inconsistent"]  # the design has it elsewhere


def test_an_instance_that_one_source_no_longer_lists_is_gone(alive: Engine) -> None:
    changed = outputs(machines())
    changed.remove(machines()[17].instance)
    page = dict(changed.files())["ec2/instances.json"]
    with write_transaction(alive) as connection:
        files = [ImportFile("another-name.json", BytesIO(page.encode()))]
        import_files(connection, "ec2", files, taken_at=START + 5 * MINUTES)
    (finding,) = found(alive, START + 6 * MINUTES).findings
    assert (finding.rule, finding.address) == ("instance-gone", "trn1.32xlarge/d1/s0")


def test_a_count_in_a_container_is_no_count(alive: Engine) -> None:
    line = json.loads(json.dumps(MONITOR))
    line["instance_info"] |= {"instance_id": machines()[13].instance, "instance_type": "trn2.48xlarge"}
    line["neuron_hardware_info"]["neuron_device_count"] = 4
    line["system_data"]["neuron_hw_counters"]["neuron_devices"] = []
    with write_transaction(alive) as connection:
        files = [ImportFile("monitor.json", BytesIO(json.dumps(line).encode() + b"\n"))]
        import_files(connection, "neuron-monitor", files, taken_at=START + 5 * MINUTES)
    assert found(alive, START + 6 * MINUTES).findings == ()


def test_a_driver_that_does_not_answer_its_monitor_is_found_until_it_does(alive: Engine) -> None:
    instance, error = machines()[13].instance, {"error": "neuron driver not responding"}
    silent = monitored(instance, neuron_hardware_info=error, system_data={})
    given = [(10, silent), (20, monitored(instance, system_data={}))]
    shown = []
    for minute, file in given:
        with write_transaction(alive) as connection:
            import_files(connection, "neuron-monitor", [file], taken_at=START + minute * MINUTES)
        made = found(alive, START + (minute + 1) * MINUTES)
        shown.append([(each.rule, each.address, each.observed) for each in made.findings])
    what = "neuron_hardware_info: neuron driver not responding by neuron-monitor"
    assert shown == [[("health-condition", "trn2-16.48xlarge/d1/s0", what)], []]


def test_two_listings_of_different_instances_do_not_call_each_other_gone(alive: Engine) -> None:
    elsewhere = outputs([Machine(500, "trn1.32xlarge", 0, 0)])
    page = dict(elsewhere.files())["ec2/instances.json"]
    with write_transaction(alive) as connection:
        files = [ImportFile("another-region.json", BytesIO(page.encode()))]
        import_files(connection, "ec2", files, taken_at=START + 5 * MINUTES)
    assert rules(found(alive, START + 6 * MINUTES)) == ["instance-unplaced"]


def test_neighbours_of_switched_chips_are_not_compared(engine: Engine) -> None:
    """The driver has Trn2's torus for them; a cluster of one domain has no fabric to compare either."""
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn3-gen1"))
        standing = ProposedBinding(
            resolve_place(connection, "trn3-gen1/d0/s0").id, "trn3-gen1/d0/s0", "i-3", None, "pin", "certain"
        )
        bind(connection, [standing], who="tests")
        set_state(
            connection, [f"trn3-gen1/d0/s{server}" for server in (1, 2, 3)], Condition("down"), why="none", who="tests"
        )
        devices = [each | {"memory_size": 144 << 30} for each in neuron_ls("i-3", "trn3.48xlarge")]
        topology = placed(machines()[0]) | {"InstanceId": "i-3", "InstanceType": "trn3.48xlarge"}
        for kind, document in (("neuron-ls", devices), ("ec2", {"Instances": [topology]})):
            import_files(connection, kind, [ImportFile("f", BytesIO(json.dumps(document).encode()))], taken_at=START)
    assert found(engine, START).findings == ()
    with write_transaction(engine) as connection:
        assert [slot.network_node for slot in load_occupied_slots(connection)] == [None] * 4
        devices[3]["memory_size"] = 96 << 30
        import_files(
            connection, "neuron-ls", [ImportFile("f", BytesIO(json.dumps(devices).encode()))], taken_at=START + MINUTES
        )
    assert rules(found(engine, START + MINUTES)) == ["memory-wrong"]


def test_extra_chips_are_named_as_listed(alive: Engine) -> None:
    changed = outputs(machines())
    instance = machines()[13].instance
    device = changed.devices[instance][0] | {"connected_to": None}
    changed.devices[instance] += [
        device | {"neuron_device": 16, "bdf": "0000:aa:00.0"},
        device | {"neuron_device": 18, "bdf": "0000:ab:00.0"},
    ]
    keep(alive, changed, START + 10 * MINUTES)
    extra = [finding for finding in found(alive, START + 11 * MINUTES).findings if finding.rule == "chip-extra"]
    assert [(finding.expected, finding.observed) for finding in extra] == [("16 chips", "chip 16, 18 by neuron-ls")]


@pytest.mark.parametrize(
    ("change", "has_node"),
    [
        ("UPDATE nic SET ordinal = ordinal + 100 WHERE ordinal = 0", True),
        ("DELETE FROM link WHERE scope = 'fabric' AND a_id IN (SELECT id FROM nic WHERE ordinal = 0)", True),
        ("UPDATE link SET b_id = b_id + 1 WHERE scope = 'fabric' AND a_id IN (SELECT max(id) FROM nic)", False),
    ],
)
def test_the_network_node_above_a_slot_is_that_of_all_its_nics(
    databases: Databases, change: str, has_node: bool
) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        lab = default_systems().get("trn2").resized(40)
        cluster_seeding.seed(connection, default_catalog(), lab, name="lab")
        slot = resolve_place(connection, "lab/d39/s0")
        bind(connection, [ProposedBinding(slot.id, slot.address, "i-0a", None, "pin", "certain")], who="tests")
        before = load_occupied_slots(connection)
        connection.exec_driver_sql(change)
        after = load_occupied_slots(connection)
    assert all(slot.network_node for slot in before)
    assert [slot.network_node for slot in after[:-1]] == [slot.network_node for slot in before[:-1]]
    assert after[-1].network_node == (before[-1].network_node if has_node else None)


def test_of_what_sources_disagree_on_neither_is_taken_for_true(alive: Engine) -> None:
    changed = outputs(machines())
    labels = changed.nodes[machines()[1].instance]["metadata"]["labels"]
    labels["topology.k8s.aws/capacity-block-id"] = "cb-elsewhere"
    labels["topology.k8s.aws/zone-id"] = "usw2-az1"
    keep(alive, changed, START + 10 * MINUTES)
    made = found(alive, START + 11 * MINUTES)
    assert rules(made) == ["conflict-between-sources"] * 2
    block = f"{machines()[1].block} by ec2; cb-elsewhere by kubernetes"
    assert block in [each.observed for each in made.findings]


def test_no_rule_takes_one_of_two_types_for_true(alive: Engine) -> None:
    """The documented EFA device and NUMA node of a chip depend on the type, and neither source's is used."""
    changed, plain = outputs(machines()), machines()[13]
    for fault in "efa-map-wrong", "numa-wrong":
        FAULTS[fault](changed)
    keep(alive, changed, START + 10 * MINUTES)
    assert {"efa-map-wrong", "numa-wrong"} <= set(rules(found(alive, START + 11 * MINUTES)))
    labels = changed.nodes[plain.instance]["metadata"]["labels"]
    (label,) = (name for name, value in labels.items() if value == "trn2.48xlarge")
    for disputed in "trn1.32xlarge", "trn2u.48xlarge":
        labels[label] = disputed
        keep(alive, changed, START + 12 * MINUTES)
        made = found(alive, START + 13 * MINUTES)
        assert rules(made) == ["conflict-between-sources"]
        (conflict,) = made.findings
        assert f"{disputed} by kubernetes (Node)" in str(conflict.observed)
        assert "trn2.48xlarge by ec2 and kubernetes (ResourceSlice) and neuron-ls" in str(conflict.observed)
        uncompared = (UncomparedServers("efa-map-wrong", 1), UncomparedServers("numa-wrong", 1))
        assert made.uncompared_servers == uncompared


def test_a_machine_did_not_move_while_sources_disagree_on_its_network_nodes(alive: Engine) -> None:
    changed = outputs(machines())
    FAULTS["network-node-moved"](changed)
    changed.topology = outputs(machines()).topology  # only Kubernetes reports the other node
    keep(alive, changed, START + 10 * MINUTES)
    assert rules(found(alive, START + 11 * MINUTES)) == ["conflict-between-sources"]


@pytest.mark.parametrize(("name", "conflicts"), [("usw2-az4", 0), ("us-west-2d", 0), ("usw2-az1", 1)])
def test_the_name_of_a_zone_and_its_id_are_no_conflict(alive: Engine, name: str, conflicts: int) -> None:
    """DescribeInstances has the zone's name alone in older versions of the API, Kubernetes its id."""
    reported = {"InstanceId": machines()[1].instance, "Placement": {"AvailabilityZone": name}}
    with write_transaction(alive) as connection:
        content = json.dumps({"Reservations": [{"Instances": [reported]}], "NextToken": "x"}).encode()
        import_files(connection, "ec2", [ImportFile("i", BytesIO(content))], taken_at=START + 10 * MINUTES)
    assert rules(found(alive, START + 11 * MINUTES)).count("conflict-between-sources") == conflicts


def test_two_fresh_types_by_the_only_fresh_source_are_a_conflict_alone(alive: Engine) -> None:
    """No other rule takes the later one for the machine's type."""
    instance_id, later = machines()[1].instance, START + 110 * MINUTES
    instances = {"Reservations": [{"Instances": [{"InstanceId": instance_id, "InstanceType": "trn2u.48xlarge"}]}]}
    topology = {
        "Instances": [
            {"InstanceId": instance_id, "InstanceType": "trn2.48xlarge", "ZoneId": "usw2-az4", "NetworkNodes": []}
        ]
    }
    files = [
        ImportFile(f"{next(iter(reported))}.json", BytesIO(json.dumps(reported | {"NextToken": "x"}).encode()))
        for reported in (instances, topology)
    ]
    with write_transaction(alive) as connection:
        import_files(connection, "ec2", files, taken_at=later)
    told = [each.rule for each in found(alive, later + 2 * MINUTES).findings if each.instance == instance_id]
    assert "conflict-between-sources" in told
    assert "instance-type-unexpected" not in told


def test_two_types_of_one_machine_by_one_source_are_a_conflict(alive: Engine) -> None:
    reported = {
        "InstanceId": machines()[1].instance,
        "InstanceType": "trn2.48xlarge",
        "NetworkNodes": machines()[1].network_nodes,
    }
    with write_transaction(alive) as connection:
        import_files(
            connection,
            "ec2",
            [ImportFile("i", BytesIO(json.dumps({"Instances": [reported], "NextToken": "x"}).encode()))],
            taken_at=START + 10 * MINUTES,
        )
    told = [each.observed for each in found(alive, START + 11 * MINUTES).findings if each.rule.startswith("conflict")]
    first, second = str(told[0]).split("; ")
    assert (len(told), first) == (1, "trn2.48xlarge by ec2 (DescribeInstanceTopology)")
    assert second == (
        "trn2u.48xlarge by ec2 (DescribeInstanceTopology) and ec2 (DescribeInstances) and "
        "kubernetes and neuron-ls and neuron-sysfs and slurm"
    )


def test_a_fault_that_a_stale_source_shows_gives_way_to_what_is_fresh(alive: Engine) -> None:
    faulty(alive, "chip-missing", START)
    late = START + 100 * MINUTES
    changed = outputs(machines())
    devices = changed.devices[machines()[13].instance]
    with write_transaction(alive) as connection:
        import_files(
            connection, "neuron-ls", [ImportFile("f", BytesIO(json.dumps(devices, indent=2).encode()))], taken_at=late
        )
    assert "chip-missing" not in rules(found(alive, late))


def test_a_machine_that_gives_itself_the_name_of_another_speaks_for_itself_alone(alive: Engine) -> None:
    liar, other = machines()[13], machines()[12]
    devices = outputs(machines()).devices[liar.instance]
    del devices[5]
    line = json.dumps({"host": other.host, "neuron_ls": devices}).encode()
    with write_transaction(alive) as connection:
        import_files(connection, "neuron-ls", [ImportFile("liar.json", BytesIO(line))], taken_at=START + 5 * MINUTES)
    made = found(alive, START + 6 * MINUTES, apply=True)
    assert [each.address for each in made.findings] == ["trn2-16.48xlarge/d1/s0/c5"]
    assert [change.address for change in made.applied_changes] == ["trn2-16.48xlarge/d1/s0/c5"]


def test_a_machine_that_calls_its_host_by_the_id_of_another_instance_is_not_that_instance(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        slot = resolve_place(connection, "trn2-16.48xlarge/d0/s0")
        bind(connection, [ProposedBinding(slot.id, slot.address, "i-0a", None, "pin", "certain")], who="tests")
        line = json.dumps({"host": "i-0a", "neuron_ls": neuron_ls("i-0b", "trn2.48xlarge", range(15))}).encode()
        import_files(connection, "neuron-ls", [ImportFile("liar.json", BytesIO(line))], taken_at=START)
    made = found(engine, START, slot.address, apply=True)
    assert ([(each.rule, each.instance) for each in made.findings], made.applied_changes) == ([("stale", "i-0a")], ())


def test_a_node_that_slurm_drains_is_found_by_its_host_s_name_alone(alive: Engine) -> None:
    """Slurm 22.05 knows no instances; its nodes are called with or without their domain."""
    machine = machines()[13]
    for minute, host in enumerate((machine.host, machine.host.partition(".")[0])):
        page = slurm(slurm_node(host, "IDLE", "DRAIN", old=True) | {"reason": f"HBM errors {minute}"})
        with write_transaction(alive) as connection:
            files = [ImportFile("nodes.json", BytesIO(json.dumps(page).encode()))]
            import_files(connection, "slurm", files, taken_at=START + (5 + minute) * MINUTES)
        (finding,) = found(alive, START + (5 + minute) * MINUTES).findings
        assert (finding.rule, finding.address) == ("state-differs", "trn2-16.48xlarge/d1/s0")
        assert finding.observed == f"maintenance by slurm (HBM errors {minute})"


def test_what_a_machine_said_of_itself_long_before_all_others_is_stale(engine: Engine) -> None:
    """Whatever it calls itself: an instance, its host, or its host without the domain."""
    fleet, printed = machines(), outputs(machines())
    del printed.devices[fleet[13].instance]
    keep(engine, printed, START)
    bound(engine, fleet)
    short = fleet[13].host.partition(".")[0]
    for minute, (instance, host) in enumerate(
        [(None, short), (None, fleet[13].host), (fleet[13].instance, short), (fleet[13].instance, None)]
    ):
        devices = neuron_ls(instance, "trn2.48xlarge")
        line = json.dumps({"host": host, "neuron_ls": devices} if host else devices)
        at = START + (minute - 300) * MINUTES
        with write_transaction(engine) as connection:
            import_files(connection, "neuron-ls", [ImportFile("own.json", BytesIO(line.encode()))], taken_at=at)
        (finding,) = found(engine, START + MINUTES).findings
        assert (finding.rule, finding.address) == ("stale", "trn2-16.48xlarge/d1/s0")
        assert finding.observed == f"last observed by neuron-ls at {format_timestamp(at)}"


@pytest.mark.parametrize(("minutes", "count"), [(60, 0), (61, 1)])
def test_of_each_source_the_newest_may_be_an_hour_old(engine: Engine, minutes: int, count: int) -> None:
    fleet, printed = machines(), outputs(machines())
    devices = printed.devices.pop(fleet[13].instance)
    keep(engine, printed, START)
    bound(engine, fleet)
    with write_transaction(engine) as connection:
        files = [ImportFile("own.json", BytesIO(json.dumps(devices).encode()))]
        import_files(connection, "neuron-ls", files, taken_at=START - minutes * MINUTES)
    assert rules(found(engine, START)) == ["stale"] * count


def test_errors_that_a_machine_counts_are_found_by_any_name_of_its_host(alive: Engine) -> None:
    machine, changed = machines()[13], outputs(machines())
    path = "/sys/devices/virtual/neuron_device/neuron5/stats/hardware/mem_ecc_uncorrected/total"
    for minute, count in enumerate((0, 3)):
        lines = [f"{name}:{value}" for name, value in (changed.sysfs[machine.instance] | {path: count}).items()]
        content = "\n".join([f"# host: {machine.host.partition('.')[0]}", *lines]).encode()
        with write_transaction(alive) as connection:
            import_files(
                connection, "neuron-sysfs", [ImportFile("f", BytesIO(content))], taken_at=START + (5 + minute) * MINUTES
            )
    (finding,) = found(alive, START + 7 * MINUTES).findings
    assert (finding.rule, finding.address) == ("ecc-uncorrected", "trn2-16.48xlarge/d1/s0/c5")


def test_a_scope_has_what_is_at_and_below_it(alive: Engine) -> None:
    faulty(alive, "side-link-down", START + 10 * MINUTES)
    has = {"u-trn2x64": 1, "u-trn2x64/d0": 1, "u-trn2x64/d0/s2": 0, "u-trn2x64/r0": 1, "u-trn2x64/d1": 0}
    for scope, count in has.items():
        with write_transaction(alive) as connection:
            assert len(detect_drift(connection, scope, now=START + 11 * MINUTES).findings) == count
            connection.rollback()


def test_the_command_tells_and_fails_where_asked(alive: Engine, run: Run) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    keep(alive, outputs(machines()), now)
    faulty(alive, "numa-wrong", now)
    url = alive.url.render_as_string(hide_password=False)
    for words, status in (
        ((), 0),
        (("--fail-on", "high"), 0),
        (("--fail-on", "medium"), 1),
        (("--fail-on", "info"), 1),
    ):
        code, out, _ = run("drift", *words, database=url)
        assert code == status
        assert "numa-wrong" in out
    code, out, _ = run("drift", "--format", "json", database=url)
    answer = json.loads(out)
    (finding,) = answer["findings"]
    assert (answer["newCount"], answer["clearedCount"], answer["appliedChanges"], answer["unclaimedTypes"]) == (
        0,
        0,
        [],
        [],
    )
    assert finding["address"] == "trn2-16.48xlarge/d1/s0/c5"
    assert finding["firstSeen"] <= finding["lastSeen"]
    assert run("drift", "trn1.32xlarge", "--fail-on", "info", database=url)[0] == 0
    assert run("drift", "nowhere", database=url)[0] == 1
    for minutes in ("0", "527041"):
        assert "stale_after" in run("drift", "--stale-after", minutes, database=url)[2]
    assert "who: write 1 to" in run("drift", "--apply", "--who", " ", database=url)[2]


@pytest.mark.parametrize("has_name", [True, False])
def test_only_apply_needs_an_author(alive: Engine, run: Run, monkeypatch: pytest.MonkeyPatch, has_name: bool) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    faulty(alive, "chip-missing", now)
    url = alive.url.render_as_string(hide_password=False)
    if has_name:
        monkeypatch.setenv("LOGNAME", "ops")
    else:
        monkeypatch.setattr("getpass.getuser", lambda: (_ for _ in ()).throw(OSError))
    assert run("drift", database=url)[0] == 0
    status, out, error = run("drift", "--apply", "--dry-run", database=url)
    assert (status, "/c5: up → down" in out, "who is missing" in error) == (2 - 2 * has_name, has_name, not has_name)
    with read_transaction(alive) as connection:
        assert list(list_events(connection, limit=100)) == []
    assert run("drift", "--apply", "--who", "anna", database=url)[0] == 0
    with read_transaction(alive) as connection:
        assert {row.who for row in list_events(connection, limit=100)} == {"anna"}


def test_apply_names_the_jobs_that_it_hits(alive: Engine, run: Run) -> None:
    faulty(alive, "chip-missing", datetime.now(UTC).replace(microsecond=0))
    with write_transaction(alive) as connection:
        allocate(connection, "train 7b", ["trn2-16.48xlarge/d1/s0"], who="anna")
    url, hit = alive.url.render_as_string(hide_password=False), "this hits train 7b; where it can go: trninv replace"
    assert "hits" not in run("drift", database=url)[1]
    for words in (["--dry-run"], []):
        assert f"{hit} 'train 7b'\n" in run("drift", "--apply", "--who", "anna", *words, database=url)[1]
    assert "hits" not in run("drift", "--apply", "--who", "anna", database=url)[1]  # it is down already


def test_a_dry_run_records_no_finding(alive: Engine, run: Run) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    keep(alive, outputs(machines()), now)
    faulty(alive, "numa-wrong", now)
    url = alive.url.render_as_string(hide_password=False)
    for words, said in ((("--dry-run",), "dry run: nothing was changed\n"), ((), "")):
        status, out, error = run("drift", *words, database=url)
        assert (status, "1 finding; 1 new, 0 cleared" in out, error) == (0, True, said)


def test_graphql_and_python_apply_findings_as_the_command_does(alive: Engine) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    keep(alive, outputs(machines()), now)
    faulty(alive, "chip-missing", now)
    document = """mutation { detectDrift(input: {apply: true, who: "anna"}) {
        findings { rule address evidence severity } newCount clearedCount boundServers
        appliedChanges { address before after } uncomparedServers { rule count } unclaimedTypes { type }
    } }"""
    with trninv.open(alive.url.render_as_string(hide_password=False)) as fleet:
        tried = fleet.detect_drift(who="anna", apply=True, dry_run=True)
        (finding,) = tried.findings
        made = json.loads(asyncio.run(services(fleet)["compiled"].run(Request(document))).body)
        assert "errors" not in made, made
        assert made["data"]["detectDrift"] == {
            "findings": [
                {
                    "rule": "CHIP_MISSING",
                    "address": finding.address,
                    "evidence": list(finding.evidence),
                    "severity": "HIGH",
                }
            ],
            "newCount": 1,
            "clearedCount": 0,
            "boundServers": tried.bound_servers,
            "appliedChanges": [{"address": finding.address, "before": "UP", "after": "DOWN"}],
            "uncomparedServers": [],
            "unclaimedTypes": [],
        }
        refused = json.loads(
            asyncio.run(services(fleet)["compiled"].run(Request(document.replace(', who: "anna"', "")))).body
        )
        assert "who is missing" in refused["errors"][0]["message"]
        for minutes in (0, 527_041):
            with pytest.raises(InvalidArgumentError, match="stale_after"):
                fleet.detect_drift(stale_after=minutes)


def test_others_write_while_a_fleet_is_compared_and_an_older_comparison_is_not_recorded(
    alive: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    keep(alive, outputs(machines()), now)
    evaluate, calls = drift.evaluate_rules, list[str]()

    def compared_beside(write: Callable[[], object]) -> DriftResult:
        """Write when the first comparison has ended."""
        calls.clear()

        def evaluate_then_write(*arguments: Any) -> Any:
            drafts = evaluate(*arguments)
            calls.append("compared")
            if len(calls) == 1:
                write()
            return drafts

        with monkeypatch.context() as patched, trninv.open(alive.url.render_as_string(hide_password=False)) as fleet:
            patched.setattr(drift, "evaluate_rules", evaluate_then_write)
            return fleet.detect_drift()

    def set_down() -> None:
        with write_transaction(alive) as connection:  # would wait for a minute if the comparison had the lock
            set_state(connection, ["u-trn2x64/d0/s0/c0"], Condition("down"), why="a test", who="tester")

    assert compared_beside(set_down).new_count == 0
    assert calls == ["compared"]
    compared_beside(lambda: found(alive, now + 30 * MINUTES))
    assert calls == ["compared"] * 3  # before the lock, the other one, and after the lock
    faulty(alive, "chip-missing", now)
    assert compared_beside(lambda: None).new_count == 1
    assert calls == ["compared"] * 2
    assert compared_beside(lambda: None).new_count == 0
    assert calls == ["compared"]


def test_openmetrics_counts_findings(alive: Engine, run: Run) -> None:
    faulty(alive, "numa-wrong", START + 10 * MINUTES)
    found(alive, START + 11 * MINUTES)
    url = alive.url.render_as_string(hide_password=False)
    words = ("topology", "trn2-16.48xlarge", "--as", "openmetrics")
    _, out, _ = run(*words, database=url)
    counted = [line.rpartition(" ") for line in out.splitlines() if line.startswith("trninv_findings{")]
    assert len(counted) == len(FINDING_RULES)
    assert [name for name, _, number in counted if number != "0"] == [
        'trninv_findings{scope="trn2-16.48xlarge",rule="numa-wrong",severity="medium"}'
    ]
    assert run(*words, "--check", database=url)[0] == 0


def test_all_tell_when_it_was_compared(alive: Engine) -> None:
    with trninv.open(alive.url.render_as_string(hide_password=False)) as fleet:
        ask = both_ways(fleet)
        for minutes in (None, 11, 13):  # what is found then is over, or never was
            if minutes is not None:
                found(alive, START + minutes * MINUTES)
            at = minutes and format_timestamp(START + minutes * MINUTES)
            assert fleet.drift_compared_at() == ask("{ driftComparedAt }")["data"]["driftComparedAt"] == at


def test_graphql_python_and_sql_tell_what_was_found(alive: Engine) -> None:
    faulty(alive, "numa-wrong", START + 10 * MINUTES)
    found(alive, START + 11 * MINUTES)
    with trninv.open(alive.url.render_as_string(hide_password=False)) as fleet:
        (finding,) = fleet.drift("trn2-16.48xlarge")
        assert fleet.drift("u-trn2x64") == []
        document = """query ($scope: Address, $least: Severity) {
            drift(scope: $scope, minSeverity: $least) { totalCount nodes { rule severity address observed evidence
            clearedAt } }
        }"""
        ask = both_ways(fleet)
        data = ask(document)["data"]["drift"]
        assert data["totalCount"] == 1
        (node,) = data["nodes"]
        assert (node["rule"], node["severity"]) == ("NUMA_WRONG", "MEDIUM")
        assert (node["address"], node["evidence"]) == (finding.address, list(finding.evidence))
        assert ask(document, scope="u-trn2x64")["data"]["drift"]["totalCount"] == 0
        assert ask(document, least="HIGH")["data"]["drift"]["totalCount"] == 0
        assert ask(document, least="INFO")["data"]["drift"]["totalCount"] == 1
        (row,) = run_query(fleet.engine, "SELECT rule, address FROM v_drift WHERE cleared_at IS NULL", seconds=60).rows
        assert tuple(row) == ("numa-wrong", finding.address)
