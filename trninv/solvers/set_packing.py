"""The most sets that share nothing: greedily and by volume where those meet, else as an integer program (HiGHS).

A set is a number whose bit i is element i.
"""

from collections.abc import Sequence
from functools import reduce
from math import inf
from operator import or_

import numpy as np
from scipy.optimize import Bounds, milp

from trninv import deadline
from trninv.solvers.integer_program import Row, matrix, stdout_elsewhere


def most_apart(sets: Sequence[int], enough: int) -> int:
    """How many of some sets share nothing with each other at most, as far as it is fewer than enough.

    Raises
    ------
    TimeLimitError
        The deadline came first.

    """
    listed = list(dict.fromkeys(sets))
    found = min(_greedy(listed), enough)
    least = min((each.bit_count() for each in listed), default=1)
    if found == min(enough, reduce(or_, listed, 0).bit_count() // least):
        return found
    return min(_solved(listed), enough)


def _greedy(sets: Sequence[int]) -> int:
    taken = found = 0
    for each in sets:
        if not taken & each:
            taken, found = taken | each, found + 1
    return found


def _solved(sets: Sequence[int]) -> int:
    elements = range(max(sets).bit_length())
    rows: list[Row] = [
        (dict.fromkeys((at for at, each in enumerate(sets) if each >> element & 1), 1.0), -inf, 1.0)
        for element in elements
    ]
    with stdout_elsewhere():
        result = milp(
            c=-np.ones(len(sets)),
            integrality=np.ones(len(sets), dtype=np.int64),
            bounds=Bounds(0, 1),
            constraints=matrix(rows, len(sets)),
            options={"time_limit": deadline.remaining(inf), "mip_rel_gap": 0.0},
        )
    deadline.check()
    return round(-float(result.fun or 0))
