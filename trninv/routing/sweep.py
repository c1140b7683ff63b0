"""Sweeps: every failure of one thing, or of two, against a measure, ranked by damage.

Failures that a symmetry of the wiring maps onto each other are solved once. The work goes through a
`concurrent.futures.Executor`: processes by default, a Dask cluster's where one is given.
"""

import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from math import ceil, floor
from pathlib import Path

from trninv.errors import LimitError, UsageError, WorkerError
from trninv.routing import evidence
from trninv.routing.bisection import bisect
from trninv.routing.collective import concurrent, gather
from trninv.routing.cuttree import cut_tree, worst_pair
from trninv.routing.graph import Graph
from trninv.routing.pool import hops_from
from trninv.routing.scope import Inside, Scope
from trninv.routing.surveys import SweepAnswer, SweepClass
from trninv.routing.symmetry import Failure, classes, symmetries
from trninv.routing.wiring import Reader

Progress = Callable[[str, int, int], None]

_SWEEP = "each failure of the kind alone, or each pair, on the wiring as it is now; the worst first; "


class Fail(StrEnum):
    LINK = "LINK"
    CHIP = "CHIP"
    SWITCH = "SWITCH"


class Measure(StrEnum):
    """What is measured, of one direction.

    BISECTION of the healthy chips, NOMINAL with the failed ones as fillers; ALL_GATHER and ALL_TO_ALL, limits of a
    chip; WORST_FLOW, the maximum flow of the worst connected pair of chips; DIAMETER in hops.
    """

    BISECTION = "BISECTION"
    NOMINAL = "NOMINAL"
    ALL_GATHER = "ALL_GATHER"
    ALL_TO_ALL = "ALL_TO_ALL"
    WORST_FLOW = "WORST_FLOW"
    DIAMETER = "DIAMETER"


_MEANING = {
    Measure.BISECTION: "bisection of the healthy chips (balance LIVE), bytes per second in one direction",
    Measure.NOMINAL: "bisection with failed chips as fillers (NOMINAL), bytes per second in one direction",
    Measure.ALL_GATHER: "all-gather's limit, bus bandwidth of a chip in bytes per second, one direction",
    Measure.ALL_TO_ALL: "all-to-all's limit, what a chip sends in bytes per second, one direction",
    Measure.WORST_FLOW: "maximum flow of the worst connected pair of chips, bytes per second in one direction",
    Measure.DIAMETER: "hops between the farthest pair of chips; no diameter where a pair is not joined",
}


_UNJOINED = 2**31
"""Diameter of chips that are not all joined."""
_THROUGH_OTHERS = (Measure.WORST_FLOW, Measure.DIAMETER)
"""Measured on the whole domain, as `cut_tree` and `distances` do: other chips may forward."""


@dataclass(frozen=True, slots=True)
class Task:
    """A wiring and what to measure of it, in plain values that travel to other processes."""

    ends: tuple[int, ...]
    nodes: tuple[tuple[int, str, tuple[int, ...] | None], ...]
    edges: tuple[tuple[int, int, int], ...]
    lost: int
    measure: Measure
    seconds: float

    @classmethod
    def of(cls, inside: Inside, failure: Failure, measure: Measure, seconds: float) -> "Task":
        gone = {part[0] for part in failure if len(part) == 1}
        cut = {frozenset(part) for part in failure if len(part) == 2}  # noqa: PLR2004 # both ends of a link
        graph = inside.graph
        nodes = ((node, of["kind"], of["position"]) for node, of in graph.nodes(data=True) if node not in gone)
        edges = (
            (min(a, b), max(a, b), of["capacity"])
            for a, b, of in graph.edges(data=True)
            if not gone & {a, b} and frozenset((a, b)) not in cut
        )
        ends = tuple(end for end in inside.ends if end not in gone)
        lost = inside.lost + len(inside.ends) - len(ends)
        return cls(ends, tuple(sorted(nodes)), tuple(sorted(edges)), lost, measure, seconds)

    @property
    def key(self) -> str:
        """The same for the same task in any run."""
        said = repr((self.ends, self.nodes, self.edges, self.lost, self.measure.value))
        return hashlib.sha256(said.encode()).hexdigest()[:24]


def solve(task: Task) -> tuple[int, int]:
    """Bounds on the measure."""
    graph = Graph()
    for node, kind, position in task.nodes:
        graph.add_node(node, kind=kind, position=position)
    for a, b, carries in task.edges:
        graph.add_edge(a, b, capacity=carries)
    chips = list(task.ends)
    others = len(chips) - 1
    match task.measure:
        case Measure.BISECTION | Measure.NOMINAL:
            fillers = task.lost if task.measure is Measure.NOMINAL else 0
            split = bisect(graph, chips, fillers=fillers, seconds=task.seconds)
            return split.lower, split.upper
        case Measure.ALL_GATHER:
            best = gather(graph, dict.fromkeys(chips, 1))
            rate = best.rate * others if best else 0
            return floor(rate), ceil(rate)
        case Measure.ALL_TO_ALL:
            theta = concurrent(graph, dict.fromkeys(chips, 1))
            return floor(theta.lower * others), ceil(theta.upper * others)
        case Measure.WORST_FLOW:
            worst, _ = worst_pair(cut_tree(graph), set(chips))
            return worst, worst
        case Measure.DIAMETER:
            hops = [hops_from(graph, [chip]) for chip in chips]
            farthest = max((reached.get(other, _UNJOINED) for reached in hops for other in chips), default=0)
            return farthest, farthest


