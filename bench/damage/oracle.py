"""Compute slow but obviously right answers: breadth-first search, flows of networkx, all splits."""

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
Named: TypeAlias = "nx.Graph[str]"
"""Parts that are not down, by address."""
Ways: TypeAlias = "nx.DiGraph[Hashable]"
"""Links by direction; a NIC is two ports, (address, whether the port leads up to the fabric)."""
_FAR = 2**60
_HUB = 8
"""A switch with more links is a hub; without hubs, a domain falls into small pieces."""
_MOST = 16
"""Most chips of a piece for trying all its splits."""


def ways(graph: Named, domains: Collection[str], *, fabric: bool) -> Ways:
    """Return the links of some domains by direction; with the fabric, each NIC is two ports."""
    kind = nx.get_node_attributes(graph, "kind")
    own = {node for node in graph if any(node.startswith(f"{domain}/") for domain in domains)}
    kept = {node for node in graph if kind[node] == "network_node" or node in own} if fabric else own
    found: Ways = nx.DiGraph()
    found.add_nodes_from(node for node in kept if kind[node] in ("chip", "switch"))
    for a, b, of in graph.subgraph(kept).edges(data=True):
        for one, other in ((a, b), (b, a)):
            up = kind[one] == "chip" or kind[other] == "network_node"
            ends = [(end, up) if kind[end] == "nic" else end for end in (one, other)]
            if fabric or "nic" not in (kind[a], kind[b]):
                found.add_edge(*ends, capacity=of["capacity"])
    return found


def hops(graph: Ways, sources: Collection[Hashable], targets: Collection[Hashable]) -> int | None:
    """Count the links of a shortest path, or return None if there is no path."""
    starts = [node for node in sources if node in graph]
    if not starts:
        return None
    away = nx.multi_source_dijkstra_path_length(graph, starts, weight=None)
    return min((int(away[node]) for node in targets if node in away), default=None)


def widest(graph: Ways, sources: Collection[Hashable], targets: Collection[Hashable]) -> tuple[int, int] | None:
    """Return the capacity of the widest path and the fewest links of a path with that capacity."""
    for width in sorted({of["capacity"] for _, _, of in graph.edges(data=True)}, reverse=True):
        wide = graph.edge_subgraph([(a, b) for a, b, of in graph.edges(data=True) if of["capacity"] >= width])
        if (found := hops(wide, sources, targets)) is not None:
            return width, found
    return None


def flow(graph: Ways, sources: Collection[Hashable], targets: Collection[Hashable]) -> int:
    """Return the maximum flow from some nodes to others."""
    joined = graph.copy()
    joined.add_edges_from(("source", node) for node in sources if node in graph)
    joined.add_edges_from((node, "target") for node in targets if node in graph)
    return int(nx.maximum_flow_value(joined, "source", "target")) if {"source", "target"} <= set(joined) else 0


def distances(graph: Ways, chips: Sequence[Hashable]) -> Counter[int | None]:
    """Count the pairs of chips by the number of links between them; None counts pairs without a path."""
    found = Counter[int | None]()
    for at, chip in enumerate(chips):
        away = nx.single_source_shortest_path_length(graph, chip)
        found.update(away.get(other) for other in chips[at + 1 :])
    return found


def gathers(graph: Ways, chips: Sequence[Hashable], rate: float) -> bool:
    """Return whether each chip can receive at a rate from every other chip at once."""
    fed = graph.copy()
    for chip in chips:
        fed.add_edge("source", chip, capacity=rate)
    return all(nx.maximum_flow_value(fed, "source", chip) >= rate * len(chips) * (1 - 1e-9) for chip in chips)


