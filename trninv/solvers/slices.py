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
class Limits:
    """Bytes per second, one direction: what each chip gathers, and what the two halves exchange."""

    all_gather: int
    bisection: int


def limits(sides: Shape, carries: tuple[int, ...], shape: Shape) -> Limits:
    """Of an undamaged block.

    Parameters
    ----------
    carries
        Bytes per second of a link along each axis, one direction.

    """
    return _turned(tuple(sorted(zip(sides, carries, shape, strict=True))))


@lru_cache(maxsize=1024)
def _turned(axes: tuple[tuple[int, int, int], ...]) -> Limits:
    """Of a block and of those that are the same turned: side, capacity and span along each axis."""
    sides, carries, shape = (tuple(each) for each in zip(*axes, strict=True))
    return Limits(all_gather(sides, carries, shape), bisection(sides, carries, shape))


def all_gather(sides: Shape, carries: tuple[int, ...], shape: Shape) -> int:
    """Bus bandwidth of an all-gather among the chips of a block, rounded down; 0 of one chip."""
    chips = prod(shape)
    inner = (each for each in product(*(range(1, span + 1) for span in shape)) if each != shape)
    rates = (Fraction(_into(sides, carries, shape, box) * (chips - 1), chips - prod(box)) for box in inner)
    return int(min(rates, default=0))


def _into(sides: Shape, carries: tuple[int, ...], shape: Shape, box: Shape) -> int:
    """Capacity into a box at the corner of a block from the rest of the block."""
    faces = zip(sides, carries, shape, box, strict=True)
    return sum(
        prod(box) // inside * (2 if span == side > 2 else 1) * link  # noqa: PLR2004 # a ring of two is one link
        for side, link, span, inside in faces
        if inside < span
    )


def bisection(sides: Shape, carries: tuple[int, ...], shape: Shape) -> int:
    """Least capacity between two halves of a block; 0 of one chip."""
    chips = prod(shape)
    if all(span == 1 or span % 2 == 0 for span in shape):
        planes = (
            chips // span * (2 if span == side > 2 else 1) * link  # noqa: PLR2004 # as above
            for side, link, span in zip(sides, carries, shape, strict=True)
            if span > 1
        )
        return min(planes, default=0)
    graph = block_graph(sides, carries, shape)
    return int(solvers.bisection.bisect(graph, list(graph)).upper)


def block_graph(sides: Shape, carries: tuple[int, ...], shape: Shape) -> "Graph":
    """A block as a graph, its chips by their numbers in the torus."""
    of = Torus(sides)
    inside = of.blocks(shape)[0].mask
    graph = solvers.graph.Graph()
    graph.add_nodes_from(chip for chip in range(of.size) if inside >> chip & 1)
    graph.add_edges_from(
        (a, b, {"capacity": carries[axis]}) for a, b, axis in of.links() if inside >> a & inside >> b & 1
    )
    return graph
