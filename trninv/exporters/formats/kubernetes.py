"""Write Kubernetes Nodes with labels for their location, for kubectl apply --server-side on existing nodes.

The labels are trninv's own: AWS itself writes the labels below topology.k8s.aws.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from trninv.exporters import serialization
from trninv.exporters.export_source import ExportedServer, ExportSource
from trninv.exporters.format import Format, Record
from trninv.exporters.schedulers import LABEL_PREFIX, check_label, topology_labels

_CORDONED = {
    "unschedulable": True,
    "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],  # as Kubernetes sets it
}


def _write(source: ExportSource) -> Iterator[str]:
    for server in source.servers:
        node = _node(server)
        yield "---"
        yield from serialization.yaml_document(node)


def _node(server: ExportedServer) -> dict[str, Any]:
    labels = {
        f"{LABEL_PREFIX}/cluster": check_label(server.location.cluster),
        f"{LABEL_PREFIX}/model": check_label(server.model.domain),
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": server.name,
            "labels": labels | topology_labels(server) | {f"{LABEL_PREFIX}/server": str(server.location.server)},
            "annotations": {f"{LABEL_PREFIX}/{key}": value for key, value in _annotations(server)},
        },
    }
    return node if server.takes_jobs else node | {"spec": _CORDONED}


def _annotations(server: ExportedServer) -> Iterator[tuple[str, str]]:
    yield "address", server.address
    yield "state", server.state
    if server.cordon_reason is not None:
        yield "cordoned", server.cordon_reason


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for document in serialization.read_yaml_documents(lines):
        metadata = document["metadata"]
        address, state, cordon_reason = (
            metadata["annotations"].get(f"{LABEL_PREFIX}/{key}") for key in ("address", "state", "cordoned")
        )
        places = tuple(
            value for key, value in metadata["labels"].items() if key.endswith("/domain") or "-layer-" in key
        )
        yield metadata["name"], address, state, cordon_reason, places, document.get("spec")


def _records(source: ExportSource) -> Iterator[Record]:
    for server in source.servers:
        places = (*server.network, server.domain)
        spec = None if server.takes_jobs else _CORDONED
        yield server.name, server.address, server.state, server.cordon_reason, places, spec


FORMAT = Format(
    name="kubernetes",
    suffix=".yaml",
    description="Kubernetes Nodes with labels for domain and network nodes, for kubectl apply --server-side",
    write=_write,
    read=_read,
    expected_records=_records,
)
