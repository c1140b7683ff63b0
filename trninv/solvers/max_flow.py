"""Compute maximum flows, minimum cuts (Dinic), Gomory-Hu trees and disjoint paths in exact integers.

Questions about bandwidth, cut trees and disjoint paths in `trninv.routing` call this module, and so do other solvers.

Maximum flows are computed by Dinic's method (Soviet Mathematics Doklady 11, 1970). A node's level is its number of hops
to the nearest target in the residual graph. When no source has a level any more, the nodes that have a level are the
smallest target side of any minimum cut. The search ends earlier if the flow fills all links into the targets. The worst
case is O(V²·E); between chips with a few links, the method takes few rounds.

A Gomory-Hu tree holds the maximum flows of all pairs of nodes: the flow of a pair is the least weight on the tree's
path between them (Gomory & Hu, SIAM Journal 9, 1961).
"""

from collections.abc import Collection, Sequence

import networkx as nx

from trninv import deadline
from trninv.solvers.adjacency import Links, directed_adjacency
from trninv.solvers.graph import Graph
from trninv.solvers.shortest_paths import NodePath


def minimum_cut(graph: Graph, sources: Collection[int], targets: Collection[int]) -> tuple[int, set[int]]:
    """Return the value of a maximum flow and the source side of a minimum cut (Dinic 1970); O(V²·E).

    The flow and the cut have the same value (Ford & Fulkerson 1956), which is checked.

    Parameters
    ----------
    sources, targets
        Disjoint sets of nodes. Nodes that are not in the graph, such as failed ones, carry nothing.

    Returns
    -------
    Bytes per second in one direction, and the nodes on the sources' side.

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> minimum_cut(graph, [1], [3])
    (30, {1, 2})

    """
    value, source_side = FlowNetwork.from_graph(graph).minimum_cut(sources, targets)
    return value, source_side.intersection(graph)


def minimum_cut_directed(links: Links, sources: Collection[int], targets: Collection[int]) -> tuple[int, set[int]]:
    """Return the maximum flow and the source side of a minimum cut of directed links (Dinic 1970); O(V²·E).

    Parameters
    ----------
    links
        Links by the node they leave.
    sources, targets
        Disjoint sets of nodes. Nodes that are not in ``links`` carry nothing.

    Examples
    --------
    >>> wide, narrow = {"capacity": 30}, {"capacity": 10}
    >>> links = {1: {2: wide, 4: narrow}, 2: {3: wide}, 3: {}, 4: {3: wide}}
    >>> minimum_cut_directed(links, [1], [3])
    (40, {1, 2})
    >>> minimum_cut_directed(links, [3], [1])
    (0, {2, 3, 4})

    """
    return FlowNetwork(links).minimum_cut(sources, targets)


