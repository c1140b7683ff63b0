"""Choose how many chips of each island are on one side of a cut, side A, at the least total capacity.

An island is a domain, or a connected part of a domain. Only its cut profile is needed here: the least cut by the number
of its chips on one side (`trninv.solvers.islands`). `trninv.solvers.quotient` and `trninv.solvers.parts` call this
module.

The cut of an island depends on the side of its hub, the network node above it. The links between hubs form a tree. Let
c(k) be the least cut of a hub and everything below it if k of the n chips below it are on the other side than the hub
("across"). In the knapsack of the hub above it, they are one item. The cost of k chips across from that hub is
min(c(k), c(n - k) + capacity of the link between the hubs), because the lower hub can be on either side.

Cut profiles are bounds. A knapsack over lower bounds bounds the answer from below, and one over upper bounds from
above. While the two answers differ, a search (`CutProfile.refine`) narrows the widest gap between the profiles' bounds
at the chosen numbers of chips. If there are more gaps than `MAX_REFINED` allows, the bounds are returned as they are.
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
"""Limit of gaps that are narrowed in one call; narrowing a gap takes some seconds at most."""
MAX_NODES_PER_REFINEMENT = 500
"""Limit of search-tree nodes for each gap."""
_INFINITE_SUM = 2**61
"""More than any sum of cuts; two of them can be added without overflow."""


@dataclass(frozen=True, slots=True)
class Hub:
    """A network node with the islands and hubs below it.

    Attributes
    ----------
    islands
        Indices of the islands directly below the hub.
    children
        The hubs directly below, with the capacity and id of the link to each; 0 and None if there is no link.

    """

    islands: Sequence[int]
    children: "Sequence[tuple[Hub, int, int | None]]" = ()


class Share(NamedTuple):
    """How many chips of an island are on the other side than its hub, and whether the hub is on side A."""

    across: int
    is_hub_taken: bool = False


@dataclass(frozen=True, slots=True)
class IslandShares:
    """Bounds on the least sum of cuts, and the islands' shares and cut links between hubs of the upper bound."""

    lower: int
    upper: int
    shares: tuple[Share, ...]
    links: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Islands:
    """Cut profiles of islands (equal islands share one object), and the top of the tree of hubs that connects them."""

    profiles: Sequence[CutProfile]
    top: Hub

    @classmethod
    def below_hub(cls, profiles: Sequence[CutProfile]) -> "Islands":
        """Return islands that are all below one hub."""
        return cls(profiles, Hub(range(len(profiles))))


def min_sum_shares(lower: Islands, upper: Islands, min_side: int, max_side: int) -> IslandShares:
    """Return bounds on the least sum of the islands' cuts with ``min_side`` to ``max_side`` chips on side A.

    A knapsack by dynamic programming (Bellman 1957), O(chips²), repeated for each gap that is narrowed.

    Parameters
    ----------
    lower, upper
        The islands for the lower and the upper bound; usually the same object.

    Examples
    --------
    Two islands of two chips, with inner links of 30 and 20. If side A has one chip, it is from the second island:

    >>> from trninv.solvers.graph import Graph
    >>> profiles = []
    >>> for u, v, capacity in [(1, 2, 30), (3, 4, 20)]:
    ...     graph = Graph()
    ...     graph.add_edge(u, v, capacity=capacity)
    ...     profiles.append(CutProfile(graph, [u, v]))
    >>> islands = Islands.below_hub(profiles)
    >>> result = min_sum_shares(islands, islands, 1, 1)
    >>> result.lower, result.upper, [share.across for share in result.shares]
    (20, 20, [0, 1])

    """
    refined = 0
    while True:
        deadline.raise_if_expired()
        lower_sum, lower_shares, _ = _least_sum(
            lower.top, [island.lower for island in lower.profiles], min_side, max_side
        )
        upper_sum, shares, links = _least_sum(
            upper.top, [island.upper for island in upper.profiles], min_side, max_side
        )
        counts = [share.across for share in lower_shares]
        gaps = [island.gap(count) for island, count in zip(lower.profiles, counts, strict=True)]
        if lower_sum == upper_sum or not 0 < np.count_nonzero(gaps) <= MAX_REFINED - refined:
            return IslandShares(min(lower_sum, upper_sum), upper_sum, shares, links)
        widest = gaps.index(max(gaps))
        island, count = lower.profiles[widest], counts[widest]
        # a lower bound of this target is enough, because these shares then cost no less than the upper bound
        island.refine(count, MAX_NODES_PER_REFINEMENT, int(island.lower[count]) + upper_sum - lower_sum)
        refined += 1


