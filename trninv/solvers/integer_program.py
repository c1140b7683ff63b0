"""Balanced cuts as an integer program (HiGHS through SciPy): x says the side of a node, y whether an edge is cut.

Trees of `trninv.solvers.packing` give it cuts that raise its lower bound.
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
from trninv.solvers.packing import Problem
from trninv.solvers.split import EVERY, Split

Row = tuple[dict[int, float], float, float]
"""Coefficients by column, least and most."""

_TOLERANCE = 1e-6
_INFEASIBLE = 2
_METHOD = "integer program with tree-balance cuts (HiGHS)"


def bisect(
    problem: Problem,
    sizes: tuple[int, int],
    known: Split,
    trees: NDArray[np.int64],
    most: int,
    enough: int = EVERY,
) -> Split:
    """Least cut with bounds that HiGHS proved; exact if they met.

    Capacities are divided by their common divisor, so that a bound is rounded up to the next possible value.

    Parameters
    ----------
    sizes
        Least and most endpoints on side 1.
    known
        Bounds to start from: only splits that cut less than its upper one are looked for.
    trees
        Coefficients of the edges, a row a tree: each must sum to the problem's need over the cut.
    most
        Nodes of the search tree: work, not time, so that the same question has the same answer on a busy machine.
    enough
        Only splits that cut less are looked for.

    Raises
    ------
    TimeLimitError
        The deadline came first.

    """
    nodes, unit = len(problem.nodes), problem.unit
    least = ceil(min(known.upper, enough) / unit)
    cost = [0.0] * nodes + [int(carries) // unit for carries in problem.carries]
    ends, need = np.flatnonzero(problem.weight), problem.need(*sizes)
    rows: list[Row] = [
        *_cut_rows(problem),
        ({int(end): float(problem.weight[end]) for end in ends}, *sizes),
        (dict(enumerate(cost)), known.lower / unit, least - 1),
        *(({nodes + int(at): float(tree[at]) for at in np.flatnonzero(tree)}, need, inf) for tree in trees),
    ]
    with stdout_elsewhere():
        result = milp(
            c=cost,
            integrality=np.concatenate([problem.weight > 0, np.zeros(len(problem.carries), dtype=np.bool_)]),
            bounds=Bounds(0, 1),
            constraints=matrix(rows, len(cost)),
            options={"node_limit": most, "time_limit": deadline.remaining(inf), "mip_rel_gap": 0.0},
        )
    deadline.check()
    if result.status == _INFEASIBLE:
        return Split(least * unit, known.upper, known.side, f"{_METHOD}: no split cuts less")
    lower, upper, side = max(_bound(result) * unit, known.lower), known.upper, known.side
    if result.x is not None:
        found = result.x[:nodes] > 1 / 2
        upper, side = problem.cut(found), problem.members(found)
    lower = min(lower, least * unit)
    ended = "solved" if lower >= upper else f"proven bounds after {most:,} nodes"
    return Split(min(lower, upper), upper, side, f"{_METHOD}: {ended}")


_redirected = threading.Lock()
_within = 0
_stdout = -1


@contextmanager
def stdout_elsewhere() -> Iterator[None]:
    """Send what HiGHS prints of its own accord to stderr: a program may be reading our stdout."""
    global _within, _stdout  # noqa: PLW0603 # the file descriptor is the process's
    with _redirected:
        if not _within:
            if sys.stdout:
                sys.stdout.flush()
            _stdout = os.dup(1)
            os.dup2(2, 1)
        _within += 1
    try:
        yield
    finally:
        with _redirected:
            _within -= 1
            if not _within:
                ctypes.CDLL(None).fflush(None)
                os.dup2(_stdout, 1)
                os.close(_stdout)


def _cut_rows(problem: Problem) -> Iterator[Row]:
    """Y ≥ |x_a - x_b| for every edge; y ≥ x_a - x_b for one that leads from a to b only."""
    for at, (a, b) in enumerate(problem.ends.tolist()):
        y = len(problem.nodes) + at
        if not problem.one_way[at]:
            yield {y: 1, a: 1, b: -1}, 0, inf
        yield {y: 1, a: -1, b: 1}, 0, inf


def matrix(rows: list[Row], columns: int) -> LinearConstraint:
    """Rows as SciPy takes them."""
    values = [value for row, _, _ in rows for value in row.values()]
    at = ([i for i, (row, _, _) in enumerate(rows) for _ in row], [j for row, _, _ in rows for j in row])
    held = csr_array((values, at), shape=(len(rows), columns))
    return LinearConstraint(held, [least for _, least, _ in rows], [most for _, _, most in rows])


def _bound(result: OptimizeResult) -> int:
    bound = result.mip_dual_bound
    return max(0, ceil(bound - _TOLERANCE)) if bound is not None and bound > -inf else 0
