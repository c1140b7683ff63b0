"""One measure of one graph, as a task in plain values that travels to other processes."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING

from trninv import solvers
from trninv.choice import Choice
from trninv.solvers.symmetry import Failure

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

UNJOINED = 2**31
"""Diameter of chips that are not all joined."""


class Measure(Choice):
    """What is measured, of one direction."""

    BISECTION = "BISECTION", "Bisection of the healthy chips (balance LIVE), bytes per second."
    NOMINAL = "NOMINAL", "Bisection with failed chips as fillers (NOMINAL), bytes per second."
    ALL_GATHER = "ALL_GATHER", "All-gather's limit: bus bandwidth of a chip, bytes per second."
    ALL_TO_ALL = "ALL_TO_ALL", "All-to-all's limit: what a chip sends, bytes per second."
    WORST_FLOW = "WORST_FLOW", "Maximum flow of the worst connected pair of chips, bytes per second."
    DIAMETER = "DIAMETER", "Hops between the farthest pair of chips; none where a pair is not joined."


@dataclass(frozen=True, slots=True)
class Task:
    """A wiring and what to measure of it, in plain values that travel to other processes.

    Attributes
    ----------
    places
        Its nodes: id, kind, coordinates where there are any.
    nodes
        Of a search tree, at most.

    """

    ends: tuple[int, ...]
    places: tuple[tuple[int, str, tuple[int, ...] | None], ...]
    edges: tuple[tuple[int, int, int], ...]
    lost: int
    measure: Measure
    nodes: int

    @classmethod
    def of(
        cls, graph: "Graph", ends: Collection[int], lost: int, failure: Failure, measure: Measure, nodes: int
    ) -> "Task":
        """A graph less a failure; ``lost`` of its endpoints have failed before."""
        gone = {part[0] for part in failure if len(part) == 1}
        cut = {frozenset(part) for part in failure if len(part) > 1}
        places = ((node, of["kind"], of["position"]) for node, of in graph.nodes(data=True) if node not in gone)
        edges = (
            (min(a, b), max(a, b), of["capacity"])
            for a, b, of in graph.edges(data=True)
            if not gone & {a, b} and frozenset((a, b)) not in cut
        )
        left = tuple(end for end in ends if end not in gone)
        return cls(left, tuple(sorted(places)), tuple(sorted(edges)), lost + len(ends) - len(left), measure, nodes)

    @property
    def key(self) -> str:
        """The same for the same task in any run."""
        said = repr((self.ends, self.places, self.edges, self.lost, self.measure.value))
        return hashlib.sha256(said.encode()).hexdigest()[:24]


def solve(task: Task) -> tuple[int, int]:
    """Bounds on the measure."""
    graph = solvers.graph.Graph()
    for node, kind, position in task.places:
        graph.add_node(node, kind=kind, position=position)
    for a, b, carries in task.edges:
        graph.add_edge(a, b, capacity=carries)
    chips = list(task.ends)
    others = len(chips) - 1
    match task.measure:
        case Measure.BISECTION | Measure.NOMINAL:
            fillers = task.lost if task.measure is Measure.NOMINAL else 0
            split = solvers.bisection.bisect(graph, chips, fillers=fillers, nodes=task.nodes)
            return split.lower, split.upper
        case Measure.ALL_GATHER:
            best = solvers.collectives.gather(graph, dict.fromkeys(chips, 1))
            rate = best.rate * others if best else 0
            return floor(rate), ceil(rate)
        case Measure.ALL_TO_ALL:
            theta = solvers.collectives.concurrent(graph, dict.fromkeys(chips, 1))
            return floor(theta.lower * others), ceil(theta.upper * others)
        case Measure.WORST_FLOW:
            worst, _ = solvers.cut_tree.worst_pair(solvers.cut_tree.cut_tree(graph), set(chips))
            return worst, worst
        case Measure.DIAMETER:
            hops = [solvers.reach.hops_from(graph, [chip]) for chip in chips]
            farthest = max((reached.get(other, UNJOINED) for reached in hops for other in chips), default=0)
            return farthest, farthest
