"""Measure pulls of a fleet by ``trninv discover``, from stand-ins of AWS and Kubernetes in processes of their own."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import clouds
import kubernetes_api

import postgres
from bench.live import bind_machines, run_commands
from bench.measure import RAINIER, Row
from trninv.database import migration
from trninv.database.engine import temporary_engine

_MARK_SECONDS, _MARK_MEGABYTES = 60.0, 300.0
"""At Project Rainier."""
_CHIPS = 16


def discovery_rows(directory: Path, domains: int) -> Iterator[Row]:
    with (
        tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as place,
        postgres.server(Path(place)) as pg,
        _stand_in(_serve_cloud, domains) as cloud,
        _stand_in(_serve_cluster, domains) as cluster,
    ):
        environment = _environment(directory, cloud, cluster)
        for name, url in (("SQLite", f"sqlite:///{directory}/fleet.db"), ("PostgreSQL", pg.format("postgres"))):
            with temporary_engine(url) as engine:
                migration.migrate(engine)
            bind_machines(url, domains)
            for target, text in (("aws", "instances"), ("kubernetes", "nodes with their chips")):
                words = ["discover", target]
                seconds, peaks = run_commands(url, words, environment=environment)
                repeated, more_peaks = run_commands(url, words, environment=environment)
                row_name = f"pull of {4 * domains:,} {text}, {target}, {name}"
                yield Row(row_name, seconds, _MARK_SECONDS, "the mark", 1.0 if domains >= RAINIER else None)
                yield Row(f"repeated {row_name}", repeated, seconds, "the first pull")
                peak = max(*peaks, *more_peaks)
                yield Row(f"memory of the {row_name}", peak, _MARK_MEGABYTES, "the mark", 1.0, "MB")


def _environment(directory: Path, cloud: str, cluster: str) -> Mapping[str, str]:
    """Return the environment in which boto3 and Kubernetes' client call the stand-ins."""
    kubernetes_api.write_kubeconfig(directory / "kubeconfig", kubernetes_api.Cluster(url=cluster))
    keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "stand-in")
    return {
        **os.environ,
        **keys,
        "AWS_ENDPOINT_URL": cloud,
        "AWS_DEFAULT_REGION": "us-east-2",
        "AWS_EC2_METADATA_DISABLED": "true",
        "KUBECONFIG": str(directory / "kubeconfig"),
    }


@contextmanager
def _stand_in(serve: Callable[[int, Connection], None], domains: int) -> Iterator[str]:
    """Run a stand-in, and yield its URL."""
    context = get_context("spawn")
    url, sender = context.Pipe(duplex=False)
    process = context.Process(target=serve, args=(domains, sender), daemon=True)
    process.start()
    try:
        yield url.recv()
    finally:
        process.terminate()
        process.join()


def _serve_cloud(domains: int, sender: Connection) -> None:
    cloud = _UnchangedCloud(machines={machine.instance: _Machine(**vars(machine)) for machine in _instances(domains)})
    with clouds.serving(cloud):
        sender.send(cloud.url)
        signal.pause()


def _serve_cluster(domains: int, sender: Connection) -> None:
    with kubernetes_api.serving(kubernetes_api.Cluster()) as cluster:
        numbers = range(4 * domains)
        cluster.objects["nodes"] = [_node(number) for number in numbers]
        devices = [kubernetes_api.device(chip) for chip in range(_CHIPS)]
        for device in devices:  # others than documented would be 16 findings per node
            del device["attributes"]["resource.aws.com/devicegroup1_id"]
        cluster.objects["resourceslices"] = [kubernetes_api.resource_slice(number, devices) for number in numbers]
        for node, entry in zip(cluster.objects["nodes"], cluster.objects["resourceslices"], strict=True):
            entry["spec"]["nodeName"] = node["metadata"]["name"]
        sender.send(cluster.url)
        signal.pause()


def _instances(domains: int) -> Iterator[clouds.Machine]:
    yield from clouds.fleet(domains).machines.values()


class _Machine(clouds.Machine):
    """A machine with the host name to which its slot is bound."""

    @property
    def host(self) -> str:
        return _host(int(self.instance.removeprefix("i-"), 16))


def _host(number: int) -> str:
    return f"ip-10-{number >> 16}-{number >> 8 & 255}-{number & 255}.us-west-2.compute.internal"


def _node(number: int) -> dict[str, Any]:
    """Return a node with annotations and labels of the size that nodes of EKS have."""
    node = kubernetes_api.node(number, f"lab-d{number // 4}")
    node["metadata"]["name"] = _host(number)
    node["metadata"]["annotations"] = {f"example.com/annotation-{number}": "x" * 100 for number in range(20)}
    node["metadata"]["labels"] |= {f"example.com/label-{number}": "x" * 30 for number in range(20)}
    node["status"]["images"] = [{"names": [f"example.com/image-{number}@sha256:{'0' * 64}"]} for number in range(50)]
    return node


@dataclass
class _UnchangedCloud(clouds.Cloud):
    """A region whose lists are made once."""

    lists: dict[str, list[str]] = field(default_factory=dict)

    def items(self, action: str, arguments: Mapping[str, Any]) -> list[str]:
        if action not in self.lists:
            self.lists[action] = super().items(action, arguments)
        return self.lists[action]
