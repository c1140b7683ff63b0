"""What machines and their managers print, made up in the shape of the real programs."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

BUSES = ["cc", "b5", "b6", "cb", "6f", "58", "59", "6e", "9b", "84", "85", "9a", "f8", "e1", "e2", "f7"]
"""Of the chips of a trn2.48xlarge, by number."""
_TRN2_EFAS = "c9 b4 b3 ca 6c 57 56 6d 98 83 82 99 f5 e0 df f6"
_TRN1_EFAS = "10:1a a0:1a 20:19 90:19 20:1a 90:1a 10:19 a0:19"
EFAS = {
    "trn2": [f"0000:{bus}:00.0" for bus in _TRN2_EFAS.split()],
    "trn1": [f"0000:{bus}.0" for bus in _TRN1_EFAS.split() for _ in range(2)],
}
"""PCI addresses of the EFA devices next to chips, by a type's generation and the chip's number."""
GIB = 1 << 30


def neighbours(chip: int, side: int = 4) -> list[int]:
    """Of a chip in a torus of side × side, north, west, south, east, as the documentation lists them."""
    row, column = divmod(chip, side)
    around = ((row - 1, column), (row, column - 1), (row + 1, column), (row, column + 1))
    return [(r % side) * side + c % side for r, c in around]


def neuron_ls(
    instance: str | None = "i-0a", kind: str | None = "trn2u.48xlarge", chips: Iterable[int] = range(16)
) -> list[dict[str, Any]]:
    """``neuron-ls -j`` on a host that sees these chips."""
    named = {"instance_id": instance, "instance_type": kind}
    shown = _trainium1 if kind and kind.startswith("trn1") else _trainium2
    return [
        {name: value for name, value in named.items() if value}
        | {"neuron_device": chip, "connected_to": neighbours(chip)}
        | shown(chip)
        | {"neuron_processes": [{"pid": 7, "command": "train --token=secret", "neuron_runtime_version": "2.0.0"}]}
        for chip in chips
    ]


def neuron_ls_object(instance: str = "i-0a", kind: str = "trn2u.48xlarge", **more: Any) -> dict[str, Any]:
    """What ``neuron-ls --output-format json`` may print: an object, whose keys but for the devices' are made up."""
    ofmachine = ("instance_id", "instance_type", "logical_neuroncore_config")
    devices = [{name: each[name] for name in each if name not in ofmachine} for each in neuron_ls(instance, kind)]
    top = {"instance_id": instance, "instance_type": kind, "logical_neuroncore_config": 2}
    return top | {"ultraserver": {"secret": "a token"}, "devices": devices} | more


def _trainium2(chip: int) -> dict[str, Any]:
    return {
        "bdf": f"0000:{BUSES[chip]}:00.0",
        "cpu_affinity": "0-47,96-143" if 4 <= chip < 12 else "48-95,144-191",
        "numa_node": "0" if 4 <= chip < 12 else "1",
        "nc_count": 4,
        "logical_neuroncore_config": 2,
        "memory_size": 96 * GIB,
        "neuroncore_ids": [4 * chip + core for core in range(4)],
    }


def _trainium1(chip: int) -> dict[str, Any]:
    return {
        "bdf": f"00:{4 + chip:02x}.0",
        "nc_count": 2,
        "memory_size": 32 * GIB,
        "neuroncore_ids": [2 * chip, 2 * chip + 1],
    }


