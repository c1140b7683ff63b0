"""Symmetries of a wiring: permutations of its nodes that keep every link and its capacity.

Candidates come from the wiring's pattern (`trninv.topology.pattern`), and each is checked on the graph as it is, link
by link; what fails the check is not used. So failures that a symmetry maps onto each other have equal answers, whatever
the state of the wiring.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trninv import solvers
from trninv.topology.blueprint import Node
from trninv.topology.pattern import Holds, Permutation
from trninv.topology.register import pattern

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

Failure = tuple[tuple[int, ...], ...]
"""What fails together: nodes as (id,), links as (low id, high id); in rising order."""


def symmetries(graph: "Graph") -> list[Permutation]:
    """Candidates that are symmetries, without the identity: enough to make up all that there are of the pattern.

    Parameters
    ----------
    graph
        Chips and switches of one domain, with the attributes that `trninv.routing.wiring.load` gives.

    """
    places = {node: Node(of["kind"], of["server"], of["rack"], of["ordinal"]) for node, of in graph.nodes(data=True)}
    wirings = {(of["wiring"], of["sides"]) for _, of in graph.nodes(data=True)}
    holds = _check(graph)
    return [
        image
        for wiring, sides in wirings
        for image in pattern(wiring).symmetries(places, sides, holds)
        if holds(image) and any(node != to for node, to in image.items())
    ]


def orbits(graph: "Graph", weights: Mapping[int, int]) -> list[list[Failure]]:
    """Nodes and links by what symmetries make of them that keep the nodes' weights; each alone where none are known."""
    parts: list[Failure] = [((node,),) for node in graph]
    parts += [(tuple(sorted(ends)),) for ends in graph.edges]
    known = all(of["kind"] in ("chip", "switch") and of.get("wiring") for _, of in graph.nodes(data=True))
    images = symmetries(graph) if known else []
    return classes(
        parts, [image for image in images if all(weights.get(a) == weights.get(b) for a, b in image.items())]
    )


def _check(graph: "Graph") -> Holds:
    """Whether a permutation takes every node to one of its kind, and every link to one of its capacity."""
    carries = {frozenset((a, b)): capacity for a, b, capacity in solvers.graph.capacities(graph)}
    kind = dict(graph.nodes(data="kind"))

    def holds(image: Permutation) -> bool:
        return (
            len(image) == len(graph) == len(set(image.values()))
            and all(kind[node] == kind.get(to) for node, to in image.items())
            and all(carries.get(frozenset(map(image.__getitem__, ends))) == each for ends, each in carries.items())
        )

    return holds


def classes(failures: Sequence[Failure], images: Sequence[Permutation]) -> list[list[Failure]]:
    """Failures that symmetries map onto each other, each class in the order given."""
    number = {failure: at for at, failure in enumerate(failures)}
    parent = [*range(len(failures))]

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = at = parent[parent[at]]
        return at

    for image in images:
        for at, failure in enumerate(failures):
            to = number.get(_mapped(failure, image), at)
            if to != at:
                parent[root(to)] = root(at)
    found: dict[int, list[Failure]] = {}
    for at, failure in enumerate(failures):
        found.setdefault(root(at), []).append(failure)
    return list(found.values())


def _mapped(failure: Failure, image: Permutation) -> Failure:
    if len(failure) == 1:  # as mostly: nothing to be put in order
        return (tuple(sorted([image[node] for node in failure[0]])),)
    return tuple(sorted(tuple(sorted([image[node] for node in part])) for part in failure))
