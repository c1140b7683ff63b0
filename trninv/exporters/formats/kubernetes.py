"""Kubernetes Nodes with labels for where they stand, for kubectl apply --server-side on nodes that exist.

The labels are trninv's own: those below topology.k8s.aws belong to AWS, which writes them itself.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from trninv.exporters import yaml_text
from trninv.exporters.format import Format, Record
from trninv.exporters.kubernetes import PREFIX, label, levels
from trninv.exporters.source import Server, Source

_CORDONED = {
    "unschedulable": True,
    "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],  # as Kubernetes itself sets it
}


def _write(source: Source) -> Iterator[str]:
    for server in source.servers:
        node = _node(server)
        yield "---"
        yield from yaml_text.document(node)


def _node(server: Server) -> dict[str, Any]:
    labels = {f"{PREFIX}/cluster": label(server.at.cluster), f"{PREFIX}/model": label(server.model.domain)}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": server.name,
            "labels": labels | levels(server) | {f"{PREFIX}/server": str(server.at.server)},
            "annotations": {f"{PREFIX}/{key}": value for key, value in _notes(server)},
        },
    }
    return node if server.takes_jobs else node | {"spec": _CORDONED}


def _notes(server: Server) -> Iterator[tuple[str, str]]:
    yield "address", server.address
    yield "state", server.state
    if server.closed is not None:
        yield "closed", server.closed


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for found in yaml_text.documents(lines):
        of = found["metadata"]
        address, state, closed = (of["annotations"].get(f"{PREFIX}/{key}") for key in ("address", "state", "closed"))
        places = tuple(value for key, value in of["labels"].items() if key.endswith("/domain") or "-layer-" in key)
        yield of["name"], address, state, closed, places, found.get("spec")


def _records(source: Source) -> Iterator[Record]:
    for server in source.servers:
        places = (*server.network, server.domain)
        spec = None if server.takes_jobs else _CORDONED
        yield server.name, server.address, server.state, server.closed, places, spec


FORMAT = Format(
    name="kubernetes",
    suffix=".yaml",
    says="Kubernetes Nodes with labels for domain and network nodes, for kubectl apply --server-side",
    write=_write,
    read=_read,
    records=_records,
)
