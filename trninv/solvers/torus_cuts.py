"""Bound the cuts of whole and damaged tori from below, in closed form as hypercubes or layer by layer.

`trninv.solvers.bisection` and `trninv.solvers.islands` call this module for one domain, whose chips and links may have
failed.

Hypercubes (`PartialHypercube`): a ring of four is a square, so an axis of side four gives two dimensions, whose links
have the capacity of the axis' links. A 4×4×4 torus is the 6-cube. Number the nodes of the cube so that bit i is the
coordinate along dimension i, with the dimensions sorted by capacity, w₁ ≥ … ≥ wₘ, the first as the lowest bit. Let e(k)
be the capacity between the first k nodes: e(0) = 0 and e(k+1) = e(k) + Σ wᵢ over the set bits i of k. No set of k nodes
has more capacity between its nodes:

    Dimension m, with the least capacity, divides a set into a ≥ b nodes in two subcubes. By induction, the capacity
    between all of them is at most e(a) + e(b) + wₘ·b, and that is at most e(a+b). The last step is a finite check, made
    for each set of capacities in use (`_is_proven`).

So k nodes cut at least k·Σw - 2·e(k), which the first k nodes attain. (For equal capacities, see Harper, SIAM Journal
12, 1964, and Hart, Discrete Mathematics 14, 1976.)

Layers (`layer_profile`): along an axis, a torus is a ring (or a pair) of layers, and a chip has at most one link to
each neighboring layer. Let k_i chips of layer i be on one side. Inside the layer they cut at least g_i(k_i), which is
found by enumerating subsets. Of the m links between layers i and j, at most a_i = min(k_i, m) and at least b_i = k_i -
(chips of layer i without such a link) end at a chip of layer i on that side. So at least max(b_i - a_j, b_j - a_i, 0)
of them are cut, and these have at least the capacity of so many narrowest links. The least sum over all choices of k_i
with the same total is a shortest walk around the ring (a dynamic program). It bounds the cut of every set with that
many chips.
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
"""For rings of one, two or four nodes, the bits of each position. Neighbors differ in one bit (a Gray code)."""
_MAX_FAILED = 8
"""Limit of failed chips for which all subsets are tried; with more, only the empty subset is tried."""


@dataclass(frozen=True, slots=True)
class PartialHypercube:
    """A torus with sides of one, two or four chips, some of whose chips and links may have failed.

    Attributes
    ----------
    weights
        Capacity of the links along each dimension of the cube before any failure, in falling order.
    label
        Number of each healthy chip in the cube.
    degree
        Capacity between each healthy chip and the other healthy chips.
    lost_capacity
        Capacity that the links between healthy chips have lost by failures.

    """

    weights: tuple[int, ...]
    label: Mapping[int, int]
    degree: Mapping[int, int]
    lost_capacity: int

    @classmethod
    def from_graph(cls, graph: Graph, chips: Collection[int]) -> "PartialHypercube | None":
        """Build the hypercube from the links between chips; None if the links are not those of such a torus.

        Parameters
        ----------
        graph
            A chip's ``position`` has its coordinates, and its ``sides`` are the sides of the torus. The capacity of an
            axis' links before any failure is assumed to be the highest one that the axis still has.

        """
        sides = {tuple(graph.nodes[chip].get("sides") or ()) for chip in chips}
        positions = {chip: tuple(graph.nodes[chip].get("position") or ()) for chip in chips}
        shape = next(iter(sides), ())
        if len(sides) != 1 or not shape or not set(shape) <= set(_GRAY_CODE) or not all(positions.values()):
            return None
        links = {(link.a, link.b): link.axis for link in torus_links(shape)}
        number_of = {chip: node_number(position, shape) for chip, position in positions.items()}
        axis_capacity = dict.fromkeys(range(len(shape)), 0)
        for u, v, capacity in weighted_edges(graph.subgraph(chips)):
            axis = links.get((min(number_of[u], number_of[v]), max(number_of[u], number_of[v])))
            if axis is None:
                return None
            axis_capacity[axis] = max(axis_capacity[axis], capacity)
        bits = [
            (axis_capacity[axis], axis, bit)
            for axis, side in enumerate(shape)
            for bit in range(len(_GRAY_CODE[side][0]))
        ]
        order = sorted(bits, key=lambda dimension: (-dimension[0], dimension[1:]))
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
        # both sums count each link from both of its ends
        lost_twice = whole._capacity_between(label.values(), label.values()) - sum(degree.values())
        return replace(whole, lost_capacity=lost_twice // 2)

    @property
    def method(self) -> str:
        """Why `lower_bounds` holds, as text for users."""
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
        # k chips and the other n - k chips have the same cut, so a bound for one of these numbers holds for the other
        bounds = np.maximum(undamaged - self.lost_capacity, np.maximum(by_degree, by_degree[::-1]))
        unit = gcd(*self.weights, *map(int, degrees)) or 1
        rounded: Ints = np.maximum(-(-bounds // unit) * unit, 0)
        return rounded

    def _failed_labels(self) -> list[int]:
        """Return the cube numbers of the failed chips."""
        return sorted(set(range(1 << len(self.weights))).difference(self.label.values()))

    def _bounds_around_failures(self, cuts: Ints, failed_labels: Sequence[int]) -> Ints:
        """Bound the cuts of the healthy chips, counting the links that they had in the undamaged torus.

        Let S be a set of healthy chips, F the failed chips and T a subset of F. In the undamaged torus, the cut of S ∪
        T is at most the cut of S between healthy chips, plus the links from S to F∖T, from the other healthy chips to
        T, and between T and F∖T. The same holds for S ∪ (F∖T), with T and F∖T exchanged. The sum of both cuts is at
        most twice the cut of S, plus all links between F and the healthy chips, plus twice the links between T and F∖T.
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
        """Return orders of the healthy chips whose prefixes are cheap to cut off.

        Each order follows the cube numbers as seen from one corner of the cube.
        """
        corners = range(1 << len(self.weights))
        return [sorted(self.label, key=lambda chip: self.label[chip] ^ corner) for corner in corners]


