"""A stand-in for the API of Kubernetes: lists in pages and watches, with faults and 410; it refuses every write."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

KIND_BY_RESOURCE = {
    "nodes": "Node",
    "resourceslices": "ResourceSlice",
    "resourceclaims": "ResourceClaim",
    "devicetaintrules": "DeviceTaintRule",
    "neuronultraservers": "NeuronUltraServer",
    "topologies": "Topology",
    "resourceflavors": "ResourceFlavor",
}


@dataclass
class Cluster:
    """Objects by resource; ``fault`` may answer a call with a status, or with text instead of a list.

    ``change`` and ``remove`` are what watches report; other changes of the objects are seen by lists only.
    ``compact`` makes earlier versions unknown (410), and ``break_off`` ends all watches at once.
    """

    objects: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in KIND_BY_RESOURCE})
    page: int = 500
    calls: list[tuple[str, str]] = field(default_factory=list)
    fault: Callable[[str, int], int | str | None] = lambda _resource, _number: None
    watch_fault: Callable[[str, int], int | str | None] = lambda _resource, _number: None
    url: str = ""
    version: int = 1000
    events: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    oldest: int = 0
    breaks: int = 0
    watching: int = 0
    watch_seconds: float = 60
    changed: threading.Condition = field(default_factory=threading.Condition)

    def lists(self, resource: str) -> int:
        """How often the objects of a resource were listed from the start."""
        return sum(1 for method, path in self.calls if method == "GET" and path.endswith(f"/{resource}"))

    def change(self, resource: str, entry: dict[str, Any]) -> None:
        """Create or replace an object."""
        name = entry["metadata"]["name"]
        with self.changed:
            others = [other for other in self.objects[resource] if other["metadata"]["name"] != name]
            kind = "ADDED" if len(others) == len(self.objects[resource]) else "MODIFIED"
            self.objects[resource] = [*others, entry]
            self._record(resource, kind, entry)

    def remove(self, resource: str, name: str) -> None:
        with self.changed:
            (entry,) = (other for other in self.objects[resource] if other["metadata"]["name"] == name)
            self.objects[resource] = [other for other in self.objects[resource] if other is not entry]
            self._record(resource, "DELETED", entry)

    def bookmark(self, resource: str) -> None:
        with self.changed:
            self._record(resource, "BOOKMARK", {"metadata": {}})

    def _record(self, resource: str, kind: str, entry: dict[str, Any]) -> None:
        self.version += 1
        entry = {**entry, "metadata": {**entry["metadata"], "resourceVersion": str(self.version)}}
        self.events.append((self.version, resource, {"type": kind, "object": entry}))
        self.changed.notify_all()

    def compact(self) -> None:
        with self.changed:
            self.oldest = self.version = self.version + 1

    def break_off(self) -> None:
        with self.changed:
            self.breaks += 1
            self.changed.notify_all()

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, str]:
        resource = path.rpartition("/")[2]
        fault = self.fault(resource, len(self.calls))
        if isinstance(fault, str):
            return 200, fault
        if fault or resource not in self.objects:
            return fault or 404, _status(fault or 404)
        with self.changed:
            first = int(query.get("continue", 0))
            size = min(int(query.get("limit", self.page)), self.page)
            items = self.objects[resource]
            metadata = {"continue": str(first + size)} if first + size < len(items) else {}
            metadata["resourceVersion"] = str(self.version)
        kind = f"{KIND_BY_RESOURCE[resource]}List"
        return 200, _compact({"kind": kind, "metadata": metadata, "items": items[first : first + size]})

    def watch(self, resource: str, version: int) -> Iterator[str]:
        """Events after a version, until the watch is broken off or its time is over."""
        end, breaks = time.monotonic() + self.watch_seconds, self.breaks
        while True:
            with self.changed:
                if version < self.oldest:
                    yield _compact({"type": "ERROR", "object": json.loads(_status(410))})
                    return
                events = [event for event in self.events if event[0] > version and event[1] == resource]
                if not events:
                    if self.breaks != breaks or time.monotonic() > end:
                        return
                    self.changed.wait(0.05)
            for number, _, event in events:
                yield _compact(event)
                version = number


def _compact(value: Any) -> str:
    """JSON as the API server sends it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _status(code: int) -> str:
    return json.dumps({"kind": "Status", "status": "Failure", "code": code, "message": "by the stand-in"})


