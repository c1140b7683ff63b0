"""Debian's Slurm on loopback: a slurmctld, and a slurmd for each node of what was exported."""

import getpass
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import programs
from trninv.hostlist import expand

CONF = """
ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={work}/state
SlurmdSpoolDir={work}/spool-%n
SlurmctldPidFile={work}/ctld.pid
SlurmdPidFile={work}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ReturnToService=2
SchedulerType=sched/backfill
TopologyPlugin=topology/tree
GresTypes=neuron
{nodes}
PartitionName=trn Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
COMPLAINTS = re.compile(r"fatal|lack access|Invalid hostnames|Ignoring children|no switch can reach")
"""What slurmctld logs of a topology that it reads otherwise than it is meant, and starts all the same."""


@dataclass(frozen=True, slots=True)
class Srun:
    """Runs a job, and says on which nodes; ``ask`` runs any command and gives what it prints."""

    ask: Callable[..., str]

    def __call__(self, *options: str) -> list[str]:
        return sorted(self.ask("srun", *options, "sh", "-c", "echo $SLURMD_NODENAME").split())


def _ports(number: int) -> list[int]:
    with ExitStack() as stack:
        opened = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in opened:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in opened]


@contextmanager
def _started(log: Path, *command: str, conf: Path) -> Iterator[None]:
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={"SLURM_CONF": str(conf), "PATH": _PATH})
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


@contextmanager
def slurm(work: Path, topology: str, nodes: str, gres: str = "Count=16", extra: str = "") -> Iterator[Srun]:
    """A cluster of what was exported; yields what runs a job and says on which nodes. ``extra`` is for slurm.conf."""
    packages = "slurmctld slurmd slurm-client slurm-wlm-basic-plugins"
    programs.require("slurmctld", "slurmd", "srun", packages=packages, path=_PATH)
    lines = [line for line in nodes.splitlines() if line.startswith("NodeName=")]
    names = [name for line in lines for name in expand(line.split()[0].removeprefix("NodeName="))]
    port, *ports = _ports(len(names) + 1)
    written = "\n".join(_at_home(lines, ports))
    (work / "state").mkdir()
    conf = work / "slurm.conf"
    conf.write_text(CONF.format(port=port, user=getpass.getuser(), work=work, nodes=written) + extra)
    (work / "gres.conf").write_text(f"Name=neuron Type=trainium2 {gres}\n")
    (work / "topology.conf").write_text(topology)

    def ask(*command: str) -> str:
        environment = {"SLURM_CONF": str(conf), "PATH": _PATH}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ExitStack() as stack:
        log = work / "ctld.log"
        stack.enter_context(_started(log, "slurmctld", "-D", "-c", conf=conf))
        for name in names:
            (work / f"spool-{name}").mkdir()
            stack.enter_context(_started(work / f"{name}.log", "slurmd", "-D", "-N", name, conf=conf))
        for _ in range(240):
            if not set(names) - set(ask("sinfo", "-h", "-N", "-t", "idle,drain", "-o", "%N").split()):
                break
            time.sleep(0.25)
        assert not COMPLAINTS.findall(log.read_text()), log.read_text()
        yield Srun(ask)
        assert not COMPLAINTS.findall(log.read_text())


@contextmanager
def slurmrestd(work: Path, run: Srun) -> Iterator[tuple[str, str]]:
    """Debian's slurmrestd of a cluster that accepts tokens; yields its URL, and a token."""
    programs.require("slurmrestd", packages="slurmrestd slurm-wlm-jwt-plugin", path=_PATH)
    token = run.ask("scontrol", "token").strip().partition("=")[2]
    (port,) = _ports(1)
    options = ["-u", "nobody"] if getpass.getuser() == "root" else []
    # the plugins of other versions need slurmdbd
    command = ["slurmrestd", *options, "-s", "openapi/v0.0.38", "-a", "rest_auth/jwt", f"127.0.0.1:{port}"]
    environment = {"SLURM_CONF": str(work / "slurm.conf"), "SLURM_JWT": "daemon", "PATH": _PATH}
    with (work / "restd.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        for _ in range(100):
            with socket.socket() as client:
                if not client.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", token
    finally:
        process.terminate()
        process.wait(timeout=30)


def _at_home(lines: Sequence[str], ports: list[int]) -> Iterator[str]:
    """Lines of NodeName, their nodes being here."""
    for line in lines:
        here = [ports.pop() for _ in expand(line.split()[0].removeprefix("NodeName="))]
        yield f"{line} NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{','.join(map(str, sorted(here)))}]"
