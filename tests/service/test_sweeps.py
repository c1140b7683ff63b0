"""Sweeps as jobs: their progress and result, what ends them, how many there may be, and who sees them."""

import fcntl
import hashlib
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from conftest import Run, both_ways
from trninv.errors import BusyError, InvalidArgumentError
from trninv.graphql.sweep_store import MAX_KEPT, MAX_RUNNING, SweepRecord, SweepState, SweepStore, write_progress
from trninv.routing.fleet import BaseFleet
from trninv.service.application import create_app
from trninv.settings import Settings

JOB = "id state done total error"
RESULT = (
    "result { scope measure failures lower upper facts { attribute } classes { failure count lower upper change } }"
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "jobs").mkdir()
    return tmp_path / "jobs"


@pytest.fixture
def worker(lite: str, place: Path) -> Iterator[TestClient]:
    with TestClient(create_app(lite, Settings(lite, jobs=place)), base_url="http://127.0.0.1") as opened:
        yield opened


def _sent(client: TestClient, document: str, **variables: object) -> Any:
    found = client.post("/graphql", json={"query": document, "variables": variables}).json()
    return found.get("data") or found["errors"][0]["extensions"]["code"]


def _ended(client: TestClient, key: str) -> Any:
    """The job once it is no longer at work."""
    for _ in range(1_200):
        job = _sent(client, f"query($id: ID!) {{ sweepJob(id: $id) {{ {JOB} {RESULT} }} }}", id=key)["sweepJob"]
        if job["state"] != "RUNNING":
            return job
        time.sleep(0.25)
    raise AssertionError(job)


def _started(client: TestClient, arguments: str) -> Any:
    return _sent(client, f"mutation {{ startSweep({arguments}) {{ {JOB} }} }}")["startSweep"]


def test_a_sweep_is_begun_in_one_worker_and_seen_in_another(
    lite: str, lite_fleet: BaseFleet, worker: TestClient, place: Path
) -> None:
    file = Path(lite.removeprefix("sqlite:///"))
    before = hashlib.sha256(file.read_bytes()).digest()
    begun = _started(worker, 'scope: "trn2-16.48xlarge", fail: CHIP, measure: ALL_GATHER')
    assert (begun["state"], begun["done"], begun["total"], begun["error"]) == ("RUNNING", 0, None, None)
    with TestClient(create_app(lite, Settings(lite, jobs=place)), base_url="http://127.0.0.1") as other:
        ended = _ended(other, begun["id"])
    wanted = lite_fleet.sweep("trn2-16.48xlarge", "chip", "all_gather")
    assert (ended["state"], ended["done"], ended["total"]) == ("DONE", len(wanted.classes) + 1, len(wanted.classes) + 1)
    result = ended["result"]
    assert (result["lower"], result["failures"]) == (str(wanted.lower), wanted.failures)
    assert [(each["failure"], each["count"], each["change"]) for each in result["classes"]] == [
        (list(each.failure), each.count, str(each.change)) for each in wanted.classes
    ]
    assert len(result["facts"]) == len(wanted.facts)
    assert hashlib.sha256(file.read_bytes()).digest() == before, "nothing is written, so a standby will do"


def test_a_sweep_that_is_cancelled_ends(worker: TestClient) -> None:
    begun = _started(worker, 'scope: "trn2-16.48xlarge"')
    cancel = "mutation($id: ID!) { cancelSweep(id: $id) { state } }"
    assert _sent(worker, cancel, id=begun["id"])["cancelSweep"]["state"] in ("RUNNING", "CANCELLED")
    ended = _ended(worker, begun["id"])
    assert (ended["state"], ended["result"]) == ("CANCELLED", None)
    assert ended["done"] <= 1
    assert _sent(worker, cancel, id=begun["id"])["cancelSweep"]["state"] == "CANCELLED"


def test_what_cannot_be_swept_says_why(worker: TestClient) -> None:
    ended = _ended(worker, _started(worker, 'scope: "trn2-16.48xlarge/d9"')["id"])
    assert ended["state"] == "FAILED"
    assert "trn2-16.48xlarge/d9" in ended["error"]


