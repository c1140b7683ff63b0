"""Kueue's Topology and ResourceFlavors over the labels that the format kubernetes gives to Nodes."""

from collections.abc import Iterable, Iterator
from typing import Any

from trninv.errors import NotExpressibleError
from trninv.exporters import yaml_text
from trninv.exporters.format import Format, Record
from trninv.exporters.kubernetes import HOSTNAME, PREFIX, label, levels, object_name
from trninv.exporters.source import Source

_VERSION = "kueue.x-k8s.io/v1beta2"
_TAINT = "aws.amazon.com/neuron"


def _write(source: Source) -> Iterator[str]:
    topology = object_name(source.cluster)
    keys = [{"nodeLabel": key} for key in (*_levels(source), HOSTNAME)]
    flavors = {f"{topology}-{object_name(model)}": _flavor(source.cluster, model) for model in _models(source)}
    yield "---"
    yield from yaml_text.document(_object("Topology", topology, {"levels": keys}))
    for name, flavor in flavors.items():
        yield "---"
        yield from yaml_text.document(_object("ResourceFlavor", name, flavor))


def _flavor(cluster: str, model: str) -> dict[str, Any]:
    return {
        "nodeLabels": {f"{PREFIX}/cluster": label(cluster), f"{PREFIX}/model": label(model)},
        "tolerations": [{"key": _TAINT, "operator": "Exists", "effect": "NoSchedule"}],
        "topologyName": cluster,
    }


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _levels(source: Source) -> tuple[str, ...]:
    """Labels that every server has."""
    found = {tuple(levels(server)) for server in source.servers}
    if len(found) > 1:
        raise NotExpressibleError(
            f"servers of {source.place.address} hang below different numbers of network nodes, and Kueue wants each "
            "level on every node: export each part of its own"
        )
    return found.pop()


def _models(source: Source) -> list[str]:
    return sorted({server.model.domain for server in source.servers})


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for found in yaml_text.documents(lines):
        match found:
            case {"kind": "Topology", "spec": {"levels": keys}}:
                yield found["metadata"]["name"], *(level["nodeLabel"] for level in keys)
            case {"kind": "ResourceFlavor", "spec": {"nodeLabels": labels, "topologyName": topology}}:
                yield topology, labels[f"{PREFIX}/cluster"], labels[f"{PREFIX}/model"]


def _records(source: Source) -> Iterator[Record]:
    yield source.cluster, *_levels(source), HOSTNAME
    for model in _models(source):
        yield source.cluster, source.cluster, model


FORMAT = Format(
    name="kueue",
    suffix=".yaml",
    says="Kueue's Topology and ResourceFlavors, over the labels of the format kubernetes",
    write=_write,
    read=_read,
    records=_records,
)
