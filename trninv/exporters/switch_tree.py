"""Build the tree of switches that schedulers see."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from trninv.errors import NotExpressibleError
from trninv.exporters.export_source import ExportedServer, ExportSource

SwitchPath = tuple[str, ...]
"""The names of the switches above a server, the top first."""


class TreeSwitch(NamedTuple):
    """An inner node of the tree, with either switches or servers below it."""

    name: str
    switches: tuple[str, ...]
    servers: tuple[str, ...]


def switch_paths(source: ExportSource) -> list[tuple[ExportedServer, SwitchPath]]:
    """Return each server's path, without tiers in which every switch has one child.

    If the paths have no common root, the cluster becomes it: schedulers assume that servers without a common
    switch cannot reach each other.
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
        for depth_index, name in enumerate(path):
            depth[name] = max(depth.get(name, 0), depth_index)
            if depth_index:
                children[path[depth_index - 1]][name] = None
    if mixed := next((name for name in servers if name in children), None):
        raise NotExpressibleError(f"{mixed} has both servers and switches below it, which the format cannot express")
    order = sorted(depth, key=lambda name: -depth[name])
    return [TreeSwitch(name, tuple(children.get(name, ())), tuple(servers.get(name, ()))) for name in order]


def read_tree(switches: Iterable[TreeSwitch]) -> Iterator[tuple[str, SwitchPath]]:
    """Yield each server with its path, in the order of the servers' names."""
    parents: dict[str, str] = {}
    switch_by_server: dict[str, str] = {}
    for switch in switches:
        parents |= dict.fromkeys(switch.switches, switch.name)
        switch_by_server |= dict.fromkeys(switch.servers, switch.name)
    for server in sorted(switch_by_server):
        yield server, tuple(reversed(list(_path_upwards(switch_by_server[server], parents))))


def tree_records(source: ExportSource) -> Iterator[tuple[str, SwitchPath]]:
    """Yield the records that `read_tree` must yield for a source."""
    yield from sorted((server.name, path) for server, path in switch_paths(source))


def _path_upwards(name: str | None, parents: dict[str, str]) -> Iterator[str]:
    while name is not None:
        yield name
        name = parents.get(name)


def _server_path(server: ExportedServer, *, coarse: bool) -> SwitchPath:
    return server.network if coarse and server.network else (*server.network, server.domain)


def _drop_trivial_tiers(server_paths: Sequence[SwitchPath], servers: Sequence[str]) -> list[SwitchPath]:
    """Return the paths without tiers, counted from below, in which every switch has one child; keep at least one."""
    tiers: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path, server in zip(server_paths, servers, strict=True):
        for height, (name, child) in enumerate(zip(reversed(path), reversed((*path[1:], server)), strict=True)):
            tiers[height][name].add(child)
    kept_heights = {
        height for height, tier in tiers.items() if any(len(children) > 1 for children in tier.values())
    } or {0}
    return [
        tuple(name for index, name in enumerate(path) if len(path) - 1 - index in kept_heights) for path in server_paths
    ]
