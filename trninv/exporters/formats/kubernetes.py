"""Write Kubernetes Nodes with labels for their location in the fleet.

``kubectl apply --server-side`` adds the labels to existing nodes. The labels are trninv's own, because AWS itself
writes those below topology.k8s.aws.
"""

from collections.abc import Iterator
from typing import Any

from trninv.exporters.export_source import ExportedServer, ExportSource
from trninv.exporters.format import Format
from trninv.exporters.schedulers import LABEL_PREFIX, check_label, topology_labels
from trninv.exporters.yaml_syntax import YAML_DOCUMENTS

_CORDONED = {
    "unschedulable": True,
    "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],  # as Kubernetes sets it
}
"""The spec of a node that takes no new pods."""


def _content(source: ExportSource) -> Iterator[Any]:
    yield from [_node(server) for server in source.servers]  # a list, so that a refusal comes before the first line


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
    if server.maintenance is not None:
        yield "maintenance", server.maintenance


FORMAT = Format(
    name="kubernetes",
    suffix=".yaml",
    description="Kubernetes Nodes with labels for domain and network nodes, for kubectl apply --server-side",
    syntax=YAML_DOCUMENTS,
    content=_content,
)
