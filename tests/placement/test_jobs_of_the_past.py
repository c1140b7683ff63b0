"""Jobs, closed servers, bindings and what is free, as they stood at a time."""

import random
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, text, update
from tampering import triggers_off

import trninv
from conftest import Run, seeds
from trninv.database.as_of import engine_as_of
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import ConflictError, UnknownJobError
from trninv.history.events import last_event_number
from trninv.inventory.state.bindings import bind
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.placement_fleet import Fleet
from trninv.reconcile.latest_observations import pinned_binding

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def _at(hours: float) -> datetime:
    return BEGAN + timedelta(hours=hours)


@pytest.fixture
def kept(seeded: str) -> str:
    """URL of a database where two jobs held s0 one after the other, s2 was closed, and a host stood in s3."""
    with temporary_engine(seeded) as engine, write_transaction(engine) as connection:
        allocate(connection, "first", [f"{ULTRA}/s0", f"{ULTRA}/s3/c15"], who="me")
        release(connection, "first")
        allocate(connection, "second", [f"{ULTRA}/s0", f"{ULTRA}/s1/c3"], who="me")
        cordon(connection, [f"{ULTRA}/s2"], who="me", why="firmware")
        bind(connection, [pinned_binding(connection, f"{ULTRA}/s3", "node-a")], who="me")
        _lasted(connection, "job", "external_id = 'first'", started_at=1, ended_at=3)
        _lasted(connection, "allocation", "ended_at IS NOT NULL", started_at=1, ended_at=3)
        _lasted(connection, "job", "external_id = 'second'", started_at=3)
        _lasted(connection, "allocation", "ended_at IS NULL", started_at=3)
        _lasted(connection, "cordon", "true", started_at=2)
        connection.execute(text("UPDATE cluster SET known_since = '2025-12-31T00:00:00.000000+00:00'"))
    return seeded


def _lasted(connection: Connection, table: str, which: str, **hours: int) -> None:
    times = {name: _at(each).isoformat(timespec="microseconds") for name, each in hours.items()}
    with triggers_off(connection, table):
        connection.execute(update(TABLES[table]).where(text(which)).values(times))


def test_what_is_held_is_what_was_held_then(kept: str) -> None:
    stood = {0.5: ([], 0, 0), 1: (["first"], 17, 0), 2.5: (["first"], 17, 1), 3: (["second"], 17, 1)}
    with trninv.open(kept) as fleet:
        for hours, (jobs, held, closed) in stood.items():
            then = fleet.at(_at(hours))
            assert [job.name for job in then.jobs(ULTRA)] == jobs
            assert [job.name for job in then.jobs(include_ended=True) if job.ended_at is None] == jobs
            assert len(then.cordons()) == closed
            free = then.free(ULTRA)
            assert (free.allocated, free.free) == (held, 64 - held - 16 * closed)


@pytest.mark.parametrize("seed", seeds(3))
def test_a_moment_of_jobs_is_a_database_that_was_stopped_then(seeded: str, seed: int) -> None:
    """However soon one change follows another."""
    dice, kept = random.Random(seed), list[tuple[int, Any]]()
    with trninv.open(seeded) as fleet:
        for number in range(16):
            _changed(fleet, number, dice)
            with fleet.connect() as connection:
                kept.append((last_event_number(connection), _stood(fleet)))
        for event, stood in kept:
            assert _stood(fleet.at(event)) == stood


def _stood(fleet: Fleet) -> Any:
    return fleet.jobs(), fleet.cordons(), fleet.free(ULTRA), fleet.fragmentation(ULTRA)


def _changed(fleet: Fleet, number: int, dice: random.Random) -> None:
    server = f"{ULTRA}/s{dice.randrange(4)}"
    closed = [each.server for each in fleet.cordons()]
    names = [job.name for job in fleet.jobs()]
    act = dice.choice(["hold", "hold", "release", "close", "open", "move"])
    if act == "release" and names:
        fleet.release(dice.choice(names))
    elif act == "close" and server not in closed:
        fleet.cordon([server], who="me", why="firmware")
    elif act == "open" and closed:
        fleet.uncordon([dice.choice(closed)])
    elif act == "move" and names and len(closed) < 3 and (plan := fleet.make_room(scope=ULTRA, servers=1)).moves:
        fleet.move_jobs(plan.scope, plan.moves, plan.revision, who="her")
    else:
        with suppress(ConflictError):
            fleet.allocate(f"job-{number}", [f"{server}/c{dice.randrange(16)}"], who="me")


