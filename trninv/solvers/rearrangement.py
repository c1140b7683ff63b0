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
from trninv.solvers.integer_program import Row, matrix, stdout_elsewhere

_TOLERANCE = 1e-6
_INFEASIBLE = 2


@dataclass(frozen=True, slots=True)
class Pool:
    """Jobs that are alike: the sets that they have, which do not overlap, and those that each may have instead."""

    now: tuple[int, ...]
    others: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rearranged:
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

    room: int
    moves: tuple[tuple[tuple[int, int], ...], ...]
    lower: int


def rearranged(rooms: Sequence[int], pools: Sequence[Pool], most: int) -> Rearranged | None:
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
    sets = [tuple(dict.fromkeys((*pool.now, *pool.others))) for pool in pools]
    listed = [*rooms, *(mask for each in sets for mask in each)]
    a_move = sum(mask.bit_count() for pool in pools for mask in pool.now) + 1
    stay = (
        -(a_move + mask.bit_count()) if mask in pool.now else 0
        for pool, each in zip(pools, sets, strict=True)
        for mask in each
    )
    gains = [*(0 for _ in rooms), *stay]
    with stdout_elsewhere():
        result = milp(
            c=gains,
            integrality=np.ones(len(listed), dtype=np.int64),
            bounds=Bounds(0, 1),
            constraints=matrix(_rows(rooms, pools, sets, listed), len(listed)),
            options={"node_limit": most, "time_limit": deadline.remaining(inf), "mip_rel_gap": 0.0},
        )
    deadline.check()
    if result.status == _INFEASIBLE:
        return None
    bound = sum(gains) if result.mip_dual_bound is None else max(result.mip_dual_bound, sum(gains))
    least = ceil(bound - _TOLERANCE) - sum(gains)
    lower = max(-(-(least - a_move + 1) // a_move), 0)
    if result.x is None:
        return Rearranged(0, (), lower)
    taken = [bool(value > 1 / 2) for value in result.x]
    room = next(mask for mask, is_taken in zip(rooms, taken, strict=False) if is_taken)
    moves, at = [], len(rooms)
    for pool, each in zip(pools, sets, strict=True):
        chosen = [mask for mask, is_taken in zip(each, taken[at : at + len(each)], strict=True) if is_taken]
        moves.append(_moves(pool, chosen))
        at += len(each)
    return Rearranged(room, tuple(moves), lower)


def _rows(
    rooms: Sequence[int], pools: Sequence[Pool], sets: Sequence[Sequence[int]], listed: Sequence[int]
) -> list[Row]:
    """One room; as many sets a pool as it has jobs; no chip twice."""
    rows: list[Row] = [(dict.fromkeys(range(len(rooms)), 1), 1, 1)]
    at = len(rooms)
    for pool, each in zip(pools, sets, strict=True):
        rows.append((dict.fromkeys(range(at, at + len(each)), 1), len(pool.now), len(pool.now)))
        at += len(each)
    for chip in range(max(listed, default=0).bit_length()):
        over = {column: 1.0 for column, mask in enumerate(listed) if mask >> chip & 1}
        if len(over) > 1:
            rows.append((over, 0, 1))
    return rows


def _moves(pool: Pool, chosen: Sequence[int]) -> tuple[tuple[int, int], ...]:
    left = sorted(mask for mask in pool.now if mask not in chosen)
    return tuple(zip(left, sorted(mask for mask in chosen if mask not in pool.now), strict=True))


def ordered(moves: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
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
    held, waiting = [source for source, _ in moves], list(range(len(moves)))
    order, stopped = list[int](), list[int]()
    while waiting:
        ready = (at for at in waiting if not any(moves[at][1] & mask for mask in held))
        if (first := next(ready, None)) is not None:
            waiting.remove(first)
            order.append(first)
            held[first] = moves[first][1]
        else:
            least = min((at for at in waiting if at not in stopped), key=lambda at: (moves[at][0].bit_count(), at))
            stopped.append(least)
            held[least] = 0
    return order, stopped
