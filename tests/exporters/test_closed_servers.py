"""A closed server in schedulers' formats: drained or unschedulable, for the reason that was given."""

import tempfile
from pathlib import Path

import pytest
import yaml
from sqlalchemy import insert

import exporting
from conftest import BACKENDS, Databases, Run
from exporting import exported
from slurms import slurm
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.exporters.slurm_settings import parse_settings
from trninv.inventory.state.author import OMITTED_JOB_PREFIX
from trninv.placement.changes.cordon import cordon

pytestmark = pytest.mark.slow_on_postgresql

_HOSTILE = 'ticket #12 "fan" \\ a=b; été\\'
_SAID = "ticket #12 'fan' \\ a=b; été\\"
"""The same as Slurm can hold it: nothing stands for a double quote within a value."""


def _lab(databases: Databases, why: str = "firmware", backend: str = "sqlite") -> str:
    url = exporting.lab(databases, backend)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cordon(connection, ["lab/d0/s0"], who="me", why=why)
    return url


def _node(lines: str, name: str) -> dict[str, str]:
    (found,) = (line for line in parse_settings(lines.splitlines()) if line["NodeName"] == name)
    return found


def test_slurm_drains_it_and_keeps_the_reason(run: Run, databases: Databases) -> None:
    url = _lab(databases)
    lines = exported(run, url, "lab", "slurm-nodes")
    parts = "CPUs=192 RealMemory=1966080 Gres=neuron:trainium2:16 Feature=u-trn2x64"
    assert f'NodeName=lab-d0-s0 {parts} State=DRAIN Reason="trninv: cordoned: firmware"' in lines.splitlines()
    assert lines.count("State=DRAIN") == lines.count("State=UNKNOWN") == 1
    assert "DRAIN" not in exported(run, url, "lab", "slurm-nodes", "--at", "0")
    run("uncordon", "lab/d0/s0", database=url)
    assert "DRAIN" not in exported(run, url, "lab", "slurm-nodes")


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_an_import_closed_is_not_drained_in_the_scheduler_that_runs_there(
    run: Run, databases: Databases, backend: str
) -> None:
    url = exporting.lab(databases, backend)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cordon(connection, ["lab/d0/s0"], who="slurm", why=f"{OMITTED_JOB_PREFIX}train (7)")
        cordon(connection, ["lab/d0/s1"], who="me", why="an import of fans")
    lines = exported(run, url, "lab", "slurm-nodes")
    assert _node(lines, "lab-d0-s1")["State"] == "DRAIN"
    assert lines.count("State=DRAIN") == 1
    assert exported(run, url, "lab", "kubernetes").count("unschedulable: true") == 1


@pytest.mark.parametrize(("state", "wanted"), [("down", "DOWN"), ("maintenance", "DRAIN"), ("up", "DRAIN")])
def test_what_is_not_up_stays_so_and_says_both(run: Run, databases: Databases, state: str, wanted: str) -> None:
    url = _lab(databases)
    run("set", "lab/d0/s0", state, "--why", "power", database=url)
    node = _node(exported(run, url, "lab", "slurm-nodes", "--include-down"), "lab-d0-s0")
    says = "cordoned: firmware" if state == "up" else f"{state}; cordoned: firmware"
    assert (node["State"], node["Reason"]) == (wanted, f"trninv: {says}")


def test_two_that_are_closed_for_one_reason_stand_in_one_line(run: Run, databases: Databases) -> None:
    url = _lab(databases)
    run("cordon", "lab/d0/s1", "--why", "firmware", database=url)
    run("cordon", "lab/d0/s2", "--why", "a fan", database=url)
    lines = exported(run, url, "lab", "slurm-nodes")
    assert _node(lines, "lab-d0-s[0-1]")["Reason"] == "trninv: cordoned: firmware"
    assert _node(lines, "lab-d0-s2")["Reason"] == "trninv: cordoned: a fan"


@pytest.mark.parametrize(
    ("why", "says"),
    [(_HOSTILE, _SAID), ("a\nNodeName=b", "a NodeName=b"), ("\x1b[2J", "[2J"), ("w" * 999, "w" * 200 + "…")],
)
def test_a_reason_breaks_no_line(run: Run, databases: Databases, why: str, says: str) -> None:
    """Also one of plain SQL, which no length and no character is refused."""
    url = exporting.lab(databases)
    with temporary_engine(url) as engine, engine.begin() as connection:
        row = {"id": 1, "server_id": 1, "started_at": "2026-01-01T00:00:00", "who": "me", "why": why}
        connection.execute(insert(TABLES["cordon"]).values(row))
    lines = exported(run, url, "lab", "slurm-nodes")
    assert _node(lines, "lab-d0-s0")["Reason"] == f"trninv: cordoned: {says}"
    assert len([line for line in lines.splitlines() if not line.startswith("#")]) == 2
    (node,) = yaml.safe_load_all(exported(run, url, "lab/d0/s0", "kubernetes"))
    assert node["metadata"]["annotations"]["trninv.dev/cordoned"] == why


def test_kubernetes_schedules_nothing_there(run: Run, databases: Databases) -> None:
    url = _lab(databases, _HOSTILE)
    first, *others = yaml.safe_load_all(exported(run, url, "lab", "kubernetes"))
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    assert first["spec"] == {"unschedulable": True, "taints": [taint]}
    notes = {"trninv.dev/address": "lab/d0/s0", "trninv.dev/state": "up", "trninv.dev/cordoned": _HOSTILE}
    assert first["metadata"]["annotations"] == notes
    assert not any("spec" in node or "trninv.dev/cordoned" in node["metadata"]["annotations"] for node in others)


@pytest.mark.slow
def test_kubernetes_own_schema_takes_it(run: Run, databases: Databases) -> None:
    import kubernetes_validate  # noqa: PLC0415 # only where it is used

    url = _lab(databases, _HOSTILE)
    for node in yaml.safe_load_all(exported(run, url, "lab", "kubernetes")):
        kubernetes_validate.validate(node, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.slow
def test_slurmctld_drains_it_for_that_reason(run: Run, databases: Databases) -> None:
    url = _lab(databases, _HOSTILE)
    files = [exported(run, url, "lab", name) for name in ("slurm-tree", "slurm-nodes")]
    with (
        tempfile.TemporaryDirectory(prefix="sl", ignore_cleanup_errors=True) as work,
        slurm(Path(work), *files) as srun,
    ):
        assert srun("-N4", "--switches=1", "--gres=neuron:16") != [f"lab-d0-s{server}" for server in range(4)]
        assert len(srun("-N11", "--gres=neuron:16")) == 11
        with pytest.raises(AssertionError, match="Unable to allocate resources"):
            srun("-N12", "--immediate=1")
        assert srun.ask("sinfo", "-h", "-R", "-o", "%N %E").splitlines() == [f"lab-d0-s0 trninv: cordoned: {_SAID}"]
