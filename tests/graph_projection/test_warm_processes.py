"""Processes that are started ahead of Cypher queries: one query each, confined, few, and of the newest state."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from harmful_cypher import GREEDY, harmful

import trninv
from conftest import Databases
from examples import ROOT
from trninv import Fleet
from trninv.database.query_result import QueryResult
from trninv.errors import CypherError, TimeLimitError
from trninv.graph_projection import cypher_query, query_process, query_worker
from trninv.graph_projection.cypher_query import find_projection, run_cypher
from trninv.graph_projection.query_worker import MAX_WARM, CypherWorkers, QueryWorker

QUERY = "MATCH (c:Cluster) RETURN count(*) AS n"


@pytest.fixture
def workers() -> Iterator[CypherWorkers]:
    with closing(CypherWorkers()) as pool:
        yield pool


def _ask(fleet: Fleet, workers: CypherWorkers, query: str = QUERY, seconds: float = 20, **options: Any) -> QueryResult:
    with closing(fleet.shared_snapshot()) as snapshot:
        return run_cypher(snapshot, query, seconds=seconds, pool=workers, **options)


def _ids(workers: CypherWorkers) -> list[int]:
    return [worker._process.pid for worker in workers._workers]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not _is_zombie(pid)


def test_each_query_has_a_process_and_leaves_one_for_the_next(lite_fleet: Fleet, workers: CypherWorkers) -> None:
    assert len(workers) == 0
    used = list[int]()
    for _ in range(3):
        assert _ask(lite_fleet, workers).rows == [(6,)]
        (waiting,) = _ids(workers)
        assert waiting not in used
        assert not any(map(_is_running, used[:-1]))  # nobody waits for the end of the last one
        used.append(waiting)
    workers.close()
    assert not any(map(_is_running, used))


@pytest.mark.slow
def test_queries_at_the_same_time_leave_no_more_than_the_limit(lite_fleet: Fleet, workers: CypherWorkers) -> None:
    with ThreadPoolExecutor(MAX_WARM + 2) as threads:
        answers = list(threads.map(lambda _: _ask(lite_fleet, workers).rows, range(MAX_WARM + 2)))
    assert answers == [[(6,)]] * (MAX_WARM + 2)
    assert len(workers) <= MAX_WARM
    ids = _ids(workers)
    workers.close()
    assert not any(map(_is_running, ids))
    _ask(lite_fleet, workers)
    assert len(workers) == 0  # a closed pool starts none


@pytest.mark.slow
def test_a_change_ends_the_processes_of_the_state_before(databases: Databases, workers: CypherWorkers) -> None:
    url = databases.seeded("sqlite")
    query = "MATCH (c:Chip) WHERE c.state = 'down' RETURN count(*) AS n"
    with trninv.open(url) as fleet:
        assert _ask(fleet, workers, query).rows == [(0,)]
        (before,) = _ids(workers)
        fleet.set_state("u-trn2x64/d0/s0/c0", "down", why="fan", who="tests")
        assert _ask(fleet, workers, query).rows == [(1,)]
        (after,) = _ids(workers)
        assert not _is_running(before)
        assert _ask(fleet.at(0), workers, query).rows == [(0,)]
        assert _ids(workers) == [after]  # a query of an earlier time takes and leaves none
    databases.drop(url)


def test_a_process_that_has_ended_is_replaced(lite_fleet: Fleet, workers: CypherWorkers) -> None:
    _ask(lite_fleet, workers)
    (waiting,) = _ids(workers)
    os.kill(waiting, signal.SIGKILL)
    workers._workers[0]._process.wait()
    assert _ask(lite_fleet, workers).rows == [(6,)]


def test_a_failing_query_and_one_that_is_late_leave_a_process(lite_fleet: Fleet, workers: CypherWorkers) -> None:
    _ask(lite_fleet, workers)
    with pytest.raises(CypherError, match="Table Nothing does not exist"):
        _ask(lite_fleet, workers, "MATCH (c:Nothing) RETURN c")
    late = next(query for query, (kind, _) in GREEDY.items() if kind is TimeLimitError)
    with pytest.raises(TimeLimitError, match=r"more than 0\.5 s"):
        _ask(lite_fleet, workers, late, 0.5)
    assert len(workers) == 1
    assert _ask(lite_fleet, workers).rows == [(6,)]


@pytest.mark.parametrize(
    "number", [pytest.param(number, marks=[pytest.mark.slow] * (number > 1)) for number in range(10)]
)
def test_a_process_is_confined_before_it_gets_a_query(
    lite_fleet: Fleet, workers: CypherWorkers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    monkeypatch.setattr(cypher_query, "check_query", lambda query, *_: query)
    _ask(lite_fleet, workers)
    query, reason = list(harmful(tmp_path).items())[number]
    with pytest.raises(CypherError) as refused:
        _ask(lite_fleet, workers, query)
    assert reason in str(refused.value)
    assert "root:" not in str(refused.value)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_limits_hold_while_it_waits(lite_fleet: Fleet, workers: CypherWorkers) -> None:
    _ask(lite_fleet, workers)
    (pid,) = _ids(workers)
    limits = Path(f"/proc/{pid}/limits")
    until = time.monotonic() + 20
    while (lines := _limits(limits))["Max file size"] != "0":
        assert time.monotonic() < until, lines
        time.sleep(0.02)
    assert int(lines["Max open files"]) < 16
    assert lines["Max core file size"] == "0"
    assert int(lines["Max address space"]) <= 2**30 + query_process.MEMORY_BYTES


def _limits(file: Path) -> dict[str, str]:
    return {line[:26].strip(): line[26:].split()[0] for line in file.read_text().splitlines()[1:]}


@pytest.mark.slow
def test_it_ends_with_its_starter(lite_fleet: Fleet) -> None:
    graph = find_projection(lite_fleet.shared_snapshot())
    code = f"""
import os, pathlib
from trninv.graph_projection.query_worker import CypherWorkers
workers = CypherWorkers()
workers.prepare(pathlib.Path({str(graph)!r}))
print(workers._workers[0]._process.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    started = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    pid, until = int(started.stdout), time.monotonic() + 20
    while _is_running(pid):
        assert time.monotonic() < until
        time.sleep(0.02)


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended, but nobody has asked for its status yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


def test_it_ends_if_no_query_comes(lite_fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "query_process.py"
    source = Path(query_process.__file__).read_text()
    program.write_text(source.replace(f"IDLE_SECONDS: Final = {query_process.IDLE_SECONDS}", "IDLE_SECONDS: Final = 1"))
    monkeypatch.setattr(query_process, "__file__", str(program))
    worker = QueryWorker(find_projection(lite_fleet.shared_snapshot()))
    assert worker._process.wait(timeout=30) == -signal.SIGALRM
    assert not worker.is_alive
    worker.kill()


def test_one_that_may_end_soon_gets_no_query(
    lite_fleet: Fleet, workers: CypherWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert query_worker._MAX_WAIT < query_process.IDLE_SECONDS
    _ask(lite_fleet, workers)
    (old,) = _ids(workers)
    monkeypatch.setattr(query_worker, "_MAX_WAIT", 0)
    assert _ask(lite_fleet, workers).rows == [(6,)]
    assert not _is_running(old)


def test_a_file_that_was_removed_starts_none(tmp_path: Path, workers: CypherWorkers) -> None:
    workers.prepare(tmp_path / "removed")
    assert len(workers) == 0
    with pytest.raises(CypherError, match="removed"):
        workers.take(tmp_path / "removed")
    assert query_worker.can_confine()
