"""Construct edge-disjoint Hamiltonian cycles for ring all-reduces, by exchanging links in a torus or else by search.

A ring all-reduce passes every chip once. Several all-reduces can run at the same time if their cycles share no link.
The question `trninv.routing.questions.collectives` calls this module.

A torus is a product of cycles, and its links are the union of edge-disjoint Hamiltonian cycles (Kotzig, "Every
cartesian product of two circuits is decomposable into two Hamiltonian circuits", 1973; Foregger, Discrete Mathematics
24, 1978, for three and more). To construct the cycles, the links along each axis are given a color of their own, so
that each color consists of several rings. If a square has two opposite links of one color and two of another,
exchanging the colors leaves two links of each color at every node, and may join rings of a color. That is repeated
until each color is a single cycle.
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
"""Number of searches with different seeds, and limit of exchanges per node in each search."""
Cycle = tuple[int, ...]
Link = frozenset[int]
Square = tuple[Link, Link, Link, Link]
"""The four links of a square in a torus: two opposite links, then the other two."""


@cache
def torus_rings(sides: tuple[int, ...]) -> tuple[Cycle, ...]:
    """Return one Hamiltonian cycle for each axis, as node numbers; none if a side is below three or the search fails.

    The search exchanges colors in random squares (Kotzig 1973, Foregger 1978). It makes at most 400·V exchanges of O(E)
    for each of eight fixed seeds. Results are cached.

    Examples
    --------
    Two cycles of nine links each, which together are the 18 links of a 3×3 torus:

    >>> cycles = torus_rings((3, 3))
    >>> len({frozenset(link) for cycle in cycles for link in zip(cycle, cycle[1:] + cycle[:1], strict=True)})
    18
    >>> torus_rings((2, 4))
    ()

    """
    if len(sides) < 2 or min(sides) < 3:  # noqa: PLR2004 # one ring has only one cycle, and two nodes have only one link
        return ()
    searches = (random.Random(seed) for seed in range(_EXCHANGE_STARTS))  # noqa: S311 # not for secrets
    return next(filter(None, (_exchange_colors(sides, generator) for generator in searches)), ())


def _exchange_colors(sides: Sequence[int], generator: random.Random) -> tuple[Cycle, ...]:
    """Return one cycle for each color, by exchanges in random squares; empty if the limit of exchanges is reached."""
    color = {frozenset((u, v)): axis for u, v, axis in torus_links(sides)}
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
            a, b, c, d = (_step(node, axes, sides) for axes in ((), (i,), (i, j), (j,)))  # the corners in order
            yield frozenset((a, b)), frozenset((d, c)), frozenset((b, c)), frozenset((a, d))


def _step(node: int, axes: Sequence[int], sides: Sequence[int]) -> int:
    """Return the node one step farther along each of some axes."""
    position = coordinates(node, sides)
    return node_number([(position[axis] + (axis in axes)) % side for axis, side in enumerate(sides)], sides)


def _color_cycles(color: Mapping[Link, int]) -> list[Cycle]:
    """Return the cycles of all colors; every node must have two links of each color."""
    neighbors: dict[tuple[int, int], list[int]] = {}
    for link, axis in color.items():
        u, v = link
        neighbors.setdefault((axis, u), []).append(v)
        neighbors.setdefault((axis, v), []).append(u)
    cycles = []
    while neighbors:
        (axis, start), (_, next_node) = next(iter(neighbors.items()))
        cycle = [start]
        while next_node != start:
            cycle.append(next_node)
            u, v = neighbors.pop((axis, next_node))
            next_node = v if u == cycle[-2] else u
        del neighbors[axis, start]
        cycles.append(tuple(cycle))
    return cycles


_SEARCH_STARTS, _STEPS_PER_CHIP = 24, 12
"""Number of searches with different seeds, and limit of steps per chip in the search for a cycle."""


def edge_disjoint_rings(graph: Graph, chips: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return Hamiltonian cycles of the chips that share no link: those of their torus, or the best that searches find.

    The cycles of a torus follow Kotzig (1973) and Foregger (1978). If these do not reach the upper bound, depth-first
    searches with Warnsdorff's rule (1823) follow, which try the widest links first; O(chips·links) for each of 24 fixed
    seeds.

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

    A cycle whose narrowest link has the capacity w or more uses only links of w or more, two of them at each chip. For
    each capacity w, let n(w) be half the least number of such links at a chip, rounded down, or 0 if these links do not
    form a biconnected graph (Tarjan 1972). The bound is 2·Σ n(w)·(w - next smaller capacity). O(capacities·E).

    Examples
    --------
    One cycle whose narrowest link has a capacity of 10 in each of two directions:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> max_ring_bandwidth(graph, [1, 2, 3, 4])
    20

    """
    bandwidth, previous_width = 0, 0
    wide_graph = Graph(graph.subgraph(chips))
    for width in sorted({capacity for _, _, capacity in weighted_edges(wide_graph)}):
        wide_graph.remove_edges_from([(u, v) for u, v, capacity in weighted_edges(wide_graph) if capacity < width])
        if not nx.is_biconnected(wide_graph):
            break
        bandwidth += 2 * (width - previous_width) * min(len(neighbors) // 2 for _, neighbors in wide_graph.adjacency())
        previous_width = width
    return bandwidth


def _torus_rings(graph: Graph, chips: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the cycles of the chips' torus whose links all exist, and cycles that a search finds in other links."""
    chip_at: dict[tuple[int, ...], int] = {
        position: chip for chip in chips if (position := graph.nodes[chip].get("position")) is not None
    }
    if len(chip_at) < len(chips):
        return ()
    sides = tuple(axis for axis in (len(set(values)) for values in zip(*chip_at, strict=True)) if axis > 1)
    positions = sorted(chip_at)
    if prod(sides) != len(positions):
        return ()
    cycles = (tuple(chip_at[positions[node]] for node in cycle) for cycle in torus_rings(sides))
    complete = [cycle for cycle in cycles if all(graph.has_edge(*edge) for edge in _cycle_edges(cycle))]
    remaining = Graph(graph)
    remaining.remove_edges_from(edge for cycle in complete for edge in _cycle_edges(cycle))
    return (*complete, *_peel_cycles(remaining, chips, random.Random(0)))  # noqa: S311 # not for secrets


def _peel_cycles(graph: Graph, chips: Sequence[int], generator: random.Random) -> Iterator[tuple[int, ...]]:
    """Yield cycles until no more are found; each uses only links that the cycles before have not used."""
    remaining = Graph(graph.subgraph(chips))
    while cycle := _widest_cycle(remaining, chips, generator):
        deadline.raise_if_expired()
        yield cycle
        remaining.remove_edges_from(_cycle_edges(cycle))


def ring_bandwidth(graph: Graph, cycles: Collection[Sequence[int]]) -> int:
    """Return the bus bandwidth of ring all-reduces in both directions of some cycles, in bytes per second.

    Each direction of a cycle carries as much as the cycle's narrowest link, so the bandwidth is twice the sum of the
    narrowest links' capacities. O(total length).

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
    """Return a cycle whose narrowest link is as wide as the search finds; empty if it finds none."""
    for floor in sorted({capacity for _, _, capacity in weighted_edges(graph)}, reverse=True):
        neighbors = {
            node: {neighbor for neighbor, link in graph[node].items() if link["capacity"] >= floor} for node in chips
        }
        if cycle := _find_cycle(neighbors, chips, generator):
            return cycle
    return ()


def _find_cycle(neighbors: Mapping[int, set[int]], chips: Sequence[int], generator: random.Random) -> tuple[int, ...]:
    """Find a Hamiltonian cycle by depth-first search; empty if there is none or the limit of steps is reached.

    The search tries nodes with the fewest unvisited neighbors first (Warnsdorff's rule).
    """
    if len(chips) < 3 or any(len(neighbors[chip]) < 2 for chip in chips):  # noqa: PLR2004 # a cycle enters and leaves each chip
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