def all_to_all(graph: Ways, chips: Sequence[Hashable]) -> float:
    """Compute the rate that all pairs can exchange at once, by a linear program with a flow per chip and link."""
    index = {node: at for at, node in enumerate(graph)}
    arcs = [(a, b, int(of["capacity"])) for a, b, of in graph.edges(data=True)]
    width, ends = len(arcs), set(chips)
    equal = lil_array((len(chips) * (len(index) - 1), 1 + len(chips) * width))
    loads = lil_array((width, 1 + len(chips) * width))
    row = 0
    for at, source in enumerate(chips):
        rows = {}
        for node in graph:
            if node != source:
                rows[node], row = row, row + 1
                equal[rows[node], 0] = -float(node in ends)
        for number, (a, b, _) in enumerate(arcs):
            loads[number, 1 + at * width + number] = 1
            for node, sign in ((b, 1), (a, -1)):
                if node != source:
                    equal[rows[node], 1 + at * width + number] = sign
    unit = max((carries for _, _, carries in arcs), default=1)
    cost = np.zeros(1 + len(chips) * width)
    cost[0] = -1
    carried = [carries / unit for _, _, carries in arcs]
    limits = LinearConstraint(loads.tocsr(), -np.inf, carried), LinearConstraint(equal.tocsr(), 0, 0)
    solved = milp(cost, constraints=limits)
    return 0.0 if solved.x is None else float(solved.x[0]) * unit


def least_cuts(graph: Named, chips: Collection[str]) -> Ints | None:
    """Compute, for every k, the least cut between k of a domain's chips and its other chips and network nodes.

    Tries both sides for each hub and all splits of each piece that remains. Switches and NICs of a piece take the
    cheaper side. Returns None if a piece is too large.
    """
    kind = nx.get_node_attributes(graph, "kind")
    hubs = [node for node in graph if kind[node] == "switch" and graph.degree[node] > _HUB]
    above = [node for node in graph if kind[node] == "network_node"]
    pieces = list(nx.connected_components(graph.subgraph(set(graph).difference(hubs, above))))
    if any(sum(kind[node] == "chip" for node in piece) > _MOST for piece in pieces):
        return None
    best = np.full(len(chips) + 1, _FAR)
    for sides in product((False, True), repeat=len(hubs)):
        fixed = dict(zip(hubs, sides, strict=True)) | dict.fromkeys(above, False)
        total = np.zeros(1, dtype=np.int64)
        for piece in pieces:
            total = _sums(total, _piece(graph, piece, fixed))
        best = np.minimum(best, total)
    return best


def _piece(graph: Named, piece: Collection[str], fixed: dict[str, bool]) -> Ints:
    """Compute a piece's least cut for each number of its chips on one side."""
    kind = nx.get_node_attributes(graph, "kind")
    chips = sorted(node for node in piece if kind[node] == "chip")
    subsets = np.arange(2 ** len(chips))
    on = {chip: (subsets >> at & 1).astype(bool) for at, chip in enumerate(chips)}
    cost = np.zeros(len(subsets), dtype=np.int64)
    for chip in chips:
        for near in graph[chip]:
            if near in fixed or (near in on and chip < near):
                cost += graph.edges[chip, near]["capacity"] * (on[chip] ^ (fixed[near] if near in fixed else on[near]))
    for node in set(piece).difference(chips):
        cost += _cheaper(graph, node, on, is_port=kind[node] == "nic")
    best = np.full(len(chips) + 1, _FAR)
    np.minimum.at(best, np.bitwise_count(subsets), cost)
    return best


def _cheaper(graph: Named, node: str, on: "dict[str, NDArray[np.bool_]]", *, is_port: bool) -> Any:
    """Compute the cut at a switch on its cheaper side, or at a NIC: its chips' links, at most its uplinks."""
    carries = {near: graph.edges[node, near]["capacity"] for near in graph[node]}
    here = sum(carries[near] * on[near] for near in carries if near in on)
    there = sum(carries[near] for near in carries if near not in on)
    return np.minimum(here, there) if is_port else np.minimum(here, sum(carries.values()) - here)


def _sums(one: Ints, other: Ints) -> Ints:
    """Return the (min, +) convolution: for each total index, the least sum of an entry of each array."""
    found = np.full(len(one) + len(other) - 1, _FAR)
    for at, value in enumerate(other):
        found[at : at + len(one)] = np.minimum(found[at : at + len(one)], one + value)
    return found


