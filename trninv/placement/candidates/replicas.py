"""Place several replicas of a job, with spares, so that the remaining ones still fit."""

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
    """What copies of a job and their spares must not share."""

    CHIP = "CHIP", "No chip is shared."
    SERVER = "SERVER", "No server is shared."
    RACK = "RACK", "No rack is shared."
    DOMAIN = "DOMAIN", "No domain is shared."
    NETWORK_NODE = "NETWORK_NODE", "No network node of tier 3 above the domains is shared."


@dataclass(frozen=True, slots=True)
class Constraints:
    """Requirements on a placement besides free chips and links that are up; and whether places are avoided."""

    min_limits: BlockLimits = NO_MINIMUM
    healthy_only: bool = False
    same_rack: bool = False
    policy: PlacementPolicy = PlacementPolicy.QUALITY
    has_avoided: bool = False


@dataclass(frozen=True, slots=True)
class ReplicaPlacement:
    """A candidate, and spare servers in its rack."""

    candidate: Candidate
    spares: tuple[int, ...] = ()

    @property
    def chips(self) -> int:
        """All of its chips, spares included."""
        return self.candidate.mask | sum(self.spares)


@dataclass(frozen=True)
class ReplicaSearch:
    """A search for sets that can be allocated together, some being allocated already."""

    capacity: FreeCapacity
    legal_sets: LegalSets
    requested_sets: Sequence[int] | AnyServers
    constraints: Constraints
    spread_level: SpreadLevel = SpreadLevel.CHIP
    excluded: MaskRows | None = None

    @cached_property
    def search(self) -> CandidateSearch:
        """The candidates for one more replica."""
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
        """The matches of the search, in one rack if required."""
        return (
            self.search.matches & self.search.is_single_rack[None, :]
            if self.constraints.same_rack
            else self.search.matches
        )

    def max_replicas(self, limit: int) -> int:
        """Return how many more replicas fit at once, up to a limit."""
        if self._domains_per_group > 1:
            return min(len(np.unique(self._groups[self.search.has_match(self.matches)])), limit)
        return self._count_replicas(np.flatnonzero(self.search.has_match(self.matches)).tolist(), limit)

    def alternatives(self, k: int, others: int) -> Iterator[list[ReplicaPlacement]]:
        """Return the k best placements that leave room for the other replicas, with these."""
        for placement in islice(self._viable_placements(others, k), k):
            yield [placement, *self._with_placed(placement).place_all(others)]

    def place_all(self, count: int) -> Iterator[ReplicaPlacement]:
        """Yield so many placements, each the best that leaves room for the rest; they must exist."""
        search = self
        for following in range(count - 1, -1, -1):
            placement = next(search._viable_placements(following))
            yield placement
            search = search._with_placed(placement)

    def _viable_placements(self, others: int, k: int = 1) -> Iterator[ReplicaPlacement]:
        """Yield placements that leave room for others, best first; usually the first k do."""
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
        """Return the chips of a domain that other replicas must not use if one uses a set."""
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
        """The number of consecutive domains that share a rack or network node, of which one may be used."""
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