def _send_lines(file: BufferedIOBase, lines: Iterable[str]) -> None:
    """Send lines, each in several chunks."""
    for text in lines:
        half = len(text) // 2
        for chunk in filter(None, (text[:half], f"{text[half:]}\n")):
            file.write(f"{len(chunk.encode()):x}\r\n{chunk}\r\n".encode())
            file.flush()
    file.write(b"0\r\n\r\n")


@contextmanager
def serving(cluster: Cluster) -> Iterator[Cluster]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # the body would wait 40 ms for the acknowledgement of the headers

        def _respond(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if self.command == "GET" and query.get("watch"):
                cluster.calls.append(("WATCH", parts.path))
                self._watch(parts.path.rpartition("/")[2], query)
                return
            cluster.calls.append((self.command, parts.path))
            self._send(*cluster.answer(parts.path, query) if self.command == "GET" else (405, "{}"))

        def _send(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def _watch(self, resource: str, query: dict[str, str]) -> None:
            fault = cluster.watch_fault(resource, len(cluster.calls))
            if isinstance(fault, int) or resource not in cluster.objects:
                status = fault if isinstance(fault, int) else 404
                self._send(status, _status(status))
                return
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            cluster.watching += 1
            try:
                _send_lines(self.wfile, [fault] if fault else cluster.watch(resource, int(query["resourceVersion"])))
            except OSError:
                self.close_connection = True
            finally:
                cluster.watching -= 1

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _respond  # noqa: N815 # as the library calls them

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # clients break off

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    cluster.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield cluster
    finally:
        cluster.break_off()
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


def use(monkeypatch: pytest.MonkeyPatch, directory: Path, cluster: Cluster) -> None:
    """Have the official client send everything to the stand-in."""
    write_kubeconfig(directory / "config", cluster)
    monkeypatch.setenv("KUBECONFIG", str(directory / "config"))
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(directory / "config"))


def topology(name: str, *levels: str) -> dict[str, Any]:
    """Kueue's Topology, down to the host."""
    labels = [{"nodeLabel": label} for label in (*levels, "kubernetes.io/hostname")]
    return {"metadata": {"name": name}, "spec": {"levels": labels}}


def flavor(name: str, topology: str, **labels: str) -> dict[str, Any]:
    """Kueue's ResourceFlavor of the nodes with labels."""
    return {"metadata": {"name": name}, "spec": {"nodeLabels": labels, "topologyName": topology}}


def device(chip: int) -> dict[str, Any]:
    """A chip, with the attributes that Neuron's driver sets."""
    attributes = {
        "deviceId": {"int": chip},
        "instanceType": {"string": "trn2u.48xlarge"},
        "neuronDriverVersion": {"version": "2.21.0"},
        "resourceType": {"string": "neuron_device"},
        "resource.aws.com/devicegroup1_id": {"string": f"0000:{chip + 0x10:02x}:00.0"},
        **{f"resource.aws.com/devicegroup{size}_id": {"string": f"{size:016x}"} for size in (4, 8, 16)},
    }
    return {"name": f"neuron-device-{chip}", "attributes": attributes}


def resource_slice(number: int, devices: list[dict[str, Any]]) -> dict[str, Any]:
    """The ResourceSlice of a node."""
    name = node(number)["metadata"]["name"]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "neuron.aws.com", "nodeName": name, "pool": pool, "devices": devices}
    return {"metadata": {"name": f"{name}-neuron", "resourceVersion": "1"}, "spec": spec}


def claim(name: str, number: int, *chips: int) -> dict[str, Any]:
    """A ResourceClaim with chips of a node."""
    pool = node(number)["metadata"]["name"]
    results = [{"driver": "neuron.aws.com", "pool": pool, "device": f"neuron-device-{chip}"} for chip in chips]
    return {
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": "1"},
        "status": {"allocation": {"devices": {"results": results}}, "reservedFor": [{"name": "pod-0"}]},
    }


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
