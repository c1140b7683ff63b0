"""Measure a domain's graph after a failure, for sweeps over every single failure (`trninv.routing.questions.sweep`).

A task holds plain values only, so it can be sent to other processes, and its result can be stored by `MeasureTask.key`.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING

from trninv import solvers
from trninv.enumeration import DescribedEnum
from trninv.solvers.symmetry import Failure

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

DISCONNECTED = 2**31
"""Diameter of chips that are not all connected."""


class SweepMeasure(DescribedEnum):
    """What is measured; bandwidths are one direction."""

    BISECTION = "BISECTION", "Bisection of the healthy chips (balance LIVE), bytes per second."
    NOMINAL = (
        "NOMINAL",
        "Bisection in which failed chips still count as members of a half (balance NOMINAL), bytes per second.",
    )
    ALL_GATHER = "ALL_GATHER", "Limit of an all-gather: bus bandwidth of a chip, bytes per second."
    ALL_TO_ALL = "ALL_TO_ALL", "Limit of an all-to-all: rate at which a chip sends, bytes per second."
    WORST_FLOW = "WORST_FLOW", "Least maximum flow between two chips, bytes per second; 0 if two are not connected."
    DIAMETER = "DIAMETER", "Hops between the farthest pair of chips; none if a pair is not connected."


@dataclass(frozen=True, slots=True)
class MeasureTask:
    """A graph in plain values, and what to measure in it.

    Attributes
    ----------
    endpoints
        Ids of the chips.
    nodes
        Id, kind and coordinates of each node; the coordinates are None if the wiring has none.
    edges
        Lower end, higher end and capacity of each link.
    failed_count
        Number of endpoints that have failed and are not in the graph.
    max_nodes
        Limit of search-tree nodes of a bisection.

    """

    endpoints: tuple[int, ...]
    nodes: tuple[tuple[int, str, tuple[int, ...] | None], ...]
    edges: tuple[tuple[int, int, int], ...]
    failed_count: int
    measure: SweepMeasure
    max_nodes: int

    @classmethod
    def from_graph(
        cls,
        graph: "Graph",
        endpoints: Collection[int],
        failed_count: int,
        failure: Failure,
        measure: SweepMeasure,
        max_nodes: int,
    ) -> "MeasureTask":
        """Build the task for a graph without the parts of a failure.

        ``failed_count`` is the number of endpoints that had failed before and are not in the graph.
        """
        removed_nodes = {part[0] for part in failure if len(part) == 1}
        removed_links = {frozenset(part) for part in failure if len(part) > 1}
        node_rows = (
            (node, attributes["kind"], attributes["position"])
            for node, attributes in graph.nodes(data=True)
            if node not in removed_nodes
        )
        edges = (
            (min(u, v), max(u, v), attributes["capacity"])
            for u, v, attributes in graph.edges(data=True)
            if not removed_nodes & {u, v} and frozenset((u, v)) not in removed_links
        )
        remaining = tuple(end for end in endpoints if end not in removed_nodes)
        return cls(
            remaining,
            tuple(sorted(node_rows)),
            tuple(sorted(edges)),
            failed_count + len(endpoints) - len(remaining),
            measure,
            max_nodes,
        )

    @property
    def key(self) -> str:
        """A hash of all fields except ``max_nodes``, which is the same in every process."""
        text = repr((self.endpoints, self.nodes, self.edges, self.failed_count, self.measure.value))
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def measure_task(task: MeasureTask) -> tuple[int, int]:
    """Return a lower and an upper bound on what a task measures.

    Bisections are solved by `trninv.solvers.bisection.bisect`, rates by `trninv.solvers.collectives`, the worst flow by
    a Gomory-Hu tree (1961), and the diameter by V breadth-first searches, O(V·(V + E)).

    Examples
    --------
    A path of four chips:

    >>> nodes = tuple((chip, "chip", None) for chip in (1, 2, 3, 4))
    >>> edges = ((1, 2, 30), (2, 3, 20), (3, 4, 30))
    >>> measure_task(MeasureTask((1, 2, 3, 4), nodes, edges, 0, SweepMeasure.DIAMETER, max_nodes=100))
    (3, 3)

    """
    graph = solvers.graph.Graph()
    for node, kind, position in task.nodes:
        graph.add_node(node, kind=kind, position=position)
    for u, v, capacity in task.edges:
        graph.add_edge(u, v, capacity=capacity)
    chips = list(task.endpoints)
    others = len(chips) - 1
    match task.measure:
        case SweepMeasure.BISECTION | SweepMeasure.NOMINAL:
            fillers = task.failed_count if task.measure is SweepMeasure.NOMINAL else 0
            cut = solvers.bisection.bisect(graph, chips, fillers=fillers, max_nodes=task.max_nodes)
            return cut.lower, cut.upper
        case SweepMeasure.ALL_GATHER:
            all_gather = solvers.collectives.all_gather_rate(graph, dict.fromkeys(chips, 1))
            rate = all_gather.rate * others if all_gather else 0
            return floor(rate), ceil(rate)
        case SweepMeasure.ALL_TO_ALL:
            all_to_all = solvers.collectives.max_concurrent_flow(graph, dict.fromkeys(chips, 1))
            return floor(all_to_all.lower * others), ceil(all_to_all.upper * others)
        case SweepMeasure.WORST_FLOW:
            min_flow, _ = solvers.max_flow.minimum_edge(solvers.max_flow.gomory_hu_tree(graph), set(chips))
            return min_flow, min_flow
        case SweepMeasure.DIAMETER:
            hops = [solvers.distances.hops_from(graph, [chip]) for chip in chips]
            farthest = max((reached.get(other, DISCONNECTED) for reached in hops for other in chips), default=0)
            return farthest, farthest
