"""JSON of the shape that aws ec2 describe-instance-topology prints, for programs that read that, of a planned fleet.

Every id has trninv in it, so that nobody takes it for one of AWS's, but for those of network nodes that AWS gave.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from trninv.catalog.instance_types import type_names
from trninv.catalog.models import systems
from trninv.errors import NotExpressibleError
from trninv.exporters.format import Format, Record
from trninv.exporters.json_lines import listed, text
from trninv.exporters.source import SEEN_NODE, Server, Source


def _write(source: Source) -> Iterator[str]:
    found = [_instance(server) for server in source.servers]
    yield '{"Instances": ['
    yield from listed(map(text, found))
    yield "]}"


def _instance(server: Server) -> dict[str, Any]:
    model = systems().domains.get(server.model.domain)
    types = type_names(model) if model else ()
    if not types:
        raise NotExpressibleError(f"EC2 has no instance type for {server.model.domain}: use topograph or kubernetes")
    if not server.network:
        raise NotExpressibleError(
            f"{server.address} is in no fabric, and EC2's topology is of network nodes: take a cluster of domains"
        )
    shared = server.model.domain_servers > 1
    return {
        "InstanceId": _id("i", server.name),
        "InstanceType": types[0],
        "NetworkNodes": [name if SEEN_NODE.fullmatch(name) else _id("nn", name) for name in server.network],
    } | ({"CapacityBlockId": _id("cb", server.domain)} if shared else {})


def _id(kind: str, name: str) -> str:
    return f"{kind}-trninv-{name}"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for found in json.loads("\n".join(lines))["Instances"]:
        ids = found["InstanceId"], *found["NetworkNodes"], found.get("CapacityBlockId")
        yield tuple(each and each.split("-trninv-", 1)[-1] for each in ids)


def _records(source: Source) -> Iterator[Record]:
    for server in source.servers:
        yield server.name, *server.network, server.domain if server.model.domain_servers > 1 else None


FORMAT = Format(
    name="aws",
    suffix=".json",
    says="what aws ec2 describe-instance-topology prints, with ids of our own",
    write=_write,
    read=_read,
    records=_records,
    comment="",
)
