"""Find symmetries of a graph: permutations of its nodes that preserve every link and its capacity.

Parts that a symmetry maps onto each other are equivalent. The answers for the failures of equivalent parts are equal,
so `trninv.routing.questions.sweep` solves only one of them. `trninv.solvers.collectives` uses one row for equivalent
links in its linear program. With the symmetries of an undamaged domain, `trninv.solvers.pair_flows` solves only one of
several equivalent pairs of chips, and `trninv.solvers.failure_forms` shows which damaged domains are equivalent.

Candidates for symmetries come from the wiring pattern (`trninv.topology.pattern`), which permutes chips and switches;
NICs follow their chips. Each candidate is checked link by link on the graph, which may have failures, and dropped if it
does not preserve the graph.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trninv import solvers
from trninv.topology.blueprint import BlueprintNode, Sides
from trninv.topology.pattern import Label, NodesByNumber, Pattern, Permutation
from trninv.topology.registry import get_pattern

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

Failure = tuple[tuple[int, ...], ...]
"""Parts that fail together, in rising order: a node is (id,), a link (lower id, higher id)."""
Ints = NDArray[np.int64]
_KINDS = ("chip", "switch", "nic", "network_node", "")
"""Kinds of nodes: first those that a pattern's symmetries move, then NICs, which follow their chips."""
NIC = _KINDS.index("nic")
A = TypeVar("A")
_MAX_SHARED = 32
"""Limit of entries in `_shared`."""
_shared: dict[tuple[object, ...], Any] = {}
"""The cache of `share_by_wiring`: results by function, nodes and links."""


def automorphisms(graph: "Graph") -> list[Permutation]:
    """Return generators of the pattern's symmetries that preserve the graph, without the identity.

    O(V + E·log E) for each candidate of the wiring pattern.

    Parameters
    ----------
    graph
        One domain, with the attributes that `trninv.routing.wiring.load_wiring` sets. Symmetries leave its network
        nodes in place.

    Examples
    --------
    A whole 2×2 torus has symmetries; with one link degraded only those that preserve it remain:

    >>> from trninv.solvers.graph import Graph
    >>> from trninv.topology.torus import torus_links
    >>> chip = {"kind": "chip", "server": 0, "rack": 0, "wiring": "torus", "sides": (2, 2)}
    >>> graph = Graph()
    >>> graph.add_nodes_from((node, {**chip, "ordinal": node}) for node in range(4))
    >>> graph.add_edges_from((link.a, link.b, {"capacity": 10}) for link in torus_links((2, 2)))
    >>> len(automorphisms(graph)) > 0
    True
    >>> graph.edges[0, 1]["capacity"] = 5
    >>> all({permutation[0], permutation[1]} == {0, 1} for permutation in automorphisms(graph))
    True

    """
    arrays = GraphArrays.from_graph(graph)
    return [dict(zip(arrays.nodes, map(arrays.nodes.__getitem__, image), strict=True)) for image in arrays.symmetries()]


def symmetry_orbits(graph: "Graph", weights: Mapping[int, int]) -> list[list[Failure]]:
    """Group nodes and links into orbits, whose members symmetries map onto each other.

    Only symmetries that preserve the nodes' weights count. In a graph without a wiring pattern, each node and each link
    is an orbit of its own. Connected components by SciPy, O(symmetries·(V + E·log E)).

    Examples
    --------
    The chips of a ring of four are one orbit, and so are its links; without a wiring pattern there are eight orbits:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(0, 1, 10), (1, 2, 10), (2, 3, 10), (3, 0, 10)], weight="capacity")
    >>> for chip in range(4):
    ...     graph.add_node(chip, kind="chip", server=0, rack=0, ordinal=chip, wiring="torus", sides=(4,))
    >>> [len(orbit) for orbit in symmetry_orbits(graph, dict.fromkeys(range(4), 1))]
    [4, 4]
    >>> graph.add_nodes_from(range(4), wiring=None)
    >>> len(symmetry_orbits(graph, dict.fromkeys(range(4), 1)))
    8

    """
    from scipy.sparse import coo_array  # noqa: PLC0415 # slow to import, and a service starts without it
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    arrays = GraphArrays.from_graph(graph)
    weight = np.array([weights.get(node, 0) for node in arrays.nodes])
    images = [image for image in arrays.symmetries() if (weight[image] == weight).all()]
    parts: list[Failure] = [((node,),) for node in arrays.nodes]
    parts += [((arrays.nodes[u], arrays.nodes[v]),) for u, v in arrays.ends.tolist()]
    part_images = [np.concatenate([image, len(image) + arrays.link_images(image)]) for image in images]
    targets = np.concatenate([np.arange(len(parts)), *part_images])
    exchanges = coo_array((np.ones(len(targets)), (np.arange(len(targets)) % len(parts), targets)), (len(parts),) * 2)
    orbits: dict[int, list[Failure]] = {}
    for part, orbit in zip(parts, connected_components(exchanges, directed=False)[1].tolist(), strict=True):
        orbits.setdefault(orbit, []).append(part)
    return list(orbits.values())


