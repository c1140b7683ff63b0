"""Blocks of a torus as bit masks: boxes with wrap, of which chips of a free set they are made, the largest one.

A set of chips is a number whose bit i is chip i, row-major as `trninv.topology.torus` numbers them. Erosion finds the
blocks of a shape: of F, the chips that are free, F & r(F) are those whose next one along an axis is free as well, where
r turns the axis by one; k - 1 such steps leave the starts of runs of k, and axis after axis leaves those of boxes. The
same steps do for one set, a number, and for those of a whole fleet, an array of 64-bit words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations, product
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trninv.topology.torus import coordinates, number, torus

Shape = tuple[int, ...]
"""How many chips a box spans along each axis of a torus."""
Words = NDArray[np.uint64]
F = TypeVar("F", int, Words)

WORD = 64
"""Chips that a word has bits for."""


@dataclass(frozen=True, slots=True)
class Block:
    """A box: where it starts, what it spans, its chips."""

    start: Shape
    shape: Shape
    mask: int


@dataclass(frozen=True)
class Torus:
    """A torus of 64 chips at most."""

    sides: Shape

    @property
    def size(self) -> int:
        """Its chips."""
        return prod(self.sides)

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Every box that fits, larger ones first."""
        spans = product(*(range(1, side + 1) for side in self.sides))
        return tuple(sorted(spans, key=lambda shape: (-prod(shape), shape)))

    def turned(self, spans: Sequence[int]) -> tuple[Shape, ...]:
        """Boxes of these spans in any order of the axes; spans may be fewer or, being 1, more than there are axes."""
        long = sorted((span for span in spans if span > 1), reverse=True)
        if len(long) > len(self.sides):
            return ()
        full = (*long, *(1 for _ in range(len(self.sides) - len(long))))
        fit = {each for each in permutations(full) if all(map(int.__le__, each, self.sides))}
        return tuple(sorted(fit))

    def blocks(self, shape: Shape) -> tuple[Block, ...]:
        """Every position of a box, by start; along an axis that it fills there is one."""
        return _blocks(self, shape)

    @cached_property
    def shape_of(self) -> Mapping[int, Shape]:
        """The shape of each set of chips that is a box."""
        return {block.mask: shape for shape in self.shapes for block in self.blocks(shape)}

    def mask(self, start: Shape, shape: Shape) -> int:
        """The chips of a box."""
        along = [
            [(at + i) % side for i in range(span)] for at, span, side in zip(start, shape, self.sides, strict=True)
        ]
        return sum(1 << number(each, self.sides) for each in product(*along))

    def anchors(self, free: F, shape: Shape) -> F:
        """The chips at which a box within a free set starts, as in `blocks`."""
        for axis, span in enumerate(shape):
            free = self.runs(free, axis, span)
        return free

    def runs(self, free: F, axis: int, span: int) -> F:
        """The chips from which on so many along an axis are free; 0 on, where they are the whole ring."""
        left = free
        for _ in range(span - 1):
            free = self._next(free, axis)
            left = left & free
        return left & _like(free, self._at(axis, 0)) if span == self.sides[axis] else left

    def largest(self, free: Words, order: Sequence[Shape]) -> NDArray[np.intp]:
        """The place in an order of shapes of the first that each free set has a box of; the order's length of none."""
        eroded: dict[Shape, Words] = {(): free}
        found = np.full(len(free), len(order))
        for shape in self.shapes:
            for axis, span in enumerate(shape):
                if shape[: axis + 1] not in eroded:
                    eroded[shape[: axis + 1]] = self.runs(eroded[shape[:axis]], axis, span)
            at = order.index(shape)
            found = np.where(eroded[shape] != 0, np.minimum(found, at), found)
        return found

    def links(self) -> Iterator[tuple[int, int, int]]:
        """Both ends and the axis of every link."""
        return ((link.a, link.b, link.axis) for link in torus(self.sides))

    def _next(self, free: F, axis: int) -> F:
        """The chips whose next one along an axis is in a set."""
        stride, side = prod(self.sides[axis + 1 :]), self.sides[axis]
        last = self._at(axis, side - 1)
        ahead: F = (free >> _like(free, stride)) & _like(free, self._full & ~last)
        back: F = (free << _like(free, stride * (side - 1))) & _like(free, last)
        return ahead | back

    def _at(self, axis: int, place: int) -> int:
        """The chips at a place along an axis."""
        return _layers(self.sides)[axis][place]

    @property
    def _full(self) -> int:
        return (1 << self.size) - 1


@lru_cache(maxsize=64)
def _layers(sides: Shape) -> tuple[tuple[int, ...], ...]:
    """By axis and place along it, the chips there."""
    places = [coordinates(chip, sides) for chip in range(prod(sides))]
    return tuple(
        tuple(sum(1 << chip for chip, at in enumerate(places) if at[axis] == place) for place in range(side))
        for axis, side in enumerate(sides)
    )


@lru_cache(maxsize=512)
def _blocks(of: Torus, shape: Shape) -> tuple[Block, ...]:
    starts = product(*(range(side if span < side else 1) for span, side in zip(shape, of.sides, strict=True)))
    return tuple(Block(start, shape, of.mask(start, shape)) for start in starts)


def _like(free: int | Words, value: int) -> Any:  # as free
    """A number that can be combined with a set."""
    return value if isinstance(free, int) else np.asarray(value, np.uint64)


def words(masks: Sequence[int], chips: int) -> Words:
    """Sets of chips as rows of words, chip 0 the lowest bit of the first."""
    width = -(-chips // WORD)
    low = (1 << WORD) - 1
    listed = [[mask >> WORD * at & low for at in range(width)] for mask in masks]
    return np.array(listed, np.uint64).reshape(len(masks), width)


def whole(rows: Words) -> list[int]:
    """The sets of `words` as numbers again."""
    return [sum(int(word) << WORD * at for at, word in enumerate(row)) for row in rows]


def distinct(rows: Words) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each different row is first, in the order of the rows, and which of them each row is."""
    order = np.lexsort(rows.T[::-1])  # unique(axis=0) compares bytes, which takes ten times as long
    ordered = rows[order]
    begins = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(rows)]
    which = np.empty(len(rows), np.intp)
    which[order] = np.cumsum(begins) - 1
    return order[begins], which


def holding(free: Words, sets: Words) -> NDArray[np.bool_]:
    """Whether each free set (rows) has all chips of each of some sets (columns)."""
    found = np.ones((len(free), len(sets)), bool)
    for at in range(free.shape[1]):
        found &= (free[:, at, None] & sets[None, :, at]) == sets[None, :, at]
    return found


def meeting(one: Words, other: Words) -> NDArray[np.bool_]:
    """Whether each of some sets (rows) has a chip of each of some others (columns)."""
    found = np.zeros((len(one), len(other)), bool)
    for at in range(one.shape[1]):
        found |= (one[:, at, None] & other[None, :, at]) != 0
    return found
