"""Place several replicas (copies) of a job, with spares, so that all of them fit at once.

Replicas are placed one after the other, each on the best candidate that leaves room for the rest. An integer program
that finds the most sets without overlaps decides whether the rest still fits. Sets of chips are bit masks, and a row is
a domain (`trninv.placement.candidates.free_capacity`).
"""

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
    """Requirements on a placement besides free chips with every link up.

    ``has_avoided`` only affects the answer's text: the chips of avoided places are already missing in the capacity.
    """

    min_limits: BlockLimits = NO_MINIMUM
    healthy_only: bool = False
    same_rack: bool = False
    policy: PlacementPolicy = PlacementPolicy.QUALITY
    has_avoided: bool = False


@dataclass(frozen=True, slots=True)
class ReplicaPlacement:
    """A candidate, and the masks of its spare servers in the same rack."""

    candidate: Candidate
    spares: tuple[int, ...] = ()

    @property
    def chips(self) -> int:
        """The mask of the replica's chips, spares included."""
        return self.candidate.mask | sum(self.spares)


@dataclass(frozen=True)
class ReplicaSearch:
    """The search for the next replica, after some are placed.

    Attributes
    ----------
    capacity
        The free capacity, without the chips of placed replicas.
    requested_sets
        The sets on which a replica can run.
    spread_level
        What replicas must not share.
    excluded
        Chips that the next replica must not use, because a placed replica is in the same server, rack or domain.

    """

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
        """Domain classes × requested sets: whether a replica can run there."""
        matches = self.search.matches
        return matches & self.search.is_single_rack[None, :] if self.constraints.same_rack else matches

    def max_replicas(self, limit: int) -> int:
        """Return how many more replicas fit at once, up to a limit."""
        has_match = self.search.has_match(self.matches)
        if self._domains_per_group > 1:
            return min(len(np.unique(self._groups[has_match])), limit)
        return self._count_replicas(np.flatnonzero(has_match).tolist(), limit)

    def alternatives(self, k: int, more: int) -> Iterator[list[ReplicaPlacement]]:
        """Yield the k best placements that leave room for ``more`` replicas, each followed by placements of these."""
        for placement in islice(self._viable_placements(more, k), k):
            yield [placement, *self._with_placed(placement).place_all(more)]

    def place_all(self, count: int) -> Iterator[ReplicaPlacement]:
        """Yield ``count`` placements, each the best that leaves room for the rest; so many must fit."""
        search = self
        for more in range(count - 1, -1, -1):
            placement = next(search._viable_placements(more))
            yield placement
            search = search._with_placed(placement)

    def _viable_placements(self, more: int, k: int = 1) -> Iterator[ReplicaPlacement]:
        """Yield placements that leave room for ``more`` replicas, best first; the caller needs about k of them."""
        for candidate in self._ranked_candidates(k):
            deadline.raise_if_expired()
            placement = ReplicaPlacement(candidate, tuple(self.search.spare_servers(candidate)))
            if self._leaves_room_for(placement, more):
                yield placement

    def _ranked_candidates(self, k: int) -> Iterator[Candidate]:
        """Yield all candidates, best first; only k are ranked until more are needed, because ranking all is slow."""
        yield from self.search.best(self.matches, k, self.constraints.policy)
        if (total := self.search.max_results(self.matches)) > k:
            yield from self.search.best(self.matches, total, self.constraints.policy)[k:]

    def _leaves_room_for(self, placement: ReplicaPlacement, more: int) -> bool:
        """Return whether ``more`` replicas still fit after a placement."""
        if not more:
            return True
        row, has_match = placement.candidate.row, self.search.has_match(self.matches)
        if self._domains_per_group > 1:
            return len(np.unique(self._groups[has_match & (self._groups != self._groups[row])])) >= more
        excluded = self.excluded_chips(placement.chips)
        exclusions = [mask for mask in self._exclusions(row) if not mask & excluded]
        in_same_domain = solvers.integer_programs.max_disjoint_sets(exclusions, more) if exclusions else 0
        if in_same_domain >= more:
            return True
        has_match[row] = False
        other_rows = np.flatnonzero(has_match).tolist()
        return in_same_domain + self._count_replicas(other_rows, more - in_same_domain) >= more

    def _count_replicas(self, rows: Sequence[int], limit: int) -> int:
        """Return how many replicas fit at once in some domains, up to a limit."""
        count = 0
        for row in rows:
            if count >= limit:
                break
            count += self._max_in_domain(row)
        return min(count, limit)

    def _max_in_domain(self, row: int) -> int:
        """Return how many replicas fit at once in a domain; domains of one class are solved once."""
        domain_class = self.search.domain_class(row)
        if domain_class not in self._max_by_class:
            exclusions = self._exclusions(row)
            self._max_by_class[domain_class] = (
                solvers.integer_programs.max_disjoint_sets(exclusions, len(exclusions)) if exclusions else 0
            )
        return self._max_by_class[domain_class]

    @cached_property
    def _max_by_class(self) -> dict[int, int]:
        """The results of `_max_in_domain` so far, by domain class."""
        return {}

    def _exclusions(self, row: int) -> list[int]:
        """Return for each match of a domain the chips that no other replica may use if a replica runs there."""
        return [self.excluded_chips(mask) for mask in self.search.masks_in_row(self.matches, row)]

    def excluded_chips(self, mask: int) -> int:
        """Return the chips of a domain that other replicas must not use if a replica uses the set ``mask``."""
        model = self.capacity.model
        match self.spread_level:
            case SpreadLevel.CHIP:
                return mask
            case SpreadLevel.SERVER:
                return sum(server_mask for server_mask in model.server_masks if server_mask & mask)
            case SpreadLevel.RACK:
                rack_masks = (sum(model.server_masks[server] for server in rack) for rack in model.racks)
                return sum(rack_mask for rack_mask in rack_masks if rack_mask & mask)
        return model.full

    @property
    def _domains_per_group(self) -> int:
        """The number of consecutive domains in a group, such as a rack, that only one replica may use; 1 if none."""
        match self.spread_level:
            case SpreadLevel.RACK:
                return self.capacity.model.domain_model.domains_per_rack
            case SpreadLevel.NETWORK_NODE:
                return int(default_catalog().picked_value(self.capacity.model.slug, "domains_per_network_node"))
        return 1

    @cached_property
    def _groups(self) -> NDArray[np.int64]:
        """The number of each row's group of domains."""
        return self.capacity.ordinals // self._domains_per_group

    def _with_placed(self, placement: ReplicaPlacement) -> "ReplicaSearch":
        """Return the search for the next replica after this placement."""
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
