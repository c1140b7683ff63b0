"""Decompose the links of a torus into Hamiltonian cycles.

Every product of cycles is such a union (Kotzig, "Every cartesian product of two circuits is decomposable into two
Hamiltonian circuits", 1973; Foregger, Discrete Mathematics 24, 1978, for three and more). The cycles are made from the
rings along the axes, each axis with its colour. If a square has two opposite links of one colour and two of another,
exchanging the colours leaves every node two links of each, and may join rings of a colour. That is repeated until each
colour is one cycle.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from math import prod

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
