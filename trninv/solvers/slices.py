"""Compute the rates of a job that has a block of a torus to itself, over the links inside the block.

all-gather  The least, over boxes inside the block, of the capacity into the box over the chips outside it. Some box
            attains the least of all sets (the tests compare every block of a torus with the solver).
bisection   With even spans, the cheapest plane across: two cuts of a ring, one of a path. Otherwise the solver's.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from trninv import solvers
from trninv.solvers.blocks import Shape, Torus

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph


@dataclass(frozen=True, slots=True)
class BlockLimits:
    """All-gather bandwidth of each chip, and bisection bandwidth: bytes per second, one direction."""

    all_gather: int
    bisection: int


def block_limits(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape) -> BlockLimits:
    """Return the limits of an undamaged block; cached for blocks that differ only in the order of the axes.

    `block_all_gather` and `block_bisection`, with their methods and complexities.

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
    """Return the limits from side, capacity and span of each axis, in sorted order."""
    sides, axis_capacities, shape = (tuple(values) for values in zip(*axes, strict=True))
    return BlockLimits(block_all_gather(sides, axis_capacities, shape), block_bisection(sides, axis_capacities, shape))


def block_all_gather(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape) -> int:
    """Return the bus bandwidth of an all-gather among a block's chips, rounded down; 0 for one chip.

    The cut bound (Edmonds 1973) over the boxes of the block; O(chips·axes).

    Examples
    --------
    A row of two chips shares one link of 10. In 2×2 each chip receives over two links.

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
    """Return the capacity into a box at the corner of a block from the rest of the block."""
    faces = zip(sides, axis_capacities, shape, box, strict=True)
    return sum(
        prod(box) // box_span * (2 if span == side > 2 else 1) * link  # noqa: PLR2004 # a ring of two is one link
        for side, link, span, box_span in faces
        if box_span < span
    )


def block_bisection(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape) -> int:
    """Return the least capacity between two halves of a block; 0 for one chip.

    With even spans the cheapest plane across, O(axes), proven by dimension-order routing; otherwise
    `trninv.solvers.bisection.bisect`, with its complexity.

    Examples
    --------
    A plane across 2×2 cuts two links. A whole row of four is a ring, which is cut twice.

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
    """Return a block as a graph, with its chips' numbers in the torus as nodes; O(links of the torus).

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
        (a, b, {"capacity": axis_capacities[axis]}) for a, b, axis in torus.links() if mask >> a & mask >> b & 1
    )
    return graph
