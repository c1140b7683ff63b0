"""Compute bisection bandwidth: the least capacity between floor(n/2) and ceil(n/2) of n endpoints.

This module bisects one domain, whose endpoints are its chips; `trninv.solvers.quotient` bisects clusters of domains.
Nodes that are not endpoints (switches) go to the cheaper side. Four methods are tried in this order; `Cut.method` names
the method that was used and says why its bounds hold:

1. the closed form of an undamaged torus with even sides;
2. enumeration (`trninv.solvers.cut_enumeration`), which is exact for switched domains, whatever has failed, and for up
   to sixteen chips; for more chips in several connected components, a choice of whole components or a knapsack over
   the cuts of components (`trninv.solvers.parts`);
3. an upper bound by tabu search, and a lower bound by the layers of a torus (`trninv.solvers.torus_cuts`) or a packing
   of trees (`trninv.solvers.tree_packing`); the cut is exact if the bounds meet;
4. an integer program (`trninv.solvers.integer_programs`), which stops with proven bounds at its limit of search-tree
   nodes.
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
"""Default limit of search-tree nodes. It limits work instead of time, so a busy machine gives the same answer later."""
_MIN_RATIO_FOR_SHORT_SEARCH = 2 / 3
"""Ratio of lower to upper bound below which an integer program with fewer nodes than `MAX_NODES` is not tried."""
_METHOD_BY_CUBE = "upper bound by swaps, lower bound by the rest of the torus, chip by chip and as a whole"
_METHOD_BY_LAYERS = "upper bound by swaps, lower bound by every subset of every layer of the torus"
_METHOD_BY_TREES = "upper bound by swaps, lower bound by a packing of trees, checked in integers"
MAX_CACHED = 1_000
"""Limit of entries in `_CACHE`."""
_CACHE: dict[tuple[bytes, int, int], tuple[int, tuple[int, ...], str]] = {}
"""Exact cuts (capacity, node numbers of one side, method) by `CutProblem.key` and the limits of the side's size."""


def bisect(graph: Graph, endpoints: Collection[int], *, fillers: int = 0, max_nodes: int = MAX_NODES) -> Cut:
    """Return bounds on the bisection bandwidth of a graph, with one side of a split that attains the upper bound.

    Minimum bisection is NP-hard (Garey, Johnson & Stockmeyer 1976); the module docstring lists the methods. O(E) for an
    undamaged torus, 2^h·(Σ 2^component + endpoints²) by enumeration with h hubs, else limited by ``max_nodes``.

    Parameters
    ----------
    graph
        Nodes may have a ``position``, their coordinates in a torus, which makes faster methods possible.
    endpoints
        Nodes to halve.
    fillers
        Number of failed chips that are not in the graph but count as members of a half.
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

    A tabu search (Glover 1989) gives the upper bound, and layers of a torus or packed trees (Ferreira et al. 1996) the
    lower bound. If these do not meet, an integer program follows, limited by ``max_nodes``. Exact cuts are cached by
    the graph in local node numbers, so domains with the same failures share a cache entry.

    Parameters
    ----------
    sink
        A node that must be on the other side.
    target
        The search stops once the cut is proven to have at least this capacity.

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
    if 0 < len(isolated) < len(endpoints):  # isolated endpoints can go to either side at no cost
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
    """Return bounds on a cut from one method after another, in the order of the module docstring, until they meet."""
    sizes = range(min_side, max_side + 1)
    # nodes of weight 0 are switches and NICs' ports, which a hypercube does not have
    cube = torus_cuts.PartialHypercube.from_graph(graph, endpoints) if np.all(problem.weight) else None
    lower_bounds = cube.lower_bounds()[sizes] if cube else np.zeros(len(sizes), dtype=np.int64)
    method = _METHOD_BY_CUBE if cube else ""
    if (layer_bounds := torus_cuts.layer_profile(graph, endpoints, sink)) is not None:
        if layer_bounds[sizes].min() > lower_bounds.min():
            method = _METHOD_BY_LAYERS
        lower_bounds = np.maximum(lower_bounds, layer_bounds[sizes])
    lower = ceil(int(lower_bounds.min()) / problem.unit) * problem.unit
    orders = list(sweep_orders(graph, endpoints))
    side, upper = frozenset[int](), NO_TARGET
    for index in np.argsort(lower_bounds, kind="stable"):
        if lower_bounds[index] >= upper:
            break
        for candidate in _cheap_sides(graph, orders, problem, sizes[index], lower):
            if (capacity := cut_capacity(graph, candidate)) < upper:
                side, upper = candidate, capacity
    goal = min(upper, target)
    if method and lower >= goal:
        return Cut.from_side(graph, side, method, lower)
    packing = solvers.tree_packing.pack_trees(problem, problem.min_side(min_side, max_side), goal)
    cut = Cut.from_side(graph, side, _METHOD_BY_TREES, max(packing.bound, lower))
    if cut.lower >= goal or (max_nodes < MAX_NODES and cut.lower < _MIN_RATIO_FOR_SHORT_SEARCH * goal):
        return cut
    return solvers.integer_programs.bisect_by_ilp(problem, (min_side, max_side), cut, packing.trees, max_nodes, target)


def _cheap_sides(
    graph: Graph, orders: Sequence[Sequence[int]], problem: "CutProblem", size: int, floor: int
) -> Iterator[frozenset[int]]:
    """Yield cheap sides with ``size`` endpoints.

    Each is a prefix of one of ``orders``. In a graph without switches, swaps improve it; otherwise each switch goes to
    the cheaper side. ``floor`` is a proven lower bound of the capacity.
    """
    if np.all(problem.weight):  # only switches and NICs' ports have weight 0
        starts = [problem.mask(order[:size]) for order in orders]
        yield problem.members(solvers.tree_packing.tabu_search(problem, starts, floor))
        return
    sinks = [node for node, weight in zip(problem.nodes, problem.weight, strict=True) if weight > 1]
    for order in orders:
        yield frozenset(minimum_cut(graph, order[:size], [*order[size:], *sinks])[1])


def sweep_orders(graph: Graph, endpoints: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield orders of the endpoints whose prefixes are cheap to cut off.

    In a torus, an order follows the layers along one axis, starting with any of them. In any other graph, an order is a
    breadth-first search from the first or the last endpoint. O(V·log V) for each order.

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
    """Return the bisection of an undamaged torus with even sides in closed form; None if the graph is no such torus.

    The bisection is the least of 2·capacity·n/side (capacity·n/2 for a side of two) over all axes. Proof:
    dimension-order routing of one unit between each pair of nodes loads a link of axis i with n·side/8 units (n/2 for a
    side of two), any two halves exchange n²/4 units, and the cut across the axis attains the resulting bound. O(E).

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
    """Return the capacity of the links along each axis; None if they are not those of a torus, or differ on an axis."""
    node = dict[int, int]()
    for position, end in end_at.items():
        indices = [axis.index(coordinate) for axis, coordinate in zip(axes, position, strict=True)]
        node[node_number(indices, sides)] = end
    links = torus_links(sides)
    if len(links) != len(graph.edges) or not all(graph.has_edge(node[u], node[v]) for u, v, _ in links):
        return None
    capacities: dict[int, set[int]] = {}
    for u, v, axis in links:
        capacities.setdefault(axis, set()).add(graph.edges[node[u], node[v]]["capacity"])
    if any(len(values) > 1 for values in capacities.values()):
        return None
    return {axis: min(values) for axis, values in capacities.items()}
