"""Which failure of one thing, or of two, does the most damage.

Failures that a symmetry of the wiring maps onto each other are solved once. The work goes through a
`concurrent.futures.Executor`: processes by default, a Dask cluster's where one is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trninv import solvers
from trninv.choice import Choice
from trninv.errors import LimitError
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Exact, Table, Told, span
from trninv.routing.journal import Progress, solved
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.scope import Inside, Scope
from trninv.routing.wiring import Reader
from trninv.settings import Settings
from trninv.solvers.damage import UNJOINED, Measure
from trninv.units import Bandwidth, counted

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trninv.solvers.symmetry import Failure

MAX_CLASSES = 2_000
"""Classes of failures that a sweep solves unless told to."""

_DEFINED = "each failure of the kind alone, or each pair, on the wiring as it is now; the worst first; "
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
    change: Annotated[Exact | None, "Upper bound less that of the wiring as it is, where both are numbers."]

    @property
    def exact(self) -> bool:
        """Whether both bounds are equal."""
        return self.lower == self.upper


@dataclass(frozen=True, kw_only=True)
class SweepAnswer(Answer):
    """Failures by damage, the worst first."""

    of: Annotated[At, "The scope."]
    measure: Annotated[Measure, "What was measured."]
    lower: Annotated[Exact | None, "Proven bound of the measure of the wiring as it is."]
    upper: Annotated[Exact | None, "Proven bound of the measure of the wiring as it is."]
    failures: Annotated[int, "How many were looked at."]
    classes: Annotated[tuple[SweepClass, ...], "Failures that are alike, the worst first."]

    def told(self) -> Told:
        kinds = f"{counted(self.failures, 'failure')} of {counted(len(self.classes), 'kind')}"
        yield f"{self.of}: {self.measure.lower().replace('_', ' ')} {self._shown(self)}; {kinds}"
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
    field="",  # it would take a server's processors for minutes
    compares=False,
    examples=(
        "sweep u-trn2x64 --fail link --measure all-gather",
        "sweep trn3-gen1 --fail chip --measure nominal --journal gen1.jsonl",
    ),
)
def sweep(
    reader: Reader,
    of: Annotated[str, Argument("Server, rack or domain, or what else lies in one domain.", metavar="SCOPE")],
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
    single = _failures(scope.inside(reader, "a sweep"), fail)
    inside = replace(scope, transit=measure in _THROUGH_OTHERS).inside(reader, "a sweep")
    failures = [tuple(sorted((*a, *b))) for a, b in combinations(single, 2)] if pairs else single
    found = solvers.symmetry.classes(failures, solvers.symmetry.symmetries(inside.graph))
    if len(found) > most:
        raise LimitError(
            f"{len(failures):,} failures of {len(found):,} kinds: allow as many (limit), or narrow the scope"
        )
    nodes = Settings.load().bisection_nodes
    damaged = inside.graph, inside.ends, inside.lost
    tasks = {alike[0]: solvers.damage.Task.of(*damaged, alike[0], measure, nodes) for alike in found}
    whole = solvers.damage.Task.of(*damaged, (), measure, nodes)
    values = solved([whole, *tasks.values()], executor, journal, progress)
    worst_first = -1 if measure is Measure.DIAMETER else 1
    found.sort(key=lambda alike: (worst_first * values[tasks[alike[0]].key][1], -len(alike), alike))
    low, high = _joined(values[whole.key])
    listed = []
    for alike in found:
        lower, upper = _joined(values[tasks[alike[0]].key])
        names = tuple(_name(inside, part) for part in alike[0])
        change = None if upper is None or high is None else upper - high
        listed.append(SweepClass(names, len(alike), lower, upper, change))
    return SweepAnswer(
        of=scope.place.address,
        measure=measure,
        lower=low,
        upper=high,
        failures=len(failures),
        classes=tuple(listed),
        definition=_DEFINED + measure.says[0].lower() + measure.says[1:].removesuffix("."),
        facts=evidence.of_wiring(reader, inside.graph.nodes.values(), inside.graph.edges.values()),
    )


def _joined(bounds: tuple[int, int]) -> tuple[int | None, int | None]:
    return (None, None) if bounds[1] == UNJOINED else bounds


def _failures(inside: Inside, fail: Fail) -> "list[Failure]":
    graph = inside.graph
    if fail is Fail.LINK:
        return sorted(((min(edge), max(edge)),) for edge in graph.edges)
    return sorted(((node,),) for node, of in graph.nodes(data=True) if of["kind"] == fail.value.lower())


def _name(inside: Inside, part: Sequence[int]) -> str:
    return "--".join(inside.graph.nodes[node]["address"] for node in part)
