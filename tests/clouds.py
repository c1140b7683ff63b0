"""A stand-in for AWS: the calls that discovery may send, answered from a fleet, in pages and with faults.

It refuses every other action, so that no test passes whose discovery would write. DescribeInstances may come from moto.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs
from urllib.request import Request, urlopen
from xml.sax.saxutils import escape

import pytest

ACCOUNT = "123456789012"
_NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"


@dataclass
class Machine:
    """An instance as EC2 and HyperPod know it."""

    instance: str
    type: str = "trn2u.48xlarge"
    state: str = "running"
    block: str = ""
    reservation: str = ""
    nodes: tuple[str, ...] = ("nn-1", "nn-2", "nn-3")
    ultraserver: str = ""

    @property
    def host(self) -> str:
        return f"ip-{self.instance.removeprefix('i-')}.us-east-2.compute.internal"


@dataclass
class Cloud:
    """A region of an account; ``fault`` may answer a call instead, with a status and an error code."""

    machines: dict[str, Machine] = field(default_factory=dict)
    account: str = ACCOUNT
    page: int = 50
    blocks: dict[str, str] = field(default_factory=dict)
    reservations: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    fault: Callable[[str, int], tuple[int, str] | None] = lambda _action, _number: None
    answer: Callable[[str], str | None] = lambda _action: None
    moto: str = ""
    url: str = ""

    def add(self, *machines: Machine) -> None:
        self.machines |= {machine.instance: machine for machine in machines}

    def respond(
        self, action: str, arguments: Mapping[str, Any], body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str]:
        self.calls.append(action)
        if failure := self.fault(action, len(self.calls)):
            return failure[0], _error(action, failure[1])
        if (text := self._whole_answer(action, body, headers)) is not None:
            return 200, text
        if action not in _LISTS:
            return 403, _error(action, "UnauthorizedOperation")
        items = self.items(action, arguments)
        first = int(arguments.get("NextToken", 0) or 0)
        size = min(int(arguments.get("MaxResults", self.page)), self.page)
        token = str(first + size) if first + size < len(items) else ""
        return 200, _page(action, items[first : first + size], token)

    def items(self, action: str, arguments: Mapping[str, Any]) -> list[str]:
        """The items of a list, over all pages."""
        return [text for text in _LISTS[action](self, arguments) if text]

    def _whole_answer(self, action: str, body: bytes, headers: Mapping[str, str]) -> str | None:
        """What is not a page of a list; None for a list."""
        if (text := self.answer(action)) is not None:
            return text
        if action == "GetCallerIdentity":
            return _sts("GetCallerIdentity", f"<Account>{self.account}</Account><Arn>a</Arn><UserId>u</UserId>")
        if action == "AssumeRole":
            keys = "".join(f"<{name}>x</{name}>" for name in ("AccessKeyId", "SecretAccessKey", "SessionToken"))
            expires = "<Expiration>2099-01-01T00:00:00Z</Expiration>"
            return _sts("AssumeRole", f"<Credentials>{keys}{expires}</Credentials>")
        if action == "DescribeInstances" and self.moto:
            exact = body.replace(b"trn%2A", b"trn1.32xlarge")  # moto's filter of types has no wildcards
            kept = {name: value for name, value in headers.items() if name != "Content-Length"}
            with urlopen(Request(self.moto, exact, kept)) as response:
                text = response.read().decode()
            return str(text)
        return None


def _instances(cloud: Cloud, _: object) -> Iterator[str]:
    for machine in cloud.machines.values():
        block = f"<capacityBlockId>{machine.block}</capacityBlockId>" if machine.block else ""
        reservation = f"<capacityReservationId>{machine.reservation}</capacityReservationId>" * bool(
            machine.reservation
        )
        yield (
            f"<item><reservationId>r-1</reservationId><instancesSet><item><instanceId>{machine.instance}</instanceId>"
            f"<instanceType>{machine.type}</instanceType><instanceState><code>16</code><name>{machine.state}</name>"
            f"</instanceState><privateDnsName>{machine.host}</privateDnsName>{block}{reservation}<placement>"
            "<availabilityZone>us-east-2a</availabilityZone><availabilityZoneId>use2-az1</availabilityZoneId>"
            "</placement><tagSet><item><key>secret</key><value>swordfish</value></item></tagSet></item></instancesSet></item>"
        )


def _topology(cloud: Cloud, _: object) -> Iterator[str]:
    for machine in cloud.machines.values():
        if machine.state == "running":
            nodes = "".join(f"<item>{node}</item>" for node in machine.nodes)
            block = f"<capacityBlockId>{machine.block}</capacityBlockId>" if machine.block else ""
            yield (
                f"<item><instanceId>{machine.instance}</instanceId><instanceType>{machine.type}</instanceType>"
                f"<zoneId>use2-az1</zoneId>{block}<networkNodeSet>{nodes}</networkNodeSet></item>"
            )


def _reservations(cloud: Cloud, _: object) -> Iterator[str]:
    for reservation, block in cloud.reservations.items():
        yield (
            f"<item><capacityReservationId>{reservation}</capacityReservationId>"
            f"<capacityBlockId>{block}</capacityBlockId></item>"
        )


def _statuses(cloud: Cloud, _: object) -> Iterator[str]:
    for block, status in cloud.blocks.items():
        yield (
            f"<item><capacityBlockId>{block}</capacityBlockId><interconnectStatus>{status}</interconnectStatus></item>"
        )


def _clusters(cloud: Cloud, _: object) -> Iterator[str]:
    if any(machine.ultraserver for machine in cloud.machines.values()):
        yield json.dumps({"ClusterName": "pod", "ClusterArn": "arn", "CreationTime": 0, "ClusterStatus": "InService"})


def _nodes(cloud: Cloud, _: object) -> Iterator[str]:
    for machine in cloud.machines.values():
        if machine.ultraserver:
            yield json.dumps(
                {
                    "InstanceGroupName": "g",
                    "InstanceId": machine.instance,
                    "InstanceType": f"ml.{machine.type}",
                    "LaunchTime": 0,
                    "InstanceStatus": {"Status": "Running", "Message": ""},
                    "UltraServerInfo": {"Id": machine.ultraserver},
                    "PrivateDnsHostname": machine.host,
                }
            )


_LISTS: Mapping[str, Callable[[Cloud, Mapping[str, Any]], Iterator[str]]] = {
    "DescribeInstances": _instances,
    "DescribeInstanceTopology": _topology,
    "DescribeCapacityReservationTopology": _reservations,
    "DescribeCapacityBlocks": lambda _cloud, _arguments: iter(()),
    "DescribeCapacityBlockStatus": _statuses,
    "ListClusters": _clusters,
    "ListClusterNodes": _nodes,
}
_SETS = {
    "DescribeInstances": "reservationSet",
    "DescribeInstanceTopology": "instanceSet",
    "DescribeCapacityReservationTopology": "capacityReservationSet",
    "DescribeCapacityBlocks": "capacityBlockSet",
    "DescribeCapacityBlockStatus": "capacityBlockStatusSet",
    "ListClusters": "ClusterSummaries",
    "ListClusterNodes": "ClusterNodeSummaries",
}


def _page(action: str, items: list[str], token: str) -> str:
    if action.startswith("List"):
        return f'{{"{_SETS[action]}": [{", ".join(items)}]' + (f', "NextToken": "{token}"' if token else "") + "}"
    after = f"<nextToken>{token}</nextToken>" if token else ""
    name = _SETS[action]
    return f'<{action}Response xmlns="{_NAMESPACE}"><{name}>{"".join(items)}</{name}>{after}</{action}Response>'


def _sts(action: str, content: str) -> str:
    namespace = "https://sts.amazonaws.com/doc/2011-06-15/"
    return f'<{action}Response xmlns="{namespace}"><{action}Result>{content}</{action}Result></{action}Response>'


def _error(action: str, code: str) -> str:
    if action.startswith("List"):
        return json.dumps({"__type": code, "message": f"{code} by the stand-in"})
    error = f"<Error><Code>{escape(code)}</Code><Message>by the stand-in</Message></Error>"
    return (
        f"<Response><Errors>{error}</Errors></Response>"
        if action.startswith("Desc")
        else f"<ErrorResponse>{error}</ErrorResponse>"
    )


@contextmanager
def serving(cloud: Cloud) -> Iterator[Cloud]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # the body would wait 40 ms for the acknowledgement of the headers

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            if target := self.headers.get("X-Amz-Target"):
                action, arguments = target.rpartition(".")[2], json.loads(body)
            else:
                arguments = {name: values[0] for name, values in parse_qs(body.decode()).items()}
                action = arguments["Action"]
            status, text = cloud.respond(action, arguments, body, dict(self.headers))
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    cloud.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield cloud
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def use(monkeypatch: pytest.MonkeyPatch, cloud: Cloud) -> None:
    """Have boto3 send everything to the stand-in."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "stand-in")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "stand-in")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def fleet(domains: int, servers: int = 4, type: str = "trn2u.48xlarge") -> Cloud:  # noqa: A002 # the field's word
    """A cloud of UltraServers, each in a capacity block."""
    cloud = Cloud()
    for domain in range(domains):
        for server in range(servers):
            number = domain * servers + server
            cloud.add(
                Machine(
                    f"i-{number:017x}",
                    type,
                    block=f"cb-{domain:017x}",
                    nodes=("nn-1", f"nn-2-{domain // 8}", f"nn-3-{domain}"),
                )
            )
    return cloud
