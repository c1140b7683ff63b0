"""Return the arguments with which a scheduler starts a job where it was placed.

Slurm's --nodelist names nodes, not chips, so its arguments are for whole servers. A DRA claim of Kubernetes can select
a node's devices (CEL, deviceId).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from trninv.hostlist import fold
from trninv.inventory.hostnames import DEFAULT_TEMPLATE, ServerAddress, hostnames

_SERVER = re.compile(r"(.+)/d(\d+)/s(\d+)")


def sbatch_arguments(servers: Sequence[str], template: str = DEFAULT_TEMPLATE) -> str:
    """Return the sbatch command for whole servers.

    Raises
    ------
    UsageError, NotExpressibleError
        The template does not yield valid names.

    """
    return (
        f"sbatch --nodes={len(servers)} --nodelist={fold(hostnames(_parse_addresses(servers), template))} --exclusive"
    )


def pod_selectors(servers: Sequence[str], chips: Sequence[str], template: str = DEFAULT_TEMPLATE) -> Iterator[str]:
    """Yield a node selector for each server and, if chips of it are given, the CEL expression that selects them.

    Raises
    ------
    UsageError, NotExpressibleError
        The template does not yield valid names.

    """
    by_server = {server: list(group) for server, group in groupby(chips, lambda chip: chip.rpartition("/")[0])}
    for server, name in zip(servers, hostnames(_parse_addresses(servers), template), strict=True):
        line = f"nodeSelector: {{kubernetes.io/hostname: {name}}}"
        if server in by_server:
            devices = ", ".join(chip.rpartition("/c")[2] for chip in by_server[server])
            line += f'  DRA: device.attributes["neuron.aws.com"].deviceId in [{devices}]'
        yield line


def _parse_addresses(servers: Sequence[str]) -> list[ServerAddress]:
    matches = (_SERVER.fullmatch(server) for server in servers)
    return [ServerAddress(match[1], int(match[2]), int(match[3])) for match in matches if match]
