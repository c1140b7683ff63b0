"""Represent boxes of chips in a torus as bit masks, and compute the bandwidth of collectives inside a box.

A job whose chips form a box has fast links between them. `trninv.placement` uses this module to search for free boxes
and to compare them by bandwidth.

A set of chips is an integer whose bit i is chip i, numbered row-major as in `trninv.topology.torus`. The free boxes of
a shape are found by erosion (Serra, Image Analysis and Mathematical Morphology, 1982). Let F be the free chips and r(F)
the chips whose next chip along an axis is in F. Then F & r(F) are the free chips that are followed by a free chip.
After k - 1 such steps, the starts of runs of k free chips are left; after that is done along every axis, the starts of
boxes are left. The same code works on one set (an integer) and on many sets at once (an array of 64-bit words).

As an example, take a torus of 2×4. Chips 0 to 3 are the first row, 4 to 7 the second, and each row is a ring. Chips 0,
1, 3, 4 and 7 are free. Which boxes of 2×2 (two rows, two columns) are free? Drawn as a table with chip 0 at the top
left and 1 for a free chip, the set is F:

              F         r(F)     F & r(F)
    row 0   1 1 0 1   1 0 0 1    1 0 0 1      F = bits 0, 1, 3, 4 and 7 = 1 + 2 + 8 + 16 + 128 = 155
    row 1   1 0 0 1   1 1 0 1    1 0 0 1

Across the rows, a chip stays if the chip in the other row is free too, so r(F) is F with its rows exchanged. The box
fills this axis, so starts in row 1 would give the same boxes again. Only row 0 is kept: F' = 1 + 8 = 9.

              F'        r(F')    F' & r(F')
    row 0   1 0 0 1   0 0 1 1    0 0 0 1
    row 1   0 0 0 0   0 0 0 0    0 0 0 0

Along a row, a chip stays if the chip to its right is in F', so r(F') is F' moved one to the left. The right neighbor of
chip 3 is chip 0, around the ring, so chip 3 stays, and the result is 8. The only free box starts at chip 3 and has the
chips 3, 0, 7 and 4:

>>> torus = Torus((2, 4))
>>> torus.anchors(155, (2, 1)), torus.anchors(155, (2, 2))
(9, 8)
>>> [block.start for block in torus.blocks((2, 2)) if block.mask & 155 == block.mask]
[(0, 3)]
>>> bin(torus.mask((0, 3), (2, 2)))
'0b10011001'

A block is a box at a certain place in the torus. The links inside it limit the collectives of its job (`block_limits`):

all-gather  For a smaller box inside the block, take the capacity into this box per chip outside it. The least of these
            quotients over all boxes is the limit, because no other set of chips has a lower one (the tests compare
            every block of a torus with the solver).
bisection   If all spans are even, a plane between two halves has the least capacity; along an axis, it cuts each ring
            twice and each path once. Otherwise `trninv.solvers.bisection` computes the bisection.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import permutations, product
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trninv import solvers
from trninv.topology.torus import coordinates, node_number, torus_links

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph


Shape = tuple[int, ...]
"""Number of chips that a box spans along each axis of a torus."""
MaskRows = NDArray[np.uint64]
"""Sets of chips, one set in each row of 64-bit words; chip 0 is the lowest bit of the first word."""
F = TypeVar("F", int, MaskRows)
"""Free chips: one set as an integer, or an array of sets with one word each."""
WORD_BITS = 64
"""Number of chips in one word."""


@dataclass(frozen=True, slots=True)
class TorusBlock:
    """A box in a torus: the coordinates of its first chip, its span along each axis, and its chips as a bit mask."""

    start: Shape
    shape: Shape
    mask: int


@dataclass(frozen=True)
class Torus:
    """A torus. Methods that take arrays need sets of one word, so they work for at most 64 chips."""

    sides: Shape

    @property
    def chip_count(self) -> int:
        """Number of chips."""
        return prod(self.sides)

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Shapes of all boxes that fit, larger ones first."""
        spans = product(*(range(1, side + 1) for side in self.sides))
        return tuple(sorted(spans, key=lambda shape: (-prod(shape), shape)))

    def orientations(self, spans: Sequence[int]) -> tuple[Shape, ...]:
        """Return the shapes that fit and have these spans in any order; spans of 1 are added or dropped as needed."""
        long_spans = sorted((span for span in spans if span > 1), reverse=True)
        if len(long_spans) > len(self.sides):
            return ()
        padded = (*long_spans, *(1 for _ in range(len(self.sides) - len(long_spans))))
        fitting = {shape for shape in permutations(padded) if all(map(int.__le__, shape, self.sides))}
        return tuple(sorted(fitting))

    def blocks(self, shape: Shape) -> tuple[TorusBlock, ...]:
        """Return the block at every possible start; along an axis that the shape fills, the only start is 0."""
        return _blocks(self, shape)

    @cached_property
    def shape_by_mask(self) -> Mapping[int, Shape]:
        """The shape of each box by its mask."""
        return {block.mask: shape for shape in self.shapes for block in self.blocks(shape)}

    def mask(self, start: Shape, shape: Shape) -> int:
        """Return the chips of a box."""
        axis_positions = [
            [(first + i) % side for i in range(span)]
            for first, span, side in zip(start, shape, self.sides, strict=True)
        ]
        return sum(1 << node_number(position, self.sides) for position in product(*axis_positions))

    def anchors(self, free: F, shape: Shape) -> F:
        """Return the first chips of all free boxes of a shape, by erosion; O(sum of the shape) word operations."""
        for axis, span in enumerate(shape):
            free = self.free_runs(free, axis, span)
        return free

    def free_runs(self, free: F, axis: int, span: int) -> F:
        """Return the first chips of all runs of ``span`` free chips along an axis; a whole ring starts only at 0."""
        starts = free
        for _ in range(span - 1):
            free = self._shift(free, axis)
            starts = starts & free
        return starts & _as_operand(free, self._layer(axis, 0)) if span == self.sides[axis] else starts

    def first_fitting_shape(self, free: MaskRows, order: Sequence[Shape]) -> NDArray[np.intp]:
        """Return, for each set of free chips (one word), the index in ``order`` of the first shape that fits.

        ``order`` must hold all `shapes`. If none fits, the index is the length of ``order``.
        """
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
        """Yield both ends and the axis of every link."""
        return ((link.a, link.b, link.axis) for link in torus_links(self.sides))

    def _shift(self, free: F, axis: int) -> F:
        """Return the chips whose next chip along an axis is in a set, which is r(F) in the module docstring."""
        stride, side = prod(self.sides[axis + 1 :]), self.sides[axis]
        last_layer = self._layer(axis, side - 1)
        inner: F = (free >> _as_operand(free, stride)) & _as_operand(free, self._full & ~last_layer)
        wrapped: F = (free << _as_operand(free, stride * (side - 1))) & _as_operand(free, last_layer)
        return inner | wrapped

    def _layer(self, axis: int, coordinate: int) -> int:
        """Return the chips with a coordinate along an axis."""
        return _layers(self.sides)[axis][coordinate]

    @property
    def _full(self) -> int:
        """The set of all chips."""
        return (1 << self.chip_count) - 1


