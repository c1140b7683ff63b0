"""Discovery of Debian's Slurm for real: nodes, their blocks, and a node that the topology drops."""

import json
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from email.message import Message
from io import BytesIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request

import pytest
from sqlalchemy import Engine, text

from slurms import slurm, slurmrestd
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.discovery.providers import slurm as provider
from trninv.discovery.pull import pull_target
from trninv.discovery.slurm_topology import read_blocks, read_topology_yaml
from trninv.discovery.target import parse_target
from trninv.errors import DiscoveryError, UsageError
from trninv.importers.observation_sender import OPENER
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state import bindings
from trninv.reconcile.findings import Finding, list_findings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

TARGET = parse_target("slurm")
HOSTS = [f"lab-d0-s{number}" for number in range(4)]
NODES = "NodeName=lab-d0-s[0-3] CPUs=1 RealMemory=100 Gres=neuron:trainium2:16 State=UNKNOWN"
TOPOLOGY = "SwitchName=lab-d0 Nodes=lab-d0-s[0-3]\n"
"""As trninv topology --as slurm-tree writes it."""


@pytest.fixture
def lab(tables: str) -> Iterator[Engine]:
    """An UltraServer whose servers have the names that Slurm's nodes have."""
    with temporary_engine(tables) as engine:
        with write_transaction(engine) as connection:
            system = default_systems().get("u-trn2x64")
            cluster_seeding.seed(connection, default_catalog(), system, "lab")
            proposals = [
                bindings.ProposedBinding(
                    bindings.resolve_slot(connection, f"lab/d0/s{n}").id, f"lab/d0/s{n}", None, host, "pin", "certain"
                )
                for n, host in enumerate(HOSTS)
            ]
            bindings.bind(connection, proposals, who="tests")
        yield engine


def findings(engine: Engine) -> list[Finding]:
    with read_transaction(engine) as connection:
        return [found for found in list_findings(connection) if found.rule == "scheduler-block-differs"]


