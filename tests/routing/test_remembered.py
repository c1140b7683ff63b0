"""What is remembered of a database is bounded, never stale, and forgotten in the order of its use."""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

import trninv
from conftest import BACKENDS, SYSTEMS, Databases
from graphs import seed_clusters
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.syntax import parse
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing import revision_cache, snapshot, stored_domain
from trninv.routing.fleet import BaseFleet
from trninv.routing.path_cache import PathCache
from trninv.routing.sweep_journal import solve_tasks
from trninv.routing.wiring import domains_in_cluster
from trninv.solvers.graph_measures import MeasureTask, SweepMeasure
from trninv.solvers.shortest_paths import PathMetric

pytestmark = pytest.mark.slow_on_postgresql

KEPT = 3
DOMAIN = "u-trn2x64/d0"


def test_the_wirings_used_longest_ago_are_forgotten_first(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five domains asked for one after the other three stay, and one that is used again stays longer."""
    monkeypatch.setattr(revision_cache, "MAX_DOMAINS", KEPT)
    read: list[int] = []
    real = stored_domain.read_domain_by_id

    def noted(connection: Connection, models: stored_domain.Models, domain: int) -> object:
        read.append(domain)
        return real(connection, models, domain)

    monkeypatch.setattr(snapshot, "read_domain_by_id", noted)
    with temporary_engine(seed_clusters(databases.migrated("sqlite"), {"trn1": 5})) as engine:
        fleet = BaseFleet(engine)

        def ask(domain: int) -> None:
            with fleet.open_snapshot() as reader:
                reader.load([domains_in_cluster(reader.connection, resolve_place(reader.connection, "c-trn1"))[domain]])

        for domain in (0, 1, 2, 0, 3, 4, 0, 3, 4, 1):
            ask(domain)
        first = min(read)
        assert [domain - first for domain in read] == [0, 1, 2, 3, 4, 1]
        fleet.close()


def test_what_else_is_remembered_is_bounded(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chips are known by address as long as their domain is; findings are forgotten when there are many."""
    monkeypatch.setattr(revision_cache, "MAX_DOMAINS", 2)
    monkeypatch.setattr(revision_cache, "MAX_RESULTS_CACHED", 2)
    with trninv.open(seed_clusters(databases.empty("sqlite"), {"trn1": 3})) as fleet:
        first = [fleet.memory_pool(f"c-trn1/d{domain}/s0/c0") for domain in range(3)]
        with fleet.open_snapshot() as reader:
            for key in domains_in_cluster(reader.connection, resolve_place(reader.connection, "c-trn1")):
                reader.load([key])
            known = [reader.chip(parse(f"c-trn1/d{domain}/s0/c0")) is not None for domain in range(3)]
            assert known == [False, True, True]
            assert reader.cached("a", lambda: 1) == reader.cached("a", lambda: 2) == 1
            assert [reader.cached(key, lambda: 3) for key in "bcd"] == [3] * 3
            assert len(reader.cache.results) <= 2
        assert first == [fleet.memory_pool(f"c-trn1/d{domain}/s0/c0") for domain in range(3)]


@pytest.mark.parametrize("by", list(PathMetric)[:2])
def test_a_path_inside_a_domain_is_that_of_its_graph(
    worn: BaseFleet, by: PathMetric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of domains with and without a fabric, with things that are down or carry less, in which a chip may be cut off."""
    chance, known = random.Random(5), 0
    with worn.connect() as connection:
        chips = [row.address for row in connection.execute(node_addresses().where(TABLES["node"].c.kind == "chip"))]
    for system in SYSTEMS:
        own = [chip for chip in chips if chip.startswith(f"{system.slug}/")]
        pairs = [(chance.choice(own), chance.choice(own)) for _ in range(12)]
        remembered = [worn.path(a, b, by.name) for a, b in pairs]
        cache = worn._path_cache(worn.revision())
        known += sum(cache.path(parse(a), parse(b), by) is not None for a, b in pairs)
        with monkeypatch.context() as patch:
            patch.setattr(PathCache, "path", lambda *_: None)
            assert remembered == [worn.path(a, b, by.name) for a, b in pairs]
    assert known > 6 * len(SYSTEMS)  # the others are of chips that are down


def test_what_else_is_asked_inside_a_domain_is_that_of_its_graph(
    worn: BaseFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All best paths, the maximum flow, and the pool around a chip."""
    chance, known = random.Random(6), 0
    with worn.connect() as connection:
        chips = [row.address for row in connection.execute(node_addresses().where(TABLES["node"].c.kind == "chip"))]
    for system in SYSTEMS:
        own = [chip for chip in chips if chip.startswith(f"{system.slug}/")]
        for _ in range(6):
            one, other = chance.choice(own), chance.choice(own)
            questions: list[Callable[[BaseFleet], object]] = [
                *(
                    partial(BaseFleet.path, source=one, target=other, by=by, shape="all")
                    for by in ("hops", "bandwidth")
                ),
                *(partial(BaseFleet.memory_pool, scope=one, max_hops=hops) for hops in (None, 0, 2)),
                *([partial(BaseFleet.bandwidth, source=one, target=other)] if one != other else []),
            ]
            remembered = [ask(worn) for ask in questions]
            cache = worn._path_cache(worn.revision())
            known += cache.answer_for_chips((parse(one),), lambda _: True) is not None
            with monkeypatch.context() as patch:
                patch.setattr(PathCache, "answer_for_chips", lambda *_: None)
                assert remembered == [ask(worn) for ask in questions]
    assert known > 3 * len(SYSTEMS)


@pytest.mark.parametrize(
    "ask",
    [
        lambda fleet, a, b: fleet.path(a, b),
        lambda fleet, a, b: fleet.path(a, b, shape="all"),
        lambda fleet, a, _: fleet.memory_pool(a, 3),
        lambda fleet, a, b: fleet.bandwidth(a, b),
    ],
    ids=["path", "all", "pool", "flow"],
)
def test_a_question_inside_a_known_domain_asks_nothing_of_the_tables(
    lite_fleet: BaseFleet, ask: Callable[[BaseFleet, str, str], object]
) -> None:
    """Every further pair costs no statement but that which asks whether the database has changed."""
    ask(lite_fleet, f"{DOMAIN}/s0/c1", f"{DOMAIN}/s2/c8")  # over links of the same kinds
    asked: list[str] = []

    def note(*given: Any) -> None:
        asked.append(given[2])

    event.listen(lite_fleet.engine, "before_cursor_execute", note)
    try:
        ask(lite_fleet, f"{DOMAIN}/s1/c0", f"{DOMAIN}/s3/c7")
    finally:
        event.remove(lite_fleet.engine, "before_cursor_execute", note)
    assert not asked


def test_searches_are_forgotten_when_there_are_many(lite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision_cache, "MAX_SEARCHES_CACHED", 3)
    with trninv.open(lite) as fleet:
        before = [fleet.path(f"{DOMAIN}/s0/c0", f"{DOMAIN}/s1/c{chip}") for chip in range(8)]
        assert before == [fleet.path(f"{DOMAIN}/s0/c0", f"{DOMAIN}/s1/c{chip}") for chip in range(8)]
        with fleet.open_snapshot() as reader:
            assert len(reader.cache.searches) <= 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_path_inside_a_domain_follows_a_change(databases: Databases, backend: str) -> None:
    url = databases.seeded(backend)
    ends = f"{DOMAIN}/s0/c0", f"{DOMAIN}/s0/c5"
    with trninv.open(url) as fleet:
        before = fleet.path(*ends)
        passed = before.paths[0].steps[2].address
        for state in ("down", "up"):
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                set_state(connection, [passed], Condition(state), why="test", who="test")
            now = fleet.path(*ends)
            assert (now == before) == (state == "up")
            assert (passed in [step.address for step in now.paths[0].steps]) == (state == "up")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("changed", [0, 1])
def test_an_answer_across_domains_follows_a_change_in_either(databases: Databases, backend: str, changed: int) -> None:
    """The path between two chips goes round a chip's own NIC once that is down in its domain, and comes back."""
    url = seed_clusters(databases.migrated(backend), {"trn2-16.48xlarge": 2})
    source, target = (f"c-trn2-16.48xlarge/d{domain}/s0/c0" for domain in (0, 1))
    nic = f"c-trn2-16.48xlarge/d{changed}/s0/efa0"
    with trninv.open(url) as fleet:
        for by in ("hops", "bandwidth"):
            before = fleet.path(source, target, by=by)
            assert nic in [step.address for step in before.paths[0].steps]
            for state, expected in (("down", False), ("up", True)):
                with temporary_engine(url) as engine, write_transaction(engine) as connection:
                    set_state(connection, [nic], Condition(state), why="test", who="test")
                now = fleet.path(source, target, by=by)
                assert (nic in [step.address for step in now.paths[0].steps]) == expected
                assert (now == before) == expected


def test_an_answer_across_domains_rests_on_the_fabric_that_does_not_block(databases: Databases) -> None:
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"trn1": 2})) as fleet:
        ends = "c-trn1/d0/s0/c0", "c-trn1/d1/s0/c0"
        for answer in (fleet.path(*ends), fleet.path(*ends, k=2), fleet.bandwidth(*ends), fleet.bisection("c-trn1")):
            assert ("efa-fabric", "blocking") in [(fact.subject, fact.attribute) for fact in answer.facts]


def test_a_journal_is_believed_where_it_did_as_much_or_is_exact(tmp_path: Path) -> None:
    """Bounds that were given less work than there is now are worked out again; exact values never are."""

    def task(nodes: int, capacity: int) -> MeasureTask:
        return MeasureTask(
            (0, 1), ((0, "chip", None), (1, "chip", None)), ((0, 1, capacity),), 0, SweepMeasure.BISECTION, nodes
        )

    def bounds(of: MeasureTask, lower: int, upper: int, nodes: int) -> tuple[int, int]:
        journal = tmp_path / f"{lower}-{upper}-{nodes}.jsonl"
        row = f'{{"task": "{of.key}", "lower": {lower}, "upper": {upper}, "nodes": {nodes}}}\n'
        journal.write_text(row)
        return solve_tasks([of], None, journal, lambda *_: None)[of.key]

    assert bounds(task(50, 7), 3, 9, 50) == (3, 9)
    assert bounds(task(50, 7), 3, 9, 60) == (3, 9)
    assert bounds(task(50, 7), 3, 9, 49) == (7, 7)
    assert bounds(task(50, 7), 8, 8, 1) == (8, 8)
