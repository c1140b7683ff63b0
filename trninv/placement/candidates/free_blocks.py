"""Find the largest free block of each domain and count how many sets of each size are free at once.

A block is a set of chips that one job can use: in a torus a box, elsewhere a legal set. `FreeCapacity` has the free
chips as bit masks, with one row per domain; domains of one class have equal free chips and are examined once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from trninv.placement.candidates.candidate_search import CandidateSearch
from trninv.placement.candidates.free_capacity import FreeCapacity, count_chips
from trninv.placement.candidates.link_failures import LinkFailures
from trninv.placement.candidates.placement_model import LegalSets, PlacementModel
from trninv.solvers.torus_blocks import MaskRows, Shape, Torus, block_all_gather, contains, pack_masks, unpack_masks


@dataclass(frozen=True, slots=True)
class FreeBlock:
    """The largest free block of a domain: its number of chips (0: no block), and its shape if the domain is a torus."""

    chips: int
    shape: Shape | None = None


def largest_blocks(capacity: FreeCapacity, legal_sets: LegalSets) -> list[FreeBlock]:
    """Return each domain's largest free block; of equally large boxes, that with most all-gather, then bisection."""
    if capacity.model.torus is None:
        return _largest_legal_sets(capacity, legal_sets)
    order = _shape_order(capacity.model)
    blocks = [*(FreeBlock(prod(shape), shape) for shape in order), FreeBlock(0)]
    return [blocks[rank] for rank in _shape_ranks(capacity, order)]


def max_free_block(capacity: FreeCapacity, legal_sets: LegalSets) -> int:
    """Return the number of chips of the largest free block of all domains, whatever its shape."""
    if capacity.model.torus is None:
        return max((block.chips for block in _largest_legal_sets(capacity, legal_sets)), default=0)
    shapes = capacity.model.torus.shapes
    best = min(_shape_ranks(capacity, shapes), default=len(shapes))
    return prod(shapes[best]) if best < len(shapes) else 0


def _shape_ranks(capacity: FreeCapacity, order: Sequence[Shape]) -> list[int]:
    """Return for each domain the index in ``order`` of the first shape with a free box; ``len(order)`` if none has."""
    if (torus := capacity.model.torus) is None:  # callers exclude it
        return []
    free, class_index = np.unique(capacity.free[:, 0], return_inverse=True)  # a torus has 64 chips at most: one word
    ranks: list[int] = torus.first_fitting_shape(free, order)[class_index].tolist()
    for row, failures in capacity.failures_by_row.items():
        if failures.down:
            ranks[row] = _first_free_rank(torus, order, unpack_masks(capacity.free[row : row + 1])[0], failures)
    return ranks


@lru_cache(maxsize=64)
def _shape_order(model: PlacementModel) -> Sequence[Shape]:
    """Return every shape of a torus, best first: most chips, then most all-gather, then most bisection bandwidth."""
    torus = model.torus
    if torus is None:
        return ()
    # Shapes that differ only in the order of equal axes are rotations of each other, with the same limits.
    rotation_class = {
        shape: tuple(sorted(zip(torus.sides, model.axis_capacities, shape, strict=True))) for shape in torus.shapes
    }
    quality = {
        shape: (prod(shape), block_all_gather(torus.sides, model.axis_capacities, shape)) for shape in torus.shapes
    }
    ties = Counter(shape_quality for _, shape_quality in {(rotation_class[s], quality[s]) for s in torus.shapes})

    def sort_key(shape: Shape) -> tuple[int, ...]:
        chips, all_gather = quality[shape]
        bisection = 0
        if ties[chips, all_gather] > 1:  # only between rotation classes: bisection is slow to solve
            bisection = model.limits(torus.blocks(shape)[0].mask).bisection
        return (-chips, -all_gather, -bisection, *shape)

    return sorted(torus.shapes, key=sort_key)


def _first_free_rank(torus: Torus, order: Sequence[Shape], free: int, failures: LinkFailures) -> int:
    """Return the index of the first shape with a free box that has no link down; ``len(order)`` if none has."""
    for rank, shape in enumerate(order):
        masks = (block.mask for block in torus.blocks(shape) if free & block.mask == block.mask)
        if any(not failures.has_down_link(mask) for mask in masks):
            return rank
    return len(order)


def _largest_legal_sets(capacity: FreeCapacity, legal_sets: LegalSets) -> list[FreeBlock]:
    """Return the size of the largest free legal set of each domain, for models without a torus."""
    sizes = np.zeros(len(capacity.ordinals), int)
    for size in legal_sets.sizes:
        search = CandidateSearch(capacity, legal_sets, legal_sets.any_of.get(size) or legal_sets.sets[size])
        sizes = np.where(search.has_match(search.intact), np.maximum(sizes, size), sizes)
    return [FreeBlock(size) for size in sizes.tolist()]


