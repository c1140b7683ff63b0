"""Build the tree of switches above servers, for Slurm's tree topologies.

Its inner nodes are the network nodes of the fabric, and its lowest switches are domains: the servers that NeuronLink
connects. With ``--coarse``, the lowest switches are network nodes, if there are any.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from trninv.errors import NotExpressibleError
from trninv.exporters.export_source import ExportedServer, ExportSource

SwitchPath = tuple[str, ...]
"""The names of the switches above a server, the top switch first."""


class TreeSwitch(NamedTuple):
    """An inner node of the tree, with either switches or servers below it."""

    name: str
    switches: tuple[str, ...]
    servers: tuple[str, ...]


def switch_paths(source: ExportSource) -> list[tuple[ExportedServer, SwitchPath]]:
    """Return each server with its path, without tiers in which every switch has one child.

    If the paths have no common root, a switch named like the cluster is added as the root, because schedulers assume
    that servers without a common switch cannot reach each other.
    """
    full_paths = [_server_path(server, coarse=source.coarse) for server in source.servers]
    trimmed = _drop_trivial_tiers(full_paths, [server.name for server in source.servers])
    if len({path[0] for path in trimmed}) > 1:
        trimmed = [(source.cluster, *path) for path in trimmed]
    return list(zip(source.servers, trimmed, strict=True))


def build_switches(source: ExportSource) -> list[TreeSwitch]:
    """Return the tree's switches, children before parents.

    Raises
    ------
    NotExpressibleError
        A switch has both servers and switches below it.

    """
    children: dict[str, dict[str, None]] = defaultdict(dict)
    servers: dict[str, list[str]] = defaultdict(list)
    depth: dict[str, int] = {}
    for server, path in switch_paths(source):
        servers[path[-1]].append(server.name)
        for level, name in enumerate(path):
            depth[name] = max(depth.get(name, 0), level)
            if level:
                children[path[level - 1]][name] = None  # a dict as an ordered set
    if mixed := next((name for name in servers if name in children), None):
        raise NotExpressibleError(
            f"{mixed} has both servers and switches below it, which Slurm's trees cannot express; "
            "choose another format or a smaller scope"
        )
    order = sorted(depth, key=lambda name: -depth[name])
    return [TreeSwitch(name, tuple(children.get(name, ())), tuple(servers.get(name, ()))) for name in order]


def _server_path(server: ExportedServer, *, coarse: bool) -> SwitchPath:
    return server.network if coarse and server.network else (*server.network, server.domain)


def _drop_trivial_tiers(server_paths: Sequence[SwitchPath], servers: Sequence[str]) -> list[SwitchPath]:
    """Return the paths without tiers in which every switch has one child; keep at least the lowest tier.

    A tier is the set of all switches at one height; the lowest switches have the height 0.
    """
    tiers: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))  # children by height and switch
    for path, server in zip(server_paths, servers, strict=True):
        for height, (name, child) in enumerate(zip(reversed(path), reversed((*path[1:], server)), strict=True)):
            tiers[height][name].add(child)
    branching = {height for height, tier in tiers.items() if any(len(children) > 1 for children in tier.values())}
    kept = branching or {0}
    return [
        tuple(name for height, name in zip(range(len(path) - 1, -1, -1), path, strict=True) if height in kept)
        for path in server_paths
    ]
