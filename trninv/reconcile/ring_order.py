"""Match ring positions with the servers of a domain.

A driver numbers the ring from any server, in either direction, so rotated and mirrored numbers mean the same ring.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from trninv.catalog.models import default_systems


@cache
def server_ring(domain_model: str) -> tuple[int, ...]:
    """Return the servers of a domain model in ring order, from the first; empty if they form no ring."""
    domain = next((item.domain for item in default_systems().systems if item.domain.slug == domain_model), None)
    if domain is None:
        return ()
    adjacent = dict[int, set[int]]()
    nodes, by_switch = domain.blueprint.nodes, dict[int, set[int]]()
    for link in domain.blueprint.scale_up_links:
        servers = [nodes[end].server for end in (link.a, link.b)]
        for own, other, end in ((servers[0], servers[1], link.b), (servers[1], servers[0], link.a)):
            if own is not None:
                neighbours = by_switch.setdefault(end, set()) if other is None else {other}
                neighbours.add(own)
                for item in neighbours - {own}:
                    adjacent.setdefault(own, set()).add(item)
                    adjacent.setdefault(item, set()).add(own)
    return _find_cycle(adjacent)


def _find_cycle(adjacent: Mapping[int, set[int]]) -> tuple[int, ...]:
    if {len(neighbours) for neighbours in adjacent.values()} != {2}:
        return ()
    cycle = [min(adjacent)]
    while candidates := sorted(adjacent[cycle[-1]] - set(cycle[-2:])):
        if candidates[0] == cycle[0]:
            break
        cycle.append(candidates[0])
    return tuple(cycle) if len(cycle) == len(adjacent) else ()


def ring_symmetries(ring: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the servers by position for each symmetry of the ring: the identity first, then rotated, then mirrored."""
    size = len(ring)
    for step in (1, -1):
        for first in range(size):
            yield tuple(ring[(first + step * place) % size] for place in range(size))


def matching_orders(
    ring: Sequence[int], known_servers: Mapping[int, int], taken_servers: set[int], free_positions: Sequence[int]
) -> list[tuple[int, ...]]:
    """Return the arrangements with each known position at its server, and no free position at an occupied one."""
    return [
        order
        for order in ring_symmetries(ring)
        if all(order[position] == server for position, server in known_servers.items())
        and taken_servers.isdisjoint(order[free_position] for free_position in free_positions)
    ]
