"""Best paths. Equally good ones are taken in the order of their node ids, which is that of addresses.

A path is a tuple of node ids. Its rank is (hops) for HOPS, (-bottleneck, hops) for BANDWIDTH, and for TIME
(latencies of its links + bytes / bottleneck, hops, -bottleneck).
"""

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

from trninv import deadline
from trninv.choice import Choice

Links = Mapping[int, Mapping[int, Mapping[str, Any]]]
"""Adjacency by node id, as networkx's ``Graph.adj``: a link has ``capacity`` and, for TIME, ``latency``."""

NodePath = tuple[int, ...]

_HOP = 1
_NANOSECOND = 2**20
"""A cost in which less time always counts more than fewer hops."""
_FAR = 2**62


class PathMetric(Choice):
    """What makes a path good."""

    HOPS = "HOPS", "Fewest links; of equal ones the first by address."
    BANDWIDTH = "BANDWIDTH", "Widest narrowest link, then fewest links."
    TIME = "TIME", "Least sum of latencies + message / narrowest link, then fewest links, then the widest."


@dataclass(frozen=True, slots=True)
class Rule:
    """What makes a path good; ``message`` (bytes) and the links' ``latency`` (nanoseconds) count for TIME."""

    metric: PathMetric
    message: int = 0


def best_paths(
    links: Links, sources: Collection[int], targets: Collection[int], rule: Rule, behind: Links | None = None
) -> Iterator[NodePath]:
    """Simple paths from any source to any target, best first, without end but that of the paths.

    A path touches the sources in its first node only and the targets in its last only. The method is Yen's
    (Management Science 17, 1971): each further path leaves an earlier one at some node. O(k · nodes · edges) for k.

    Parameters
    ----------
    behind
        Of links that lead one way: the same by the node they lead to.

    """
    search = _Search(links, sources, targets, rule, behind)
    candidates: list[tuple[tuple[float | Fraction, ...], NodePath]] = []
    found: list[NodePath] = []
    seen: set[NodePath] = set()

    def consider(path: NodePath) -> None:
        if path and path not in seen:
            seen.add(path)
            heapq.heappush(candidates, (search.rank(path), path))

    consider(search.best((), frozenset()))
    while candidates:
        deadline.check()
        _, path = heapq.heappop(candidates)
        yield path
        found.append(path)
        for spur in range(len(path)):
            prefix = path[:spur]
            taken = frozenset(other[spur] for other in found if other[:spur] == prefix and len(other) > spur)
            consider(search.best(prefix, taken))


@dataclass(frozen=True, slots=True)
class Ways:
    """The directed acyclic graph of all paths that are as good as the best.

    Attributes
    ----------
    count
        How many paths there are.
    through
        For each link, in the direction travelled, how many of them take it.
    share
        For each such link the part of the traffic that takes it, if each node splits what it gets evenly over its ways
        on, and the sources send evenly (equal-cost multipath).

    """

    count: int
    through: dict[tuple[int, int], int]
    share: dict[tuple[int, int], Fraction]


def equally_good(
    links: Links, sources: Collection[int], targets: Collection[int], rule: Rule, behind: Links | None = None
) -> Ways | None:
    """All best paths together; None if there is none."""
    search = _Search(links, sources, targets, rule, behind)
    best = search.best((), frozenset())
    if not best:
        return None
    if len(best) < 2:  # noqa: PLR2004 # a path of one node has no link
        return Ways(len(search.sources & search.targets), {}, {})
    floor = search.narrowest(best) if search.weighs else 0
    distance = search.distances(floor, frozenset())
    total = sum(search.cost(a, b) for a, b in pairwise(best))
    ahead: dict[int, int] = {}
    for node, left in distance.items():  # nearest first
        ahead[node] = sum(ahead[near] for near in search.onward(node, left, floor, distance)) if left else 1
    starts = [node for node in sorted(search.sources) if search.away(node, floor, distance) == total]
    reached, share = defaultdict[int, int](int), defaultdict[int, Fraction](Fraction)
    through: dict[tuple[int, int], int] = {}
    shares: dict[tuple[int, int], Fraction] = {}
    for start in starts:
        reached[start], share[start] = 1, Fraction(1, len(starts))
    for node in [*starts, *reversed(distance)]:
        if not reached[node]:
            continue
        left = total if node in search.sources else distance[node]
        on = list(search.onward(node, left, floor, distance)) if left else []
        for near in on:
            through[node, near] = reached[node] * ahead[near]
            shares[node, near] = share[node] / len(on)
            reached[near] += reached[node]
            share[near] += shares[node, near]
    return Ways(sum(reached[node] for node in search.targets), through, shares)


