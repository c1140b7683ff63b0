"""What to hand to a scheduler so that a job lands where it was placed, and what that line does not say.

Slurm's --nodelist names nodes, not chips; a DRA claim of Kubernetes names a node's devices (CEL, deviceId). So Slurm's
line holds whole servers.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from trninv.hostlist import fold
from trninv.inventory.hostnames import DEFAULT_TEMPLATE, ServerAddress, hostnames

_SERVER = re.compile(r"(.+)/d(\d+)/s(\d+)")


def sbatch_arguments(servers: Sequence[str], template: str = DEFAULT_TEMPLATE) -> str:
    """Arguments of sbatch for all of some servers.

    Raises
    ------
    UsageError, NotExpressibleError
        The template gives no names.

    """
    return (
        f"sbatch --nodes={len(servers)} --nodelist={fold(hostnames(_parse_addresses(servers), template))} --exclusive"
    )


def pod_selectors(servers: Sequence[str], chips: Sequence[str], template: str = DEFAULT_TEMPLATE) -> Iterator[str]:
    """A node selector for each server and, of chips that are not all of it, the CEL expression of their claim.

    Raises
    ------
    UsageError, NotExpressibleError
        The template gives no names.

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
