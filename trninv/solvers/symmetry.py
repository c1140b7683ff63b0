"""Symmetries of a wiring: permutations of its nodes that keep every link and its capacity.

Candidates come from the wiring's pattern (`trninv.topology.pattern`), and each is checked on the graph as it is, link
by link; what fails the check is not used. So failures that a symmetry maps onto each other have equal answers, whatever
the state of the wiring.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trninv import solvers
from trninv.topology.blueprint import BlueprintNode
from trninv.topology.pattern import IsSymmetry, Permutation
from trninv.topology.register import get_pattern

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

Failure = tuple[tuple[int, ...], ...]
"""What fails together: nodes as (id,), links as (low id, high id); in rising order."""


def automorphisms(graph: "Graph") -> list[Permutation]:
    """Candidates that are symmetries, without the identity: enough to make up all that there are of the pattern.

    Parameters
    ----------
    graph
        Chips and switches of one domain, with the attributes that `trninv.routing.wiring.load` gives.

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
    """Nodes and links by what symmetries make of them that keep the nodes' weights; each alone where none are known."""
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
    """Whether a permutation takes every node to one of its kind, and every link to one of its capacity."""
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
    """Failures that symmetries map onto each other, each class in the order given."""
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
    if len(failure) == 1:  # as mostly: nothing to be put in order
        return (tuple(sorted([permutation[node] for node in failure[0]])),)
    return tuple(sorted(tuple(sorted([permutation[node] for node in part])) for part in failure))
