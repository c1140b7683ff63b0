"""``kubectl get nodes,resourceslices,neuronultraservers -o json``, or yaml: one list of mixed kinds, or single objects.

Nodes carry the instance's id, its place in the network and how many chips may be allocated; ResourceSlices of Neuron's
DRA driver name each chip; a NeuronUltraServer says which sides of a server are joined.
"""

import re
from collections.abc import Iterator

from trninv.importers.observed import Chip, Seen, Server, Side, Whole
from trninv.importers.reading import Source
from trninv.importers.value import Value

_PROVIDER = re.compile(r"aws:///[a-z0-9-]+/(i-[0-9a-z]+)")
_ULTRASERVER = "neuron.amazonaws.com/ultraserver-"
_LAYERS = [f"topology.k8s.aws/network-node-layer-{number}" for number in (1, 2, 3, 4)]
_CHIPS = ("aws.amazon.com/neuron", "aws.amazon.com/neurondevice")
_HEALTH = {"NeuronHealth": "True", "AcceleratedHardwareReady": "False"}
"""Conditions of a node, and the status that means a problem: opposite for the two agents that set them."""
_MOST_CHIPS, _MOST_SERVERS = 128, 64
_OF_NODE = {
    "instance": "spec.providerID",
    "instance_type": "label node.kubernetes.io/instance-type",
    "network_nodes": "labels topology.k8s.aws/network-node-layer-*",
    "chip_count": "status.allocatable aws.amazon.com/neuron",
}
_OF_SLICES = {"instance_type": "instanceType", "efa_bdf": "resource.aws.com/devicegroup1_id"}
EXPECTED = _OF_SLICES | _OF_NODE
_UNSCHEDULABLE = "sagemaker.amazonaws.com/node-health-status"


def read(source: Source) -> Iterator[Seen]:
    """The servers of a file."""
    slices: dict[str, list[Value]] = {}
    for value in source.yaml_or_json():
        is_list = isinstance(value.of, dict) and "items" in value.of
        nodes = 0
        for each in value.get("items").objects() if is_list else [value]:
            kind = each.get("kind").as_text()
            if kind == "Node":
                nodes += 1
                yield from _node(each)
            elif kind == "ResourceSlice":
                if each.get("spec").get("driver").as_text() == "neuron.aws.com":
                    slices.setdefault(each.get("spec").get("nodeName").as_name() or "", []).append(each)
            elif kind == "NeuronUltraServer":
                yield from _ultraserver(each)
            elif not is_list:
                each.fault("is no List, Node, ResourceSlice or NeuronUltraServer")
        if is_list and nodes and value.get("metadata").get("continue").as_text() is None:
            yield Whole()
    for host, found in slices.items():
        yield from _sliced(host, found)


def _node(node: Value) -> Iterator[Seen]:
    metadata, spec, status = (node.get(name) for name in ("metadata", "spec", "status"))
    labels = metadata.get("labels")
    provider = spec.get("providerID").as_text()
    found = _PROVIDER.fullmatch(provider or "")
    if provider and provider.startswith("aws:") and not found:
        spec.get("providerID").fault("is not aws:///ZONE/INSTANCE")
    host = metadata.get("name").as_name()
    if host is None:
        node.fault("has no metadata.name")
        return
    ultraserver, position = _place(labels)
    state, reason = _state(spec, status, labels)
    layers = tuple(name for each in _LAYERS if (name := labels.get(each).as_name()))
    yield Server(
        where=node.where,
        instance=found and found[1],
        host=host,
        instance_type=labels.get("node.kubernetes.io/instance-type").as_name(),
        zone=labels.get("topology.k8s.aws/zone-id").as_name(),
        capacity_block=labels.get("topology.k8s.aws/capacity-block-id").as_name(),
        network_nodes=layers or None,
        ultraserver=ultraserver,
        position=position,
        ultraserver_mode=labels.get(f"{_ULTRASERVER}mode").as_name(),
        state=state,
        reason=reason,
        chip_count=_quantity(status.get("allocatable")),
        expected=_OF_NODE,
    )


