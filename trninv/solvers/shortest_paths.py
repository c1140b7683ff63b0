"""Find best paths by hops, bandwidth or time, between two sets of nodes or from all nodes to one.

The questions `path`, `bandwidth` and `pool` of `trninv.routing` call this module. `trninv.solvers.adjacency` builds the
directed links that it takes.

A path is a tuple of node ids. Its cost is (hops) for HOPS, (-bottleneck, hops) for BANDWIDTH and, for TIME,
(sum of latencies + bytes / bottleneck, hops, -bottleneck). The bottleneck is the capacity of the path's narrowest link.
Costs are compared exactly, as integers and fractions. Of paths with equal costs, the first by node ids is the best.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf

from trninv import deadline
from trninv.enumeration import DescribedEnum
from trninv.solvers.adjacency import Links

NodePath = tuple[int, ...]
_HOP = 1
"""Cost of a hop in a search."""
_NANOSECOND = 2**20
"""Cost of a nanosecond of latency in a search: more than the hops of any path, so that latency counts before hops."""
_INFINITE_COST = 2**62
"""Cost where there is no path."""


class PathMetric(DescribedEnum):
    """Metric by which paths are ordered."""

    HOPS = "HOPS", "Fewest links; ties by address."
    BANDWIDTH = "BANDWIDTH", "Widest narrowest link, then fewest links."
    TIME = "TIME", "Least sum of latencies + message / narrowest link, then fewest links, then the widest."


@dataclass(frozen=True, slots=True)
class PathCriterion:
    """How paths are ordered; ``message_bytes`` and the links' ``latency`` (nanoseconds) count only for TIME."""

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

    Only the first node of a path is a source, and only the last one is a target. Yen's method (Management Science 17,
    1971): each further path branches off from an earlier one at some node. O(k·V·E·log V) for k paths.

    Parameters
    ----------
    predecessors
        For directed links, the same links by the node they reach.

    Examples
    --------
    Of the two paths around a ring of four, the shorter one is first by hops, and the wider one by bandwidth:

    >>> capacity = {(1, 2): 30, (2, 3): 20, (3, 4): 30, (4, 1): 10}
    >>> links = {u: {} for u in (1, 2, 3, 4)}
    >>> for (u, v), bandwidth in capacity.items():
    ...     links[u][v] = links[v][u] = {"capacity": bandwidth}
    >>> list(best_paths(links, [1], [4], PathCriterion(PathMetric.HOPS)))
    [(1, 4), (1, 2, 3, 4)]
    >>> list(best_paths(links, [1], [4], PathCriterion(PathMetric.BANDWIDTH)))
    [(1, 2, 3, 4), (1, 4)]

    """
    search = _Search(links, sources, targets, criterion, predecessors)
    candidates: list[tuple[tuple[float | Fraction, ...], NodePath]] = []
    paths: list[NodePath] = []
    queued: set[NodePath] = set()

    def push(path: NodePath) -> None:
        if path and path not in queued:
            queued.add(path)
            heapq.heappush(candidates, (search.path_cost(path), path))

    push(search.best((), frozenset()))
    while candidates:
        deadline.raise_if_expired()
        _, path = heapq.heappop(candidates)
        yield path
        paths.append(path)
        for spur in range(len(path)):
            prefix = path[:spur]
            excluded = frozenset(other[spur] for other in paths if other[:spur] == prefix and len(other) > spur)
            push(search.best(prefix, excluded))


@dataclass(frozen=True, slots=True)
class ShortestPathDag:
    """The directed acyclic graph (DAG) of all best paths.

    Attributes
    ----------
    count
        Number of paths.
    flow
        Number of paths over each link, in the direction of travel.
    share
        Fraction of the traffic on each of these links if all sources send equally much, and each node divides what it
        receives evenly among its next links (equal-cost multipath).

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

    Dijkstra's algorithm (1959) with counts of paths; O(E·log V) for HOPS. For other metrics, the search is repeated for
    each capacity of a link.

    Examples
    --------
    The two equally short paths around a ring of four share the traffic:

    >>> ring = {1: [2, 4], 2: [1, 3], 3: [2, 4], 4: [1, 3]}
    >>> links = {u: dict.fromkeys(ends, {"capacity": 10}) for u, ends in ring.items()}
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
    total = sum(search.cost(u, v) for u, v in pairwise(best))
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
    """A search for the best path from any source to any target.

    If the metric depends on the bottleneck, there is one search for each capacity (``floor``), over links with at least
    that capacity. Costs within a search are hops, and for TIME latencies too. Only `path_cost`, the cost of whole
    paths, includes the bottleneck.
    """

    def __init__(
        self,
        links: Links,
        sources: Collection[int],
        targets: Collection[int],
        criterion: PathCriterion,
        predecessors: Links | None,
    ) -> None:
        self.adjacency, self.criterion = links, criterion
        self.predecessors = links if predecessors is None else predecessors
        self.sources = frozenset(sources).intersection(links)
        self.targets = frozenset(targets).intersection(links)
        link_capacities = {link["capacity"] for neighbors in links.values() for link in neighbors.values()}
        self.capacities = sorted(link_capacities, reverse=True) or [0]
        self.uses_bottleneck = criterion.metric is not PathMetric.HOPS
        """Whether the metric depends on the bottleneck of a path."""

    def cost(self, u: int, v: int) -> int:
        return (
            self.adjacency[u][v]["latency"] * _NANOSECOND + _HOP if self.criterion.metric is PathMetric.TIME else _HOP
        )

    def path_cost(self, path: NodePath) -> tuple[float | Fraction, ...]:
        return path_cost(self.adjacency, path, self.criterion)

    def bottleneck(self, path: NodePath) -> float:
        return _bottleneck(self.adjacency, path)

    def best(self, prefix: NodePath, excluded: frozenset[int]) -> NodePath:
        """Return the best path that starts with ``prefix`` and has no ``excluded`` node after it; empty without one."""
        ceiling = self.bottleneck(prefix)
        floors = [min(ceiling, capacity) for capacity in self.capacities] if self.uses_bottleneck else [0]
        paths = (self._cheapest(prefix, excluded, floor) for floor in dict.fromkeys(floors))
        if self.criterion.metric is PathMetric.TIME:
            return min(filter(None, paths), key=lambda path: (self.path_cost(path), path), default=())
        return next(filter(None, paths), ())  # floors fall, so the first path is the widest

    def distances(self, floor: float, blocked_nodes: frozenset[int]) -> dict[int, int]:
        """Return the cost from each node to the nearest target over links of ``floor`` or more, in rising order.

        Paths through sources or blocked nodes do not count.
        """
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
        """Return the cost to the nearest target from a node such as a source, which ``distances`` does not have.

        Without a path, the cost is `_INFINITE_COST`.
        """
        reachable = (neighbor for neighbor in self.neighbors(node, floor) if neighbor in distances)
        return min((self.cost(node, neighbor) + distances[neighbor] for neighbor in reachable), default=_INFINITE_COST)

    def successors(self, node: int, remaining: float, floor: float, distances: dict[int, int]) -> Iterator[int]:
        """Return the next nodes on paths whose cost to the targets is ``remaining``."""
        reachable = (neighbor for neighbor in self.neighbors(node, floor) if neighbor in distances)
        return (neighbor for neighbor in reachable if self.cost(node, neighbor) + distances[neighbor] == remaining)

    def _cheapest(self, prefix: NodePath, excluded: frozenset[int], floor: float) -> NodePath:
        """Return the cheapest path that starts with ``prefix``, over links of ``floor`` or more; empty without one."""
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
    """Return the cost of a path by a criterion, which is least for the best path; O(path length).

    Examples
    --------
    >>> wide, narrow = {"capacity": 30}, {"capacity": 20}
    >>> links = {1: {2: wide}, 2: {3: narrow}, 3: {4: wide}, 4: {}}
    >>> path_cost(links, (1, 2, 3, 4), PathCriterion(PathMetric.HOPS))
    (3,)
    >>> path_cost(links, (1, 2, 3, 4), PathCriterion(PathMetric.BANDWIDTH))
    (-20, 3)

    """
    hops = len(path) - 1
    if criterion.metric is PathMetric.BANDWIDTH:
        return (-_bottleneck(links, path), hops)
    if criterion.metric is PathMetric.TIME:
        return (transfer_time(links, path, criterion.message_bytes), hops, -_bottleneck(links, path))
    return (hops,)


