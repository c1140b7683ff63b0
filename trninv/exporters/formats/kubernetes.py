"""Kubernetes Nodes with labels for where they stand, for kubectl apply --server-side on nodes that exist.

The labels are trninv's own: those below topology.k8s.aws belong to AWS, which writes them itself.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from trninv.exporters import yaml_text
from trninv.exporters.format import Format, Record
from trninv.exporters.kubernetes import PREFIX, label, levels
from trninv.exporters.source import Server, Source


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
            "annotations": {f"{PREFIX}/address": server.address, f"{PREFIX}/state": server.state},
        },
    }
    return node if server.usable else node | {"spec": {"unschedulable": True}}


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for found in yaml_text.documents(lines):
        of = found["metadata"]
        address, state = (of["annotations"][f"{PREFIX}/{key}"] for key in ("address", "state"))
        places = tuple(value for key, value in of["labels"].items() if key.endswith("/domain") or "-layer-" in key)
        yield of["name"], address, state, places, not found.get("spec", {}).get("unschedulable", False)


def _records(source: Source) -> Iterator[Record]:
    for server in source.servers:
        yield server.name, server.address, server.state, (*server.network, server.domain), server.usable


FORMAT = Format(
    name="kubernetes",
    suffix=".yaml",
    says="Kubernetes Nodes with labels for domain and network nodes, for kubectl apply --server-side",
    write=_write,
    read=_read,
    records=_records,
)
