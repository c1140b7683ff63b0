"""Find best paths between two places by hops, bandwidth or time; ties break by node id, the order of addresses.

A path is a tuple of node ids. Its cost is (hops) for HOPS, (-bottleneck, hops) for BANDWIDTH and, for TIME,
(sum of latencies + bytes / bottleneck, hops, -bottleneck). Costs are compared exactly, as integers and fractions.
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
from trninv.choice import DescribedEnum

Links = Mapping[int, Mapping[int, Mapping[str, Any]]]
"""Adjacency by node id, as networkx's ``Graph.adj``: a link has ``capacity`` and, for TIME, ``latency``."""

NodePath = tuple[int, ...]

_HOP = 1
_NANOSECOND = 2**20
"""Cost of a nanosecond in hops: more than any path has, so time always comes first."""
_INFINITE_COST = 2**62


class PathMetric(DescribedEnum):
    """What makes a path good."""

    HOPS = "HOPS", "Fewest links; of equal ones the first by address."
    BANDWIDTH = "BANDWIDTH", "Widest narrowest link, then fewest links."
    TIME = "TIME", "Least sum of latencies + message / narrowest link, then fewest links, then the widest."


@dataclass(frozen=True, slots=True)
class PathCriterion:
    """What makes a path good; ``message`` (bytes) and the links' ``latency`` (nanoseconds) count for TIME."""

    metric: PathMetric
    message_bytes: int = 0


def best_paths(
    links: Links,
    sources: Collection[int],
    targets: Collection[int],
    criterion: PathCriterion,
    predecessors: Links | None = None,
) -> Iterator[NodePath]:
    """Yield all simple paths from any source to any target, best first.

    A path touches the sources in its first node only and the targets in its last only. The method is Yen's (Management
    Science 17, 1971): each further path leaves an earlier one at some node. O(k·V·E·log V) for k paths.

    Parameters
    ----------
    predecessors
        For directed links, the same links by the node they reach.

    Examples
    --------
    The two ways around a ring of four, and the wider one first:

    >>> capacity = {(1, 2): 30, (2, 3): 20, (3, 4): 30, (4, 1): 10}
    >>> links = {a: {} for a in (1, 2, 3, 4)}
    >>> for (a, b), carried in capacity.items():
    ...     links[a][b] = links[b][a] = {"capacity": carried}
    >>> list(best_paths(links, [1], [4], PathCriterion(PathMetric.HOPS)))
    [(1, 4), (1, 2, 3, 4)]
    >>> list(best_paths(links, [1], [4], PathCriterion(PathMetric.BANDWIDTH)))
    [(1, 2, 3, 4), (1, 4)]

    """
    search = _Search(links, sources, targets, criterion, predecessors)
    candidates: list[tuple[tuple[float | Fraction, ...], NodePath]] = []
    paths: list[NodePath] = []
    queued: set[NodePath] = set()

    def consider(path: NodePath) -> None:
        if path and path not in queued:
            queued.add(path)
            heapq.heappush(candidates, (search.path_cost(path), path))

    consider(search.best((), frozenset()))
    while candidates:
        deadline.raise_if_expired()
        _, path = heapq.heappop(candidates)
        yield path
        paths.append(path)
        for spur in range(len(path)):
            prefix = path[:spur]
            excluded = frozenset(other[spur] for other in paths if other[:spur] == prefix and len(other) > spur)
            consider(search.best(prefix, excluded))


@dataclass(frozen=True, slots=True)
class ShortestPathDag:
    """The directed acyclic graph of all best paths.

    Attributes
    ----------
    count
        Number of paths.
    flow
        Number of paths over each link, in the direction of travel.
    share
        Part of the traffic on each such link if the sources send evenly and each node splits what it receives evenly
        over its next links (equal-cost multipath).

    """

    count: int
    flow: dict[tuple[int, int], int]
    share: dict[tuple[int, int], Fraction]


