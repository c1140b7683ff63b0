"""How many chips of each island stand on one side, so that what is cut is least: a knapsack on their profiles.

Run on lower bounds it bounds the answer from below, on upper bounds from above. Of what the lower one takes, the island
and number with the widest gap is solved until the two meet: each turn closes a gap. Where more gaps are open than may
be solved, the bounds stand.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.solvers.boundary import Profile

Ints = NDArray[np.int64]
MOST_SOLVED = 8
"""Numbers of chips that are solved, of all islands of a cluster together: some seconds each, mostly less."""
MOST_NODES = 500
"""Of the search tree, for each of them."""
_FAR = 2**61


@dataclass(frozen=True, slots=True)
class Shares:
    """Bounds on the least sum, and how many chips each island has on one side where it is the upper one."""

    lower: int
    upper: int
    counts: tuple[int, ...]


def least(islands: Sequence[Profile], low: int, high: int) -> Shares:
    """Least sum of what the islands cut, with ``low`` to ``high`` of their chips on one side.

    Parameters
    ----------
    islands
        One each; alike ones may be the same object.

    """
    solved = 0
    while True:
        deadline.check()
        below, taken = _filled([island.lower for island in islands], low, high)
        above, counts = _filled([island.upper for island in islands], low, high)
        gaps = [island.gap(count) for island, count in zip(islands, taken, strict=True)]
        if below == above or not 0 < np.count_nonzero(gaps) <= MOST_SOLVED - solved:
            return Shares(below, above, counts)
        widest = gaps.index(max(gaps))
        island, count = islands[widest], taken[widest]
        island.refine(count, MOST_NODES, int(island.lower[count]) + above - below)  # then these numbers cut no less
        solved += 1


def _filled(costs: Sequence[Ints], low: int, high: int) -> tuple[int, tuple[int, ...]]:
    """The least sum of one entry of each row, with ``low`` to ``high`` as the sum of their numbers, and these."""
    table = np.full(high + 1, _FAR, dtype=np.int64)
    table[0] = 0
    picks = []
    for cost in costs:
        made, pick = np.full(high + 1, _FAR, dtype=np.int64), np.zeros(high + 1, dtype=np.int64)
        for taken in range(min(len(cost), high + 1)):
            total = table[: high + 1 - taken] + cost[taken]
            better = total < made[taken:]
            made[taken:][better] = total[better]
            pick[taken:][better] = taken
        table = np.minimum(made, _FAR)
        picks.append(pick)
    count = low + int(np.argmin(table[low:]))
    value, counts = int(table[count]), []
    for pick in reversed(picks):
        counts.append(int(pick[count]))
        count -= counts[-1]
    return value, tuple(reversed(counts))
