"""All links of a torus as Hamiltonian cycles that share none.

A product of cycles is a union of such (Kotzig, "Every cartesian product of two circuits is decomposable into two
Hamiltonian circuits", 1973; Foregger, Discrete Mathematics 24, 1978, for three and more). They are made from the rings
along the axes, one colour an axis: where a square has two opposite links of one colour and two of another, exchanging
the colours keeps two links of each at every node, and may join rings of a colour. That is done until each is one cycle.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from math import prod

from trninv.topology.torus import coordinates, number, torus

_BEGINNINGS, _STEPS = 8, 400
"""Of the exchanges, and how many are tried for every node."""

Cycle = tuple[int, ...]
Link = frozenset[int]
Square = tuple[Link, Link, Link, Link]
"""Two opposite links, and the other two."""


@cache
def torus_rings(sides: tuple[int, ...]) -> tuple[Cycle, ...]:
    """As many as there are axes, by node numbers; none for a side below three, or where they were not found."""
    if len(sides) < 2 or min(sides) < 3:  # noqa: PLR2004 # a ring is its only cycle, and two nodes have one link
        return ()
    searches = (random.Random(seed) for seed in range(_BEGINNINGS))  # noqa: S311 # not for secrets
    return next(filter(None, (_exchanged(sides, chance) for chance in searches)), ())


def _exchanged(sides: Sequence[int], chance: random.Random) -> tuple[Cycle, ...]:
    colour = {frozenset((a, b)): axis for a, b, axis in torus(sides)}
    squares = list(_squares(sides))
    cycles = _cycles(colour)
    for _ in range(_STEPS * prod(sides)):
        if len(cycles) == len(sides):
            return tuple(cycles)
        (a, b, c, d) = chance.choice(squares)
        one, other = colour[a], colour[c]
        if one != colour[b] or other != colour[d] or one == other:
            continue
        exchanged = {a: other, b: other, c: one, d: one}
        if len(after := _cycles(colour | exchanged)) <= len(cycles):
            colour |= exchanged
            cycles = after
    return ()


def _squares(sides: Sequence[int]) -> Iterator[Square]:
    for node in range(prod(sides)):
        for i, j in combinations(range(len(sides)), 2):
            a, b, c, d = (_moved(node, axes, sides) for axes in ((), (i,), (i, j), (j,)))
            yield frozenset((a, b)), frozenset((d, c)), frozenset((b, c)), frozenset((a, d))


def _moved(node: int, axes: Sequence[int], sides: Sequence[int]) -> int:
    at = coordinates(node, sides)
    return number([(x + (axis in axes)) % side for axis, (x, side) in enumerate(zip(at, sides, strict=True))], sides)


def _cycles(colour: Mapping[Link, int]) -> list[Cycle]:
    """The cycles of each colour, of which every node has two links."""
    near: dict[tuple[int, int], list[int]] = {}
    for link, axis in colour.items():
        a, b = link
        near.setdefault((axis, a), []).append(b)
        near.setdefault((axis, b), []).append(a)
    found = []
    while near:
        (axis, start), (_, onward) = next(iter(near.items()))
        cycle = [start]
        while onward != start:
            cycle.append(onward)
            a, b = near.pop((axis, onward))
            onward = b if a == cycle[-2] else a
        del near[axis, start]
        found.append(tuple(cycle))
    return found