def _bottleneck(links: Links, path: NodePath) -> float:
    return min((links[u][v]["capacity"] for u, v in pairwise(path)), default=inf)


def transfer_time(links: Links, path: NodePath, message_bytes: int) -> Fraction:
    """Return the nanoseconds that a message takes: the sum of latencies plus its bytes divided by the bottleneck.

    The latency-bandwidth model of Hockney (Parallel Computing 20, 1994), computed exactly; O(path length).

    Examples
    --------
    Three links of 500 ns, the narrowest of 20 GB/s: 40 bytes take 2 ns more than the latencies.

    >>> fast, slow = {"capacity": 30 * 10**9, "latency": 500}, {"capacity": 20 * 10**9, "latency": 500}
    >>> transfer_time({1: {2: fast}, 2: {3: slow}, 3: {4: fast}, 4: {}}, (1, 2, 3, 4), message_bytes=40)
    Fraction(1502, 1)

    """
    path_links = [links[u][v] for u, v in pairwise(path)]
    if not path_links:
        return Fraction(0)
    latency = sum((Fraction(link["latency"]) for link in path_links), Fraction(0))
    return latency + Fraction(message_bytes * 10**9, min(link["capacity"] for link in path_links))


@dataclass(frozen=True, slots=True)
class PathsToTarget:
    """The shortest paths from all nodes to a target over links of ``floor`` or more.

    Attributes
    ----------
    hops
        Hops to the target for each node that reaches it.
    path_counts
        Number of shortest paths from each such node.

    """

    adjacency: Links
    floor: int
    hops: dict[int, int]
    path_counts: dict[int, int]

    @classmethod
    def from_links(
        cls, links: Links, target: int, floor: int = 0, predecessors: Links | None = None
    ) -> "PathsToTarget":
        """Search breadth-first from the target, O(V + E); directed links also need ``predecessors``."""
        incoming = links if predecessors is None else predecessors
        hops, path_counts, frontier = {target: 0}, {target: 1}, [target]
        while frontier:
            next_counts: dict[int, int] = {}
            for node in frontier:
                for neighbor, link in incoming[node].items():
                    if neighbor not in hops and link["capacity"] >= floor:
                        next_counts[neighbor] = next_counts.get(neighbor, 0) + path_counts[node]
            hops |= dict.fromkeys(next_counts, hops[frontier[0]] + 1)
            path_counts |= next_counts
            frontier = list(next_counts)
        return cls(links, floor, hops, path_counts)

    def path(self, source: int) -> NodePath:
        """Return the shortest path from a source, the first by node ids; empty if there is none."""
        if source not in self.hops:
            return ()
        path = [source]
        while remaining := self.hops[path[-1]]:
            path.append(min(self._next_nodes(path[-1], remaining)))
        return tuple(path)

    def all_paths(self, source: int) -> ShortestPathDag:
        """Return the graph of all shortest paths from a source that reaches the target."""
        paths_to, share = {source: 1}, {source: Fraction(1)}
        flow: dict[tuple[int, int], int] = {}
        shares: dict[tuple[int, int], Fraction] = {}
        for remaining in range(self.hops[source], 0, -1):
            next_paths, next_share = defaultdict[int, int](int), defaultdict[int, Fraction](Fraction)
            for node, count in paths_to.items():
                next_nodes = self._next_nodes(node, remaining)
                node_share = share[node] / len(next_nodes)
                for neighbor in next_nodes:
                    flow[node, neighbor], shares[node, neighbor] = count * self.path_counts[neighbor], node_share
                    next_paths[neighbor] += count
                    next_share[neighbor] += node_share
            paths_to, share = next_paths, next_share
        return ShortestPathDag(self.path_counts[source], flow, shares)

    def _next_nodes(self, node: int, remaining: int) -> list[int]:
        """Return the neighbors that are one hop nearer to the target than a node ``remaining`` hops from it."""
        neighbors = self.adjacency[node].items()
        return [
            neighbor
            for neighbor, link in neighbors
            if link["capacity"] >= self.floor and self.hops.get(neighbor) == remaining - 1
        ]