@lru_cache(maxsize=64)
def induced_capacity(weights: tuple[int, ...]) -> Ints:
    """Return e(k), the capacity between the first k nodes of a cube, for k = 0 … 2^dimensions (Harper 1964).

    O(dimensions · 2^dimensions).

    Examples
    --------
    A square has links of 3 along one dimension and 1 along the other. Nodes 0 and 1 are connected by a link of 3:

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
    """Return whether e(a+b) ≥ e(a) + e(b) + wₘ·b for each dimension m and all a ≥ b up to the size of its subcube."""
    inner_capacity = induced_capacity(weights)
    for m, w in enumerate(weights):
        a, b = np.tril_indices((1 << m) + 1)
        if (inner_capacity[a + b] < inner_capacity[a] + inner_capacity[b] + w * b).any():
            return False
    return True


_INFINITE_CUT = np.int64(2**60)
"""More than the capacity of any cut; several of them can be added without overflow."""


def layer_profile(graph: Graph, endpoints: Sequence[int], sink: int | None = None) -> Ints | None:
    """Return, for 0 … n endpoints, a lower bound on their cut with ``sink`` on the other side.

    For each axis of the endpoints' ``position``, the bound is the least sum over layers of the module docstring; the
    best of these bounds is returned. None if no axis divides the endpoints into layers that are small enough to
    enumerate. A dynamic program around the ring of layers (Bellman 1957), O(Σ 2^layer + n·layer³·layers) for each axis.

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
    links = weighted_edges(graph)
    axes = range(len(positions[endpoints[0]]))
    coordinates_by_axis = [{end: position[axis] for end, position in positions.items()} for axis in axes]
    bounds = [_bounds_along_axis(links, coordinates, sink) for coordinates in coordinates_by_axis]
    usable = [bound for bound in bounds if bound is not None]
    return np.max(usable, axis=0) if usable else None