@dataclass(frozen=True, slots=True)
class GraphArrays:
    """A graph as arrays, to test permutations of its nodes; nodes are numbered by rising id, links by their ends.

    Attributes
    ----------
    nodes
        Ids of the nodes.
    kinds
        For each node, the index of its kind in `_KINDS`; 0 is a chip.
    ends
        Numbers of the two nodes of each link, the lower number first (links × 2).
    keys
        A number for each link that identifies its ends (`_link_keys`), in rising order.

    """

    graph: "Graph"
    nodes: Sequence[int]
    kinds: Ints
    ends: Ints
    capacity: Ints
    keys: Ints

    @classmethod
    def from_graph(cls, graph: "Graph") -> "GraphArrays":
        """Build the arrays of a graph."""
        nodes = sorted(graph)
        index = {node: i for i, node in enumerate(nodes)}
        links = sorted(
            (*sorted((index[u], index[v])), capacity) for u, v, capacity in solvers.graph.weighted_edges(graph)
        )
        table = np.array(links, dtype=np.int64).reshape(-1, 3)
        kinds = np.array([_KINDS.index(graph.nodes[node].get("kind", "")) for node in nodes])
        return cls(graph, nodes, kinds, table[:, :2], table[:, 2], _link_keys(table[:, :2], len(nodes)))

    def symmetries(self) -> Iterator[Ints]:
        """Yield the image of each node by generators of the pattern's symmetries, without the identity."""
        if (wiring := self._pattern_nodes()) is None:
            return
        pattern, nodes, sides = wiring
        to_image, links_by_node = self._image_with_nics(nodes), self._links_by_node()
        # the last permutation and its image are stored, because patterns check some permutations before yielding them
        checked: tuple[Permutation, Ints | None] = {}, None

        def check(permutation: Permutation) -> Ints | None:
            nonlocal checked
            if checked[0] is not permutation:
                is_plausible = len(permutation) == len(nodes) and all(
                    links_by_node[node] == links_by_node[target] for node, target in permutation.items()
                )
                image = to_image(permutation) if is_plausible else None
                checked = permutation, image if image is not None and self._preserves(image) else None
            return checked[1]

        for permutation in pattern.symmetries(nodes, sides, lambda permutation: check(permutation) is not None):
            image = check(permutation)
            if image is not None and any(node != target for node, target in permutation.items()):
                yield image

    def arrangements(self, labels: Mapping[int, Label]) -> Iterator[Ints]:
        """Yield the image of each node by symmetries that the pattern proposes for nodes with labels (failures)."""
        if (wiring := self._pattern_nodes()) is None:
            return
        pattern, nodes, sides = wiring
        to_image = self._image_with_nics(nodes)
        for permutation in pattern.arrangements(nodes, sides, labels):
            if self._preserves(image := to_image(permutation)):
                yield image

    def _pattern_nodes(self) -> tuple[Pattern, NodesByNumber, Sides] | None:
        """Return the domain's pattern, its chips and switches, and its sides; None if the graph has no pattern."""
        attributes = {self.nodes[i]: self.graph.nodes[self.nodes[i]] for i in np.flatnonzero(self.kinds < NIC).tolist()}
        patterns = {(node.get("wiring") or "", tuple(node.get("sides") or ())) for node in attributes.values()}
        if len(patterns) != 1:
            return None
        [(pattern_name, sides)] = patterns
        if not pattern_name:
            return None
        nodes = {
            key: BlueprintNode(node["kind"], node["server"], node["rack"], node["ordinal"])
            for key, node in attributes.items()
        }
        return get_pattern(pattern_name), nodes, sides

    def _links_by_node(self) -> dict[int, tuple[tuple[str, int], ...]]:
        """Return, for each node, the kinds of its neighbors and the capacities to them, which a symmetry preserves."""
        kind_of = self.graph.nodes(data="kind")
        return {
            node: tuple(
                sorted((str(kind_of[neighbor]), link["capacity"]) for neighbor, link in self.graph[node].items())
            )
            for node in self.nodes
        }

    def _image_with_nics(self, moving: Collection[int]) -> Callable[[Permutation], Ints]:
        """Return a function that extends a permutation of chips and switches to all nodes, as an array of node numbers.

        Network nodes stay, and a NIC follows its chips. To match NICs with their images, each chip gets a random
        number; the sum of its chips' numbers identifies a NIC. If two sums are equal by chance, an image may not
        preserve the links, and is then dropped.
        """
        index = {node: i for i, node in enumerate(self.nodes)}
        numbers, nics = np.searchsorted(self.nodes, list(moving)), np.flatnonzero(self.kinds == NIC)
        u, v = np.concatenate([self.ends, self.ends[:, ::-1]]).T
        is_chip_link = (self.kinds[u] < NIC) & (self.kinds[v] == NIC)
        chip_ends, nic_ends = u[is_chip_link], v[is_chip_link]
        label = np.random.default_rng(0).integers(1 << 40, size=len(self.nodes)).astype(float)

        def nic_order(image: Ints) -> Ints:
            sums = np.bincount(nic_ends, label[image[chip_ends]], minlength=len(image))
            return nics[np.argsort(sums[nics], kind="stable")]

        identity = np.arange(len(self.nodes))
        own_order = nic_order(identity)

        def to_image(permutation: Permutation) -> Ints:
            image = identity.copy()
            image[numbers] = [index[permutation[node]] for node in moving]
            image[nic_order(image)] = own_order
            return image

        return to_image

    def _preserves(self, image: Ints) -> bool:
        """Return whether an image maps nodes to nodes of their kind and links to links of their capacity."""
        image_keys = _link_keys(image[self.ends], len(image))
        order = np.argsort(image_keys)
        return bool(
            (np.bincount(image, minlength=len(image)) == 1).all()
            and (self.kinds[image] == self.kinds).all()
            and (image_keys[order] == self.keys).all()
            and (self.capacity[order] == self.capacity).all()
        )

    def link_images(self, image: Ints) -> Ints:
        """Return the number of the link onto which a symmetry maps each link."""
        return np.searchsorted(self.keys, _link_keys(image[self.ends], len(image)))