class FlowNetwork:
    """Directed links as arrays, for many flows over the same links; a link and its opposite are one pair of arcs.

    Attributes
    ----------
    nodes
        Ids of the nodes. A node's number is its index here.

    """

    def __init__(self, links: Links) -> None:
        self.nodes = [*links]
        self._index = {node: i for i, node in enumerate(self.nodes)}
        # by arc: the number of the node that the arc leads to, and its capacity; arc i ^ 1 is the opposite of arc i
        self._heads, self._capacity = list[int](), list[int]()
        self._arcs: list[list[int]] = [[] for _ in self.nodes]  # by node number: the arcs that leave the node
        for node, successors in links.items():
            u = self._index[node]
            for neighbor, link in successors.items():
                v, opposite = self._index[neighbor], links[neighbor].get(node)
                if opposite is None or u < v:
                    self._arcs[u].append(len(self._heads))
                    self._arcs[v].append(len(self._heads) + 1)
                    self._heads += (v, u)
                    self._capacity += (link["capacity"], opposite["capacity"] if opposite else 0)

    @classmethod
    def from_graph(cls, graph: Graph) -> "FlowNetwork":
        """Build the network of a graph, with each NIC split into its two ports."""
        return cls(directed_adjacency(graph.nodes, dict(graph.adjacency())).successors)

    def minimum_cut(self, sources: Collection[int], targets: Collection[int]) -> tuple[int, set[int]]:
        """Return the maximum flow and the source side of the minimum cut with the smallest target side."""
        source_numbers, target_numbers = (
            [self._index[node] for node in nodes if node in self._index] for nodes in (sources, targets)
        )
        residual, value = self._capacity.copy(), 0
        into_targets = self._capacity_into(set(target_numbers))
        while value < into_targets:  # once they are equal, the targets alone are the target side of a minimum cut
            deadline.raise_if_expired()
            levels = self._levels(residual, source_numbers, target_numbers)
            if all(levels[source] < 0 for source in source_numbers):
                break
            value += sum(self._send(residual, levels, source) for source in source_numbers if levels[source] >= 0)
        if value == into_targets:
            return value, set(self.nodes).difference(targets)
        source_side = {i for i, level in enumerate(levels) if level < 0}
        if (crossing := self._capacity_into(set(range(len(levels))) - source_side)) != value:
            raise AssertionError(f"the maximum flow is {value}, but its minimum cut carries {crossing}")
        return value, {self.nodes[i] for i in source_side}

    def cut_links(self, sources: Collection[int], targets: Collection[int]) -> tuple[int, list[tuple[int, int]]]:
        """Return the maximum flow, and the links of `minimum_cut`'s cut as (source side, target side)."""
        value, source_side = self.minimum_cut(sources, targets)
        target_side = [self._index[node] for node in self._index.keys() - source_side]
        links = [
            (self.nodes[self._heads[arc]], self.nodes[node])
            for node in target_side
            for arc in self._arcs[node]
            if self._capacity[arc ^ 1] and self.nodes[self._heads[arc]] in source_side
        ]
        return value, sorted(links)

    def _capacity_into(self, side: set[int]) -> int:
        """Return the capacity of the arcs into a set of nodes."""
        arcs = (arc for node in side for arc in self._arcs[node] if self._heads[arc] not in side)
        return sum(self._capacity[arc ^ 1] for arc in arcs)

    def _levels(self, residual: list[int], sources: Sequence[int], targets: Sequence[int]) -> list[int]:
        """Return the hops to the nearest target in the residual network, -1 for nodes that reach no target.

        The search ends with the level of the first source that it reaches. Nodes farther away have -1 too, because the
        next shortest paths can't pass them.
        """
        heads, arcs, levels = self._heads, self._arcs, [-1] * len(self.nodes)
        queue, is_source = list(targets), [False] * len(self.nodes)
        for node in targets:
            levels[node] = 0
        for node in sources:
            is_source[node] = True
        limit = len(levels)
        for node in queue:  # the loop appends to the queue
            level = levels[node] + 1
            if level > limit:
                break
            for arc in arcs[node]:
                neighbor = heads[arc]
                if levels[neighbor] < 0 and residual[arc ^ 1]:
                    levels[neighbor] = level
                    queue.append(neighbor)
                    if is_source[neighbor]:
                        limit = level
        return levels

    def _send(self, residual: list[int], levels: Sequence[int], source: int) -> int:
        """Send flow from a source down the levels until every such path has a saturated arc; return the flow sent."""
        heads, next_arcs, sent = self._heads, dict[int, list[int]](), 0
        path, node = list[int](), source  # the arcs of the path so far, and the node that it has reached
        while True:
            if not levels[node]:
                bottleneck = min([residual[arc] for arc in path])
                sent += bottleneck
                for arc in path:
                    residual[arc] -= bottleneck
                    residual[arc ^ 1] += bottleneck
                path, node = [], source
                continue
            if (arcs := next_arcs.get(node)) is None:
                below = levels[node] - 1
                arcs = next_arcs[node] = [arc for arc in self._arcs[node] if levels[heads[arc]] == below]
            while arcs and not residual[arcs[-1]]:
                arcs.pop()
            if arcs:
                path.append(arcs[-1])
                node = heads[arcs[-1]]
            elif path:  # a dead end: retreat and do not come back
                node = heads[path.pop() ^ 1]
                next_arcs[node].pop()
            else:
                return sent


def gomory_hu_tree(graph: Graph) -> Graph:
    """Return a graph's Gomory-Hu tree (1961), with components joined by edges of weight 0; V - 1 maximum flows.

    Examples
    --------
    Two links that are not connected, so the edge between them has weight 0:

    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (3, 4, 20)], weight="capacity")
    >>> list(gomory_hu_tree(graph).edges(data="weight"))
    [(1, 2, 30), (1, 3, 0), (3, 4, 20)]

    """
    parts = [Graph(graph.subgraph(part)) for part in sorted(nx.connected_components(graph), key=min)]
    tree = Graph()
    tree.add_nodes_from(graph)
    for part in parts:
        tree.add_weighted_edges_from(nx.gomory_hu_tree(part).edges(data="weight"))
    tree.add_weighted_edges_from((min(parts[0]), min(part), 0) for part in parts[1:])
    return tree


