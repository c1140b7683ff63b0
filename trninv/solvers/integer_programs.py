"""Solve balanced cuts, set packing and job rearrangement as integer programs with HiGHS.

HiGHS is called through SciPy.

Balanced cuts (`bisect_by_ilp`, for `trninv.solvers.bisection`): a variable x is the side of a node, and a variable y is
1 if an edge is cut. Trees of `trninv.solvers.tree_packing` are added as rows that raise the lower bound (Ferreira et
al. 1996).

Set packing (`max_disjoint_sets`) and rearrangement (`rearrange`, `order_moves`), for `trninv.placement`: a set of chips
is an integer whose bit i is chip i. Jobs that may use the same sets are interchangeable and form one group, because
which of the jobs uses which set does not matter. So the program needs only one variable for each set of a group and one
row for each chip.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from math import ceil, inf
from operator import or_

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trninv import deadline
from trninv.solvers.graph import NO_TARGET, Cut
from trninv.solvers.tree_packing import CutProblem

ConstraintRow = tuple[dict[int, float], float, float]
"""A linear constraint: coefficients by column, and the lower and upper bound of the weighted sum."""
_TOLERANCE = 1e-6
"""Rounding error that is subtracted from a bound before it is rounded up to an integer."""
_INFEASIBLE = 2
"""SciPy's status of a program that has no solution."""
_METHOD = "integer program with tree-balance cuts (HiGHS)"


