"""Room for one more set of chips: which jobs move, and where to, at the least cost; and an order for such moves.

A set of chips is a number whose bit i is chip i. Jobs that may have the same sets are alike, and go into one pool:
which of its sets are taken says all. That keeps the integer program small: a variable a set, a row a chip (HiGHS,
through SciPy).
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
    """Jobs that are alike: the sets that they have, which do not overlap, and those that each may have instead."""

    current: tuple[int, ...]
    alternatives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rearrangement:
    """Where everything goes.

    Attributes
    ----------
    room
        The set that becomes free; none was found where it is 0.
    moves
        By pool, from and to.
    lower
        No fewer moves make room.

    """

    target: int
    moves: tuple[tuple[tuple[int, int], ...], ...]
    lower: int


def rearrange(
    targets: Sequence[int], job_groups: Sequence[InterchangeableJobs], max_nodes: int
) -> Rearrangement | None:
    """Free one of some sets by the fewest moves, and of those plans by that of fewest chips; None if nothing does.

    Parameters
    ----------
    rooms
        Sets that would do.
    most
        Nodes of the search tree: work, not time.

    Raises
    ------
    TimeLimitError
        The deadline came first.

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
    """One room; as many sets a pool as it has jobs; no chip twice."""
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
    """An order in which each destination is free when its turn comes, and which moves must stop first for that.

    Parameters
    ----------
    moves
        From and to: chips of one space, nothing of it held by others.

    Returns
    -------
        Places in ``moves``: all in order, and those whose job gives its chips up before the first move, since they form
        a cycle; of several the one with fewest chips.

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