class _Search:
    def __init__(
        self, links: Links, sources: Collection[int], targets: Collection[int], rule: Rule, behind: Links | None
    ) -> None:
        self.links, self.behind, self.rule = links, links if behind is None else behind, rule
        self.sources, self.targets = (
            frozenset(sources).intersection(links),
            frozenset(targets).intersection(links),
        )
        carried = {of["capacity"] for near in links.values() for of in near.values()}
        self.capacities = sorted(carried, reverse=True) or [0]
        self.weighs = rule.metric is not PathMetric.HOPS
        """Whether a path's bottleneck counts."""

    def cost(self, a: int, b: int) -> int:
        return self.links[a][b]["latency"] * _NANOSECOND + _HOP if self.rule.metric is PathMetric.TIME else _HOP

    def rank(self, path: NodePath) -> tuple[float | Fraction, ...]:
        return rank(self.links, path, self.rule)

    def narrowest(self, path: NodePath) -> float:
        return _narrowest(self.links, path)

    def best(self, prefix: NodePath, taken: frozenset[int]) -> NodePath:
        """Best path that begins with ``prefix`` and does not go on at one of ``taken``; empty if there is none."""
        ceiling = self.narrowest(prefix)
        floors = [min(ceiling, capacity) for capacity in self.capacities] if self.weighs else [0]
        found = (self._cheapest(prefix, taken, floor) for floor in dict.fromkeys(floors))
        if self.rule.metric is PathMetric.TIME:
            return min(filter(None, found), key=lambda path: (self.rank(path), path), default=())
        return next(filter(None, found), ())

    def distances(self, floor: float, blocked: frozenset[int]) -> dict[int, int]:
        """Cost to the nearest target over links of at least ``floor``, in rising order; sources are not passed."""
        closed = blocked | self.sources
        waiting = [(0, node) for node in sorted(self.targets - closed)]
        distance: dict[int, int] = {}
        while waiting:
            cost, node = heapq.heappop(waiting)
            if node in distance:
                continue
            distance[node] = cost
            for near, of in self.behind[node].items():
                if of["capacity"] >= floor and near not in distance and near not in closed:
                    heapq.heappush(waiting, (cost + self.cost(near, node), near))
        return distance

    def neighbours(self, node: int, floor: float) -> Iterator[int]:
        return (near for near, of in self.links[node].items() if of["capacity"] >= floor)

    def away(self, node: int, floor: float, distance: dict[int, int]) -> int:
        """Cost to the targets from a node that is not in ``distance`` itself; `_FAR` if there is no way."""
        near = (other for other in self.neighbours(node, floor) if other in distance)
        return min((self.cost(node, other) + distance[other] for other in near), default=_FAR)

    def onward(self, node: int, left: float, floor: float, distance: dict[int, int]) -> Iterator[int]:
        """Neighbours of a node from which the targets are just as near as ``left`` allows."""
        near = (other for other in self.neighbours(node, floor) if other in distance)
        return (other for other in near if self.cost(node, other) + distance[other] == left)

    def _cheapest(self, prefix: NodePath, taken: frozenset[int], floor: float) -> NodePath:
        if not prefix and (ready := (self.sources & self.targets) - taken):
            return (min(ready),)
        distance = self.distances(floor, frozenset(prefix))
        if prefix:
            last = prefix[-1]
            ways = {
                near: self.cost(last, near) + distance[near]
                for near in self.neighbours(last, floor)
                if near in distance and near not in taken
            }
        else:
            ways = {node: self.away(node, floor, distance) for node in self.sources - taken}
        if not ways or min(ways.values()) == _FAR:
            return ()
        node = min(ways, key=lambda n: (ways[n], n))
        path = [*prefix, node]
        left = distance[node] if prefix else ways[node]
        while left:
            path.append(min(self.onward(path[-1], left, floor, distance)))
            left = distance[path[-1]]
        return tuple(path)


def rank(links: Links, path: NodePath, rule: Rule) -> tuple[float | Fraction, ...]:
    """What a rule orders paths by: the best is the least."""
    hops = len(path) - 1
    if rule.metric is PathMetric.BANDWIDTH:
        return (-_narrowest(links, path), hops)
    if rule.metric is PathMetric.TIME:
        return (time_of(links, path, rule.message), hops, -_narrowest(links, path))
    return (hops,)


def _narrowest(links: Links, path: NodePath) -> float:
    return min((links[a][b]["capacity"] for a, b in pairwise(path)), default=inf)


def time_of(links: Links, path: NodePath, message: int) -> Fraction:
    """Nanoseconds that ``message`` bytes take: the links' latencies, and the bytes over the bottleneck."""
    travelled = [links[a][b] for a, b in pairwise(path)]
    if not travelled:
        return Fraction(0)
    latency = sum((Fraction(of["latency"]) for of in travelled), Fraction(0))
    return latency + Fraction(message * 10**9, min(of["capacity"] for of in travelled))
