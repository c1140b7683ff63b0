"""What each source says of servers, chips and links, in the shapes that the real programs print."""

import json
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from printed import (
    HYPERPOD,
    MONITOR,
    SAMPLES,
    SYSFS,
    in_a_container,
    instance_topology,
    instances,
    listed,
    neuron_ls,
    neuron_ls_object,
    node,
    resource_slice,
    slurm,
    slurm_node,
    text,
    ultraserver,
)

from trninv.importers.input_file import InputFile
from trninv.importers.json_value import ImportErrors
from trninv.importers.records import (
    CapacityBlockStatus,
    CompleteListing,
    ObservedChip,
    ObservedRecord,
    ObservedServer,
    ObservedSide,
    TerminatedInstance,
)
from trninv.importers.source_register import all_sources
from trninv.importers.sources import neuron_ls as source_of_neuron_ls


def read(kind: str, *documents: object) -> list[ObservedRecord]:
    """What a file says, one document a line; it has no fault."""
    faults = ImportErrors()
    given = b"\n".join(map(text, documents)) + b"\n"
    seen = list(all_sources()[kind].read(InputFile(BytesIO(given), "file", faults)))
    assert faults.messages == []
    return seen


def servers(kind: str, document: object) -> list[ObservedServer]:
    return [each for each in read(kind, document) if isinstance(each, ObservedServer)]


def one(kind: str, document: object) -> ObservedServer:
    (server,) = servers(kind, document)
    return server


def test_neuron_ls_of_a_host() -> None:
    server = one("neuron-ls", neuron_ls())
    assert (server.instance, server.instance_type, server.logical_cores) == ("i-0a", "trn2u.48xlarge", 2)
    assert not server.is_partial
    assert [chip.ordinal for chip in server.chips] == list(range(16))
    assert server.chips[5] == ObservedChip(
        5, "0000:58:00.0", memory_bytes=96 << 30, cores=8, numa_node=0, neighbours=(1, 4, 6, 9)
    )
    assert "secret" not in repr(server)


