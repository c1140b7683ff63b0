"""Count the most disjoint sets: greedily if that meets the bound by size, else by an integer program (HiGHS).

A set is an integer whose bit i is element i.
"""

from collections.abc import Sequence
from functools import reduce
from math import inf
from operator import or_

import numpy as np
from scipy.optimize import Bounds, milp

from trninv import deadline
from trninv.solvers.integer_program import ConstraintRow, linear_constraint, redirect_stdout_to_stderr


def max_disjoint_sets(sets: Sequence[int], target: int) -> int:
    """Return the largest number of pairwise disjoint sets, or ``target`` if that is smaller.

    Maximum set packing is NP-hard (Karp 1972). A greedy packing in the order given, O(sets), is enough if it reaches
    elements / smallest set; otherwise HiGHS solves an integer program.

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
    union = count = 0
    for mask in sets:
        if not union & mask:
            union, count = union | mask, count + 1
    return count


def _pack_by_ilp(sets: Sequence[int]) -> int:
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
