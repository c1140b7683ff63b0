"""Compute bisection bandwidth: the least capacity between floor(n/2) and ceil(n/2) of n endpoints.

Nodes that are not endpoints (switches) go to the cheaper side. Four methods are tried in this order; `Cut.method` names
the one used and why its bounds hold:

1. the closed form of an undamaged torus of even sides;
2. enumeration (`trninv.solvers.cut_enumeration`): exact for switched domains in any state and for up to sixteen chips;
   for more chips in several components, whole components or a knapsack over them (`trninv.solvers.parts`);
3. a tabu search from above; from below the layers of a torus (`trninv.solvers.torus_cuts`) or a packing of trees
   (`trninv.solvers.tree_packing`): exact if they meet;
4. an integer program (`trninv.solvers.integer_programs`), which stops with proven bounds at its node limit.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from math import ceil, prod
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from trninv import solvers
from trninv.solvers import cut_enumeration, torus_cuts
from trninv.solvers.graph import NO_TARGET, Cut, Graph, cut_capacity
from trninv.solvers.max_flow import minimum_cut
from trninv.topology.torus import node_number, torus_links

if TYPE_CHECKING:
    from trninv.solvers.tree_packing import CutProblem

MAX_NODES = 5_000
"""Default limit of search-tree nodes: work, not time, so that a busy machine gives the same answer, later."""
_MIN_RATIO_FOR_SHORT_SEARCH = 2 / 3
"""Least ratio of the bounds for which a search with few nodes is tried."""
MAX_CACHED = 1_000
_CACHE: dict[tuple[bytes, int, int], tuple[int, tuple[int, ...], str]] = {}
"""Exact value, one side in local node numbers and method, by problem and sizes of the side."""


def bisect(graph: Graph, endpoints: Collection[int], *, fillers: int = 0, max_nodes: int = MAX_NODES) -> Cut:
    """Return bounds on the bisection bandwidth of a graph, with one side of a split that attains the upper one.

    Minimum bisection is NP-hard (Garey, Johnson & Stockmeyer 1976); the module docstring lists the methods. O(E) for an
    undamaged torus, 2^h·(Σ 2^component + endpoints²) by enumeration with h hubs, else limited by ``max_nodes``.

    Parameters
    ----------
    graph
        A node's ``position`` (torus coordinates) is used if it has one.
    endpoints
        Nodes to halve.
    fillers
        Failed chips that count for the balance and have no links.
    max_nodes
        Limit of search-tree nodes of the integer program.

    Raises
    ------
    TimeLimitError
        The deadline came first.

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> cut = bisect(graph, [1, 2, 3, 4])
    >>> cut.lower, cut.upper, sorted(cut.side)
    (30, 30, [1, 2])

    """
    chips = sorted(endpoints)
    if len(chips) + fillers < 2:  # noqa: PLR2004 # one chip has no halves
        return Cut.from_side(graph, (), "fewer than two chips: nothing to split")
    if not fillers and (exact := torus_bisection(graph, chips)):
        return exact
    half = (len(chips) + fillers) // 2
    min_side, max_side = max(half - fillers, 0), min(half, len(chips))
    hubs = cut_enumeration.select_hubs(graph, chips)
    if hubs is not None:
        return cut_enumeration.bisect_by_enumeration(graph, chips, hubs, min_side, max_side)
    return heuristic_bisect(graph, chips, min_side, max_side, max_nodes=max_nodes)


def heuristic_bisect(
    graph: Graph,
    endpoints: Sequence[int],
    min_side: int,
    max_side: int,
    *,
    sink: int | None = None,
    max_nodes: int = MAX_NODES,
    target: int = NO_TARGET,
) -> Cut:
    """Return bounds on the least cut with ``min_side`` to ``max_side`` endpoints on one side, without enumeration.

    Tabu search (Glover 1989) above, layers of a torus or packed trees (Ferreira et al. 1996) below, and an integer
    program if they do not meet, limited by ``max_nodes``. Exact values are cached by the graph in local node numbers,
    so domains with the same failures share one.

    Parameters
    ----------
    sink
        A node that has to be on the other side.
    target
        A lower bound that is enough: the search stops there.

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> cut = heuristic_bisect(graph, [1, 2, 3, 4], 1, 1)
    >>> cut.lower, cut.upper, sorted(cut.side)
    (40, 40, [1])

    """
    parts = solvers.parts.connected_parts(graph, endpoints) if sink is None else []
    if len(parts) > 1 and (split := solvers.parts.whole_parts_cut(graph, parts, min_side, max_side)):
        return split
    isolated = [end for end in endpoints if not graph[end]]
    if 0 < len(isolated) < len(endpoints):  # they fill up either side and cost nothing
        connected = [end for end in endpoints if graph[end]]
        rest = Graph(graph.subgraph(set(graph).difference(isolated)))
        min_rest, max_rest = max(min_side - len(isolated), 0), min(max_side, len(connected))
        cut = heuristic_bisect(rest, connected, min_rest, max_rest, sink=sink, max_nodes=max_nodes, target=target)
        missing = max(min_side - len(cut.side.intersection(connected)), 0)
        return replace(cut, side=cut.side.union(isolated[:missing]))
    if len(parts) > 1:
        return solvers.parts.bisect_parts(graph, parts, min_side, max_side)
    problem = solvers.tree_packing.CutProblem.from_graph(graph, endpoints, sink)
    key = problem.key, min_side, max_side
    if cached := _CACHE.get(key):
        upper, side, method = cached
        return Cut(upper, upper, frozenset(problem.nodes[index] for index in side), method)
    cut = _bound_cut(graph, endpoints, problem, min_side, max_side, sink, max_nodes, target)
    if cut.lower == cut.upper:
        while len(_CACHE) >= MAX_CACHED:
            _CACHE.pop(next(iter(_CACHE)), None)
        side = tuple(index for index, node in enumerate(problem.nodes) if node in cut.side)
        _CACHE[key] = cut.upper, side, cut.method
    return cut


def _bound_cut(
    graph: Graph,
    endpoints: Sequence[int],
    problem: "CutProblem",
    min_side: int,
    max_side: int,
    sink: int | None,
    max_nodes: int,
    target: int,
) -> Cut:
    side = min(
        _candidate_sides(graph, endpoints, problem, range(min_side, max_side + 1)),
        key=lambda cut: cut_capacity(graph, cut),
    )
    inner_graph = Graph(graph.subgraph(endpoints))
    cube = torus_cuts.PartialHypercube.from_graph(inner_graph, endpoints) if np.all(problem.weight) else None
    lower = int(cube.lower_bounds()[min_side : max_side + 1].min()) if cube else 0
    lower = ceil(lower / problem.unit) * problem.unit
    goal = min(cut_capacity(graph, side), target)
    if lower < goal and (layer_bounds := solvers.torus_cuts.layer_profile(graph, endpoints, sink)) is not None:
        lower = max(lower, int(layer_bounds[min_side : max_side + 1].min()))
        if lower >= goal:
            return Cut.from_side(
                graph, side, "upper bound by swaps, lower bound by every subset of every layer of the torus", lower
            )
    packing = solvers.tree_packing.pack_trees(problem, problem.min_side(min_side, max_side), goal)
    method = "upper bound by swaps, lower bound by a packing of trees, checked in integers"
    cut = Cut.from_side(graph, side, method, max(packing.bound, lower))
    if cut.lower >= goal or (max_nodes < MAX_NODES and cut.lower < _MIN_RATIO_FOR_SHORT_SEARCH * goal):
        return cut
    return solvers.integer_programs.bisect_by_ilp(problem, (min_side, max_side), cut, packing.trees, max_nodes, target)


def _candidate_sides(
    graph: Graph, endpoints: Sequence[int], problem: "CutProblem", sizes: Sequence[int]
) -> Iterator[frozenset[int]]:
    """Yield cheap sides: prefixes of the sweep orders, improved by swaps; switches go to the cheaper side."""
    endpoint_orders = list(sweep_orders(graph, endpoints))
    for size in sizes:
        if np.all(problem.weight):
            starts = [problem.mask(order[:size]) for order in endpoint_orders]
            yield problem.members(solvers.tree_packing.tabu_search(problem, size, starts))
        else:
            for order in endpoint_orders:
                others = [node for node, weight in zip(problem.nodes, problem.weight, strict=True) if weight > 1]
                yield frozenset(minimum_cut(graph, order[:size], [*order[size:], *others])[1])


def sweep_orders(graph: Graph, endpoints: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield orders of the endpoints whose prefixes are cheap to cut off.

    A torus is swept along each axis from each layer; any other graph breadth-first from its first and last endpoint.
    O(V·log V) for each order.

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20), (3, 4, 30), (4, 1, 10)], weight="capacity")
    >>> list(sweep_orders(graph, [1, 2, 3, 4]))
    [[1, 2, 4, 3], [4, 1, 3, 2]]

    """
    positions = {end: graph.nodes[end].get("position") or () for end in endpoints}
    if all(positions.values()):
        sides = [max(axis) + 1 for axis in zip(*positions.values(), strict=True)]
        for axis, side in enumerate(sides):
            for shift in range(side if side > 2 else 1):  # noqa: PLR2004 # a ring of two has one cut
                yield sorted(endpoints, key=lambda end: ((positions[end][axis] + shift) % side, end))
        return
    remaining = set(endpoints)
    for root in (endpoints[0], endpoints[-1]):
        reached = [node for node in nx.bfs_tree(graph, root, sort_neighbors=sorted) if node in remaining]
        yield [*reached, *sorted(remaining.difference(reached))]


