"""Choose which jobs to move, and where to, so that a set of chips becomes free at least cost; and order such moves.

A set of chips is an integer whose bit i is chip i. Jobs that may use the same sets are interchangeable and form one
group: only which of its sets are used matters. That keeps the integer program small: a variable for each set and a row
for each chip (solved by HiGHS through SciPy).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np
from scipy.optimize import Bounds, milp

from trninv import deadline
from trninv.solvers.integer_program import ConstraintRow, linear_constraint, redirect_stdout_to_stderr

_TOLERANCE = 1e-6
_INFEASIBLE = 2


@dataclass(frozen=True, slots=True)
class InterchangeableJobs:
    """Interchangeable jobs: their current sets, which do not overlap, and the sets that each may use instead."""

    current: tuple[int, ...]
    alternatives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rearrangement:
    """The moves that free a set of chips.

    Attributes
    ----------
    target
        The set that becomes free; 0 if the node limit was reached before any plan.
    moves
        For each group of jobs, the moves as (from, to).
    lower
        Proven lower bound of the number of moves.

    """

    target: int
    moves: tuple[tuple[tuple[int, int], ...], ...]
    lower: int


def rearrange(
    targets: Sequence[int], job_groups: Sequence[InterchangeableJobs], max_nodes: int
) -> Rearrangement | None:
    """Free one of the target sets by the fewest moves and, among such plans, the fewest chips; None if impossible.

    An integer program (set packing, HiGHS): exponential at worst, limited by ``max_nodes``.

    Parameters
    ----------
    targets
        Sets of which one has to become free.
    max_nodes
        Limit of search-tree nodes: work, not time.

    Raises
    ------
    TimeLimitError
        The deadline came first.

    Examples
    --------
    Chips 0 and 1 shall be free; a job on chip 0 may use any of four chips, and chip 2 has another job that stays:

    >>> jobs, fixed = InterchangeableJobs((0b0001,), (0b0010, 0b0100, 0b1000)), InterchangeableJobs((0b0100,), ())
    >>> plan = rearrange([0b0011], [jobs, fixed], max_nodes=100)
    >>> plan.target, plan.moves, plan.lower
    (3, (((1, 8),), ()), 1)

    """
    sets_by_group = [tuple(dict.fromkeys((*jobs.current, *jobs.alternatives))) for jobs in job_groups]
    columns = [*targets, *(mask for group_sets in sets_by_group for mask in group_sets)]
    move_cost = sum(mask.bit_count() for jobs in job_groups for mask in jobs.current) + 1
    stay_gains = (
        -(move_cost + mask.bit_count()) if mask in jobs.current else 0
        for jobs, group_sets in zip(job_groups, sets_by_group, strict=True)
        for mask in group_sets
    )
    gains = [*(0 for _ in targets), *stay_gains]
    with redirect_stdout_to_stderr():
        result = milp(
            c=gains,
            integrality=np.ones(len(columns), dtype=np.int64),
            bounds=Bounds(0, 1),
            constraints=linear_constraint(_constraint_rows(targets, job_groups, sets_by_group, columns), len(columns)),
            options={"node_limit": max_nodes, "time_limit": deadline.cap_timeout(inf), "mip_rel_gap": 0.0},
        )
    deadline.raise_if_expired()
    if result.status == _INFEASIBLE:
        return None
    bound = sum(gains) if result.mip_dual_bound is None else max(result.mip_dual_bound, sum(gains))
    min_cost = ceil(bound - _TOLERANCE) - sum(gains)
    lower = max(-(-(min_cost - move_cost + 1) // move_cost), 0)
    if result.x is None:
        return Rearrangement(0, (), lower)
    chosen_flags = [bool(value > 1 / 2) for value in result.x]
    target = next(mask for mask, is_taken in zip(targets, chosen_flags, strict=False) if is_taken)
    moves, offset = [], len(targets)
    for jobs, group_sets in zip(job_groups, sets_by_group, strict=True):
        chosen = [
            mask
            for mask, is_taken in zip(group_sets, chosen_flags[offset : offset + len(group_sets)], strict=True)
            if is_taken
        ]
        moves.append(_pair_moves(jobs, chosen))
        offset += len(group_sets)
    return Rearrangement(target, tuple(moves), lower)


def _constraint_rows(
    targets: Sequence[int],
    job_groups: Sequence[InterchangeableJobs],
    sets_by_group: Sequence[Sequence[int]],
    columns: Sequence[int],
) -> list[ConstraintRow]:
    """Require one target, as many sets of each group as it has jobs, and no chip twice."""
    rows: list[ConstraintRow] = [(dict.fromkeys(range(len(targets)), 1), 1, 1)]
    offset = len(targets)
    for jobs, group_sets in zip(job_groups, sets_by_group, strict=True):
        rows.append((dict.fromkeys(range(offset, offset + len(group_sets)), 1), len(jobs.current), len(jobs.current)))
        offset += len(group_sets)
    for chip in range(max(columns, default=0).bit_length()):
        coefficients = {column: 1.0 for column, mask in enumerate(columns) if mask >> chip & 1}
        if len(coefficients) > 1:
            rows.append((coefficients, 0, 1))
    return rows


def _pair_moves(jobs: InterchangeableJobs, chosen: Sequence[int]) -> tuple[tuple[int, int], ...]:
    leaving = sorted(mask for mask in jobs.current if mask not in chosen)
    return tuple(zip(leaving, sorted(mask for mask in chosen if mask not in jobs.current), strict=True))


def order_moves(moves: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Order moves so that each destination is free when its move starts; break cycles by stopping jobs first.

    A topological order; of a cycle the job with the fewest chips stops. O(moves³).

    Parameters
    ----------
    moves
        From and to, as sets of chips that no other job uses.

    Returns
    -------
        Indices of ``moves``: all of them in order, and those whose job has to release its chips before the first move.

    Examples
    --------
    Job 0 moves to the chip of job 1, which moves away first:

    >>> order_moves([(0b001, 0b010), (0b010, 0b100)])
    ([1, 0], [])

    Two jobs that exchange their chips form a cycle, so job 1, which has fewer, stops first:

    >>> order_moves([(0b0011, 0b1100), (0b0100, 0b0001)])
    ([0, 1], [1])

    """
    occupied, pending = [source for source, _ in moves], list(range(len(moves)))
    order, must_stop = list[int](), list[int]()
    while pending:
        movable = (index for index in pending if not any(moves[index][1] & mask for mask in occupied))
        if (first := next(movable, None)) is not None:
            pending.remove(first)
            order.append(first)
            occupied[first] = moves[first][1]
        else:
            smallest = min(
                (index for index in pending if index not in must_stop),
                key=lambda index: (moves[index][0].bit_count(), index),
            )
            must_stop.append(smallest)
            occupied[smallest] = 0
    return order, must_stop
