"""A graph is that of the state that is asked, however it was made, and no process leaves a broken one."""

import itertools
import json
import random
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from irregular import irregular, make
from populating import populate
from sqlalchemy import Engine, select

import trninv
from conftest import BACKENDS, Databases
from examples import ROOT
from trninv import Fleet
from trninv.database.engine import write_transaction
from trninv.database.tables import TABLES
from trninv.deadline import time_limit
from trninv.errors import CypherError, DatabaseError, TimeLimitError, UnreachableError, UsageError
from trninv.graph_projection import cypher_query, projection_store, query_worker, refresh
from trninv.graph_projection.__main__ import render_page
from trninv.graph_projection.changing_state import ChangingState
from trninv.graph_projection.query_worker import QueryWorker
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.state.bindings import bind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.uncordon import uncordon
from trninv.reconcile.latest_observations import pinned_binding

pytestmark = pytest.mark.slow_on_postgresql

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


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["ü机.db", "a b%41?.db"])
def test_the_builder_opens_the_file_that_is_named(databases: Databases, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    shutil.copy(databases.migrated("sqlite").removeprefix("sqlite:///"), file)
    with trninv.open(f"sqlite:///{file}") as fleet:
        assert fleet.cypher("MATCH (c:Chip) RETURN count(*)").rows == [(0,)]


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
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


@pytest.mark.slow
def test_many_changes_are_built_anew(lived: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    state_of(lived)
    monkeypatch.setattr(refresh, "MAX_CHANGES", 3)
    monkeypatch.setattr(projection_store, "_apply", lambda *_: pytest.fail("refreshed"))
    _set(lived.engine, ["u-trn2x64/d0/s0"], Condition("down"))
    assert state_of(lived) == [("down", None)]


@pytest.mark.slow
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
        return projection_store.ProjectionName.from_state(cache, connection, state).database


@pytest.mark.slow
def test_two_processes_make_one_file(lived: Fleet, cache: Path) -> None:
    projection_store.make_directory(cache)
    builders = [projection_store.start_builder(lived.engine, cache) for _ in range(2)]
    for builder in builders:
        projection_store.finish_builder(builder)
    assert len(files(cache)) == 1
    made = (cache / files(cache)[0]).stat()
    assert state_of(lived) == [("up", None)]
    assert (cache / files(cache)[0]).stat().st_ino == made.st_ino


@pytest.mark.slow
def test_a_file_that_is_removed_meanwhile_is_made_again(lived: Fleet, cache: Path) -> None:
    state_of(lived)
    (file,) = [cache / name for name in files(cache)]
    removed = list[Path]()

    def remove_once(path: Path) -> QueryWorker:
        if not removed:
            removed.append(path)
            path.unlink()
        return QueryWorker(path)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cypher_query, "QueryWorker", remove_once)
        assert state_of(lived) == [("up", None)]
    assert removed == [file]


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
def test_a_build_outlives_the_request_that_started_it(lived: Fleet, cache: Path) -> None:
    query = "MATCH (c:Cluster) RETURN count(*) AS n"
    with time_limit(0.1), pytest.raises(TimeLimitError, match="still being built"):
        lived.cypher(query)
    assert lived.cypher(query).rows == [(7,)]
    assert len(files(cache)) == 1
    assert not cypher_query._builders


def test_a_build_that_fails_says_why(lived: Fleet, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection_store, "lock", lambda _: nullcontext())
    projection_store.make_directory(cache)
    with lived.connect() as connection:
        name = projection_store.ProjectionName.from_state(cache, connection, ChangingState.read(connection))
    (cache / f"{name.database}.lock").mkdir()
    with pytest.raises(DatabaseError, match=r"could not be made: .*Is a directory"):
        lived.cypher("RETURN 1 AS x")
    assert not files(cache)


def test_the_cache_and_the_extra_are_named_if_they_are_missing(
    lite_fleet: Fleet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRNINV_GRAPH_CACHE", str(tmp_path / "file"))
    with pytest.raises(UnreachableError, match="set TRNINV_GRAPH_CACHE"):
        lite_fleet.cypher("RETURN 1 AS x")
    monkeypatch.setattr(projection_store, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match="install the extra graph"):
        lite_fleet.cypher("RETURN 1 AS x")
    monkeypatch.setattr(query_worker, "query_process", None)
    with pytest.raises(CypherError, match="Linux or macOS"):
        lite_fleet.cypher("RETURN 1 AS x")


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
def test_an_empty_inventory_is_an_empty_graph(tables: str) -> None:
    with trninv.open(tables) as fleet:
        assert fleet.cypher("MATCH (n) RETURN count(*) AS n").rows == [(0,)]


def test_only_the_user_reads_the_files(lite_fleet: Fleet) -> None:
    with closing(lite_fleet.shared_snapshot()) as snapshot:
        file = cypher_query.find_projection(snapshot)
    assert file.stat().st_mode & 0o777 == 0o400
    assert file.parent.stat().st_mode & 0o077 == 0


def test_the_reference_page_is_what_the_declarations_say() -> None:
    page = (ROOT / "docs/reference/cypher.md").read_text()
    assert page == "\n".join(render_page()) + "\n", "run ./run generate"


@pytest.mark.slow
def test_answers_agree_with_the_tables_while_others_write(lived: Fleet) -> None:
    state_of(lived)
    done = Event()

    def toggle() -> None:
        conditions = itertools.cycle([Condition("down"), Condition("degraded", 500_000), Condition("up")])
        while not done.is_set():
            _set(lived.engine, [CHIP], next(conditions))

    def ask() -> set[str]:
        states = set()
        for _ in range(5):
            with lived.snapshot() as snapshot:
                with snapshot.connect() as connection:
                    place = resolve_place(connection, CHIP)
                    state = connection.scalar(select(TABLES["node"].c.state).where(TABLES["node"].c.id == place.id))
                assert state_of(snapshot)[0][0] == state
                states.add(state)
        return states

    with ThreadPoolExecutor() as pool:
        toggling = pool.submit(toggle)
        asking = [pool.submit(ask) for _ in range(2)]
        try:
            states = set.union(*(future.result() for future in asking))
        finally:
            done.set()
        toggling.result()
    assert len(states) > 1
