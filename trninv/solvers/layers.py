"""Bound the cuts of a damaged torus from below, layer by layer.

Across an axis a torus is a ring (or a pair) of layers, with links between neighbouring layers, at most one at each
chip. Let k_i chips of layer i be on one side. Inside the layer they cut at least g_i(k_i), by enumeration of its
subsets. Of the m links between layers i and j, at most a_i = min(k_i, m) and at least b_i = k_i - (chips of i without
such a link) start at a chip of layer i on that side, so at least max(b_i - a_j, b_j - a_i, 0) of them are cut, at best
the narrowest. The least sum over all k_i of a total is a shortest walk around the ring (a dynamic program): it bounds
the cut of every set with that many chips.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trninv.solvers import enumeration
from trninv.solvers.graph import Graph, weighted_edges

Ints = NDArray[np.int64]
_INFINITE_CUT = np.int64(2**60)


def layer_profile(graph: Graph, endpoints: Sequence[int], sink: int | None = None) -> Ints | None:
    """Return, for 0 … n endpoints, a lower bound on their cut with ``sink`` on the other side.

    None if no axis of the endpoints' ``position`` divides them into such layers that are small enough to enumerate. A
    dynamic program around the ring of layers, O(Σ 2^layer + n·layer³·layers) for each axis.

    Examples
    --------
    A 2×2 torus with links of 30 along the first axis and of 20 along the second:

    >>> graph = Graph()
    >>> graph.add_nodes_from((node, {"position": divmod(node, 2)}) for node in range(4))
    >>> graph.add_weighted_edges_from([(0, 2, 30), (1, 3, 30), (0, 1, 20), (2, 3, 20)], weight="capacity")
    >>> [int(bound) for bound in layer_profile(graph, [0, 1, 2, 3])]
    [0, 50, 40, 50, 0]

    """
    positions = {end: tuple(graph.nodes[end].get("position") or ()) for end in endpoints}
    if (
        not all(positions.values())
        or set(graph).difference(endpoints, [sink])
        or len({len(coordinates) for coordinates in positions.values()}) > 1
    ):
        return None
    bounds = None
    for axis in range(len(positions[endpoints[0]])):
        coordinate = {end: position[axis] for end, position in positions.items()}
        bound = _bounds_along_axis(graph, coordinate, sink)
        bounds = bound if bounds is None or bound is None else np.maximum(bounds, bound)
    return bounds


def _bounds_along_axis(graph: Graph, coordinate: Mapping[int, int], sink: int | None) -> Ints | None:
    """Return the bounds from the layers along one axis; None if they do not fit."""
    names = sorted(set(coordinate.values()))
    layers = [[end for end in coordinate if coordinate[end] == name] for name in names]
    if len(layers) < 2 or max(map(len, layers)) > enumeration.MAX_COMPONENT:  # noqa: PLR2004 # one is no ring
        return None
    links_between = dict[tuple[int, int], list[tuple[int, int, int]]]()
    for a, b, capacity in weighted_edges(graph.subgraph(coordinate)):
        i, j = sorted((names.index(coordinate[a]), names.index(coordinate[b])))
        if i != j:
            links_between.setdefault((i, j), []).append((a, b, capacity))
    count = len(layers)
    if not set(links_between) <= {(i, (i + 1)) for i in range(count - 1)} | {(0, count - 1)}:
        return None
    if any(len({end for a, b, _ in links for end in (a, b)}) < 2 * len(links) for links in links_between.values()):
        return None
    inner_cuts = [_inner_cuts(graph, layer, sink) for layer in layers]
    steps = [
        _cuts_between_layers(links_between.get((i, i + 1), []), len(layers[i]), len(layers[i + 1]))
        for i in range(count - 1)
    ]
    closing_links = links_between.get((0, count - 1), []) if count > 2 else []  # noqa: PLR2004 # two layers have one gap
    closing_cuts = _cuts_between_layers(closing_links, len(layers[0]), len(layers[-1]))
    return _ring_convolution(inner_cuts, steps, closing_cuts)


def _inner_cuts(graph: Graph, layer: Collection[int], sink: int | None) -> Ints:
    nodes = [*layer, *([] if sink is None else [sink])]
    hubs = [] if sink is None else [sink]
    return np.array(enumeration.enumerate_profile(Graph(graph.subgraph(nodes)), list(layer), hubs, sink))


def _cuts_between_layers(links: Sequence[tuple[int, int, int]], layer_size: int, other_size: int) -> Ints:
    """Return the least cut between two layers by their chips on one side: (layer_size + 1) × (other_size + 1)."""
    cumulative = np.r_[0, np.cumsum(sorted(capacity for _, _, capacity in links))]
    in_layer, in_other = np.arange(layer_size + 1)[:, None], np.arange(other_size + 1)[None, :]
    link_count = len(links)
    cut_count = np.maximum(
        in_layer - (layer_size - link_count) - np.minimum(in_other, link_count),
        in_other - (other_size - link_count) - np.minimum(in_layer, link_count),
    )
    cuts: Ints = cumulative[np.maximum(cut_count, 0)]
    return cuts


def _ring_convolution(inner_cuts: Sequence[Ints], steps: Sequence[Ints], closing_cuts: Ints) -> Ints:
    """Return the least sum around the ring by the total number of chips."""
    total = sum(len(cuts) - 1 for cuts in inner_cuts)
    best = np.full(total + 1, _INFINITE_CUT)
    for first in range(len(inner_cuts[0])):
        # rows: chips of the last layer on the side; columns: chips of all layers so far
        cost = np.full((len(inner_cuts[0]), total + 1), _INFINITE_CUT)
        cost[first, first] = inner_cuts[0][first]
        for step, layer in zip(steps, inner_cuts[1:], strict=True):
            next_cost = np.full((len(layer), total + 1), _INFINITE_CUT)
            for chips, own_cut in enumerate(layer):
                reached = (cost + step[:, [chips]]).min(axis=0) + own_cut
                next_cost[chips, chips:] = reached[: total + 1 - chips]
            cost = next_cost
        best = np.minimum(best, (cost + closing_cuts[first][:, None]).min(axis=0))
    return best
