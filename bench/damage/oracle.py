"""Compute answers by slow but obviously correct methods, to compare trninv's answers with them.

The methods are breadth-first search, flows of networkx, plain integer programs, and trying all splits of the chips.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from itertools import product
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_array

Ints = NDArray[np.int64]
AddressGraph: TypeAlias = "nx.Graph[str]"
"""Parts that are not down, by address."""
DirectedLinks: TypeAlias = "nx.DiGraph[Hashable]"
"""Links by direction; a NIC is two ports, (address, whether the port leads up to the fabric)."""
_INFINITE = 2**60
_HUB_LINKS = 8
"""A switch with more links is a hub. Without its hubs, a domain consists of small connected pieces."""
_PIECE_LIMIT = 16
"""Maximum chips of a piece whose splits are all tried."""


def directed_links(graph: AddressGraph, domains: Collection[str], *, fabric: bool) -> DirectedLinks:
    """Return the links of some domains by direction; with the fabric, each NIC is two ports."""
    kind = nx.get_node_attributes(graph, "kind")
    domain_nodes = {node for node in graph if any(node.startswith(f"{domain}/") for domain in domains)}
    nodes = {node for node in graph if kind[node] == "network_node" or node in domain_nodes} if fabric else domain_nodes
    links: DirectedLinks = nx.DiGraph()
    links.add_nodes_from(node for node in nodes if kind[node] in ("chip", "switch"))
    for a, b, data in graph.subgraph(nodes).edges(data=True):
        for source, target in ((a, b), (b, a)):
            up = kind[source] == "chip" or kind[target] == "network_node"
            ends = [(end, up) if kind[end] == "nic" else end for end in (source, target)]
            if fabric or "nic" not in (kind[a], kind[b]):
                links.add_edge(*ends, capacity=data["capacity"])
    return links


def hop_count(graph: DirectedLinks, sources: Collection[Hashable], targets: Collection[Hashable]) -> int | None:
    """Count the links of a shortest path, or return None if there is no path."""
    starts = [node for node in sources if node in graph]
    if not starts:
        return None
    hops = nx.multi_source_dijkstra_path_length(graph, starts, weight=None)
    return min((int(hops[node]) for node in targets if node in hops), default=None)


def widest_path(
    graph: DirectedLinks, sources: Collection[Hashable], targets: Collection[Hashable]
) -> tuple[int, int] | None:
    """Return the capacity of the widest path and the fewest links of a path with that capacity."""
    for width in sorted({data["capacity"] for _, _, data in graph.edges(data=True)}, reverse=True):
        wide = graph.edge_subgraph([(a, b) for a, b, data in graph.edges(data=True) if data["capacity"] >= width])
        if (count := hop_count(wide, sources, targets)) is not None:
            return width, count
    return None


def max_flow(graph: DirectedLinks, sources: Collection[Hashable], targets: Collection[Hashable]) -> int:
    """Return the maximum flow from some nodes to others."""
    extended = graph.copy()
    extended.add_edges_from(("source", node) for node in sources if node in graph)
    extended.add_edges_from((node, "target") for node in targets if node in graph)
    return int(nx.maximum_flow_value(extended, "source", "target")) if {"source", "target"} <= set(extended) else 0


def distances(graph: DirectedLinks, chips: Sequence[Hashable]) -> Counter[int | None]:
    """Count the pairs of chips by the number of links between them; None counts pairs without a path."""
    counts = Counter[int | None]()
    for index, chip in enumerate(chips):
        hops = nx.single_source_shortest_path_length(graph, chip)
        counts.update(hops.get(target) for target in chips[index + 1 :])
    return counts


def can_gather(graph: DirectedLinks, chips: Sequence[Hashable], rate: float) -> bool:
    """Return whether each chip can receive at a rate from every other chip at once."""
    extended = graph.copy()
    for chip in chips:
        extended.add_edge("source", chip, capacity=rate)
    return all(nx.maximum_flow_value(extended, "source", chip) >= rate * len(chips) * (1 - 1e-9) for chip in chips)


def all_to_all(graph: DirectedLinks, chips: Sequence[Hashable]) -> float:
    """Compute the rate that all pairs can exchange at once, by a linear program with a flow per chip and link."""
    index = {node: position for position, node in enumerate(graph)}
    arcs = [(a, b, int(data["capacity"])) for a, b, data in graph.edges(data=True)]
    width, ends = len(arcs), set(chips)
    equal = lil_array((len(chips) * (len(index) - 1), 1 + len(chips) * width))
    loads = lil_array((width, 1 + len(chips) * width))
    row = 0
    for position, source in enumerate(chips):
        rows = {}
        for node in graph:
            if node != source:
                rows[node], row = row, row + 1
                equal[rows[node], 0] = -float(node in ends)
        for number, (a, b, _) in enumerate(arcs):
            loads[number, 1 + position * width + number] = 1
            for node, sign in ((b, 1), (a, -1)):
                if node != source:
                    equal[rows[node], 1 + position * width + number] = sign
    unit = max((carries for _, _, carries in arcs), default=1)
    cost = np.zeros(1 + len(chips) * width)
    cost[0] = -1
    carried = [carries / unit for _, _, carries in arcs]
    limits = LinearConstraint(loads.tocsr(), -np.inf, carried), LinearConstraint(equal.tocsr(), 0, 0)
    solution = milp(cost, constraints=limits)
    return 0.0 if solution.x is None else float(solution.x[0]) * unit


def least_cuts(graph: AddressGraph, chips: Collection[str]) -> Ints | None:
    """Compute, for every k, the least cut between k of a domain's chips and its other chips and network nodes.

    Tries both sides for each hub and all splits of each piece that remains. Switches and NICs of a piece take the
    cheaper side. Returns None if a piece is too large.
    """
    kind = nx.get_node_attributes(graph, "kind")
    hubs = [node for node in graph if kind[node] == "switch" and graph.degree[node] > _HUB_LINKS]
    network_nodes = [node for node in graph if kind[node] == "network_node"]
    pieces = list(nx.connected_components(graph.subgraph(set(graph).difference(hubs, network_nodes))))
    if any(sum(kind[node] == "chip" for node in piece) > _PIECE_LIMIT for piece in pieces):
        return None
    best = np.full(len(chips) + 1, _INFINITE)
    for sides in product((False, True), repeat=len(hubs)):
        fixed = dict(zip(hubs, sides, strict=True)) | dict.fromkeys(network_nodes, False)
        total = np.zeros(1, dtype=np.int64)
        for piece in pieces:
            total = _min_plus(total, _piece_cuts(graph, piece, fixed))
        best = np.minimum(best, total)
    return best


def _piece_cuts(graph: AddressGraph, piece: Collection[str], fixed: dict[str, bool]) -> Ints:
    """Compute a piece's least cut for each number of its chips on one side."""
    kind = nx.get_node_attributes(graph, "kind")
    chips = sorted(node for node in piece if kind[node] == "chip")
    subsets = np.arange(2 ** len(chips))
    side_of = {chip: (subsets >> position & 1).astype(bool) for position, chip in enumerate(chips)}
    cost = np.zeros(len(subsets), dtype=np.int64)
    for chip in chips:
        for neighbour in graph[chip]:
            if neighbour in fixed or (neighbour in side_of and chip < neighbour):
                cost += graph.edges[chip, neighbour]["capacity"] * (
                    side_of[chip] ^ (fixed[neighbour] if neighbour in fixed else side_of[neighbour])
                )
    for node in set(piece).difference(chips):
        cost += _cheaper_side(graph, node, side_of, is_port=kind[node] == "nic")
    best = np.full(len(chips) + 1, _INFINITE)
    np.minimum.at(best, np.bitwise_count(subsets), cost)
    return best