def in_a_container(devices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a container shows of these: its own numbers, and the host's neighbours."""
    return [device | {"neuron_device": number} for number, device in enumerate(devices)]


def instance_topology(
    instances: Sequence[str], block: str | None = "cb-0", next_page: str | None = None
) -> dict[str, Any]:
    """A page of ``aws ec2 describe-instance-topology``."""
    listed = [
        {
            "InstanceId": instance,
            "InstanceType": "trn2u.48xlarge",
            "NetworkNodes": ["nn-a", "nn-b", "nn-c"],
            "AvailabilityZone": "us-west-2d",
            "ZoneId": "usw2-az4",
            "CapacityBlockId": block,
        }
        for instance in instances
    ]
    return {"Instances": listed} | ({"NextToken": next_page} if next_page else {})


def instances(*ids: str, next_page: str | None = None, state: str = "running") -> dict[str, Any]:
    """A page of ``aws ec2 describe-instances``."""
    listed = [
        {
            "InstanceId": each,
            "InstanceType": "trn2u.48xlarge",
            "State": {"Code": 16, "Name": state},
            "PrivateDnsName": f"ip-{each[2:]}.ec2.internal",
            "CapacityReservationId": "cr-0",
            "CapacityBlockId": "null",
            "Placement": {"AvailabilityZone": "us-west-2d", "AvailabilityZoneId": "usw2-az4"},
            "Tags": [{"Key": "owner", "Value": "somebody"}],
        }
        for each in ids
    ]
    return {"Reservations": [{"Instances": listed}]} | ({"NextToken": next_page} if next_page else {})


def node(name: str = "n0", instance: str = "i-0a", **more: Any) -> dict[str, Any]:
    """A node of Kubernetes; more are its labels, conditions or allocatable."""
    labels = {
        "node.kubernetes.io/instance-type": "trn2u.48xlarge",
        "topology.k8s.aws/zone-id": "usw2-az4",
        "topology.k8s.aws/network-node-layer-1": "nn-a",
        "topology.k8s.aws/network-node-layer-2": "nn-b",
        "topology.k8s.aws/network-node-layer-3": "nn-c",
        "neuron.amazonaws.com/ultraserver-mode": "1_2_4",
        "neuron.amazonaws.com/ultraserver-server-id-4": "00000000000000ab",
        "neuron.amazonaws.com/ultraserver-node-id-4": "2",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels | more.get("labels", {})},
        "spec": {"providerID": f"aws:///us-west-2d/{instance}"} | more.get("spec", {}),
        "status": {
            "allocatable": {"aws.amazon.com/neuron": "16"} | more.get("allocatable", {}),
            "conditions": more.get("conditions", []),
        },
    }


def resource_slice(name: str = "n0", chips: Iterable[int] = range(16), generation: int = 1) -> dict[str, Any]:
    """A ResourceSlice of Neuron's DRA driver."""
    devices = [
        {
            "name": f"neuron-device-{chip}",
            "attributes": {
                "deviceId": {"int": chip},
                "instanceType": {"string": "trn2.48xlarge"},
                "resourceType": {"string": "neuron_device"},
                "networkNodeLayer1": {"string": "nn-a"},
                "resource.aws.com/devicegroup1_id": {"string": f"0000:{BUSES[chip]}:00.0"},
            },
        }
        for chip in chips
    ]
    pool = {"name": name, "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": "neuron.aws.com", "nodeName": name, "pool": pool, "devices": devices}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "spec": spec}


def tainted(resource_slice: dict[str, Any], *taints: dict[str, str], chip: int = 3) -> dict[str, Any]:
    """The same with taints of a device, as its driver sets them."""
    device = resource_slice["spec"]["devices"][chip]
    where = device.get("basic", device)
    where["taints"] = [{"timeAdded": "2026-11-24T05:20:17Z"} | each for each in taints]
    return resource_slice


def taint(effect: str = "NoExecute", key: str = "neuron.aws.com/unhealthy", value: str = "hbm") -> dict[str, str]:
    return {"key": key, "value": value, "effect": effect}


def taint_rule(selector: dict[str, Any] | None, effect: str = "NoExecute") -> dict[str, Any]:
    """A DeviceTaintRule, the same from v1alpha3 to v1; without a selector it selects no device."""
    spec = {"taint": taint(effect, "example.com/repair", "rma")}
    return {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "repair"},
        "spec": spec if selector is None else spec | {"deviceSelector": selector},
    }


def ultraserver(**links: str) -> dict[str, Any]:
    """A NeuronUltraServer of one node n0."""
    member = {"nodeId": 0, "nodeName": "n0", "linkStatusHorizontal": "up", "linkStatusVertical": "up"} | links
    return {"apiVersion": "neuron.aws.com/v1", "kind": "NeuronUltraServer", "spec": {"topology": [member]}}


