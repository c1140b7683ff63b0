"""Reduce objects of Kubernetes to what is read, since what changes all the time would be stored again each time."""

from typing import Any

from trninv.importers.kubernetes_slices import SLICE_ATTRIBUTES

Object = dict[str, Any]


def reduce_node(node: Object) -> Object:
    """Return a node without times, annotations and most of its status, but with all labels, which name its block."""
    status, spec = pick(node.get("status"), "allocatable", "conditions"), node.get("spec")
    spec = pick(spec, "providerID", "unschedulable", "taints")
    if isinstance(status, dict):
        status["conditions"] = _pick_each(status.get("conditions"), "type", "status", "reason")
        status["allocatable"] = pick(status.get("allocatable"), "aws.amazon.com/")
    if isinstance(spec, dict):
        spec["taints"] = _pick_each(spec.get("taints"), "key", "value", "effect")
    metadata = pick(node.get("metadata"), "name", "labels")
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def reduce_slice(resource_slice: Object) -> Object:
    """Return a ResourceSlice with the attributes of its devices that are read."""
    kept, spec = reduce_metadata(resource_slice), pick(resource_slice.get("spec"), "driver", "nodeName", "pool")
    if isinstance(spec, dict):
        devices = resource_slice["spec"].get("devices")
        spec["devices"] = list(map(_reduce_device, devices)) if isinstance(devices, list) else devices
    return kept | {"spec": spec}


def _reduce_device(device: Any) -> Any:
    kept = pick(device, "name", "attributes", "taints", "basic")
    if isinstance(kept, dict):
        if "attributes" in kept:
            kept["attributes"] = pick(kept["attributes"], *SLICE_ATTRIBUTES)
        if "basic" in kept:
            kept["basic"] = _reduce_device(kept["basic"])
    return kept


def reduce_claim(claim: Object) -> Object:
    """Return a ResourceClaim with what is allocated to it."""
    status = pick(claim.get("status"), "allocation", "reservedFor")
    return _with_metadata(claim, "name", "namespace", "uid", "creationTimestamp") | {"status": status}


def reduce_metadata(entry: Object) -> Object:
    """Return an object with its name as its only metadata."""
    return {**_with_metadata(entry, "name"), "spec": entry.get("spec")}


def _with_metadata(entry: Object, *names: str) -> Object:
    return {"kind": entry.get("kind"), "metadata": pick(entry.get("metadata"), *names)}


def pick(value: Any, *prefixes: str) -> Any:
    """Return the members of an object that begin with a prefix; another value stays, as the reader names its type."""
    return {name: value[name] for name in value if name.startswith(prefixes)} if isinstance(value, dict) else value


def _pick_each(value: Any, *prefixes: str) -> Any:
    return [pick(item, *prefixes) for item in value] if isinstance(value, list) else value


def labels_of(node: Object) -> Object:
    """Return the labels of a node; none if they are no object."""
    return member(node, "metadata", "labels")


def member(entry: Any, *names: str) -> Object:
    """Return a member of a member that is an object; empty if there is none."""
    for name in names:
        entry = entry.get(name) if isinstance(entry, dict) else None
    return entry if isinstance(entry, dict) else {}


def name_of(entry: Object) -> str:
    """Return the name of an object; empty if it has none."""
    return str(member(entry, "metadata").get("name", ""))