def test_jobs_of_then_are_supposed_to_end_or_to_hold(kept: str) -> None:
    with trninv.open(kept) as fleet:
        then = fleet.at(_at(1))
        assert then.what_if(without="first").free(ULTRA).free == 64
        assert then.what_if(without="first", with_={"second": f"{ULTRA}/s0"}).free(ULTRA).allocated == 16
        with pytest.raises(UnknownJobError, match="did you mean first"):
            then.what_if(without="secnd-first").free(ULTRA)
        with pytest.raises(ConflictError, match="allocated to job first"):
            then.what_if(with_={"new": f"{ULTRA}/s0/c3"}).free(ULTRA)


def test_the_words_of_then_are_those_of_its_allocations(kept: str) -> None:
    with temporary_engine(kept) as engine:
        for hours in (1, 3):
            with read_transaction(engine_as_of(engine, 0, _at(hours))) as connection:
                words = connection.execute(
                    text("SELECT allocated_0, allocated_1, allocated_2 FROM domain_allocated")
                ).one()
            low = (1 << 16) - 1
            other = 1 << 63 if hours == 1 else 1 << 19
            assert [word % (1 << 64) for word in words] == [low | other, 0, 0]


def test_commands_tell_who_stood_there_and_who_held(run: Run, kept: str) -> None:
    before, then = "2026-01-01T00:30:00Z", "2026-01-01T01:00:00Z"
    assert run("jobs", "--at", before, database=kept)[1].splitlines()[2:] == []
    (line,) = run("jobs", "--at", then, database=kept)[1].splitlines()[2:]
    assert line.split()[:4] == ["first", "trninv", "first", "17"]
    assert "node-a" in run("bindings", database=kept)[1]
    assert "node-a" not in run("bindings", "--at", then, database=kept)[1]
    status, _, error = run("show", "@node-a", "--at", then, database=kept)
    assert (status, "no instance or host node-a" in error) == (1, True)
    _, printed, _ = run("sql", "SELECT name, chips FROM v_job", "--at", then, database=kept)
    assert printed.split()[-2:] == ["first", "17"]


def test_differences_are_between_what_was_held_then_and_then(kept: str) -> None:
    with trninv.open(kept) as fleet:
        held = {hours: {job.name: job.chips for job in fleet.at(_at(hours)).jobs()} for hours in (0.5, 1, 2.5, 3)}
        for one, other in ((0.5, 1), (0.5, 3), (1, 2.5), (1, 3), (3, 3)):
            found = fleet.diff(_at(one), _at(other))
            was, became = (Counter(held[hours]) for hours in (one, other))
            assert {job.name: (job.before, job.after) for job in found.jobs} == {
                name: (was[name], became[name]) for name in {*was, *became} if was[name] != became[name]
            }
            assert [each.cordoned for each in found.cordons] == [True] * (one < 2 <= other)
            assert found.job_count == len(found.jobs)
        (first, second) = fleet.diff(_at(1), _at(3), f"{ULTRA}/s0").jobs
        assert (first.before, first.lost, second.gained, second.since) == (
            16,
            16,
            16,
            _at(3).isoformat(timespec="microseconds"),
        )
        assert fleet.diff(_at(0.5), _at(3), f"{ULTRA}/s1").cordons == ()
        (slot,) = fleet.diff(_at(3)).bindings
        assert (slot.server, slot.host_before, slot.host, slot.who) == (f"{ULTRA}/s3", None, "node-a", "me")
        with write_transaction(fleet.engine) as connection:
            open_again = text("UPDATE cordon SET ended_at = :at")
            connection.execute(open_again, {"at": _at(4).isoformat(timespec="microseconds")})
        (opened,) = fleet.diff(_at(3), _at(5)).cordons
        assert (opened.server, opened.cordoned, opened.who) == (f"{ULTRA}/s2", False, None)
        assert fleet.diff(_at(1), _at(5)).cordons == ()
