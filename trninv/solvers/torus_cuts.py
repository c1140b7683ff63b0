"""Bound the cuts of whole and partial tori, in closed form as hypercubes or layer by layer.

A ring of four is a square, so each axis of side four gives two dimensions of its links' capacity and a 4×4×4 torus is
the 6-cube. Sort the dimensions by capacity, w₁ ≥ … ≥ wₘ, the heaviest as the lowest bit, and let e(k) be the capacity
between the first k nodes: e(0) = 0, e(k+1) = e(k) + Σ wᵢ over the set bits i of k. No k nodes have more between them:

    The lightest dimension m divides a set into a ≥ b nodes of two subcubes. By induction at most e(a) + e(b) + wₘ·b is
    between them, and that is at most e(a+b): a finite check, made for each set of capacities in use (`_is_proven`).

So k nodes cut at least k·Σw - 2·e(k), which the first k attain. (For equal capacities: Harper, SIAM Journal 12, 1964;
Hart, Discrete Mathematics 14, 1976.)

Across an axis a torus is a ring (or a pair) of layers, with links between neighbouring layers, at most one at each
chip. Let k_i chips of layer i be on one side. Inside the layer they cut at least g_i(k_i), by enumeration of its
subsets. Of the m links between layers i and j, at most a_i = min(k_i, m) and at least b_i = k_i - (chips of i without
such a link) start at a chip of layer i on that side, so at least max(b_i - a_j, b_j - a_i, 0) of them are cut, at best
the narrowest. The least sum over all k_i of a total is a shortest walk around the ring (a dynamic program): it bounds
the cut of every set with that many chips.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import gcd

import numpy as np
from numpy.typing import NDArray

from trninv.solvers import cut_enumeration
from trninv.solvers.graph import Graph, weighted_edges
from trninv.topology.torus import node_number, torus_links

Ints = NDArray[np.int64]
_GRAY_CODE: dict[int, tuple[tuple[int, ...], ...]] = {1: ((),), 2: ((0,), (1,)), 4: ((0, 0), (0, 1), (1, 1), (1, 0))}
"""Bits of a position on a ring of one, two or four nodes: neighbours differ in one bit (a Gray code)."""
_MAX_FAILED = 8
"""Limit of failed chips of which all subsets are tried."""


@dataclass(frozen=True, slots=True)
class PartialHypercube:
    """A torus of sides two and four, some of whose chips and links may have failed.

    Attributes
    ----------
    weights
        Capacity of each dimension before any failure, the heaviest first.
    label
        Number in the cube of each healthy chip.
    degree
        Capacity of each healthy chip to the others.
    lost_capacity
        Capacity that the links between healthy chips have lost.

    """

    weights: tuple[int, ...]
    label: Mapping[int, int]
    degree: Mapping[int, int]
    lost_capacity: int

    @classmethod
    def from_graph(cls, graph: Graph, chips: Collection[int]) -> "PartialHypercube | None":
        """Build it from the links between chips; None if these are not part of such a torus.

        Parameters
        ----------
        graph
            A chip's ``position`` holds its coordinates, ``sides`` those of its torus. Each axis is assumed to have had
            the highest capacity that remains on it.

        """
        sides = {tuple(graph.nodes[chip].get("sides") or ()) for chip in chips}
        positions = {chip: tuple(graph.nodes[chip].get("position") or ()) for chip in chips}
        shape = next(iter(sides), ())
        if len(sides) != 1 or not shape or not set(shape) <= set(_GRAY_CODE) or not all(positions.values()):
            return None
        links = {(link.a, link.b): link.axis for link in torus_links(shape)}
        number_of = {chip: node_number(position, shape) for chip, position in positions.items()}
        axis_capacity = dict.fromkeys(range(len(shape)), 0)
        for a, b, capacity in weighted_edges(graph.subgraph(chips)):
            axis = links.get((min(number_of[a], number_of[b]), max(number_of[a], number_of[b])))
            if axis is None:
                return None
            axis_capacity[axis] = max(axis_capacity[axis], capacity)
        bits = [
            (axis_capacity[axis], axis, bit)
            for axis, side in enumerate(shape)
            for bit in range(len(_GRAY_CODE[side][0]))
        ]
        order = sorted(bits, key=lambda bit_key: (-bit_key[0], bit_key[1:]))
        weights = tuple(capacity for capacity, _, _ in order)
        if not _is_proven(weights):
            return None
        label = {
            chip: sum(_GRAY_CODE[shape[axis]][position[axis]][bit] << i for i, (_, axis, bit) in enumerate(order))
            for chip, position in positions.items()
        }
        degree = {
            chip: sum(edge["capacity"] for neighbor, edge in graph[chip].items() if neighbor in label)
            for chip in positions
        }
        whole = cls(weights, label, degree, 0)
        return replace(
            whole, lost_capacity=(whole._capacity_between(label.values(), label.values()) - sum(degree.values())) // 2
        )

    @property
    def method(self) -> str:
        """Why `lower_bounds` holds."""
        cube = f"the {len(self.weights)}-cube that the torus is"
        return f"closed form of {cube}: no set of its chips has more links inside than an initial segment, checked"

    @property
    def is_whole(self) -> bool:
        """Whether nothing has failed."""
        return not self.lost_capacity and len(self.label) == 1 << len(self.weights)

    def lower_bounds(self) -> Ints:
        """Return, for each number of healthy chips, a lower bound on their cut; exact if nothing has failed."""
        count, failed_labels = len(self.label), self._failed_labels()
        cuts, inner_capacity = hypercube_profile(self.weights), induced_capacity(self.weights)
        undamaged = cuts[: count + 1] if not failed_labels else self._bounds_around_failures(cuts, failed_labels)
        degrees = np.sort(list(self.degree.values()))
        by_degree = np.r_[0, np.cumsum(degrees)] - 2 * inner_capacity[: count + 1]
        # k chips and the other n - k have the same cut, so either bound holds for both
        bounds = np.maximum(undamaged - self.lost_capacity, np.maximum(by_degree, by_degree[::-1]))
        unit = gcd(*self.weights, *map(int, degrees)) or 1
        rounded: Ints = np.maximum(-(-bounds // unit) * unit, 0)
        return rounded

    def _failed_labels(self) -> list[int]:
        return sorted(set(range(1 << len(self.weights))).difference(self.label.values()))

    def _bounds_around_failures(self, cuts: Ints, failed_labels: Sequence[int]) -> Ints:
        """Bound the cuts of the healthy chips with the links that they had in the undamaged torus.

        Let F be the failed chips and T a subset. S ∪ T cuts at most the cut of S plus the links from S to F∖T, from the
        other healthy chips to T, and between T and F∖T; the same holds for S ∪ (F∖T) with T and F∖T exchanged. The sum
        of both is twice the cut of S plus all links between F and the healthy chips plus twice those between T and F∖T.
        """
        count, boundary = len(self.label), self._capacity_between(failed_labels, self.label.values())
        best = np.zeros(count + 1, dtype=np.int64)
        sizes = range(len(failed_labels) // 2 + 1) if len(failed_labels) <= _MAX_FAILED else range(1)
        for size in sizes:
            separation = min(
                self._capacity_between(subset, set(failed_labels).difference(subset))
                for subset in combinations(failed_labels, size)
            )
            cut_sums = (
                cuts[size : size + count + 1] + cuts[len(failed_labels) - size : len(failed_labels) - size + count + 1]
            )
            best = np.maximum(best, -((boundary + 2 * separation - cut_sums) // 2))
        return best

    def _capacity_between(self, labels: Collection[int], others: Collection[int]) -> int:
        """Return the capacity of the undamaged links between two sets of cube numbers."""
        other_labels = set(others)
        return sum(w for label in labels for i, w in enumerate(self.weights) if label ^ (1 << i) in other_labels)

    def orders(self) -> list[list[int]]:
        """Return orders of the healthy chips whose prefixes are cheap to cut off: cube numbers from each corner."""
        corners = range(1 << len(self.weights))
        return [sorted(self.label, key=lambda chip: self.label[chip] ^ corner) for corner in corners]


@lru_cache(maxsize=64)
def induced_capacity(weights: tuple[int, ...]) -> Ints:
    """Return e(k), the capacity between the first k nodes of a cube, for k = 0 … 2^dimensions (Harper 1964).

    O(dimensions · 2^dimensions).

    Examples
    --------
    A square with links of 3 along one dimension and 1 along the other: nodes 0 and 1 share a 3.

    >>> induced_capacity((3, 1)).tolist()
    [0, 0, 3, 4, 8]

    """
    capacity_gains = [sum(w for i, w in enumerate(weights) if node >> i & 1) for node in range(1 << len(weights))]
    totals: Ints = np.r_[0, np.cumsum(capacity_gains)].astype(np.int64)
    return totals


def hypercube_profile(weights: tuple[int, ...]) -> Ints:
    """Return the least cut of k nodes of an undamaged cube, k·Σw - 2·e(k), for k = 0 … 2^dimensions (Harper 1964).

    O(dimensions · 2^dimensions).

    Examples
    --------
    >>> hypercube_profile((3, 1)).tolist()
    [0, 4, 2, 4, 0]

    """
    inner_capacity = induced_capacity(weights)
    cuts: Ints = np.arange(len(inner_capacity)) * sum(weights) - 2 * inner_capacity
    return cuts


@lru_cache(maxsize=64)
def _is_proven(weights: tuple[int, ...]) -> bool:
    """Whether e(a+b) ≥ e(a) + e(b) + wₘ·b for all a ≥ b of a subcube, for each dimension m."""
    inner_capacity = induced_capacity(weights)
    for m, w in enumerate(weights):
        a, b = np.tril_indices((1 << m) + 1)
        if (inner_capacity[a + b] < inner_capacity[a] + inner_capacity[b] + w * b).any():
            return False
    return True


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
    if len(layers) < 2 or max(map(len, layers)) > cut_enumeration.MAX_COMPONENT:  # noqa: PLR2004 # one is no ring
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
    return np.array(cut_enumeration.enumerate_profile(Graph(graph.subgraph(nodes)), list(layer), hubs, sink))


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
