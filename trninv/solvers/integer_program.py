"""Solve balanced cuts as integer programs with HiGHS (Huangfu & Hall, Math. Programming Computation 10, 2018).

A variable x holds the side of a node, y whether an edge is cut. Trees of `trninv.solvers.packing` are added as rows
that raise the lower bound (Ferreira et al. 1996).
"""

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp
from scipy.sparse import csr_array

from trninv import deadline
from trninv.solvers.packing import CutProblem
from trninv.solvers.split import NO_TARGET, Cut

ConstraintRow = tuple[dict[int, float], float, float]
"""Coefficients by column, lower and upper bound of their sum."""

_TOLERANCE = 1e-6
_INFEASIBLE = 2
_METHOD = "integer program with tree-balance cuts (HiGHS)"


def bisect_by_ilp(
    problem: CutProblem,
    sizes: tuple[int, int],
    incumbent: Cut,
    trees: NDArray[np.int64],
    max_nodes: int,
    target: int = NO_TARGET,
) -> Cut:
    """Return the least cut with the bounds that HiGHS proved; exact if they met.

    Branch and bound with tree-balance cuts (Ferreira et al. 1996): exponential at worst, limited by ``max_nodes``.
    Capacities are divided by their common divisor, so that a bound is rounded up to the next possible value.

    Parameters
    ----------
    sizes
        Least and greatest number of endpoints on side 1.
    incumbent
        A known cut: only splits below its upper bound are searched.
    trees
        Coefficients of the edges, one row for each tree: over a cut they sum to the smaller side at least.
    max_nodes
        Limit of search-tree nodes: work, not time, so that a busy machine gives the same answer.
    target
        Only splits below this are searched.

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
    """Redirect the process's stdout to stderr: HiGHS prints messages, and a program may be reading our stdout.

    Contexts in several threads share one redirection, which ends with the last of them. O(1).

    Examples
    --------
    Python's own stdout is doctest's here, so the text is printed; only file descriptor 1 is redirected:

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
    """Yield the rows y ≥ |x_a - x_b| for every edge, or y ≥ x_a - x_b if it leads from a to b only."""
    for edge, (a, b) in enumerate(problem.endpoints.tolist()):
        y = len(problem.nodes) + edge
        if not problem.one_way[edge]:
            yield {y: 1, a: 1, b: -1}, 0, inf
        yield {y: 1, a: -1, b: 1}, 0, inf


def linear_constraint(rows: list[ConstraintRow], columns: int) -> LinearConstraint:
    """Return rows as a constraint for SciPy; O(coefficients).

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
    bound = result.mip_dual_bound
    return max(0, ceil(bound - _TOLERANCE)) if bound is not None and bound > -inf else 0