def bisection(domains: Sequence[Ints], chips: int, lost: int = 0) -> int:
    """Compute the least cut of the chips of some domains in halves; lost chips may fill up either half."""
    total = np.zeros(1, dtype=np.int64)
    for each in domains:
        total = _sums(total, each)
    half = (chips + lost) // 2
    return int(total[max(half - lost, 0) : min(chips + lost - half, chips) + 1].min())


def solved(graph: Named, chips: Sequence[str], seconds: float) -> tuple[float, float]:
    """Compute bounds on the bisection of chips without switches, by a plain integer program."""
    index, edges = {chip: at for at, chip in enumerate(chips)}, _edges(graph.subgraph(chips))
    unit, width = max(carries for _, _, carries in edges), len(chips) + len(edges)
    rows = lil_array((2 * len(edges) + 1, width))
    for at, (a, b, _) in enumerate(edges):
        for turn, sign in ((0, 1), (1, -1)):
            rows[2 * at + turn, len(chips) + at] = 1
            rows[2 * at + turn, index[a]], rows[2 * at + turn, index[b]] = sign, -sign
    rows[2 * len(edges), : len(chips)] = 1
    half = len(chips) // 2
    least = np.r_[np.zeros(2 * len(edges)), half]
    most = np.r_[np.full(2 * len(edges), np.inf), half]
    cost = np.r_[np.zeros(len(chips)), [carries / unit for _, _, carries in edges]]
    kinds = np.r_[np.ones(len(chips)), np.zeros(len(edges))]
    found = milp(
        cost,
        integrality=kinds,
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows.tocsr(), least, most),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    return (found.mip_dual_bound or 0) * unit, (np.inf if found.fun is None else found.fun) * unit


def searched(graph: Named, chips: Sequence[str], sizes: Sequence[int], tries: int, seed: int) -> int:
    """Search for a cheap split whose first side, of one of these sizes, also pays for its NICs.

    Each NIC belongs to one chip.
    """
    kind, rng = nx.get_node_attributes(graph, "kind"), np.random.default_rng(seed)
    index = {chip: at for at, chip in enumerate(chips)}
    wires, exits = np.zeros((len(chips), len(chips)), dtype=np.int64), np.zeros(len(chips), dtype=np.int64)
    for a, b, carries in _edges(graph.subgraph(chips)):
        wires[index[a], index[b]] = wires[index[b], index[a]] = carries
    for nic in (node for node in graph if kind[node] == "nic"):
        up = sum(graph.edges[nic, near]["capacity"] for near in graph[nic] if kind[near] == "network_node")
        for user in set(graph[nic]) & index.keys():
            exits[index[user]] += min(graph.edges[nic, user]["capacity"], up)
    order, best = np.arange(len(chips)), _FAR
    for turn in range(tries):
        size = sizes[turn % len(sizes)]
        start = np.roll(order, -int(rng.integers(len(chips)))) if turn % 3 else rng.permutation(len(chips))
        best = min(best, _swapped(wires, exits, start[:size]))
    return best


def _edges(graph: Named) -> list[tuple[str, str, int]]:
    return [(a, b, int(of["capacity"])) for a, b, of in graph.edges(data=True)]


def _swapped(wires: Ints, exits: Ints, start: Ints) -> int:
    """Swap pairs of chips until no swap lowers the cut, and return it; the first side also pays for its exits."""
    side = np.zeros(len(exits), dtype=bool)
    side[start] = True
    while True:
        sign = np.where(side, 1, -1)
        gain = -(wires @ sign) * sign + exits * sign
        here, there = np.flatnonzero(side), np.flatnonzero(~side)
        change = gain[here][:, None] + gain[there][None, :] - 2 * wires[np.ix_(here, there)]
        at = int(np.argmax(change))
        if not change.size or change.flat[at] <= 0:
            return int(wires[np.ix_(here, there)].sum() + exits[side].sum())
        a, b = divmod(at, len(there))
        side[here[a]], side[there[b]] = False, True
