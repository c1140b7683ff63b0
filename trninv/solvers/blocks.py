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

from trninv.topology.torus import coordinates, node_number, torus_links

Shape = tuple[int, ...]
"""How many chips a box spans along each axis of a torus."""
MaskRows = NDArray[np.uint64]
F = TypeVar("F", int, MaskRows)

WORD_BITS = 64
"""Chips that a word has bits for."""


@dataclass(frozen=True, slots=True)
class TorusBlock:
    """A box: where it starts, what it spans, its chips."""

    start: Shape
    shape: Shape
    mask: int


@dataclass(frozen=True)
class Torus:
    """A torus of 64 chips at most."""

    sides: Shape

    @property
    def chip_count(self) -> int:
        """Its chips."""
        return prod(self.sides)

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Every box that fits, larger ones first."""
        spans = product(*(range(1, side + 1) for side in self.sides))
        return tuple(sorted(spans, key=lambda shape: (-prod(shape), shape)))

    def orientations(self, spans: Sequence[int]) -> tuple[Shape, ...]:
        """Boxes of these spans in any order of the axes; spans may be fewer or, being 1, more than there are axes."""
        long_spans = sorted((span for span in spans if span > 1), reverse=True)
        if len(long_spans) > len(self.sides):
            return ()
        padded = (*long_spans, *(1 for _ in range(len(self.sides) - len(long_spans))))
        fitting = {shape for shape in permutations(padded) if all(map(int.__le__, shape, self.sides))}
        return tuple(sorted(fitting))

    def blocks(self, shape: Shape) -> tuple[TorusBlock, ...]:
        """Every position of a box, by start; along an axis that it fills there is one."""
        return _blocks(self, shape)

    @cached_property
    def shape_by_mask(self) -> Mapping[int, Shape]:
        """The shape of each set of chips that is a box."""
        return {block.mask: shape for shape in self.shapes for block in self.blocks(shape)}

    def mask(self, start: Shape, shape: Shape) -> int:
        """The chips of a box."""
        axis_positions = [
            [(first + i) % side for i in range(span)]
            for first, span, side in zip(start, shape, self.sides, strict=True)
        ]
        return sum(1 << node_number(position, self.sides) for position in product(*axis_positions))

    def anchors(self, free: F, shape: Shape) -> F:
        """The chips at which a box within a free set starts, as in `blocks`."""
        for axis, span in enumerate(shape):
            free = self.free_runs(free, axis, span)
        return free

    def free_runs(self, free: F, axis: int, span: int) -> F:
        """The chips from which on so many along an axis are free; 0 on, where they are the whole ring."""
        starts = free
        for _ in range(span - 1):
            free = self._shift(free, axis)
            starts = starts & free
        return starts & _as_operand(free, self._layer(axis, 0)) if span == self.sides[axis] else starts

    def first_fitting_shape(self, free: MaskRows, order: Sequence[Shape]) -> NDArray[np.intp]:
        """The place in an order of shapes of the first that each free set has a box of; the order's length of none."""
        anchors_by_prefix: dict[Shape, MaskRows] = {(): free}
        first_index = np.full(len(free), len(order))
        for shape in self.shapes:
            for axis, span in enumerate(shape):
                if shape[: axis + 1] not in anchors_by_prefix:
                    anchors_by_prefix[shape[: axis + 1]] = self.free_runs(anchors_by_prefix[shape[:axis]], axis, span)
            index = order.index(shape)
            first_index = np.where(anchors_by_prefix[shape] != 0, np.minimum(first_index, index), first_index)
        return first_index

    def links(self) -> Iterator[tuple[int, int, int]]:
        """Both ends and the axis of every link."""
        return ((link.a, link.b, link.axis) for link in torus_links(self.sides))

    def _shift(self, free: F, axis: int) -> F:
        """The chips whose next one along an axis is in a set."""
        stride, side = prod(self.sides[axis + 1 :]), self.sides[axis]
        last_layer = self._layer(axis, side - 1)
        inner: F = (free >> _as_operand(free, stride)) & _as_operand(free, self._full & ~last_layer)
        wrapped: F = (free << _as_operand(free, stride * (side - 1))) & _as_operand(free, last_layer)
        return inner | wrapped

    def _layer(self, axis: int, coordinate: int) -> int:
        """The chips at a place along an axis."""
        return _layers(self.sides)[axis][coordinate]

    @property
    def _full(self) -> int:
        return (1 << self.chip_count) - 1


@lru_cache(maxsize=64)
def _layers(sides: Shape) -> tuple[tuple[int, ...], ...]:
    """By axis and place along it, the chips there."""
    positions = [coordinates(chip, sides) for chip in range(prod(sides))]
    return tuple(
        tuple(
            sum(1 << chip for chip, position in enumerate(positions) if position[axis] == coordinate)
            for coordinate in range(side)
        )
        for axis, side in enumerate(sides)
    )


@lru_cache(maxsize=512)
def _blocks(torus: Torus, shape: Shape) -> tuple[TorusBlock, ...]:
    starts = product(*(range(side if span < side else 1) for span, side in zip(shape, torus.sides, strict=True)))
    return tuple(TorusBlock(start, shape, torus.mask(start, shape)) for start in starts)


def _as_operand(free: int | MaskRows, value: int) -> Any:  # as free
    """A number that can be combined with a set."""
    return value if isinstance(free, int) else np.asarray(value, np.uint64)


def pack_masks(masks: Sequence[int], chips: int) -> MaskRows:
    """Sets of chips as rows of words, chip 0 the lowest bit of the first."""
    width = -(-chips // WORD_BITS)
    word_mask = (1 << WORD_BITS) - 1
    rows = [[mask >> WORD_BITS * index & word_mask for index in range(width)] for mask in masks]
    return np.array(rows, np.uint64).reshape(len(masks), width)


def unpack_masks(rows: MaskRows) -> list[int]:
    """The sets of `words` as numbers again."""
    return [sum(int(word) << WORD_BITS * index for index, word in enumerate(row)) for row in rows]


def unique_rows(rows: MaskRows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each different row is first, in the order of the rows, and which of them each row is."""
    order = np.lexsort(rows.T[::-1])  # unique(axis=0) compares bytes, which takes ten times as long
    ordered = rows[order]
    is_first = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(rows)]
    row_class = np.empty(len(rows), np.intp)
    row_class[order] = np.cumsum(is_first) - 1
    return order[is_first], row_class


def contains(free: MaskRows, sets: MaskRows) -> NDArray[np.bool_]:
    """Whether each free set (rows) has all chips of each of some sets (columns)."""
    contained = np.ones((len(free), len(sets)), bool)
    for index in range(free.shape[1]):
        contained &= (free[:, index, None] & sets[None, :, index]) == sets[None, :, index]
    return contained


def intersects(rows: MaskRows, columns: MaskRows) -> NDArray[np.bool_]:
    """Whether each of some sets (rows) has a chip of each of some others (columns)."""
    overlaps = np.zeros((len(rows), len(columns)), bool)
    for index in range(rows.shape[1]):
        overlaps |= (rows[:, index, None] & columns[None, :, index]) != 0
    return overlaps
