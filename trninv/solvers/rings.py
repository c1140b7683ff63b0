"""Construct edge-disjoint Hamiltonian cycles for ring all-reduce: of tori by exchanging links, else by search.

The links of every product of cycles are the union of edge-disjoint Hamiltonian cycles (Kotzig,
"Every cartesian product of two circuits is decomposable into two
Hamiltonian circuits", 1973; Foregger, Discrete Mathematics 24, 1978, for three and more). The cycles are made from the
rings along the axes, each axis with its colour. If a square has two opposite links of one colour and two of another,
exchanging the colours leaves every node two links of each, and may join rings of a colour. That is repeated until each
colour is one cycle.
"""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from math import prod

import networkx as nx

from trninv import deadline
from trninv.solvers.graph import Graph, weighted_edges
from trninv.topology.torus import coordinates, node_number, torus_links

_EXCHANGE_STARTS, _EXCHANGES_PER_NODE = 8, 400
"""Number of searches with different seeds, and limit of exchanges in each per node."""
Cycle = tuple[int, ...]
Link = frozenset[int]
Square = tuple[Link, Link, Link, Link]
"""Two opposite links, then the other two."""


@cache
def torus_rings(sides: tuple[int, ...]) -> tuple[Cycle, ...]:
    """Return one Hamiltonian cycle for each axis, as node numbers; none with a side below three or if the search fails.

    Exchanges of colours in squares (Kotzig 1973, Foregger 1978), from fixed seeds; at most 400·V exchanges of O(E) for
    each of eight seeds, and cached.

    Examples
    --------
    Two cycles of nine links each, which together are the 18 links of a 3×3 torus:

    >>> cycles = torus_rings((3, 3))
    >>> len({frozenset(link) for cycle in cycles for link in zip(cycle, cycle[1:] + cycle[:1], strict=True)})
    18
    >>> torus_rings((2, 4))
    ()

    """
    if len(sides) < 2 or min(sides) < 3:  # noqa: PLR2004 # a ring is its only cycle, and two nodes have one link
        return ()
    searches = (random.Random(seed) for seed in range(_EXCHANGE_STARTS))  # noqa: S311 # not for secrets
    return next(filter(None, (_exchange_colors(sides, generator) for generator in searches)), ())


def _exchange_colors(sides: Sequence[int], generator: random.Random) -> tuple[Cycle, ...]:
    color = {frozenset((a, b)): axis for a, b, axis in torus_links(sides)}
    squares = list(_squares(sides))
    cycles = _color_cycles(color)
    for _ in range(_EXCHANGES_PER_NODE * prod(sides)):
        if len(cycles) == len(sides):
            return tuple(cycles)
        (a, b, c, d) = generator.choice(squares)
        first_color, second_color = color[a], color[c]
        if first_color != color[b] or second_color != color[d] or first_color == second_color:
            continue
        new_colors = {a: second_color, b: second_color, c: first_color, d: first_color}
        if len(new_cycles := _color_cycles(color | new_colors)) <= len(cycles):
            color |= new_colors
            cycles = new_cycles
    return ()


def _squares(sides: Sequence[int]) -> Iterator[Square]:
    for node in range(prod(sides)):
        for i, j in combinations(range(len(sides)), 2):
            a, b, c, d = (_step(node, axes, sides) for axes in ((), (i,), (i, j), (j,)))
            yield frozenset((a, b)), frozenset((d, c)), frozenset((b, c)), frozenset((a, d))


def _step(node: int, axes: Sequence[int], sides: Sequence[int]) -> int:
    position = coordinates(node, sides)
    return node_number(
        [(x + (axis in axes)) % side for axis, (x, side) in enumerate(zip(position, sides, strict=True))], sides
    )


def _color_cycles(color: Mapping[Link, int]) -> list[Cycle]:
    """Return the cycles of each colour; every node has two links of it."""
    neighbors: dict[tuple[int, int], list[int]] = {}
    for link, axis in color.items():
        a, b = link
        neighbors.setdefault((axis, a), []).append(b)
        neighbors.setdefault((axis, b), []).append(a)
    cycles = []
    while neighbors:
        (axis, start), (_, next_node) = next(iter(neighbors.items()))
        cycle = [start]
        while next_node != start:
            cycle.append(next_node)
            a, b = neighbors.pop((axis, next_node))
            next_node = b if a == cycle[-2] else a
        del neighbors[axis, start]
        cycles.append(tuple(cycle))
    return cycles


_SEARCH_STARTS, _STEPS_PER_CHIP = 24, 12
"""Number of searches, and limit of steps for each ring per chip."""


