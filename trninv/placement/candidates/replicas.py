"""Place several replicas of a job, with spares, so that the rest still fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from trninv import deadline, solvers
from trninv.catalog.facts import default_catalog
from trninv.enumeration import DescribedEnum
from trninv.placement.candidates.candidate_search import NO_MINIMUM, Candidate, CandidateSearch, PlacementPolicy
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.placement_model import AnyServers, LegalSets
from trninv.solvers.torus_blocks import BlockLimits, MaskRows, pack_masks


class SpreadLevel(DescribedEnum):
    """What copies of a job, and sets to spare, have none of in common."""

    CHIP = "CHIP", "They have no chip in common."
    SERVER = "SERVER", "Nor a server."
    RACK = "RACK", "Nor a rack."
    DOMAIN = "DOMAIN", "Nor a domain."
    NETWORK_NODE = "NETWORK_NODE", "Nor a network node of tier 3 above their domains."


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a place must be like, beside being free with every link, and whether any are avoided."""

    min_limits: BlockLimits = NO_MINIMUM
    healthy_only: bool = False
    same_rack: bool = False
    policy: PlacementPolicy = PlacementPolicy.QUALITY
    has_avoided: bool = False


@dataclass(frozen=True, slots=True)
class ReplicaPlacement:
    """A place, and servers of its rack to spare."""

    candidate: Candidate
    spares: tuple[int, ...] = ()

    @property
    def chips(self) -> int:
        """All that it takes."""
        return self.candidate.mask | sum(self.spares)


@dataclass(frozen=True)
class ReplicaSearch:
    """Sets that may be taken of a stock together, some being taken already."""

    capacity: FreeCapacity
    legal_sets: LegalSets
    requested_sets: Sequence[int] | AnyServers
    constraints: Constraints
    spread_level: SpreadLevel = SpreadLevel.CHIP
    excluded: MaskRows | None = None

    @cached_property
    def search(self) -> CandidateSearch:
        """All places for one more."""
        constraints = self.constraints
        return CandidateSearch(
            self.capacity,
            self.legal_sets,
            self.requested_sets,
            self.excluded,
            min_limits=constraints.min_limits,
            healthy_only=constraints.healthy_only,
        )

    @cached_property
    def matches(self) -> NDArray[np.bool_]:
        """Those that do."""
        return (
            self.search.matches & self.search.is_single_rack[None, :]
            if self.constraints.same_rack
            else self.search.matches
        )

    def max_replicas(self, limit: int) -> int:
        """How many more can be taken at once, as far as it is fewer than enough."""
        if self._domains_per_group > 1:
            return min(len(np.unique(self._groups[self.search.has_match(self.matches)])), limit)
        return self._count_replicas(np.flatnonzero(self.search.has_match(self.matches)).tolist(), limit)

    def alternatives(self, k: int, others: int) -> Iterator[list[ReplicaPlacement]]:
        """Return the k best placements that leave room for the other replicas, with these."""
        for placement in islice(self._viable_placements(others, k), k):
            yield [placement, *self._with_placed(placement).place_all(others)]

    def place_all(self, count: int) -> Iterator[ReplicaPlacement]:
        """So many places, one after the other the best that leaves room for the rest; there must be as many."""
        search = self
        for following in range(count - 1, -1, -1):
            placement = next(search._viable_placements(following))
            yield placement
            search = search._with_placed(placement)

    def _viable_placements(self, others: int, k: int = 1) -> Iterator[ReplicaPlacement]:
        """Places, the best first, that leave room for others; mostly the first k do."""
        for candidate in self._ranked_candidates(k):
            deadline.raise_if_expired()
            placement = ReplicaPlacement(candidate, tuple(self.search.spare_servers(candidate)))
            if self._leaves_room_for(placement, others):
                yield placement

    def _ranked_candidates(self, k: int) -> Iterator[Candidate]:
        yield from self.search.best(self.matches, k, self.constraints.policy)
        if (total := self.search.max_results(self.matches)) > k:
            yield from self.search.best(self.matches, total, self.constraints.policy)[k:]

    def _leaves_room_for(self, placement: ReplicaPlacement, others: int) -> bool:
        if not others:
            return True
        row, has_match = placement.candidate.row, self.search.has_match(self.matches)
        if self._domains_per_group > 1:
            return len(np.unique(self._groups[has_match & (self._groups != self._groups[row])])) >= others
        excluded = self.excluded_chips(placement.chips)
        exclusions = [mask for mask in self._exclusions(row) if not mask & excluded]
        count = solvers.integer_programs.max_disjoint_sets(exclusions, others) if exclusions else 0
        has_match[row] = False
        return (
            count >= others
            or count + self._count_replicas(np.flatnonzero(has_match).tolist(), others - count) >= others
        )

    def _count_replicas(self, rows: Sequence[int], limit: int) -> int:
        count = 0
        for row in rows:
            if count >= limit:
                break
            count += self._max_in_domain(row)
        return min(count, limit)

    def _max_in_domain(self, row: int) -> int:
        domain_class = self.search.domain_class(row)
        if domain_class not in self._max_by_class:
            exclusions = self._exclusions(row)
            self._max_by_class[domain_class] = (
                solvers.integer_programs.max_disjoint_sets(exclusions, len(exclusions)) if exclusions else 0
            )
        return self._max_by_class[domain_class]

    @cached_property
    def _max_by_class(self) -> dict[int, int]:
        return {}

    def _exclusions(self, row: int) -> list[int]:
        return [self.excluded_chips(mask) for mask in self.search.masks_in_row(self.matches, row)]

    def excluded_chips(self, mask: int) -> int:
        """Return the chips of a domain that no other replica may have beside a set."""
        model = self.capacity.model
        groups = [[index] for index in range(model.servers)] if self.spread_level is SpreadLevel.SERVER else model.racks
        match self.spread_level:
            case SpreadLevel.CHIP:
                return mask
            case SpreadLevel.SERVER | SpreadLevel.RACK:
                group_masks = (sum(model.server_masks[server] for server in servers) for servers in groups)
                return sum(group_mask for group_mask in group_masks if group_mask & mask)
        return model.full

    @property
    def _domains_per_group(self) -> int:
        """How many domains following each other only one of which may be taken."""
        match self.spread_level:
            case SpreadLevel.RACK:
                return self.capacity.model.domain_model.domains_per_rack
            case SpreadLevel.NETWORK_NODE:
                return int(default_catalog().picked_value(self.capacity.model.slug, "domains_per_network_node"))
        return 1

    @cached_property
    def _groups(self) -> NDArray[np.int64]:
        return self.capacity.ordinals // self._domains_per_group

    def _with_placed(self, placement: ReplicaPlacement) -> "ReplicaSearch":
        """Return the search with a placement taken."""
        row, chips = placement.candidate.row, self.capacity.model.chips
        allocated = self.capacity.allocated.copy()
        allocated[row] |= pack_masks([placement.chips], chips)[0]
        excluded = np.zeros_like(allocated) if self.excluded is None else self.excluded.copy()
        if self._domains_per_group > 1:
            excluded[self._groups == self._groups[row]] = pack_masks([self.capacity.model.full], chips)[0]
        else:
            excluded[row] |= pack_masks([self.excluded_chips(placement.chips)], chips)[0]
        return ReplicaSearch(
            self.capacity.with_allocated(allocated),
            self.legal_sets,
            self.requested_sets,
            self.constraints,
            self.spread_level,
            excluded,
        )