def _least_sum(
    top: Hub, costs: Sequence[Ints], min_side: int, max_side: int
) -> tuple[int, tuple[Share, ...], tuple[int, ...]]:
    """Return the least sum with ``min_side`` to ``max_side`` chips across from the top, its shares and cut links."""
    table = _HubTable.fill(top, costs, max_side)
    count = min_side + int(np.argmin(table.cost[min_side:]))
    shares, links = [Share(0)] * len(costs), list[int]()
    for island, share in table.shares(count, links):
        shares[island] = share
    return int(table.cost[count]), tuple(shares), tuple(links)


@dataclass(frozen=True, slots=True)
class _HubTable:
    """The knapsack of a hub and everything below it. Its items are the hub's islands, then its child hubs.

    Attributes
    ----------
    cost
        The least cut, by the number of chips across from the hub.
    picks
        For each item, how many of the chips across are below the item, by the number of chips across in this and all
        earlier items.
    children
        The table of each child, and whether the child is on the other side than the hub, by the child's number of chips
        across from the hub.

    """

    hub: Hub
    cost: Ints
    picks: Sequence[Ints]
    children: "Sequence[tuple[_HubTable, NDArray[np.bool_]]]"

    @classmethod
    def fill(cls, hub: Hub, costs: Sequence[Ints], max_chips: int) -> "_HubTable":
        """Compute the table of a hub for up to ``max_chips`` chips."""
        children, rows = [], [costs[island] for island in hub.islands]
        for child, capacity, _ in hub.children:
            child_chips = sum(len(costs[island]) - 1 for island in _islands_below(child))
            table = _HubTable.fill(child, costs, child_chips)
            cost_across = table.cost[::-1] + capacity
            children.append((table, cost_across < table.cost))
            rows.append(np.minimum(table.cost, cost_across))
        sums = np.zeros(1, dtype=np.int64)
        picks = list[Ints]()
        for row in rows:
            sums, pick = _add_item(sums, row, max_chips)
            picks.append(pick)
        cost = np.full(max_chips + 1, _INFINITE_SUM, dtype=np.int64)
        cost[: len(sums)] = sums
        return cls(hub, cost, picks, children)

    def shares(self, count: int, links: list[int], *, is_taken: bool = False) -> Iterator[tuple[int, Share]]:
        """Yield the islands' shares with ``count`` chips across, and append the cut links between hubs to ``links``.

        ``is_taken`` is whether the hub is on side A.
        """
        islands = len(self.hub.islands)
        for item in reversed(range(len(self.picks))):
            picked = int(self.picks[item][count])
            count -= picked
            if item < islands:
                yield self.hub.islands[item], Share(picked, is_taken)
                continue
            child_table, is_across = self.children[item - islands]
            _, _, link = self.hub.children[item - islands]
            if is_across[picked]:
                links += [] if link is None else [link]
                yield from child_table.shares(len(is_across) - 1 - picked, links, is_taken=not is_taken)
            else:
                yield from child_table.shares(picked, links, is_taken=is_taken)


def _islands_below(hub: Hub) -> Iterator[int]:
    yield from hub.islands
    for child, _, _ in hub.children:
        yield from _islands_below(child)


def _add_item(sums: Ints, row: Ints, max_chips: int) -> tuple[Ints, Ints]:
    """Return the least sums with one more item, and how many of the chips are the item's, by the number of chips."""
    size = min(len(sums) + len(row) - 1, max_chips + 1)
    new_sums, pick = np.full(size, _INFINITE_SUM, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for picked in range(min(len(row), size)):
        total = sums[: size - picked] + row[picked]
        window = slice(picked, picked + len(total))
        better = total < new_sums[window]
        new_sums[window][better] = total[better]
        pick[window][better] = picked
    return np.minimum(new_sums, _INFINITE_SUM), pick
