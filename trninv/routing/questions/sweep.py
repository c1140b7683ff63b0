"""Answer which single failure, or pair of failures, costs most.

Failures that a symmetry of the wiring maps onto each other are solved once. A `concurrent.futures.Executor` solves
them: a process pool by default, or the caller's, such as a Dask cluster's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trninv import solvers
from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, ExactInt, Rendered, RenderedTable, bandwidth_range
from trninv.routing.cluster_islands import read_domain_classes
from trninv.routing.question import ROUTED_COST, Argument, question
from trninv.routing.scope import Scope, ScopeGraph
from trninv.routing.sweep_journal import Progress, solve_tasks
from trninv.routing.wiring_cache import SnapshotReader
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
_THROUGH_OTHERS = (SweepMeasure.WORST_FLOW, SweepMeasure.DIAMETER)
"""Measures taken on the whole domain, as in cut trees and distances: other chips may forward."""


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
        failure_summary = f"{pluralize(self.failures, 'failure')} of {pluralize(len(self.classes), 'kind')}"
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
    reader: SnapshotReader,
    scope: Annotated[
        str, Argument("Server, rack, domain or cluster; for a cluster, each of its domains.", metavar="SCOPE")
    ],
    fail: Annotated[FailureKind, Argument("What fails.")] = FailureKind.LINK,
    measure: Annotated[SweepMeasure, Argument("What to measure.")] = SweepMeasure.BISECTION,
    pairs: Annotated[bool, Argument("Fail every two parts together.")] = False,
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
    resolved_scope = Scope.resolve(reader, scope)
    domains = list[_SweepDomain]()
    for domain_scope, multiplicity in _sweep_domains(reader, resolved_scope):
        domains.append(_SweepDomain.from_scope(reader, domain_scope, multiplicity, fail, measure, pairs=pairs))
        if (class_count := sum(len(domain.classes) for domain in domains)) > limit:
            failures = sum(map(len, chain.from_iterable(domain.classes for domain in domains)))
            raise InvalidArgumentError(
                f"{failures:,} failures of {class_count:,} kinds exceed the limit; raise it (limit), or narrow "
                "the scope"
            )
    values = solve_tasks(chain.from_iterable(domain.tasks.values() for domain in domains), executor, journal, progress)
    worst_first = -1 if measure is SweepMeasure.DIAMETER else 1
    ranking = sorted(
        (
            (
                worst_first * values[domain.tasks[failure_class[0]].key][1],
                -domain.count(failure_class),
                failure_class,
                domain,
            )
        )
        for domain in domains
        for failure_class in domain.classes
    )
    healthy_bounds = min(
        (values[domain.tasks[()].key] for domain in domains), key=lambda bounds: worst_first * bounds[1]
    )
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
            reader,
            [attributes for graph in graphs for attributes in graph.nodes.values()],
            (attributes for graph in graphs for attributes in graph.edges.values()),
        ),
    )


def _sweep_domains(reader: SnapshotReader, scope: Scope) -> Iterator[tuple[Scope, int]]:
    """Yield scopes of one domain each: for several domains, one of each class with the number of its domains."""
    if len(scope.domains) == 1:
        yield scope, 1
        return
    for domain_class in read_domain_classes(reader, scope):
        wiring = reader.load(domain_class.domains[:1])
        chips = wiring.failed | {node for node, attributes in wiring.nodes.items() if attributes["kind"] == "chip"}
        members = chips if scope.members is None else chips & scope.members
        yield replace(scope, domains=domain_class.domains[:1], members=members), len(domain_class.domains)


@dataclass(frozen=True, order=True, slots=True)
class _SweepDomain:
    """A domain of a sweep.

    Attributes
    ----------
    domain
        Id of the domain.
    multiplicity
        Number of equal domains that it stands for.
    classes
        Failures by class.
    tasks
        The task of the first failure of each class, and of the empty failure ().

    """

    domain: int
    multiplicity: int = field(compare=False)
    scope_graph: ScopeGraph = field(compare=False)
    classes: "Sequence[Sequence[Failure]]" = field(compare=False)
    tasks: "Mapping[Failure, MeasureTask]" = field(compare=False)

    @classmethod
    def from_scope(
        cls,
        reader: SnapshotReader,
        scope: Scope,
        multiplicity: int,
        kind: FailureKind,
        measure: SweepMeasure,
        *,
        pairs: bool,
    ) -> "_SweepDomain":
        """List a domain's failures of a kind, or all pairs of them, and group them by symmetry."""
        single = _list_failures(scope.graph(reader, "a sweep"), kind)
        scope_graph = replace(scope, forwarding=measure in _THROUGH_OTHERS).graph(reader, "a sweep")
        failures = [tuple(sorted((*a, *b))) for a, b in combinations(single, 2)] if pairs else single
        classes = solvers.symmetry.failure_orbits(failures, solvers.symmetry.automorphisms(scope_graph.graph))
        graph_arguments, nodes = (
            (scope_graph.graph, scope_graph.endpoints, scope_graph.failed_count),
            Settings.load().bisection_nodes,
        )
        failures_to_solve: list[Failure] = [(), *(failure_class[0] for failure_class in classes)]
        tasks = {
            failure: MeasureTask.from_graph(*graph_arguments, failure, measure, nodes) for failure in failures_to_solve
        }
        return cls(scope.domains[0], multiplicity, scope_graph, classes, tasks)

    def count(self, failures: "Sequence[Failure]") -> int:
        """Return the number of failures of a class in all equal domains."""
        return len(failures) * self.multiplicity

    def to_failure_class(self, failures: "Sequence[Failure]", values: Mapping[str, tuple[int, int]]) -> FailureClass:
        """Return a class of failures for the answer; ``values`` has the bounds of each task."""
        (_, upper_before), (lower, upper) = (
            _measure_bounds(values[self.tasks[failure].key]) for failure in ((), failures[0])
        )
        names = tuple(_part_address(self.scope_graph, part) for part in failures[0])
        change = None if upper is None or upper_before is None else upper - upper_before
        return FailureClass(names, self.count(failures), lower, upper, change)


def _measure_bounds(raw_bounds: tuple[int, int]) -> tuple[int | None, int | None]:
    return (None, None) if raw_bounds[1] == DISCONNECTED else raw_bounds


def _list_failures(scope_graph: ScopeGraph, failure_kind: FailureKind) -> "list[Failure]":
    graph = scope_graph.graph
    if failure_kind is FailureKind.LINK:
        return sorted(((min(edge), max(edge)),) for edge in graph.edges)
    return sorted(
        ((node,),) for node, attributes in graph.nodes(data=True) if attributes["kind"] == failure_kind.value.lower()
    )


def _part_address(scope_graph: ScopeGraph, part: Sequence[int]) -> str:
    return "--".join(scope_graph.graph.nodes[node]["address"] for node in part)
