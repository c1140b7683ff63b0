"""How much room there is: the largest block of each domain, and how many sets of a size fit at once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from trninv.jobs.damage import Lost
from trninv.jobs.model import Legal, Model
from trninv.jobs.search import Search
from trninv.jobs.stock import Stock, count
from trninv.solvers.blocks import Shape, Torus, Words, holding, whole, words
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
        if lost.broken:
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
        if any(not lost.breaks(mask) for mask in masks):
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
    return {size: _of_use(stock, stock.free, legal, size) // size for size in legal.sizes}


def intact(stock: Stock, sets: Sequence[int]) -> NDArray[np.bool_]:
    """Kinds of domains × sets: whether all chips are free, and all links among them up; one chip needs none."""
    return _intact(stock, words(sets, stock.model.chips), *stock.kinds)


def _intact(stock: Stock, sets: Words, first: NDArray[np.intp], kind: NDArray[np.intp]) -> NDArray[np.bool_]:
    found = holding(stock.free[first], sets)
    for row, lost in stock.lost.items():
        if lost.broken:
            found[kind[row]] &= ~lost.broken_in(sets, stock.model.chips)
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
        Those that jobs could use if nothing were down, and those besides if no server were closed either.
    shape
        The rest, which is due to where other jobs are.

    """

    size: int
    jobs: int
    chips: int
    down: int
    closed: int
    shape: int


def stranded(stock: Stock, legal: Legal) -> list[Stranded]:
    """Of each legal size; the three causes add up to the chips that are left, and none is below 0."""
    repaired, free = stock.as_new(), count(stock.free)
    opened = replace(repaired, closed=np.zeros_like(stock.closed))
    found = []
    for size in legal.sizes:
        now, up, open_ = (_of_use(there, stock.free, legal, size) for there in (stock, repaired, opened))
        found.append(Stranded(size, now // size, free - now, up - now, open_ - up, free - open_))
    return found


def _of_use(there: Stock, chips: Words, legal: Legal, size: int) -> int:
    """How many of some free chips are in as many sets of a size as fit at once: in those that have most of them."""
    first, kind = there.kinds_of(chips)
    alike = np.bincount(kind)
    sets = words(legal.sets.get(size) or there.model.whole_server, there.model.chips)
    fits = _intact(there, sets, first, kind)
    has = fits * np.bitwise_count(chips[first][:, None] & sets).sum(axis=2, dtype=np.int64)
    if (any_of := legal.any_of.get(size)) is None:
        return int(has.sum(axis=1) @ alike)
    racks = [list(rack) for rack in there.model.racks]
    return sum(int(_most(has[:, rack], fits[:, rack], any_of.servers) @ alike) for rack in racks)


def _most(has: NDArray[np.int64], fits: NDArray[np.bool_], servers: int) -> NDArray[np.int64]:
    """Of each row the most that any servers have which fit, as many of them as jobs of so many servers take."""
    taken = fits.sum(axis=1) // servers * servers
    best_first = -np.sort(-has, axis=1)
    most: NDArray[np.int64] = np.where(np.arange(has.shape[1]) < taken[:, None], best_first, 0).sum(axis=1)
    return most
