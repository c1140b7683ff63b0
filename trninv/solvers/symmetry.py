"""Find symmetries of a graph: permutations of its nodes that preserve every link and its capacity.

Candidates come from the wiring's pattern (`trninv.topology.pattern`). Each is checked on the graph as it is, link by
link, and dropped if it fails. So failures that a symmetry maps onto each other have equal answers, whatever has failed.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trninv import solvers
from trninv.topology.blueprint import BlueprintNode
from trninv.topology.pattern import IsSymmetry, Permutation
from trninv.topology.registry import get_pattern

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

Failure = tuple[tuple[int, ...], ...]
"""Parts that fail together: nodes as (id,), links as (lower id, higher id); in rising order."""


def automorphisms(graph: "Graph") -> list[Permutation]:
    """Return generators of the pattern's symmetries that preserve the graph, without the identity.

    Candidates from the pattern, each checked in O(V + E).

    Parameters
    ----------
    graph
        Chips and switches of one domain, with the attributes that `trninv.routing.wiring.load` sets.

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
    nodes = {
        node: BlueprintNode(attributes["kind"], attributes["server"], attributes["rack"], attributes["ordinal"])
        for node, attributes in graph.nodes(data=True)
    }
    patterns = {(attributes["wiring"], attributes["sides"]) for _, attributes in graph.nodes(data=True)}
    is_automorphism = _automorphism_test(graph)
    return [
        permutation
        for pattern_name, sides in patterns
        for permutation in get_pattern(pattern_name).symmetries(nodes, sides, is_automorphism)
        if is_automorphism(permutation) and any(node != target for node, target in permutation.items())
    ]


def symmetry_orbits(graph: "Graph", weights: Mapping[int, int]) -> list[list[Failure]]:
    """Group nodes and links into orbits: symmetries that preserve the nodes' weights map their members onto each other.

    Without a known pattern every part is an orbit of its own. Union-find, O(symmetries·(V + E)).

    Examples
    --------
    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph([(1, 2)])
    >>> graph.add_nodes_from([1, 2], kind="chip")
    >>> symmetry_orbits(graph, {1: 1, 2: 1})
    [[((1,),)], [((2,),)], [((1, 2),)]]

    """
    parts: list[Failure] = [((node,),) for node in graph]
    parts += [(tuple(sorted(edge)),) for edge in graph.edges]
    has_pattern = all(
        attributes["kind"] in ("chip", "switch") and attributes.get("wiring")
        for _, attributes in graph.nodes(data=True)
    )
    permutations = automorphisms(graph) if has_pattern else []
    return failure_orbits(
        parts,
        [
            permutation
            for permutation in permutations
            if all(weights.get(a) == weights.get(b) for a, b in permutation.items())
        ],
    )


def _automorphism_test(graph: "Graph") -> IsSymmetry:
    """Return a test of whether a permutation maps nodes to nodes of their kind and links to links of their capacity."""
    capacities = {frozenset((a, b)): capacity for a, b, capacity in solvers.graph.weighted_edges(graph)}
    kind = dict(graph.nodes(data="kind"))

    def is_automorphism(permutation: Permutation) -> bool:
        return (
            len(permutation) == len(graph) == len(set(permutation.values()))
            and all(kind[node] == kind.get(target) for node, target in permutation.items())
            and all(
                capacities.get(frozenset(map(permutation.__getitem__, edge))) == expected
                for edge, expected in capacities.items()
            )
        )

    return is_automorphism


def failure_orbits(failures: Sequence[Failure], permutations: Sequence[Permutation]) -> list[list[Failure]]:
    """Group failures that symmetries map onto each other, in the order given.

    Union-find with path halving (Tarjan & van Leeuwen 1984), O(symmetries·failures).

    Examples
    --------
    A permutation that exchanges chips 1 and 2 and keeps chip 3:

    >>> failure_orbits([((1,),), ((2,),), ((3,),)], [{1: 2, 2: 1, 3: 3}])
    [[((1,),), ((2,),)], [((3,),)]]

    """
    index_of = {failure: index for index, failure in enumerate(failures)}
    parent = [*range(len(failures))]

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = index = parent[parent[index]]
        return index

    for permutation in permutations:
        for index, failure in enumerate(failures):
            to = index_of.get(_map_failure(failure, permutation), index)
            if to != index:
                parent[root(to)] = root(index)
    orbits: dict[int, list[Failure]] = {}
    for index, failure in enumerate(failures):
        orbits.setdefault(root(index), []).append(failure)
    return list(orbits.values())


def _map_failure(failure: Failure, permutation: Permutation) -> Failure:
    if len(failure) == 1:  # the usual case, without sorting
        return (tuple(sorted([permutation[node] for node in failure[0]])),)
    return tuple(sorted(tuple(sorted([permutation[node] for node in part])) for part in failure))
