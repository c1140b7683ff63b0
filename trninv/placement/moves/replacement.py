"""Plan the fewest new servers with which a job that lost servers keeps its shape and bandwidth.

A job has one part, a set of chips, in each of its domains. A part that lost chips moves to another set of the same
size, legal sets or box shapes like it, with at least its all-gather and bisection limits: within its domain, where it
may keep chips, or in another domain. A server is new if the job had no chip in it; one that two parts get counts twice.
Parts without a loss stay.

The best plan has the fewest new servers, then the lowest tier of the fabric above the job's domains, then the fewest
new chips. For each tier, parts are assigned to sets in a depth-first search with a lower bound, so the plan is the best
unless the search stops at `MAX_STEPS`. Other parts can occupy at most one domain each, so for n parts the n domains
with the cheapest sets are enough besides those of the parts themselves.
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
from trninv.placement.candidates.gangs import common_tier, network_node
from trninv.placement.candidates.placement_model import AnyServers, LegalSets, PlacementModel
from trninv.placement.moves.planner import alternative_sets
from trninv.solvers.torus_blocks import pack_masks
from trninv.topology.clos import TIERS

MAX_STEPS: Final = 20_000
"""The most sets that the search tries before it stops with the best plan so far."""
_COST_OF_SERVER: Final = 1 << 32
"""More than the number of chips of any job."""
MAX_CHOICES: Final = 5_000
"""The most choices of servers of one rack."""


@dataclass(frozen=True, slots=True)
class ReplacedPart:
    """A part of a job in the domain ``row`` with the chips ``mask``, and the set to which it moves.

    ``new_servers`` is the number of servers of that set in which the job had no chip, and ``new_chips`` that of chips
    that the job did not have.
    """

    row: int
    mask: int
    target_row: int
    target_mask: int
    new_servers: int
    new_chips: int

    @property
    def cost(self) -> int:
        """New servers, then new chips, as one number; costs of parts can be added."""
        return self.new_servers * _COST_OF_SERVER + self.new_chips


@dataclass(frozen=True, slots=True)
class ReplacementPlan:
    """The parts that move.

    Attributes
    ----------
    lower_bound
        A proven lower bound on the number of new servers.
    is_best
        Whether it is proven that no plan is better.

    """

    parts: tuple[ReplacedPart, ...]
    lower_bound: int
    is_best: bool

    @property
    def new_servers(self) -> int:
        """The number of new servers."""
        return sum(part.new_servers for part in self.parts)

    @property
    def cost(self) -> int:
        """New servers, then new chips, as one number."""
        return sum(part.cost for part in self.parts)


def plan_replacement(
    capacity: FreeCapacity, legal_sets: LegalSets, job: JobAllocation, lost: Mapping[int, int]
) -> ReplacementPlan | None:
    """Return the best plan; None if there is none.

    Parameters
    ----------
    capacity
        All domains of the cluster; its rows are their ordinals.
    lost
        Masks of the lost servers, by row.

    """
    parts = {row: mask for row, mask in job.work.items() if mask & lost.get(row, 0)}
    own_chips = {
        row: (job.work.get(row, 0) | job.spare.get(row, 0)) & ~lost.get(row, 0) for row in {*job.work, *job.spare}
    }
    available = _capacity_for(capacity, job, parts, lost)
    options = [_PartOptions(available, legal_sets, row, mask, own_chips, parts) for row, mask in parts.items()]
    plan = _solve(options, None)
    if plan is None or len(job.work) == 1:
        return plan
    staying, is_best = [row for row in job.work if row not in parts], plan.is_best
    for tier in range(TIERS, common_tier(capacity.model, _rows_after(plan, staying)), -1):
        below = [_solve(options, rows) for rows in _rows_below(capacity, options, staying, tier)]
        plans = [lower for lower in below if lower and lower.new_servers == plan.new_servers]
        is_best = is_best and all(lower is None or lower.is_best for lower in below)
        if plans:
            best = min(plans, key=lambda lower: lower.cost)
            return replace(best, lower_bound=plan.lower_bound, is_best=is_best)
    return replace(plan, is_best=is_best)


def _rows_after(plan: ReplacementPlan, staying: Sequence[int]) -> list[int]:
    return [*staying, *(part.target_row for part in plan.parts)]


def _rows_below(
    capacity: FreeCapacity, options: Sequence["_PartOptions"], staying: Sequence[int], tier: int
) -> Iterator[frozenset[int]]:
    """Yield the domains below each network node of a tier that could be above the whole job."""
    nodes = {network_node(capacity.model, row, tier) for row in staying}
    if len(nodes) > 1:
        return
    by_node: dict[int, set[int]] = {}
    for row in range(len(capacity.ordinals)):
        if not nodes or network_node(capacity.model, row, tier) in nodes:
            by_node.setdefault(network_node(capacity.model, row, tier), set()).add(row)
    for rows in by_node.values():
        if all(rows & part.rows for part in options):
            yield frozenset(rows)


def _solve(options: Sequence["_PartOptions"], rows: frozenset[int] | None) -> ReplacementPlan | None:
    """Return the plan with the fewest new servers, then chips, in some domains (None: in all); None if there is none.

    Raises
    ------
    ScopeTooLargeError
        The search stopped before it found a plan in all domains, so that there may be one.

    """
    choices = [part.choices(rows) for part in options]
    if not all(choices):
        return None
    search = _Assignment(choices)
    plan = search.solve()
    if plan is None and rows is None and not search.is_complete:
        raise ScopeTooLargeError(f"no plan in the first {MAX_STEPS:,} steps; name fewer lost servers at a time")
    return plan


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


class _PartOptions:
    """The sets to which a part can move."""

    def __init__(
        self,
        capacity: FreeCapacity,
        legal_sets: LegalSets,
        row: int,
        mask: int,
        own_chips: Mapping[int, int],
        parts: Mapping[int, int],
    ) -> None:
        self._model, self._row, self._mask = capacity.model, row, mask
        self._own_chips, self._parts = own_chips, parts
        options = alternative_sets(capacity, legal_sets, mask)
        self._sets = tuple(_server_choices(capacity.model, options)) if isinstance(options, AnyServers) else options
        self._matches = np.zeros((len(capacity.ordinals), len(self._sets)), bool)
        if self._sets:
            search = CandidateSearch(capacity, legal_sets, self._sets, min_limits=capacity.model.limits(mask))
            self._matches = search.matches_by_row(search.matches)
        self.rows = frozenset(np.flatnonzero(self._matches.any(axis=1)).tolist())
        self._least_costs = dict[int, int]()

    def choices(self, rows: frozenset[int] | None) -> list[ReplacedPart]:
        """Return the sets in some domains (None: in all), cheapest first.

        All sets in the domains of moving parts are choices, and those of the cheapest other domains.
        """
        usable = self.rows if rows is None else self.rows & rows
        others = sorted((self._least_cost(row), row) for row in usable - self._parts.keys())[: len(self._parts)]
        near = [*(usable & self._parts.keys()), *(row for _, row in others)]
        return sorted((choice for row in near for choice in self._choices_in(row)), key=_order)

    def _least_cost(self, row: int) -> int:
        if row not in self._least_costs:
            self._least_costs[row] = min(choice.cost for choice in self._choices_in(row))
        return self._least_costs[row]

    def _choices_in(self, row: int) -> Iterator[ReplacedPart]:
        own_chips = self._own_chips.get(row, 0)
        for index in np.flatnonzero(self._matches[row]).tolist():
            target = self._sets[index]
            new_chips = (target & ~own_chips).bit_count()
            yield ReplacedPart(
                self._row, self._mask, row, target, _count_new(self._model, target, own_chips), new_chips
            )


def _server_choices(model: PlacementModel, any_of: AnyServers) -> Iterator[int]:
    """Yield the sets of so many servers of one rack."""
    for rack in model.racks:
        masks = [model.server_masks[server] for server in rack]
        yield from islice(map(sum, combinations(masks, any_of.servers)), MAX_CHOICES)


def _count_new(model: PlacementModel, target: int, own_chips: int) -> int:
    return sum(bool(target & server) and not own_chips & server for server in model.server_masks)


def _order(choice: ReplacedPart) -> tuple[int, ...]:
    """Return the sort key: fewest new servers, then fewest new chips, then the own domain, then address."""
    return choice.cost, choice.target_row != choice.row, choice.target_row, choice.target_mask


class _Assignment:
    """The search for disjoint sets, one for each part; ``choices`` has those of each part, the cheapest first."""

    def __init__(self, choices: Sequence[Sequence[ReplacedPart]]) -> None:
        self._choices = choices
        self._least = [options[0].cost for options in choices]
        self._least_after = [sum(self._least[index:]) for index in range(len(choices) + 1)]
        self._best: tuple[ReplacedPart, ...] | None = None
        self._best_cost, self._steps = sum(max(part.cost for part in options) for options in choices) + 1, 0

    @property
    def is_complete(self) -> bool:
        """Whether the search considered all plans."""
        return self._steps < MAX_STEPS

    def solve(self) -> ReplacementPlan | None:
        """Return the best plan found; None if none was found."""
        self._search((), {}, 0)
        if self._best is None:
            return None
        least = sum(options[0].new_servers for options in self._choices)
        fewest = sum(part.new_servers for part in self._best) if self.is_complete else least
        return ReplacementPlan(self._best, fewest, self.is_complete)

    def _search(self, chosen: tuple[ReplacedPart, ...], used: Mapping[int, int], cost: int) -> None:
        if len(chosen) == len(self._choices):
            self._best, self._best_cost = chosen, cost
            return
        for choice in self._choices[len(chosen)]:
            deadline.raise_if_expired()
            self._steps += 1
            new_cost = cost + choice.cost
            if self._steps >= MAX_STEPS or new_cost + self._least_after[len(chosen) + 1] >= self._best_cost:
                return
            used_chips = used.get(choice.target_row, 0)
            if not used_chips & choice.target_mask:
                self._search((*chosen, choice), {**used, choice.target_row: used_chips | choice.target_mask}, new_cost)