def minimum_edge(tree: Graph, endpoints: set[int]) -> tuple[int, set[int]]:
    """Return the least maximum flow between any two endpoints, and one side of a minimum cut between them; O(V²).

    The flow is the weight of the lightest edge of a Gomory-Hu tree (1961) that separates endpoints. With fewer than two
    endpoints, the result is 0 and all nodes.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> minimum_edge(gomory_hu_tree(graph), {1, 2, 3, 4})
    (30, {1, 2})

    """
    edges: list[tuple[int, int, int]] = list(tree.edges(data="weight"))
    for u, v, weight in sorted(edges, key=lambda edge: (edge[2], edge[:2])):
        rest = tree.copy()
        rest.remove_edge(u, v)
        side = nx.node_connected_component(rest, u)
        if side & endpoints and endpoints - side:
            return int(weight), side
    return 0, set(tree)


def disjoint_paths(
    links: Links, sources: Collection[int], targets: Collection[int], *, by_node: bool, max_paths: int
) -> list[NodePath]:
    """Return as many disjoint paths as possible, up to ``max_paths``, with the least total length.

    The paths share no link, or no node except their ends. A minimum-cost flow over unit capacities (Menger 1927;
    Suurballe, Networks 4, 1974): one maximum flow, O(V²·√E), and one network simplex. Paths may begin at different
    sources and end at different targets. There are none if a node is both a source and a target.

    Parameters
    ----------
    by_node
        Whether paths must share no node; otherwise they must share no link.

    Examples
    --------
    The two ways around a ring of four:

    >>> links = {1: [2, 4], 2: [1, 3], 3: [2, 4], 4: [3, 1]}
    >>> disjoint_paths({u: {v: {} for v in ends} for u, ends in links.items()}, [1], [3], by_node=True, max_paths=9)
    [(1, 2, 3), (1, 4, 3)]

    """
    source_set, target_set = frozenset(sources) & links.keys(), frozenset(targets) & links.keys()
    if not source_set or not target_set or source_set & target_set:
        return []
    ends = source_set | target_set
    graph: nx.DiGraph[object] = nx.DiGraph()
    for node, neighbors in links.items():
        if node not in ends:
            graph.add_edge((node, "in"), (node, "out"), weight=0, **({"capacity": 1} if by_node else {}))
        for neighbor in neighbors:
            if node not in target_set and neighbor not in source_set:
                exit_node = node if node in ends else (node, "out")
                graph.add_edge(exit_node, neighbor if neighbor in ends else (neighbor, "in"), capacity=1, weight=1)
    graph.add_edges_from(("source", node, {"weight": 0}) for node in source_set)
    graph.add_edges_from((node, "target", {"weight": 0}) for node in target_set)
    # the arc from "limit" lets at most `max_paths` units of flow into "source"
    graph.add_edge("limit", "source", capacity=max_paths, weight=0)
    flow = nx.max_flow_min_cost(graph, "limit", "target")
    paths = []
    while any(flow["source"].values()):
        walk: list[object] = ["source"]
        while walk[-1] != "target":
            next_node = min((node for node, units in flow[walk[-1]].items() if units), key=str)
            flow[walk[-1]][next_node] -= 1
            walk.append(next_node)
        nodes_of_walk = (step[0] if isinstance(step, tuple) else step for step in walk[1:-1])
        paths.append(tuple(dict.fromkeys(int(str(node)) for node in nodes_of_walk)))
    return sorted(paths, key=lambda path: (len(path), path))


def set_to_set_flow(graph: Graph, senders: Collection[int], receivers: Collection[int]) -> int:
    """Return the maximum flow from one set of nodes to another, in bytes per second; 0 without senders.

    `minimum_cut` by Dinic's method (1970), O(V²·E).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> set_to_set_flow(graph, [1, 2], [3, 4])
    30

    """
    return minimum_cut(graph, senders, receivers)[0] if senders else 0