def _cheaper_side(graph: AddressGraph, node: str, side_of: "dict[str, NDArray[np.bool_]]", *, is_port: bool) -> Any:
    """Compute the cut at a switch on its cheaper side, or at a NIC: its chips' links, at most its uplinks."""
    carries = {neighbour: graph.edges[node, neighbour]["capacity"] for neighbour in graph[node]}
    first_side = sum(carries[neighbour] * side_of[neighbour] for neighbour in carries if neighbour in side_of)
    second_side = sum(carries[neighbour] for neighbour in carries if neighbour not in side_of)
    return (
        np.minimum(first_side, second_side) if is_port else np.minimum(first_side, sum(carries.values()) - first_side)
    )


def _min_plus(first: Ints, second: Ints) -> Ints:
    """Return the (min, +) convolution: for each total index, the least sum of an entry of each array."""
    sums = np.full(len(first) + len(second) - 1, _INFINITE)
    for index, value in enumerate(second):
        sums[index : index + len(first)] = np.minimum(sums[index : index + len(first)], first + value)
    return sums


def bisection(domains: Sequence[Ints], chips: int, failed: int = 0) -> int:
    """Compute the least cut between two halves of the chips of some domains; failed chips count in either half."""
    total = np.zeros(1, dtype=np.int64)
    for cuts in domains:
        total = _min_plus(total, cuts)
    half = (chips + failed) // 2
    return int(total[max(half - failed, 0) : min(chips + failed - half, chips) + 1].min())