def bisect_by_ilp(
    problem: CutProblem,
    sizes: tuple[int, int],
    incumbent: Cut,
    trees: NDArray[np.int64],
    max_nodes: int,
    target: int = NO_TARGET,
) -> Cut:
    """Return the best cut that HiGHS found, with the bounds that it proved; the cut is exact if they meet.

    Branch and bound with tree-balance cuts (Ferreira et al. 1996): exponential at worst, limited by ``max_nodes``.
    Capacities are divided by their common divisor, so that a bound is rounded up to the next possible value.

    Parameters
    ----------
    sizes
        Least and greatest number of endpoints on side 1.
    incumbent
        A known cut; only cuts with less capacity than its upper bound are searched.
    trees
        Coefficients of the edges, one row for each tree. Over the edges of a cut they sum to at least the number of
        endpoints on its smaller side.
    max_nodes
        Limit of search-tree nodes. It limits work instead of time, so a busy machine gives the same answer.
    target
        Only cuts with less capacity than this are searched.

    Raises
    ------
    TimeLimitError
        The deadline came first.

    Examples
    --------
    Start from chips 1 and 3 of a ring, which cut everything:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> problem = CutProblem.from_graph(graph, [1, 2, 3, 4])
    >>> incumbent = Cut(0, 90, frozenset([1, 3]), "a guess")
    >>> cut = bisect_by_ilp(problem, (2, 2), incumbent, np.zeros((0, 4), np.int64), 100)
    >>> cut.lower, cut.upper, sorted(cut.side) in ([1, 2], [3, 4])
    (30, 30, True)

    """
    nodes, unit = len(problem.nodes), problem.unit
    target_units = ceil(min(incumbent.upper, target) / unit)
    cost = [0.0] * nodes + [int(capacity) // unit for capacity in problem.capacity]
    endpoints, min_side = np.flatnonzero(problem.weight), problem.min_side(*sizes)
    rows: list[ConstraintRow] = [
        *_cut_rows(problem),
        ({int(end): float(problem.weight[end]) for end in endpoints}, *sizes),
        (dict(enumerate(cost)), incumbent.lower / unit, target_units - 1),
        *(({nodes + int(edge): float(tree[edge]) for edge in np.flatnonzero(tree)}, min_side, inf) for tree in trees),
    ]
    with redirect_stdout_to_stderr():
        result = milp(
            c=cost,
            integrality=np.concatenate([problem.weight > 0, np.zeros(len(problem.capacity), dtype=np.bool_)]),
            bounds=Bounds(0, 1),
            constraints=linear_constraint(rows, len(cost)),
            options={"node_limit": max_nodes, "time_limit": deadline.cap_timeout(inf), "mip_rel_gap": 0.0},
        )
    deadline.raise_if_expired()
    if result.status == _INFEASIBLE:
        return Cut(target_units * unit, incumbent.upper, incumbent.side, f"{_METHOD}: no split cuts less")
    lower, upper, side = max(_dual_bound(result) * unit, incumbent.lower), incumbent.upper, incumbent.side
    if result.x is not None:
        is_in = result.x[:nodes] > 1 / 2
        upper, side = problem.cut_capacity(is_in), problem.members(is_in)
    lower = min(lower, target_units * unit)
    outcome = "solved" if lower >= upper else f"proven bounds after {max_nodes:,} nodes"
    return Cut(min(lower, upper), upper, side, f"{_METHOD}: {outcome}")


_redirect_lock = threading.Lock()
_redirect_depth = 0
_saved_stdout = -1


@contextmanager
def redirect_stdout_to_stderr() -> Iterator[None]:
    """Redirect the process's stdout to stderr, because HiGHS prints messages and a program may be reading our stdout.

    Contexts in several threads share one redirection, which ends with the last of them. O(1).

    Examples
    --------
    Only file descriptor 1 is redirected, and doctest has replaced Python's stdout, so the text is printed here:

    >>> with redirect_stdout_to_stderr():
    ...     print("solved")
    solved

    """
    global _redirect_depth, _saved_stdout  # noqa: PLW0603 # the file descriptor is the process's
    with _redirect_lock:
        if not _redirect_depth:
            if sys.stdout:
                sys.stdout.flush()
            _saved_stdout = os.dup(1)
            os.dup2(2, 1)
        _redirect_depth += 1
    try:
        yield
    finally:
        with _redirect_lock:
            _redirect_depth -= 1
            if not _redirect_depth:
                ctypes.CDLL(None).fflush(None)
                os.dup2(_saved_stdout, 1)
                os.close(_saved_stdout)


def _cut_rows(problem: CutProblem) -> Iterator[ConstraintRow]:
    """Yield the constraint y ≥ |x_u - x_v| for every edge, or y ≥ x_u - x_v if the edge leads only from u to v."""
    for edge, (u, v) in enumerate(problem.endpoints.tolist()):
        y = len(problem.nodes) + edge
        if not problem.one_way[edge]:
            yield {y: 1, u: 1, v: -1}, 0, inf
        yield {y: 1, u: -1, v: 1}, 0, inf


def linear_constraint(rows: list[ConstraintRow], columns: int) -> LinearConstraint:
    """Convert constraint rows to SciPy's form; O(coefficients).

    Examples
    --------
    1 ≤ x₀ + 2·x₂ ≤ 5:

    >>> constraint = linear_constraint([({0: 1.0, 2: 2.0}, 1.0, 5.0)], columns=3)
    >>> constraint.A.toarray().tolist(), constraint.lb.tolist(), constraint.ub.tolist()
    ([[1.0, 0.0, 2.0]], [1.0], [5.0])

    """
    values = [value for row, _, _ in rows for value in row.values()]
    coordinates = ([i for i, (row, _, _) in enumerate(rows) for _ in row], [j for row, _, _ in rows for j in row])
    coefficients = csr_array((values, coordinates), shape=(len(rows), columns))
    return LinearConstraint(coefficients, [lower for _, lower, _ in rows], [upper for _, _, upper in rows])


def _dual_bound(result: OptimizeResult) -> int:
    """Return the proven lower bound of a program with integer values, at least 0."""
    bound = result.mip_dual_bound
    return max(0, ceil(bound - _TOLERANCE)) if bound is not None and bound > -inf else 0


def max_disjoint_sets(sets: Sequence[int], target: int) -> int:
    """Return the largest number of pairwise disjoint sets, or ``target`` if that is smaller.

    Maximum set packing is NP-hard (Karp 1972). A greedy packing in the sets' order, O(sets), is the answer if it has as
    many sets as the number of elements divided by the size of the smallest set, which no packing exceeds. Otherwise
    HiGHS solves an integer program.

    Raises
    ------
    TimeLimitError
        The deadline came first.

    Examples
    --------
    Of the four pairs of neighbours on a ring of four chips, at most two are disjoint:

    >>> max_disjoint_sets([0b0011, 0b0110, 0b1100, 0b1001], target=9)
    2

    """
    unique_sets = list(dict.fromkeys(sets))
    lower_bound = min(_pack_greedily(unique_sets), target)
    min_size = min((mask.bit_count() for mask in unique_sets), default=1)
    if lower_bound == min(target, reduce(or_, unique_sets, 0).bit_count() // min_size):
        return lower_bound
    return min(_pack_by_ilp(unique_sets), target)


def _pack_greedily(sets: Sequence[int]) -> int:
    """Count the sets of a packing that takes each set that is disjoint from all sets taken before."""
    union = count = 0
    for mask in sets:
        if not union & mask:
            union, count = union | mask, count + 1
    return count


def _pack_by_ilp(sets: Sequence[int]) -> int:
    """Return the size of the largest packing."""
    elements = range(max(sets).bit_length())
    rows: list[ConstraintRow] = [
        (dict.fromkeys((column for column, mask in enumerate(sets) if mask >> element & 1), 1.0), -inf, 1.0)
        for element in elements
    ]
    with redirect_stdout_to_stderr():
        result = milp(
            c=-np.ones(len(sets)),
            integrality=np.ones(len(sets), dtype=np.int64),
            bounds=Bounds(0, 1),
            constraints=linear_constraint(rows, len(sets)),
            options={"time_limit": deadline.cap_timeout(inf), "mip_rel_gap": 0.0},
        )
    deadline.raise_if_expired()
    return round(-float(result.fun or 0))


@dataclass(frozen=True, slots=True)
class InterchangeableJobs:
    """Interchangeable jobs: their current sets of chips, which do not overlap, and the sets that any job may use."""

    current: tuple[int, ...]
    alternatives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rearrangement:
    """The moves that free a set of chips.

    Attributes
    ----------
    target
        The set that becomes free; 0 if the search ended at its node limit without a plan.
    moves
        For each group of interchangeable jobs, its moves as (old set, new set).
    lower
        Proven lower bound of the number of moves.

    """

    target: int
    moves: tuple[tuple[tuple[int, int], ...], ...]
    lower: int


def rearrange(
    targets: Sequence[int], job_groups: Sequence[InterchangeableJobs], max_nodes: int
) -> Rearrangement | None:
    """Free one of the target sets with the fewest moves; of such plans, move the fewest chips. None if impossible.

    An integer program (set packing, HiGHS): exponential at worst, limited by ``max_nodes``.

    Parameters
    ----------
    targets
        Sets of chips, one of which must become free.
    max_nodes
        Limit of search-tree nodes. It limits work instead of time, so a busy machine gives the same answer.

    Raises
    ------
    TimeLimitError
        The deadline came first.

    Examples
    --------
    Chips 0 and 1 must become free. A job on chip 0 may use any of four chips; chip 2 has another job that must stay:

    >>> jobs, fixed = InterchangeableJobs((0b0001,), (0b0010, 0b0100, 0b1000)), InterchangeableJobs((0b0100,), ())
    >>> plan = rearrange([0b0011], [jobs, fixed], max_nodes=100)
    >>> plan.target, plan.moves, plan.lower
    (3, (((1, 8),), ()), 1)

    """
    sets_by_group = [tuple(dict.fromkeys((*jobs.current, *jobs.alternatives))) for jobs in job_groups]
    columns = [*targets, *(mask for group_sets in sets_by_group for mask in group_sets)]
    # saving one move outweighs all chips, so that the number of chips only decides between plans with as many moves
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
    # m moves cost at most m·move_cost plus the number of all chips, which is move_cost - 1
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
    """Return rows that require one target, as many sets of each group as it has jobs, and no chip in two sets."""
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
    """Pair the current sets that are not chosen with the chosen sets that are not current, as (old set, new set)."""
    leaving = sorted(mask for mask in jobs.current if mask not in chosen)
    return tuple(zip(leaving, sorted(mask for mask in chosen if mask not in jobs.current), strict=True))


def order_moves(moves: Sequence[tuple[int, int]], interrupted: Collection[int] = ()) -> tuple[list[int], list[int]]:
    """Order moves so that each destination is free when its move starts; break cycles by stopping some jobs first.

    A topological order (Kahn 1962). If no job can move, the job with the fewest chips in a cycle must stop; of those
    that are interrupted anyway, if there are any. O(moves³).

    Parameters
    ----------
    moves
        For each job, the set of chips that it leaves and the set that it moves to. No other jobs use these chips.
    interrupted
        Indices of moves whose jobs can't move without an interruption.

    Returns
    -------
    Indices of ``moves``: all of them in order, and those whose jobs must release their chips before the first move.

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
                _in_cycles(pending, moves, occupied),
                key=lambda index: (index not in interrupted, moves[index][0].bit_count(), index),
            )
            must_stop.append(smallest)
            occupied[smallest] = 0
    return order, must_stop


def _in_cycles(pending: Sequence[int], moves: Sequence[tuple[int, int]], occupied: Sequence[int]) -> Iterator[int]:
    """Yield the pending moves that wait, directly or not, for themselves, by the chips that are occupied."""
    waits = np.array([[bool(moves[index][1] & occupied[other]) for other in pending] for index in pending])
    _, component = connected_components(csr_array(waits), connection="strong")
    is_in_cycle = (np.bincount(component)[component] > 1) | waits.diagonal()
    return (index for index, is_cyclic in zip(pending, is_in_cycle, strict=True) if is_cyclic)