def listed(*items: dict[str, Any], next_page: str | None = None) -> dict[str, Any]:
    """``kubectl get … -o json``."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items), "metadata": {"continue": next_page or ""}}


def slurm_node(name: str = "h0", *states: str, old: bool = False) -> dict[str, Any]:
    """A node of ``sinfo --json`` (22.05), or of ``scontrol show nodes --json`` (newer)."""
    first, *flags = states or ("IDLE",)
    same = {"name": name, "gres": "neuron:trainium2:16", "reason": "", "boot_time": 1}
    if old:
        return same | {"state": first.lower(), "state_flags": flags, "features": "u-trn2x64"}
    number = {"set": True, "infinite": False, "number": 1}
    return same | {"state": [first, *flags], "boot_time": number, "instance_id": "i-0a", "instance_type": ""}


def slurm(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"meta": {}, "nodes": list(nodes), "errors": []}


MONITOR: dict[str, Any] = {
    "instance_info": {
        "instance_id": "i-0a",
        "instance_type": "trn2u.48xlarge",
        "instance_availability_zone_id": "usw2-az4",
        "error": "",
    },
    "neuron_hardware_info": {
        "neuron_device_count": 16,
        "neuron_device_memory_size": 96 * GIB,
        "neuroncore_per_device_count": 4,
        "logical_neuroncore_config": 2,
        "error": "",
    },
    "system_data": {
        "neuron_hw_counters": {
            "neuron_devices": [
                {"neuron_device_index": 0, "mem_ecc_uncorrected": 0, "sram_ecc_uncorrected": 0},
                {"neuron_device_index": 5, "mem_ecc_uncorrected": 2, "sram_ecc_uncorrected": 1},
            ],
            "error": "",
        }
    },
}

SYSFS = """\
# host: h0
/sys/class/neuron_device/ultraserver_mode:1_2_4
/sys/class/neuron_device/server_id_4:00000000000000ab
/sys/class/neuron_device/node_id_4:2
/sys/class/neuron_device/server_id_2:00000000000000ac
/sys/class/neuron_device/node_id_2:1
/sys/devices/virtual/neuron_device/neuron0/connected_devices:12, 3, 4, 1
/sys/devices/virtual/neuron_device/neuron0/core_count:8
/sys/devices/virtual/neuron_device/neuron0/info/serial_number:9ff5434815c8bd80
/sys/devices/virtual/neuron_device/neuron0/info/architecture/instance_type=trn2u.48xlarge
/sys/devices/virtual/neuron_device/neuron0/stats/hardware/mem_ecc_uncorrected/total:2
/sys/devices/virtual/neuron_device/neuron0/stats/hardware/sram_ecc_uncorrected/total:1
"""

HYPERPOD: dict[str, Any] = {
    "ClusterNodeSummaries": [
        {
            "InstanceGroupName": "workers",
            "InstanceId": "i-0a",
            "InstanceType": "ml.trn2.48xlarge",
            "InstanceStatus": {"Status": "Failure", "Message": "hardware"},
            "UltraServerInfo": {"Id": "us-1", "Type": "ml.u-trn2.48xlarge"},
            "PrivateDnsHostname": "h0",
        }
    ]
}


SAMPLES: dict[str, list[object]] = {
    "neuron-ls": [neuron_ls(), neuron_ls_object(), {"host": "h0", "neuron_ls": neuron_ls_object()}],
    "ec2": [instance_topology(["i-0a"]), instances("i-0a")],
    "kubernetes": [listed(node(), resource_slice(), ultraserver())],
    "slurm": [slurm(slurm_node("h0")), slurm(slurm_node("h0", old=True)), "NodeName=h0 State=IDLE Gres=neuron:16"],
    "neuron-monitor": [MONITOR],
    "neuron-sysfs": [SYSFS],
    "hyperpod": [HYPERPOD],
}
"""Outputs of each kind of source, in which every expected field is."""


def text(value: object) -> bytes:
    """As it stands in a file."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
