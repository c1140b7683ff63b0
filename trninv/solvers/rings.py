"""Rings through all chips that share no link, for ring all-reduce."""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence

from trninv import deadline
from trninv.solvers.graph import Graph, capacities

_BEGINNINGS, _STEPS = 24, 12
"""Searches for rings, and steps of each for every chip."""


def rings(graph: Graph, chips: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Hamiltonian cycles of the chips that share no link, as far as a bounded search finds them.

    Widest links first, from several beginnings, deterministic. Both directions of a cycle carry a ring of their own,
    each at the capacity of the cycle's narrowest link.
    """
    searches = (random.Random(seed) for seed in range(_BEGINNINGS))  # noqa: S311 # not for secrets
    found = (tuple(_peeled(graph, chips, chance)) for chance in searches)
    return max(found, key=lambda cycles: ring_rate(graph, cycles))


def _peeled(graph: Graph, chips: Sequence[int], chance: random.Random) -> Iterator[tuple[int, ...]]:
    left = Graph(graph.subgraph(chips))
    while cycle := _widest_cycle(left, chips, chance):
        deadline.check()
        yield cycle
        left.remove_edges_from(_closed(cycle))


def ring_rate(graph: Graph, cycles: Collection[Sequence[int]]) -> int:
    """Bus bandwidth of ring all-reduces on such cycles, both directions of each together: bytes per second."""
    return sum(2 * min(graph.edges[edge]["capacity"] for edge in _closed(cycle)) for cycle in cycles)


def _closed(cycle: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(cycle, [*cycle[1:], cycle[0]], strict=True)


def _widest_cycle(graph: Graph, chips: Sequence[int], chance: random.Random) -> tuple[int, ...]:
    for floor in sorted({carries for _, _, carries in capacities(graph)}, reverse=True):
        wide = {node: {near for near, of in graph[node].items() if of["capacity"] >= floor} for node in chips}
        if cycle := _cycle(wide, chips, chance):
            return cycle
    return ()


def _cycle(near: Mapping[int, set[int]], chips: Sequence[int], chance: random.Random) -> tuple[int, ...]:
    """A Hamiltonian cycle by depth-first search, nodes with the fewest ways on first (Warnsdorff's rule)."""
    if len(chips) < 3 or any(len(near[chip]) < 2 for chip in chips):  # noqa: PLR2004 # a cycle enters and leaves
        return ()
    if len(_reach(near, chips[0])) < len(chips):
        return ()

    def onward() -> Iterator[int]:
        free = [node for node in near[path[-1]] if node not in on_path]
        return iter(sorted(free, key=lambda node: (len(near[node].difference(on_path)), chance.random())))

    path, on_path = [chips[0]], {chips[0]}
    stack = [onward()]
    for _ in range(_STEPS * len(chips)):
        deadline.check()
        if len(path) == len(chips) and chips[0] in near[path[-1]]:
            return tuple(path)
        if not stack:
            return ()
        following = next(stack[-1], None)
        if following is not None:
            path.append(following)
            on_path.add(following)
            stack.append(onward())
        else:
            stack.pop()
            on_path.discard(path.pop())
    return ()


def _reach(near: Mapping[int, set[int]], start: int) -> set[int]:
    reached, frontier = {start}, [start]
    while frontier:
        new = near[frontier.pop()] - reached
        reached |= new
        frontier += new
    return reached
