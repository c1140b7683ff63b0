"""Plan the fewest moves of jobs that free a requested set of chips, and order them.

`trninv make-room` frees chips for a new job, and `trninv drain-impact` for a job that loses its own.

All jobs that overlap the freed set must move, so the fewest jobs that overlap any requested set are a lower bound. A
greedy plan moves the jobs in the way, one by one, to free chips. If it has as many moves as the bound, no plan has
fewer. Otherwise an integer program finds the fewest moves within one domain. Across domains a job moves only once, to
chips that are free by then, so such a plan may have more moves than necessary.

Sets of chips are bit masks, and a row is a domain of the cluster (`trninv.placement.candidates.free_capacity`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import ceil, prod
from typing import Final

import numpy as np

from trninv import deadline, solvers
from trninv.errors import UnknownJobError, suggestion
from trninv.placement.allocations.allocation_masks import JobAllocation
from trninv.placement.candidates.candidate_search import NO_MINIMUM, Candidate, CandidateSearch, PlacementPolicy
from trninv.placement.candidates.free_blocks import are_intact
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.job_request import JobRequest
from trninv.placement.candidates.placement_model import AnyServers, LegalSets
from trninv.solvers.torus_blocks import BlockLimits, MaskRows, intersects, pack_masks, unpack_masks

MAX_GREEDY_TARGETS: Final = 64
"""The most target sets, or choices of whole domains, that are tried greedily."""
MAX_SOLVED_DOMAINS: Final = 60
"""The most domains, cheapest first, whose integer program is solved."""
MAX_SEARCH_NODES: Final = 2_000
"""The most nodes in the search tree of an integer program."""


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """A move of a job from one set of chips, ``row`` and ``mask``, to another.

    ``must_stop`` is whether this job must free its chips before the first move, because moves form a cycle.
    """

    allocation: JobAllocation
    row: int
    mask: int
    target_row: int
    target_mask: int
    must_stop: bool = False


@dataclass(frozen=True, slots=True)
class MovePlan:
    """The sets that become free, and the ordered moves that free them.

    Attributes
    ----------
    targets
        Rows and masks of the sets that become free; empty if no plan was found although one may exist.
    lower_bound
        A proven lower bound: every plan has at least so many moves.

    """

    targets: tuple[tuple[int, int], ...]
    moves: tuple[PlannedMove, ...]
    lower_bound: int

    @property
    def exact(self) -> bool:
        """Whether it is proven that no plan has fewer moves."""
        return len(self.moves) == self.lower_bound


@dataclass(frozen=True, slots=True)
class TargetSet:
    """A requested set that could be freed, the number of jobs in its way, and the number of chips of these jobs.

    ``degraded``: a part of the set is degraded.
    """

    row: int
    mask: int
    jobs: int
    chips: int
    degraded: bool

    @property
    def cost(self) -> tuple[int, int]:
        """The sort key: jobs, then chips."""
        return self.jobs, self.chips


def alternative_sets(capacity: FreeCapacity, legal_sets: LegalSets, mask: int) -> tuple[int, ...] | AnyServers:
    """Return the sets of equal size to which a job on ``mask`` can move; none if ``mask`` is not legal or a box."""
    size, torus = mask.bit_count(), capacity.model.torus
    if mask in legal_sets.sets.get(size, ()):
        return legal_sets.sets[size]
    if size in legal_sets.any_of:
        return legal_sets.any_of[size]
    if torus is None or mask not in torus.shape_by_mask:
        return ()
    return tuple(block.mask for shape in torus.shapes if prod(shape) == size for block in torus.blocks(shape))


def best_destination(
    capacity: FreeCapacity, legal_sets: LegalSets, mask: int, policy: PlacementPolicy, *, keep_all_gather: bool
) -> Candidate | None:
    """Return the best free set to which a job can move from ``mask``.

    With ``keep_all_gather``, the job's all-gather limit must not fall, and no part of the new set may be degraded.
    """
    if not (options := alternative_sets(capacity, legal_sets, mask)):
        return None
    min_limits = BlockLimits(capacity.model.limits(mask).all_gather, 0) if keep_all_gather else NO_MINIMUM
    search = CandidateSearch(capacity, legal_sets, options, min_limits=min_limits, healthy_only=keep_all_gather)
    candidates = search.best(search.matches, 1, policy)
    return candidates[0] if candidates else None


def pinned_jobs(allocations: Sequence[JobAllocation], names: Collection[str]) -> frozenset[int]:
    """Return the keys of pinned jobs and of the named jobs.

    Raises
    ------
    UnknownJobError

    """
    keys_by_name = {job.name: job.key for job in allocations}
    for name in names:
        if name not in keys_by_name:
            raise UnknownJobError(
                f"no job {name[:200]} has chips there: {suggestion(name, keys_by_name)} (trninv jobs lists all)"
            )
    return frozenset([*(job.key for job in allocations if job.pinned), *(keys_by_name[name] for name in names)])


class MovePlanner:
    """Plan moves in one cluster's free capacity.

    Parameters
    ----------
    capacity
        All domains of the cluster; targets and destinations are in its scope.
    allocations
        All jobs of the cluster.
    immovable
        Keys of jobs that must not move. Jobs of several domains, jobs with spares, jobs with chips outside the scope
        and jobs whose set of chips is neither legal nor a box do not move either.
    reserved
        Chips that moved jobs must not get, because they are reserved for a later time; None: the same as in `capacity`.

    """

    def __init__(
        self,
        capacity: FreeCapacity,
        legal_sets: LegalSets,
        allocations: Sequence[JobAllocation],
        immovable: Collection[int],
        reserved: MaskRows | None = None,
    ) -> None:
        self.capacity, self._legal_sets = capacity, legal_sets
        self._reserved = np.zeros_like(capacity.allocated) if reserved is None else reserved
        self._scope_masks = unpack_masks(capacity.in_scope)
        self._cached_choices = dict[tuple[int, tuple[int, ...], int], tuple[int, ...]]()
        self._movable = [job for job in allocations if job.key not in immovable and self._is_movable(job)]
        self._job_rows = np.array([row for job in self._movable for row in job.work], np.intp)
        self._job_masks = pack_masks(
            [mask for job in self._movable for mask in job.work.values()], capacity.model.chips
        )

    def _is_movable(self, job: JobAllocation) -> bool:
        if len(job.work) != 1 or job.spare:
            return False
        ((row, mask),) = job.work.items()
        return self._scope_masks[row] & mask == mask and bool(alternative_sets(self.capacity, self._legal_sets, mask))

    @cached_property
    def _without_movable_jobs(self) -> FreeCapacity:
        """The capacity if no movable job had chips: what moves could free at most."""
        movable = np.zeros_like(self.capacity.allocated)
        np.bitwise_or.at(movable, self._job_rows, self._job_masks)
        return self.capacity.with_allocated(self.capacity.allocated & ~movable)

    def plan_request(self, request: JobRequest) -> MovePlan | None:
        """Plan for a request, with `plan_domains` for whole domains and `plan` otherwise."""
        return self.plan_domains(request.domains) if request.domains else self.plan(request.sets)

    def plan(self, options: Sequence[int] | AnyServers) -> MovePlan | None:
        """Plan moves that free one of the sets; None if it is proven that no moves can."""
        targets, lower_bound = (
            self._rack_targets(options) if isinstance(options, AnyServers) else self._targets(options)
        )
        if not targets:
            return None
        best = next(filter(None, map(self._move_greedily, islice(targets, MAX_GREEDY_TARGETS))), None)
        if best is None or _plan_cost(best) > targets[0].cost:
            best, domain_bound = self._solve_domains(targets, best)
            is_one_domain = np.count_nonzero(self.capacity.in_scope.any(axis=1)) == 1
            if is_one_domain and not isinstance(options, AnyServers):  # the integer program covers all plans
                if domain_bound is None:
                    return None
                lower_bound = domain_bound
        if best is None:
            return MovePlan((), (), lower_bound)
        return replace(best, lower_bound=min(lower_bound, len(best.moves)))

    def _targets(self, options: Sequence[int]) -> tuple[list[TargetSet], int]:
        """Return the sets that could be freed, cheapest first, and the fewest jobs that overlap one of them."""
        search = CandidateSearch(self._without_movable_jobs, self._legal_sets, options)
        can_be_freed, degraded = search.matches_by_row(search.intact), search.matches_by_row(search.degraded)
        # Domains × sets: the movable jobs that overlap a set, and their chips.
        jobs, chips = np.zeros(can_be_freed.shape, np.int64), np.zeros(can_be_freed.shape, np.int64)
        overlaps = intersects(self._job_masks, pack_masks(options, self.capacity.model.chips))
        job_sizes = np.bitwise_count(self._job_masks).sum(axis=1, dtype=np.int64)
        np.add.at(jobs, self._job_rows, overlaps)
        np.add.at(chips, self._job_rows, overlaps * job_sizes[:, None])
        rows, columns = np.nonzero(can_be_freed)
        order = np.lexsort((columns, rows, degraded[rows, columns], chips[rows, columns], jobs[rows, columns]))
        targets = []
        for row, column in zip(rows[order], columns[order], strict=True):
            cell = row, column
            targets.append(
                TargetSet(int(row), options[column], int(jobs[cell]), int(chips[cell]), bool(degraded[cell]))
            )
        return targets, targets[0].jobs if targets else 0

    def _rack_targets(self, request: AnyServers) -> tuple[list[TargetSet], int]:
        """Return each rack's servers with the fewest jobs, cheapest first, and a lower bound on the number of moves.

        A job on n servers has weight 1/n on each, so the weights of servers add up to at most the number of their jobs.
        """
        model = self.capacity.model
        servers = pack_masks(model.server_masks, model.chips)
        overlaps = intersects(self._job_masks, servers).astype(float)
        weight = np.zeros((len(self.capacity.ordinals), model.servers))
        np.add.at(weight, self._job_rows, overlaps / np.maximum(overlaps.sum(axis=1, keepdims=True), 1))
        _, class_of_row = self._without_movable_jobs.domain_classes
        weight[~are_intact(self._without_movable_jobs, model.server_masks)[class_of_row]] = np.inf  # can't be freed
        search = CandidateSearch(self._without_movable_jobs, self._legal_sets, model.server_masks)
        degraded_servers, targets, bounds = search.matches_by_row(search.degraded), list[TargetSet](), list[float]()
        for rack in model.racks:
            rack_weights = weight[:, list(rack)]
            cheapest = np.lexsort((degraded_servers[:, list(rack)], rack_weights))[:, : request.servers]
            total = np.take_along_axis(rack_weights, cheapest, axis=1).sum(axis=1)
            for row in np.flatnonzero(np.isfinite(total)).tolist():
                mask = sum(model.server_masks[rack[index]] for index in cheapest[row])
                jobs = [job for job in self._movable_in_row(row) if job.work[row] & mask]
                degraded = bool(degraded_servers[row, [rack[index] for index in cheapest[row]]].any())
                targets.append(TargetSet(row, mask, len(jobs), sum(job.chips for job in jobs), degraded))
                bounds.append(float(total[row]))
        targets.sort(key=lambda target: (*target.cost, target.degraded, target.row, target.mask))
        return targets, ceil(min(bounds, default=0) - 1e-9)  # sums of 1/n may be slightly above a whole number

    @cached_property
    def _jobs_by_row(self) -> dict[int, list[JobAllocation]]:
        jobs_by_row: dict[int, list[JobAllocation]] = {}
        for job in self._movable:
            jobs_by_row.setdefault(next(iter(job.work)), []).append(job)
        return jobs_by_row

    def _movable_in_row(self, row: int) -> list[JobAllocation]:
        return self._jobs_by_row.get(row, [])

    def _move_greedily(self, target: TargetSet) -> MovePlan | None:
        """Move the jobs in the way of a target to free chips, largest first; return None if a job finds no place.

        The plan's lower bound is 0 until `plan` replaces it.
        """
        in_the_way = [job for job in self._movable_in_row(target.row) if job.work[target.row] & target.mask]
        moves = self._move_all([target], in_the_way)
        return None if isinstance(moves, JobAllocation) else MovePlan(((target.row, target.mask),), moves, 0)

    def _move_all(
        self, targets: Sequence[TargetSet], jobs: Sequence[JobAllocation]
    ) -> tuple[PlannedMove, ...] | JobAllocation:
        """Return moves of all jobs to chips outside the targets, or the first job without a destination."""
        excluded = self._reserved.copy()
        for target in targets:
            excluded[target.row] |= self._pack_mask(target.mask)
        capacity, moves = self.capacity, list[PlannedMove]()
        for job in sorted(jobs, key=lambda job: (-job.chips, job.key)):
            deadline.raise_if_expired()
            ((row, mask),) = job.work.items()
            destination = best_destination(
                capacity.with_allocated(capacity.allocated | excluded),
                self._legal_sets,
                mask,
                PlacementPolicy.PACK,
                keep_all_gather=True,
            )
            if destination is None:
                return job
            moves.append(PlannedMove(job, row, mask, destination.row, destination.mask))
            allocated = capacity.allocated.copy()
            allocated[row] &= ~self._pack_mask(mask)
            allocated[destination.row] |= self._pack_mask(destination.mask)
            capacity = capacity.with_allocated(allocated)
        return tuple(moves)

    def _pack_mask(self, mask: int) -> MaskRows:
        packed: MaskRows = pack_masks([mask], self.capacity.model.chips)[0]
        return packed

    def _solve_domains(self, targets: Sequence[TargetSet], best: MovePlan | None) -> tuple[MovePlan | None, int | None]:
        """Return the best of ``best`` and the plans within each domain, and a lower bound on the moves.

        The bound is that of the last solved domain, or of the cheapest target if no domain is solved.
        """
        lower_bound: int | None = targets[0].jobs
        for row in islice(dict.fromkeys(target.row for target in targets), MAX_SOLVED_DOMAINS):
            in_domain = [target for target in targets if target.row == row]
            if best is not None and in_domain[0].cost >= _plan_cost(best):
                break
            plan, lower_bound = self._rearrange_domain(row, [target.mask for target in in_domain])
            if plan is not None and (best is None or _plan_cost(plan) < _plan_cost(best)):
                best = plan
        return best, lower_bound

    def _rearrange_domain(self, row: int, target_masks: Sequence[int]) -> tuple[MovePlan | None, int | None]:
        """Return a plan within a domain, or None if none was found, and a lower bound on the moves of such plans.

        The bound is None if it is proven that there is no plan within the domain.
        """
        deadline.raise_if_expired()
        jobs_by_choices: dict[tuple[int, ...], list[JobAllocation]] = {}
        for job in self._movable_in_row(row):
            jobs_by_choices.setdefault(self._allowed_sets(row, job.work[row]), []).append(job)
        job_groups = [
            solvers.integer_programs.InterchangeableJobs(tuple(job.work[row] for job in group), choices)
            for choices, group in jobs_by_choices.items()
        ]
        solution = solvers.integer_programs.rearrange(target_masks, job_groups, MAX_SEARCH_NODES)
        if solution is None or not solution.target:
            return None, solution.lower if solution else None
        jobs_by_mask = {job.work[row]: job for job in self._movable_in_row(row)}
        pairs = [pair for group_moves in solution.moves for pair in group_moves]
        order, must_stop = solvers.integer_programs.order_moves(pairs)
        ordered = ((index, *pairs[index]) for index in order)
        moves = tuple(
            PlannedMove(jobs_by_mask[source], row, source, row, destination, must_stop=index in must_stop)
            for index, source, destination in ordered
        )
        return MovePlan(((row, solution.target),), moves, 0), solution.lower

    def _allowed_sets(self, row: int, mask: int) -> tuple[int, ...]:
        """Return the sets of a domain that a job could move to from ``mask`` if there were no other movable jobs.

        There are none for a job that may run on any servers of a rack: the integer program needs a list of sets, so the
        job stays.
        """
        options = alternative_sets(self.capacity, self._legal_sets, mask)
        min_all_gather = self.capacity.model.limits(mask).all_gather
        if isinstance(options, AnyServers):
            return ()
        if (key := (row, options, min_all_gather)) not in self._cached_choices:
            domain = self._without_movable_jobs.select([row], self._without_movable_jobs.in_scope)
            search = CandidateSearch(
                domain,
                self._legal_sets,
                options,
                self._reserved[row : row + 1],
                min_limits=BlockLimits(min_all_gather, 0),
                healthy_only=True,
            )
            self._cached_choices[key] = tuple(options[index] for index in np.flatnonzero(search.matches[0]))
        return self._cached_choices[key]

    def plan_domains(self, count: int) -> MovePlan | None:
        """Plan moves that empty ``count`` whole domains; None if it is proven that too few can be emptied.

        The domains with the fewest jobs are tried first. If a job finds no destination, the next domain replaces that
        of the job.
        """
        targets, _ = self._targets((self.capacity.model.full,))
        if len(targets) < count:
            return None
        chosen, others = targets[:count], iter(targets[count:])
        lower_bound = sum(target.jobs for target in chosen)
        for _ in range(MAX_GREEDY_TARGETS):
            moves = self._move_all(chosen, [job for target in chosen for job in self._movable_in_row(target.row)])
            if not isinstance(moves, JobAllocation):
                return MovePlan(tuple((target.row, target.mask) for target in chosen), moves, lower_bound)
            stuck_job = moves
            if (other := next(others, None)) is None:
                break
            chosen = [*(target for target in chosen if target.row not in stuck_job.work), other]
        return MovePlan((), (), lower_bound)


def _plan_cost(plan: MovePlan) -> tuple[int, int]:
    """Return a sort key: moves, then moved chips."""
    return len(plan.moves), sum(move.mask.bit_count() for move in plan.moves)
