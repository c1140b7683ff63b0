"""The fleet at a moment is the fleet as it stood: answers of then, kept, equal those of now about then."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from lived import T, U, change, seed_two
from sqlalchemy import Connection, select, text

import trninv
from conftest import Databases, is_quick
from trninv.database.as_of import maybe_unhealthy
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES, is_unhealthy
from trninv.errors import InvalidTimeError
from trninv.history import point_in_time
from trninv.history.point_in_time import parse_time, resolve_point_in_time
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing import snapshot
from trninv.routing.cluster_overview import read_overview
from trninv.routing.fleet import BaseFleet

CHANGES = 3 if is_quick() else 6


@pytest.fixture(params=["sqlite", "postgresql"])
def two(request: pytest.FixtureRequest, databases: Databases) -> str:
    """URL of a database with two clusters."""
    return databases.copied(request.param, seed_two)


def _states(connection: Connection) -> dict[str, Any]:
    """The states of everything, whichever way they are asked for."""
    columns = ("id", "state", "factor_ppm")
    found: dict[str, Any] = {}
    for name in ("server", "node", "link"):
        table = TABLES[name]
        own = ("own_state", "own_factor_ppm") if name == "node" else ()
        query = select(*(table.c[column] for column in (*columns, *own))).order_by(table.c.id)
        found[name] = [tuple(row) for row in connection.execute(query)]
        lost = select(table.c.id).where(is_unhealthy(table), maybe_unhealthy(connection, table)).order_by(table.c.id)
        found[f"lost {name}"] = connection.scalars(lost).all()
        assert found[f"lost {name}"] == [key for key, state, *_ in found[name] if state != "up"]
    found["events"] = [row.id for row in connection.execute(select(TABLES["state_event"].c.id).order_by(text("id")))]
    for cluster in ("u-trn2x64", "trn2-16.48xlarge"):
        found[cluster] = read_overview(connection, cluster).to_bytes()
    return found


def _answers(fleet: BaseFleet) -> dict[str, Any]:
    """What follows from the states, question by question."""
    ask: dict[str, Callable[[BaseFleet], Any]] = {
        "path": lambda of: of.path(f"{U}/s0/c0", f"{U}/s2/c9"),
        "path over the fabric": lambda of: of.path(f"{T}/s0/c0", "trn2-16.48xlarge/d2/s0/c3"),
        "widest": lambda of: of.path(f"{U}/s0/c0", f"{U}/s2/c9", by="bandwidth"),
        "bandwidth": lambda of: of.bandwidth(f"{U}/s0", f"{U}/s1"),
        "pool": lambda of: of.memory_pool(f"{U}/s0/c0"),
        "bisection": lambda of: of.bisection("trn2-16.48xlarge"),
        "profile": lambda of: of.split_profile(f"{U}/s1", 1),
        "distances": lambda of: of.distances(U),
        "collectives": lambda of: of.collectives(f"{T}/s0"),
        "what if": lambda of: of.what_if([f"{U}/s1/c1"]).memory_pool(f"{U}/s0/c0"),
        "graph": lambda of: sorted(map(str, of.graph(f"{U}/s0").edges(data=True))),
    }
    found = {name: _said(fleet, question) for name, question in ask.items()}
    with fleet.connect() as connection:
        return found | _states(connection)


def _said(fleet: BaseFleet, question: Callable[[BaseFleet], Any]) -> Any:
    try:
        return question(fleet)
    except trninv.errors.TrninvError as error:
        return str(error)


@pytest.mark.drawing
@pytest.mark.parametrize(
    ("two", "seed"),
    [
        ("sqlite", 0),
        *(pytest.param(on, seed, marks=pytest.mark.slow) for on, seed in (("sqlite", 1), ("postgresql", 0))),
    ],
    indirect=["two"],
)
def test_the_past_is_what_a_database_that_stopped_then_would_say(two: str, seed: int) -> None:
    dice = random.Random(seed)
    with trninv.open(two) as fleet:
        kept = []
        for _ in range(CHANGES):
            change(fleet.engine, dice)
            answers = _answers(fleet)
            kept.append((answers["events"][-1] if answers["events"] else 0, datetime.now(UTC), answers))
        for event, time, answers in dice.sample(kept, 3):
            then = _answers(fleet.at(event))
            assert then.keys() == answers.keys()
            assert {name: then[name] == answers[name] for name in then} == dict.fromkeys(then, True)
            with fleet.at(time).connect() as connection:
                states = _states(connection)
            assert states == {name: answers[name] for name in states}
        assert _answers(fleet) == kept[-1][2]
        first = fleet.at(0)
        assert first.memory_pool(f"{U}/s0/c0").chips == 64
        assert fleet.at(kept[2][0]).at(0).memory_pool(f"{U}/s0/c0").chips == 64


def _set(fleet: BaseFleet, address: str, state: str) -> None:
    with write_transaction(fleet.engine) as connection:
        set_state(connection, [address], Condition.from_user(state), why="a test", who="tester")


def test_a_change_is_seen_whole(two: str) -> None:
    """Whichever of the events of one server is named, the server is down with all that it took along."""
    with trninv.open(two) as fleet:
        _set(fleet, f"{U}/s1", "down")
        _set(fleet, f"{U}/s1", "up")
        assert [fleet.at(event).memory_pool(f"{U}/s0/c0").chips for event in (0, 1, 7, 33, 34)] == [64, 48, 48, 48, 64]
        with fleet.at(33).connect() as connection:
            assert len(_states(connection)["lost server"]) == 1


@pytest.mark.slow_on_postgresql
def test_what_is_remembered_of_a_moment_goes_with_what_is_written(two: str) -> None:
    """And asking of the past leaves the present what it is."""
    with trninv.open(two) as fleet:
        _set(fleet, f"{U}/s1/c0", "down")
        past = fleet.at(1)
        with past.open_snapshot() as one, fleet.at(1).open_snapshot() as other:
            assert one.cache is other.cache
        assert (past.memory_pool(f"{U}/s0/c0").chips, fleet.memory_pool(f"{U}/s0/c0").chips) == (63, 63)
        with fleet.engine.begin() as connection:  # a whole link more is down, in both
            connection.execute(text("UPDATE link_model SET bandwidth_bytes_per_s = 1"))
        _set(fleet, f"{U}/s1/c0", "up")
        assert (past.memory_pool(f"{U}/s0/c0").chips, fleet.memory_pool(f"{U}/s0/c0").chips) == (63, 64)
        with past.snapshot() as one, fleet.snapshot() as now:
            assert one.revision() != now.revision()
            one.memory_pool(f"{U}/s0/c0")
            assert one.as_of() != now.as_of()
        past.close()
        assert fleet.memory_pool(f"{U}/s0/c0").chips == 64


@pytest.mark.slow_on_postgresql
def test_only_the_latest_times_keep_their_caches(two: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fleet of a time whose cache was dropped still answers, and tracks no revision."""
    monkeypatch.setattr(snapshot, "MAX_TIMES_CACHED", 2)
    with trninv.open(two) as fleet:
        for chip in range(2):
            _set(fleet, f"{U}/s1/c{chip}", "down")
        past, place = fleet.at(1), f"{U}/s0/c0"
        before = past.memory_pool(place)
        with past.open_snapshot() as first:
            assert fleet.at(0).memory_pool(place) != before
            with fleet.at(1).open_snapshot() as used:
                assert used.cache is first.cache
            for event in (0, 2):
                fleet.at(event)
            with fleet.at(1).open_snapshot() as new:
                assert new.cache is not first.cache
        assert past.memory_pool(place) == before
        assert past.revision() is None


