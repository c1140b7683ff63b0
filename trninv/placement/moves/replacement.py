"""Plan the fewest new servers with which a job that lost servers keeps its shape and bandwidth.

A job has one part, a set of chips, in each of its domains. A part that lost chips moves to another set of the same
size, legal sets or box shapes like it, with at least its all-gather and bisection limits: within its domain, where it
may keep chips, or in another domain. A server is new if the job had no chip in it. Parts without a loss stay.

Parts are assigned to sets in a depth-first search with a lower bound, so the plan is the best unless the search stops
at `MAX_STEPS`. Other parts can occupy at most one domain each, so for n parts the n domains with the cheapest sets are
enough besides those of the parts themselves.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Final

import numpy as np

from trninv import deadline
from trninv.errors import ScopeTooLargeError
from trninv.placement.allocations.allocation_masks import JobAllocation
from trninv.placement.candidates.candidate_search import CandidateSearch
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.placement_model import AnyServers, LegalSets, PlacementModel
from trninv.placement.moves.planner import alternative_sets
from trninv.solvers.torus_blocks import pack_masks

MAX_STEPS: Final = 20_000
"""The most sets that the search tries before it stops with the best plan so far."""
MAX_CHOICES: Final = 5_000
"""The most choices of servers of one rack."""


@dataclass(frozen=True, slots=True)
class ReplacedPart:
    """A part of a job in the domain ``row`` with the chips ``mask``, and the set to which it moves.

    ``new_servers`` is the number of servers of that set in which the job had no chip.
    """

    row: int
    mask: int
    target_row: int
    target_mask: int
    new_servers: int


@dataclass(frozen=True, slots=True)
class ReplacementPlan:
    """The parts that move, and a proven lower bound on the number of new servers."""

    parts: tuple[ReplacedPart, ...]
    lower_bound: int

    @property
    def new_servers(self) -> int:
        """The number of new servers."""
        return sum(part.new_servers for part in self.parts)


def plan_replacement(
    capacity: FreeCapacity, legal_sets: LegalSets, job: JobAllocation, lost: Mapping[int, int]
) -> ReplacementPlan | None:
    """Return the plan with the fewest new servers; None if there is none.

    Of sets with equally many new servers, those with fewer new chips are tried first.

    Parameters
    ----------
    capacity
        All domains of the cluster; its rows are their ordinals.
    lost
        Masks of the lost servers, by row.

    """
    parts = {row: mask for row, mask in job.work.items() if mask & lost.get(row, 0)}
    available = _capacity_for(capacity, job, parts, lost)
    own_chips = {
        row: (job.work.get(row, 0) | job.spare.get(row, 0)) & ~lost.get(row, 0) for row in {*job.work, *job.spare}
    }
    choices = [
        sorted(
            _candidates(available, legal_sets, row, mask, own_chips, parts),
            key=lambda choice: _order(choice, own_chips),
        )
        for row, mask in parts.items()
    ]
    if not all(choices):
        return None
    return _Assignment(choices).solve()


def _capacity_for(
    capacity: FreeCapacity, job: JobAllocation, parts: Mapping[int, int], lost: Mapping[int, int]
) -> FreeCapacity:
    """Return the capacity in which moving parts and spares of the job are free, without the lost servers."""
    chips = capacity.model.chips
    allocated, cordoned, in_scope = capacity.allocated.copy(), capacity.cordoned.copy(), capacity.in_scope.copy()
    for row in {*parts, *job.spare}:
        own = pack_masks([parts.get(row, 0) | job.spare.get(row, 0)], chips)[0]
        allocated[row] &= ~own
        cordoned[row] &= ~own  # a job stays on a cordoned server
    for row, mask in lost.items():
        in_scope[row] &= ~pack_masks([mask], chips)[0]
    return replace(capacity, allocated=allocated, cordoned=cordoned, in_scope=in_scope)


def _candidates(
    capacity: FreeCapacity,
    legal_sets: LegalSets,
    row: int,
    mask: int,
    own_chips: Mapping[int, int],
    parts: Mapping[int, int],
) -> Iterator[ReplacedPart]:
    """Yield the sets to which a part can move: all in the domains of moving parts, and those of the cheapest others."""
    options = alternative_sets(capacity, legal_sets, mask)
    sets = tuple(_server_choices(capacity.model, options)) if isinstance(options, AnyServers) else options
    if not sets:
        return
    search = CandidateSearch(capacity, legal_sets, sets, min_limits=capacity.model.limits(mask))
    matches = search.matches_by_row(search.matches)
    others = list[tuple[int, int]]()  # the fewest new servers, and the row
    for other in np.flatnonzero(matches.any(axis=1)).tolist():
        masks = [sets[index] for index in np.flatnonzero(matches[other])]
        costs = [_count_new(capacity.model, target, own_chips.get(other, 0)) for target in masks]
        if other in parts:
            yield from (ReplacedPart(row, mask, other, target, cost) for target, cost in zip(masks, costs, strict=True))
        else:
            others.append((min(costs), other))
    for _, other in sorted(others)[: len(parts)]:
        for index in np.flatnonzero(matches[other]).tolist():
            cost = _count_new(capacity.model, sets[index], own_chips.get(other, 0))
            yield ReplacedPart(row, mask, other, sets[index], cost)


def _server_choices(model: PlacementModel, any_of: AnyServers) -> Iterator[int]:
    """Yield the sets of so many servers of one rack."""
    for rack in model.racks:
        masks = [model.server_masks[server] for server in rack]
        yield from islice(map(sum, combinations(masks, any_of.servers)), MAX_CHOICES)


def _count_new(model: PlacementModel, target: int, own_chips: int) -> int:
    return sum(bool(target & server) and not own_chips & server for server in model.server_masks)


def _order(choice: ReplacedPart, own_chips: Mapping[int, int]) -> tuple[int, ...]:
    """Return the sort key: fewest new servers, then fewest new chips, then the own domain, then address."""
    new_chips = (choice.target_mask & ~own_chips.get(choice.target_row, 0)).bit_count()
    is_elsewhere = choice.target_row != choice.row
    return choice.new_servers, new_chips, is_elsewhere, choice.target_row, choice.target_mask


class _Assignment:
    """The search for disjoint sets, one for each part; ``choices`` has those of each part, the cheapest first."""

    def __init__(self, choices: Sequence[Sequence[ReplacedPart]]) -> None:
        self._choices = choices
        least = [options[0].new_servers for options in choices]
        self._least_after = [sum(least[index:]) for index in range(len(least) + 1)]
        self._best: tuple[ReplacedPart, ...] | None = None
        self._best_cost, self._steps = sum(max(part.new_servers for part in options) for options in choices) + 1, 0

    def solve(self) -> ReplacementPlan | None:
        """Return the best plan found; None if there is none.

        Raises
        ------
        ScopeTooLargeError
            The search stopped before it found a plan, so that there may be one.

        """
        self._search((), {}, 0)
        is_proven = self._steps < MAX_STEPS
        if self._best is None:
            if is_proven:
                return None
            raise ScopeTooLargeError(f"no plan in the first {MAX_STEPS:,} steps; name fewer lost servers at a time")
        return ReplacementPlan(self._best, self._best_cost if is_proven else self._least_after[0])

    def _search(self, chosen: tuple[ReplacedPart, ...], used: Mapping[int, int], cost: int) -> None:
        if len(chosen) == len(self._choices):
            self._best, self._best_cost = chosen, cost
            return
        for choice in self._choices[len(chosen)]:
            deadline.raise_if_expired()
            self._steps += 1
            new_cost = cost + choice.new_servers
            if self._steps >= MAX_STEPS or new_cost + self._least_after[len(chosen) + 1] >= self._best_cost:
                return
            used_chips = used.get(choice.target_row, 0)
            if not used_chips & choice.target_mask:
                self._search((*chosen, choice), {**used, choice.target_row: used_chips | choice.target_mask}, new_cost)
