"""Pull nodes, what belongs to them, and the chips of jobs from the API of Kubernetes."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from hashlib import sha256
from operator import itemgetter
from typing import Any, Final

from trninv.discovery.kubernetes_blocks import block_labels, find_blocks, read_flavors
from trninv.discovery.kubernetes_client import KubernetesClient, Resource
from trninv.discovery.kubernetes_objects import (
    Object,
    labels_of,
    member,
    name_of,
    pick,
    reduce_claim,
    reduce_metadata,
    reduce_node,
    reduce_slice,
)
from trninv.discovery.kubernetes_watch import WatchedResource
from trninv.discovery.provider import (
    PackedJson,
    Provider,
    PulledEntry,
    PulledJobs,
    PulledListing,
    PulledListings,
    PullProgress,
)
from trninv.discovery.target import Target
from trninv.errors import DiscoveryRefusedError, TrninvError
from trninv.importers.kubernetes_health import DRIVER
from trninv.importers.records import BLOCK_KEY, NEURON_TYPE_PREFIXES
from trninv.importers.sources.kubernetes import NODE_LABELS

_DRA: Final = "/apis/resource.k8s.io"
_KUEUE: Final = "/apis/kueue.x-k8s.io/v1beta2"
_NODES = Resource("nodes", "Node", "/api/v1/nodes", reduce_node)
_SLICES = Resource("resourceslices.resource.k8s.io", "ResourceSlice", f"{_DRA}/v1/resourceslices", reduce_slice)
_RULES = Resource(
    "devicetaintrules.resource.k8s.io", "DeviceTaintRule", f"{_DRA}/v1alpha3/devicetaintrules", reduce_metadata
)
_CLAIMS = Resource("resourceclaims.resource.k8s.io", "ResourceClaim", f"{_DRA}/v1/resourceclaims", reduce_claim)
_ULTRASERVERS = Resource(
    "neuronultraservers.neuron.aws.com",
    "NeuronUltraServer",
    "/apis/neuron.aws.com/v1beta1/neuronultraservers",
    reduce_metadata,
)
_TOPOLOGIES = Resource("topologies.kueue.x-k8s.io", "Topology", f"{_KUEUE}/topologies", reduce_metadata)
_FLAVORS = Resource("resourceflavors.kueue.x-k8s.io", "ResourceFlavor", f"{_KUEUE}/resourceflavors", reduce_metadata)
_PURPOSES: Final[Mapping[Resource, str]] = {
    _SLICES: "each chip of a node, and its taints",
    _RULES: "taints of chips by rule",
    _CLAIMS: "the chips that jobs have",
    _ULTRASERVERS: "which sides of an UltraServer are connected",
    _TOPOLOGIES: "the labels by which Kueue groups nodes",
    _FLAVORS: "the nodes that each of Kueue's topologies has",
}
"""What is read of each resource that a cluster may lack or refuse."""
_MAX_CONTEXT: Final = 28
"""The maximum length of a context within the name of a system."""
_EMPTY: Final = {"apiVersion": "v1", "kind": "List", "items": []}
_Objects = Mapping[Resource, Mapping[str, PackedJson]]


class KubernetesFollower:
    """Pulls a cluster again and again, with a watch of each resource between the pulls unless ``watches`` is False."""

    def __init__(self, target: Target, *, watches: bool = True) -> None:
        self._target, self._watches = target, watches
        self._client: KubernetesClient | None = None
        self._watched = dict[Resource, WatchedResource]()

    def pull(self, progress: PullProgress) -> PulledListings:
        """Return the objects as the watches have them, or as listed where no watch runs.

        Raises
        ------
        DiscoveryError
            The API does not answer, or refuses the list of nodes.

        """
        try:
            if self._client is None:
                self._client = KubernetesClient(self._target)
            return self._pull(self._client, progress)
        except TrninvError:
            self.close()  # the next pull reads the credentials again
            raise

    def close(self) -> None:
        """End the watches."""
        for watched in self._watched.values():
            watched.close()
        self._client, self._watched = None, {}

    def _pull(self, client: KubernetesClient, progress: PullProgress) -> PulledListings:
        objects, notes = dict[Resource, Mapping[str, PackedJson]](), list[str]()
        for resource in (_NODES, *_PURPOSES):
            watched = self._watched.setdefault(resource, WatchedResource(client, resource, self._watches))
            try:
                if watched.error:
                    notes.append(f"the watch ended, and objects were listed again: {watched.error}")
                objects[resource] = watched.objects(progress)
            except DiscoveryRefusedError as error:
                if resource is _NODES:
                    raise
                notes.append(str(error))
        return PulledListings(client.identity, tuple(_listings(objects)), tuple(notes), _jobs(self._target, objects))


def pull(target: Target, progress: PullProgress) -> PulledListings:
    """Read all objects once.

    Raises
    ------
    DiscoveryError
        The API does not answer, or refuses the list of nodes.

    """
    with closing(KubernetesFollower(target, watches=False)) as follower:
        return follower.pull(progress)


def _listings(objects: _Objects) -> Iterator[PulledListing]:
    """Yield the listings that were not refused, since an empty one would say that its machines are gone."""
    yield PulledListing("kubernetes", "nodes", tuple(_node_entries(objects)), _EMPTY)
    if _SLICES in objects:
        yield PulledListing("kubernetes", "slices", tuple(_slice_entries(objects)), _EMPTY)
    if _ULTRASERVERS in objects:
        contents = objects[_ULTRASERVERS].values()
        entries = tuple(PulledEntry(name_of(content.load()), _list_of([content])) for content in contents)
        yield PulledListing("kubernetes", "ultraservers", entries, _EMPTY)


def _list_of(contents: Iterable[PackedJson]) -> dict[str, Any]:
    return {**_EMPTY, "items": list(contents)}


def _has_neuron(node: Object) -> bool:
    """Return whether a node may have Neuron devices, by its instance type or what it offers to pods."""
    instance_type = labels_of(node).get("node.kubernetes.io/instance-type")
    is_other = isinstance(instance_type, str) and not instance_type.startswith(NEURON_TYPE_PREFIXES)
    return not is_other or bool(member(node, "status", "allocatable"))


def _node_entries(objects: _Objects) -> Iterator[PulledEntry]:
    """Yield the nodes with Neuron devices, each with its block instead of the labels that nothing else reads."""
    kueue = (map(PackedJson.load, objects.get(resource, {}).values()) for resource in (_TOPOLOGIES, _FLAVORS))
    flavors = list(read_flavors(*kueue))
    names = block_labels(flavors)
    nodes = ((key, content.load()) for key, content in objects[_NODES].items())
    labels = {key: pick(labels_of(node), *names) for key, node in nodes if _has_neuron(node)}
    blocks = find_blocks(labels, flavors)
    for key in labels:
        node = objects[_NODES][key].load()
        metadata = node["metadata"]
        if isinstance(metadata, dict):
            metadata["labels"] = pick(metadata.get("labels") or {}, *NODE_LABELS)
        if blocks:
            node[BLOCK_KEY] = blocks[key]
        yield PulledEntry(name_of(node), _list_of([PackedJson.dump(node)]))


def _slice_entries(objects: _Objects) -> Iterator[PulledEntry]:
    """Yield the slices of each node in one list with all rules, since a rule makes sense only with its devices."""
    by_node = defaultdict[str, list[tuple[str, PackedJson]]](list)
    for key, content in objects[_SLICES].items():
        spec = member(content.load(), "spec")
        driver, node = spec.get("driver"), spec.get("nodeName")
        if isinstance(node, str) and (driver == DRIVER or not isinstance(driver, str)):
            by_node[node].append((key, content))
    rules = objects.get(_RULES, {}).values()
    for node, slices in by_node.items():
        yield PulledEntry(node, _list_of([*(content for _, content in sorted(slices, key=itemgetter(0))), *rules]))


def _jobs(target: Target, objects: _Objects) -> PulledJobs | None:
    """Return the claims and the slices that name their devices; None if claims were refused."""
    claims = objects.get(_CLAIMS)
    if claims is None:
        return None
    contents = (*claims.values(), *objects.get(_SLICES, {}).values()) if claims else ()
    return PulledJobs("kubernetes", system_name(target.place), contents)


def system_name(context: str) -> str:
    """Return the name of the system of a cluster's jobs, which differs between contexts."""
    name = re.sub(r"[^a-z0-9]+", "-", context.lower()).strip("-")
    if name != context or len(name) > _MAX_CONTEXT:
        name = f"{name[: _MAX_CONTEXT - 9]}-{sha256(context.encode()).hexdigest()[:8]}"
    return f"kubernetes-{name}" if context else "kubernetes"


PROVIDER = Provider(
    name="kubernetes",
    title="Kubernetes",
    place="a context of the kubeconfig; by default the current one, or the pod's own cluster",
    extra="kubernetes",
    pull=pull,
    follow=KubernetesFollower,
    calls={
        "list nodes": "type, zone, labels, taints, conditions and allocatable chips",
    },
    optional_calls={
        **{f"list {resource.name}": purpose for resource, purpose in _PURPOSES.items()},
        **{
            f"watch {resource.name}": "its changes between pulls with --every; without it, it is listed each time"
            for resource in (_NODES, *_PURPOSES)
        },
    },
)
