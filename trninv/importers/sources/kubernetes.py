"""Read ``kubectl get nodes,resourceslices,devicetaintrules,neuronultraservers -o json`` or yaml: lists or objects.

Nodes have the instance's id, the network nodes above it and the number of allocatable chips. ResourceSlices of Neuron's
DRA driver name each chip and its taints, DeviceTaintRules add taints, and a NeuronUltraServer has the state of the
links on each side of its servers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from trninv.importers import kubernetes_slices
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import JsonValue
from trninv.importers.kubernetes_health import TaintRule, node_state, parse_taint_rule
from trninv.importers.kubernetes_slices import MAX_CHIPS, is_neuron_slice, servers_from_slices
from trninv.importers.list_response import is_list, next_page_token, read_objects
from trninv.importers.records import (
    BLOCK_KEY,
    CompleteListing,
    InstanceListing,
    ObservedRecord,
    ObservedServer,
    ObservedSide,
    Unread,
)
from trninv.importers.source_declaration import SourceDeclaration

_PROVIDER_ID = re.compile(r"aws:///[a-z0-9-]+/(i-[0-9a-z]+)")
_ULTRASERVER_LABEL = "neuron.amazonaws.com/ultraserver-"
_LAYER_LABELS = [f"topology.k8s.aws/network-node-layer-{number}" for number in (1, 2, 3, 4)]
DOMAIN_LABEL = "trninv.dev/domain"
"""The label that ``trninv topology --as kubernetes`` writes for a node's domain, and Kueue's topology uses."""
NODE_LABELS = (
    "node.kubernetes.io/instance-type",
    "topology.k8s.aws/",
    _ULTRASERVER_LABEL,
    "sagemaker.amazonaws.com/node-health-status",
    DOMAIN_LABEL,
)
"""Prefixes of the labels of a node that are read."""
_CHIP_RESOURCES = ("aws.amazon.com/neuron", "aws.amazon.com/neurondevice")
_KINDS = "Node", "ResourceSlice", "DeviceTaintRule", "NeuronUltraServer"
_MAX_SERVERS = 64
"""The greatest position in an UltraServer that is accepted."""
_NO_SLICE = (
    "taints devices, but there is no ResourceSlice; use kubectl get nodes,resourceslices,devicetaintrules -o json"
)
_NODE_FIELDS = {
    "instance": "spec.providerID",
    "instance_type": "label node.kubernetes.io/instance-type",
    "network_nodes": "labels topology.k8s.aws/network-node-layer-*",
    "chip_count": "status.allocatable aws.amazon.com/neuron",
}
_INSTANCE_TYPE_FIELD = {
    "instance_type": f"{_NODE_FIELDS['instance_type']} or attribute {kubernetes_slices.EXPECTED['instance_type']}"
}
"""Both nodes and ResourceSlices report the type."""
EXPECTED = kubernetes_slices.EXPECTED | _NODE_FIELDS | _INSTANCE_TYPE_FIELD
"""Fields of a server and its chips that this source should report, with their names in the source."""


def read(source: InputFile) -> Iterator[ObservedRecord]:
    """Yield the servers in a file, their links' states by side, unread parts, and a marker for each list.

    A list counts as complete if it has nodes, or nothing at all, and no next page.
    """
    slices: dict[str, list[JsonValue]] = {}
    rules: list[JsonValue] = []
    for value in source.yaml_or_json():
        count = nodes = 0
        for kind, resource in read_objects(value, *_KINDS):
            count += 1
            if kind == "Node":
                nodes += 1
                yield from _read_node(resource)
            elif kind == "ResourceSlice":
                if is_neuron_slice(resource):
                    slices.setdefault(resource.get("spec").get("nodeName").as_name() or "", []).append(resource)
            elif kind == "DeviceTaintRule":
                rules.append(resource)
            elif kind == "NeuronUltraServer":
                yield from _read_ultraserver(resource)
        if is_list(value):
            yield CompleteListing() if (nodes or not count) and next_page_token(value) is None else InstanceListing()
    yield from _read_servers(slices, rules)


def _read_servers(
    slices: Mapping[str, Sequence[JsonValue]], rules: Sequence[JsonValue]
) -> Iterator[ObservedServer | Unread]:
    """Yield the nodes of ResourceSlices with their chips and the taints that DeviceTaintRules of the file add."""
    device_rules = list[TaintRule]()
    for rule in rules:
        match parse_taint_rule(rule):
            case Unread() as unread:
                yield unread
            case TaintRule() as device_rule:
                device_rules.append(device_rule)
                if not slices:
                    rule.add_error(_NO_SLICE)
    for host, host_slices in slices.items():
        yield from servers_from_slices(host, host_slices, device_rules)


def _read_node(node: JsonValue) -> Iterator[ObservedRecord]:
    metadata, spec, status = (node.get(name) for name in ("metadata", "spec", "status"))
    labels = metadata.get("labels")
    provider = spec.get("providerID").as_text()
    match = _PROVIDER_ID.fullmatch(provider or "")
    if provider and provider.startswith("aws:") and not match:
        spec.get("providerID").add_error("is not aws:///ZONE/INSTANCE")
    host = metadata.get("name").as_name()
    if host is None:
        node.add_error("has no metadata.name")
        return
    ultraserver, position = _ultraserver_position(labels)
    state, reason = node_state(spec, status, labels)
    layers = tuple(name for label in _LAYER_LABELS if (name := labels.get(label).as_name()))
    yield ObservedServer(
        where=node.where,
        instance=match and match[1],
        host=host,
        instance_type=labels.get("node.kubernetes.io/instance-type").as_name(),
        zone=labels.get("topology.k8s.aws/zone-id").as_name(),
        capacity_block=labels.get("topology.k8s.aws/capacity-block-id").as_name(),
        network_nodes=layers or None,
        ultraserver=ultraserver,
        position=position,
        ultraserver_mode=labels.get(f"{_ULTRASERVER_LABEL}mode").as_name(),
        state=state,
        reason=reason,
        chip_count=_allocatable_chips(status.get("allocatable")),
        scheduler_block=(node if BLOCK_KEY in node.raw else labels)
        .get(BLOCK_KEY if BLOCK_KEY in node.raw else DOMAIN_LABEL)
        .as_name(),
        expected=_NODE_FIELDS,
    )


def _ultraserver_position(labels: JsonValue) -> tuple[str | None, int | None]:
    """Return a node's UltraServer and its position there; the larger UltraServer if it has labels for two sizes.

    An id of zeros means that the node is in no UltraServer of that size.
    """
    for size in (4, 2):
        ultraserver = labels.get(f"{_ULTRASERVER_LABEL}server-id-{size}").as_name()
        if ultraserver and ultraserver.strip("0"):
            return ultraserver, labels.get(f"{_ULTRASERVER_LABEL}node-id-{size}").as_digits(_MAX_SERVERS)
    return None, None


def _allocatable_chips(allocatable: JsonValue) -> int | None:
    """Return the number of chips that a node offers to jobs, under whichever resource name it uses."""
    counts = (allocatable.get(name).as_digits(MAX_CHIPS) for name in _CHIP_RESOURCES)
    return next((count for count in counts if count is not None), None)


def _read_ultraserver(resource: JsonValue) -> Iterator[ObservedRecord]:
    """Yield the state of the links on each side of an UltraServer's servers."""
    for member in resource.get("spec").get("topology").objects():
        host = member.get("nodeName").as_name()
        if host is None:
            member.add_error("has no nodeName")
            continue
        for side, name in (("H", "linkStatusHorizontal"), ("V", "linkStatusVertical")):
            status = member.get(name).as_text()
            if status not in (None, "up", "down"):
                member.get(name).add_error("is not up or down")
            elif status:
                yield ObservedSide(host, side, status == "up")


SOURCE = SourceDeclaration(
    name="kubernetes",
    title="Kubernetes",
    commands="`kubectl get nodes,resourceslices,devicetaintrules,neuronultraservers -o json`, or `-o yaml`",
    content=(
        "type, zone, capacity block, UltraServer and network nodes from labels; health from conditions and taints; "
        "allocatable chips, each chip and its taints; which sides of an UltraServer are connected"
    ),
    read=read,
    expected=EXPECTED,
    is_manager=True,
    host_name_rank=1,
    is_scheduler=True,
    lists_every_chip=True,
    failure_states=frozenset({"down", "maintenance"}),
    objects=(("has_chips", "ResourceSlice"), ("host", "Node")),
)
