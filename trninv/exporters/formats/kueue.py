"""Write Kueue's Topology and ResourceFlavors, based on the Node labels of the format kubernetes."""

from collections.abc import Iterable, Iterator
from typing import Any

from trninv.errors import NotExpressibleError
from trninv.exporters import serialization
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record
from trninv.exporters.schedulers import HOSTNAME_LABEL, LABEL_PREFIX, check_label, check_object_name, topology_labels

_VERSION = "kueue.x-k8s.io/v1beta2"
_TAINT = "aws.amazon.com/neuron"


def _write(source: ExportSource) -> Iterator[str]:
    topology = check_object_name(source.cluster)
    keys = [{"nodeLabel": key} for key in (*_levels(source), HOSTNAME_LABEL)]
    flavors = {f"{topology}-{check_object_name(model)}": _flavor(source.cluster, model) for model in _models(source)}
    yield "---"
    yield from serialization.yaml_document(_object("Topology", topology, {"levels": keys}))
    for name, flavor in flavors.items():
        yield "---"
        yield from serialization.yaml_document(_object("ResourceFlavor", name, flavor))


def _flavor(cluster: str, model: str) -> dict[str, Any]:
    return {
        "nodeLabels": {f"{LABEL_PREFIX}/cluster": check_label(cluster), f"{LABEL_PREFIX}/model": check_label(model)},
        "tolerations": [{"key": _TAINT, "operator": "Exists", "effect": "NoSchedule"}],
        "topologyName": cluster,
    }


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _levels(source: ExportSource) -> tuple[str, ...]:
    """Return the labels of the levels above a server, which must be the same for all servers."""
    label_sets = {tuple(topology_labels(server)) for server in source.servers}
    if len(label_sets) > 1:
        raise NotExpressibleError(
            f"servers of {source.place.address} are below different numbers of network nodes, and Kueue needs each "
            "level on every node; export the parts separately"
        )
    return label_sets.pop()


def _models(source: ExportSource) -> list[str]:
    return sorted({server.model.domain for server in source.servers})


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for document in serialization.read_yaml_documents(lines):
        match document:
            case {"kind": "Topology", "spec": {"levels": keys}}:
                yield document["metadata"]["name"], *(level["nodeLabel"] for level in keys)
            case {"kind": "ResourceFlavor", "spec": {"nodeLabels": labels, "topologyName": topology}}:
                yield topology, labels[f"{LABEL_PREFIX}/cluster"], labels[f"{LABEL_PREFIX}/model"]


def _records(source: ExportSource) -> Iterator[Record]:
    yield source.cluster, *_levels(source), HOSTNAME_LABEL
    for model in _models(source):
        yield source.cluster, source.cluster, model


FORMAT = Format(
    name="kueue",
    suffix=".yaml",
    description="Kueue's Topology and ResourceFlavors, based on the labels of the format kubernetes",
    write=_write,
    read=_read,
    expected_records=_records,
)