def test_a_real_cluster_is_read(tmp_path: Path, lab: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with slurm(tmp_path, TOPOLOGY, NODES):
        monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
        result = pull_target(lab, TARGET)
        assert result.servers == 4
        again = pull_target(lab, TARGET)
    assert (result.stored, again.stored) == (1, 0)
    assert findings(lab) == []


def test_a_node_that_the_topology_drops_is_found(lab: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    replay(monkeypatch, TOPOLOGY.replace("Nodes=", "Level=0 LinkSpeed=1 Nodes="))
    pull_target(lab, TARGET)
    assert findings(lab) == []
    replay(monkeypatch, "BlockName=lab-d0 BlockIndex=0 Nodes=lab-d0-s[0-1,3] BlockSize=4\n")
    pull_target(lab, TARGET)
    assert [(f.address, f.expected, f.observed) for f in findings(lab)] == [
        ("lab/d0/s2", "lab-d0", "in no block by slurm")
    ]
    replay(monkeypatch, "BlockName=a Nodes=lab-d0-s[0-2] BlockSize=4\nBlockName=b Nodes=lab-d0-s3 BlockSize=4\n")
    pull_target(lab, TARGET)
    assert [(f.address, f.expected, f.observed) for f in findings(lab)] == [("lab/d0/s3", "a", "b by slurm")]


YAML = """
- topology: fabric
  cluster_default: true
  tree: {switches: [{switch: top, children: "tor[0-1]"}, {switch: tor0, nodes: "lab-d0-s[0-1]"},
                    {switch: tor1, nodes: "lab-d0-s[2-3]"}]}
  block: {}
- topology: ultraservers
  cluster_default: false
  block: {block_sizes: [4], blocks: [{block: lab-d0, nodes: "lab-d0-s[0-3]"}]}
- topology: rings
  ring: {rings: [{ring: r0, nodes: "lab-d0-s[0-3]"}]}
- topology: everything
  flat: true
"""
"""As trninv topology --as slurm-yaml and ``scontrol show topoconf`` write it, with switches that split a domain."""
RING, BLOCK = 'r0, nodes: "lab-d0-s[0-3]"', 'lab-d0, nodes: "lab-d0-s[0-3]"'


@pytest.mark.parametrize(
    ("old", "new", "block"),
    [
        ("", "", "ultraservers:lab-d0,rings:r0"),
        (RING, 'r0, nodes: "lab-d0-s[0-2]"', "ultraservers:lab-d0,rings:-"),
        ('"lab-d0-s[2-3]"', "lab-d0-s2", "fabric:-,ultraservers:lab-d0,rings:r0"),
        (BLOCK, 'a, nodes: "lab-d0-s[0-2]"}, {block: b, nodes: lab-d0-s3', "ultraservers:b,rings:r0"),
        ("lab-d0-s[0-3]", "lab-d0-s[0-2]", "ultraservers:-,rings:-"),
    ],
)
def test_a_block_has_a_part_for_each_topology(old: str, new: str, block: str) -> None:
    blocks = read_topology_yaml(YAML.replace(old, new).encode())
    assert blocks["lab-d0-s0"] == f"ultraservers:{'a' if 'block: b' in new else 'lab-d0'},rings:r0"
    assert blocks["lab-d0-s3"] == block


@pytest.mark.parametrize("is_file", [True, False])
def test_a_node_that_topology_yaml_drops_is_found(
    lab: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_file: bool
) -> None:
    target = parse_target(f"slurm:{tmp_path}/topology.yaml") if is_file else TARGET
    for content, observed in ((YAML, []), (YAML.replace(RING, 'r0, nodes: "lab-d0-s[0-2]"'), ["rings:-"])):
        (tmp_path / "topology.yaml").write_text(content)
        replay(monkeypatch, "nonsense" if is_file else content)
        pull_target(lab, target)
        assert [f.observed for f in findings(lab)] == [f"ultraservers:lab-d0,{ring} by slurm" for ring in observed]


def test_one_topology_has_blocks_without_its_name() -> None:
    torus = """[{topology: z, torus3d: {toruses: [
        {name: d0, nodes: "n[0-1]"}, {name: d1, regions: [{nodes: n2}, {nodes: n3}]}]}}]"""
    assert read_topology_yaml(torus.encode()) == {"n0": "d0", "n1": "d0", "n2": "d1", "n3": "d1"}


@pytest.mark.parametrize(
    "content",
    [
        *("", "- [", "3", "{}", "[]", "[3]", "- topology: a\n  tree: 3", "- topology: a\n  tree: {switches: 3}"),
        *("- topology: a\n  tree: {switches: [3]}", "- {topology: a, block: {blocks: [{block: b, nodes: 3}]}}"),
        *("- {topology: a, block: {blocks: [{block: b, nodes: 'n[1-'}]}}", "--- []\n--- []", "&a [*a]"),
        "- {topology: a, block: {blocks: [{block: b, nodes: 'n[1-2000000]'}]}}",
    ],
)
def test_a_topology_yaml_that_is_none_is_refused(
    tables: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str
) -> None:
    (tmp_path / "topology.yaml").write_text(content)
    replay(monkeypatch, "")
    with temporary_engine(tables) as engine, pytest.raises(DiscoveryError, match="nothing was imported"):
        pull_target(engine, parse_target(f"slurm:{tmp_path}/topology.yaml"))


def test_a_topology_yaml_that_is_missing_is_named(lab: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    replay(monkeypatch, "")
    with pytest.raises(DiscoveryError, match="No such file"):
        pull_target(lab, parse_target("slurm:/nowhere/topology.yaml"))


@pytest.mark.slow
def test_a_real_slurmrestd_is_read(lab: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="sl") as name, ExitStack() as stack:
        work = Path(name)
        work.chmod(0o755)  # slurmrestd refuses to run as root
        key = work / "jwt.key"
        key.write_bytes(b"k" * 32)
        key.chmod(0o600)
        extra = f"AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={key}\n"
        run = stack.enter_context(slurm(work, TOPOLOGY, NODES, extra=extra))
        url, token = stack.enter_context(slurmrestd(work, run))
        target = parse_target(f"slurm:{url}")
        with pytest.raises(DiscoveryError, match="401; check SLURM_JWT"):
            pull_target(lab, target)
        monkeypatch.setenv("SLURM_JWT", token)
        result = pull_target(lab, target)
    assert result.servers == 4
    assert any("not read from slurmrestd" in note for note in result.notes)


@pytest.mark.parametrize("version", ["v0.0.43", "v0.0.38", "none"])
def test_slurmrestd_is_asked_for_a_version_that_it_has(
    lab: Engine, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    asked = list[Request]()

    def open_(request: Request, **_: object) -> BytesIO:
        asked.append(request)
        if version not in request.full_url:
            raise HTTPError(request.full_url, 404, "", Message(), BytesIO())
        return BytesIO(NODE_LIST.encode())

    monkeypatch.setattr(OPENER, "open", open_)
    token = f"h.{urlsafe_b64encode(json.dumps({'sun': 'ada'}).encode()).decode().rstrip('=')}.s"
    monkeypatch.setenv("SLURM_JWT", token)
    target = parse_target("slurm:https://slurm.example:6820")
    if version == "none":
        with pytest.raises(DiscoveryError, match="none of the versions"):
            pull_target(lab, target)
        return
    assert pull_target(lab, target).servers == 4
    assert asked[-1].full_url == f"https://slurm.example:6820/slurm/{version}/nodes/"
    assert asked[-1].get_header("X-slurm-user-name") == "ada"
    assert {request.get_method() for request in asked} == {"GET"}


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "a.e30.c", "a.eyJzdW4iOiAzfQ.c", "a.eyJzdW4iOiAiYVxuYiJ9.c"])
def test_a_token_that_names_no_user_has_none(token: str) -> None:
    assert provider._user_name(token) == ""


NODE_LIST = json.dumps(
    {"nodes": [{"name": host, "state": ["IDLE"], "gres": "neuron:trainium2:16"} for host in HOSTS], "errors": []}
)


def replay(monkeypatch: pytest.MonkeyPatch, topology: str, nodes: str = "") -> None:
    """Have scontrol print a topology, in the format of either command, and a list of nodes."""
    is_topology = {"topology", "topoconf"}.intersection
    monkeypatch.setattr(
        provider, "_run", lambda _, *command: (topology if is_topology(command) else nodes or NODE_LIST).encode()
    )


def test_a_command_that_fails_midway_leaves_nothing(lab: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object, *command: str) -> bytes:
        if "topology" in command:
            raise DiscoveryError("slurm_load_topo error: Unable to contact slurm controller")
        return NODE_LIST.encode()

    monkeypatch.setattr(provider, "_run", run)
    with pytest.raises(DiscoveryError, match="Unable to contact"):
        pull_target(lab, TARGET)
    with read_transaction(lab) as connection:
        assert connection.scalar(text("SELECT count(*) FROM observation")) == 0


@pytest.mark.parametrize(
    "nodes", ["nonsense", "[]", "{}", '{"nodes": 3}', '{"nodes": [3]}', '{"nodes": [], "errors": [{"error": "x"}]}']
)
def test_answers_that_are_no_list_are_refused(lab: Engine, monkeypatch: pytest.MonkeyPatch, nodes: str) -> None:
    replay(monkeypatch, "", nodes)
    with pytest.raises(DiscoveryError, match="nothing was imported"):
        pull_target(lab, TARGET)


def test_the_lowest_switch_counts() -> None:
    lines = [
        "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[0-3] Switches=s[0-1]",
        "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-1]",
    ]
    assert read_blocks("\n".join(lines).encode()) == {"n0": "s0", "n1": "s0", "n2": "top", "n3": "top"}


def test_without_scontrol_the_error_says_so(lab: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="scontrol is not on PATH"):
        pull_target(lab, TARGET)
