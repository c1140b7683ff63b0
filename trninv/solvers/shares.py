"""How many chips of each island stand on one side, so that what is cut is least: a knapsack on their profiles.

What an island cuts depends on the side of the network node above it, its hub. Links between hubs form a forest: a hub
and all below it cost c(k) by how many of their chips are across from the hub, so to the hub above they are one item of
cost min(c(k), c(n - k) + what the link between the hubs carries), n being all their chips.

Run on lower bounds it bounds the answer from below, on upper bounds from above. Of what the lower one takes, the island
and number with the widest gap is solved until the two meet: each turn closes a gap. Where more gaps are open than may
be solved, the bounds stand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.solvers.boundary import CutProfile

Ints = NDArray[np.int64]
MAX_REFINED = 8
"""Numbers of chips that are solved, of all islands of a cluster together: some seconds each, mostly less."""
MAX_NODES_PER_REFINEMENT = 500
"""Of the search tree, for each of them."""
_INFINITE_SUM = 2**61


@dataclass(frozen=True, slots=True)
class Hub:
    """What is below a network node.

    Attributes
    ----------
    islands
        Places of its islands in a list.
    below
        Hubs that a link leads down to: what it carries, and its id; nothing and None where there is no such link.

    """

    islands: Sequence[int]
    below: "Sequence[tuple[Hub, int, int | None]]" = ()


class Share(NamedTuple):
    """How many chips of an island are across from its hub, and whether that is on side A."""

    across: int
    is_hub_taken: bool = False


@dataclass(frozen=True, slots=True)
class IslandShares:
    """Bounds on the least sum; where it is the upper one, the islands' shares and the links between hubs it cuts."""

    lower: int
    upper: int
    shares: tuple[Share, ...]
    links: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Islands:
    """What islands cut, alike ones by the same object, and how hubs join them."""

    profiles: Sequence[CutProfile]
    top: Hub

    @classmethod
    def of(cls, profiles: Sequence[CutProfile], top: Hub | None = None) -> "Islands":
        """Islands below one hub, unless said otherwise."""
        return cls(profiles, top or Hub(range(len(profiles))))


def min_sum_shares(lower: Islands, upper: Islands, min_side: int, max_side: int) -> IslandShares:
    """Least sum of what islands cut, with ``low`` to ``high`` of their chips on side A.

    Parameters
    ----------
    below, above
        The same islands for the lower bound and for the upper one: mostly the same object.

    """
    refined = 0
    while True:
        deadline.raise_if_expired()
        least, lower_counts, _ = _least(lower.top, [island.lower for island in lower.profiles], min_side, max_side)
        most, shares, links = _least(upper.top, [island.upper for island in upper.profiles], min_side, max_side)
        upper_counts = [share.across for share in lower_counts]
        gaps = [island.gap(count) for island, count in zip(lower.profiles, upper_counts, strict=True)]
        if least == most or not 0 < np.count_nonzero(gaps) <= MAX_REFINED - refined:
            return IslandShares(min(least, most), most, shares, links)
        widest = gaps.index(max(gaps))
        island, count = lower.profiles[widest], upper_counts[widest]
        island.refine(
            count, MAX_NODES_PER_REFINEMENT, int(island.lower[count]) + most - least
        )  # then these numbers cut no less
        refined += 1


def _least(top: Hub, costs: Sequence[Ints], low: int, high: int) -> tuple[int, tuple[Share, ...], tuple[int, ...]]:
    """The least sum with ``low`` to ``high`` chips across from the top, the islands' shares, and links that are cut."""
    filled = _Filled.of(top, costs, high)
    count = low + int(np.argmin(filled.cost[low:]))
    shares, links = [Share(0)] * len(costs), list[int]()
    for at, share in filled.shares(count, links):
        shares[at] = share
    return int(filled.cost[count]), tuple(shares), tuple(links)


@dataclass(frozen=True, slots=True)
class _Filled:
    """The least that a hub and all below it cut by how many chips are across from it, and how many each item has."""

    hub: Hub
    cost: Ints
    picks: Sequence[Ints]
    below: "Sequence[tuple[_Filled, NDArray[np.bool_]]]"

    @classmethod
    def of(cls, hub: Hub, costs: Sequence[Ints], most: int) -> "_Filled":
        """Fill a hub with up to so many chips."""
        below, rows = [], [costs[at] for at in hub.islands]
        for lower, carries, _ in hub.below:
            filled = _Filled.of(lower, costs, sum(len(costs[at]) - 1 for at in _islands(lower)))
            across = filled.cost[::-1] + carries
            below.append((filled, across < filled.cost))
            rows.append(np.minimum(filled.cost, across))
        table = np.zeros(1, dtype=np.int64)
        picks = list[Ints]()
        for row in rows:
            table, pick = _joined(table, row, most)
            picks.append(pick)
        cost = np.full(most + 1, _INFINITE_SUM, dtype=np.int64)
        cost[: len(table)] = table
        return cls(hub, cost, picks, below)

    def shares(self, count: int, links: list[int], *, is_taken: bool = False) -> Iterator[tuple[int, Share]]:
        """Yield the islands' shares where so many chips are across; note the ``links`` between hubs that are cut."""
        islands = len(self.hub.islands)
        for item in reversed(range(len(self.picks))):
            taken = int(self.picks[item][count])
            count -= taken
            if item < islands:
                yield self.hub.islands[item], Share(taken, is_taken)
                continue
            (filled, is_across), (_, _, link) = self.below[item - islands], self.hub.below[item - islands]
            if is_across[taken]:
                links += [] if link is None else [link]
                yield from filled.shares(len(is_across) - 1 - taken, links, is_taken=not is_taken)
            else:
                yield from filled.shares(taken, links, is_taken=is_taken)


def _islands(hub: Hub) -> Iterator[int]:
    yield from hub.islands
    for below, _, _ in hub.below:
        yield from _islands(below)


def _joined(table: Ints, row: Ints, most: int) -> tuple[Ints, Ints]:
    """The least sum with one more item by the number of chips, up to the most, and how many of these are the item's."""
    size = min(len(table) + len(row) - 1, most + 1)
    made, pick = np.full(size, _INFINITE_SUM, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for taken in range(min(len(row), size)):
        total = table[: size - taken] + row[taken]
        window = slice(taken, taken + len(total))
        better = total < made[window]
        made[window][better] = total[better]
        pick[window][better] = taken
    return np.minimum(made, _INFINITE_SUM), pick