def test_a_process_that_dies_has_failed(worker: TestClient, lite: str, place: Path) -> None:
    jobs = SweepStore(place, lite)
    key = jobs.start(scope="u-trn2x64", pairs=True).id
    os.kill(jobs._children[0].pid, signal.SIGKILL)
    jobs._children[0].wait()
    ended = _ended(worker, key)
    assert (ended["state"], ended["error"]) == ("FAILED", "its process has ended; start it again")


def test_what_runs_ends_with_the_service(lite: str, place: Path) -> None:
    jobs = SweepStore(place, lite)
    key = jobs.start(scope="u-trn2x64", pairs=True).id
    assert SweepStore(place, lite).find(key) == SweepRecord(key)
    jobs.close()
    found = SweepStore(place, lite).find(key)
    assert found
    assert found.state is SweepState.FAILED


def _kept(place: Path, number: int) -> Path:
    """A job of no process."""
    job = SweepRecord(f"{number:032x}", SweepState.DONE)
    (place / job.id).mkdir()
    write_progress(place / job.id, job)
    return place / job.id


def test_few_run_at_a_time(worker: TestClient, lite: str, place: Path) -> None:
    with ExitStack() as stack:
        for number in range(MAX_RUNNING):
            lock = stack.enter_context((_kept(place, number) / "lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        assert _sent(worker, 'mutation { startSweep(scope: "trn1.32xlarge") { id } }') == "BUSY"
        with pytest.raises(BusyError, match="2 sweeps are running"):
            SweepStore(place, lite).start(scope="trn1.32xlarge")
    with pytest.raises(InvalidArgumentError, match="at most 2,000 classes"):
        SweepStore(place, lite).start(scope="trn1.32xlarge", limit=2_001)


def test_few_are_kept(lite: str, place: Path) -> None:
    for number in range(MAX_KEPT + 3):
        _kept(place, number)
    jobs = SweepStore(place, lite)
    key = jobs.start(scope="trn1.32xlarge").id
    jobs.close()
    assert len(list(place.glob("*/"))) == MAX_KEPT
    assert (place / key).exists()


@pytest.mark.parametrize("key", ["0" * 32, "..", "../jobs", "", "0" * 31 + "/", "lock"])
def test_an_id_that_is_none_is_null(worker: TestClient, key: str) -> None:
    assert _sent(worker, "query($id: ID!) { sweepJob(id: $id) { id } }", id=key) == {"sweepJob": None}
    assert _sent(worker, "mutation($id: ID!) { cancelSweep(id: $id) { id } }", id=key) == {"cancelSweep": None}


def test_progress_is_no_stale_page(worker: TestClient, place: Path) -> None:
    """A GET is answered with 304 where nothing has changed: of a job its progress has."""
    kept = _kept(place, 1)
    asked = {"query": f'{{ sweepJob(id: "{kept.name}") {{ done }} }}'}
    first = worker.get("/graphql", params=asked)
    known = {"If-None-Match": first.headers["etag"]}
    assert worker.get("/graphql", params=asked, headers=known).status_code == 304
    write_progress(kept, replace(SweepRecord(kept.name), done=3))
    os.utime(kept / "state.json", ns=(1, 1))
    again = worker.get("/graphql", params=asked, headers=known)
    assert (again.status_code, again.json()["data"]["sweepJob"]["done"]) == (200, 3)


def test_without_a_service_there_are_no_jobs(run: Run, lite_fleet: BaseFleet) -> None:
    status, out, _ = run("query", 'mutation { startSweep(scope: "trn1.32xlarge") { id } }')
    assert (status, "trninv sweep" in out) == (1, True)
    told = both_ways(lite_fleet)('{ sweepJob(id: "x") { id } }')
    assert told["errors"][0]["extensions"]["code"] == "BAD_USE"


@pytest.mark.slow
def test_a_process_may_be_its_own_service(lite: str) -> None:
    with TestClient(create_app(lite, Settings(lite)), base_url="http://127.0.0.1") as alone:
        assert _ended(alone, _started(alone, 'scope: "trn1.2xlarge"')["id"])["state"] in ("DONE", "FAILED")
