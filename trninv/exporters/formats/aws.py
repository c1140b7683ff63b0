"""Write a planned fleet in the JSON of aws ec2 describe-instance-topology, for programs that read that.

Every id contains trninv, so that it is not mistaken for one of AWS's, except for network nodes with AWS's own ids.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from trninv.catalog.instance_types import type_names
from trninv.catalog.models import default_systems
from trninv.errors import NotExpressibleError
from trninv.exporters.export_source import VENDOR_NODE_ID, ExportedServer, ExportSource
from trninv.exporters.format import Format, Record
from trninv.exporters.serialization import json_list, json_text


def _write(source: ExportSource) -> Iterator[str]:
    instances = [_instance(server) for server in source.servers]
    yield '{"Instances": ['
    yield from json_list(map(json_text, instances))
    yield "]}"


def _instance(server: ExportedServer) -> dict[str, Any]:
    model = default_systems().domains.get(server.model.domain)
    types = type_names(model) if model else ()
    if not types:
        raise NotExpressibleError(f"EC2 has no instance type for {server.model.domain}; use topograph or kubernetes")
    if not server.network:
        raise NotExpressibleError(
            f"{server.address} has no fabric, and EC2's topology lists network nodes; name a cluster of several domains"
        )
    shared = server.model.domain_servers > 1
    return {
        "InstanceId": _id("i", server.name),
        "InstanceType": types[0],
        "NetworkNodes": [name if VENDOR_NODE_ID.fullmatch(name) else _id("nn", name) for name in server.network],
    } | ({"CapacityBlockId": _id("cb", server.domain)} if shared else {})


def _id(kind: str, name: str) -> str:
    return f"{kind}-trninv-{name}"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for instance in json.loads("\n".join(lines))["Instances"]:
        ids = instance["InstanceId"], *instance["NetworkNodes"], instance.get("CapacityBlockId")
        yield tuple(identity and identity.split("-trninv-", 1)[-1] for identity in ids)


def _records(source: ExportSource) -> Iterator[Record]:
    for server in source.servers:
        yield server.name, *server.network, server.domain if server.model.domain_servers > 1 else None


FORMAT = Format(
    name="aws",
    suffix=".json",
    description="the output of aws ec2 describe-instance-topology, with ids made by trninv",
    write=_write,
    read=_read,
    expected_records=_records,
    comment_template="",
)
