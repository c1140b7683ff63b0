"""Discovery of Debian's Slurm for real: nodes, their blocks, and a node that the topology drops."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from slurms import slurm
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.discovery.providers import slurm as provider
from trninv.discovery.pull import pull_target
from trninv.discovery.target import parse_target
from trninv.errors import DiscoveryError, UsageError
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state import bindings
from trninv.reconcile.findings import Finding, list_findings

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


def replay(monkeypatch: pytest.MonkeyPatch, topology: str, nodes: str = "") -> None:
    listed = ", ".join(f'{{"name": "{host}", "state": ["IDLE"], "gres": "neuron:trainium2:16"}}' for host in HOSTS)
    answer = nodes or f'{{"nodes": [{listed}], "errors": []}}'
    monkeypatch.setattr(
        provider, "_run", lambda _target, *command: (topology if "topology" in command else answer).encode()
    )


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
    assert provider.read_blocks("\n".join(lines).encode()) == {"n0": "s0", "n1": "s0", "n2": "top", "n3": "top"}


def test_without_scontrol_the_error_says_so(lab: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="scontrol is not on PATH"):
        pull_target(lab, TARGET)
