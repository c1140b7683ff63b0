"""Find best paths from all nodes toward one target: the same paths as `trninv.solvers.paths`, for all sources at once.

Ties break as there: the next node is the first by id.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from trninv.solvers.paths import Links, NodePath, ShortestPathDag


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
        """Return the first shortest path by ids; empty if there is none."""
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
            next_reached, next_share = defaultdict[int, int](int), defaultdict[int, Fraction](Fraction)
            for node, count in paths_to.items():
                next_nodes = self._next_nodes(node, remaining)
                node_share = share[node] / len(next_nodes)
                for neighbor in next_nodes:
                    flow[node, neighbor], shares[node, neighbor] = count * self.path_counts[neighbor], node_share
                    next_reached[neighbor] += count
                    next_share[neighbor] += node_share
            paths_to, share = next_reached, next_share
        return ShortestPathDag(self.path_counts[source], flow, shares)

    def _next_nodes(self, node: int, remaining: int) -> list[int]:
        """Return the neighbours of a node ``remaining`` hops away that are one hop nearer."""
        neighbors = self.adjacency[node].items()
        return [
            neighbor
            for neighbor, link in neighbors
            if link["capacity"] >= self.floor and self.hops.get(neighbor) == remaining - 1
        ]


def widest_capacities(links: Links, targets: Collection[int]) -> dict[int, int]:
    """Return the bottleneck of the widest path to any target, for all other nodes that reach one.

    Dijkstra's algorithm on bottlenecks instead of lengths (Pollack, Operations Research 8, 1960); O(E·log E).

    Parameters
    ----------
    links
        Links by the node they reach, which matters for directed ones.

    Examples
    --------
    On a path 1-2-3 with links of 30 and 20, node 3 reaches node 1 with 20:

    >>> wide, narrow = {"capacity": 30}, {"capacity": 20}
    >>> widest_capacities({1: {2: wide}, 2: {1: wide, 3: narrow}, 3: {2: narrow}}, [1])
    {2: 30, 3: 20}

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