@lru_cache(maxsize=64)
def _layers(sides: Shape) -> tuple[tuple[int, ...], ...]:
    """Return the masks of all layers, by axis and coordinate."""
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
    """Compute `Torus.blocks`."""
    starts = product(*(range(side if span < side else 1) for span, side in zip(shape, torus.sides, strict=True)))
    return tuple(TorusBlock(start, shape, torus.mask(start, shape)) for start in starts)


def _as_operand(free: int | MaskRows, value: int) -> Any:  # the type of free
    """Return a number in the type of ``free``, so that the two can be combined."""
    return value if isinstance(free, int) else np.asarray(value, np.uint64)


def pack_masks(masks: Sequence[int], chips: int) -> MaskRows:
    """Convert sets of chips from integers to rows of 64-bit words; O(sets · words).

    Examples
    --------
    Chips 0 and 3 of a ring of four, and chip 64 of a larger torus:

    >>> pack_masks([0b1001], 4).tolist(), pack_masks([1 << 64], 65).tolist()
    ([[9]], [[0, 1]])

    """
    width = -(-chips // WORD_BITS)
    word_mask = (1 << WORD_BITS) - 1
    rows = [[mask >> WORD_BITS * index & word_mask for index in range(width)] for mask in masks]
    return np.array(rows, np.uint64).reshape(len(masks), width)


def unpack_masks(rows: MaskRows) -> list[int]:
    """Convert rows of words to integers, the inverse of `pack_masks`; O(sets · words).

    Examples
    --------
    >>> unpack_masks(pack_masks([0b1001, 0b0110], 4))
    [9, 6]

    """
    return [sum(int(word) << WORD_BITS * index for index, word in enumerate(row)) for row in rows]


def unique_rows(rows: MaskRows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the index of the first row of each group of equal rows, and the number of the group of every row.

    Groups are in lexicographic order of their rows. Rows are sorted by words, O(rows·log rows).

    Examples
    --------
    >>> first, group = unique_rows(pack_masks([0b1001, 0b0110, 0b1001], 4))
    >>> first.tolist(), group.tolist()
    ([1, 0], [1, 0, 1])

    """
    order = np.lexsort(rows.T[::-1])  # np.unique(axis=0) compares bytes, which takes ten times as long
    ordered = rows[order]
    is_first = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(rows)]
    group = np.empty(len(rows), np.intp)
    group[order] = np.cumsum(is_first) - 1
    return order[is_first], group


def contains(free: MaskRows, sets: MaskRows) -> NDArray[np.bool_]:
    """Return whether each set of free chips (rows) contains each of some sets (columns); O(rows · columns · words).

    Examples
    --------
    Chips 0, 1 and 2 of four are free; the sets are {0, 1} and {2, 3}:

    >>> contains(pack_masks([0b0111], 4), pack_masks([0b0011, 0b1100], 4)).tolist()
    [[True, False]]

    """
    contained = np.ones((len(free), len(sets)), bool)
    for index in range(free.shape[1]):
        contained &= (free[:, index, None] & sets[None, :, index]) == sets[None, :, index]
    return contained


def intersects(rows: MaskRows, columns: MaskRows) -> NDArray[np.bool_]:
    """Return whether each set of ``rows`` shares a chip with each set of ``columns``; O(rows · columns · words).

    Examples
    --------
    >>> intersects(pack_masks([0b0111], 4), pack_masks([0b0011, 0b1100, 0b1000], 4)).tolist()
    [[True, True, False]]

    """
    overlaps = np.zeros((len(rows), len(columns)), bool)
    for index in range(rows.shape[1]):
        overlaps |= (rows[:, index, None] & columns[None, :, index]) != 0
    return overlaps


@dataclass(frozen=True, slots=True)
class BlockLimits:
    """All-gather bandwidth of each chip and bisection bandwidth of a block, in bytes per second of one direction."""

    all_gather: int
    bisection: int


def block_limits(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape) -> BlockLimits:
    """Return the limits of an undamaged block, as `block_all_gather` and `block_bisection` compute them.

    Blocks that differ only in the order of the axes share a cache entry.

    Parameters
    ----------
    sides
        Chips of the torus along each axis.
    axis_capacities
        Capacity of a link along each axis, in bytes per second of one direction.
    shape
        Chips of the block along each axis.

    Examples
    --------
    A 2×2 block of a 4×4 torus with links of 10:

    >>> block_limits((4, 4), (10, 10), (2, 2))
    BlockLimits(all_gather=20, bisection=20)

    """
    return _limits_of_axes(tuple(sorted(zip(sides, axis_capacities, shape, strict=True))))


@lru_cache(maxsize=1024)
def _limits_of_axes(axes: tuple[tuple[int, int, int], ...]) -> BlockLimits:
    """Return the limits of a block, given as sorted tuples of side, link capacity and span for each axis."""
    sides, axis_capacities, shape = (tuple(values) for values in zip(*axes, strict=True))
    return BlockLimits(block_all_gather(sides, axis_capacities, shape), block_bisection(sides, axis_capacities, shape))


def block_all_gather(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape) -> int:
    """Return the bus bandwidth of an all-gather among a block's chips, rounded down; 0 for one chip.

    The least cut bound (Edmonds 1973) of all boxes inside the block; O(chips·axes).

    Examples
    --------
    Two chips in a row receive over the same link of 10. In a block of 2×2, each chip receives over two links:

    >>> block_all_gather((4, 4), (10, 10), (1, 2)), block_all_gather((4, 4), (10, 10), (2, 2))
    (10, 20)

    """
    chips = prod(shape)
    boxes = (inner_box for inner_box in product(*(range(1, span + 1) for span in shape)) if inner_box != shape)
    rates = (
        Fraction(_capacity_into(sides, axis_capacities, shape, box) * (chips - 1), chips - prod(box)) for box in boxes
    )
    return int(min(rates, default=0))


def _capacity_into(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape, box: Shape) -> int:
    """Return the capacity of links from the rest of a block into a box at the block's corner."""
    axes = zip(sides, axis_capacities, shape, box, strict=True)
    return sum(
        prod(box) // box_span * (2 if span == side > 2 else 1) * link  # noqa: PLR2004 # a ring of two is one link
        for side, link, span, box_span in axes
        if box_span < span
    )


def block_bisection(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape) -> int:
    """Return the least capacity between two halves of a block; 0 for one chip.

    If all spans are even, the plane with the least capacity is the bisection, O(axes), which dimension-order routing
    proves. Otherwise `trninv.solvers.bisection.bisect` computes it.

    Examples
    --------
    A plane through a block of 2×2 cuts two links. A whole row of four is a ring, which is cut twice:

    >>> block_bisection((4, 4), (10, 10), (2, 2)), block_bisection((4, 4), (10, 10), (1, 4))
    (20, 20)

    """
    chips = prod(shape)
    if all(span == 1 or span % 2 == 0 for span in shape):
        planes = (
            chips // span * (2 if span == side > 2 else 1) * link  # noqa: PLR2004 # as above
            for side, link, span in zip(sides, axis_capacities, shape, strict=True)
            if span > 1
        )
        return min(planes, default=0)
    graph = block_graph(sides, axis_capacities, shape)
    return int(solvers.bisection.bisect(graph, list(graph)).upper)


def block_graph(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape) -> "Graph":
    """Return the block at the origin as a graph, whose nodes are the chips' numbers; O(links of the torus).

    Examples
    --------
    >>> sorted(block_graph((4, 4), (10, 20), (2, 2)).edges(data="capacity"))
    [(0, 1, 20), (0, 4, 10), (1, 5, 10), (4, 5, 20)]

    """
    torus = Torus(sides)
    mask = torus.blocks(shape)[0].mask
    graph = solvers.graph.Graph()
    graph.add_nodes_from(chip for chip in range(torus.chip_count) if mask >> chip & 1)
    graph.add_edges_from(
        (u, v, {"capacity": axis_capacities[axis]}) for u, v, axis in torus.links() if mask >> u & mask >> v & 1
    )
    return graph
