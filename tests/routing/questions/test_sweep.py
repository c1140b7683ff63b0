"""Sweeps: symmetric failures really are alike, work survives kills, and every way to run one gives the same answer."""

import json
import signal
import time
from collections import Counter
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import pytest

import trninv
from conftest import BACKENDS, Databases, Run
from graphs import domain, seed_clusters
from trninv.errors import InvalidArgumentError, UsageError, WorkerError
from trninv.routing.fleet import BaseFleet
from trninv.routing.questions.sweep import SweepAnswer
from trninv.solvers.graph import weighted_edges
from trninv.solvers.symmetry import automorphisms, failure_orbits

pytestmark = pytest.mark.slow_on_postgresql

if TYPE_CHECKING:
    import subprocess

GB = 10**9


class Inline(Executor):
    """Runs at once, and counts."""

    done = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.done += 1
        future.set_result(fn(*args, **kwargs))
        return future


def _interrupt(_what: str, done: int, _total: int) -> None:
    if done == 5:  # some, but not all
        raise KeyboardInterrupt


def _plain(answer: SweepAnswer) -> list[tuple[tuple[str, ...], int, int | None, int | None]]:
    return [(row.failure, row.count, row.lower, row.upper) for row in answer.classes]


@pytest.mark.parametrize(
    ("scope", "order"), [("trn2-16.48xlarge", 5), ("u-trn2x64", 7), ("trn3-gen1", 32), ("trn3-gen2", 72)]
)
def test_symmetries_keep_every_link_and_its_capacity(lite_fleet: BaseFleet, scope: str, order: int) -> None:
    graph = domain(lite_fleet, scope)
    found = automorphisms(graph)
    carries = {frozenset((a, b)): c for a, b, c in weighted_edges(graph)}
    assert len(found) >= order
    for image in found:
        assert sorted(image) == sorted(image.values()) == sorted(graph)
        assert all(carries[frozenset(image[node] for node in edge)] == c for edge, c in carries.items())


@pytest.mark.parametrize(
    ("scope", "fail", "sizes"),
    [
        ("u-trn2x64", "link", [64, 128]),
        ("u-trn2x64", "chip", [64]),
        ("trn3-gen1", "link", [32, 64, 64]),
        ("trn3-gen2", "chip", [144]),
        ("trn3-gen2", "switch", [2, 36]),
    ],
)
def test_how_many_kinds_of_failures_there_are(lite_fleet: BaseFleet, scope: str, fail: str, sizes: list[int]) -> None:
    answer = lite_fleet.sweep(scope, fail, "diameter", executor=Inline())
    assert sorted(row.count for row in answer.classes) == sizes
    assert answer.failures == sum(sizes)


@pytest.mark.parametrize(
    "measure",
    ["bisection", *(pytest.param(each, marks=pytest.mark.slow) for each in ("all_gather", "worst_flow", "diameter"))],
)
def test_what_is_solved_once_holds_for_every_one_of_its_class(lite_fleet: BaseFleet, measure: str) -> None:
    """On a damaged server, each failure on its own."""
    damaged = lite_fleet.what_if(
        ["trn2-16.48xlarge/d0/s0/c5"], {"trn2-16.48xlarge/d0/s0/c1--trn2-16.48xlarge/d0/s0/c2": 0.5}
    )
    answer = damaged.sweep("trn2-16.48xlarge", "link", measure, executor=Inline())
    graph = domain(lite_fleet, "trn2-16.48xlarge")
    name = dict(graph.nodes(data="address"))
    down = {name[5 + min(graph)]}
    rest = damaged.graph("trn2-16.48xlarge")
    assert answer.failures == sum(of["technology"] != "EFA" for _, _, of in rest.edges(data=True))
    values = sorted((row.upper or 0, row.count) for row in answer.classes)
    assert not down & {part for row in answer.classes for link in row.failure for part in link.split("--")}
    singles: list[int] = []
    for a, b, of in rest.edges(data=True):
        if of["technology"] != "EFA":
            supposed = damaged.what_if([f"{a}--{b}"])
            match measure:
                case "bisection":
                    singles.append(supposed.bisection("trn2-16.48xlarge").upper)
                case "all_gather":
                    singles.append(supposed.collectives("trn2-16.48xlarge").all_gather.upper)
                case "worst_flow":
                    singles.append(supposed.cut_tree("trn2-16.48xlarge").min_flow)
                case _:
                    singles.append(supposed.distances("trn2-16.48xlarge").diameter or 0)
    assert sorted(upper for upper, count in values for _ in range(count)) == sorted(singles)


