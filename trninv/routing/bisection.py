"""Bisection bandwidth: the least capacity that any split of n endpoints into floor(n/2) and ceil(n/2) cuts.

Nodes that are not endpoints (switches) stand on whichever side is cheaper. Three ways, tried in this order; each says
in `Split.method` why its bounds hold:

1. the closed form of an undamaged torus of even sides;
2. enumeration (`trninv.routing.enumeration`): exact for switched domains in any state and for up to sixteen chips;
3. an integer program (`trninv.routing.program`), which ends with proven bounds if its time does.
"""

from collections.abc import Collection, Sequence
from math import prod

from trninv.routing import enumeration
from trninv.routing.graph import Graph
from trninv.routing.split import Split
from trninv.topology.torus import number, torus


def bisect(graph: Graph, endpoints: Collection[int], *, fillers: int = 0, seconds: float = 10.0) -> Split:
    """Bisection of a graph.

    Parameters
    ----------
    graph
        Edges with an integer ``capacity``; a node's ``position`` (torus coordinates) is used where there is one.
    endpoints
        Nodes that are halved.
    fillers
        Failed chips that count for the balance and have no links.
    seconds
        Time for the integer program.

    """
    ends = sorted(endpoints)
    if len(ends) + fillers < 2:  # noqa: PLR2004 # one chip has no halves
        return Split.of(graph, (), "fewer than two chips: nothing to split")
    if not fillers and (closed := closed_form(graph, ends)):
        return closed
    hubs = enumeration.hubs(graph, ends)
    if hubs is not None:
        return enumeration.bisect(graph, ends, hubs, fillers)
    from trninv.routing import program  # noqa: PLC0415 # the solver is slow to import and seldom needed

    return program.bisect(graph, ends, fillers, seconds)


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
