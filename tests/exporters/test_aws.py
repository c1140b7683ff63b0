"""AWS's programs: they take what is written for them, and what they print is read."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO, TextIOWrapper
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

import pytest

import exporting
from conftest import Databases, Run
from exporting import exported

pytestmark = pytest.mark.slow
SERVERS = 12


@pytest.fixture(scope="module")
def bin_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The aws command in an environment of its own, since it wants other libraries than trninv."""
    folder, locked = tmp_path_factory.mktemp("aws"), Path(__file__).with_name("requirements-aws.txt")
    venv.create(folder, with_pip=True)
    install = [
        str(folder / "bin/python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "--no-deps",
        "--no-compile",
        "-r",
        str(locked),
    ]
    subprocess.run(install, check=True)
    return folder / "bin"


@pytest.fixture
def lab(databases: Databases) -> str:
    return exporting.lab(databases)


_BY_BOTOCORE = """
import json, sys
import botocore.session
from botocore.validate import ParamValidator
ec2 = botocore.session.get_session().get_service_model("ec2")
shape = ec2.operation_model("DescribeInstanceTopology").output_shape
found = json.load(sys.stdin)
print(ParamValidator().validate(found, shape).generate_report())
for instance in found["Instances"]:
    print(*(set(instance) - set(shape.members["Instances"].member.members)))
"""


def test_botocore_takes_it_for_an_answer_of_ec2(run: Run, lab: str) -> None:
    def told(text: str) -> str:
        command = [sys.executable, "-c", _BY_BOTOCORE]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout

    text = exported(run, lab, "lab", "aws")
    assert told(text).split() == []
    assert "Instancetype" in told(text.replace('"InstanceType"', '"Instancetype"'))


def ec2(bin_: Path, url: str, *arguments: str) -> str:
    """What ``aws ec2`` prints that asks this service."""
    known = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-west-2"}
    command = [str(bin_ / "python"), str(bin_ / "aws"), "ec2", *arguments, "--endpoint-url", url, "--output", "json"]
    return subprocess.run(command, env=os.environ | known, capture_output=True, text=True, check=True).stdout


@contextmanager
def answering(instances: list[dict[str, Any]]) -> Iterator[str]:
    """A service that answers DescribeInstanceTopology in EC2's query protocol."""

    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            assert asked["Action"] == ["DescribeInstanceTopology"]
            first, size = int(asked.get("NextToken", ["0"])[0]), int(asked["MaxResults"][0])
            following = first + size
            token = f"<nextToken>{following}</nextToken>" if following < len(instances) else ""
            listed = "".join(map(_item, instances[first:following]))
            body = (
                '<DescribeInstanceTopologyResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
                f"<instanceSet>{listed}</instanceSet>{token}</DescribeInstanceTopologyResponse>"
            ).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as service:
        Thread(target=service.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{service.server_port}"
        service.shutdown()


def _item(instance: dict[str, Any]) -> str:
    nodes = "".join(f"<item>{escape(node)}</item>" for node in instance["NetworkNodes"])
    values = {name: value for name, value in instance.items() if name != "NetworkNodes"}
    texts = "".join(f"<{n[0].lower()}{n[1:]}>{escape(v)}</{n[0].lower()}{n[1:]}>" for n, v in values.items())
    return f"<item>{texts}<networkNodeSet>{nodes}</networkNodeSet></item>"


def imported(run: Run, database: str, printed: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(printed.encode())))
    status, out, error = run("import", "ec2", "-", "--format", "json", database=database)
    assert (status, error) == (0, "")
    found: list[dict[str, Any]] = json.loads(out)
    return found


def test_aws_reads_the_topology_page_by_page_and_what_it_prints_is_imported(
    run: Run, lab: str, bin_: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topology = json.loads(exported(run, lab, "lab", "aws"))
    for number, instance in enumerate(topology["Instances"]):  # ids of the export's own are of no instance
        instance["InstanceId"] = f"i-{number:017x}"
    with answering(topology["Instances"]) as url:
        printed = ec2(bin_, url, "describe-instance-topology", "--page-size", "5")
    assert json.loads(printed) == topology
    assert [each["servers"] for each in imported(run, lab, printed, monkeypatch)] == [SERVERS]


_MOTO = """
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
service = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
service.start()
print(*service.get_host_and_port(), flush=True)
input()
"""


def test_instances_of_a_simulated_ec2_are_imported(
    run: Run, databases: Databases, bin_: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {"trn1.32xlarge": 2, "trn2u.48xlarge": 4}
    with subprocess.Popen([sys.executable, "-c", _MOTO], stdin=-1, stdout=-1, stderr=-1, text=True) as moto:
        assert moto.stdin
        assert moto.stdout
        host, port = moto.stdout.readline().split()
        for kind, count in kinds.items():
            image = ["--image-id", "ami-12c6146b", "--count", str(count)]
            ec2(bin_, f"http://{host}:{port}", "run-instances", "--instance-type", kind, *image)
        printed = ec2(bin_, f"http://{host}:{port}", "describe-instances")
        moto.stdin.close()
    own = databases.migrated("sqlite")
    assert [each["servers"] for each in imported(run, own, printed, monkeypatch)] == [sum(kinds.values())]
    query = "SELECT instance_type, count(*) AS servers FROM observed_server GROUP BY 1 ORDER BY 1"
    status, out, _ = run("sql", query, "--format", "ndjson", database=own)
    rows = map(json.loads, out.splitlines())
    assert (status, {row["instance_type"]: row["servers"] for row in rows}) == (0, kinds)