def test_the_worst_comes_first_and_the_baseline_is_there(fleet: BaseFleet) -> None:
    answer = fleet.sweep("u-trn2x64", "link", "all-gather", executor=Inline())
    assert (answer.lower, answer.upper) == (640 * GB, 640 * GB)
    assert [(row.upper, row.change, row.count) for row in answer.classes] == [
        (512 * GB, -128 * GB, 128),
        (576 * GB, -64 * GB, 64),
    ]
    pairs = fleet.sweep("trn1.32xlarge", "link", pairs=True, executor=Inline())
    assert pairs.failures == 32 * 31 // 2
    assert pairs.classes[0].upper == 288 * GB  # two of the eight links of a cut
    assert all(row.exact for row in pairs.classes)


def test_a_diameter_of_what_is_not_joined_is_none(fleet: BaseFleet) -> None:
    server = "trn1.32xlarge/d0/s0"
    alone = fleet.what_if([f"{server}/c0--{server}/c{near}" for near in (1, 3, 4, 12)])
    answer = alone.sweep("trn1.32xlarge", "chip", "diameter", executor=Inline())
    assert (answer.lower, answer.upper) == (None, None)
    joined = next(row for row in answer.classes if row.failure == (f"{server}/c0",))
    assert (joined.upper, joined.change) == (4, None)
    assert answer.classes[0].upper is None


def test_symmetric_failures_of_a_graph_that_lost_its_symmetry_are_not_alike(fleet: BaseFleet) -> None:
    graph = domain(fleet, "trn2-16.48xlarge").copy()
    graph.remove_edge(*next(iter(graph.edges)))
    failures = [((node,),) for node in graph]
    for alike in failure_orbits(failures, automorphisms(graph)):
        degrees = {tuple(sorted(d for _, d in graph.degree(graph[part[0][0]]))) for part in alike}
        assert len(degrees) == 1
    assert len(failure_orbits(failures, automorphisms(graph))) > 1
    assert nx.is_connected(graph)


def test_a_journal_goes_on_where_it_was_interrupted(fleet: BaseFleet, tmp_path: Path) -> None:
    journal = tmp_path / "sweep.jsonl"
    whole = Inline()
    wanted = fleet.sweep("trn2-16.48xlarge", pairs=True, executor=whole)
    with pytest.raises(KeyboardInterrupt):
        fleet.sweep("trn2-16.48xlarge", pairs=True, executor=Inline(), journal=journal, progress=_interrupt)
    kept = len(journal.read_text().splitlines())
    assert kept == 5
    garbage = '{"task": "x", "lower": Infinity, "upper": 1, "nodes": 1}\n' + "[" * 100_000 + '\n{"task": "cut sho'
    journal.write_bytes(journal.read_bytes() + b"\xff\xfe\n" + garbage.encode())
    rest = Inline()
    again = fleet.sweep("trn2-16.48xlarge", pairs=True, executor=rest, journal=journal)
    assert rest.done == whole.done - kept
    assert _plain(again) == _plain(wanted)
    nothing = Inline()
    assert _plain(fleet.sweep("trn2-16.48xlarge", pairs=True, executor=nothing, journal=journal)) == _plain(wanted)
    assert nothing.done == 0


def test_processes_threads_and_the_calling_one_agree(fleet: BaseFleet) -> None:
    wanted = _plain(fleet.sweep("trn3-gen1", "chip", "nominal", executor=Inline()))
    assert _plain(fleet.sweep("trn3-gen1", "chip", "nominal")) == wanted
    with ThreadPoolExecutor(2) as threads:
        assert _plain(fleet.sweep("trn3-gen1", "chip", "nominal", executor=threads)) == wanted


class _Suicidal(Executor):
    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ARG002
        from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415

        future: Future[Any] = Future()
        future.set_exception(BrokenProcessPool("gone"))
        return future


