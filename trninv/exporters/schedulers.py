"""Names, limits and labels that Slurm and Kubernetes accept, for their formats and for ``trninv place``.

``trninv place`` prints arguments for submitting a job. Slurm's --nodelist names nodes, not chips, so Slurm's arguments
are for whole servers. In Kubernetes, a claim for dynamic resource allocation (DRA) can select a node's devices by a CEL
expression.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from trninv.errors import NotExpressibleError
from trninv.exporters.export_source import ExportedServer, ExportSource
from trninv.hostlist import fold
from trninv.importers.sources.kubernetes import DOMAIN_LABEL
from trninv.inventory.address.hostnames import ServerAddress, hostnames

MAX_SLURM_NODES: Final = 65_536
"""The maximum number of nodes of a Slurm cluster: MAX_SLURM_NODES of slurm.h."""
MAX_SLURM_LEAVES: Final = 2_048
"""The maximum number of leaf switches; slurmctld's time to read them grows quadratically, to minutes for 6,250."""
MAX_SLURM_NAME_LENGTH: Final = 64
MAX_SLURM_REASON_LENGTH: Final = 200
"""The maximum length of a reason, in characters; longer ones are cut."""


def slurm_servers(source: ExportSource) -> list[ExportedServer]:
    """Return the source's servers, or raise NotExpressibleError if a Slurm cluster may not have that many."""
    if len(source.servers) > MAX_SLURM_NODES:
        raise NotExpressibleError(
            f"{source.place.address} has {len(source.servers):,} servers, and a Slurm cluster has at most "
            f"{MAX_SLURM_NODES:,} nodes (MAX_SLURM_NODES); export parts of it"
        )
    return source.servers


def check_names(names: Iterable[str]) -> None:
    """Raise NotExpressibleError for names of switches and blocks that are too long for Slurm."""
    if too_long := next((name for name in names if len(name) > MAX_SLURM_NAME_LENGTH), None):
        raise NotExpressibleError(f"{too_long}: names in Slurm have at most {MAX_SLURM_NAME_LENGTH} characters")


def server_blocks(source: ExportSource) -> dict[str, list[ExportedServer]]:
    """Return the servers of each Slurm block, which is a domain; all domains must be complete and of the same size.

    Raises
    ------
    NotExpressibleError
        Domains have different sizes, or a domain's server is omitted.

    """
    slurm_servers(source)  # refuses too many
    blocks_by_name = source.servers_by_domain()
    sizes = {server.model.domain_servers for members in blocks_by_name.values() for server in members}
    if len(sizes) > 1:
        raise NotExpressibleError(
            f"{source.place.address} has domains of {' and '.join(map(str, sorted(sizes)))} servers, and Slurm's "
            "blocks have one size; export the clusters separately, or use slurm-tree"
        )
    (size,) = sizes
    if partial := next((name for name, members in blocks_by_name.items() if len(members) < size), None):
        raise NotExpressibleError(
            f"{partial} would be a block of {len(blocks_by_name[partial])} servers, and Slurm refuses blocks below the "
            f"base size {size}; add --include-down, here and for slurm-nodes, which then lists unhealthy servers as "
            "DOWN or DRAIN"
        )
    check_names(blocks_by_name)
    return blocks_by_name


def block_sizes(blocks: dict[str, list[ExportedServer]]) -> list[int]:
    """Return at most 16 block sizes for Slurm: a domain's size times each power of two up to the number of domains."""
    base = len(next(iter(blocks.values())))
    return [base << k for k in range(min(len(blocks).bit_length(), 16))]


def to_one_line(text: str) -> str:
    """Return a text as Slurm can store it: short, printable, and without double quotes, which Slurm can't escape."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    words = " ".join(printable.replace('"', "'").split())
    return words if len(words) <= MAX_SLURM_REASON_LENGTH else f"{words[:MAX_SLURM_REASON_LENGTH]}…"


LABEL_PREFIX: Final = "trninv.dev"
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)
_OBJECT_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?", re.ASCII)
_MAX_OBJECT_NAME_LENGTH: Final = 253


def check_label(value: str) -> str:
    """Return a label's value, or raise NotExpressibleError if Kubernetes does not accept it."""
    if not _LABEL_VALUE.fullmatch(value):
        raise NotExpressibleError(
            f"{value} is not a Kubernetes label: use at most 63 characters, with a letter or digit first and last"
        )
    return value


def check_object_name(name: str) -> str:
    """Return an object's name, or raise NotExpressibleError if Kubernetes does not accept it."""
    if not _OBJECT_NAME.fullmatch(name) or len(name) > _MAX_OBJECT_NAME_LENGTH:
        raise NotExpressibleError(f"{name} is not a Kubernetes object name: use small letters, digits, '-' and '.'")
    return name


def topology_labels(server: ExportedServer) -> dict[str, str]:
    """Return the node labels that name the network nodes above a server, the top node first, and its domain."""
    tiers = {f"{LABEL_PREFIX}/network-node-layer-{tier}": name for tier, name in enumerate(server.network, start=1)}
    return {key: check_label(value) for key, value in (tiers | {DOMAIN_LABEL: server.domain}).items()}


_SERVER = re.compile(r"(.+)/d(\d+)/s(\d+)")


def sbatch_arguments(servers: Sequence[str], template: str, hosts: Mapping[str, str]) -> str:
    """Return the sbatch command that runs a job on whole servers, which are named by their addresses.

    ``hosts`` has the bound hosts by server; other servers get a name by the template, as in exported files.

    Raises
    ------
    UsageError, NotExpressibleError
        The template or a bound host is no valid name.

    """
    return f"sbatch --nodes={len(servers)} --nodelist={fold(_hostnames(servers, template, hosts))} --exclusive"


def pod_selectors(
    servers: Sequence[str], chips: Sequence[str], template: str, hosts: Mapping[str, str]
) -> Iterator[str]:
    """Yield a node selector for each server, and the CEL expression that selects its chips, if any.

    Parameters
    ----------
    servers, chips
        Addresses of servers, and of chips in them.
    template, hosts
        As for `sbatch_arguments`, which raises the same errors.

    """
    by_server = {server: list(group) for server, group in groupby(chips, lambda chip: chip.rpartition("/")[0])}
    for server, name in zip(servers, _hostnames(servers, template, hosts), strict=True):
        line = f"nodeSelector: {{kubernetes.io/hostname: {name}}}"
        if server in by_server:
            devices = ", ".join(chip.rpartition("/c")[2] for chip in by_server[server])
            line += f'  DRA: device.attributes["neuron.aws.com"].deviceId in [{devices}]'
        yield line


def _hostnames(servers: Sequence[str], template: str, hosts: Mapping[str, str]) -> list[str]:
    return hostnames(_parse_addresses(servers), template, [hosts.get(server) for server in servers])


def _parse_addresses(servers: Sequence[str]) -> list[ServerAddress]:
    matches = (_SERVER.fullmatch(server) for server in servers)
    return [ServerAddress(match[1], int(match[2]), int(match[3])) for match in matches if match]
