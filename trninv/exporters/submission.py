"""What to hand to a scheduler so that a job lands where it was placed, and what that line does not say.

Slurm's --nodelist names nodes, not chips; a DRA claim of Kubernetes names a node's devices (CEL, deviceId). So Slurm's
line holds whole servers.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from trninv.hostlist import folded
from trninv.inventory.hostnames import TEMPLATE, ServerAddress, hostnames

_SERVER = re.compile(r"(.+)/d(\d+)/s(\d+)")


def slurm(servers: Sequence[str], template: str = TEMPLATE) -> str:
    """Arguments of sbatch for all of some servers.

    Raises
    ------
    UsageError, NotExpressibleError
        The template gives no names.

    """
    return f"sbatch --nodes={len(servers)} --nodelist={folded(hostnames(_addresses(servers), template))} --exclusive"


def kubernetes(servers: Sequence[str], chips: Sequence[str], template: str = TEMPLATE) -> Iterator[str]:
    """A node selector for each server and, of chips that are not all of it, the CEL expression of their claim.

    Raises
    ------
    UsageError, NotExpressibleError
        The template gives no names.

    """
    by_server = {server: list(of) for server, of in groupby(chips, lambda chip: chip.rpartition("/")[0])}
    for server, name in zip(servers, hostnames(_addresses(servers), template), strict=True):
        line = f"nodeSelector: {{kubernetes.io/hostname: {name}}}"
        if server in by_server:
            devices = ", ".join(chip.rpartition("/c")[2] for chip in by_server[server])
            line += f'  DRA: device.attributes["neuron.aws.com"].deviceId in [{devices}]'
        yield line


def _addresses(servers: Sequence[str]) -> list[ServerAddress]:
    read = (_SERVER.fullmatch(server) for server in servers)
    return [ServerAddress(at[1], int(at[2]), int(at[3])) for at in read if at]
