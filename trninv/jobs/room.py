"""How much room there is: the largest block of each domain, and how many sets of a size fit at once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from trninv.jobs.model import Legal, Model
from trninv.jobs.search import Search
from trninv.jobs.stock import Lost, Stock, count
from trninv.solvers.blocks import Shape, Torus, holding, whole, words
from trninv.solvers.slices import all_gather


@dataclass(frozen=True, slots=True)
class Largest:
    """A largest block of free chips; its shape in a torus."""

    chips: int
    shape: Shape | None = None


def largest(stock: Stock, legal: Legal) -> list[Largest]:
    """Of each domain; of blocks of one size that with most all-gather, then most bisection."""
    if stock.model.torus is None:
        return _largest_set(stock, legal)
    order = _order(stock.model)
    of_rank = [*(Largest(prod(shape), shape) for shape in order), Largest(0)]
    return [of_rank[rank] for rank in _ranks(stock, order)]


def most_at_once(stock: Stock, legal: Legal) -> int:
    """Chips of the largest block of all domains, whatever its shape is worth."""
    if stock.model.torus is None:
        return max((each.chips for each in _largest_set(stock, legal)), default=0)
    shapes = stock.model.torus.shapes
    best = min(_ranks(stock, shapes), default=len(shapes))
    return prod(shapes[best]) if best < len(shapes) else 0


def _ranks(stock: Stock, order: Sequence[Shape]) -> list[int]:
    """The place in an order of the first shape that each domain of a torus has free; its length of none."""
    if (torus := stock.model.torus) is None:
        return []
    free, of = np.unique(stock.free[:, 0], return_inverse=True)
    at: list[int] = torus.largest(free, order)[of].tolist()
    for row, lost in stock.lost.items():
        at[row] = _first(torus, order, whole(stock.free[row : row + 1])[0], lost)
    return at


@lru_cache(maxsize=64)
def _order(model: Model) -> Sequence[Shape]:
    """Every shape of a torus, the best first."""
    torus = model.torus
    if torus is None:
        return ()
    turned = {shape: tuple(sorted(zip(torus.sides, model.carries, shape, strict=True))) for shape in torus.shapes}
    first = {shape: (prod(shape), all_gather(torus.sides, model.carries, shape)) for shape in torus.shapes}
    tied = Counter(rank for _, rank in {(turned[shape], first[shape]) for shape in torus.shapes})

    def worth(shape: Shape) -> tuple[int, ...]:
        chips, rate = first[shape]
        needed = tied[chips, rate] > 1  # of others than the same block turned: it may take a solver
        return (-chips, -rate, -model.limits(torus.blocks(shape)[0].mask).bisection if needed else 0, *shape)

    return sorted(torus.shapes, key=worth)


def _first(torus: Torus, order: Sequence[Shape], free: int, lost: Lost) -> int:
    """The place in an order of the first shape that a damaged domain has with every link; its length of none."""
    for rank, shape in enumerate(order):
        masks = (block.mask for block in torus.blocks(shape) if free & block.mask == block.mask)
        if any(all(mask & broken != broken for broken in lost.broken) for mask in masks):
            return rank
    return len(order)


def _largest_set(stock: Stock, legal: Legal) -> list[Largest]:
    """Of a switched domain, the largest set that a job may hold."""
    found = np.zeros(len(stock.ordinals), int)
    for size in legal.sizes:
        search = Search(stock, legal, legal.any_of.get(size) or legal.sets[size])
        found = np.where(search.has(search.intact), np.maximum(found, size), found)
    return [Largest(size) for size in found.tolist()]


def together(stock: Stock, legal: Legal) -> Mapping[int, int]:
    """How many sets of each legal size are free at once, with every link: those of a size do not overlap."""
    return {size: _together(stock, legal, size) for size in legal.sizes}


def _together(stock: Stock, legal: Legal, size: int) -> int:
    """Exact: a count; of any servers of a rack, how often that many of its free ones go into all."""
    model, alike = stock.model, np.bincount(stock.kinds[1])
    if (any_of := legal.any_of.get(size)) is None:
        return int(intact(stock, legal.sets[size]).sum(axis=1) @ alike)
    servers = intact(stock, model.whole_server)
    return sum(int(servers[:, list(rack)].sum(axis=1) // any_of.servers @ alike) for rack in model.racks)


def intact(stock: Stock, sets: Sequence[int]) -> NDArray[np.bool_]:
    """Kinds of domains × sets: whether all chips are free, and all links among them up; one chip needs none."""
    first, kind = stock.kinds
    found = holding(stock.free[first], words(sets, stock.model.chips))
    for row, lost in stock.lost.items():
        here = found[kind[row]]
        for at in np.flatnonzero(here).tolist():
            here[at] = sets[at].bit_count() == 1 or all(broken & ~sets[at] for broken in lost.broken)
    return found


@dataclass(frozen=True, slots=True)
class Stranded:
    """Free chips that jobs of a size can't use, by what keeps them from it.

    Attributes
    ----------
    jobs
        Of that size that fit at once.
    chips
        Free ones that are left then.
    down, closed
        How many fewer would be left if nothing were down, and besides no server closed; below 0 where more would.
    shape
        How many would be left even so, from where other jobs are.

    """

    size: int
    jobs: int
    chips: int
    down: int
    closed: int
    shape: int


def stranded(stock: Stock, legal: Legal) -> list[Stranded]:
    """Of each legal size; the three causes add up to the chips that are left."""
    repaired = stock.as_new()
    opened = replace(repaired, closed=np.zeros_like(stock.closed))
    found = []
    for size in legal.sizes:
        jobs = _together(stock, legal, size)
        left, whole_again, open_again = (
            count(each.free) - size * _together(each, legal, size) for each in (stock, repaired, opened)
        )
        found.append(Stranded(size, jobs, left, left - whole_again, whole_again - open_again, open_again))
    return found