def _bounds_along_axis(
    links: Sequence[tuple[int, int, int]], coordinate: Mapping[int, int], sink: int | None
) -> Ints | None:
    """Return the bounds from the layers along one axis.

    None if a layer is too large, if a link leads to a layer that is not next to its own, or if a chip has two links to
    another layer.
    """
    layer_of = {value: number for number, value in enumerate(sorted(set(coordinate.values())))}
    layers: list[dict[int, int]] = [{} for _ in layer_of]  # by layer: each chip's number in the layer
    for end, value in coordinate.items():
        layers[layer_of[value]][end] = len(layers[layer_of[value]])
    if len(layers) < 2 or max(map(len, layers)) > cut_enumeration.MAX_COMPONENT:  # noqa: PLR2004 # one layer is not a ring
        return None
    matrices = [[[0] * len(layer) for _ in layer] for layer in layers]
    to_sink = [[0] * len(layer) for layer in layers]
    links_between = dict[tuple[int, int], list[tuple[int, int, int]]]()
    for u, v, capacity in links:
        if sink in (u, v):
            end = v if u == sink else u
            to_sink[layer_of[coordinate[end]]][layers[layer_of[coordinate[end]]][end]] = capacity
            continue
        i, j = layer_of[coordinate[u]], layer_of[coordinate[v]]
        if i == j:
            row, column = layers[i][u], layers[i][v]
            matrices[i][row][column] = matrices[i][column][row] = capacity
        else:
            links_between.setdefault((min(i, j), max(i, j)), []).append((u, v, capacity))
    count = len(layers)
    if not set(links_between) <= {(i, (i + 1)) for i in range(count - 1)} | {(0, count - 1)}:
        return None
    if any(
        len({end for u, v, _ in between for end in (u, v)}) < 2 * len(between) for between in links_between.values()
    ):
        return None
    inner_cuts = [
        _least_cuts(tuple(map(tuple, matrix)), tuple(capacities))
        for matrix, capacities in zip(matrices, to_sink, strict=True)
    ]
    steps = [
        _cuts_between_layers(links_between.get((i, i + 1), []), len(layers[i]), len(layers[i + 1]))
        for i in range(count - 1)
    ]
    closing_links = links_between.get((0, count - 1), []) if count > 2 else []  # noqa: PLR2004 # two layers have one gap
    closing_cuts = _cuts_between_layers(closing_links, len(layers[0]), len(layers[-1]))
    return _ring_convolution(inner_cuts, steps, closing_cuts)


@lru_cache(maxsize=1024)
def _least_cuts(matrix: tuple[tuple[int, ...], ...], to_sink: tuple[int, ...]) -> Ints:
    """Return the least cut inside a layer and to the sink, by the number of the layer's chips on one side.

    Most layers of a torus are equal, and equal layers share a cache entry.
    """
    cuts = cut_enumeration.subset_cuts(matrix) + cut_enumeration.subset_sums(to_sink)
    by_count = cut_enumeration.subsets_by_count((True,) * len(matrix))
    return np.array([cuts[subsets].min() for subsets in by_count])


def _cuts_between_layers(links: Sequence[tuple[int, int, int]], layer_size: int, other_size: int) -> Ints:
    """Return the least cut between two layers, by the numbers of chips of the one (rows) and the other on one side."""
    capacity_of_narrowest = np.r_[0, np.cumsum(sorted(capacity for _, _, capacity in links))]
    in_layer, in_other = np.arange(layer_size + 1)[:, None], np.arange(other_size + 1)[None, :]
    link_count = len(links)
    cut_count = np.maximum(
        in_layer - (layer_size - link_count) - np.minimum(in_other, link_count),
        in_other - (other_size - link_count) - np.minimum(in_layer, link_count),
    )
    cuts: Ints = capacity_of_narrowest[np.maximum(cut_count, 0)]
    return cuts


def _ring_convolution(inner_cuts: Sequence[Ints], steps: Sequence[Ints], closing_cuts: Ints) -> Ints:
    """Return the least sum of cuts in and between layers around the ring, by the total number of chips on one side.

    ``steps`` are the cuts between neighboring layers, ``closing_cuts`` those between the first layer and the last.
    """
    total, first_sizes = sum(len(cuts) - 1 for cuts in inner_cuts), np.arange(len(inner_cuts[0]))
    # by the numbers of chips on one side in the first layer, in the latest layer, and in all layers so far
    cost = np.full((len(first_sizes), len(first_sizes), total + 1), _INFINITE_CUT)
    cost[first_sizes, first_sizes, first_sizes] = inner_cuts[0]
    for step, layer in zip(steps, inner_cuts[1:], strict=True):
        next_cost = np.full((len(first_sizes), len(layer), total + 1), _INFINITE_CUT)
        for chips, own_cut in enumerate(layer):
            reached = (cost + step[:, [chips]]).min(axis=1) + own_cut
            next_cost[:, chips, chips:] = reached[:, : total + 1 - chips]
        cost = next_cost
    best: Ints = (cost + closing_cuts[:, :, None]).min(axis=(0, 1))
    return best
