"""A whole fleet's outputs in the shapes that real programs print, healthy or with faults.

``python tests/fleet_outputs.py DIRECTORY [FAULT…]`` writes those of three Trn2 UltraServers, four trn2.48xlarge and two
trn1.32xlarge instances, one folder a program.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from printed import (
    EFAS,
    in_a_container,
    instance_topology,
    listed,
    neuron_ls,
    node,
    resource_slice,
    slurm,
    slurm_node,
    ultraserver,
)
from sqlalchemy import Connection, select

from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.state.bindings import ProposedBinding, bind

SERVERS = 4
"""Of an UltraServer."""
_BELOW = {"u-trn2x64": 8, "trn2-16.48xlarge": 32, "trn1.32xlarge": 16}
"""Domains below one network node of the lowest layer, as the designs have it."""
_MIDDLE = 32
_PAGE = 100
_CLASS, _DEVICE = "/sys/class/neuron_device", "/sys/devices/virtual/neuron_device/neuron"
_LAYER = "topology.k8s.aws/network-node-layer-"
_ZONE = "topology.k8s.aws/zone-id"
_BLOCK = "topology.k8s.aws/capacity-block-id"


@dataclass(frozen=True, slots=True)
class Machine:
    """An instance, and where it stands.

    Attributes
    ----------
    number
        Among all of its fleet.
    system, domain, position
        The slot that it stands in: the system's slug, the domain's number, the server's number in it.

    """

    number: int
    system: str
    domain: int
    position: int

    @property
    def instance(self) -> str:
        """Its id."""
        return f"i-{self.number:017x}"

    @property
    def host(self) -> str:
        """Its private DNS name."""
        return f"ip-10-{self.number >> 16}-{self.number >> 8 & 255}-{self.number & 255}.us-west-2.compute.internal"

    @property
    def type(self) -> str:
        """Its instance type."""
        types = {"u-trn2x64": "trn2u.48xlarge", "trn2-16.48xlarge": "trn2.48xlarge", "trn1.32xlarge": "trn1.32xlarge"}
        return types[self.system]

    @property
    def block(self) -> str | None:
        """Its capacity block: one an UltraServer, and one that all plain trn2.48xlarge share."""
        blocks = {"u-trn2x64": f"cb-{self.domain:017x}", "trn2-16.48xlarge": f"cb-{0xABC:017x}"}
        return blocks.get(self.system)

    @property
    def ultraserver(self) -> str | None:
        """What the driver elected its UltraServer's id to be."""
        return f"{0x9FF5434800000000 + self.domain:016x}" if self.system == "u-trn2x64" else None

    @property
    def network_nodes(self) -> list[str]:
        """Ids from the top layer down."""
        of, lowest = list(_BELOW).index(self.system), self.domain // _BELOW[self.system]
        return [f"nn-{of:x}{layer}{number:015x}" for layer, number in ((1, 0), (2, lowest // _MIDDLE), (3, lowest))]


def machines(ultraservers: int = 3, trn2: int = 4, trn1: int = 2) -> list[Machine]:
    """The machines of a fleet, UltraServers first."""
    slots = [("u-trn2x64", domain, position) for domain in range(ultraservers) for position in range(SERVERS)]
    slots += [("trn2-16.48xlarge", domain, 0) for domain in range(trn2)]
    slots += [("trn1.32xlarge", domain, 0) for domain in range(trn1)]
    return [Machine(number, *slot) for number, slot in enumerate(slots)]


@dataclass(slots=True)
class Outputs:
    """What is printed of each instance, by its id, or of each capacity block or UltraServer; faults change it."""

    devices: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    sysfs: dict[str, dict[str, str]] = field(default_factory=dict)
    instances: dict[str, dict[str, Any]] = field(default_factory=dict)
    topology: dict[str, dict[str, Any]] = field(default_factory=dict)
    blocks: dict[str, dict[str, Any]] = field(default_factory=dict)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    slices: dict[str, dict[str, Any]] = field(default_factory=dict)
    ultraservers: dict[str, dict[str, Any]] = field(default_factory=dict)
    slurm: dict[str, dict[str, Any]] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)

    def add(self, machine: Machine) -> None:
        """What a machine is seen to be where all is well."""
        key, kind = machine.instance, machine.type
        self.hosts[key] = machine.host
        self.devices[key] = neuron_ls(key, kind)
        self.sysfs[key] = _sysfs(machine)
        self.instances[key] = placed(machine) | {
            "State": {"Code": 16, "Name": "running"},
            "PrivateDnsName": machine.host,
            "Placement": {"AvailabilityZone": "us-west-2d", "AvailabilityZoneId": "usw2-az4"},
        }
        del self.instances[key]["NetworkNodes"]
        self.topology[key] = placed(machine)
        if machine.block:
            self.blocks[machine.block] = {"CapacityBlockId": machine.block, "InterconnectStatus": "ok"}
        self.nodes[key] = node(
            machine.host, key, labels=_labels(machine), conditions=[{"type": "NeuronHealth", "status": "False"}]
        )
        self.slices[key] = _slice(machine)
        if machine.ultraserver:
            member = {"nodeId": machine.position, "nodeName": machine.host}
            pod = self.ultraservers.setdefault(machine.ultraserver, ultraserver())
            pod["spec"]["topology"] = [each for each in pod["spec"]["topology"] if each["nodeName"] != "n0"] + [
                member | {"linkStatusHorizontal": "up", "linkStatusVertical": "up"}
            ]
        self.slurm[key] = slurm_node(machine.host) | {"instance_id": key, "instance_type": kind}

    def remove(self, instance: str) -> None:
        """Take an instance out of every output."""
        host = self.hosts.pop(instance)
        for of in (self.devices, self.sysfs, self.instances, self.topology, self.nodes, self.slices, self.slurm):
            of.pop(instance, None)
        for pod in self.ultraservers.values():
            pod["spec"]["topology"] = [each for each in pod["spec"]["topology"] if each["nodeName"] != host]

    def files(self) -> Iterator[tuple[str, str]]:
        """Each file's name below one folder a program, and what stands in it."""
        for instance, devices in self.devices.items():
            yield f"neuron-ls/{self.hosts[instance]}.json", json.dumps(devices)
        for instance, values in self.sysfs.items():
            lines = [f"# host: {self.hosts[instance]}", *(f"{path}:{value}" for path, value in values.items())]
            yield f"neuron-sysfs/{self.hosts[instance]}.txt", "\n".join(lines) + "\n"
        pages = {
            "ec2/instances": {"Reservations": [{"Instances": list(self.instances.values())}]},
            "ec2/instance-topology": {"Instances": list(self.topology.values())},
            "ec2/capacity-block-status": {"CapacityBlockStatuses": list(self.blocks.values())},
            "kubernetes/objects": listed(*self.nodes.values(), *self.slices.values(), *self.ultraservers.values()),
            "slurm/nodes": slurm(*self.slurm.values()),
        }
        for name, page in pages.items():
            yield f"{name}.json", json.dumps(page)


def placed(machine: Machine) -> dict[str, Any]:
    """An instance as DescribeInstanceTopology lists it."""
    found: dict[str, Any] = instance_topology([machine.instance], machine.block)["Instances"][0]
    return found | {"InstanceType": machine.type, "NetworkNodes": machine.network_nodes}


def _labels(machine: Machine) -> dict[str, str | None]:
    driver = "neuron.amazonaws.com/ultraserver-"
    place = dict.fromkeys([f"{driver}mode", f"{driver}server-id-4", f"{driver}node-id-4"])
    if machine.ultraserver:
        place = {f"{driver}mode": "1_2_4", f"{driver}server-id-4": machine.ultraserver}
        place[f"{driver}node-id-4"] = str(machine.position)
    layers = {f"{_LAYER}{number}": name for number, name in enumerate(machine.network_nodes, 1)}
    return {"node.kubernetes.io/instance-type": machine.type, _BLOCK: machine.block, **layers, **place}


def _slice(machine: Machine) -> dict[str, Any]:
    found = resource_slice(machine.host)
    efas = EFAS[machine.type[:4]]
    for number, device in enumerate(found["spec"]["devices"]):
        device["attributes"] |= {
            "instanceType": {"string": machine.type},
            "resource.aws.com/devicegroup1_id": {"string": efas[number]},
            **{f"networkNodeLayer{n}": {"string": name} for n, name in enumerate(machine.network_nodes, 1)},
        }
    return found


def _sysfs(machine: Machine) -> dict[str, str]:
    found = {}
    if machine.ultraserver:
        found = {f"{_CLASS}/ultraserver_mode": "1_2_4", f"{_CLASS}/server_id_4": machine.ultraserver}
        found[f"{_CLASS}/node_id_4"] = str(machine.position)
    for each in neuron_ls(machine.instance, machine.type):
        of = f"{_DEVICE}{each['neuron_device']}"
        cores = each["nc_count"] * each.get("logical_neuroncore_config", 1)
        found |= {
            f"{of}/connected_devices": ", ".join(map(str, each["connected_to"])),
            f"{of}/core_count": str(cores),
            f"{of}/info/serial_number": f"{0x9FF5434815000000 + 16 * machine.number + each['neuron_device']:016x}",
            f"{of}/info/architecture/instance_type": machine.type,
            f"{of}/stats/hardware/mem_ecc_uncorrected/total": "0",
        }
    return found


def outputs(of: Iterable[Machine]) -> Outputs:
    """What is printed of a fleet where all is well."""
    found = Outputs()
    for machine in of:
        found.add(machine)
    return found


_FLEET = machines()
_IN_ULTRASERVER, _NEXT = _FLEET[1].instance, _FLEET[2].instance
_REWIRED = _FLEET[6].instance
_PLAIN, _CONTAINED, _MOVED, _OLD = (_FLEET[number].instance for number in (13, 14, 15, 17))
NEW = Machine(99, "u-trn2x64", 0, 1)
"""An instance that is not there where all is well."""


def _device(of: Outputs, chip: int = 5) -> dict[str, Any]:
    return of.devices[_PLAIN][chip]


def _missing(of: Outputs) -> None:
    del of.devices[_PLAIN][5]
    del of.slices[_PLAIN]["spec"]["devices"][5]
    of.nodes[_PLAIN]["status"]["allocatable"]["aws.amazon.com/neuron"] = "15"
    of.sysfs[_PLAIN] = {path: value for path, value in of.sysfs[_PLAIN].items() if f"{_DEVICE}5/" not in path}


def _rewired(of: Outputs) -> None:
    of.devices[_REWIRED][5].update(connected_to=[1, 4, 6, 10])
    of.sysfs[_REWIRED][f"{_DEVICE}5/connected_devices"] = "1, 4, 6, 10"


def _cores(of: Outputs) -> None:
    _device(of).update(nc_count=3)
    of.sysfs[_PLAIN][f"{_DEVICE}5/core_count"] = "6"


def _extra(of: Outputs) -> None:
    of.devices[_PLAIN].append(_device(of) | {"neuron_device": 16, "bdf": "0000:aa:00.0", "connected_to": None})


def _container(of: Outputs) -> None:
    of.devices[_CONTAINED] = in_a_container(of.devices[_CONTAINED][4:8])


def _type(of: Outputs) -> None:
    kind = "trn2.48xlarge"
    for each in (of.instances[_IN_ULTRASERVER], of.topology[_IN_ULTRASERVER]):
        each["InstanceType"] = kind
    for device in of.devices[_IN_ULTRASERVER]:
        device["instance_type"] = kind
    of.nodes[_IN_ULTRASERVER]["metadata"]["labels"]["node.kubernetes.io/instance-type"] = kind
    of.slurm[_IN_ULTRASERVER]["instance_type"] = kind
    for device in of.slices[_IN_ULTRASERVER]["spec"]["devices"]:
        device["attributes"]["instanceType"] = {"string": kind}
    for path in list(of.sysfs[_IN_ULTRASERVER]):
        if path.endswith("instance_type"):
            of.sysfs[_IN_ULTRASERVER][path] = kind


def _elsewhere(of: Outputs, ultraserver: str) -> None:
    """The driver of an instance says that it is in another UltraServer."""
    of.sysfs[_IN_ULTRASERVER][f"{_CLASS}/server_id_4"] = ultraserver
    of.nodes[_IN_ULTRASERVER]["metadata"]["labels"]["neuron.amazonaws.com/ultraserver-server-id-4"] = ultraserver


def renumbered(of: Outputs, *numbers: int) -> None:
    """The driver of the first UltraServer's instances gives them other numbers."""
    for machine, number in zip(_FLEET, numbers, strict=False):
        of.sysfs[machine.instance][f"{_CLASS}/node_id_4"] = str(number)
        labels = of.nodes[machine.instance]["metadata"]["labels"]
        labels["neuron.amazonaws.com/ultraserver-node-id-4"] = str(number)


def _under(of: Outputs, instance: str, layer: int, name: str) -> None:
    """An instance is below another network node of a layer."""
    of.topology[instance]["NetworkNodes"][layer - 1] = name
    of.nodes[instance]["metadata"]["labels"][f"{_LAYER}{layer}"] = name
    for device in of.slices[instance]["spec"]["devices"]:
        device["attributes"][f"networkNodeLayer{layer}"] = {"string": name}


def _replaced(of: Outputs) -> None:
    of.remove(_IN_ULTRASERVER)
    of.add(NEW)


def _side(of: Outputs) -> None:
    of.ultraservers[str(_FLEET[0].ultraserver)]["spec"]["topology"][1]["linkStatusHorizontal"] = "down"


def _logical(of: Outputs) -> None:
    for device in of.devices[_NEXT]:
        device.update(nc_count=8, logical_neuroncore_config=1)


def _uncounted(of: Outputs) -> None:
    counter = f"{_DEVICE}5/stats/hardware/mem_ecc_uncorrected/total"
    of.sysfs[_PLAIN][counter.replace("hardware", "health")] = of.sysfs[_PLAIN].pop(counter)


def _unhealthy(of: Outputs) -> None:
    problem = {"type": "NeuronHealth", "status": "True", "reason": "NeuronHasError_HBM_UNCORRECTABLE_ERROR"}
    of.nodes[_PLAIN]["status"]["conditions"] = [problem]


FAULTS: dict[str, Callable[[Outputs], object]] = {
    "instance-type-unexpected": _type,
    "server-unbound": lambda of: of.remove(_OLD),
    "instance-unplaced": lambda of: of.add(Machine(98, "trn1.32xlarge", 0, 0)),
    "instance-gone": lambda of: of.remove(_OLD),
    "instance-replaced": _replaced,
    "chip-missing": _missing,
    "chip-extra": _extra,
    "view-partial": _container,
    "neighbour-wrong": _rewired,
    "memory-wrong": lambda of: _device(of).update(memory_size=64 << 30),
    "cores-wrong": _cores,
    "lnc-differs": _logical,
    "numa-wrong": lambda of: _device(of).update(numa_node="1"),
    "efa-map-wrong": lambda of: of.slices[_PLAIN]["spec"]["devices"][5]["attributes"].update(
        {"resource.aws.com/devicegroup1_id": {"string": EFAS["trn2"][6]}}
    ),
    "domain-split": lambda of: _elsewhere(of, "00000000000000ff"),
    "domain-overfull": lambda of: of.add(Machine(97, "u-trn2x64", 0, 4)),
    "node-id-duplicate": lambda of: renumbered(of, 0, 1, 1, 3),
    "node-order-wrong": lambda of: renumbered(of, 0, 2, 1, 3),
    "side-link-down": _side,
    "interconnect-impaired": lambda of: of.blocks[str(_FLEET[0].block)].update(InterconnectStatus="impaired"),
    "network-node-moved": lambda of: _under(of, _MOVED, 3, "nn-1300000000000000f"),
    "fabric-inconsistent": lambda of: _under(of, _PLAIN, 2, "nn-1200000000000000f"),
    "ecc-uncorrected": lambda of: of.sysfs[_PLAIN].update(
        {f"{_DEVICE}5/stats/hardware/mem_ecc_uncorrected/total": "3"}
    ),
    "field-missing": _uncounted,
    "health-condition": _unhealthy,
    "state-differs": lambda of: of.slurm[_PLAIN].update(state=["IDLE", "DRAIN"], reason="tested by hand"),
    "conflict-between-sources": lambda of: of.nodes[_PLAIN]["metadata"]["labels"].update({_ZONE: "usw2-az1"}),
}
"""What changes in the outputs of a fleet so that a rule of drift, by its name, finds something, and no other does.

Nothing has to change for ``stale``: time passes.
"""


def write(directory: Path, of: Outputs) -> None:
    """Write the files of a fleet."""
    for name, content in of.files():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content)


def stand(connection: Connection, fleet: Iterable[Machine]) -> None:
    """Bind machines to the slots where they stand, in clusters that are called as their systems."""
    server, domain, cluster = (TABLES[name] for name in ("server", "domain", "cluster"))
    joined = server.join(domain, domain.c.id == server.c.domain_id).join(cluster, cluster.c.id == domain.c.cluster_id)
    found = connection.execute(select(address_expression("server").label("address"), server.c.id).select_from(joined))
    ids = {row.address: row.id for row in found}
    at = [(machine, f"{machine.system}/d{machine.domain}/s{machine.position}") for machine in fleet]
    standings = [
        ProposedBinding(ids[slot], slot, machine.instance, machine.host, "pin", "certain", None) for machine, slot in at
    ]
    bind(connection, standings, who="tests")


def streams(directory: Path, ultraservers: int) -> dict[str, Path]:
    """Write a fleet of UltraServers as files of a line each: pages of EC2, and neuron-ls of each instance."""
    fleet = machines(ultraservers, 0, 0)
    files = {kind: directory / f"{kind}.ndjson" for kind in ("ec2", "neuron-ls")}
    with files["ec2"].open("w") as pages:
        for first in range(0, len(fleet), _PAGE):
            page = {"Instances": [placed(machine) for machine in fleet[first : first + _PAGE]]}
            pages.write(json.dumps(page) + "\n")
    with files["neuron-ls"].open("w") as lines:
        for machine in fleet:
            lines.write(json.dumps(neuron_ls(machine.instance, machine.type)) + "\n")
    return files


def main(words: list[str]) -> None:
    """Write the files of the fleet with faults into a folder."""
    directory, *faults = words
    made = outputs(_FLEET)
    for fault in faults:
        FAULTS[fault](made)
    write(Path(directory), made)


if __name__ == "__main__":
    main(sys.argv[1:])