def sweep_answer(  # what it is made of
    reader: Reader,
    of: str,
    fail: Fail,
    measure: Measure,
    *,
    pairs: bool,
    most: int,
    seconds: float,
    executor: Executor | None,
    journal: Path | None,
    progress: Progress,
) -> SweepAnswer:
    """Every failure of a kind in a scope within one domain.

    Raises
    ------
    LimitError
        More classes of failures than ``most``.
    WorkerError
        A worker process died.

    """
    scope = Scope.of(reader, of)
    single = _failures(scope.inside(reader, "a sweep"), fail)
    inside = replace(scope, transit=measure in _THROUGH_OTHERS).inside(reader, "a sweep")
    failures = [tuple(sorted((*a, *b))) for a, b in combinations(single, 2)] if pairs else single
    found = classes(failures, symmetries(inside.graph))
    if len(found) > most:
        raise LimitError(
            f"{len(failures):,} failures of {len(found):,} kinds: allow as many (limit), or narrow the scope"
        )
    tasks = {failure[0]: Task.of(inside, failure[0], measure, seconds) for failure in found}
    whole = Task.of(inside, (), measure, seconds)
    values = _solved([whole, *tasks.values()], executor, journal, progress)
    worst_first = -1 if measure is Measure.DIAMETER else 1
    found.sort(key=lambda alike: (worst_first * values[tasks[alike[0]].key][1], -len(alike), alike))
    low, high = _joined(values[whole.key])
    listed = []
    for alike in found:
        lower, upper = _joined(values[tasks[alike[0]].key])
        names = tuple(_name(inside.graph, part) for part in alike[0])
        change = None if upper is None or high is None else upper - high
        listed.append(SweepClass(names, len(alike), lower, upper, change))
    return SweepAnswer(
        of=scope.place.address,
        measure=measure.value,
        lower=low,
        upper=high,
        failures=len(failures),
        classes=tuple(listed),
        definition=_SWEEP + _MEANING[measure],
        facts=evidence.of_wiring(reader.connection, inside.graph.nodes.values(), inside.graph.edges.values()),
    )


def _joined(bounds: tuple[int, int]) -> tuple[int | None, int | None]:
    return (None, None) if bounds[1] == _UNJOINED else bounds


def _failures(inside: Inside, fail: Fail) -> list[Failure]:
    graph = inside.graph
    if fail is Fail.LINK:
        return sorted(((min(edge), max(edge)),) for edge in graph.edges)
    return sorted(((node,),) for node, of in graph.nodes(data=True) if of["kind"] == fail.value.lower())


def _name(graph: Graph, part: Sequence[int]) -> str:
    return "--".join(graph.nodes[node]["address"] for node in part)


def _solved(
    tasks: Iterable[Task], executor: Executor | None, journal: Path | None, progress: Progress
) -> dict[str, tuple[int, int]]:
    """Values by task; what a journal has is not solved again, and each new one is added to it at once."""
    wanted = {task.key: task for task in tasks}
    kept = _read(journal)
    values = {
        key: (lower, upper)
        for key, task in wanted.items()
        for lower, upper, seconds in kept.get(key, ())
        if lower == upper or seconds >= task.seconds
    }
    left = [task for key, task in wanted.items() if key not in values]
    with _pool(executor, len(left)) as pool:
        waiting: dict[Future[tuple[int, int]], str] = {pool.submit(solve, task): task.key for task in left}
        try:
            for done in as_completed(waiting):
                values[waiting[done]] = done.result()
                task, (lower, upper) = wanted[waiting[done]], values[waiting[done]]
                row = {"task": task.key, "lower": lower, "upper": upper, "seconds": task.seconds}
                _append(journal, json.dumps(row))
                progress("failures", len(values), len(wanted))
        except BrokenProcessPool:
            again = f"run it again: {journal} has what was solved" if journal else "a journal would keep what is solved"
            raise WorkerError(f"a worker process died (out of memory?): {again}") from None
        finally:
            for future in waiting:
                future.cancel()
    return values


@contextmanager
def _pool(executor: Executor | None, tasks: int) -> Iterator[Executor]:
    if executor is not None:
        yield executor
        return
    with ProcessPoolExecutor(max_workers=max(min(os.cpu_count() or 1, tasks), 1)) as own:
        try:
            yield own
        except BaseException:
            own.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()  # a solver may be at work for seconds yet
            raise


def _read(journal: Path | None) -> dict[str, list[tuple[int, int, float]]]:
    """Bounds by task with the time that they were given; what is not a result of a sweep is passed over.

    Raises
    ------
    UsageError
        The file can't be read or written.

    """
    found: dict[str, list[tuple[int, int, float]]] = {}
    if journal is None:
        return found
    try:
        journal.touch()
        text = journal.read_text("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"can't keep a journal in {journal}: {error.strerror}") from None
    if text and not text.endswith("\n"):  # a kill cut the last line short
        _append(journal, "")
    for line in text.splitlines():
        try:
            row = json.loads(line)
            bounds = int(row["lower"]), int(row["upper"]), float(row["seconds"])
            found.setdefault(str(row["task"]), []).append(bounds)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
    return found


def _append(journal: Path | None, line: str) -> None:
    if journal is not None:
        with journal.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