def test_what_can_not_be_swept_is_refused(fleet: BaseFleet, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="496 failures in 11 classes"):
        fleet.sweep("trn2-16.48xlarge", pairs=True, limit=3, executor=Inline())
    with pytest.raises(InvalidArgumentError, match="choose"):
        fleet.sweep("trn2-16.48xlarge", "server", executor=Inline())
    with pytest.raises(WorkerError, match="run it again"):
        fleet.sweep("trn2-16.48xlarge", executor=_Suicidal(), journal=tmp_path / "j")
    with pytest.raises(UsageError, match="can't keep a journal"):
        fleet.sweep("trn2-16.48xlarge", executor=Inline(), journal=tmp_path / "nowhere" / "j")
    nothing = fleet.what_if(["trn1.2xlarge/d0/s0/c0"]).sweep("trn1.2xlarge", executor=Inline())
    assert (nothing.failures, nothing.classes, nothing.upper) == (0, (), 0)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_answer(
    run: Run, dask: tuple[str, list["subprocess.Popen[bytes]"]], tmp_path: Path
) -> None:
    address, workers = dask
    journal = tmp_path / "journal.jsonl"
    command = ["sweep", "u-trn2x64", "--fail", "link", "--measure", "all-to-all", "--format", "json"]
    damaged = [*command, "--down", "u-trn2x64/d0/s0/c0", "--limit", "100"]
    _, wanted, _ = run(*damaged)

    def kill_one() -> None:
        end = time.monotonic() + 60
        while not journal.exists() and time.monotonic() < end:
            time.sleep(0.05)
        workers[0].send_signal(signal.SIGKILL)

    with ThreadPoolExecutor(1) as beside:
        killed = beside.submit(kill_one)
        status, found, error = run(*damaged, "--scheduler", address, "--journal", str(journal))
        killed.result()
    assert (status, error) == (0, "")
    assert json.loads(found) == json.loads(wanted)
    assert workers[0].wait() == -signal.SIGKILL


def test_no_scheduler_is_one_line(run: Run) -> None:
    pytest.importorskip("distributed")
    status, _, error = run("sweep", "trn1.32xlarge", "--scheduler", "nonsense://x")
    assert (status, error.count("\n")) == (1, 1)
    assert "no Dask scheduler at nonsense://x" in error


@pytest.mark.parametrize("measure", ["bisection", "diameter"])
def test_a_cluster_is_swept_domain_by_domain(databases: Databases, measure: str) -> None:
    """Each kind of domain once: what is counted is what sweeps of all domains count together."""
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"trn2": 4})) as fleet:
        damaged, inline = fleet.what_if("c-trn2/d2/s0/c5"), Inline()
        found = damaged.sweep("c-trn2", "chip", measure, executor=inline)
        solved_once = inline.done
        single = [damaged.sweep(f"c-trn2/d{at}", "chip", measure, executor=inline) for at in range(4)]
    counted: Counter[tuple[int | None, int | None, int | None]] = Counter()
    for answer in single:
        for row in answer.classes:
            counted[row.lower, row.upper, row.change] += row.count
    together: Counter[tuple[int | None, int | None, int | None]] = Counter()
    for row in found.classes:
        together[row.lower, row.upper, row.change] += row.count
    assert together == counted
    assert found.failures == sum(answer.failures for answer in single) == 63
    assert found.classes[0].upper == (max if measure == "diameter" else min)(row.upper or 0 for row in found.classes)
    assert solved_once == (inline.done - solved_once) - 2 * (1 + len(single[0].classes))
    assert "each domain" in found.definition
    assert found.upper == (max if measure == "diameter" else min)(answer.upper or 0 for answer in single)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cluster_is_headed_with_what_is_one_domains(databases: Databases, backend: str) -> None:
    """The cluster itself has another bisection."""
    with trninv.open(seed_clusters(databases.migrated(backend), {"trn1": 2})) as fleet:
        whole, one = (fleet.sweep(f"c-trn1{scope}", "chip", executor=Inline()) for scope in ("", "/d0"))
        assert next(iter(whole.render())) == "c-trn1: bisection of its worst domain 384 GB/s; 32 failures in 1 class"
        assert next(iter(one.render())) == "c-trn1/d0: bisection 384 GB/s; 16 failures in 1 class"
        assert fleet.bisection("c-trn1").upper != whole.upper


def test_a_cluster_has_a_limit_too(databases: Databases) -> None:
    url = seed_clusters(databases.migrated("sqlite"), {"trn2": 2})
    with trninv.open(url) as fleet, pytest.raises(InvalidArgumentError, match="narrow the scope"):
        fleet.what_if("c-trn2/d1/s0/c5").sweep("c-trn2", "link", limit=2, executor=Inline())
