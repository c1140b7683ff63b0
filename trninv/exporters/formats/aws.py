"""Write a planned fleet in the JSON of aws ec2 describe-instance-topology, for programs that read it.

Every id contains trninv, so that it is not mistaken for an id of AWS; only network nodes that have AWS's ids keep them.
"""

from collections.abc import Iterator
from typing import Any

from trninv.catalog.instance_types import type_names
from trninv.catalog.models import default_systems
from trninv.errors import NotExpressibleError
from trninv.exporters.export_source import VENDOR_NODE_ID, ExportedServer, ExportSource
from trninv.exporters.format import Format
from trninv.exporters.serialization import JSON, JsonDocument


def _content(source: ExportSource) -> Iterator[Any]:
    instances = [_instance(server) for server in source.servers]
    yield JsonDocument({"Instances": []}, [instances])


def _instance(server: ExportedServer) -> dict[str, Any]:
    """Return a server as EC2's API describes an instance."""
    model = default_systems().domains.get(server.model.domain)
    types = type_names(model) if model else ()
    if not types:
        raise NotExpressibleError(f"EC2 has no instance type for {server.model.domain}; use topograph or kubernetes")
    if not server.network:
        raise NotExpressibleError(
            f"{server.address} has no fabric, and EC2's topology lists network nodes; name a cluster of several domains"
        )
    has_block = server.model.domain_servers > 1  # shows which servers are one UltraServer
    return {
        "InstanceId": _id("i", server.name),
        "InstanceType": types[0],
        "NetworkNodes": [name if VENDOR_NODE_ID.fullmatch(name) else _id("nn", name) for name in server.network],
    } | ({"CapacityBlockId": _id("cb", server.domain)} if has_block else {})


def _id(kind: str, name: str) -> str:
    return f"{kind}-trninv-{name}"


FORMAT = Format(
    name="aws",
    suffix=".json",
    description="what aws ec2 describe-instance-topology would print, with ids that trninv makes up",
    syntax=JSON,
    content=_content,
)