@pytest.mark.parametrize("max_cached", [0, 1 << 20])
def test_each_machine_has_its_own_devices(max_cached: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_of_neuron_ls, "_MAX_CACHED_BYTES", max_cached)
    devices = neuron_ls()
    devices[7]["memory_size"] //= 2
    usual, other, again = (one("neuron-ls", each).chips for each in (neuron_ls(), devices, neuron_ls("i-0b")))
    assert other[:7] == usual[:7]
    assert other[7] == usual[7]._replace(memory_bytes=(usual[7].memory_bytes or 0) // 2)
    assert other[8:] == usual[8:]
    assert again == usual


def test_neuron_ls_of_many_hosts_one_a_line() -> None:
    wrapped = {"host": "h1", "neuron_ls": neuron_ls(None, None)}
    first, second = read("neuron-ls", neuron_ls(), wrapped)
    assert isinstance(first, ObservedServer)
    assert isinstance(second, ObservedServer)
    assert (first.instance, second.instance, second.host) == ("i-0a", None, "h1")


@pytest.mark.parametrize(
    ("devices", "is_partial", "ordinals"),
    [
        (neuron_ls(chips=[4, 5, 13]), False, [4, 5, 13]),
        (in_a_container(neuron_ls(chips=[4, 5, 13])), True, [4, 5, 13]),
        (neuron_ls(chips=range(4)), True, [0, 1, 2, 3]),
        (neuron_ls(chips=[0, 1, *range(3, 16)]), False, [0, 1, *range(3, 16)]),
        (in_a_container(neuron_ls(kind="trn9.huge", chips=[4, 5])), True, [0, 1]),
    ],
    ids=["a host", "a container", "the first chips of more", "one is missing", "a container of an unknown type"],
)
def test_a_container_is_told_from_a_host(devices: Any, is_partial: bool, ordinals: list[int]) -> None:
    server = one("neuron-ls", devices)
    assert (server.is_partial, [chip.ordinal for chip in server.chips]) == (is_partial, ordinals)


@pytest.mark.parametrize("key", ["devices", "neuron_devices", "output"])
def test_neuron_ls_may_print_an_object_with_the_list_under_any_key(key: str) -> None:
    printed = neuron_ls_object(processes=[{"pid": 7, "command": "train --token=secret"}])
    printed[key] = printed.pop("devices")
    server, expected = one("neuron-ls", printed), one("neuron-ls", neuron_ls())
    assert replace(server, unknown_keys=(), where=expected.where) == expected
    assert server.unknown_keys == ("processes", "ultraserver")
    assert "secret" not in repr(server)


def test_unknown_keys_are_named_and_not_read() -> None:
    first, *others = neuron_ls()
    printed = [first | {"\ud800\x1b[31m": 1, "k" * 256: "secret"}, *others]
    server = one("neuron-ls", printed)
    assert server.unknown_keys == ("\\ud800\\u001b[31m", "k" * 60)
    many = one("neuron-ls", [first | {f"key{number:03}": 1 for number in range(1_000)}])
    assert many.unknown_keys == tuple(f"key{number:03}" for number in range(20))
    collected = {"host": "h0", "neuron_ls": neuron_ls_object(), "sysfs": {}, "more": 1}
    assert one("neuron-ls", collected).unknown_keys == ("more", "ultraserver")


def test_what_a_driver_calls_its_type_is_a_family_and_no_type() -> None:
    path = "/sys/devices/virtual/neuron_device/neuron0/info/architecture/instance_type"
    for name, kind in (("Trn1", None), ("trn1.32xlarge", "trn1.32xlarge")):
        assert one("neuron-sysfs", f"# host: h0\n{path}:{name}\n").instance_type == kind


def test_a_single_chip_has_no_neighbours_and_an_old_address() -> None:
    (device,) = neuron_ls("i-1", "trn2.3xlarge", [0])
    server = one("neuron-ls", [device | {"bdf": "CC:00.0", "connected_to": None, "numa_node": "-1"}])
    assert server.chips == (ObservedChip(0, "0000:cc:00.0", memory_bytes=96 << 30, cores=8),)
    assert not server.is_partial


def test_ec2_topology_names_blocks_and_network_nodes() -> None:
    server = one("ec2", instance_topology(["i-0a"]))
    assert (server.capacity_block, server.network_nodes) == ("cb-0", ("nn-a", "nn-b", "nn-c"))
    assert (server.zone, server.instance_type) == ("usw2-az4", "trn2u.48xlarge")


@pytest.mark.parametrize("block", [None, "null", ""])
def test_a_block_that_is_not_told_is_unknown(block: str | None) -> None:
    assert one("ec2", instance_topology(["i-0a"], block)).capacity_block is None


def test_ec2_instances_are_whole_with_their_last_page() -> None:
    pages = [instances("i-0a", next_page="more"), instances("i-0b")]
    assert [type(each) for each in read("ec2", *pages)] == [ObservedServer, ObservedServer, CompleteListing]
    assert CompleteListing() not in read("ec2", pages[0])
    assert CompleteListing() not in read("ec2", instance_topology(["i-0a"]))


@pytest.mark.parametrize(("state", "ours"), [("running", "up"), ("stopped", "down"), ("pending", "maintenance")])
def test_ec2_states(state: str, ours: str) -> None:
    server = one("ec2", instances("i-0a", state=state))
    assert (server.state, server.host, server.reservation) == (ours, "ip-0a.ec2.internal", "cr-0")
    assert "somebody" not in repr(server)


def test_a_terminated_instance_is_none() -> None:
    assert read("ec2", instances("i-0a", state="terminated")) == [TerminatedInstance(), CompleteListing()]


def test_ec2_reservations_and_blocks() -> None:
    reserved = {"CapacityReservations": [{"CapacityReservationId": "cr-0", "NetworkNodes": ["nn-a"]}]}
    status = [{"CapacityBlockId": "cb-0", "InterconnectStatus": "impaired"}]
    assert read("ec2", reserved, {"CapacityBlockStatuses": status}) == [CapacityBlockStatus("cb-0", "impaired")]


def test_kubernetes_nodes() -> None:
    node_, whole = read("kubernetes", listed(node()))
    assert isinstance(node_, ObservedServer)
    assert whole == CompleteListing()
    assert (node_.instance, node_.host, node_.chip_count, node_.state) == ("i-0a", "n0", 16, "up")
    assert (node_.ultraserver, node_.position, node_.ultraserver_mode) == ("00000000000000ab", 2, "1_2_4")
    assert node_.network_nodes == ("nn-a", "nn-b", "nn-c")
    assert CompleteListing() not in read("kubernetes", listed(node(), next_page="more"))


@pytest.mark.parametrize(
    ("more", "state", "reason"),
    [
        ({"conditions": [{"type": "NeuronHealth", "status": "True", "reason": "HBM"}]}, "down", "NeuronHealth: HBM"),
        ({"conditions": [{"type": "NeuronHealth", "status": "False"}]}, "up", None),
        (
            {"conditions": [{"type": "AcceleratedHardwareReady", "status": "False", "reason": "NeuronDMAError"}]},
            "down",
            "AcceleratedHardwareReady: NeuronDMAError",
        ),
        ({"conditions": [{"type": "AcceleratedHardwareReady", "status": "True"}]}, "up", None),
        ({"spec": {"unschedulable": True}}, "maintenance", "unschedulable"),
        (
            {"labels": {"sagemaker.amazonaws.com/node-health-status": "UnschedulablePendingReboot"}},
            "maintenance",
            "UnschedulablePendingReboot",
        ),
    ],
)
def test_what_kubernetes_says_of_health(more: dict[str, Any], state: str, reason: str | None) -> None:
    server = one("kubernetes", listed(node(**more)))
    assert (server.state, server.reason) == (state, reason)


def test_an_ultraserver_that_was_not_elected_is_none() -> None:
    labels = {
        "neuron.amazonaws.com/ultraserver-server-id-4": "0" * 16,
        "neuron.amazonaws.com/ultraserver-node-id-4": "-1",
    }
    assert one("kubernetes", listed(node(labels=labels))).ultraserver is None


def test_resource_slices_of_the_newest_generation_name_chips() -> None:
    old, new = resource_slice(generation=1), resource_slice(chips=[0, 2], generation=2)
    server = one("kubernetes", listed(new, old))
    assert [chip.ordinal for chip in server.chips] == [0, 2]
    assert server.chips[0].efa_bdf == "0000:cc:00.0"
    assert not server.is_partial


def test_a_slice_that_is_missing_makes_a_partial_view() -> None:
    given = resource_slice()
    given["spec"]["pool"]["resourceSliceCount"] = 2
    assert one("kubernetes", listed(given)).is_partial


def test_an_older_slice_has_its_attributes_below_basic() -> None:
    given = resource_slice(chips=[3])
    given["spec"]["devices"] = [{"name": "d", "basic": given["spec"]["devices"][0]}]
    del given["spec"]["devices"][0]["basic"]["name"]
    assert [chip.ordinal for chip in one("kubernetes", listed(given)).chips] == [3]


def test_an_ultraserver_tells_its_sides() -> None:
    found = read("kubernetes", ultraserver(linkStatusVertical="down"))
    assert [(each.side, each.is_up) for each in found if isinstance(each, ObservedSide)] == [("H", True), ("V", False)]


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize(
    ("states", "ours"),
    [(["IDLE"], "up"), (["IDLE", "DRAIN"], "maintenance"), (["DOWN", "NOT_RESPONDING"], "down"), (["MIXED"], "up")],
)
def test_slurm_states(states: list[str], ours: str, old: bool) -> None:
    server = one("slurm", slurm(slurm_node("h0", *states, old=old)))
    assert (server.host, server.state, server.chip_count) == ("h0", ours, 16)
    assert server.instance == (None if old else "i-0a")


def test_slurm_as_text() -> None:
    lines = (
        "NodeName=h0 Arch=x86_64 CPUTot=192 Gres=neuron:trn2-ultra:16 State=IDLE+DRAIN ThreadsPerCore=2 "
        "InstanceId=i-0a Reason=bad HBM of c5 [root@2026-11-01T00:00:00]\n"
        "NodeName=h1 Gres=(null) State=ALLOCATED InstanceId=(null)"
    )
    first, second = servers("slurm", lines)
    assert (first.host, first.instance, first.state, first.chip_count) == ("h0", "i-0a", "maintenance", 16)
    assert first.reason == "bad HBM of c5 [root@2026-11-01T00:00:00]"
    assert (second.host, second.instance, second.state, second.chip_count) == ("h1", None, "up", None)


_OF_MANY_LINES = """\
NodeName=h0 Arch=x86_64 CoresPerSocket=1{blank}
   CPUAlloc=0 CPUEfctv=192 CPUTot=192 CPULoad=14.35
   Gres=neuron:trainium2:16
   NodeAddr=127.0.0.1 NodeHostName=localhost Port=60817 Version=22.05.8
   OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0{blank}
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   CfgTRES=cpu=192,mem=1920G,billing=192
   AllocTRES=
   Reason=HBM errors, ticket 4711 [root@2026-11-24T06:03:38]

NodeName=h1 Arch=x86_64 CoresPerSocket=1{blank}
   Gres=(null)
   State=ALLOCATED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A

""".format(blank=" ")


def test_slurm_as_many_lines_a_node() -> None:
    """``scontrol show node`` without -o."""
    for text_ in (_OF_MANY_LINES, "\n".join(f"  {line}" for line in _OF_MANY_LINES.splitlines())):
        first, second = servers("slurm", text_)
        assert (first.host, first.state, first.chip_count) == ("h0", "maintenance", 16)
        assert first.reason == "HBM errors, ticket 4711 [root@2026-11-24T06:03:38]"
        assert (second.host, second.state, second.reason, second.chip_count) == ("h1", "up", None, None)
        assert second.where == "file:11"


@pytest.mark.parametrize(
    ("state", "ours"), [("IDLE*", "down"), ("IDLE~", "down"), ("MIXED$", "maintenance"), ("IDLE-", "up")]
)
def test_marks_after_a_state_of_slurm(state: str, ours: str) -> None:
    assert one("slurm", f"NodeName=h0 State={state} Reason=none").state == ours


def test_a_reason_of_slurm_speaks_for_no_other_node() -> None:
    server = one("slurm", "NodeName=h0 State=DOWN Reason=see NodeName=h1 State=IDLE")
    assert (server.host, server.state) == ("h0", "down")


def test_slurm_as_yaml_has_a_tag_at_every_value() -> None:
    """As 22.05 prints it."""
    document = (
        "%YAML 1.1\n--- !!map\n!!str meta: !!map\n  !!str Slurm: !!map\n    !!str release: !!str 22.05.8\n"
        "!!str errors: !!seq []\n!!str nodes: !!seq\n- !!map\n  !!str name: !!str h0\n  !!str comment: !!null null\n"
        "  !!str gres: !!str neuron:trainium2:16\n  !!str state: !!str idle\n  !!str state_flags: !!seq\n"
        "  - !!str DRAIN\n  !!str reason: !!str HBM errors\n  !!str boot_time: !!int 1795497617\n"
        "  !!str tres_weighted: !!float 192.000000\n"
    )
    server = one("slurm", document)
    assert (server.host, server.state, server.reason, server.chip_count) == ("h0", "maintenance", "HBM errors", 16)


def test_neuron_monitor_s_last_whole_line() -> None:
    faults = ImportErrors()
    given = text({"old": 1}) + b"\n" + text(MONITOR) + b"\n" + text(MONITOR)[:40]
    (server,) = all_sources()["neuron-monitor"].read(InputFile(BytesIO(given), "file", faults))
    assert isinstance(server, ObservedServer)
    assert (server.instance, server.chip_count, server.is_partial, faults.messages) == ("i-0a", 16, True, [])
    assert [(chip.ordinal, chip.ecc_uncorrected, chip.cores) for chip in server.chips] == [(0, 0, 8), (5, 3, 8)]


def test_neuron_monitor_s_object_may_have_many_lines() -> None:
    spread = json.dumps(MONITOR, indent=2)
    expected = one("neuron-monitor", MONITOR)
    for document in (spread, spread + "\n", "\n" + spread):
        server = one("neuron-monitor", document)
        assert replace(server, where=expected.where) == expected


def test_a_driver_that_does_not_answer_neuron_monitor_is_reported_without_data() -> None:
    hardware = {"error": "neuron driver not responding", "neuron_device_count": 3}
    server = one("neuron-monitor", MONITOR | {"neuron_hardware_info": hardware, "system_data": {}})
    assert (server.instance, server.chip_count, server.chips, server.missing_fields) == ("i-0a", None, (), None)
    assert (server.state, server.reason) == ("down", "neuron_hardware_info: neuron driver not responding")
    assert (one("neuron-monitor", MONITOR).state, one("neuron-monitor", MONITOR).reason) == ("up", None)


def test_a_monitor_without_metadata_names_no_instance_and_is_not_down() -> None:
    server = one("neuron-monitor", MONITOR | {"instance_info": {"error": "no IMDS"}})
    assert (server.instance, server.state, server.chip_count) == (None, "up", 16)
    assert server.missing_fields == ("instance", "instance_type", "zone")


def test_counters_with_an_error_are_missing() -> None:
    counters = {"neuron_hw_counters": MONITOR["system_data"]["neuron_hw_counters"] | {"error": "driver"}}
    server = one("neuron-monitor", MONITOR | {"system_data": counters})
    assert (server.chips, server.state, server.missing_fields) == ((), "up", ("ecc_uncorrected",))


def test_sysfs_of_an_ultraserver() -> None:
    server = one("neuron-sysfs", SYSFS)
    assert (server.host, server.ultraserver, server.position) == ("h0", "00000000000000ab", 2)
    assert (server.instance_type, server.ultraserver_mode) == ("trn2u.48xlarge", "1_2_4")
    assert server.chips == (
        ObservedChip(0, serial="9ff5434815c8bd80", cores=8, neighbours=(1, 3, 4, 12), ecc_uncorrected=3),
    )


@pytest.mark.parametrize("kind", sorted(all_sources()))
def test_what_real_programs_print_has_every_expected_field(kind: str) -> None:
    servers = [each for sample in SAMPLES[kind] for each in read(kind, sample) if isinstance(each, ObservedServer)]
    assert [each.missing_fields for each in servers] == [None] * len(servers)
    assert set().union(*(each.expected for each in servers)) <= all_sources()[kind].expected.keys()
    assert all(each.expected for each in servers)


def test_a_field_that_has_two_sources_is_called_by_both_or_by_the_one_that_is_read() -> None:
    assert all_sources()["neuron-ls"].expected["cores"] == "nc_count"
    assert all_sources()["ec2"].expected["zone"] == "Placement.AvailabilityZone or ZoneId"
    assert all_sources()["kubernetes"].expected["instance_type"].endswith(" or attribute instanceType")


@pytest.mark.parametrize(
    ("server", "missing"),
    [
        (ObservedServer("f", host="h"), None),
        (ObservedServer("f", host="h", expected=("host", "zone", "bdf")), ("zone", "bdf")),
        (ObservedServer("f", expected=("bdf",), chips=(ObservedChip(0, bdf="a"), ObservedChip(1))), ("bdf",)),
        (ObservedServer("f", expected=("neighbours",), chips=(ObservedChip(0),)), None),
        (ObservedServer("f", expected=("neighbours",), chips=(ObservedChip(0), ObservedChip(1))), ("neighbours",)),
        (ObservedServer("f", expected=("zone",), instance_type="m5.large"), None),
        (ObservedServer("f", expected=("zone",), instance_type="inf2.xlarge"), ("zone",)),
    ],
)
def test_fields_that_a_source_should_report_and_does_not(
    server: ObservedServer, missing: tuple[str, ...] | None
) -> None:
    assert server.missing_fields == missing


def test_hyperpod() -> None:
    server = one("hyperpod", HYPERPOD)
    assert (server.instance, server.host, server.instance_type) == ("i-0a", "h0", "trn2.48xlarge")
    assert (server.ultraserver, server.state, server.reason) == ("us-1", "down", "hardware")
