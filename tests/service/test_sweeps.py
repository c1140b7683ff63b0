"""Sweeps as jobs: their progress and result, what interrupts and ends them, how many there may be, who sees them."""

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update
from starlette.testclient import TestClient

import trninv
from conftest import BACKENDS, Databases, Run, both_ways
from trninv.database.engine import write_transaction
from trninv.database.tables import TABLES
from trninv.errors import BusyError, DatabaseError, InvalidArgumentError
from trninv.graphql import sweep_worker
from trninv.graphql.sweep_runner import MAX_ATTEMPTS, MAX_KEPT, MAX_RUNNING, SweepLease, SweepRunner, cancel_sweep
from trninv.placement.placement_fleet import Fleet
from trninv.routing.fleet import BaseFleet
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

JOB = "id state done total error"
RESULT = (
    "result { scope measure failures lower upper facts { attribute } classes { failure count lower upper change } }"
)
SWEEP = TABLES["sweep"]
ARGUMENTS = json.dumps({"scope": "trn2-16.48xlarge", "fail": "chip", "measure": "all_gather"})
LATER = 2**40
"""A time long after today: a lease renewed then does not expire."""


@pytest.fixture(scope="module", params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    url = databases.seeded(request.param)
    with trninv.open(url) as opened:
        yield opened
    databases.drop(url)


@pytest.fixture(autouse=True)
def no_sweeps(fleet: Fleet) -> Iterator[None]:
    yield
    with write_transaction(fleet.engine) as connection:
        connection.execute(delete(SWEEP))


@pytest.fixture
def runner(fleet: Fleet) -> Iterator[SweepRunner]:
    made = _runner(fleet)
    yield made
    made.close()


@pytest.fixture
def client(fleet: Fleet) -> Iterator[TestClient]:
    with _service(fleet) as opened:
        yield opened


def _url(fleet: Fleet) -> str:
    return fleet.engine.url.render_as_string(hide_password=False)


def _runner(fleet: Fleet) -> SweepRunner:
    return SweepRunner(fleet.engine, _url(fleet))


def _service(fleet: Fleet) -> TestClient:
    url = _url(fleet)
    return TestClient(create_app(url, Settings(url)), base_url="http://127.0.0.1")


def _store(fleet: Fleet, number: int, **columns: Any) -> int:
    """A sweep without a process."""
    row = {"arguments": ARGUMENTS, "started_at": "2026-11-25T00:00:00.000000Z", "renewed": LATER} | columns
    with write_transaction(fleet.engine) as connection:
        connection.execute(insert(SWEEP).values(id=number, **row))
    return number


def _change(fleet: Fleet, **columns: Any) -> None:
    with write_transaction(fleet.engine) as connection:
        connection.execute(update(SWEEP).values(**columns))


def _rows(fleet: Fleet) -> Any:
    with fleet.connect() as connection:
        return connection.execute(select(SWEEP).order_by(SWEEP.c.id)).all()


def _sent(client: TestClient, document: str, **variables: object) -> Any:
    found = client.post("/graphql", json={"query": document, "variables": variables}).json()
    return found.get("data") or found["errors"][0]["extensions"]["code"]


def _ended(client: TestClient, key: object) -> Any:
    """The job once it is no longer at work."""
    for _ in range(1_200):
        job = _sent(client, f"query($id: ID!) {{ sweepJob(id: $id) {{ {JOB} {RESULT} }} }}", id=key)["sweepJob"]
        if job["state"] != "RUNNING":
            return job
        time.sleep(0.25)
    raise AssertionError(job)


def _started(client: TestClient, arguments: str) -> Any:
    return _sent(client, f"mutation {{ startSweep({arguments}) {{ {JOB} }} }}")["startSweep"]


def _check(job: Any, fleet: Fleet) -> None:
    wanted = fleet.sweep("trn2-16.48xlarge", "chip", "all_gather")
    assert (job["state"], job["done"], job["total"]) == ("DONE", len(wanted.classes) + 1, len(wanted.classes) + 1)
    result = job["result"]
    assert (result["lower"], result["failures"]) == (str(wanted.lower), wanted.failures)
    assert [(each["failure"], each["count"], each["change"]) for each in result["classes"]] == [
        (list(each.failure), each.count, str(each.change)) for each in wanted.classes
    ]
    assert len(result["facts"]) == len(wanted.facts)


def test_a_sweep_is_started_by_one_service_and_seen_by_another(fleet: Fleet, client: TestClient) -> None:
    begun = _started(client, 'scope: "trn2-16.48xlarge", fail: CHIP, measure: ALL_GATHER')
    assert (begun["state"], begun["done"], begun["total"], begun["error"]) == ("RUNNING", 0, None, None)
    with _service(fleet) as other:
        ended = _ended(other, begun["id"])
    _check(ended, fleet)
    body = {"sql": "SELECT id, state, done, error FROM v_sweep"}
    if fleet.engine.dialect.name == "sqlite":  # PostgreSQL needs a login for it
        rows = client.post("/sql", json=body).json()["rows"]
        assert rows == [{"id": int(begun["id"]), "state": "done", "done": ended["done"], "error": None}]

    # the answer stays readable, as of its start, at later revisions and through views of earlier times
    fleet.set_state("trn2-16.48xlarge/d0/s0/c0", "down", who="ops", why="burnt")
    try:
        assert _ended(client, begun["id"]) == ended
        past = _sent(client, f'{{ asOf(time: "1") {{ sweepJob(id: "{begun["id"]}") {{ state }} }} }}')
        assert past == {"asOf": {"sweepJob": {"state": "DONE"}}}
    finally:
        fleet.set_state("trn2-16.48xlarge/d0/s0/c0", "up", who="ops", why="replaced")


def test_a_sweep_that_is_cancelled_ends(client: TestClient) -> None:
    begun = _started(client, 'scope: "trn2-16.48xlarge"')
    cancel = "mutation($id: ID!) { cancelSweep(id: $id) { state result { scope } } }"
    for _ in range(2):
        assert _sent(client, cancel, id=begun["id"])["cancelSweep"] == {"state": "CANCELLED", "result": None}
    assert _ended(client, begun["id"])["state"] == "CANCELLED"


@pytest.mark.slow
def test_what_cannot_be_swept_says_why(client: TestClient) -> None:
    ended = _ended(client, _started(client, 'scope: "trn2-16.48xlarge/d9"')["id"])
    assert ended["state"] == "FAILED"
    assert "trn2-16.48xlarge/d9" in ended["error"]


@pytest.mark.slow
@pytest.mark.parametrize("kills", [True, False], ids=["killed", "closed"])
def test_an_interrupted_sweep_is_started_again_by_another_service(
    fleet: Fleet, runner: SweepRunner, *, kills: bool
) -> None:
    first = _runner(fleet)
    key = first.start(scope="trn2-16.48xlarge", fail="chip", measure="all_gather").id
    if kills:
        os.kill(first._children[0].pid, signal.SIGKILL)
        first._children[0].wait()
    first.close()
    runner.resume()  # the lease has not expired
    assert [(row.id, row.state, row.attempt) for row in _rows(fleet)] == [(key, "running", 1)]
    _change(fleet, renewed=0)
    with _service(fleet) as other:  # it looks for interrupted sweeps when it starts
        _check(_ended(other, key), fleet)
    assert [row.attempt for row in _rows(fleet)] == [2]


@pytest.mark.quick_on_postgresql
def test_only_one_of_several_services_starts_a_sweep_again(fleet: Fleet) -> None:
    _store(fleet, 1, renewed=0)
    runners = [_runner(fleet) for _ in range(4)]
    with ThreadPoolExecutor(len(runners)) as pool:
        list(pool.map(SweepRunner.resume, runners))
    assert [row.attempt for row in _rows(fleet)] == [2]
    assert sum(len(runner._children) for runner in runners) == 1
    for runner in runners:
        runner.close()


@pytest.mark.quick_on_postgresql
def test_a_process_whose_sweep_was_started_again_writes_nothing(fleet: Fleet) -> None:
    _store(fleet, 1, attempt=2, renewed=0)
    before, late, current = _rows(fleet), SweepLease(fleet.engine, 1, 1), SweepLease(fleet.engine, 1, 2)
    assert not late.renew(state="done", answer="{}")
    assert _rows(fleet) == before
    current.done, current.total = 3, 9
    assert current.renew()
    (row,) = _rows(fleet)
    assert (row.state, row.done, row.total) == ("running", 3, 9)
    assert abs(row.renewed - time.time()) < 60


def test_a_process_ends_when_it_loses_its_sweep_or_its_service(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    class ExitedError(Exception):
        pass

    class UnreachableLease(SweepLease):
        is_first = True

        def renew(self, **changes: object) -> bool:
            if self.is_first:
                self.is_first = False
                raise DatabaseError("no answer")
            return super().renew(**changes)

    def leave(_status: int) -> None:
        raise ExitedError

    monkeypatch.setattr(sweep_worker, "RENEWAL_SECONDS", 0)
    monkeypatch.setattr(os, "_exit", leave)
    _store(fleet, 1)
    with pytest.raises(ExitedError):
        sweep_worker._renew_periodically(SweepLease(fleet.engine, 1, 1), os.getppid() + 1)
    assert [row.renewed for row in _rows(fleet)] == [LATER]
    lease = UnreachableLease(fleet.engine, 1, 1)
    cancelled = cancel_sweep(fleet.engine, "1")
    assert cancelled
    assert cancelled.state == "cancelled"
    with pytest.raises(ExitedError):
        sweep_worker._renew_periodically(lease, os.getppid())
    assert not lease.is_first
    _store(fleet, 2)
    sweep_worker._finish(UnreachableLease(fleet.engine, 2, 1), state="done", answer="{}")
    assert [row.state for row in _rows(fleet)] == ["cancelled", "done"]


def test_a_sweep_that_ends_its_process_each_time_fails(fleet: Fleet, runner: SweepRunner, client: TestClient) -> None:
    key = _store(fleet, 1, attempt=MAX_ATTEMPTS, renewed=0)
    runner.resume()
    ended = _ended(client, key)
    assert (ended["state"], ended["error"]) == ("FAILED", "its process died 3 times; narrow the scope")


def test_few_run_at_a_time(fleet: Fleet, runner: SweepRunner, client: TestClient) -> None:
    for number in range(MAX_RUNNING):
        _store(fleet, number)
    assert _sent(client, 'mutation { startSweep(scope: "trn1.32xlarge") { id } }') == "BUSY"
    with pytest.raises(BusyError, match="2 sweeps are running"):
        runner.start(scope="trn1.32xlarge")
    _store(fleet, MAX_RUNNING, renewed=0)
    runner.resume()
    assert [row.attempt for row in _rows(fleet)] == [1] * (MAX_RUNNING + 1)
    with pytest.raises(InvalidArgumentError, match="at most 2,000 classes"):
        runner.start(scope="trn1.32xlarge", limit=2_001)


@pytest.mark.quick_on_postgresql
def test_few_are_kept(fleet: Fleet, runner: SweepRunner) -> None:
    _store(fleet, 1)
    for number in range(2, MAX_KEPT + 5):
        _store(fleet, number, state="done")
    key = runner.start(scope="trn1.32xlarge").id
    assert [row.id for row in _rows(fleet)] == [1, *range(7, MAX_KEPT + 5), key]


@pytest.mark.parametrize("key", ["0", "-1", "x", "", "9" * 40, "²", "1 OR 1=1"])
def test_an_id_that_is_none_is_null(client: TestClient, key: str) -> None:
    assert _sent(client, "query($id: ID!) { sweepJob(id: $id) { id } }", id=key) == {"sweepJob": None}
    assert _sent(client, "mutation($id: ID!) { cancelSweep(id: $id) { id } }", id=key) == {"cancelSweep": None}


def test_progress_is_no_stale_page(fleet: Fleet, client: TestClient) -> None:
    """A GET is answered with 304 where nothing has changed: of a job its progress has."""
    key = _store(fleet, 1)
    asked = {"query": f'{{ sweepJob(id: "{key}") {{ done }} }}'}
    first = client.get("/graphql", params=asked)
    known = {"If-None-Match": first.headers["etag"]}
    assert client.get("/graphql", params=asked, headers=known).status_code == 304
    lease = SweepLease(fleet.engine, key, 1)
    lease.done = 3
    assert lease.renew()
    again = client.get("/graphql", params=asked, headers=known)
    assert (again.status_code, again.json()["data"]["sweepJob"]["done"]) == (200, 3)


def test_only_a_service_starts_sweeps(run: Run, lite_fleet: BaseFleet) -> None:
    status, out, _ = run("query", 'mutation { startSweep(scope: "trn1.32xlarge") { id } }')
    assert (status, "trninv sweep" in out) == (1, True)
    told = both_ways(lite_fleet)('mutation { startSweep(scope: "trn1.32xlarge") { id } }')
    assert told["errors"][0]["extensions"]["code"] == "BAD_USE"
    assert both_ways(lite_fleet)('{ sweepJob(id: "1") { id } }')["data"] == {"sweepJob": None}
