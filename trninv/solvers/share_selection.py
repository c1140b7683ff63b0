"""Choose how many chips of each island are on one side, at the least total cut.

The cut of an island depends on the side of the network node above it, its hub. The links between hubs form a forest. A
hub and all below it cut c(k) if k of their n chips are across from the hub, so for the hub above they are one item of
cost min(c(k), c(n - k) + capacity of the link between the hubs).

On lower bounds the knapsack bounds the answer from below, on upper bounds from above. While the two differ, the widest
gap that the lower knapsack uses (an island and a number of chips) is solved. If more gaps are open than may be solved,
the bounds are returned as they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.solvers.islands import CutProfile

Ints = NDArray[np.int64]
MAX_REFINED = 8
"""Limit of gaps that are solved in one call; each takes some seconds at most."""
MAX_NODES_PER_REFINEMENT = 500
"""Limit of search-tree nodes for each of them."""
_INFINITE_SUM = 2**61


@dataclass(frozen=True, slots=True)
class Hub:
    """A network node with the islands and hubs below it.

    Attributes
    ----------
    islands
        Indices of its islands.
    below
        Each hub below it, with the capacity and id of the link between them; 0 and None without a link.

    """

    islands: Sequence[int]
    below: "Sequence[tuple[Hub, int, int | None]]" = ()


class Share(NamedTuple):
    """How many chips of an island are across from its hub, and whether the hub is on side A."""

    across: int
    is_hub_taken: bool = False


@dataclass(frozen=True, slots=True)
class IslandShares:
    """Bounds on the least sum, with the islands' shares and the links between hubs that the upper bound cuts."""

    lower: int
    upper: int
    shares: tuple[Share, ...]
    links: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Islands:
    """Cut profiles of islands, equal islands sharing one object, and the hubs that join them."""

    profiles: Sequence[CutProfile]
    top: Hub

    @classmethod
    def below_hub(cls, profiles: Sequence[CutProfile]) -> "Islands":
        """Return islands that are all below one hub."""
        return cls(profiles, Hub(range(len(profiles))))


def min_sum_shares(lower: Islands, upper: Islands, min_side: int, max_side: int) -> IslandShares:
    """Return the least sum of the islands' cuts with ``min_side`` to ``max_side`` of their chips on side A.

    A knapsack by dynamic programming (Bellman 1957), O(chips²), repeated for each gap that is solved.

    Parameters
    ----------
    lower, upper
        The islands for the lower bound and for the upper one; usually the same object.

    Examples
    --------
    Two islands of two chips, with inner links of 30 and 20, of whose four chips one leaves:

    >>> from trninv.solvers.graph import Graph
    >>> profiles = []
    >>> for a, b, capacity in [(1, 2, 30), (3, 4, 20)]:
    ...     graph = Graph()
    ...     graph.add_edge(a, b, capacity=capacity)
    ...     profiles.append(CutProfile(graph, [a, b]))
    >>> islands = Islands.below_hub(profiles)
    >>> result = min_sum_shares(islands, islands, 1, 1)
    >>> result.lower, result.upper, [share.across for share in result.shares]
    (20, 20, [0, 1])

    """
    refined = 0
    while True:
        deadline.raise_if_expired()
        least, lower_shares, _ = _least_sum(lower.top, [island.lower for island in lower.profiles], min_side, max_side)
        most, shares, links = _least_sum(upper.top, [island.upper for island in upper.profiles], min_side, max_side)
        counts = [share.across for share in lower_shares]
        gaps = [island.gap(count) for island, count in zip(lower.profiles, counts, strict=True)]
        if least == most or not 0 < np.count_nonzero(gaps) <= MAX_REFINED - refined:
            return IslandShares(min(least, most), most, shares, links)
        widest = gaps.index(max(gaps))
        island, count = lower.profiles[widest], counts[widest]
        # a lower bound of this target is enough: these shares then cost no less than the upper bound
        island.refine(count, MAX_NODES_PER_REFINEMENT, int(island.lower[count]) + most - least)
        refined += 1


def _least_sum(
    top: Hub, costs: Sequence[Ints], min_side: int, max_side: int
) -> tuple[int, tuple[Share, ...], tuple[int, ...]]:
    """Return the least sum with so many chips across from the top, the islands' shares and the links that are cut."""
    table = _HubTable.fill(top, costs, max_side)
    count = min_side + int(np.argmin(table.cost[min_side:]))
    shares, links = [Share(0)] * len(costs), list[int]()
    for island, share in table.shares(count, links):
        shares[island] = share
    return int(table.cost[count]), tuple(shares), tuple(links)


@dataclass(frozen=True, slots=True)
class _HubTable:
    """The least cut of a hub and all below it by the number of chips across from it, and each item's chips."""

    hub: Hub
    cost: Ints
    picks: Sequence[Ints]
    below: "Sequence[tuple[_HubTable, NDArray[np.bool_]]]"

    @classmethod
    def fill(cls, hub: Hub, costs: Sequence[Ints], max_chips: int) -> "_HubTable":
        """Compute the table of a hub for up to ``max_chips`` chips."""
        below, rows = [], [costs[island] for island in hub.islands]
        for lower_hub, capacity, _ in hub.below:
            lower = _HubTable.fill(
                lower_hub, costs, sum(len(costs[island]) - 1 for island in _islands_below(lower_hub))
            )
            across = lower.cost[::-1] + capacity
            below.append((lower, across < lower.cost))
            rows.append(np.minimum(lower.cost, across))
        sums = np.zeros(1, dtype=np.int64)
        picks = list[Ints]()
        for row in rows:
            sums, pick = _add_item(sums, row, max_chips)
            picks.append(pick)
        cost = np.full(max_chips + 1, _INFINITE_SUM, dtype=np.int64)
        cost[: len(sums)] = sums
        return cls(hub, cost, picks, below)

    def shares(self, count: int, links: list[int], *, is_taken: bool = False) -> Iterator[tuple[int, Share]]:
        """Yield the islands' shares with ``count`` chips across, and append the cut links between hubs to ``links``."""
        islands = len(self.hub.islands)
        for item in reversed(range(len(self.picks))):
            picked = int(self.picks[item][count])
            count -= picked
            if item < islands:
                yield self.hub.islands[item], Share(picked, is_taken)
                continue
            (lower, is_across), (_, _, link) = self.below[item - islands], self.hub.below[item - islands]
            if is_across[picked]:
                links += [] if link is None else [link]
                yield from lower.shares(len(is_across) - 1 - picked, links, is_taken=not is_taken)
            else:
                yield from lower.shares(picked, links, is_taken=is_taken)


def _islands_below(hub: Hub) -> Iterator[int]:
    yield from hub.islands
    for lower, _, _ in hub.below:
        yield from _islands_below(lower)


def _add_item(sums: Ints, row: Ints, max_chips: int) -> tuple[Ints, Ints]:
    """Return the least sums with one more item by the number of chips, and how many of these chips are the item's."""
    size = min(len(sums) + len(row) - 1, max_chips + 1)
    new_sums, pick = np.full(size, _INFINITE_SUM, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for picked in range(min(len(row), size)):
        total = sums[: size - picked] + row[picked]
        window = slice(picked, picked + len(total))
        better = total < new_sums[window]
        new_sums[window][better] = total[better]
        pick[window][better] = picked
    return np.minimum(new_sums, _INFINITE_SUM), pick
