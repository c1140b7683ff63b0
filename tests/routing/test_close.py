"""A fleet or snapshot is closed while it is read: reads that have begun end, and no connection stays open."""

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Connection, text

import trninv
from trninv.database.engine import temporary_engine
from trninv.errors import DatabaseError
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

A, B = "u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s2/c10"
SECONDS = 30
"""Longest that anything here may take."""


def _count_connections(url: str) -> int:
    """Return how many connections to the database are open, in this process (SQLite) or in all (PostgreSQL)."""
    if url.startswith("sqlite"):
        file = url.removeprefix("sqlite:///")
        return sum(os.path.realpath(entry) == file for entry in Path("/proc/self/fd").iterdir())
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with temporary_engine(url) as engine, engine.connect() as connection:
        return int(connection.scalar(text(query)) or 0)


def _assert_disconnected(url: str) -> None:
    """Fail unless all connections are closed; PostgreSQL takes a moment to notice."""
    end = time.monotonic() + SECONDS / 4
    while (count := _count_connections(url)) and url.startswith("postgresql") and time.monotonic() < end:
        time.sleep(0.05)
    assert count == 0


def _count_chips(connection: Connection) -> int:
    return int(connection.scalar(text("SELECT count(*) FROM chip")) or 0)


def _read_around(fleet: Fleet, change: Callable[[], object]) -> tuple[int, int]:
    """Return the number of chips as one read sees it before and after a change that the main thread makes."""
    begun, changed = Event(), Event()

    def read() -> tuple[int, int]:
        with fleet.connect() as connection:
            before = _count_chips(connection)
            begun.set()
            assert changed.wait(SECONDS)
            return before, _count_chips(connection)

    with ThreadPoolExecutor(1) as reader:
        answer = reader.submit(read)
        assert begun.wait(SECONDS)
        change()
        changed.set()
        return answer.result(timeout=SECONDS)


def test_a_read_ends_after_its_fleet_is_closed(seeded: str) -> None:
    fleet = trninv.open(seeded)
    fleet.path(A, B)
    fleet.at(0).path(A, B)
    assert _count_connections(seeded)
    before, after = _read_around(fleet, fleet.close)
    assert before == after > 0
    _assert_disconnected(seeded)


@pytest.mark.quick_on_postgresql
def test_a_closed_fleet_keeps_no_connection(seeded: str) -> None:
    """Also if a thread asks once more, or a snapshot of it is closed later."""
    fleet = trninv.open(seeded)
    answer, snapshot = fleet.path(A, B), fleet.snapshot()
    snapshot.memory_pool(A)
    fleet.close()
    assert fleet.path(A, B) == answer
    snapshot.close()
    _assert_disconnected(seeded)


@pytest.mark.quick_on_postgresql
def test_a_read_ends_after_its_snapshot_is_closed_and_later_reads_raise(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        snapshot = fleet.snapshot()
        before, after = _read_around(snapshot, snapshot.close)
        assert before == after > 0
        for read in (snapshot.revision, lambda: snapshot.path(A, B), lambda: snapshot.bandwidth(A, B)):
            with pytest.raises(DatabaseError, match="the snapshot was closed"):
                read()
    _assert_disconnected(seeded)


def test_a_read_ends_after_a_refresh_while_others_read_the_new_snapshot(seeded: str) -> None:
    with trninv.open(seeded) as fleet, fleet.snapshot() as snapshot:

        def refresh() -> None:
            snapshot.refresh()
            assert snapshot.path(A, B).reachable
            assert snapshot.as_of()

        before, after = _read_around(snapshot, refresh)
        assert before == after > 0
    _assert_disconnected(seeded)


def _ask_until(closed: Event, fleet: Fleet, errors: list[str]) -> set[object]:
    """Ask until the fleet is closed or an error says so, and return the answers."""
    answers = set[object]()
    while not closed.is_set():
        try:
            answers |= {fleet.path(A, B).tied_paths, fleet.bandwidth(A, B).maximum_flow}
        except DatabaseError as error:
            errors.append(str(error))
            break
    return answers


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize("of_snapshot", [False, True])
def test_questions_end_whenever_it_is_closed(seeded: str, *, of_snapshot: bool) -> None:
    """Each of several threads gets answers until an error says that the snapshot is closed."""
    rng = random.Random(1)
    expected = None
    for _ in range(8):
        fleet = trninv.open(seeded)
        asked = fleet.snapshot() if of_snapshot else fleet
        closed, errors = Event(), list[str]()

        with ThreadPoolExecutor(3) as threads:
            asking = [threads.submit(_ask_until, closed, asked, errors) for _ in range(3)]
            time.sleep(rng.uniform(0, 0.2))
            asked.close()
            closed.set()
            answers = set[object]().union(*(future.result(timeout=SECONDS) for future in asking))
        fleet.close()
        expected = expected or answers
        assert answers in (expected, set())
        assert all("the snapshot was closed" in error for error in errors)
        _assert_disconnected(seeded)