def _link_keys(ends: Ints, count: int) -> Ints:
    """Return a number for each link, by the numbers of its ends in any order."""
    u, v = ends.T
    keys: Ints = np.minimum(u, v) * count + np.maximum(u, v)
    return keys


def share_by_wiring(build: "Callable[[Graph], A]", graph: "Graph") -> A:
    """Return ``build(graph)`` from a cache of the latest results, which graphs with equal nodes and links share.

    Such graphs may come from different snapshots or databases. O(V·log V + E·log E) if the result is in the cache.

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_edge(1, 2, capacity=10)
    >>> share_by_wiring(GraphArrays.from_graph, graph) is share_by_wiring(GraphArrays.from_graph, graph.copy())
    True

    """
    nodes = ((node, *graph.nodes[node].items()) for node in sorted(graph))
    links = sorted((min(u, v), max(u, v), capacity) for u, v, capacity in solvers.graph.weighted_edges(graph))
    key = build, *nodes, *links
    if (shared := _shared.get(key)) is None:
        while len(_shared) >= _MAX_SHARED:
            _shared.pop(next(iter(_shared)), None)
        shared = _shared[key] = build(graph)
    result: A = shared
    return result


def failure_orbits(failures: Sequence[Failure], permutations: Sequence[Permutation]) -> list[list[Failure]]:
    """Group failures that symmetries map onto each other; groups and their members keep the order of ``failures``.

    Union-find with path halving (Tarjan & van Leeuwen 1984), O(symmetries·failures).

    Examples
    --------
    A permutation that exchanges chips 1 and 2 and keeps chips 3 and 4:

    >>> failure_orbits([((1,),), ((2,),), ((3,),), ((4,),)], [{1: 2, 2: 1, 3: 3, 4: 4}])
    [[((1,),), ((2,),)], [((3,),)], [((4,),)]]

    """
    index_of = {failure: index for index, failure in enumerate(failures)}
    parent = [*range(len(failures))]

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = index = parent[parent[index]]
        return index

    for permutation in permutations:
        for index, failure in enumerate(failures):
            image = index_of.get(_map_failure(failure, permutation), index)
            if image != index:
                parent[root(image)] = root(index)
    orbits: dict[int, list[Failure]] = {}
    for index, failure in enumerate(failures):
        orbits.setdefault(root(index), []).append(failure)
    return list(orbits.values())


def _map_failure(failure: Failure, permutation: Permutation) -> Failure:
    """Return the failure of the parts onto which a permutation maps a failure's parts."""
    if len(failure) == 1:  # the usual case, in which the parts need not be sorted
        return (tuple(sorted([permutation[node] for node in failure[0]])),)
    return tuple(sorted(tuple(sorted([permutation[node] for node in part])) for part in failure))
