"""Search all positions of a chip set in all domains, best first.

Domains with the same free chips and no failures form one class, which is searched once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import islice
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.enumeration import DescribedEnum
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.link_failures import ALL_LINKS_UP, LinkFailures
from trninv.placement.candidates.placement_model import AnyServers, LegalSets, RackServers
from trninv.solvers.torus_blocks import BlockLimits, MaskRows, contains, intersects, pack_masks, unpack_masks


class PlacementPolicy(DescribedEnum):
    """Order of the placements."""

    QUALITY = "QUALITY", "All-gather, then bisection, then least fragmentation for larger jobs."
    PACK = "PACK", "Least fragmentation for larger jobs, then fewest free chips left, then all-gather and bisection."
    SPREAD = "SPREAD", "Fewest chips in one rack (of several domains: below one network node), then as QUALITY."
    SLURM = "SLURM", "Slurm's torus3d rule, for comparison: least overlap with free sets of the next larger size."


@dataclass(frozen=True, slots=True)
class Candidate:
    """A set of free chips in a domain where the job fits.

    Attributes
    ----------
    row
        The domain's row in the capacity.
    is_degraded
        Whether a part of it is degraded; the limits take that into account.
    fragmentation_cost
        Chips of the free legal sets that it overlaps, averaged over all sizes above 1.
    remaining_free
        Free chips that remain in its domain.

    """

    row: int
    mask: int
    limits: BlockLimits
    is_degraded: bool
    fragmentation_cost: float
    remaining_free: int


NO_MINIMUM: Final = BlockLimits(0, 0)
"""Limits that every set meets."""


class CandidateSearch:
    """Search candidates for one of the requested sets.

    Parameters
    ----------
    requested
        Sets of one size, or a number of servers in one rack.
    excluded
        Chips that no candidate contains, though they stay free.
    min_limits, healthy_only
        The least limits of a candidate, and whether degraded parts rule it out.

    """

    def __init__(
        self,
        capacity: FreeCapacity,
        legal_sets: LegalSets,
        requested: Sequence[int] | AnyServers,
        excluded: MaskRows | None = None,
        *,
        min_limits: BlockLimits = NO_MINIMUM,
        healthy_only: bool = False,
    ) -> None:
        self.capacity, self._legal_sets, self._min_limits, self._healthy_only = (
            capacity,
            legal_sets,
            min_limits,
            healthy_only,
        )
        available = capacity.free if excluded is None else capacity.free & ~excluded
        self._first_rows, self._class_of_row = (
            capacity.domain_classes if excluded is None else capacity.classify_domains(available)
        )
        self._free, self._available = capacity.free[self._first_rows], available[self._first_rows]
        self._racks_found = list(self._find_racks(requested)) if isinstance(requested, AnyServers) else None
        self._masks = (
            [rack.mask for rack in self._racks_found or ()] if isinstance(requested, AnyServers) else list(requested)
        )
        self._sets = pack_masks(self._masks, capacity.model.chips)

    def _find_racks(self, any_of: AnyServers) -> Iterator["RackServers"]:
        """Yield for each domain class the racks with enough free servers."""
        model = self.capacity.model
        for domain_class, free in enumerate(unpack_masks(self._available)):
            failures = self.capacity.failures_by_row.get(int(self._first_rows[domain_class]), ALL_LINKS_UP)
            for rack in model.racks:
                masks = [model.server_masks[server] for server in rack]
                free_servers = [mask for mask in masks if free & mask == mask]
                intact = [mask for mask in free_servers if not failures.has_down_link(mask)]
                intact.sort(
                    key=lambda mask: (failures.is_degraded(mask), model.capacity_loss(mask, failures.link_capacities))
                )
                healthy = sum(not failures.is_degraded(mask) for mask in intact)
                best_first = tuple(dict.fromkeys([*intact, *free_servers]))
                if len(free_servers) >= any_of.servers + any_of.spares:
                    eligible = self._count_eligible(best_first[: len(intact)], healthy, any_of.servers, failures)
                    yield RackServers(domain_class, best_first, any_of, len(intact), healthy, eligible)

    def _count_eligible(self, servers: Sequence[int], healthy: int, needed: int, failures: LinkFailures) -> int:
        """Count the servers, best first, of which any choice meets the limits: even the worst ones do."""
        if self._healthy_only:
            return healthy
        for eligible in range(max(healthy + 1, needed), len(servers) + 1) if self._min_limits != NO_MINIMUM else ():
            deadline.raise_if_expired()
            worst = self.capacity.model.degraded_limits(
                sum(servers[eligible - needed : eligible]), failures.link_capacities
            )
            if not meets(worst, self._min_limits):
                return max(healthy, eligible - 1)
        return len(servers)

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Domain classes × requested sets: whether all chips are free."""
        if self._racks_found is None:
            return contains(self._available, self._sets)
        return self._rack_matrix([True for _ in self._racks_found])

    def _rack_matrix(self, flags: Sequence[bool]) -> NDArray[np.bool_]:
        matrix = np.zeros((len(self._free), len(self._masks)), bool)
        for index, rack in enumerate(self._racks_found or ()):
            matrix[rack.domain_class, index] = flags[index]
        return matrix

    @cached_property
    def intact(self) -> NDArray[np.bool_]:
        """Domain classes × requested sets: free, with no link down."""
        if self._racks_found is not None:
            return self._rack_matrix([rack.required <= rack.intact for rack in self._racks_found])
        return self._drop_down_links(self.free.copy(), self._sets, np.arange(len(self._free)))

    def _drop_down_links(
        self, free: NDArray[np.bool_], sets: MaskRows, domain_classes: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Remove the sets with a link down from a matrix of domain classes × free sets."""
        for index, domain_class in enumerate(domain_classes.tolist()):
            if (failures := self._failures_by_class.get(domain_class, ALL_LINKS_UP)).down:
                free[index] &= ~failures.sets_with_down_link(sets, self.capacity.model.chips)
        return free

    @cached_property
    def degraded(self) -> NDArray[np.bool_]:
        """Domain classes × requested sets: with a degraded chip, NIC or link."""
        if self._racks_found is not None:
            return self._rack_matrix([rack.required > rack.healthy for rack in self._racks_found])
        degraded = np.zeros_like(self.free)
        for domain_class, failures in self._failures_by_class.items():
            degraded[domain_class] = failures.degraded_sets(self._sets, self.capacity.model.chips)
        return degraded

    @cached_property
    def matches(self) -> NDArray[np.bool_]:
        """Domain classes × requested sets: intact, within the limits as they are, and healthy if requested."""
        enough = np.array([meets(limits, self._min_limits) for limits in self.limits], bool)
        matches: NDArray[np.bool_] = self.intact & enough[None, :]
        if self._racks_found is not None:
            return matches & self._rack_matrix([rack.required <= rack.eligible for rack in self._racks_found])
        if self._healthy_only:
            return matches & ~self.degraded
        if self._min_limits != NO_MINIMUM and self.capacity.failures_by_row:
            for domain_class, index in zip(*np.nonzero(matches & self.degraded), strict=True):
                deadline.raise_if_expired()
                matches[domain_class, index] = meets(
                    self.degraded_limits(self.first_row(domain_class), index), self._min_limits
                )
        return matches

    @cached_property
    def _failures_by_class(self) -> Mapping[int, LinkFailures]:
        """Failures by domain class."""
        failures = self.capacity.failures_by_row
        return {
            domain_class: failures[row] for domain_class, row in enumerate(self._first_rows.tolist()) if row in failures
        }

    @cached_property
    def limits(self) -> list[BlockLimits]:
        """Limits of each requested set without failures."""
        return [self.capacity.model.limits(mask) for mask in self._masks]

    @cached_property
    def is_single_rack(self) -> NDArray[np.bool_]:
        """Whether each requested set is in one rack."""
        is_single_rack: NDArray[np.bool_] = self._max_rack_share == [mask.bit_count() for mask in self._masks]
        return is_single_rack

    @cached_property
    def _max_rack_share(self) -> NDArray[np.intp]:
        """The most chips that each requested set has in one rack."""
        model = self.capacity.model
        racks = [sum(model.server_masks[server] for server in rack) for rack in model.racks]
        return np.array([max((mask & rack).bit_count() for rack in racks) for mask in self._masks], np.intp)

    def max_results(self, matches: NDArray[np.bool_]) -> int:
        """Return the most candidates that `best` can return."""
        return int(matches.sum(axis=1)[self._class_of_row].sum())

    def domain_class(self, row: int) -> int:
        """Return the class of a row; rows with the same candidates share one."""
        return int(self._class_of_row[row])

    def first_row(self, domain_class: int) -> int:
        """Return the first row of a domain class."""
        return int(self._first_rows[domain_class])

    def matches_by_row(self, matches: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Expand a matrix by domain class to all rows of the capacity."""
        expanded: NDArray[np.bool_] = matches[self._class_of_row]
        return expanded

    def has_match(self, matches: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whether each domain has a match."""
        has_match: NDArray[np.bool_] = np.logical_or.reduce(matches, axis=1)[self._class_of_row]
        return has_match

    def count_domains(self, matches: NDArray[np.bool_]) -> int:
        """Count the domains with a match."""
        return int(self.has_match(matches).sum())

    def count_positions(self, matches: NDArray[np.bool_]) -> int:
        """Count the matches; in a rack, every choice of so many servers counts."""
        if self._racks_found is None:
            return self.max_results(matches)
        counts = np.zeros(len(self._free), np.int64)
        for domain_class, index in zip(*np.nonzero(matches), strict=True):
            rack = self._racks_found[index]
            counts[domain_class] += comb(rack.eligible, rack.any_of.servers)
        return int(counts[self._class_of_row].sum())

    def masks_in_row(self, matches: NDArray[np.bool_], row: int) -> list[int]:
        """Return the sets of a row that fit; in a rack, disjoint groups of its free servers."""
        indices = np.flatnonzero(matches[self._class_of_row[row]]).tolist()
        if self._racks_found is None:
            return [self._masks[index] for index in indices]
        return [mask for index in indices for mask in self._racks_found[index].disjoint_masks()]

    def spare_servers(self, candidate: "Candidate") -> list[int]:
        """Return the spare servers of a candidate in a rack."""
        racks = (
            rack
            for rack in self._racks_found or ()
            if rack.domain_class == self._class_of_row[candidate.row] and rack.mask == candidate.mask
        )
        return [mask for rack in racks for mask in rack.servers[rack.any_of.servers : rack.required]]

    def best(self, matches: NDArray[np.bool_], k: int, policy: PlacementPolicy) -> list[Candidate]:
        """Return the k best candidates, degraded ones last; ties by domain, then by chips."""
        degraded = self.degraded if self.capacity.failures_by_row else np.zeros_like(matches)
        candidates = [*islice(self._rank(matches & ~degraded, k, policy), k)]
        return [*candidates, *islice(self._rank_degraded(matches & degraded, policy), k - len(candidates))]

    def _rank(self, matches: NDArray[np.bool_], k: int, policy: PlacementPolicy) -> Iterator[Candidate]:
        grades = [(-limits.all_gather, -limits.bisection) for limits in self.limits]
        grade = np.unique(grades, axis=0, return_inverse=True)[1].ravel() if grades else np.zeros(0, np.intp)
        first = {
            PlacementPolicy.QUALITY: grade,
            PlacementPolicy.SPREAD: self._max_rack_share * (len(grades) + 1) + grade,
        }.get(policy, 0 * grade)
        for rank in np.unique(first):
            columns = np.flatnonzero(first == rank)
            classes, indices = np.nonzero(matches[:, columns])
            if not len(classes) or k <= 0:
                continue
            domain_classes, which = np.unique(classes, return_inverse=True)
            fragmentation, free_after = (
                self._fragmentation_cost(domain_classes, columns)[which, indices],
                self._free_after[classes],
            )
            cost = (
                self._next_size_overlap(domain_classes, columns)[which, indices]
                if policy is PlacementPolicy.SLURM
                else fragmentation
            )
            indices = columns[indices]
            worth = np.zeros_like(indices) if policy is PlacementPolicy.SLURM else grade[indices]
            order = np.lexsort((indices, self._first_rows[classes], worth, free_after, cost))[:k]
            pairs = [
                (cost[i], free_after[i], worth[i], int(classes[i]), int(indices[i]), fragmentation[i]) for i in order
            ]
            rows = {
                domain_class: np.flatnonzero(self._class_of_row == domain_class)[:k].tolist()
                for *_, domain_class, _, _ in pairs
            }
            spread = sorted(
                (*key, row, which, fragmentation_cost)
                for *key, domain_class, which, fragmentation_cost in pairs
                for row in rows[domain_class]
            )
            for _, remaining_free, _, row, which, fragmentation_cost in spread[:k]:
                yield self._candidate(row, which, self.limits[which], float(fragmentation_cost), int(remaining_free))

    def _rank_degraded(self, matches: NDArray[np.bool_], policy: PlacementPolicy) -> Iterator[Candidate]:
        """Yield degraded candidates, best first; limits are solved only for a candidate that may be the next."""
        classes, indices = np.nonzero(matches)
        domain_classes, which = np.unique(classes, return_inverse=True)
        columns = np.arange(len(self._masks))
        fragmentation, free_after = (
            self._fragmentation_cost(domain_classes, columns)[which, indices],
            self._free_after[classes],
        )
        overlap = (
            self._next_size_overlap(domain_classes, columns)[which, indices]
            if policy is PlacementPolicy.SLURM
            else fragmentation
        )
        rows = self._first_rows[classes].tolist()

        def key(i: int, carried: BlockLimits) -> tuple[float, ...]:
            worth, cost = (-carried.all_gather, -carried.bisection), (overlap[i], free_after[i])
            order: dict[PlacementPolicy, tuple[float, ...]] = {
                PlacementPolicy.PACK: cost + worth,
                PlacementPolicy.SLURM: cost,
            }
            share = (self._max_rack_share[indices[i]],) if policy is PlacementPolicy.SPREAD else ()
            return (*order.get(policy, (*share, *worth, *cost)), rows[i], int(indices[i]))

        waiting = list[tuple[tuple[float, ...], int, BlockLimits | None]]()
        for i, row in enumerate(rows):
            intact_limits, link_capacities = self.limits[indices[i]], self.capacity.failures_by_row[row].link_capacities
            degree = self.capacity.model.min_chip_bandwidth(self._masks[indices[i]], link_capacities)
            waiting.append(
                (key(i, BlockLimits(min(degree, intact_limits.all_gather), intact_limits.bisection)), i, None)
            )
        heapify(waiting)
        while waiting:
            deadline.raise_if_expired()
            _, i, limits = heappop(waiting)
            if limits is None:
                limits = self.degraded_limits(rows[i], indices[i])
                heappush(waiting, (key(i, limits), i, limits))
            else:
                yield self._candidate(
                    rows[i], int(indices[i]), limits, float(fragmentation[i]), int(free_after[i]), is_degraded=True
                )

    def _candidate(
        self,
        row: int,
        index: int,
        limits: BlockLimits,
        fragmentation_cost: float,
        remaining_free: int,
        *,
        is_degraded: bool = False,
    ) -> Candidate:
        sizes = sum(size > 1 for size in self._legal_sets.sets)
        return Candidate(
            row, self._masks[index], limits, is_degraded, fragmentation_cost / max(sizes, 1), remaining_free
        )

    def degraded_limits(self, row: int, index: int) -> BlockLimits:
        """Return the limits of a requested set in a row with its failures."""
        return self.capacity.model.degraded_limits(
            self._masks[index], self.capacity.failures_by_row[row].link_capacities
        )

    @cached_property
    def _free_after(self) -> NDArray[np.int64]:
        size = self._masks[0].bit_count() if self._masks else 0
        free: NDArray[np.int64] = np.bitwise_count(self._free).sum(axis=1, dtype=np.int64)
        return free - size

    def _fragmentation_cost(self, domain_classes: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return domain classes × requested sets: chips of the legal sets, of all sizes, that each set overlaps.

        Legal sets with a link down do not count: they are of no use anyway.
        """
        return self._weighted_overlap(
            domain_classes, columns, {size: size for size in self._legal_sets.sets if size > 1}, intact=True
        )

    def _next_size_overlap(self, domain_classes: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return domain classes × requested sets: overlapped free legal sets of the next larger size.

        Slurm's frag_cost: https://github.com/SchedMD/slurm, eval_nodes_torus3d.c; Slurm counts nodes and placements.
        """
        chips = self._masks[0].bit_count() if self._masks else 0
        larger = min((size for size in self._legal_sets.sets if size > chips), default=None)
        return self._weighted_overlap(domain_classes, columns, {} if larger is None else {larger: 1}, intact=False)

    def _weighted_overlap(
        self, domain_classes: NDArray[np.intp], columns: NDArray[np.intp], weights: Mapping[int, int], *, intact: bool
    ) -> NDArray[np.float32]:
        """Return domain classes × requested sets: total weight of the overlapped legal sets that are free or intact."""
        masks = [(mask, weight) for size, weight in weights.items() for mask in self._legal_sets.sets[size]]
        sets: MaskRows = pack_masks([mask for mask, _ in masks], self.capacity.model.chips)
        weight = np.array([value for _, value in masks], np.float32)  # whole numbers, so that equal sums are equal
        free = contains(self._free[domain_classes], sets)
        usable = self._drop_down_links(free, sets, domain_classes) if intact else free
        overlap: NDArray[np.float32] = (usable * weight) @ intersects(sets, self._sets[columns])
        return overlap


def meets(limits: BlockLimits, min_limits: BlockLimits) -> bool:
    """Return whether limits reach the minimum limits."""
    return limits.all_gather >= min_limits.all_gather and limits.bisection >= min_limits.bisection
