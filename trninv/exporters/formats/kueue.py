"""Write Kueue's Topology and ResourceFlavors, based on the Node labels of the format kubernetes.

Kueue is a job queue for Kubernetes. The Topology lists the labels from the top of the network down to the host, and
each server model has a ResourceFlavor.
"""

from collections.abc import Iterator
from typing import Any

from trninv.errors import NotExpressibleError
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format
from trninv.exporters.schedulers import HOSTNAME_LABEL, LABEL_PREFIX, check_label, check_object_name, topology_labels
from trninv.exporters.yaml_syntax import YAML_DOCUMENTS

_VERSION = "kueue.x-k8s.io/v1beta2"
_TAINT = "aws.amazon.com/neuron"
"""The taint that reserves nodes for jobs with chips."""


def _content(source: ExportSource) -> Iterator[Any]:
    topology = check_object_name(source.cluster)
    keys = [{"nodeLabel": key} for key in (*_levels(source), HOSTNAME_LABEL)]
    flavors = {f"{topology}-{check_object_name(model)}": _flavor(source.cluster, model) for model in _models(source)}
    yield _object("Topology", topology, {"levels": keys})
    for name, flavor in flavors.items():
        yield _object("ResourceFlavor", name, flavor)


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
    """Return the slugs of the servers' domain models."""
    return sorted({server.model.domain for server in source.servers})


FORMAT = Format(
    name="kueue",
    suffix=".yaml",
    description="Kueue's Topology and ResourceFlavors, based on the labels that format kubernetes writes",
    syntax=YAML_DOCUMENTS,
    content=_content,
)
