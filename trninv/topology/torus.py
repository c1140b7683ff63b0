"""Enumerate the links of rings and tori.

4×4 is the 2D torus of Trn1 and Trn2 servers (device = 4·row + column); as the product of two rings of four, each the
product of two links, it is also the 4-cube. 4×4×4 is a Trn2 UltraServer with the server as first coordinate.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import NamedTuple


def ring_links(size: int) -> list[tuple[int, int]]:
    """Return the links of a ring of `size` nodes as sorted pairs (lower, higher).

    A ring of two nodes has one link, a ring of one has none: two nodes never have two links between them.
    """
    return sorted({(min(i, j), max(i, j)) for i in range(size) if (j := (i + 1) % size) != i})


class TorusLink(NamedTuple):
    """A link between two node numbers along an axis."""

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
        others = [range(s) if i != axis else range(1) for i, s in enumerate(sides)]
        stride = prod(sides[axis + 1 :])
        for base in product(*others):
            first = node_number(base, sides)
            links += [TorusLink(first + stride * i, first + stride * j, axis) for i, j in ring_links(side)]
    return sorted(links)
