"""Enumerate the links of rings and tori, for the wiring pattern torus and the solvers.

A torus is given by its sides, the numbers of nodes along its axes. 4×4 is the 2D torus of Trn1 and Trn2 servers
(chip = 4·row + column). It is also the 4-cube, because it is the product of two rings of four, each of which is the
product of two links. 4×4×4 is a Trn2 UltraServer, with the server as first coordinate.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import NamedTuple


def ring_links(size: int) -> list[tuple[int, int]]:
    """Return the links of a ring of ``size`` nodes as sorted pairs (lower, higher).

    A ring of two nodes has one link instead of two parallel links; a ring of one node has none.
    """
    return sorted({(min(i, j), max(i, j)) for i in range(size) if (j := (i + 1) % size) != i})


class TorusLink(NamedTuple):
    """A link along an axis between the nodes numbered a and b."""

    a: int
    b: int
    axis: int


def coordinates(node: int, sides: Sequence[int]) -> tuple[int, ...]:
    """Return the coordinates of a node number; the last axis varies fastest."""
    position: list[int] = []
    for side in reversed(sides):
        node, coordinate = divmod(node, side)
        position.append(coordinate)
    return tuple(reversed(position))


def node_number(position: Sequence[int], sides: Sequence[int]) -> int:
    """Return the node number at a position, the inverse of `coordinates`."""
    node = 0
    for coordinate, side in zip(position, sides, strict=True):
        node = node * side + coordinate
    return node


def torus_links(sides: Sequence[int]) -> list[TorusLink]:
    """Return the links of a torus, sorted by (a, b); axis i has ∏ sides / side_i rings of side_i nodes."""
    links = []
    for axis, side in enumerate(sides):
        ring_starts = product(*(range(1) if i == axis else range(other) for i, other in enumerate(sides)))
        stride = prod(sides[axis + 1 :])
        for start in ring_starts:
            first = node_number(start, sides)
            links += [TorusLink(first + stride * i, first + stride * j, axis) for i, j in ring_links(side)]
    return sorted(links)