def concurrent_jobs(capacity: FreeCapacity, legal_sets: LegalSets) -> Mapping[int, int]:
    """Return by legal size how many jobs fit at once, in free legal sets that do not overlap and have every link up."""
    return dict(zip(legal_sets.sizes, jobs_by_domain(capacity, legal_sets).sum(axis=0).tolist(), strict=True))


def jobs_by_domain(capacity: FreeCapacity, legal_sets: LegalSets) -> NDArray[np.int64]:
    """Return domains × legal sizes: how many jobs of each size fit at once, as `concurrent_jobs` counts them."""
    usable = (_usable_by_domain(capacity, capacity.free, legal_sets, size) // size for size in legal_sets.sizes)
    return np.column_stack([*usable])


def are_intact(capacity: FreeCapacity, sets: Sequence[int]) -> NDArray[np.bool_]:
    """Return domain classes × sets: whether all chips of a set are free and no link between them is down."""
    return _are_intact(capacity, pack_masks(sets, capacity.model.chips), *capacity.domain_classes)


def _are_intact(
    capacity: FreeCapacity, sets: MaskRows, first_rows: NDArray[np.intp], class_of_row: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return `are_intact` for the domain classes that `FreeCapacity.classify_domains` returned."""
    is_intact = contains(capacity.free[first_rows], sets)
    for row, failures in capacity.failures_by_row.items():
        if failures.down:
            is_intact[class_of_row[row]] &= ~failures.sets_with_down_link(sets, capacity.model.chips)
    return is_intact


@dataclass(frozen=True, slots=True)
class StrandedChips:
    """Free chips that jobs of a size can't use, by cause.

    Attributes
    ----------
    size
        Chips per job.
    jobs
        Jobs of that size that fit at once.
    chips
        Free chips that remain then.
    by_failure, by_cordon, by_reservation
        Of these, chips that jobs could use if nothing were down, further ones if no server were cordoned either, and
        further ones if nothing were reserved either.
    by_shape
        The rest, which jobs can't use because of the places of other jobs.

    """

    size: int
    jobs: int
    chips: int
    by_failure: int
    by_cordon: int
    by_reservation: int
    by_shape: int


def stranded_chips(capacity: FreeCapacity, legal_sets: LegalSets) -> list[StrandedChips]:
    """Return the stranded chips of each legal size; the four causes add up to ``chips``, and none is negative."""
    repaired, free = capacity.all_up(), count_chips(capacity.free)
    uncordoned = replace(repaired, cordoned=np.zeros_like(capacity.cordoned))
    unreserved = replace(uncordoned, reserved=None)
    stranded = []
    for size in legal_sets.sizes:
        # Only chips that are free now count, even where more would be free without failures or cordons.
        now, if_up, if_uncordoned, if_unreserved = (
            _usable_chips(state, capacity.free, legal_sets, size)
            for state in (capacity, repaired, uncordoned, unreserved)
        )
        stranded.append(
            StrandedChips(
                size=size,
                jobs=now // size,
                chips=free - now,
                by_failure=if_up - now,
                by_cordon=if_uncordoned - if_up,
                by_reservation=if_unreserved - if_uncordoned,
                by_shape=free - if_unreserved,
            )
        )
    return stranded


def _usable_chips(capacity: FreeCapacity, chips: MaskRows, legal_sets: LegalSets, size: int) -> int:
    """Count the chips of `_usable_by_domain` in all domains."""
    return int(_usable_by_domain(capacity, chips, legal_sets, size).sum())


def _usable_by_domain(capacity: FreeCapacity, chips: MaskRows, legal_sets: LegalSets, size: int) -> NDArray[np.int64]:
    """Count by domain the chips among ``chips`` that jobs of a size use if as many of them run as fit at once.

    The jobs take the sets with the most of these chips. Listed legal sets of one size do not overlap, so all that fit
    count.
    """
    first_rows, class_of_row = capacity.classify_domains(chips)
    sets = pack_masks(legal_sets.sets.get(size) or capacity.model.server_masks, capacity.model.chips)
    fits = _are_intact(capacity, sets, first_rows, class_of_row)
    usable = fits * np.bitwise_count(chips[first_rows][:, None] & sets).sum(axis=2, dtype=np.int64)
    by_class: NDArray[np.int64] = usable.sum(axis=1)
    if any_of := legal_sets.any_of.get(size):
        racks = [list(rack) for rack in capacity.model.racks]
        by_class = np.sum([_sum_best(usable[:, rack], fits[:, rack], any_of.servers) for rack in racks], axis=0)
    return by_class[class_of_row]


def _sum_best(usable: NDArray[np.int64], fits: NDArray[np.bool_], servers: int) -> NDArray[np.int64]:
    """Return for each domain class the most usable chips of jobs in one rack, each on ``servers`` fitting servers."""
    used = fits.sum(axis=1) // servers * servers
    best_first = -np.sort(-usable, axis=1)
    total: NDArray[np.int64] = np.where(np.arange(usable.shape[1]) < used[:, None], best_first, 0).sum(axis=1)
    return total
