"""Pull Nodes, ResourceSlices, DeviceTaintRules and NeuronUltraServers from the API of Kubernetes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from trninv.discovery.kubernetes_client import KubernetesClient
from trninv.discovery.provider import Provider, PulledEntry, PulledListing, PulledListings, PullProgress
from trninv.discovery.target import Target
from trninv.errors import DiscoveryRefusedError
from trninv.importers.records import NO_BLOCK
from trninv.importers.sources.kubernetes import DOMAIN_LABEL, NODE_LABELS

_RESOURCES: Final[Mapping[str, tuple[str, str]]] = {
    "list nodes": ("Node", "/api/v1/nodes"),
    "list resourceslices.resource.k8s.io": ("ResourceSlice", "/apis/resource.k8s.io/v1/resourceslices"),
    "list devicetaintrules.resource.k8s.io": ("DeviceTaintRule", "/apis/resource.k8s.io/v1alpha3/devicetaintrules"),
    "list neuronultraservers.neuron.aws.com": (
        "NeuronUltraServer",
        "/apis/neuron.aws.com/v1beta1/neuronultraservers",
    ),
}
"""The kind and the path of each call."""
_EMPTY: Final = {"apiVersion": "v1", "kind": "List", "items": []}


def pull(target: Target, progress: PullProgress) -> PulledListings:
    """Read all nodes and what belongs to them.

    Raises
    ------
    DiscoveryError
        The API does not answer, or refuses the list of nodes.

    """
    client, notes = KubernetesClient(target), list[str]()
    objects = dict[str, list[dict[str, Any]]]()
    for call, (kind, path) in _RESOURCES.items():
        try:
            objects[kind] = list(client.list_objects(path, kind, progress))
        except DiscoveryRefusedError as error:
            if call in PROVIDER.calls:
                raise
            notes.append(str(error))
    nodes = [_reduce_node(node) for node in objects["Node"]]
    if any(DOMAIN_LABEL in _labels(node) for node in nodes):
        for node in nodes:
            _labels(node).setdefault(DOMAIN_LABEL, NO_BLOCK)
    slices, others = objects.get("ResourceSlice", []), objects.get("DeviceTaintRule", [])
    ultraservers = map(_without_changing_metadata, objects.get("NeuronUltraServer", []))
    listings = (
        PulledListing("kubernetes", "nodes", tuple(_entries(nodes)), _EMPTY),
        PulledListing("kubernetes", "slices", tuple(_slice_entries(slices, others)), _EMPTY),
        PulledListing("kubernetes", "ultraservers", tuple(_entries(ultraservers)), _EMPTY),
    )
    return PulledListings(client.identity, listings, tuple(notes))


def _entries(objects: Iterable[dict[str, Any]]) -> Iterator[PulledEntry]:
    for entry in objects:
        yield PulledEntry(_name(entry), {**_EMPTY, "items": [entry]})


def _slice_entries(slices: list[dict[str, Any]], rules: list[dict[str, Any]]) -> Iterator[PulledEntry]:
    """Yield the slices of each node in one list with all rules, since a rule makes sense only with its devices."""
    by_node = defaultdict[str, list[dict[str, Any]]](list)
    for entry in slices:
        spec = entry.get("spec")
        node = spec.get("nodeName") if isinstance(spec, dict) else None
        if isinstance(node, str):
            by_node[node].append(_without_changing_metadata(entry))
    kept = [_without_changing_metadata(rule) for rule in rules]
    for node, entries in by_node.items():
        entries.sort(key=_name)
        yield PulledEntry(node, {**_EMPTY, "items": [*entries, *kept]})


def _without_changing_metadata(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its name as its only metadata, since versions change without the content."""
    return {**entry, "metadata": _pick(entry.get("metadata"), ("name",))}


def _reduce_node(node: dict[str, Any]) -> dict[str, Any]:
    """Return what the reader reads of a node: no times, which change every few seconds, and no other labels."""
    metadata, spec = _pick(node.get("metadata"), ("name", "labels")), node.get("spec")
    status = _pick(node.get("status"), ("allocatable", "conditions"))
    spec = _pick(spec, ("providerID", "unschedulable", "taints"))
    if isinstance(metadata, dict):
        metadata["labels"] = _pick(metadata.get("labels") or {}, NODE_LABELS)
    if isinstance(status, dict):
        status["conditions"] = _pick_each(status.get("conditions"), ("type", "status", "reason"))
        status["allocatable"] = _pick(status.get("allocatable"), ("aws.amazon.com/",))
    if isinstance(spec, dict):
        spec["taints"] = _pick_each(spec.get("taints"), ("key", "value", "effect"))
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _pick(value: Any, prefixes: tuple[str, ...]) -> Any:
    """Return the members of an object that begin with a prefix; another value stays, as the reader names its type."""
    return {name: value[name] for name in value if name.startswith(prefixes)} if isinstance(value, dict) else value


def _pick_each(value: Any, prefixes: tuple[str, ...]) -> Any:
    return [_pick(item, prefixes) for item in value] if isinstance(value, list) else value


def _labels(node: dict[str, Any]) -> dict[str, Any]:
    """Return the labels of a reduced node, which can be changed; none if they are no object."""
    labels = node["metadata"].get("labels") if isinstance(node["metadata"], dict) else None
    return labels if isinstance(labels, dict) else {}


def _name(entry: dict[str, Any]) -> str:
    metadata = entry.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


PROVIDER = Provider(
    name="kubernetes",
    title="Kubernetes",
    place="a context of the kubeconfig; by default the current one, or the pod's own cluster",
    extra="kubernetes",
    pull=pull,
    calls={"list nodes": "type, zone, labels, taints, conditions and allocatable chips"},
    optional_calls={
        "list resourceslices.resource.k8s.io": "each chip of a node, and its taints",
        "list devicetaintrules.resource.k8s.io": "taints of chips by rule",
        "list neuronultraservers.neuron.aws.com": "which sides of an UltraServer are connected",
    },
)