def solve_bisection(graph: AddressGraph, chips: Sequence[str], seconds: float) -> tuple[float, float]:
    """Compute bounds on the bisection of chips without switches, by a plain integer program."""
    index, edges = {chip: position for position, chip in enumerate(chips)}, _edges(graph.subgraph(chips))
    unit, width = max(carries for _, _, carries in edges), len(chips) + len(edges)
    rows = lil_array((2 * len(edges) + 1, width))
    for position, (a, b, _) in enumerate(edges):
        for side, sign in ((0, 1), (1, -1)):
            rows[2 * position + side, len(chips) + position] = 1
            rows[2 * position + side, index[a]], rows[2 * position + side, index[b]] = sign, -sign
    rows[2 * len(edges), : len(chips)] = 1
    half = len(chips) // 2
    lower = np.r_[np.zeros(2 * len(edges)), half]
    upper = np.r_[np.full(2 * len(edges), np.inf), half]
    cost = np.r_[np.zeros(len(chips)), [carries / unit for _, _, carries in edges]]
    kinds = np.r_[np.ones(len(chips)), np.zeros(len(edges))]
    solution = milp(
        cost,
        integrality=kinds,
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows.tocsr(), lower, upper),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    return (solution.mip_dual_bound or 0) * unit, (np.inf if solution.fun is None else solution.fun) * unit


def search_cut(graph: AddressGraph, chips: Sequence[str], sizes: Sequence[int], tries: int, seed: int) -> int:
    """Search for a small cut whose first side has one of these sizes; the links of its NICs are part of the cut.

    Each NIC belongs to one chip.
    """
    kind, rng = nx.get_node_attributes(graph, "kind"), np.random.default_rng(seed)
    index = {chip: position for position, chip in enumerate(chips)}
    capacities, exits = np.zeros((len(chips), len(chips)), dtype=np.int64), np.zeros(len(chips), dtype=np.int64)
    for a, b, capacity in _edges(graph.subgraph(chips)):
        capacities[index[a], index[b]] = capacities[index[b], index[a]] = capacity
    for nic in (node for node in graph if kind[node] == "nic"):
        up = sum(
            graph.edges[nic, neighbour]["capacity"] for neighbour in graph[nic] if kind[neighbour] == "network_node"
        )
        for chip in set(graph[nic]) & index.keys():
            exits[index[chip]] += min(graph.edges[nic, chip]["capacity"], up)
    order, best = np.arange(len(chips)), _INFINITE
    for turn in range(tries):
        size = sizes[turn % len(sizes)]
        start = np.roll(order, -int(rng.integers(len(chips)))) if turn % 3 else rng.permutation(len(chips))
        best = min(best, _swap_chips(capacities, exits, start[:size]))
    return best


def _edges(graph: AddressGraph) -> list[tuple[str, str, int]]:
    return [(a, b, int(data["capacity"])) for a, b, data in graph.edges(data=True)]


def _swap_chips(capacities: Ints, exits: Ints, start: Ints) -> int:
    """Swap pairs of chips until no swap lowers the cut, and return it; the first side's exits are part of the cut."""
    side = np.zeros(len(exits), dtype=bool)
    side[start] = True
    while True:
        sign = np.where(side, 1, -1)
        gain = -(capacities @ sign) * sign + exits * sign
        first_side, second_side = np.flatnonzero(side), np.flatnonzero(~side)
        change = (
            gain[first_side][:, None] + gain[second_side][None, :] - 2 * capacities[np.ix_(first_side, second_side)]
        )
        best = int(np.argmax(change))
        if not change.size or change.flat[best] <= 0:
            return int(capacities[np.ix_(first_side, second_side)].sum() + exits[side].sum())
        a, b = divmod(best, len(second_side))
        side[first_side[a]], side[second_side[b]] = False, True
