"""Answer which single failure, or pair of failures, costs most.

Failures that a symmetry of the wiring maps onto each other form a class, which is solved once. The solvers run in a
`concurrent.futures.Executor`: a process pool by default, or the caller's executor, such as that of a Dask cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trninv import solvers
from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, ExactInt, bandwidth_range
from trninv.routing.cluster_islands import read_domain_classes
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.scope import Scope, ScopeGraph
from trninv.routing.snapshot import Snapshot
from trninv.routing.sweep_journal import Progress, solve_tasks
from trninv.settings import Settings
from trninv.solvers.graph_measures import DISCONNECTED, MeasureTask, SweepMeasure
from trninv.units import Bandwidth, pluralize

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trninv.solvers.symmetry import Failure

MAX_CLASSES = 2_000
"""Default limit on the classes of failures that a sweep solves."""

_DEFINITION = "each failure of the kind alone, or each pair, on the current wiring; the worst first; "
_CLUSTER_CLAUSE = "; in each domain of the cluster alone, equal ones solved once and counted"
_FORWARDING_MEASURES = (SweepMeasure.WORST_FLOW, SweepMeasure.DIAMETER)
"""Measures for which chips outside the scope may forward traffic, as in the questions `cut_tree` and `distances`."""


class FailureKind(DescribedEnum):
    """What fails."""

    LINK = "LINK", "Each link."
    CHIP = "CHIP", "Each chip."
    SWITCH = "SWITCH", "Each switch."


@dataclass(frozen=True, slots=True)
class FailureClass:
    """Failures that a symmetry of the wiring maps onto each other."""

    failure: Annotated[tuple[AddressText, ...], "Parts that fail in one of them."]
    count: Annotated[int, "Number of failures."]
    lower: Annotated[
        ExactInt | None,
        "Proven lower bound of the measure; null for the diameter of chips that are not all connected.",
    ]
    upper: Annotated[ExactInt | None, "Proven upper bound of the measure."]
    change: Annotated[ExactInt | None, "Upper bound minus that of the domain without the failure, if both are numbers."]

    @property
    def exact(self) -> bool:
        """Whether the bounds are equal."""
        return self.lower == self.upper


@dataclass(frozen=True, kw_only=True)
class SweepAnswer(Answer):
    """Failures by cost, the worst first."""

    scope: Annotated[AddressText, "The scope."]
    measure: Annotated[SweepMeasure, "What is measured."]
    lower: Annotated[ExactInt | None, "Proven lower bound without a failure; of several domains the worst."]
    upper: Annotated[ExactInt | None, "Proven upper bound without a failure; of several domains the worst."]
    failures: Annotated[int, "Number of failures."]
    classes: Annotated[tuple[FailureClass, ...], "Classes of equivalent failures, worst first."]

    def render(self) -> Rendered:
        failure_summary = f"{pluralize(self.failures, 'failure')} in {pluralize(len(self.classes), 'class')}"
        domain_note = " of its worst domain" if self.definition.endswith(_CLUSTER_CLAUSE) else ""
        yield (
            f"{self.scope}: {self.measure.lower().replace('_', ' ')}{domain_note} {self._format_bounds(self)}; "
            f"{failure_summary}"
        )
        rows = (
            [" + ".join(row.failure), row.count, self._format_bounds(row), self._format_change(row)]
            for row in self.classes
        )
        yield RenderedTable(["example", "alike", "then", "change"], rows)

    def _format_bounds(self, value: "SweepAnswer | FailureClass") -> str:
        if value.lower is None or value.upper is None:
            return "not all connected"
        if self.measure is SweepMeasure.DIAMETER:
            return pluralize(value.upper, "hop")
        return bandwidth_range([Bandwidth(value.lower), Bandwidth(value.upper)])

    def _format_change(self, row: FailureClass) -> str:
        if row.change is None:
            return ""
        if self.measure is SweepMeasure.DIAMETER:
            return f"{row.change:+d} hops"
        return f"{row.change / 10**9:+,g} GB/s" + (f" ({row.change / self.upper:+.1%})" if self.upper else "")


@question(
    cost=100 * ROUTED_COST,
    field="",  # it takes minutes
    job_mutation="startSweep",
    has_baseline=False,
    examples=(
        "sweep u-trn2x64 --fail link --measure all-gather",
        "sweep trn3-gen1 --fail chip --measure nominal --journal gen1.jsonl",
    ),
)
def sweep(
    snapshot: Snapshot,
    scope: Annotated[
        str, Argument("Server, rack, domain or cluster; for a cluster, each of its domains.", metavar="SCOPE")
    ],
    fail: Annotated[FailureKind, Argument("What fails.")] = FailureKind.LINK,
    measure: Annotated[SweepMeasure, Argument("What to measure.")] = SweepMeasure.BISECTION,
    pairs: Annotated[bool, Argument("Fail every pair of parts together.")] = False,
    limit: Annotated[
        int, Argument("Maximum number of failure classes to solve.", minimum=1, option="--limit")
    ] = MAX_CLASSES,
    *,
    executor: "Executor | None" = None,
    journal: Path | None = None,
    progress: Progress = lambda *_: None,
) -> SweepAnswer:
    """Rank single failures, or pairs of them, by what they cost.

    Equivalent failures are solved once and counted.
    """
    resolved_scope = Scope.resolve(snapshot, scope)
    domains = list[_SweepDomain]()
    for domain_scope, multiplicity in _sweep_domains(snapshot, resolved_scope):
        domains.append(_SweepDomain.from_scope(snapshot, domain_scope, multiplicity, fail, measure, pairs=pairs))
        if (class_count := sum(len(domain.classes) for domain in domains)) > limit:
            failures = sum(map(len, chain.from_iterable(domain.classes for domain in domains)))
            raise InvalidArgumentError(
                f"{failures:,} failures in {class_count:,} classes exceed the limit; raise it (limit), or narrow "
                "the scope"
            )
    values = solve_tasks(chain.from_iterable(domain.tasks.values() for domain in domains), executor, journal, progress)
    sign = -1 if measure is SweepMeasure.DIAMETER else 1  # so that the worst value is the lowest
    ranking = sorted(
        (
            (
                sign * values[domain.tasks[failure_class[0]].key][1],
                -domain.count(failure_class),
                failure_class,
                domain,
            )
        )
        for domain in domains
        for failure_class in domain.classes
    )
    healthy_bounds = min((values[domain.tasks[()].key] for domain in domains), key=lambda bounds: sign * bounds[1])
    lower, upper = _measure_bounds(healthy_bounds)
    graphs = [domain.scope_graph.graph for domain in domains]
    measured = measure.description[0].lower() + measure.description[1:].removesuffix(".")
    return SweepAnswer(
        scope=resolved_scope.place.address,
        measure=measure,
        lower=lower,
        upper=upper,
        failures=sum(domain.count(failure_class) for _, _, failure_class, domain in ranking),
        classes=tuple(domain.to_failure_class(failure_class, values) for _, _, failure_class, domain in ranking),
        definition=_DEFINITION + measured + (_CLUSTER_CLAUSE if len(resolved_scope.domains) > 1 else ""),
        facts=evidence.cite_wiring(
            snapshot,
            [attributes for graph in graphs for attributes in graph.nodes.values()],
            (attributes for graph in graphs for attributes in graph.edges.values()),
        ),
    )


def _sweep_domains(snapshot: Snapshot, scope: Scope) -> Iterator[tuple[Scope, int]]:
    """Yield one domain's scope for each class of equal domains, with the number of domains in the class."""
    if len(scope.domains) == 1:
        yield scope, 1
        return
    for domain_class in read_domain_classes(snapshot, scope):
        wiring = snapshot.load(domain_class.domains[:1])
        chips = wiring.failed | {node for node, attributes in wiring.nodes.items() if attributes["kind"] == "chip"}
        members = chips if scope.members is None else chips & scope.members
        yield replace(scope, domains=domain_class.domains[:1], members=members), len(domain_class.domains)


