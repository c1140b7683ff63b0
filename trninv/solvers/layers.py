"""What chips of a damaged torus must cut, layer by layer: all layers' subsets, and how many chips each has.

Across an axis a torus is a ring (or a pair) of layers, with links between layers that are neighbours, at most one a
chip. Let k_i chips of layer i be on one side. Inside it they cut at least g_i(k_i), by enumeration of its subsets. Of
the m links between layers i and j, those of at most a_i = min(k_i, m) and at least b_i = k_i - (chips of i that have
none) begin on that side, so max(b_i - a_j, b_j - a_i, 0) of them are cut, the narrowest at best. The least sum over all
k_i of a total is a shortest walk around the ring: it bounds the cut of any so many chips from below.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trninv.solvers import enumeration
from trninv.solvers.graph import Graph, weighted_edges

Ints = NDArray[np.int64]
_INFINITE_CUT = np.int64(2**60)


def layer_profile(graph: Graph, endpoints: Sequence[int], sink: int | None = None) -> Ints | None:
    """For 0 … n endpoints a capacity that any so many cut at least, from the others and from ``apart``.

    None where no axis of the endpoints' ``position`` parts them into such layers, each small enough to enumerate.
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
    """The same by one division into layers."""
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
    """The least that is cut between two layers, by how many chips of each are on one side: (size+1) × (other+1)."""
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
    """The least sum around the ring, by the total of the layers' numbers."""
    total = sum(len(cuts) - 1 for cuts in inner_cuts)
    best = np.full(total + 1, _INFINITE_CUT)
    for first in range(len(inner_cuts[0])):
        # by how many chips of the last layer, and of all so far, are on the side
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
