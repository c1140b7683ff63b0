"""The tree that schedulers see: servers in scale-up domains, these below the tiers of the fabric."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from trninv.errors import NotExpressibleError
from trninv.exporters.source import Server, Source

Path = tuple[str, ...]
"""Names of what a server lies in, the top first."""


class Switch(NamedTuple):
    """An inner node of the tree, with either switches or servers below it."""

    name: str
    switches: tuple[str, ...]
    servers: tuple[str, ...]


def paths(source: Source) -> list[tuple[Server, Path]]:
    """What each server lies in; a tier in which everything has one thing below it says nothing and is left out.

    If nothing holds them all, the cluster does: a scheduler takes what has no common switch to be out of reach.
    """
    ways = [_way(server, coarse=source.coarse) for server in source.servers]
    said = _told(ways, [server.name for server in source.servers])
    if len({way[0] for way in said}) > 1:
        said = [(source.cluster, *way) for way in said]
    return list(zip(source.servers, said, strict=True))


def switches(source: Source) -> list[Switch]:
    """The tree's inner nodes, each after those below it.

    Raises
    ------
    NotExpressibleError
        One has both servers and switches below it.

    """
    below: dict[str, dict[str, None]] = defaultdict(dict)
    servers: dict[str, list[str]] = defaultdict(list)
    depth: dict[str, int] = {}
    for server, path in paths(source):
        servers[path[-1]].append(server.name)
        for at, name in enumerate(path):
            depth[name] = max(depth.get(name, 0), at)
            if at:
                below[path[at - 1]][name] = None
    if mixed := next((name for name in servers if name in below), None):
        raise NotExpressibleError(f"{mixed} has servers and switches below it, and a switch has one or the other")
    order = sorted(depth, key=lambda name: -depth[name])
    return [Switch(name, tuple(below.get(name, ())), tuple(servers.get(name, ()))) for name in order]


def read(found: Iterable[Switch]) -> Iterator[tuple[str, Path]]:
    """Server and path of each leaf of a tree, by the servers' names."""
    above: dict[str, str] = {}
    at: dict[str, str] = {}
    for switch in found:
        above |= dict.fromkeys(switch.switches, switch.name)
        at |= dict.fromkeys(switch.servers, switch.name)
    for server in sorted(at):
        yield server, tuple(reversed(list(_up(at[server], above))))


def records(source: Source) -> Iterator[tuple[str, Path]]:
    """What `read` must find."""
    yield from sorted((server.name, path) for server, path in paths(source))


def _up(name: str | None, above: dict[str, str]) -> Iterator[str]:
    while name is not None:
        yield name
        name = above.get(name)


def _way(server: Server, *, coarse: bool) -> Path:
    return server.network if coarse and server.network else (*server.network, server.domain)


def _told(ways: Sequence[Path], servers: Sequence[str]) -> list[Path]:
    """The ways without tiers that say nothing, counted from below; the lowest stays if all say nothing."""
    tiers: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for way, server in zip(ways, servers, strict=True):
        for height, (name, child) in enumerate(zip(reversed(way), reversed((*way[1:], server)), strict=True)):
            tiers[height][name].add(child)
    says = {height for height, tier in tiers.items() if any(len(children) > 1 for children in tier.values())} or {0}
    return [tuple(name for at, name in enumerate(way) if len(way) - 1 - at in says) for way in ways]
