"""A graph is that of the state that is asked, however it was made, and no process leaves a broken one."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from irregular import irregular, make
from populating import populate
from sqlalchemy import Engine

import trninv
from conftest import BACKENDS, Databases
from trninv import Fleet
from trninv.database.engine import write_transaction
from trninv.graph_projection import cypher_query, projection_store, refresh
from trninv.graph_projection.changing_state import ChangingState
from trninv.inventory.state.bindings import bind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.uncordon import uncordon
from trninv.reconcile.latest_observations import pinned_binding

CHIP = "u-trn2x64/d0/s0/c0"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRNINV_GRAPH_CACHE", str(tmp_path / "graph"))
    return tmp_path / "graph"


def _populate(url: str) -> None:
    populate(url)
    make(url, {"lab": irregular({"trn1.32xlarge": 2}, 5)})


@pytest.fixture(params=BACKENDS)
def lived(request: pytest.FixtureRequest, databases: Databases, cache: Path) -> Iterator[Fleet]:  # noqa: ARG001
    """A fleet with things of every kind, for one test alone."""
    url = databases.copied(request.param, _populate)
    with trninv.open(url) as fleet:
        yield fleet
    databases.drop(url)


def contents(fleet: Fleet) -> list[str]:
    """All nodes and relationships."""
    queries = "MATCH (n) RETURN n", "MATCH (a)-[r]->(b) RETURN a.address, a.id, r, b.address"
    results = [fleet.cypher(query, limit=100_000) for query in queries]
    assert not any(result.truncated for result in results)
    return sorted(json.dumps(row, sort_keys=True) for result in results for row in result.rows)


def files(cache: Path) -> list[str]:
    return sorted(file.name for file in cache.iterdir() if file.suffix == ".ladybug")


def state_of(fleet: Fleet, address: str = CHIP) -> Any:
    return fleet.cypher("MATCH (c:Chip {address: $a}) RETURN c.state, c.factor", {"a": address}).rows


def _set(engine: Engine, addresses: list[str], condition: Condition) -> None:
    with write_transaction(engine) as connection:
        set_state(connection, addresses, condition, why="test", who="test")


def _change_everything(engine: Engine) -> None:
    """Change a part of each kind, jobs, cordons and bindings: begin some, change some, end some."""
    chance = random.Random(4)
    parts = ["u-trn2x64/d0/s0/c3", "u-trn2x64/d0/s3", "trn3-gen1/d0/sw1", "trn3-gen1/d0/sw0", "lab/d0/s0/efa0"]
    parts += ["u-trn2x64/d0/s2", "trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1", "lab/fabric/t1/n0"]
    parts += [f"u-trn2x64/d0/s1/c{chip}" for chip in chance.sample(range(16), 5)]
    conditions = [Condition("up"), Condition("down"), Condition("degraded", 300_000), Condition("maintenance")]
    with write_transaction(engine) as connection:
        for part in parts:
            set_state(connection, [part], chance.choice(conditions), why="test", who="test")
        cordon(connection, ["u-trn2x64/d0/s0"], who="a", why="b")
        uncordon(connection, ["u-trn2x64/d0/s1"], who="a")
        release(connection, "c", who="a")
        allocate(connection, "new", ["trn1.32xlarge/d0/s0"], who="a")
        bind(connection, [pinned_binding(connection, "u-trn2x64/d0/s3", "i-0b")], who="a")
        bind(connection, [pinned_binding(connection, "trn1.32xlarge/d0/s0", "i-0f")], who="a")


def test_a_refreshed_graph_is_the_same_as_a_built_one(lived: Fleet, cache: Path) -> None:
    before = contents(lived)
    built = files(cache)
    _change_everything(lived.engine)
    refreshed = contents(lived)
    assert len(refreshed) > 2_000
    assert len(set(before) ^ set(refreshed)) > 50
    assert set(files(cache)) > set(built)
    for file in cache.iterdir():
        file.unlink()
    cypher_query._latest.clear()
    assert contents(lived) == refreshed


def test_the_next_query_sees_a_change_and_an_earlier_time_does_not(lived: Fleet, cache: Path) -> None:
    assert state_of(lived) == [("up", None)]
    _set(lived.engine, [CHIP], Condition("degraded", 250_000))
    assert state_of(lived) == [("degraded", 0.25)]
    first = lived.events(CHIP)[0].event - 1
    assert state_of(lived.at(first)) == [("up", None)]
    assert state_of(lived) == [("degraded", 0.25)]
    _set(lived.engine, [CHIP], Condition("up"))
    assert state_of(lived) == [("up", None)]
    assert len(files(cache)) == 2
    with lived.snapshot() as snapshot:
        assert state_of(snapshot) == [("up", None)]
        _set(lived.engine, [CHIP], Condition("down"))
        assert state_of(snapshot) == [("up", None)]
    assert state_of(lived) == [("down", None)]


def test_many_changes_are_built_anew(lived: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    state_of(lived)
    monkeypatch.setattr(refresh, "MAX_CHANGES", 3)
    monkeypatch.setattr(projection_store, "_apply", lambda *_: pytest.fail("refreshed"))
    _set(lived.engine, ["u-trn2x64/d0/s0"], Condition("down"))
    assert state_of(lived) == [("down", None)]


def test_a_killed_build_leaves_nothing_that_is_read(lived: Fleet, cache: Path) -> None:
    projection_store.make_directory(cache)
    for seconds in (0.5, 0.8, 1.1):
        with projection_store.start_builder(lived.engine, cache) as process:
            time.sleep(seconds)
            process.kill()
        for name in files(cache):  # ended before it was killed
            (cache / name).unlink()
    (cache / f".{_database_of(lived, cache)}-dead").mkdir()
    assert state_of(lived) == [("up", None)]
    assert sorted(file.suffix for file in cache.iterdir()) == [".json", ".ladybug", ".lock"]


def _database_of(fleet: Fleet, cache: Path) -> str:
    with fleet.connect() as connection:
        state = ChangingState.read(connection)
        return projection_store.ProjectionName.of(cache, connection, state).database
