"""``kubectl get nodes,resourceslices,devicetaintrules,neuronultraservers -o json``, or yaml: one list, or objects.

Nodes carry the instance's id, its place in the network and how many chips may be allocated; ResourceSlices of Neuron's
DRA driver name each chip and its taints, as DeviceTaintRules do; a NeuronUltraServer says which sides are joined.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from trninv.importers import kubernetes_slices
from trninv.importers.answer import is_list, next_page, objects
from trninv.importers.kubernetes_health import TaintRule, node_state, taint_rule
from trninv.importers.kubernetes_slices import MOST_CHIPS, is_ours, servers_of
from trninv.importers.observed import Listing, Seen, Server, Side, Unread, Whole
from trninv.importers.reading import Source
from trninv.importers.value import Value

_PROVIDER = re.compile(r"aws:///[a-z0-9-]+/(i-[0-9a-z]+)")
_ULTRASERVER = "neuron.amazonaws.com/ultraserver-"
_LAYERS = [f"topology.k8s.aws/network-node-layer-{number}" for number in (1, 2, 3, 4)]
_CHIPS = ("aws.amazon.com/neuron", "aws.amazon.com/neurondevice")
_KINDS = "Node", "ResourceSlice", "DeviceTaintRule", "NeuronUltraServer"
_MOST_SERVERS = 64
_NO_SLICE = "taints devices of no ResourceSlice here: kubectl get nodes,resourceslices,devicetaintrules -o json"
_OF_NODE = {
    "instance": "spec.providerID",
    "instance_type": "label node.kubernetes.io/instance-type",
    "network_nodes": "labels topology.k8s.aws/network-node-layer-*",
    "chip_count": "status.allocatable aws.amazon.com/neuron",
}
_TYPE = {"instance_type": f"{_OF_NODE['instance_type']} or attribute {kubernetes_slices.EXPECTED['instance_type']}"}
EXPECTED = kubernetes_slices.EXPECTED | _OF_NODE | _TYPE


def read(source: Source) -> Iterator[Seen]:
    """The servers of a file."""
    slices: dict[str, list[Value]] = {}
    rules: list[Value] = []
    for value in source.yaml_or_json():
        count = nodes = 0
        for kind, each in objects(value, *_KINDS):
            count += 1
            if kind == "Node":
                nodes += 1
                yield from _node(each)
            elif kind == "ResourceSlice":
                if is_ours(each):
                    slices.setdefault(each.get("spec").get("nodeName").as_name() or "", []).append(each)
            elif kind == "DeviceTaintRule":
                rules.append(each)
            elif kind == "NeuronUltraServer":
                yield from _ultraserver(each)
        if is_list(value):
            yield Whole() if (nodes or not count) and next_page(value) is None else Listing()
    yield from _servers(slices, rules)


def _servers(slices: Mapping[str, Sequence[Value]], rules: Sequence[Value]) -> Iterator[Server | Unread]:
    """Yield nodes with their chips; taints of rules are those of devices, so that both have to be listed at once."""
    ours = list[TaintRule]()
    for rule in rules:
        match taint_rule(rule):
            case Unread() as unread:
                yield unread
            case TaintRule() as found:
                ours.append(found)
                if not slices:
                    rule.fault(_NO_SLICE)
    for host, of_host in slices.items():
        yield from servers_of(host, of_host, ours)


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
    state, reason = node_state(spec, status, labels)
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


def _place(labels: Value) -> tuple[str | None, int | None]:
    """The UltraServer that a node is in, the largest that was elected, and its place there."""
    for size in (4, 2):
        ultraserver = labels.get(f"{_ULTRASERVER}server-id-{size}").as_name()
        if ultraserver and ultraserver.strip("0"):
            return ultraserver, labels.get(f"{_ULTRASERVER}node-id-{size}").as_digits(_MOST_SERVERS)
    return None, None


def _quantity(allocatable: Value) -> int | None:
    counts = (allocatable.get(name).as_digits(MOST_CHIPS) for name in _CHIPS)
    return next((count for count in counts if count is not None), None)


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
