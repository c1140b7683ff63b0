"""Shortest and widest paths. Equally good paths are taken in the order of their node ids, which is that of addresses.

A path is a tuple of node ids. Its rank is (hops) for HOPS and (-bottleneck, hops) for BANDWIDTH.
"""

import heapq
from collections import deque
from collections.abc import Collection, Iterator
from itertools import pairwise
from math import inf

from trninv.routing.results import Metric
from trninv.routing.wiring import Links

NodePath = tuple[int, ...]


def best_paths(links: Links, sources: Collection[int], targets: Collection[int], metric: Metric) -> Iterator[NodePath]:
    """Simple paths from any source to any target, best first, without end but that of the paths.

    A path touches the sources in its first node only and the targets in its last only. The method is Yen's
    (Management Science 17, 1971): each further path leaves an earlier one at some node. O(k · nodes · edges) for k.
    """
    search = _Search(links, sources, targets, metric)
    candidates: list[tuple[tuple[float, ...], NodePath]] = []
    found: list[NodePath] = []
    seen: set[NodePath] = set()

    def consider(path: NodePath) -> None:
        if path and path not in seen:
            seen.add(path)
            heapq.heappush(candidates, (search.rank(path), path))

    consider(search.best((), frozenset()))
    while candidates:
        _, path = heapq.heappop(candidates)
        yield path
        found.append(path)
        for spur in range(len(path)):
            prefix = path[:spur]
            taken = frozenset(other[spur] for other in found if other[:spur] == prefix and len(other) > spur)
            consider(search.best(prefix, taken))


def count_best(links: Links, sources: Collection[int], targets: Collection[int], metric: Metric) -> int:
    """How many paths are as good as the best one, without listing them."""
    search = _Search(links, sources, targets, metric)
    best = search.best((), frozenset())
    if len(best) < 2:  # noqa: PLR2004 # a path of one node has no link
        return len(search.sources & search.targets)
    floor = search.narrowest(best) if metric is Metric.BANDWIDTH else 0
    distance = search.distances(floor, frozenset())
    ways: dict[int, int] = {}
    for node, hops in distance.items():
        ways[node] = sum(ways[near] for near in search.closer(node, floor, distance, hops)) if hops else 1
    last = len(best) - 1
    return sum(ways[near] for source in search.sources for near in search.closer(source, floor, distance, last))


class _Search:
    def __init__(self, links: Links, sources: Collection[int], targets: Collection[int], metric: Metric) -> None:
        self.links, self.metric = links, metric
        self.sources, self.targets = (
            frozenset(sources).intersection(links),
            frozenset(targets).intersection(links),
        )
        self.capacities = sorted({of["capacity"] for near in links.values() for of in near.values()}, reverse=True) or [
            0
        ]

    def rank(self, path: NodePath) -> tuple[float, ...]:
        hops = len(path) - 1
        return (-self.narrowest(path), hops) if self.metric is Metric.BANDWIDTH else (hops,)

    def narrowest(self, path: NodePath) -> float:
        return min((self.links[a][b]["capacity"] for a, b in pairwise(path)), default=inf)

    def best(self, prefix: NodePath, taken: frozenset[int]) -> NodePath:
        """Best path that begins with ``prefix`` and does not go on at one of ``taken``; empty if there is none."""
        ceiling = self.narrowest(prefix)
        floors = [min(ceiling, capacity) for capacity in self.capacities] if self.metric is Metric.BANDWIDTH else [0]
        for floor in dict.fromkeys(floors):
            if path := self._shortest(prefix, taken, floor):
                return path
        return ()

    def distances(self, floor: float, blocked: frozenset[int]) -> dict[int, int]:
        """Hops to the nearest target over links of at least ``floor``, in rising order; sources are not passed."""
        closed = blocked | self.sources
        distance = dict.fromkeys(sorted(self.targets - closed), 0)
        frontier = deque(distance)
        while frontier:
            node = frontier.popleft()
            for near in self._neighbours(node, floor):
                if near not in distance and near not in closed:
                    distance[near] = distance[node] + 1
                    frontier.append(near)
        return distance

    def closer(self, node: int, floor: float, distance: dict[int, int], hops: int) -> Iterator[int]:
        """Neighbours of a node ``hops`` away that are one hop nearer to the targets."""
        return (near for near in self._neighbours(node, floor) if distance.get(near, -1) == hops - 1)

    def _shortest(self, prefix: NodePath, taken: frozenset[int], floor: float) -> NodePath:
        if not prefix and (ready := (self.sources & self.targets) - taken):
            return (min(ready),)
        distance = self.distances(floor, frozenset(prefix))
        away = {
            node: 1 + min((distance[near] for near in self._neighbours(node, floor) if near in distance), default=inf)
            for node in self.sources - taken
            if not prefix
        }
        if prefix:
            away = {
                near: distance[near] for near in self._neighbours(prefix[-1], floor) if near in distance.keys() - taken
            }
        if not away or min(away.values()) == inf:
            return ()
        node = min(away, key=lambda n: (away[n], n))
        path = [*prefix, node]
        for hops in range(int(away[node]), 0, -1):
            path.append(min(self.closer(path[-1], floor, distance, hops)))
        return tuple(path)

    def _neighbours(self, node: int, floor: float) -> Iterator[int]:
        return (near for near, of in self.links[node].items() if of["capacity"] >= floor)
