"""What the links inside a block of a torus carry: the limits of a job that has the block to itself.

all-gather  the least, over boxes inside the block, of the capacity into the box over the chips outside of it: the
            least of all sets is reached by one of them (the tests compare every block of a torus with the solver).
bisection   of even sides the cheapest plane across: two cuts of a ring, one of a path; else the solver's.
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
    """Bytes per second, one direction: what each chip gathers, and what the two halves exchange."""

    all_gather: int
    bisection: int


def block_limits(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape) -> BlockLimits:
    """Of an undamaged block.

    Parameters
    ----------
    carries
        Bytes per second of a link along each axis, one direction.

    """
    return _limits_of_axes(tuple(sorted(zip(sides, axis_capacities, shape, strict=True))))


@lru_cache(maxsize=1024)
def _limits_of_axes(axes: tuple[tuple[int, int, int], ...]) -> BlockLimits:
    """Of a block and of those that are the same turned: side, capacity and span along each axis."""
    sides, axis_capacities, shape = (tuple(values) for values in zip(*axes, strict=True))
    return BlockLimits(block_all_gather(sides, axis_capacities, shape), block_bisection(sides, axis_capacities, shape))


def block_all_gather(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape) -> int:
    """Bus bandwidth of an all-gather among the chips of a block, rounded down; 0 of one chip."""
    chips = prod(shape)
    boxes = (inner_box for inner_box in product(*(range(1, span + 1) for span in shape)) if inner_box != shape)
    rates = (
        Fraction(_capacity_into(sides, axis_capacities, shape, box) * (chips - 1), chips - prod(box)) for box in boxes
    )
    return int(min(rates, default=0))


def _capacity_into(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape, box: Shape) -> int:
    """Capacity into a box at the corner of a block from the rest of the block."""
    faces = zip(sides, axis_capacities, shape, box, strict=True)
    return sum(
        prod(box) // box_span * (2 if span == side > 2 else 1) * link  # noqa: PLR2004 # a ring of two is one link
        for side, link, span, box_span in faces
        if box_span < span
    )


def block_bisection(sides: Shape, axis_capacities: tuple[int, ...], shape: Shape) -> int:
    """Least capacity between two halves of a block; 0 of one chip."""
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
    """A block as a graph, its chips by their numbers in the torus."""
    torus = Torus(sides)
    mask = torus.blocks(shape)[0].mask
    graph = solvers.graph.Graph()
    graph.add_nodes_from(chip for chip in range(torus.chip_count) if mask >> chip & 1)
    graph.add_edges_from(
        (a, b, {"capacity": axis_capacities[axis]}) for a, b, axis in torus.links() if mask >> a & mask >> b & 1
    )
    return graph