def torus_bisection(graph: Graph, endpoints: Sequence[int]) -> Cut | None:
    """Return the bisection of an undamaged torus of even sides in closed form; None if the graph is no such torus.

    It is the least over the axes of 2·capacity·n/side (capacity·n/2 for a side of two). Proof: dimension-order routing
    of one unit between each pair of nodes loads a link of axis i with n·side/8 units (n/2 for a side of two), any two
    halves exchange n²/4 units, and the cut across the axis attains the resulting bound. O(E).

    Examples
    --------
    A 2×2 torus with links of 30 along the first axis and of 20 along the second:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_nodes_from((node, {"position": divmod(node, 2)}) for node in range(4))
    >>> graph.add_weighted_edges_from([(0, 2, 30), (1, 3, 30), (0, 1, 20), (2, 3, 20)], weight="capacity")
    >>> cut = torus_bisection(graph, range(4))
    >>> cut.upper, sorted(cut.side)
    (40, [0, 2])

    """
    end_at: dict[tuple[int, ...], int] = {}
    for end in endpoints:
        if (position := graph.nodes[end].get("position")) is not None:
            end_at[position] = end
    axes = [sorted(set(values)) for values in zip(*end_at, strict=True)]
    sides = [len(axis) for axis in axes]
    if any(side % 2 and side > 1 for side in sides) or not len(graph) == len(end_at) == prod(sides):
        return None
    capacities = _axis_capacities(graph, end_at, axes, sides)
    if capacities is None:
        return None
    crossing = {axis: len(endpoints) // sides[axis] * (2 if sides[axis] > 2 else 1) for axis in capacities}  # noqa: PLR2004
    value = {axis: capacity * crossing[axis] for axis, capacity in capacities.items()}
    axis = min(value, key=lambda i: (value[i], i))
    half = set(axes[axis][: sides[axis] // 2])
    shape = "×".join(map(str, sides))
    method = f"closed form of an undamaged {shape} torus: the cut across axis {axis} meets the dimension-order bound"
    return Cut.from_side(
        graph, {end for position, end in end_at.items() if position[axis] in half}, method, value[axis]
    )


def _axis_capacities(
    graph: Graph, end_at: dict[tuple[int, ...], int], axes: Sequence[Sequence[int]], sides: Sequence[int]
) -> dict[int, int] | None:
    """Return the capacity of the links along each axis; None unless they are a torus's links, equal along each axis."""
    node = {node_number([a.index(x) for a, x in zip(axes, xs, strict=True)], sides): end for xs, end in end_at.items()}
    links = torus_links(sides)
    if len(links) != len(graph.edges) or not all(graph.has_edge(node[a], node[b]) for a, b, _ in links):
        return None
    capacities: dict[int, set[int]] = {}
    for a, b, axis in links:
        capacities.setdefault(axis, set()).add(graph.edges[node[a], node[b]]["capacity"])
    return (
        {axis: min(values) for axis, values in capacities.items()}
        if all(len(v) == 1 for v in capacities.values())
        else None
    )
