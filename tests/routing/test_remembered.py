"""What is remembered of a database is bounded, never stale, and forgotten in the order of its use."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

import trninv
from conftest import BACKENDS, Databases
from graphs import seed_clusters
from trninv.inventory.address import resolve
from trninv.inventory.database import connect, writing
from trninv.inventory.state import Condition, set_state
from trninv.routing import wiring
from trninv.routing.journal import solved
from trninv.routing.wiring import Wirings, domains_in
from trninv.solvers.damage import Measure, Task

KEPT = 3


def test_the_wirings_used_longest_ago_are_forgotten_first(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five domains asked for one after the other three stay, and one that is used again stays longer."""
    monkeypatch.setattr(wiring, "MAX_DOMAINS", KEPT)
    read: list[int] = []
    real = wiring.load

    def noted(connection: Connection, ids: Sequence[int], **how: Any) -> object:
        read.extend(ids)
        return real(connection, ids, **how)

    monkeypatch.setattr(wiring, "load", noted)
    with connect(seed_clusters(databases.migrated("sqlite"), {"trn1": 5})) as engine:
        wirings = Wirings(engine)

        def ask(domain: int) -> None:
            with wirings.reading() as reader:
                reader.load([domains_in(reader.connection, resolve(reader.connection, "c-trn1"))[domain]])

        for domain in (0, 1, 2, 0, 3, 4, 0, 3, 4, 1):
            ask(domain)
        first = min(read)
        assert [domain - first for domain in read] == [0, 1, 2, 3, 4, 1]
        wirings.close()


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
                with connect(url) as engine, writing(engine) as connection:
                    set_state(connection, [nic], Condition(state), why="test", who="test")
                now = fleet.path(source, target, by=by)
                assert (nic in [step.address for step in now.paths[0].steps]) == expected
                assert (now == before) == expected


def test_an_answer_across_domains_rests_on_the_fabric_that_does_not_block(databases: Databases) -> None:
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"trn1": 2})) as fleet:
        ends = "c-trn1/d0/s0/c0", "c-trn1/d1/s0/c0"
        for answer in (fleet.path(*ends), fleet.path(*ends, k=2), fleet.bandwidth(*ends), fleet.bisection("c-trn1")):
            assert ("efa-fabric", "blocking") in [(fact.subject, fact.attribute) for fact in answer.facts]


def test_a_journal_is_believed_where_it_took_as_long_or_is_exact(tmp_path: Path) -> None:
    """Bounds that were given less time than there is now are worked out again; exact values never are."""

    def task(seconds: float, capacity: int) -> Task:
        return Task((0, 1), ((0, "chip", None), (1, "chip", None)), ((0, 1, capacity),), 0, Measure.BISECTION, seconds)

    def bounds(of: Task, lower: int, upper: int, seconds: float) -> tuple[int, int]:
        journal = tmp_path / f"{lower}-{upper}-{seconds}.jsonl"
        row = f'{{"task": "{of.key}", "lower": {lower}, "upper": {upper}, "seconds": {seconds}}}\n'
        journal.write_text(row)
        return solved([of], None, journal, lambda *_: None)[of.key]

    assert bounds(task(5.0, 7), 3, 9, 5.0) == (3, 9)
    assert bounds(task(5.0, 7), 3, 9, 6.0) == (3, 9)
    assert bounds(task(5.0, 7), 3, 9, 4.9) == (7, 7)
    assert bounds(task(5.0, 7), 8, 8, 0.1) == (8, 8)
