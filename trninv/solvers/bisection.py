"""Bisection bandwidth: the least capacity that any split of n endpoints into floor(n/2) and ceil(n/2) cuts.

Nodes that are not endpoints (switches) stand on whichever side is cheaper. Four ways, tried in this order; each says
in `Split.method` why its bounds hold:

1. the closed form of an undamaged torus of even sides;
2. enumeration (`trninv.solvers.enumeration`): exact for switched domains in any state and for up to sixteen chips;
   of more chips that are in several parts, whole parts or a knapsack over them (`trninv.solvers.parts`);
3. a search by swaps above, and below what the layers of a torus cut (`trninv.solvers.layers`) or a packing of trees
   (`trninv.solvers.packing`): exact where they meet;
4. an integer program (`trninv.solvers.integer_program`), which ends with proven bounds after so many nodes.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from math import ceil, prod
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from trninv import solvers
from trninv.solvers import enumeration, hypercube
from trninv.solvers.flow import minimum_cut
from trninv.solvers.graph import Graph
from trninv.solvers.split import EVERY, Split, capacity
from trninv.topology.torus import number, torus

if TYPE_CHECKING:
    from trninv.solvers.packing import Problem

MOST_NODES = 5_000
"""Nodes of a search tree by default: work and not time, so that a busy machine gives the same answer, later."""
_NEAR = 2 / 3
"""How near the bounds must be for a search with few nodes to be worth its while."""
MOST_KNOWN = 1_000
_KNOWN: dict[tuple[bytes, int, int], tuple[int, tuple[int, ...], str]] = {}
"""Exact values, one side in local numbers and the method, by problem and sizes."""


def bisect(graph: Graph, endpoints: Collection[int], *, fillers: int = 0, nodes: int = MOST_NODES) -> Split:
    """Bisection of a graph.

    Parameters
    ----------
    graph
        Edges with an integer ``capacity``; a node's ``position`` (torus coordinates) is used where there is one.
    endpoints
        Nodes that are halved.
    fillers
        Failed chips that count for the balance and have no links.
    nodes
        Of the search tree, for what is not found at once.

    Raises
    ------
    TimeLimitError
        The deadline came first.

    """
    ends = sorted(endpoints)
    if len(ends) + fillers < 2:  # noqa: PLR2004 # one chip has no halves
        return Split.of(graph, (), "fewer than two chips: nothing to split")
    if not fillers and (closed := closed_form(graph, ends)):
        return closed
    half = (len(ends) + fillers) // 2
    low, high = max(half - fillers, 0), min(half, len(ends))
    hubs = enumeration.hubs(graph, ends)
    if hubs is not None:
        return enumeration.bisect(graph, ends, hubs, low, high)
    return search(graph, ends, low, high, nodes=nodes)


def search(
    graph: Graph,
    ends: Sequence[int],
    low: int,
    high: int,
    *,
    apart: int | None = None,
    nodes: int = MOST_NODES,
    enough: int = EVERY,
) -> Split:
    """Least capacity that parts ``low`` to ``high`` endpoints from the others, and from ``apart``, without enumeration.

    That it is no less than ``enough`` may be all that is found out. Bounds from above and below, and an integer program
    if they don't meet. Exact values are remembered by the pattern of the damage: the graph in local numbers.
    """
    parts = solvers.parts.parts(graph, ends) if apart is None else []
    if len(parts) > 1 and (split := solvers.parts.whole(graph, parts, low, high)):
        return split
    alone = [end for end in ends if not graph[end]]
    if 0 < len(alone) < len(ends):  # they fill up either side and cost nothing
        joined = [end for end in ends if graph[end]]
        rest = Graph(graph.subgraph(set(graph).difference(alone)))
        least, most = max(low - len(alone), 0), min(high, len(joined))
        found = search(rest, joined, least, most, apart=apart, nodes=nodes, enough=enough)
        lacking = max(low - len(found.side.intersection(joined)), 0)
        return replace(found, side=found.side.union(alone[:lacking]))
    if len(parts) > 1:
        return solvers.parts.bisect(graph, parts, low, high)
    problem = solvers.packing.Problem.of(graph, ends, apart)
    key = problem.key, low, high
    if known := _KNOWN.get(key):
        upper, side, method = known
        return Split(upper, upper, frozenset(problem.nodes[at] for at in side), method)
    found = _search(graph, ends, problem, low, high, apart, nodes, enough)
    if found.lower == found.upper:
        while len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.pop(next(iter(_KNOWN)), None)
        side = tuple(at for at, node in enumerate(problem.nodes) if node in found.side)
        _KNOWN[key] = found.upper, side, found.method
    return found


def _search(
    graph: Graph,
    ends: Sequence[int],
    problem: "Problem",
    low: int,
    high: int,
    apart: int | None,
    nodes: int,
    enough: int,
) -> Split:
    side = min(_candidates(graph, ends, problem, range(low, high + 1)), key=lambda found: capacity(graph, found))
    inner = Graph(graph.subgraph(ends))
    cube = hypercube.Cube.of(inner, ends) if np.all(problem.weight) else None
    least = int(cube.least()[low : high + 1].min()) if cube else 0
    least = ceil(least / problem.unit) * problem.unit
    wanted = min(capacity(graph, side), enough)
    if least < wanted and (layered := solvers.layers.least(graph, ends, apart)) is not None:
        least = max(least, int(layered[low : high + 1].min()))
        if least >= wanted:
            return Split.of(graph, side, "search by swaps above, every subset of every layer of the torus below", least)
    packed = solvers.packing.pack(problem, problem.need(low, high), wanted)
    method = "search by swaps above, a packing of trees below, checked in integers"
    found = Split.of(graph, side, method, max(packed.bound, least))
    if found.lower >= wanted or (nodes < MOST_NODES and found.lower < _NEAR * wanted):
        return found
    return solvers.integer_program.bisect(problem, (low, high), found, packed.trees, nodes, enough)


def _candidates(
    graph: Graph, ends: Sequence[int], problem: "Problem", sizes: Sequence[int]
) -> Iterator[frozenset[int]]:
    """Good splits: across the axes of a torus or by distance, improved by swaps, other nodes where it is cheaper."""
    listed = list(orders(graph, ends))
    for size in sizes:
        if np.all(problem.weight):
            starts = [problem.mask(order[:size]) for order in listed]
            yield problem.members(solvers.packing.search(problem, size, starts))
        else:
            for order in listed:
                others = [node for node, weight in zip(problem.nodes, problem.weight, strict=True) if weight > 1]
                yield frozenset(minimum_cut(graph, order[:size], [*order[size:], *others])[1])


def orders(graph: Graph, ends: Sequence[int]) -> Iterator[Sequence[int]]:
    """Orders of the endpoints whose beginnings are cheap to cut off."""
    at = {end: graph.nodes[end].get("position") or () for end in ends}
    if all(at.values()):
        sides = [max(axis) + 1 for axis in zip(*at.values(), strict=True)]
        for axis, side in enumerate(sides):
            for shift in range(side if side > 2 else 1):  # noqa: PLR2004 # a ring of two has one cut
                yield sorted(ends, key=lambda end: ((at[end][axis] + shift) % side, end))
        return
    wanted = set(ends)
    for root in (ends[0], ends[-1]):
        reached = [node for node in nx.bfs_tree(graph, root, sort_neighbors=sorted) if node in wanted]
        yield [*reached, *sorted(wanted.difference(reached))]


def closed_form(graph: Graph, ends: Sequence[int]) -> Split | None:
    """Min over the axes of 2·capacity·n/side (capacity·n/2 for a side of two), if the graph is such a torus.

    Dimension-order routing of one unit between each pair of nodes loads a link of axis i with n·side/8 (n/2 for a
    side of two), any two halves exchange n²/4 units, and the cut across the axis attains the bound that follows.
    """
    at: dict[tuple[int, ...], int] = {}
    for end in ends:
        if (position := graph.nodes[end].get("position")) is not None:
            at[position] = end
    axes = [sorted(set(values)) for values in zip(*at, strict=True)]
    sides = [len(axis) for axis in axes]
    if any(side % 2 and side > 1 for side in sides) or not len(graph) == len(at) == prod(sides):
        return None
    capacities = _axis_capacities(graph, at, axes, sides)
    if capacities is None:
        return None
    crossing = {axis: len(ends) // sides[axis] * (2 if sides[axis] > 2 else 1) for axis in capacities}  # noqa: PLR2004
    value = {axis: capacity * crossing[axis] for axis, capacity in capacities.items()}
    axis = min(value, key=lambda i: (value[i], i))
    half = set(axes[axis][: sides[axis] // 2])
    shape = "×".join(map(str, sides))
    method = f"closed form of an undamaged {shape} torus: the cut across axis {axis} meets the dimension-order bound"
    return Split.of(graph, {end for position, end in at.items() if position[axis] in half}, method, value[axis])


def _axis_capacities(
    graph: Graph, at: dict[tuple[int, ...], int], axes: Sequence[Sequence[int]], sides: Sequence[int]
) -> dict[int, int] | None:
    """Capacity of the links along each axis, if the graph has just a torus's links, alike along each axis."""
    node = {number([a.index(x) for a, x in zip(axes, xs, strict=True)], sides): end for xs, end in at.items()}
    links = torus(sides)
    if len(links) != len(graph.edges) or not all(graph.has_edge(node[a], node[b]) for a, b, _ in links):
        return None
    found: dict[int, set[int]] = {}
    for a, b, axis in links:
        found.setdefault(axis, set()).add(graph.edges[node[a], node[b]]["capacity"])
    return {axis: min(values) for axis, values in found.items()} if all(len(v) == 1 for v in found.values()) else None