def all_best_paths(
    links: Links,
    sources: Collection[int],
    targets: Collection[int],
    criterion: PathCriterion,
    predecessors: Links | None = None,
) -> ShortestPathDag | None:
    """Return the graph of all best paths, or None if there is no path.

    Dijkstra's algorithm (1959) with counts of paths; O(E·log V) for HOPS, times the number of capacities otherwise.

    Examples
    --------
    Two equally short ways around a ring of four share the traffic:

    >>> ring = {1: [2, 4], 2: [1, 3], 3: [2, 4], 4: [1, 3]}
    >>> links = {a: dict.fromkeys(ends, {"capacity": 10}) for a, ends in ring.items()}
    >>> dag = all_best_paths(links, [1], [3], PathCriterion(PathMetric.HOPS))
    >>> dag.count, dag.share[1, 2]
    (2, Fraction(1, 2))

    """
    search = _Search(links, sources, targets, criterion, predecessors)
    best = search.best((), frozenset())
    if not best:
        return None
    if len(best) < 2:  # noqa: PLR2004 # a path of one node has no link
        return ShortestPathDag(len(search.sources & search.targets), {}, {})
    floor = search.bottleneck(best) if search.uses_bottleneck else 0
    distances = search.distances(floor, frozenset())
    total = sum(search.cost(a, b) for a, b in pairwise(best))
    paths_onward: dict[int, int] = {}
    for node, remaining in distances.items():  # in rising order of distance
        paths_onward[node] = (
            sum(paths_onward[successor] for successor in search.successors(node, remaining, floor, distances))
            if remaining
            else 1
        )
    start_nodes = [node for node in sorted(search.sources) if search.remaining(node, floor, distances) == total]
    paths_to, share = defaultdict[int, int](int), defaultdict[int, Fraction](Fraction)
    flow: dict[tuple[int, int], int] = {}
    shares: dict[tuple[int, int], Fraction] = {}
    for start in start_nodes:
        paths_to[start], share[start] = 1, Fraction(1, len(start_nodes))
    for node in [*start_nodes, *reversed(distances)]:
        if not paths_to[node]:
            continue
        remaining = total if node in search.sources else distances[node]
        successors = list(search.successors(node, remaining, floor, distances)) if remaining else []
        for successor in successors:
            flow[node, successor] = paths_to[node] * paths_onward[successor]
            shares[node, successor] = share[node] / len(successors)
            paths_to[successor] += paths_to[node]
            share[successor] += shares[node, successor]
    return ShortestPathDag(sum(paths_to[node] for node in search.targets), flow, shares)


