"""Discovery of AWS against a stand-in, and DescribeInstances as moto answers it."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from urllib.request import Request, urlopen

import clouds
import pytest
from adopting import standing
from clouds import Cloud, Machine
from sqlalchemy import Engine, text

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.discovery import aws_client, blocks, pull
from trninv.discovery.discovery_table import lease_target
from trninv.discovery.provider import PulledEntry, PulledListings, all_providers
from trninv.discovery.pull import pull_target
from trninv.discovery.target import Target, parse_target
from trninv.errors import BusyError, DiscoveryError, InvalidFileError, UsageError
from trninv.importers.ingestion import ImportFile
from trninv.reconcile.adoption import adopt
from trninv.reconcile.findings import Finding, list_findings
from trninv.reconcile.latest_observations import load_latest_observations
from trninv.reconcile.missing_machines import missing_machines

pytestmark = pytest.mark.slow_on_postgresql
TARGET = parse_target("aws:us-east-2")


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    with clouds.serving(clouds.fleet(3)) as served:
        clouds.use(monkeypatch, served)
        monkeypatch.setattr(aws_client, "_MAX_ATTEMPTS", 2)  # the pauses before later ones are long
        yield served


@pytest.fixture
def lab(tables: str) -> Iterator[Engine]:
    with temporary_engine(tables) as engine:
        yield engine


def adopted(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        adopt(connection, default_catalog(), default_systems(), "lab")


def rows(engine: Engine, sql: str) -> list[tuple[object, ...]]:
    with read_transaction(engine) as connection:
        return [tuple(row) for row in connection.execute(text(sql))]


def test_a_pull_imports_binds_and_finds(cloud: Cloud, lab: Engine) -> None:
    first = pull_target(lab, TARGET)
    assert (first.servers, first.stored, first.bound) == (12, 2, 0)
    adopted(lab)
    assert set(standing(lab).values()) == set(cloud.machines)
    gone = cloud.machines.pop("i-00000000000000005")
    second = pull_target(lab, TARGET)
    assert second.new_findings
    with read_transaction(lab) as connection:
        findings = {(found.rule, found.instance) for found in list_findings(connection)}
    assert ("instance-gone", gone.instance) in findings
    cloud.add(gone)
    assert ("instance-gone", gone.instance) not in {(f.rule, f.instance) for f in _findings(lab, TARGET)}


def _findings(engine: Engine, *targets: Target) -> list[Finding]:
    for target in targets:
        pull_target(engine, target)
    with read_transaction(engine) as connection:
        return list_findings(connection)


def test_a_target_reports_about_the_clusters_whose_instances_it_lists(cloud: Cloud, lab: Engine) -> None:
    pull_target(lab, TARGET)
    assert rows(lab, "SELECT clusters FROM discovery") == [(None,)]  # nothing is bound yet
    adopted(lab)
    with lab.begin() as connection:
        other = connection.execute(text("SELECT min(id), max(id) FROM binding")).one()
        connection.execute(text(f"UPDATE binding SET ended_at = started_at WHERE id = {other[0]}"))
    pull_target(lab, TARGET)
    assert rows(lab, "SELECT clusters FROM discovery") == [("lab",)]
    cloud.machines.clear()
    pull_target(lab, TARGET, allow_empty=True)
    assert rows(lab, "SELECT clusters FROM discovery") == [(None,)]


def test_nothing_but_declared_reads_is_sent(cloud: Cloud, lab: Engine) -> None:
    cloud.add(Machine("i-0aaaaaaaaaaaaaaaa", ultraserver="us-1"))
    pull_target(lab, TARGET)
    role = parse_target("aws:us-east-2@arn:aws:iam::123456789012:role/trninv-discover")
    pull_target(lab, role)
    declared = {call.name.partition(":")[2] for call in all_providers()["aws"].api_calls()}
    assert set(cloud.calls) == declared


def test_pages_are_all_read(cloud: Cloud, lab: Engine) -> None:
    cloud.page = 5
    assert pull_target(lab, TARGET).servers == 12
    assert cloud.calls.count("DescribeInstances") == 3


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
def test_throttled_calls_are_sent_again(cloud: Cloud, lab: Engine) -> None:
    cloud.fault = lambda _, number: (503, "RequestLimitExceeded") if number in (2, 4) else None
    assert pull_target(lab, TARGET).servers == 12


def test_credentials_that_expire_midway_leave_nothing(cloud: Cloud, lab: Engine) -> None:
    cloud.page = 5
    cloud.fault = lambda *_: (400, "ExpiredToken") if cloud.calls.count("DescribeInstances") > 1 else None
    with pytest.raises(DiscoveryError, match="expired"):
        pull_target(lab, TARGET)
    assert rows(lab, "SELECT count(*) FROM observation") == [(0,)]
    ((error, read_at, holder),) = rows(lab, "SELECT error, read_at, holder FROM discovery")
    assert "ExpiredToken" in str(error)
    assert (read_at, holder) == (None, None)
    cloud.fault = lambda *_: None
    pull_target(lab, TARGET)
    assert rows(lab, "SELECT error FROM discovery") == [(None,)]


def test_refused_optional_calls_are_noted_and_required_ones_fail(cloud: Cloud, lab: Engine) -> None:
    cloud.fault = lambda action, _: (403, "UnauthorizedOperation") if action == "DescribeCapacityBlockStatus" else None
    assert any("DescribeCapacityBlockStatus" in note for note in pull_target(lab, TARGET).notes)
    cloud.fault = lambda action, _: (403, "UnauthorizedOperation") if action == "DescribeInstances" else None
    with pytest.raises(DiscoveryError, match="DescribeInstances: UnauthorizedOperation"):
        pull_target(lab, TARGET)


def test_another_account_does_not_replace_the_first(cloud: Cloud, lab: Engine) -> None:
    pull_target(lab, TARGET)
    cloud.account = "999999999999"
    cloud.machines.clear()
    cloud.add(Machine("i-0bbbbbbbbbbbbbbbb"))
    with pytest.raises(DiscoveryError, match=r"account 999999999999.*--forget aws:us-east-2"):
        pull_target(lab, TARGET)
    assert rows(lab, "SELECT count(*) FROM observed_server WHERE instance = 'i-0bbbbbbbbbbbbbbbb'") == [(0,)]


def test_an_empty_region_is_refused_and_ends_no_other_regions_instances(cloud: Cloud, lab: Engine) -> None:
    pull_target(lab, TARGET)
    adopted(lab)
    cloud.machines.clear()
    other = parse_target("aws:us-west-2")
    with pytest.raises(InvalidFileError) as refused:
        pull_target(lab, other)
    assert "lists no machine" in refused.value.errors[0]
    pull_target(lab, other, allow_empty=True)
    assert not [found for found in _findings(lab) if found.rule == "instance-gone"]
    pull_target(lab, TARGET, allow_empty=True)
    assert len([found for found in _findings(lab) if found.rule == "instance-gone"]) == 12


@pytest.mark.parametrize(
    ("text_", "message"),
    [
        ("<oops", "DescribeInstances"),
        ("", "DescribeInstances"),
        (
            "<R><reservationSet><item><instancesSet><item><instanceId>nope</instanceId></item></instancesSet></item></reservationSet></R>",
            "not an instance id",
        ),
        ("<R><reservationSet><item><instancesSet><item/></instancesSet></item></reservationSet></R>", "InstanceId"),
    ],
)
def test_hostile_answers_are_named_and_nothing_is_stored(cloud: Cloud, lab: Engine, text_: str, message: str) -> None:
    cloud.answer = lambda action: text_ if action == "DescribeInstances" else None
    with pytest.raises((DiscoveryError, InvalidFileError)) as refused:
        pull_target(lab, TARGET)
    assert message in "\n".join([str(refused.value), *getattr(refused.value, "errors", ())])
    assert rows(lab, "SELECT count(*) FROM observation") == [(0,)]


def test_pages_without_an_end_stop(cloud: Cloud, lab: Engine) -> None:
    cloud.answer = lambda action: (
        "<R><instanceSet/><nextToken>again</nextToken></R>" if action == "DescribeInstanceTopology" else None
    )
    with pytest.raises(DiscoveryError, match="pages repeat"):
        pull_target(lab, TARGET)


@pytest.mark.quick_on_postgresql
def test_two_discoverers_at_once_one_says_so(cloud: Cloud, lab: Engine) -> None:
    with lease_target(lab, "aws:us-east-2", datetime.now(UTC), None) as lease:
        with pytest.raises(BusyError, match="is being pulled by process"):
            pull_target(lab, TARGET)
        assert not cloud.calls
        lease.release()
    assert pull_target(lab, TARGET).servers == 12


@pytest.mark.usefixtures("cloud")
def test_a_killed_discoverers_lease_expires_also_if_the_clock_was_set_back(lab: Engine) -> None:
    pull_target(lab, TARGET)
    for renewed, is_leased in ((0, True), (-121, False), (121, False)):
        with write_transaction(lab) as connection:
            connection.execute(text(f"UPDATE discovery SET holder = 'a:1:x', renewed = {int(time.time()) + renewed}"))
        if is_leased:
            with pytest.raises(BusyError):
                pull_target(lab, TARGET)
        else:
            pull_target(lab, TARGET)


def test_a_clock_that_jumps_keeps_the_order_of_pulls(cloud: Cloud, lab: Engine) -> None:
    pull_target(lab, TARGET)
    adopted(lab)
    with write_transaction(lab) as connection:  # as if the clock had been a year ahead
        future = (datetime.now(UTC) + timedelta(days=365)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        connection.execute(text(f"UPDATE discovery SET read_at = '{future}'"))
        connection.execute(text(f"UPDATE observation SET seen_at = '{future}'"))
    cloud.machines.pop("i-00000000000000003")
    pull_target(lab, TARGET)
    assert [f.instance for f in _findings(lab) if f.rule == "instance-gone"] == ["i-00000000000000003"]


def test_an_unchanged_fleet_stores_nothing_and_a_change_stores_its_block(
    cloud: Cloud, lab: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "MAX_UNDIVIDED", 5)
    pull_target(lab, TARGET)
    adopted(lab)
    assert pull_target(lab, TARGET).stored == 0
    cloud.machines["i-00000000000000002"].state = "stopping"
    assert pull_target(lab, TARGET).stored == 2  # its blocks of instances and of topology
    for name in list(cloud.machines)[:8]:  # below the limit: one listing again
        del cloud.machines[name]
    gone = [f.instance for f in _findings(lab, TARGET) if f.rule == "instance-gone"]
    assert len(gone) == 8
    cloud.machines |= clouds.fleet(3).machines
    assert not [f for f in _findings(lab, TARGET) if f.rule == "instance-gone"]


@pytest.mark.slow
@pytest.mark.usefixtures("cloud")
def test_versions_of_a_listing_are_removed_but_not_what_findings_cite(
    lab: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull_target(lab, TARGET)
    adopted(lab)
    pulled = all_providers()["aws"].pull(TARGET, lambda *_: None)
    instances, topology, *others = pulled.listings
    others.append(replace(topology, entries=topology.entries[1:]))
    gone, moving, *staying = instances.entries
    turns = count()

    def answer(*_: object) -> PulledListings:
        instance = moving.document["Reservations"][0]["Instances"][0] | {"CapacityReservationId": f"cr-{next(turns)}"}
        changed = PulledEntry(moving.key, {"Reservations": [{"Instances": [instance]}]})
        return replace(pulled, listings=(replace(instances, entries=(changed, *staying)), *others))

    monkeypatch.setattr(pull, "find_provider", lambda _: replace(all_providers()["aws"], pull=answer))
    for _ in range(103):
        pull_target(lab, TARGET)
    ((versions,),) = rows(lab, "SELECT count(*) FROM observation WHERE name = 'aws:us-east-2/instances'")
    assert int(str(versions)) <= 102
    assert [f.instance for f in _findings(lab) if f.rule == "instance-gone"] == [gone.key]


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize(("next_target", "is_gone"), [("aws:us-east-2", True), ("aws:us-east-2@other", False)])
def test_a_machine_is_gone_though_no_complete_listing_with_it_is_kept(
    lab: Engine, monkeypatch: pytest.MonkeyPatch, next_target: str, *, is_gone: bool
) -> None:
    """The complete listings that had it may be removed before an incomplete one that a finding cites."""
    pulled = all_providers()["aws"].pull(TARGET, lambda *_: None)
    instances, topology, *_ = pulled.listings
    gone, *staying = instances.entries
    later = replace(topology, entries=tuple(entry for entry in topology.entries if entry.key != gone.key))
    answers = iter(
        [
            (replace(instances, entries=tuple(staying)), topology),
            (replace(instances, entries=tuple(staying[1:])), later),  # equal content would confirm the first listing
        ]
    )
    monkeypatch.setattr(
        pull,
        "find_provider",
        lambda _: replace(all_providers()["aws"], pull=lambda *_: replace(pulled, listings=next(answers))),
    )
    pull_target(lab, TARGET)
    with read_transaction(lab) as connection:
        assert missing_machines(connection, load_latest_observations(connection)) == {}
    pull_target(lab, parse_target(next_target))
    with read_transaction(lab) as connection:
        for only_discovered in (False, True):
            latest = load_latest_observations(connection)
            missing = missing_machines(connection, latest, only_discovered=only_discovered)
            assert (gone.key in missing) is is_gone


@pytest.mark.usefixtures("cloud")
def test_secrets_are_never_read(lab: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[bytes]()
    monkeypatch.setattr(pull, "split_listing", lambda *arguments: _kept(read, *arguments))
    pull_target(lab, TARGET)
    assert read
    assert not any(b"swordfish" in content for content in read)


def _kept(read: list[bytes], *arguments: Any) -> Iterator[ImportFile]:
    for file in blocks.split_listing(*arguments):
        read.append(file.content.read())
        file.content.seek(0)
        yield file


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
def test_moto_answers(lab: Engine, cloud: Cloud) -> None:
    import boto3  # noqa: PLC0415
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 # it is slow to import

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        cloud.moto = f"http://{host}:{port}"
        urlopen(Request(f"{cloud.moto}/moto-api/reset", method="POST")).close()  # it may have run in this process
        cloud.machines.clear()
        ec2 = boto3.client("ec2", endpoint_url=cloud.moto, region_name="us-east-2")
        for type_ in ("trn1.32xlarge", "m5.large"):
            ec2.run_instances(ImageId="ami-12c6146b", MinCount=3, MaxCount=3, InstanceType=type_)
        assert pull_target(lab, TARGET).servers == 3
        types = rows(lab, "SELECT DISTINCT instance_type, zone, state FROM observed_server")
        assert [(kind, state) for kind, _, state in types] == [("trn1.32xlarge", "up")]
        reservations = ec2.describe_instances()["Reservations"]
        trainium = [entry["InstanceId"] for reservation in reservations for entry in reservation["Instances"]][:1]
        ec2.terminate_instances(InstanceIds=trainium)
        assert pull_target(lab, TARGET).servers in (2, 3)  # a terminated instance is listed for a while
    finally:
        server.stop()


@pytest.mark.parametrize("target", ["", "AWS", "aws:", "aws:us east", "aws@", "ibm"])
def test_targets_that_are_none_are_refused(lab: Engine, target: str) -> None:
    with pytest.raises(UsageError):
        pull_target(lab, parse_target(target))
