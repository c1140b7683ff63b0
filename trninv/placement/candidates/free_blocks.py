"""Find the largest free block of each domain and count how many sets of each size are free at once."""

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
    """A largest block of free chips, with its shape in a torus."""

    chips: int
    shape: Shape | None = None


def largest_blocks(capacity: FreeCapacity, legal_sets: LegalSets) -> list[FreeBlock]:
    """Return each domain's largest free block; ties by all-gather, then by bisection."""
    if capacity.model.torus is None:
        return _largest_legal_sets(capacity, legal_sets)
    order = _shape_order(capacity.model)
    blocks = [*(FreeBlock(prod(shape), shape) for shape in order), FreeBlock(0)]
    return [blocks[rank] for rank in _shape_ranks(capacity, order)]


def max_free_block(capacity: FreeCapacity, legal_sets: LegalSets) -> int:
    """Return the chips of the largest free block of all domains, whatever its shape."""
    if capacity.model.torus is None:
        return max((block.chips for block in _largest_legal_sets(capacity, legal_sets)), default=0)
    shapes = capacity.model.torus.shapes
    best = min(_shape_ranks(capacity, shapes), default=len(shapes))
    return prod(shapes[best]) if best < len(shapes) else 0


def _shape_ranks(capacity: FreeCapacity, order: Sequence[Shape]) -> list[int]:
    """Return the index of the first shape that each torus domain has free; the number of shapes if none."""
    if (torus := capacity.model.torus) is None:
        return []
    free, class_index = np.unique(capacity.free[:, 0], return_inverse=True)
    ranks: list[int] = torus.first_fitting_shape(free, order)[class_index].tolist()
    for row, failures in capacity.failures_by_row.items():
        if failures.down:
            ranks[row] = _first_free_rank(torus, order, unpack_masks(capacity.free[row : row + 1])[0], failures)
    return ranks


@lru_cache(maxsize=64)
def _shape_order(model: PlacementModel) -> Sequence[Shape]:
    """Return every shape of a torus, best first."""
    torus = model.torus
    if torus is None:
        return ()
    canonical = {
        shape: tuple(sorted(zip(torus.sides, model.axis_capacities, shape, strict=True))) for shape in torus.shapes
    }
    primary = {
        shape: (prod(shape), block_all_gather(torus.sides, model.axis_capacities, shape)) for shape in torus.shapes
    }
    ties = Counter(rank for _, rank in {(canonical[shape], primary[shape]) for shape in torus.shapes})

    def worth(shape: Shape) -> tuple[int, ...]:
        chips, rate = primary[shape]
        needed = ties[chips, rate] > 1  # a solver is needed only if another block, not a rotation, ties
        return (-chips, -rate, -model.limits(torus.blocks(shape)[0].mask).bisection if needed else 0, *shape)

    return sorted(torus.shapes, key=worth)


def _first_free_rank(torus: Torus, order: Sequence[Shape], free: int, failures: LinkFailures) -> int:
    """Return the index of the first shape that a domain with failures has intact, or the number of shapes."""
    for rank, shape in enumerate(order):
        masks = (block.mask for block in torus.blocks(shape) if free & block.mask == block.mask)
        if any(not failures.has_down_link(mask) for mask in masks):
            return rank
    return len(order)


def _largest_legal_sets(capacity: FreeCapacity, legal_sets: LegalSets) -> list[FreeBlock]:
    """Return the largest legal set that is free in each switched domain."""
    sizes = np.zeros(len(capacity.ordinals), int)
    for size in legal_sets.sizes:
        search = CandidateSearch(capacity, legal_sets, legal_sets.any_of.get(size) or legal_sets.sets[size])
        sizes = np.where(search.has_match(search.intact), np.maximum(sizes, size), sizes)
    return [FreeBlock(size) for size in sizes.tolist()]


def concurrent_jobs(capacity: FreeCapacity, legal_sets: LegalSets) -> Mapping[int, int]:
    """Count how many intact sets of each legal size are free at once; sets of a size do not overlap."""
    return {size: _usable_chips(capacity, capacity.free, legal_sets, size) // size for size in legal_sets.sizes}


def are_intact(capacity: FreeCapacity, sets: Sequence[int]) -> NDArray[np.bool_]:
    """Return domain classes × sets: whether all chips are free and no link among them is down."""
    return _are_intact(capacity, pack_masks(sets, capacity.model.chips), *capacity.domain_classes)


def _are_intact(
    capacity: FreeCapacity, sets: MaskRows, first: NDArray[np.intp], domain_class: NDArray[np.intp]
) -> NDArray[np.bool_]:
    is_intact = contains(capacity.free[first], sets)
    for row, failures in capacity.failures_by_row.items():
        if failures.down:
            is_intact[domain_class[row]] &= ~failures.sets_with_down_link(sets, capacity.model.chips)
    return is_intact


@dataclass(frozen=True, slots=True)
class StrandedChips:
    """Free chips that jobs of a size can't use, by cause.

    Attributes
    ----------
    jobs
        Jobs of that size that fit at once.
    chips
        Free chips that remain then.
    by_failure, by_cordon
        Chips that jobs could use if nothing were down, and further ones if no server were cordoned either.
    by_shape
        The rest, caused by where other jobs are.

    """

    size: int
    jobs: int
    chips: int
    by_failure: int
    by_cordon: int
    by_shape: int


def stranded_chips(capacity: FreeCapacity, legal_sets: LegalSets) -> list[StrandedChips]:
    """Return the stranded chips of each legal size; the three causes add up to the chips, and none is negative."""
    repaired, free = capacity.all_up(), count_chips(capacity.free)
    uncordoned = replace(repaired, cordoned=np.zeros_like(capacity.cordoned))
    rows = []
    for size in legal_sets.sizes:
        now, if_up, if_uncordoned = (
            _usable_chips(state, capacity.free, legal_sets, size) for state in (capacity, repaired, uncordoned)
        )
        rows.append(
            StrandedChips(size, now // size, free - now, if_up - now, if_uncordoned - if_up, free - if_uncordoned)
        )
    return rows


def _usable_chips(capacity: FreeCapacity, chips: MaskRows, legal_sets: LegalSets, size: int) -> int:
    """Count the chips that jobs of a size can use, with as many jobs as fit at once in the sets with most chips."""
    first, domain_class = capacity.classify_domains(chips)
    class_sizes = np.bincount(domain_class)
    sets = pack_masks(legal_sets.sets.get(size) or capacity.model.server_masks, capacity.model.chips)
    fits = _are_intact(capacity, sets, first, domain_class)
    usable = fits * np.bitwise_count(chips[first][:, None] & sets).sum(axis=2, dtype=np.int64)
    if (any_of := legal_sets.any_of.get(size)) is None:
        return int(usable.sum(axis=1) @ class_sizes)
    racks = [list(rack) for rack in capacity.model.racks]
    return sum(int(_sum_best(usable[:, rack], fits[:, rack], any_of.servers) @ class_sizes) for rack in racks)


def _sum_best(usable: NDArray[np.int64], fits: NDArray[np.bool_], servers: int) -> NDArray[np.int64]:
    """Sum in each row the most usable chips of fitting servers, for as many whole jobs as they make."""
    used = fits.sum(axis=1) // servers * servers
    best_first = -np.sort(-usable, axis=1)
    total: NDArray[np.int64] = np.where(np.arange(usable.shape[1]) < used[:, None], best_first, 0).sum(axis=1)
    return total