def test_a_time_that_was_rounded_up_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=UTC)
    monkeypatch.setattr(point_in_time, "datetime", Mock(wraps=datetime, now=lambda _: now))
    assert parse_time("2026-01-01T12:00:01Z") == now
    assert parse_time("2026-01-01T12:00:01Z", may_be_future=True) == now.replace(second=1, microsecond=0)
    assert parse_time("2026-01-01T12:00:01.000000Z") == now
    with pytest.raises(InvalidTimeError, match="is in the future"):
        parse_time("2026-01-01T12:00:01.000001Z")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("2026-01-01T00:00:00", "a time needs its zone, such as 2026-01-01T00:00:00Z or 2026-01-01T00:00:00-08:00"),
        ("2999-01-01T00:00:00Z", "is in the future"),
        ("2020-01-01T00:00:00Z", r"the history of .* starts at 20\d\d-"),
        ("yesterday", "write a time with its zone, such as .*, or the number of an event$"),
        ("2026-02-30T00:00:00Z", "write a time with its zone"),
        ("2026-01-01T23:59:61Z", "write a time with its zone"),
        ("", "write a time with its zone"),
        ("9" * 5_000, "write a time with its zone"),
        ("7", "there is no event 7; the last one is 0"),
        (-1, "no event"),
        ("0001-01-01T00:00:00+14:00", "write a time with its zone"),
        ("٣", "write a time with its zone"),
    ],
)
def test_bad_times_are_refused(lite_fleet: BaseFleet, given: str | int, told: str) -> None:
    with pytest.raises(InvalidTimeError, match=told):
        lite_fleet.at(given)


@pytest.mark.parametrize(
    ("given", "means"),
    [
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00+00:00"),  # a leap second
        ("2025-11-02T01:30:00-04:00", "2025-11-02T05:30:00+00:00"),  # an hour that there is twice: the zone tells which
        ("2025-11-02T01:30:00-05:00", "2025-11-02T06:30:00+00:00"),
        ("20251102T013000.5+0530", "2025-11-01T20:00:00.500000+00:00"),
    ],
)
def test_times_as_people_write_them(given: str, means: str) -> None:
    assert parse_time(given) == datetime.fromisoformat(means)


def test_where_a_clock_went_back_numbers_count(two: str) -> None:
    """Event 2 has an earlier time than event 1: at that time, event 1 had happened."""
    now = datetime.now(UTC)
    with temporary_engine(two) as engine:
        with engine.begin() as connection:
            for hours, state in ((-1, "down"), (-3, "up"), (-2, "down"), (-1, "up")):
                at = (now + timedelta(hours=hours)).isoformat(timespec="microseconds")
                said = {"id": 1, "at": at, "who": "a", "why": "b", "source": "sql"}
                connection.execute(TABLES["_change"].insert().values(**said))
                connection.execute(text(f"UPDATE node SET state = '{state}' WHERE id = 1"))
                connection.execute(text("DELETE FROM _change"))
            connection.execute(text("UPDATE cluster SET known_since = '2020-01-01T00:00:00.000000+00:00'"))
        with read_transaction(engine) as connection:
            asked = {
                hours: resolve_point_in_time(connection, now + timedelta(hours=hours)).event
                for hours in (-4, -2.5, -1.5, -0.5)
            }
    assert asked == {-4: 0, -2.5: 2, -1.5: 3, -0.5: 4}
