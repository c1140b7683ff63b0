"""Match the ring positions that drivers report with the servers of a domain.

The servers of some UltraServers are linked in a ring. The drivers number them around the ring from any server, in
either direction, so rotated and mirrored numbers mean the same ring. `slot_assignment`, `adoption_plan` and drift use
this module.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from trninv.catalog.models import default_systems


@cache
def server_ring(domain_model: str) -> tuple[int, ...]:
    """Return the ordinals of a domain model's servers in ring order, from 0; empty if they form no ring."""
    domain = default_systems().domains.get(domain_model)
    if domain is None:
        return ()
    nodes, adjacent, servers_by_switch = domain.blueprint.nodes, dict[int, set[int]](), dict[int, set[int]]()
    for link in domain.blueprint.scale_up_links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            server, far_server = nodes[near].server, nodes[far].server
            if server is None:  # a switch between servers belongs to no server
                continue
            linked = servers_by_switch.setdefault(far, set()) if far_server is None else {far_server}
            linked.add(server)
            for other in linked - {server}:
                adjacent.setdefault(server, set()).add(other)
                adjacent.setdefault(other, set()).add(server)
    return _find_cycle(adjacent)


def _find_cycle(adjacent: Mapping[int, set[int]]) -> tuple[int, ...]:
    """Return the vertices of a graph in the order of its cycle; empty if it is not exactly one cycle."""
    if {len(neighbours) for neighbours in adjacent.values()} != {2}:
        return ()
    cycle = [min(adjacent)]
    while candidates := sorted(adjacent[cycle[-1]] - set(cycle[-2:])):
        if candidates[0] == cycle[0]:
            break
        cycle.append(candidates[0])
    return tuple(cycle) if len(cycle) == len(adjacent) else ()


def ring_symmetries(ring: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all rotations of the ring, the unchanged one first, then all its reflections."""
    size = len(ring)
    for step in (1, -1):
        for first in range(size):
            yield tuple(ring[(first + step * position) % size] for position in range(size))


def matching_orders(
    ring: Sequence[int],
    known_servers: Mapping[int, int],
    taken_servers: Collection[int] = (),
    free_positions: Collection[int] = (),
) -> list[tuple[int, ...]]:
    """Return the rotations and reflections of a ring that agree with the known positions.

    The item of an order at index n is the server at position n.

    Parameters
    ----------
    known_servers
        The servers of bound machines, by position.
    taken_servers
        Servers that have a machine already.
    free_positions
        Positions of machines without a slot; none of them may be at a taken server.

    """
    return [
        order
        for order in ring_symmetries(ring)
        if known_servers.items() <= dict(enumerate(order)).items()
        and not any(order[position] in taken_servers for position in free_positions)
    ]
