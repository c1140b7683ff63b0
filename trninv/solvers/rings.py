"""Rings through all chips that share no link, for ring all-reduce."""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod

import networkx as nx

from trninv import deadline
from trninv.solvers.graph import Graph, capacities
from trninv.solvers.torus_rings import torus_rings

_BEGINNINGS, _STEPS = 24, 12
"""Searches for rings, and steps of each for every chip."""


def rings(graph: Graph, chips: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Hamiltonian cycles of the chips that share no link: those of their torus, or what a bounded search finds.

    The search takes the widest links first, from several beginnings, deterministic. Both directions of a cycle carry a
    ring of their own, each at the capacity of the cycle's narrowest link.
    """
    best = _of_torus(graph, chips)
    if not best or ring_rate(graph, best) < most(graph, chips):
        searches = (random.Random(seed) for seed in range(_BEGINNINGS))  # noqa: S311 # not for secrets
        found = (tuple(_peeled(graph, chips, chance)) for chance in searches)
        best = max([best, *found], key=lambda cycles: ring_rate(graph, cycles))
    links = [frozenset(edge) for cycle in best for edge in _closed(cycle)]
    if len(set(links)) < len(links) or any(sorted(cycle) != sorted(chips) for cycle in best):
        raise AssertionError("rings pass every chip once, and no link twice")
    return best


def most(graph: Graph, chips: Collection[int]) -> int:
    """No such cycles have a higher `ring_rate`: those of w or more use only links of w or more, two at each chip.

    So they are none where these links don't hold every chip twice, and else half of the fewest at a chip at most. The
    rate is twice the sum over the capacities, each less the one before, of how many there are.
    """
    found, before = 0, 0
    wide = Graph(graph.subgraph(chips))
    for width in sorted({carries for _, _, carries in capacities(wide)}):
        wide.remove_edges_from([(a, b) for a, b, carries in capacities(wide) if carries < width])
        if not nx.is_biconnected(wide):
            break
        found += 2 * (width - before) * min(len(near) // 2 for _, near in wide.adjacency())
        before = width
    return found


def _of_torus(graph: Graph, chips: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Of the cycles of the chips' torus those whose links are all there, and what a search finds beside them."""
    at: dict[tuple[int, ...], int] = {
        position: chip for chip in chips if (position := graph.nodes[chip].get("position")) is not None
    }
    if len(at) < len(chips):
        return ()
    sides = tuple(axis for axis in (len(set(values)) for values in zip(*at, strict=True)) if axis > 1)
    places = sorted(at)
    if prod(sides) != len(places):
        return ()
    cycles = (tuple(at[places[node]] for node in cycle) for cycle in torus_rings(sides))
    there = [cycle for cycle in cycles if all(graph.has_edge(*edge) for edge in _closed(cycle))]
    left = Graph(graph)
    left.remove_edges_from(edge for cycle in there for edge in _closed(cycle))
    return (*there, *_peeled(left, chips, random.Random(0)))  # noqa: S311 # not for secrets


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