@dataclass(frozen=True, order=True, slots=True)
class _SweepDomain:
    """A domain of a sweep, which is solved for all equal domains.

    Attributes
    ----------
    domain
        Id of the domain.
    multiplicity
        Number of equal domains, including this one.
    scope_graph
        The graph on which the measure is taken.
    classes
        The classes of equivalent failures.
    tasks
        The task that measures the graph with a failure, for the first failure of each class and for ``()``, no failure.

    """

    domain: int
    multiplicity: int = field(compare=False)
    scope_graph: ScopeGraph = field(compare=False)
    classes: "Sequence[Sequence[Failure]]" = field(compare=False)
    tasks: "Mapping[Failure, MeasureTask]" = field(compare=False)

    @classmethod
    def from_scope(
        cls,
        snapshot: Snapshot,
        scope: Scope,
        multiplicity: int,
        kind: FailureKind,
        measure: SweepMeasure,
        *,
        pairs: bool,
    ) -> "_SweepDomain":
        """List a domain's failures of a kind, or all pairs of them, and group them by symmetry."""
        # only parts of the scope fail, even if the measure is taken on the whole domain
        single_failures = _list_failures(scope.graph(snapshot, "a sweep"), kind)
        scope_graph = replace(scope, forwarding=measure in _FORWARDING_MEASURES).graph(snapshot, "a sweep")
        failures = [tuple(sorted((*a, *b))) for a, b in combinations(single_failures, 2)] if pairs else single_failures
        classes = solvers.symmetry.failure_orbits(failures, solvers.symmetry.automorphisms(scope_graph.graph))
        graph_arguments = scope_graph.graph, scope_graph.endpoints, scope_graph.failed_count
        max_nodes = Settings.load().bisection_nodes  # nodes of the solver's search tree
        failures_to_solve: list[Failure] = [(), *(failure_class[0] for failure_class in classes)]
        tasks = {
            failure: MeasureTask.from_graph(*graph_arguments, failure, measure, max_nodes)
            for failure in failures_to_solve
        }
        return cls(scope.domains[0], multiplicity, scope_graph, classes, tasks)

    def count(self, failures: "Sequence[Failure]") -> int:
        """Return the number of failures in a class, counted over all equal domains."""
        return len(failures) * self.multiplicity

    def to_failure_class(self, failures: "Sequence[Failure]", values: Mapping[str, tuple[int, int]]) -> FailureClass:
        """Return a class of failures for the answer; ``values`` has the bounds of each task, by the task's key."""
        (_, upper_before), (lower, upper) = (
            _measure_bounds(values[self.tasks[failure].key]) for failure in ((), failures[0])
        )
        names = tuple(_part_address(self.scope_graph, part) for part in failures[0])
        change = None if upper is None or upper_before is None else upper - upper_before
        return FailureClass(names, self.count(failures), lower, upper, change)


def _measure_bounds(raw_bounds: tuple[int, int]) -> tuple[int | None, int | None]:
    """Return a task's bounds, or None for both if not all chips are connected."""
    return (None, None) if raw_bounds[1] == DISCONNECTED else raw_bounds


def _list_failures(scope_graph: ScopeGraph, failure_kind: FailureKind) -> "list[Failure]":
    """Return each failure of a single part: a tuple with one part, which is a tuple of a node or of a link's ends."""
    graph = scope_graph.graph
    if failure_kind is FailureKind.LINK:
        return sorted(((min(edge), max(edge)),) for edge in graph.edges)
    return sorted(
        ((node,),) for node, attributes in graph.nodes(data=True) if attributes["kind"] == failure_kind.value.lower()
    )


def _part_address(scope_graph: ScopeGraph, part: Sequence[int]) -> str:
    """Return the address of a node, or A--B for a link."""
    return "--".join(scope_graph.graph.nodes[node]["address"] for node in part)