class _Search:
    def __init__(
        self,
        links: Links,
        sources: Collection[int],
        targets: Collection[int],
        criterion: PathCriterion,
        predecessors: Links | None,
    ) -> None:
        self.adjacency, self.predecessors, self.criterion = (
            links,
            links if predecessors is None else predecessors,
            criterion,
        )
        self.sources, self.targets = (
            frozenset(sources).intersection(links),
            frozenset(targets).intersection(links),
        )
        link_capacities = {link["capacity"] for neighbors in links.values() for link in neighbors.values()}
        self.capacities = sorted(link_capacities, reverse=True) or [0]
        self.uses_bottleneck = criterion.metric is not PathMetric.HOPS
        """Whether a path's bottleneck counts."""

    def cost(self, a: int, b: int) -> int:
        return (
            self.adjacency[a][b]["latency"] * _NANOSECOND + _HOP if self.criterion.metric is PathMetric.TIME else _HOP
        )

    def path_cost(self, path: NodePath) -> tuple[float | Fraction, ...]:
        return path_cost(self.adjacency, path, self.criterion)

    def bottleneck(self, path: NodePath) -> float:
        return _bottleneck(self.adjacency, path)

    def best(self, prefix: NodePath, excluded: frozenset[int]) -> NodePath:
        """Return the best path that starts with ``prefix``, its next node not ``excluded``; empty if there is none."""
        ceiling = self.bottleneck(prefix)
        floors = [min(ceiling, capacity) for capacity in self.capacities] if self.uses_bottleneck else [0]
        paths = (self._cheapest(prefix, excluded, floor) for floor in dict.fromkeys(floors))
        if self.criterion.metric is PathMetric.TIME:
            return min(filter(None, paths), key=lambda path: (self.path_cost(path), path), default=())
        return next(filter(None, paths), ())

    def distances(self, floor: float, blocked_nodes: frozenset[int]) -> dict[int, int]:
        """Return the cost to the nearest target over links of ``floor`` or more, rising; no path passes a source."""
        excluded = blocked_nodes | self.sources
        heap = [(0, node) for node in sorted(self.targets - excluded)]
        distances: dict[int, int] = {}
        while heap:
            cost, node = heapq.heappop(heap)
            if node in distances:
                continue
            distances[node] = cost
            for predecessor, link in self.predecessors[node].items():
                if link["capacity"] >= floor and predecessor not in distances and predecessor not in excluded:
                    heapq.heappush(heap, (cost + self.cost(predecessor, node), predecessor))
        return distances

    def neighbors(self, node: int, floor: float) -> Iterator[int]:
        return (neighbor for neighbor, link in self.adjacency[node].items() if link["capacity"] >= floor)

    def remaining(self, node: int, floor: float, distances: dict[int, int]) -> int:
        """Return the cost to the targets from a node that is not in ``distances``; `_INFINITE_COST` without a path."""
        reachable = (neighbor for neighbor in self.neighbors(node, floor) if neighbor in distances)
        return min((self.cost(node, neighbor) + distances[neighbor] for neighbor in reachable), default=_INFINITE_COST)

    def successors(self, node: int, remaining: float, floor: float, distances: dict[int, int]) -> Iterator[int]:
        """Return the next nodes on paths whose cost to the targets is ``remaining``."""
        reachable = (neighbor for neighbor in self.neighbors(node, floor) if neighbor in distances)
        return (neighbor for neighbor in reachable if self.cost(node, neighbor) + distances[neighbor] == remaining)

    def _cheapest(self, prefix: NodePath, excluded: frozenset[int], floor: float) -> NodePath:
        if not prefix and (direct := (self.sources & self.targets) - excluded):
            return (min(direct),)
        distances = self.distances(floor, frozenset(prefix))
        if prefix:
            last = prefix[-1]
            costs = {
                neighbor: self.cost(last, neighbor) + distances[neighbor]
                for neighbor in self.neighbors(last, floor)
                if neighbor in distances and neighbor not in excluded
            }
        else:
            costs = {node: self.remaining(node, floor, distances) for node in self.sources - excluded}
        if not costs or min(costs.values()) == _INFINITE_COST:
            return ()
        node = min(costs, key=lambda n: (costs[n], n))
        path = [*prefix, node]
        remaining = distances[node] if prefix else costs[node]
        while remaining:
            path.append(min(self.successors(path[-1], remaining, floor, distances)))
            remaining = distances[path[-1]]
        return tuple(path)


def path_cost(links: Links, path: NodePath, criterion: PathCriterion) -> tuple[float | Fraction, ...]:
    """Return the cost of a path by a criterion: the best path has the least; O(path length).

    Examples
    --------
    >>> links = {1: {2: {"capacity": 30}}, 2: {3: {"capacity": 20}}, 3: {}}
    >>> path_cost(links, (1, 2, 3), PathCriterion(PathMetric.HOPS))
    (2,)
    >>> path_cost(links, (1, 2, 3), PathCriterion(PathMetric.BANDWIDTH))
    (-20, 2)

    """
    hops = len(path) - 1
    if criterion.metric is PathMetric.BANDWIDTH:
        return (-_bottleneck(links, path), hops)
    if criterion.metric is PathMetric.TIME:
        return (transfer_time(links, path, criterion.message_bytes), hops, -_bottleneck(links, path))
    return (hops,)


def _bottleneck(links: Links, path: NodePath) -> float:
    return min((links[a][b]["capacity"] for a, b in pairwise(path)), default=inf)


def transfer_time(links: Links, path: NodePath, message_bytes: int) -> Fraction:
    """Return the nanoseconds that a message takes: the links' latencies plus its bytes over the bottleneck.

    The latency-bandwidth model of Hockney (Parallel Computing 20, 1994), exact; O(path length).

    Examples
    --------
    Two links of 500 ns, the narrower of 20 GB/s: 40 bytes take 2 ns more.

    >>> fast, slow = {"capacity": 30 * 10**9, "latency": 500}, {"capacity": 20 * 10**9, "latency": 500}
    >>> transfer_time({1: {2: fast}, 2: {3: slow}, 3: {}}, (1, 2, 3), 40)
    Fraction(1002, 1)

    """
    path_links = [links[a][b] for a, b in pairwise(path)]
    if not path_links:
        return Fraction(0)
    latency = sum((Fraction(link["latency"]) for link in path_links), Fraction(0))
    return latency + Fraction(message_bytes * 10**9, min(link["capacity"] for link in path_links))