def _state(spec: Value, status: Value, labels: Value) -> tuple[str | None, str | None]:
    for condition in status.get("conditions").objects():
        kind = condition.get("type").as_text()
        if kind in _HEALTH and condition.get("status").as_text() == _HEALTH[kind]:
            return "down", f"{kind}: {condition.get('reason').as_text() or 'no reason given'}"
    health = labels.get(_UNSCHEDULABLE).as_text()
    if health and health != "Schedulable":
        return "maintenance", health
    if spec.get("unschedulable").of is True:
        return "maintenance", "unschedulable"
    return "up", None


def _place(labels: Value) -> tuple[str | None, int | None]:
    """The UltraServer that a node is in, the largest that was elected, and its place there."""
    for size in (4, 2):
        ultraserver = labels.get(f"{_ULTRASERVER}server-id-{size}").as_name()
        if ultraserver and ultraserver.strip("0"):
            return ultraserver, labels.get(f"{_ULTRASERVER}node-id-{size}").as_digits(_MOST_SERVERS)
    return None, None


def _quantity(allocatable: Value) -> int | None:
    counts = (allocatable.get(name).as_digits(_MOST_CHIPS) for name in _CHIPS)
    return next((count for count in counts if count is not None), None)


def _sliced(host: str, slices: list[Value]) -> Iterator[Seen]:
    """The chips of a node, of the newest generation of its pool, if all of its slices are there."""
    specs = [each.get("spec") for each in slices]
    generation = max(spec.get("pool").get("generation").as_integer() or 0 for spec in specs)
    newest = [spec for spec in specs if (spec.get("pool").get("generation").as_integer() or 0) == generation]
    wanted = newest[0].get("pool").get("resourceSliceCount").as_integer() or 1
    devices = [attributes(device) for spec in newest for device in spec.get("devices").objects()]
    chips = [chip for device in devices if (chip := _chip(device))]
    if not host:
        newest[0].fault("has no nodeName")
    elif len({chip.ordinal for chip in chips}) < len(chips):
        newest[0].fault("names a device twice")
    elif devices:
        layers = (devices[0].get(f"networkNodeLayer{number}").as_name() for number in (1, 2, 3))
        yield Server(
            where=newest[0].where,
            host=host,
            instance_type=devices[0].get("instanceType").as_name(),
            capacity_block=devices[0].get("capacityBlockId").as_name(),
            network_nodes=tuple(layer for layer in layers if layer) or None,
            is_partial=len(newest) < wanted,
            chips=tuple(sorted(chips, key=lambda chip: chip.ordinal)),
            expected=_OF_SLICES,
        )


def attributes(device: Value) -> Value:
    """The attributes of a device without their types, which v1beta1 has below ``basic``."""
    given = device.get("attributes") if "attributes" in device.of else device.get("basic").get("attributes")
    typed = given.of if isinstance(given.of, dict) else {}
    plain = {
        name: next(iter(each.values())) if isinstance(each, dict) and len(each) == 1 else each
        for name, each in typed.items()
    }
    return given.with_(plain)


def _chip(attributes: Value) -> Chip | None:
    if attributes.get("resourceType").as_text() == "neuron_node":
        return None
    ordinal = attributes.get("deviceId").as_integer(_MOST_CHIPS - 1)
    if ordinal is None:
        attributes.fault("has no deviceId")
        return None
    return Chip(ordinal, efa_bdf=attributes.get("resource.aws.com/devicegroup1_id").as_bdf())


def _ultraserver(each: Value) -> Iterator[Seen]:
    for member in each.get("spec").get("topology").objects():
        host = member.get("nodeName").as_name()
        if host is None:
            member.fault("has no nodeName")
            continue
        for side, name in (("H", "linkStatusHorizontal"), ("V", "linkStatusVertical")):
            status = member.get(name).as_text()
            if status not in (None, "up", "down"):
                member.get(name).fault("is not up or down")
            elif status:
                yield Side(host, side, status == "up")
