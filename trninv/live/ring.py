"""Places of machines in their UltraServer's ring, matched with the servers of a domain.

A driver numbers the ring from whichever server it elects first, so numbers that are turned or mirrored mean the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from trninv.catalog.models import systems


@cache
def ring_of(domain_model: str) -> tuple[int, ...]:
    """The servers of a model of domain in the order of their ring, from the first; empty where they are in none."""
    domain = next((each.domain for each in systems().systems if each.domain.slug == domain_model), None)
    if domain is None:
        return ()
    near = dict[int, set[int]]()
    nodes, by_switch = domain.blueprint.nodes, dict[int, set[int]]()
    for wire in domain.blueprint.wires:
        servers = [nodes[end].server for end in (wire.a, wire.b)]
        for own, other, end in ((servers[0], servers[1], wire.b), (servers[1], servers[0], wire.a)):
            if own is not None:
                beside = by_switch.setdefault(end, set()) if other is None else {other}
                beside.add(own)
                for each in beside - {own}:
                    near.setdefault(own, set()).add(each)
                    near.setdefault(each, set()).add(own)
    return _cycle(near)


def _cycle(near: Mapping[int, set[int]]) -> tuple[int, ...]:
    if {len(beside) for beside in near.values()} != {2}:
        return ()
    found = [min(near)]
    while left := sorted(near[found[-1]] - set(found[-2:])):
        if left[0] == found[0]:
            break
        found.append(left[0])
    return tuple(found) if len(found) == len(near) else ()


def arrangements(ring: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Servers by place, in each way that leaves the ring as it is: as it is numbered first, turned, mirrored."""
    size = len(ring)
    for step in (1, -1):
        for first in range(size):
            yield tuple(ring[(first + step * place) % size] for place in range(size))


def fitting(
    ring: Sequence[int], known: Mapping[int, int], taken: set[int], free: Sequence[int]
) -> list[tuple[int, ...]]:
    """Arrangements that have each known place at its server, and no free place at a server that is taken."""
    return [
        each
        for each in arrangements(ring)
        if all(each[place] == server for place, server in known.items()) and taken.isdisjoint(each[p] for p in free)
    ]
