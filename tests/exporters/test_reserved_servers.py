"""Reservations in schedulers' formats: created in Slurm with their times, and servers in maintenance take no jobs."""

import re
import shlex
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

import exporting
from conftest import BACKENDS, Databases, Run
from exporting import exported
from slurms import slurm

pytestmark = pytest.mark.slow_on_postgresql

_NEXT, _END = "2126-12-01T08:00:00Z", "2126-12-01T12:00:00Z"
_TIMES = f"from {_NEXT} until {_END}"


def _lab(run: Run, databases: Databases, backend: str = "sqlite") -> str:
    url = exporting.lab(databases, backend)
    times = ("--from", _NEXT, "--until", "4h")
    for arguments in (
        ("next job; rm", "lab/d1", "--servers", "2", *times),
        ("firmware", "lab/d0/s0", "lab/d0/s1", "--maintenance", *times),
        ("chips", "lab/d2/s0/c0-3", *times),
        ("now", "lab/d0/s3", "--maintenance", "--until", "1h"),
    ):
        assert run("reserve", *arguments, database=url)[0] == 0
    return url


@pytest.mark.parametrize("backend", BACKENDS)
def test_scontrol_creates_what_is_reserved(run: Run, databases: Databases, backend: str) -> None:
    url = _lab(run, databases, backend)
    script = exported(run, url, "lab", "slurm-reservations", "--check")
    times = "StartTime=uts4951785600 EndTime=uts4951800000"
    commands = [line for line in script.splitlines() if not line.startswith("#")]
    assert commands[1:] == [
        f"scontrol create ReservationName=next_job__rm {times} Nodes=lab-d1-s[0-1] Users=root",
        f"scontrol create ReservationName=firmware {times} Nodes=lab-d0-s[0-1] Users=root Flags=MAINT,IGNORE_JOBS",
        f"scontrol create ReservationName=chips {times} Nodes=lab-d2-s0 Users=root",
    ]
    assert re.match("scontrol create ReservationName=now StartTime=uts", commands[0])
    assert "# chips: Slurm reserves whole servers; only some of their chips are reserved" in script.splitlines()
    assert "next_job" not in exported(run, url, "lab/d0", "slurm-reservations")
    assert exported(run, url, "lab", "slurm-reservations", "--at", "0").endswith("# nothing is reserved\n")


def test_a_server_in_maintenance_takes_no_jobs_once_it_has_begun(
    run: Run, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = _lab(run, databases)

    def states() -> tuple[list[str], dict[str, Any]]:
        nodes = exported(run, url, "lab/d0", "slurm-nodes").splitlines()
        documents = yaml.safe_load_all(exported(run, url, "lab/d0", "kubernetes"))
        return [line for line in nodes if "DRAIN" in line], {node["metadata"]["name"]: node for node in documents}

    drained, by_name = states()
    assert len(drained) == 1
    assert drained[0].startswith("NodeName=lab-d0-s3 ")
    assert 'Reason="trninv: cordoned: maintenance now from ' in drained[0]
    assert by_name["lab-d0-s3"]["spec"]["unschedulable"]
    annotations = by_name["lab-d0-s0"]["metadata"]["annotations"]
    assert (annotations["trninv.dev/maintenance"], "spec" in by_name["lab-d0-s0"]) == (
        f"maintenance firmware {_TIMES}",
        0,
    )
    assert "trninv.dev/maintenance" not in by_name["lab-d0-s2"]["metadata"]["annotations"]
    begins, ends = (datetime.fromisoformat(time) for time in (_NEXT, _END))
    for now, hosts in ((begins - _TICK, 0), (begins, 2), (ends - _TICK, 2), (ends, 0)):
        monkeypatch.setattr("trninv.exporters.reserved_servers.current_time", lambda _, now=now: now)
        drained = states()[0]
        assert (sum("s[0-1]" in line for line in drained), len(drained)) == ((1, 1) if hosts else (0, 0))


_TICK = timedelta(microseconds=1)


@pytest.mark.slow
def test_slurmctld_reserves_at_these_times(run: Run, databases: Databases) -> None:
    url = exporting.lab(databases)
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    arguments = ("firmware", "lab/d0/s0", "lab/d0/s1", "--maintenance", "--from", start.isoformat(), "--until", "4h")
    run("reserve", *arguments, database=url)
    tree, nodes, script = (exported(run, url, "lab", f"slurm-{name}") for name in ("tree", "nodes", "reservations"))
    with (
        tempfile.TemporaryDirectory(prefix="sl", ignore_cleanup_errors=True) as work,
        slurm(Path(work), tree, nodes) as srun,
    ):
        for line in script.splitlines():
            if not line.startswith("#"):
                srun.ask(*shlex.split(line))
        shown = srun.ask("scontrol", "show", "reservation", "firmware")
        assert f"StartTime={start.astimezone().replace(tzinfo=None).isoformat()} " in shown
        assert "Duration=04:00:00" in shown
        assert "Nodes=lab-d0-s[0-1] " in shown
        assert "MAINT" in shown
