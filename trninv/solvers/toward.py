"""Best paths toward one node from everywhere: what `trninv.solvers.paths` finds for two places, for all sources.

Ties fall as there: the next node is the first by id. Both are O(edges), times log(edges) for the widths.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from trninv.solvers.paths import Links, NodePath, Ways


@dataclass(frozen=True, slots=True)
class Toward:
    """The shortest paths to a target over links of ``floor`` or more.

    Attributes
    ----------
    hops
        By node from which there is a way.
    ways
        How many such paths are as short.

    """

    links: Links
    floor: int
    hops: dict[int, int]
    ways: dict[int, int]

    @classmethod
    def of(cls, links: Links, target: int, floor: int = 0, behind: Links | None = None) -> "Toward":
        """Breadth first, from the target; links that lead one way come with ``behind``, the same by where they lead."""
        before = links if behind is None else behind
        hops, ways, ring = {target: 0}, {target: 1}, [target]
        while ring:
            beyond: dict[int, int] = {}
            for node in ring:
                for near, of in before[node].items():
                    if near not in hops and of["capacity"] >= floor:
                        beyond[near] = beyond.get(near, 0) + ways[node]
            hops |= dict.fromkeys(beyond, hops[ring[0]] + 1)
            ways |= beyond
            ring = list(beyond)
        return cls(links, floor, hops, ways)

    def path(self, source: int) -> NodePath:
        """The first shortest path by ids; empty if there is none."""
        if source not in self.hops:
            return ()
        found = [source]
        while left := self.hops[found[-1]]:
            found.append(min(self._onward(found[-1], left)))
        return tuple(found)

    def all_paths(self, source: int) -> Ways:
        """All shortest paths from a source, of which there is one."""
        reached, share = {source: 1}, {source: Fraction(1)}
        through: dict[tuple[int, int], int] = {}
        shares: dict[tuple[int, int], Fraction] = {}
        for left in range(self.hops[source], 0, -1):
            beyond, parts = defaultdict[int, int](int), defaultdict[int, Fraction](Fraction)
            for node, count in reached.items():
                on = self._onward(node, left)
                part = share[node] / len(on)
                for near in on:
                    through[node, near], shares[node, near] = count * self.ways[near], part
                    beyond[near] += count
                    parts[near] += part
            reached, share = beyond, parts
        return Ways(self.ways[source], through, shares)

    def _onward(self, node: int, left: int) -> list[int]:
        """Neighbours of a node ``left`` hops away that are one hop nearer."""
        ahead = self.links[node].items()
        return [near for near, of in ahead if of["capacity"] >= self.floor and self.hops.get(near) == left - 1]


def widths(links: Links, targets: Collection[int]) -> dict[int, int]:
    """The narrowest link of the widest path to any target, by node; targets and what cannot reach any are left out.

    Links that lead one way are given by where they lead.
    """
    found: dict[int, int] = {}
    waiting = [(-of["capacity"], near) for target in targets for near, of in links[target].items()]
    heapq.heapify(waiting)
    done = set(targets)
    while waiting:
        width, node = heapq.heappop(waiting)
        if node in done:
            continue
        done.add(node)
        found[node] = -width
        for near, of in links[node].items():
            if near not in done:
                heapq.heappush(waiting, (max(width, -of["capacity"]), near))
    return found
