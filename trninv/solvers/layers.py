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
from trninv.solvers.graph import Graph, capacities

Ints = NDArray[np.int64]
_FAR = np.int64(2**60)


def least(graph: Graph, ends: Sequence[int], apart: int | None = None) -> Ints | None:
    """For 0 … n endpoints a capacity that any so many cut at least, from the others and from ``apart``.

    None where no axis of the endpoints' ``position`` parts them into such layers, each small enough to enumerate.
    """
    at = {end: tuple(graph.nodes[end].get("position") or ()) for end in ends}
    if not all(at.values()) or set(graph).difference(ends, [apart]) or len({len(each) for each in at.values()}) > 1:
        return None
    found = None
    for axis in range(len(at[ends[0]])):
        of = {end: position[axis] for end, position in at.items()}
        bound = _along(graph, of, apart)
        found = bound if found is None or bound is None else np.maximum(found, bound)
    return found


def _along(graph: Graph, of: Mapping[int, int], apart: int | None) -> Ints | None:
    """The same by one division into layers."""
    names = sorted(set(of.values()))
    layers = [[end for end in of if of[end] == name] for name in names]
    if len(layers) < 2 or max(map(len, layers)) > enumeration.MAX_COMPONENT:  # noqa: PLR2004 # one is no ring
        return None
    between = dict[tuple[int, int], list[tuple[int, int, int]]]()
    for a, b, carries in capacities(graph.subgraph(of)):
        i, j = sorted((names.index(of[a]), names.index(of[b])))
        if i != j:
            between.setdefault((i, j), []).append((a, b, carries))
    count = len(layers)
    if not set(between) <= {(i, (i + 1)) for i in range(count - 1)} | {(0, count - 1)}:
        return None
    if any(len({end for a, b, _ in links for end in (a, b)}) < 2 * len(links) for links in between.values()):
        return None
    inside = [_inside(graph, layer, apart) for layer in layers]
    steps = [_across(between.get((i, i + 1), []), len(layers[i]), len(layers[i + 1])) for i in range(count - 1)]
    closing = _across(between.get((0, count - 1), []) if count > 2 else [], len(layers[0]), len(layers[-1]))  # noqa: PLR2004
    return _walked(inside, steps, closing)


def _inside(graph: Graph, layer: Collection[int], apart: int | None) -> Ints:
    nodes = [*layer, *([] if apart is None else [apart])]
    hubs = [] if apart is None else [apart]
    return np.array(enumeration.profile(Graph(graph.subgraph(nodes)), list(layer), hubs, apart))


def _across(links: Sequence[tuple[int, int, int]], size: int, other: int) -> Ints:
    """The least that is cut between two layers, by how many chips of each are on one side: (size+1) × (other+1)."""
    carried = np.r_[0, np.cumsum(sorted(carries for _, _, carries in links))]
    here, there = np.arange(size + 1)[:, None], np.arange(other + 1)[None, :]
    many = len(links)
    apart = np.maximum(here - (size - many) - np.minimum(there, many), there - (other - many) - np.minimum(here, many))
    found: Ints = carried[np.maximum(apart, 0)]
    return found


def _walked(inside: Sequence[Ints], steps: Sequence[Ints], closing: Ints) -> Ints:
    """The least sum around the ring, by the total of the layers' numbers."""
    total = sum(len(each) - 1 for each in inside)
    best = np.full(total + 1, _FAR)
    for first in range(len(inside[0])):
        # by how many chips of the last layer, and of all so far, are on the side
        cost = np.full((len(inside[0]), total + 1), _FAR)
        cost[first, first] = inside[0][first]
        for step, layer in zip(steps, inside[1:], strict=True):
            further = np.full((len(layer), total + 1), _FAR)
            for chips, own in enumerate(layer):
                reached = (cost + step[:, [chips]]).min(axis=0) + own
                further[chips, chips:] = reached[: total + 1 - chips]
            cost = further
        best = np.minimum(best, (cost + closing[first][:, None]).min(axis=0))
    return best
