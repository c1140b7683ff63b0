"""A stand-in for the API of Kubernetes: lists in pages, with faults and expired pages; it refuses every write."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

KIND_BY_RESOURCE = {
    "nodes": "Node",
    "resourceslices": "ResourceSlice",
    "devicetaintrules": "DeviceTaintRule",
    "neuronultraservers": "NeuronUltraServer",
}


@dataclass
class Cluster:
    """Objects by resource; ``fault`` may answer a call with a status, or with text instead of a list."""

    objects: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in KIND_BY_RESOURCE})
    page: int = 500
    calls: list[tuple[str, str]] = field(default_factory=list)
    fault: Callable[[str, int], int | str | None] = lambda _resource, _number: None
    url: str = ""

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, str]:
        resource = path.rpartition("/")[2]
        fault = self.fault(resource, len(self.calls))
        if isinstance(fault, str):
            return 200, fault
        if fault or resource not in self.objects:
            return fault or 404, json.dumps({"kind": "Status", "status": "Failure", "code": fault or 404})
        first = int(query.get("continue", 0))
        size = min(int(query.get("limit", self.page)), self.page)
        items = self.objects[resource]
        metadata = {"continue": str(first + size)} if first + size < len(items) else {}
        kind = f"{KIND_BY_RESOURCE[resource]}List"
        return 200, json.dumps({"kind": kind, "metadata": metadata, "items": items[first : first + size]})


@contextmanager
def serving(cluster: Cluster) -> Iterator[Cluster]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _respond(self) -> None:
            parts = urlsplit(self.path)
            cluster.calls.append((self.command, parts.path))
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, text = cluster.answer(parts.path, query) if self.command == "GET" else (405, "{}")
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _respond  # noqa: N815 # as the library calls them

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    cluster.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield cluster
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_kubeconfig(path: Path, cluster: Cluster) -> None:
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "lab",
                "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "reader"}}],
                "clusters": [{"name": "lab", "cluster": {"server": cluster.url}}],
                "users": [{"name": "reader", "user": {"token": "t"}}],
            }
        )
    )


def node(number: int, block: str = "", *, chips: int = 16, is_ready: bool = True) -> dict[str, Any]:
    """A node, as kubectl prints it, with what changes all the time."""
    instance = f"i-{number:017x}"
    labels = {"node.kubernetes.io/instance-type": "trn2u.48xlarge", "topology.k8s.aws/zone-id": "use2-az1", "team": "x"}
    return {
        "metadata": {
            "name": f"ip-{number:017x}.us-east-2.compute.internal",
            "labels": labels | ({"trninv.dev/domain": block} if block else {}),
            "resourceVersion": str(number),
        },
        "spec": {"providerID": f"aws:///us-east-2a/{instance}"},
        "status": {
            "allocatable": {"aws.amazon.com/neuron": str(chips), "memory": "1"},
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True" if is_ready else "False",
                    "reason": "KubeletReady" if is_ready else "KubeletNotReady",
                    "lastHeartbeatTime": "2026-11-28T00:00:00Z",
                }
            ],
        },
    }
