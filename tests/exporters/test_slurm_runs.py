"""Debian's slurmctld, with a slurmd for each server on loopback, reads what is exported and places jobs by it."""

import json
import shlex
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import exporting
from conftest import Databases, Run
from exporting import exported
from slurms import slurm

pytestmark = pytest.mark.slow


@pytest.fixture
def work() -> Iterator[Path]:
    """A short path: slurmd's sockets are below it."""
    with tempfile.TemporaryDirectory(prefix="sl", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def lab(databases: Databases) -> str:
    """URL of a database with three UltraServers."""
    return exporting.lab(databases)


def test_four_nodes_of_one_switch_are_one_ultraserver(run: Run, lab: str, work: Path) -> None:
    files = [exported(run, lab, "lab", name) for name in ("slurm-tree", "slurm-nodes")]
    with slurm(work, *files) as srun:
        assert srun("-N4", "--switches=1", "--gres=neuron:16") in [
            [f"lab-d{domain}-s{server}" for server in range(4)] for domain in range(3)
        ]


@pytest.mark.parametrize("options", [[], ["--include-down"]])
def test_a_server_in_maintenance_is_not_used(run: Run, lab: str, work: Path, options: list[str]) -> None:
    run("set", "lab/d0/s2", "lab/d1/s0", "maintenance", "--why", "a fan", database=lab)
    files = [exported(run, lab, "lab", name, *options) for name in ("slurm-tree", "slurm-nodes")]
    with slurm(work, *files) as srun:
        assert srun("-N4", "--switches=1", "--gres=neuron:16") == [f"lab-d2-s{server}" for server in range(4)]
        assert len(srun("-N10", "--gres=neuron:16")) == 10
        with pytest.raises(AssertionError, match="Unable to allocate resources"):
            srun("-N11", "--immediate=1")


def test_what_slurmctld_only_warns_of_is_a_failure_here(run: Run, lab: str, work: Path) -> None:
    tree, nodes = (exported(run, lab, "lab", name) for name in ("slurm-tree", "slurm-nodes"))
    with pytest.raises(AssertionError, match="lack access"), slurm(work, tree.replace("-s[0-3]", "-s[0-2]"), nodes):
        pass


def test_a_job_runs_where_it_fits_and_is_held_as_slurm_says(run: Run, lab: str, work: Path) -> None:
    tree, nodes = (exported(run, lab, "lab", name) for name in ("slurm-tree", "slurm-nodes"))
    for device in range(16):
        (work / f"neuron{device}").touch()
    with slurm(work, tree, nodes, gres=f"File={work}/neuron[0-15]") as srun:
        fits = json.loads(
            run("place", "lab", "--servers", "2", "--avoid", "lab/d0", "--format", "json", database=lab)[1]
        )
        options = shlex.split(fits["placements"][0]["slurm"])[1:]
        assert srun(*options) == ["lab-d1-s0", "lab-d1-s1"]
        for wanted in (options, ["--nodelist=lab-d2-s3", "--gres=neuron:4"]):
            srun.ask("sbatch", *wanted, "--output=/dev/null", "--wrap=sleep 60")
        listing = work / "squeue.json"
        for _ in range(120):
            listing.write_text(srun.ask("squeue", "--json"))
            if {job["nodes"] for job in json.loads(listing.read_text())["jobs"]} == {"lab-d1-s[0-1]", "lab-d2-s3"}:
                break
            time.sleep(0.25)
        assert run("import", "jobs", "slurm", str(listing), database=lab)[1] == (
            "slurm: 2 allocated, 0 moved, 0 unchanged, 0 ended\n"
        )
        _, held, _ = run("sql", "SELECT server, count(*) AS chips FROM v_allocation GROUP BY server", database=lab)
        assert [line.split() for line in held.splitlines()[2:]] == [
            ["lab/d1/s0", "16"],
            ["lab/d1/s1", "16"],
            ["lab/d2/s3", "4"],
        ]
