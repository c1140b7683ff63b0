"""Which failure of one thing, or of two, does the most damage.

Failures that a symmetry of the wiring maps onto each other are solved once. The work goes through a
`concurrent.futures.Executor`: processes by default, a Dask cluster's where one is given.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trninv import solvers
from trninv.choice import Choice
from trninv.errors import LimitError
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Exact, Table, Told, span
from trninv.routing.cluster import islands
from trninv.routing.journal import Progress, solved
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.scope import Inside, Scope
from trninv.routing.wiring import Reader
from trninv.settings import Settings
from trninv.solvers.damage import UNJOINED, Measure, Task
from trninv.units import Bandwidth, counted

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trninv.solvers.symmetry import Failure

MAX_CLASSES = 2_000
"""Classes of failures that a sweep solves unless told to."""

_DEFINED = "each failure of the kind alone, or each pair, on the wiring as it is now; the worst first; "
_CLUSTER = "; in each domain of the cluster alone, those alike solved once and counted"
_THROUGH_OTHERS = (Measure.WORST_FLOW, Measure.DIAMETER)
"""Measured on the whole domain, as cut trees and distances are: other chips may forward."""


class Fail(Choice):
    """What fails."""

    LINK = "LINK", "Each link."
    CHIP = "CHIP", "Each chip."
    SWITCH = "SWITCH", "Each switch."


@dataclass(frozen=True, slots=True)
class SweepClass:
    """Failures that a symmetry of the wiring maps onto each other."""

    failed: Annotated[tuple[At, ...], "What fails in one of them."]
    count: Annotated[int, "How many there are."]
    lower: Annotated[
        Exact | None, "Proven bound of the measure; null for the diameter of chips that are not all joined."
    ]
    upper: Annotated[Exact | None, "Proven bound of the measure."]
    change: Annotated[Exact | None, "Upper bound less that of the domain as it is, where both are numbers."]

    @property
    def exact(self) -> bool:
        """Whether both bounds are equal."""
        return self.lower == self.upper


@dataclass(frozen=True, kw_only=True)
class SweepAnswer(Answer):
    """Failures by damage, the worst first."""

    of: Annotated[At, "The scope."]
    measure: Annotated[Measure, "What was measured."]
    lower: Annotated[
        Exact | None, "Proven: the wiring as it is has no less of the measure; of several domains the worst."
    ]
    upper: Annotated[Exact | None, "Proven: the wiring as it is has no more; of several domains the worst."]
    failures: Annotated[int, "How many were looked at."]
    classes: Annotated[tuple[SweepClass, ...], "Failures that are alike, the worst first."]

    def told(self) -> Told:
        kinds = f"{counted(self.failures, 'failure')} of {counted(len(self.classes), 'kind')}"
        whose = " of its worst domain" if self.definition.endswith(_CLUSTER) else ""
        yield f"{self.of}: {self.measure.lower().replace('_', ' ')}{whose} {self._shown(self)}; {kinds}"
        rows = ([" + ".join(row.failed), row.count, self._shown(row), self._change(row)] for row in self.classes)
        yield Table(["failed, for one", "alike", "then", "change"], rows)

    def _shown(self, value: "SweepAnswer | SweepClass") -> str:
        if value.lower is None or value.upper is None:
            return "not all joined"
        if self.measure is Measure.DIAMETER:
            return counted(value.upper, "hop")
        return span([Bandwidth(value.lower), Bandwidth(value.upper)])

    def _change(self, row: SweepClass) -> str:
        if row.change is None:
            return ""
        if self.measure is Measure.DIAMETER:
            return f"{row.change:+d} hops"
        return f"{row.change / 10**9:+,g} GB/s" + (f" ({row.change / self.upper:+.1%})" if self.upper else "")


@question(
    price=100 * ROUTED,
    field="",  # it takes minutes
    job="startSweep",
    compares=False,
    examples=(
        "sweep u-trn2x64 --fail link --measure all-gather",
        "sweep trn3-gen1 --fail chip --measure nominal --journal gen1.jsonl",
    ),
)
def sweep(
    reader: Reader,
    of: Annotated[str, Argument("Server, rack, domain or cluster; of a cluster each domain.", metavar="SCOPE")],
    fail: Annotated[Fail, Argument("What fails.")] = Fail.LINK,
    measure: Annotated[Measure, Argument("What is measured.")] = Measure.BISECTION,
    pairs: Annotated[bool, Argument("Every two of them together.")] = False,
    most: Annotated[int, Argument("Classes of failures that may be solved.", least=1, option="--limit")] = MAX_CLASSES,
    *,
    executor: "Executor | None" = None,
    journal: Path | None = None,
    progress: Progress = lambda *_: None,
) -> SweepAnswer:
    """Which single failure, or pair, does the most damage; failures that are alike are solved once and counted."""
    scope = Scope.of(reader, of)
    parts = list[_Part]()
    for each, alike in _domains(reader, scope):
        parts.append(_Part.of(reader, each, alike, fail, measure, pairs=pairs))
        if (kinds := sum(len(part.classes) for part in parts)) > most:
            failures = sum(map(len, chain.from_iterable(part.classes for part in parts)))
            raise LimitError(f"{failures:,} failures of {kinds:,} kinds: allow as many (limit), or narrow the scope")
    values = solved(chain.from_iterable(part.tasks.values() for part in parts), executor, journal, progress)
    worst_first = -1 if measure is Measure.DIAMETER else 1
    ranked = sorted(
        ((worst_first * values[part.tasks[alike[0]].key][1], -part.count(alike), alike, part))
        for part in parts
        for alike in part.classes
    )
    whole = min((values[part.tasks[()].key] for part in parts), key=lambda bounds: worst_first * bounds[1])
    lower, upper = _joined(whole)
    graphs = [part.inside.graph for part in parts]
    measured = measure.says[0].lower() + measure.says[1:].removesuffix(".")
    return SweepAnswer(
        of=scope.place.address,
        measure=measure,
        lower=lower,
        upper=upper,
        failures=sum(part.count(alike) for _, _, alike, part in ranked),
        classes=tuple(part.told(alike, values) for _, _, alike, part in ranked),
        definition=_DEFINED + measured + (_CLUSTER if len(scope.domains) > 1 else ""),
        facts=evidence.of_wiring(
            reader,
            [of for graph in graphs for of in graph.nodes.values()],
            (of for graph in graphs for of in graph.edges.values()),
        ),
    )


def _domains(reader: Reader, scope: Scope) -> Iterator[tuple[Scope, int]]:
    """The scope; of one with several domains one of each kind, and how many there are."""
    if len(scope.domains) == 1:
        yield scope, 1
        return
    for kind in islands(reader, scope):
        wiring = reader.load(kind.domains[:1])
        chips = wiring.failed | {node for node, of in wiring.nodes.items() if of["kind"] == "chip"}
        members = chips if scope.members is None else chips & scope.members
        yield replace(scope, domains=kind.domains[:1], members=members), len(kind.domains)


@dataclass(frozen=True, order=True, slots=True)
class _Part:
    """A domain and how many are ``alike``, its failures by class, and what is to be solved; () is no failure."""

    domain: int
    alike: int = field(compare=False)
    inside: Inside = field(compare=False)
    classes: "Sequence[Sequence[Failure]]" = field(compare=False)
    tasks: "Mapping[Failure, Task]" = field(compare=False)

    @classmethod
    def of(cls, reader: Reader, scope: Scope, alike: int, fail: Fail, measure: Measure, *, pairs: bool) -> "_Part":
        single = _failures(scope.inside(reader, "a sweep"), fail)
        inside = replace(scope, transit=measure in _THROUGH_OTHERS).inside(reader, "a sweep")
        failures = [tuple(sorted((*a, *b))) for a, b in combinations(single, 2)] if pairs else single
        classes = solvers.symmetry.classes(failures, solvers.symmetry.symmetries(inside.graph))
        damaged, nodes = (inside.graph, inside.ends, inside.lost), Settings.load().bisection_nodes
        solving: list[Failure] = [(), *(each[0] for each in classes)]
        tasks = {failure: Task.of(*damaged, failure, measure, nodes) for failure in solving}
        return cls(scope.domains[0], alike, inside, classes, tasks)

    def count(self, failures: "Sequence[Failure]") -> int:
        return len(failures) * self.alike

    def told(self, failures: "Sequence[Failure]", values: Mapping[str, tuple[int, int]]) -> SweepClass:
        (_, before), (lower, upper) = (_joined(values[self.tasks[each].key]) for each in ((), failures[0]))
        names = tuple(_name(self.inside, part) for part in failures[0])
        change = None if upper is None or before is None else upper - before
        return SweepClass(names, self.count(failures), lower, upper, change)


def _joined(bounds: tuple[int, int]) -> tuple[int | None, int | None]:
    return (None, None) if bounds[1] == UNJOINED else bounds


def _failures(inside: Inside, fail: Fail) -> "list[Failure]":
    graph = inside.graph
    if fail is Fail.LINK:
        return sorted(((min(edge), max(edge)),) for edge in graph.edges)
    return sorted(((node,),) for node, of in graph.nodes(data=True) if of["kind"] == fail.value.lower())


def _name(inside: Inside, part: Sequence[int]) -> str:
    return "--".join(inside.graph.nodes[node]["address"] for node in part)