def widest_capacities(links: Links, targets: Collection[int]) -> dict[int, int]:
    """Return the bottleneck of the widest path to any target, for each other node that reaches a target.

    Dijkstra's algorithm on bottlenecks instead of lengths (Pollack, Operations Research 8, 1960); O(E·log E).

    Parameters
    ----------
    links
        Links by the node they reach. Undirected links are listed at both ends.

    Examples
    --------
    On a path 1-2-3-4 with links of 30, 20 and 30, nodes 3 and 4 reach node 1 with 20:

    >>> wide, narrow = {"capacity": 30}, {"capacity": 20}
    >>> links = {1: {2: wide}, 2: {1: wide, 3: narrow}, 3: {2: narrow, 4: wide}, 4: {3: wide}}
    >>> widest_capacities(links, [1])
    {2: 30, 3: 20, 4: 20}

    """
    widths: dict[int, int] = {}
    heap = [(-link["capacity"], neighbor) for target in targets for neighbor, link in links[target].items()]
    heapq.heapify(heap)
    done = set(targets)
    while heap:
        width, node = heapq.heappop(heap)
        if node in done:
            continue
        done.add(node)
        widths[node] = -width
        for neighbor, link in links[node].items():
            if neighbor not in done:
                heapq.heappush(heap, (max(width, -link["capacity"]), neighbor))
    return widths
