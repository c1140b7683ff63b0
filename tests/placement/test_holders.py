"""Who holds each chip of a cluster, and the largest free block of each domain: what colours the explorer's map."""

from unittest.mock import patch

import pytest
from irregular import MIXED, irregular, make
from starlette.testclient import TestClient
from tampering import tamper

import trninv
from conftest import BACKENDS, Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.allocations.allocation_map import AllocationMap, read_allocation_map
from trninv.placement.placement_fleet import Fleet
from trninv.routing.cluster_overview import read_overview
from trninv.service.application import create_app

pytestmark = pytest.mark.slow_on_postgresql


def of(fleet: Fleet, cluster: str) -> tuple[AllocationMap, dict[str, str]]:
    """Who holds what, and by the address of each held chip the name of its job."""
    with fleet.open_snapshot() as reader:
        found, seen = read_allocation_map(reader, cluster), read_overview(reader.connection, cluster)
    at: dict[str, str] = {}
    for first, length, job in found.runs.tolist():
        run = {seen.address(chip): found.jobs[job][0] for chip in range(first, first + length)}
        assert not run.keys() & at.keys()
        at |= run
    return found, at


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_holds_what_and_what_is_free(databases: Databases, backend: str) -> None:
    url = databases.empty(backend)
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        with write_transaction(engine) as connection:
            for name, domains in {"other": 2, "lab": 3}.items():
                cluster_seeding.seed(
                    connection, default_catalog(), default_systems().get("u-trn2x64").resized(domains), name=name
                )
            set_state(connection, ["lab/d2/s0/c5"], Condition.from_user("down", None), why="test", who="tests")
    with trninv.open(url) as fleet:
        fleet.allocate("other", ["other/d0"], who="tests")
        fleet.allocate("small", ["lab/d1/s3/c15", "lab/d2/s0/c0"], who="tests")
        fleet.allocate("large", ["lab/d0/s0", "lab/d0/s1"], spares=["lab/d0/s2/c0"], who="tests")
        fleet.allocate("ended", ["lab/d2/s3"], who="tests")
        fleet.release("ended")
        fleet.reserve("kept", ["lab/d1/s3", "lab/d2/s0"], until="9h", maintenance=True, who="tests")
        fleet.reserve("later", ["lab/d1/s1"], from_="2126-12-01T08:00:00Z", until="9h", who="tests")
        fleet.cordon(["lab/d2/s1"], why="test", who="tests")
        found, at = of(fleet, "lab")
        assert found.jobs == [("large", 33), ("small", 2)]
        large = {f"lab/d0/s{server}/c{chip}": "large" for server in (0, 1) for chip in range(16)}
        assert at == large | {"lab/d0/s2/c0": "large", "lab/d1/s3/c15": "small", "lab/d2/s0/c0": "small"}
        assert len(found.runs) == 2  # one from the last chip of a domain to the first of the next
        assert found.blocks == [fleet.free(f"lab/d{domain}").largest_block for domain in range(3)]
        assert found.blocks is not None
        assert 16 <= min(found.blocks) < max(found.blocks) < 64
        json, free = found.to_json(), fleet.free("lab")
        # without chips of jobs, and without what is down
        assert json["reserved"] == [[64 + 48, 15], [128 + 1, 4], [128 + 6, 10]]
        assert json["cordoned"] == [[128 + 16, 16]]
        assert (sum(chips for _, chips in json["reserved"]), free.reserved) == (29, 29)
        assert free.cordoned == 16
    with (
        patch("trninv.service.snapshot_response.current_seconds", return_value=59.0) as clock,
        TestClient(create_app(url), base_url="http://127.0.0.1") as client,
    ):
        answer = client.get("/chips/lab/jobs")
        assert answer.json() == found.to_json()
        assert "revision=" in answer.headers["X-As-Of"]
        again = client.get("/chips/lab/jobs", headers={"If-None-Match": answer.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        clock.return_value = 60.0  # reservations may have begun
        assert client.get("/chips/lab/jobs", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 200
        assert client.get("/chips/lab").headers["ETag"] != answer.headers["ETag"]
        assert client.get("/chips/nothing/jobs").json()["errors"][0]["extensions"]["code"] == "UNKNOWN_ADDRESS"


def test_a_cluster_without_jobs(lite_fleet: Fleet) -> None:
    found, at = of(lite_fleet, "trn3-gen2")
    assert (found.jobs, at, found.blocks) == ([], {}, [144])
    assert (found.to_json()["reserved"], found.to_json()["cordoned"]) == ([], [])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cluster_of_several_models_has_holders_but_no_blocks(databases: Databases, backend: str) -> None:
    url = make(databases.migrated(backend), {"lab": irregular(MIXED, 2)})
    with trninv.open(url) as fleet:
        fleet.allocate("job", ["lab/d9/s1/c2", "lab/d9/s1/c3", "lab/d0/s0/c0"], who="tests")
        fleet.reserve("kept", ["lab/d9/s0", "lab/d9/s1"], until="9h", maintenance=True, who="tests")
        fleet.reserve("later", ["lab/d8"], from_="2126-12-01T08:00:00Z", until="9h", who="tests")
        fleet.cordon(["lab/d9/s0", "lab/d0/s0"], why="test", who="tests")
        with write_transaction(fleet.engine) as connection:
            set_state(connection, ["lab/d9/s1/c0"], Condition.from_user("down", None), why="test", who="tests")
        found, at = of(fleet, "lab")
        with fleet.open_snapshot() as reader:
            seen = read_overview(reader.connection, "lab")
        kept, closed = (
            {seen.address(chip) for first, chips in runs.tolist() for chip in range(first, first + chips)}
            for runs in (found.reserved, found.cordoned)
        )
        chips = {address: address.rpartition("/")[0] for address in map(seen.address, range(len(seen.states)))}
    without = {"lab/d9/s1/c0", "lab/d9/s1/c2", "lab/d9/s1/c3", "lab/d0/s0/c0"}  # down, or of the job
    assert kept == {chip for chip, server in chips.items() if server == "lab/d9/s1"} - without
    assert closed == {chip for chip, server in chips.items() if server in {"lab/d9/s0", "lab/d0/s0"}} - without
    assert kept
    assert closed
    assert at == dict.fromkeys(["lab/d9/s1/c2", "lab/d9/s1/c3", "lab/d0/s0/c0"], "job")
    assert found.blocks is None


def test_who_held_what_at_another_time(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, ["u-trn2x64/d0/s0/c0"], Condition.from_user("down", None), why="test", who="tests")
    with trninv.open(url) as fleet:
        fleet.allocate("later", ["u-trn2x64/d0/s3"], who="tests")
        for table in ("job", "allocation"):
            tamper(fleet.engine, f"UPDATE {table} SET started_at = '2999-01-01T00:00:00.000000+00:00'", table)
        assert set(of(fleet, "u-trn2x64")[1].values()) == {"later"}
        assert of(fleet.at("1"), "u-trn2x64")[1] == {}