def edge_disjoint_rings(graph: Graph, chips: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return Hamiltonian cycles of the chips that share no link: those of their torus, or the best of a bounded search.

    The cycles of a torus follow Kotzig (1973) and Foregger (1978). Otherwise a depth-first search with Warnsdorff's
    rule takes the widest links first, from several starts with fixed seeds; O(chips·links) for each start. Both
    directions of a cycle carry a ring of their own at the capacity of its narrowest link.

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> [cycle] = edge_disjoint_rings(graph, [1, 2, 3, 4])
    >>> cycle in [(1, 2, 3, 4), (1, 4, 3, 2)]
    True

    """
    best = _torus_rings(graph, chips)
    if not best or ring_bandwidth(graph, best) < max_ring_bandwidth(graph, chips):
        searches = (random.Random(seed) for seed in range(_SEARCH_STARTS))  # noqa: S311 # not for secrets
        candidates = (tuple(_peel_cycles(graph, chips, generator)) for generator in searches)
        best = max([best, *candidates], key=lambda cycles: ring_bandwidth(graph, cycles))
    links = [frozenset(edge) for cycle in best for edge in _cycle_edges(cycle)]
    if len(set(links)) < len(links) or any(sorted(cycle) != sorted(chips) for cycle in best):
        raise AssertionError("rings pass every chip once, and no link twice")
    return best


def max_ring_bandwidth(graph: Graph, chips: Collection[int]) -> int:
    """Return an upper bound on the `ring_bandwidth` of any link-disjoint Hamiltonian cycles.

    Cycles of bottleneck w or more use only links of w or more, two at each chip. For each capacity w, let n(w) be half
    the fewest such links at a chip, or 0 if these links form no biconnected graph (Tarjan 1972). The bound is
    2·Σ n(w)·(w - next smaller capacity). O(capacities·E).

    Examples
    --------
    One ring at 10 in both directions:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> max_ring_bandwidth(graph, [1, 2, 3, 4])
    20

    """
    bandwidth, previous_width = 0, 0
    wide_graph = Graph(graph.subgraph(chips))
    for width in sorted({capacity for _, _, capacity in weighted_edges(wide_graph)}):
        wide_graph.remove_edges_from([(a, b) for a, b, capacity in weighted_edges(wide_graph) if capacity < width])
        if not nx.is_biconnected(wide_graph):
            break
        bandwidth += 2 * (width - previous_width) * min(len(neighbors) // 2 for _, neighbors in wide_graph.adjacency())
        previous_width = width
    return bandwidth


def _torus_rings(graph: Graph, chips: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the cycles of the chips' torus whose links all exist, and others that a search finds in the rest."""
    chip_at: dict[tuple[int, ...], int] = {
        position: chip for chip in chips if (position := graph.nodes[chip].get("position")) is not None
    }
    if len(chip_at) < len(chips):
        return ()
    sides = tuple(axis for axis in (len(set(values)) for values in zip(*chip_at, strict=True)) if axis > 1)
    places = sorted(chip_at)
    if prod(sides) != len(places):
        return ()
    cycles = (tuple(chip_at[places[node]] for node in cycle) for cycle in torus_rings(sides))
    complete = [cycle for cycle in cycles if all(graph.has_edge(*edge) for edge in _cycle_edges(cycle))]
    remaining = Graph(graph)
    remaining.remove_edges_from(edge for cycle in complete for edge in _cycle_edges(cycle))
    return (*complete, *_peel_cycles(remaining, chips, random.Random(0)))  # noqa: S311 # not for secrets


def _peel_cycles(graph: Graph, chips: Sequence[int], generator: random.Random) -> Iterator[tuple[int, ...]]:
    remaining = Graph(graph.subgraph(chips))
    while cycle := _widest_cycle(remaining, chips, generator):
        deadline.raise_if_expired()
        yield cycle
        remaining.remove_edges_from(_cycle_edges(cycle))


def ring_bandwidth(graph: Graph, cycles: Collection[Sequence[int]]) -> int:
    """Return the bus bandwidth of ring all-reduces on cycles, both directions of each together, in bytes per second.

    Twice the sum of the cycles' narrowest links; O(total length).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> ring_bandwidth(graph, [[1, 2, 3, 4]])
    20

    """
    return sum(2 * min(graph.edges[edge]["capacity"] for edge in _cycle_edges(cycle)) for cycle in cycles)


def _cycle_edges(cycle: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(cycle, [*cycle[1:], cycle[0]], strict=True)


def _widest_cycle(graph: Graph, chips: Sequence[int], generator: random.Random) -> tuple[int, ...]:
    for floor in sorted({capacity for _, _, capacity in weighted_edges(graph)}, reverse=True):
        neighbors = {
            node: {neighbor for neighbor, link in graph[node].items() if link["capacity"] >= floor} for node in chips
        }
        if cycle := _find_cycle(neighbors, chips, generator):
            return cycle
    return ()


def _find_cycle(neighbors: Mapping[int, set[int]], chips: Sequence[int], generator: random.Random) -> tuple[int, ...]:
    """Find a Hamiltonian cycle by depth-first search, nodes with the fewest next nodes first (Warnsdorff's rule)."""
    if len(chips) < 3 or any(len(neighbors[chip]) < 2 for chip in chips):  # noqa: PLR2004 # a cycle enters and leaves
        return ()
    if len(_reachable(neighbors, chips[0])) < len(chips):
        return ()

    def next_nodes() -> Iterator[int]:
        unvisited = [node for node in neighbors[path[-1]] if node not in on_path]
        return iter(sorted(unvisited, key=lambda node: (len(neighbors[node].difference(on_path)), generator.random())))

    path, on_path = [chips[0]], {chips[0]}
    stack = [next_nodes()]
    for _ in range(_STEPS_PER_CHIP * len(chips)):
        deadline.raise_if_expired()
        if len(path) == len(chips) and chips[0] in neighbors[path[-1]]:
            return tuple(path)
        if not stack:
            return ()
        next_node = next(stack[-1], None)
        if next_node is not None:
            path.append(next_node)
            on_path.add(next_node)
            stack.append(next_nodes())
        else:
            stack.pop()
            on_path.discard(path.pop())
    return ()


def _reachable(neighbors: Mapping[int, set[int]], start: int) -> set[int]:
    reached, frontier = {start}, [start]
    while frontier:
        new = neighbors[frontier.pop()] - reached
        reached |= new
        frontier += new
    return reached
