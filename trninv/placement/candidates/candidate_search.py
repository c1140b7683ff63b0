"""Search a fleet for free sets of chips on which a job can run, best first.

A job may run on any of its requested sets (masks of chips, see `trninv.placement.candidates.free_capacity`) in any
domain. Domains with the same free chips and no failures form one class, which is searched once. Most results are
therefore matrices with a row per domain class and a column per requested set. The limits of a set are the all-gather
and the bisection bandwidth that its links allow.
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
    row, mask
        The domain, as a row of the `FreeCapacity`, and the mask of the chips.
    limits
        All-gather and bisection bandwidth.
    is_degraded
        Whether one of its chips, NICs or links is degraded; the limits take that into account.
    fragmentation_cost
        Number of chips in the free legal sets that the candidate overlaps, averaged over all sizes above 1.
    remaining_free
        Number of free chips that remain in the domain if a job gets the candidate.

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
    """Search the free capacity for candidates: requested sets that are free in some domain.

    Parameters
    ----------
    capacity
        The free chips and the failures of the domains, one row per domain.
    legal_sets
        The sets that schedulers grant, by which fragmentation is measured.
    requested
        Sets of one size, or a number of servers in one rack. In the latter case, each rack with enough free servers
        has a column of its own, for its best servers.
    excluded
        Chips that no candidate may contain, though fragmentation counts them as free.
    min_limits, healthy_only
        The minimum limits of a candidate, and whether degraded parts rule it out.

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
        self.capacity, self._legal_sets = capacity, legal_sets
        self._min_limits, self._healthy_only = min_limits, healthy_only
        available = capacity.free if excluded is None else capacity.free & ~excluded
        self._first_rows, self._class_of_row = (
            capacity.domain_classes if excluded is None else capacity.classify_domains(available)
        )
        self._free, self._available = capacity.free[self._first_rows], available[self._first_rows]
        self._racks: list[RackServers] | None = None
        if isinstance(requested, AnyServers):
            self._racks = list(self._find_racks(requested))
            self._masks = [rack.mask for rack in self._racks]
        else:
            self._masks = list(requested)
        self._sets = pack_masks(self._masks, capacity.model.chips)

    def _find_racks(self, any_of: AnyServers) -> Iterator["RackServers"]:
        """Yield for each domain class the racks with enough free servers."""
        model = self.capacity.model
        for domain_class, free in enumerate(unpack_masks(self._available)):
            failures = self.capacity.failures_by_row.get(int(self._first_rows[domain_class]), ALL_LINKS_UP)
            for rack in model.racks:
                servers = [model.server_masks[server] for server in rack]
                free_servers = [mask for mask in servers if free & mask == mask]
                if len(free_servers) < any_of.servers + any_of.spares:
                    continue
                intact = [mask for mask in free_servers if not failures.has_down_link(mask)]
                intact.sort(
                    key=lambda mask: (failures.is_degraded(mask), model.capacity_loss(mask, failures.link_capacities))
                )
                healthy = sum(not failures.is_degraded(mask) for mask in intact)
                best_first = tuple(dict.fromkeys([*intact, *free_servers]))
                eligible = self._count_eligible(intact, healthy, any_of.servers, failures)
                yield RackServers(domain_class, best_first, any_of, len(intact), healthy, eligible)

    def _count_eligible(self, servers: Sequence[int], healthy: int, needed: int, failures: LinkFailures) -> int:
        """Count the first of the servers, sorted best first, of which any ``needed`` ones meet the limits."""
        if self._healthy_only:
            return healthy
        if self._min_limits == NO_MINIMUM:
            return len(servers)
        # Any choice meets the limits if the last servers, which are the worst, do. Healthy servers come first, and
        # `matches` compares their limits, so only choices with a degraded server are solved.
        for eligible in range(max(healthy + 1, needed), len(servers) + 1):
            deadline.raise_if_expired()
            worst = self.capacity.model.degraded_limits(
                sum(servers[eligible - needed : eligible]), failures.link_capacities
            )
            if not meets(worst, self._min_limits):
                return max(healthy, eligible - 1)
        return len(servers)

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Domain classes × requested sets: whether all chips of the set are free in the class."""
        if self._racks is None:
            return contains(self._available, self._sets)
        return self._rack_matrix([True for _ in self._racks])

    def _rack_matrix(self, flags: Sequence[bool]) -> NDArray[np.bool_]:
        """Return domain classes × racks: each rack's flag in the domain class that has the rack, otherwise False."""
        matrix = np.zeros((len(self._free), len(self._masks)), bool)
        for index, rack in enumerate(self._racks or ()):
            matrix[rack.domain_class, index] = flags[index]
        return matrix

    @cached_property
    def intact(self) -> NDArray[np.bool_]:
        """Domain classes × requested sets: whether all chips of the set are free and no link between them is down."""
        if self._racks is not None:
            return self._rack_matrix([rack.required <= rack.intact for rack in self._racks])
        return self._drop_down_links(self.free.copy(), self._sets, np.arange(len(self._free)))

    def _drop_down_links(
        self, free: NDArray[np.bool_], sets: MaskRows, domain_classes: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Set a matrix of ``domain_classes`` × ``sets`` to False for sets with a link down, and return it."""
        for index, domain_class in enumerate(domain_classes.tolist()):
            if (failures := self._failures_by_class.get(domain_class, ALL_LINKS_UP)).down:
                free[index] &= ~failures.sets_with_down_link(sets, self.capacity.model.chips)
        return free

    @cached_property
    def degraded(self) -> NDArray[np.bool_]:
        """Domain classes × requested sets: whether a chip, NIC or link of the set is degraded."""
        if self._racks is not None:
            return self._rack_matrix([rack.required > rack.healthy for rack in self._racks])
        degraded = np.zeros_like(self.free)
        for domain_class, failures in self._failures_by_class.items():
            degraded[domain_class] = failures.degraded_sets(self._sets, self.capacity.model.chips)
        return degraded

    @cached_property
    def matches(self) -> NDArray[np.bool_]:
        """Domain classes × requested sets: whether a set is intact, meets the limits, and is healthy if requested."""
        meets_limits = np.array([meets(limits, self._min_limits) for limits in self.limits], bool)
        matches: NDArray[np.bool_] = self.intact & meets_limits[None, :]
        if self._racks is not None:
            return matches & self._rack_matrix([rack.required <= rack.eligible for rack in self._racks])
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
        """Failures by domain class, of those classes that have any: each of these is a single domain."""
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
        """Return how many candidates `best` returns at most, for any k."""
        return int(matches.sum(axis=1)[self._class_of_row].sum())

    def domain_class(self, row: int) -> int:
        """Return the domain class of a row; rows with the same candidates share a class."""
        return int(self._class_of_row[row])

    def first_row(self, domain_class: int) -> int:
        """Return the first row of a domain class."""
        return int(self._first_rows[domain_class])

    def matches_by_row(self, matches: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Expand a matrix with a row per domain class to one with a row per domain."""
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
        """Count the matches in all domains; if servers of a rack were requested, count every choice of them."""
        if self._racks is None:
            return self.max_results(matches)
        counts = np.zeros(len(self._free), np.int64)
        for domain_class, index in zip(*np.nonzero(matches), strict=True):
            rack = self._racks[index]
            counts[domain_class] += comb(rack.eligible, rack.any_of.servers)
        return int(counts[self._class_of_row].sum())

    def masks_in_row(self, matches: NDArray[np.bool_], row: int) -> list[int]:
        """Return the matching sets of a row; if servers of a rack were requested, disjoint groups of its servers."""
        indices = np.flatnonzero(matches[self._class_of_row[row]]).tolist()
        if self._racks is None:
            return [self._masks[index] for index in indices]
        return [mask for index in indices for mask in self._racks[index].disjoint_masks()]

    def spare_servers(self, candidate: "Candidate") -> list[int]:
        """Return the masks of a candidate's spare servers in the same rack; empty if sets were requested."""
        for rack in self._racks or ():
            if rack.domain_class == self._class_of_row[candidate.row] and rack.mask == candidate.mask:
                return list(rack.servers[rack.any_of.servers : rack.required])
        return []

    def best(self, matches: NDArray[np.bool_], k: int, policy: PlacementPolicy) -> list[Candidate]:
        """Return the k best candidates, degraded ones last.

        Ties are broken by the number of unhealthy parts in the domain, then by domain, then by requested set.
        """
        degraded = self.degraded if self.capacity.failures_by_row else np.zeros_like(matches)
        candidates = [*islice(self._rank(matches & ~degraded, k, policy), k)]
        return [*candidates, *islice(self._rank_degraded(matches & degraded, policy), k - len(candidates))]

    def _rank(self, matches: NDArray[np.bool_], k: int, policy: PlacementPolicy) -> Iterator[Candidate]:
        """Yield healthy candidates, best first, at least k if there are so many.

        QUALITY compares limits first; SPREAD first compares the most chips in one rack, then limits. These values
        depend only on the requested set. So sets with equal values form a rank, and the ranks are searched in turn. The
        other policies have a single rank.
        """
        grades = self._limit_grades
        ranks = {
            PlacementPolicy.QUALITY: grades,
            PlacementPolicy.SPREAD: self._max_rack_share * (len(grades) + 1) + grades,
        }.get(policy, np.zeros_like(grades))
        order, tie_ranks = self._tie_order
        class_in_order = self._class_of_row[order]
        class_ranks = np.full(len(self._first_rows), len(order))
        np.minimum.at(class_ranks, self._class_of_row, tie_ranks)
        for rank in np.unique(ranks):
            columns = np.flatnonzero(ranks == rank)
            classes, positions = np.nonzero(matches[:, columns])
            if not len(classes) or k <= 0:
                continue
            fragmentation, cost, remaining_free = self._costs(classes, columns, positions, policy)
            sets = columns[positions]
            grade = np.zeros_like(sets) if policy is PlacementPolicy.SLURM else grades[sets]  # Slurm ignores limits
            best = np.lexsort((sets, class_ranks[classes], grade, remaining_free, cost))[:k]
            ranks_of_class = {
                domain_class: np.flatnonzero(class_in_order == domain_class)[:k].tolist()
                for domain_class in np.unique(classes[best]).tolist()
            }
            in_all_rows = sorted(
                (cost[i], remaining_free[i], grade[i], tie_rank, int(sets[i]), i)
                for i in best
                for tie_rank in ranks_of_class[classes[i]]
            )
            for _, _, _, tie_rank, index, i in in_all_rows[:k]:
                yield self._candidate(
                    int(order[tie_rank]), index, self.limits[index], float(fragmentation[i]), int(remaining_free[i])
                )

    @cached_property
    def _tie_order(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows in the order of ties, and the rank of each row: fewest unhealthy parts in the domain, then row.

        A repair of those parts may disturb the job, so a domain without any is the better one of equals.
        """
        unhealthy = np.zeros(len(self._class_of_row), np.intp)
        for row, parts in self.capacity.unhealthy_parts.items():
            unhealthy[row] = len(parts)
        order = np.argsort(unhealthy, kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        return order, ranks

    @cached_property
    def _limit_grades(self) -> NDArray[np.intp]:
        """The grade of each requested set without failures: 0 for the highest limits, equal for equal limits."""
        if not self._masks:
            return np.zeros(0, np.intp)
        negated = [(-limits.all_gather, -limits.bisection) for limits in self.limits]
        return np.unique(negated, axis=0, return_inverse=True)[1].ravel()

    def _costs(
        self, classes: NDArray[np.intp], columns: NDArray[np.intp], positions: NDArray[np.intp], policy: PlacementPolicy
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
        """Return for each match its fragmentation, the cost that the policy compares, and the remaining free chips.

        Parameters
        ----------
        classes, positions
            The domain class of each match, and its requested set as a position in ``columns``.
        columns
            The requested sets to consider, as indices.

        """
        domain_classes, class_positions = np.unique(classes, return_inverse=True)
        fragmentation = self._fragmentation_cost(domain_classes, columns)[class_positions, positions]
        cost = fragmentation
        if policy is PlacementPolicy.SLURM:
            cost = self._next_size_overlap(domain_classes, columns)[class_positions, positions]
        return fragmentation, cost, self._free_after[classes]

    def _rank_degraded(self, matches: NDArray[np.bool_], policy: PlacementPolicy) -> Iterator[Candidate]:
        """Yield degraded candidates, best first; limits are solved only for a candidate that may be the next.

        The heap starts with an upper bound of each candidate's limits. The first candidate gets its actual limits and
        goes back into the heap; if it comes first again, it is the best.
        """
        classes, sets = np.nonzero(matches)
        fragmentation, cost, remaining_free = self._costs(classes, np.arange(len(self._masks)), sets, policy)
        rows = self._first_rows[classes].tolist()  # a domain with failures is a class of its own
        _, tie_ranks = self._tie_order

        def sort_key(i: int, limits: BlockLimits) -> tuple[float, ...]:
            quality, costs = (-limits.all_gather, -limits.bisection), (cost[i], remaining_free[i])
            order: dict[PlacementPolicy, tuple[float, ...]] = {
                PlacementPolicy.QUALITY: quality + costs,
                PlacementPolicy.PACK: costs + quality,
                PlacementPolicy.SPREAD: (self._max_rack_share[sets[i]], *quality, *costs),
                PlacementPolicy.SLURM: costs,
            }
            return (*order[policy], int(tie_ranks[rows[i]]), int(sets[i]))

        heap = list[tuple[tuple[float, ...], int, BlockLimits | None]]()
        for i, row in enumerate(rows):
            intact_limits, link_capacities = self.limits[sets[i]], self.capacity.failures_by_row[row].link_capacities
            max_all_gather = self.capacity.model.min_chip_bandwidth(self._masks[sets[i]], link_capacities)
            bound = BlockLimits(min(max_all_gather, intact_limits.all_gather), intact_limits.bisection)
            heap.append((sort_key(i, bound), i, None))
        heapify(heap)
        while heap:
            deadline.raise_if_expired()
            _, i, limits = heappop(heap)
            if limits is None:
                limits = self.degraded_limits(rows[i], sets[i])
                heappush(heap, (sort_key(i, limits), i, limits))
            else:
                yield self._candidate(
                    rows[i], int(sets[i]), limits, float(fragmentation[i]), int(remaining_free[i]), is_degraded=True
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
        """Return a requested set in a row as a candidate; ``fragmentation_cost`` is the sum over all sizes above 1."""
        sizes = sum(size > 1 for size in self._legal_sets.sets)
        return Candidate(
            row, self._masks[index], limits, is_degraded, fragmentation_cost / max(sizes, 1), remaining_free
        )

    def degraded_limits(self, row: int, index: int) -> BlockLimits:
        """Return the limits of a requested set (its index) in a row, with the failures of that row."""
        return self.capacity.model.degraded_limits(
            self._masks[index], self.capacity.failures_by_row[row].link_capacities
        )

    @cached_property
    def _free_after(self) -> NDArray[np.int64]:
        """Free chips that remain in each domain class if a job gets a requested set; all of these have one size."""
        size = self._masks[0].bit_count() if self._masks else 0
        free: NDArray[np.int64] = np.bitwise_count(self._free).sum(axis=1, dtype=np.int64)
        return free - size

    def _fragmentation_cost(self, domain_classes: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return domain classes × requested sets: chips in the free legal sets that a requested set overlaps.

        All sizes above 1 count. Legal sets with a link down do not count, because no job can use them anyway.
        """
        return self._weighted_overlap(
            domain_classes, columns, {size: size for size in self._legal_sets.sets if size > 1}, intact=True
        )

    def _next_size_overlap(self, domain_classes: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return domain classes × requested sets: how many free legal sets of the next larger size a set overlaps.

        This is Slurm's frag_cost (https://github.com/SchedMD/slurm, eval_nodes_torus3d.c), which is defined for nodes
        and placements instead of chips and legal sets.
        """
        chips = self._masks[0].bit_count() if self._masks else 0
        larger = min((size for size in self._legal_sets.sets if size > chips), default=None)
        return self._weighted_overlap(domain_classes, columns, {} if larger is None else {larger: 1}, intact=False)

    def _weighted_overlap(
        self, domain_classes: NDArray[np.intp], columns: NDArray[np.intp], weights: Mapping[int, int], *, intact: bool
    ) -> NDArray[np.float32]:
        """Return domain classes × requested sets: total weight of the free legal sets that a requested set overlaps.

        Parameters
        ----------
        weights
            The weight of a legal set, by its size; sets of other sizes are ignored.
        intact
            Whether to ignore legal sets with a link down.

        """
        weighted_masks = [(mask, weight) for size, weight in weights.items() for mask in self._legal_sets.sets[size]]
        sets: MaskRows = pack_masks([mask for mask, _ in weighted_masks], self.capacity.model.chips)
        # Weights are whole numbers, so that equal sums are equal as floating-point numbers too.
        weight = np.array([value for _, value in weighted_masks], np.float32)
        free = contains(self._free[domain_classes], sets)
        usable = self._drop_down_links(free, sets, domain_classes) if intact else free
        overlap: NDArray[np.float32] = (usable * weight) @ intersects(sets, self._sets[columns])
        return overlap


def meets(limits: BlockLimits, min_limits: BlockLimits) -> bool:
    """Return whether both limits are at least the minimum limits."""
    return limits.all_gather >= min_limits.all_gather and limits.bisection >= min_limits.bisection
