"""Reservations: what is promised once is not promised twice, and everything that places jobs heeds it."""

import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_events import D, done, happened, is_sound
from sqlalchemy import Engine, func, select, text
from sqlalchemy.exc import DatabaseError as SqlError

import trninv
from conftest import BACKENDS, Databases, Run, examples
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import (
    ConflictError,
    InvalidArgumentError,
    InvalidTimeError,
    StalePlanError,
    UnknownReservationError,
)
from trninv.inventory.seeding.cluster_seeding import unseed
from trninv.placement.allocations import reservations
from trninv.placement.allocations.reservations import FOREVER, Window, parse_window
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.reserve import reserve
from trninv.placement.changes.unreserve import unreserve
from trninv.placement.placement_fleet import Fleet
from trninv.units import format_timestamp

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

_START = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=30)
_TICK = timedelta(microseconds=1)


def at(hours: float, ticks: int = 0) -> str:
    """A time in the future, so many hours and microseconds after the tests' first."""
    return format_timestamp(_START + timedelta(hours=hours) + ticks * _TICK)


@pytest.fixture
def opened(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as fleet:
        yield fleet


def _kept(fleet: Fleet, name: str, places: list[str], start: float, end: float, **options: Any) -> Any:
    return fleet.reserve(name, places, from_=at(start), until=at(end), who="me", **options)


# ---- windows


@pytest.mark.parametrize(
    ("start", "end", "overlaps"),
    [
        ((1, 0), (2, 0), True),
        ((0, 0), (1, 0), False),  # until == from
        ((0, 0), (1, 1), True),
        ((2, 0), (3, 0), False),  # from == until
        ((2, -1), (3, 0), True),
        ((0, 0), (3, 0), True),
    ],
)
def test_a_window_ends_just_before_its_end(start: tuple[int, int], end: tuple[int, int], overlaps: bool) -> None:
    assert Window(at(1), at(2)).overlaps(at(*start), at(*end)) is overlaps


def test_a_window_starts_now_or_later_and_ends_after_that() -> None:
    now = _START
    assert parse_window(None, None, now) == Window(at(0), FOREVER)
    assert parse_window(at(0), at(0, 1), now) == Window(at(0), at(0, 1))  # now == from
    assert parse_window(at(-1), "2h", now) == Window(at(0), at(1))  # an hour ago: now, and the end stays as written
    assert parse_window(at(-0.5), None, now) == Window(at(0), FOREVER)
    for start, end in ((at(-1, -1), "2h"), (at(-9000), at(2)), (at(-9000), None)):
        with pytest.raises(InvalidTimeError, match="that is more than an hour ago; write a later time, or --from now"):
            parse_window(start, end, now)
    with pytest.raises(InvalidTimeError, match="must be later than the start"):
        parse_window(at(-1), "1h", now)
    assert parse_window(at(1), "1d", now) == Window(at(1), at(25))
    assert parse_window(" 1h", "2h", now) == Window(at(1), at(3))
    assert parse_window("now", None, now) == Window(at(0), FOREVER)
    for end in at(0), at(-1):  # now == until, and before
        with pytest.raises(InvalidTimeError, match="must be later than the start"):
            parse_window(None, end, now)
    for start, end in ((at(1), at(1)), (at(2), at(1))):
        with pytest.raises(InvalidTimeError, match="must be later than the start") as refused:
            parse_window(start, end, now)
        times = f"until {end[:19]}Z: the end must be later than the start, {start[:19]}Z"
        assert str(refused.value) == times
    for text_ in "2026-11-22T02:00:00", "tomorrow", "":
        with pytest.raises(InvalidTimeError, match="zone"):
            parse_window(text_, None, now)
    for start_, end_ in (("5m", None), ("20000d", None), (None, "now")):
        with pytest.raises(InvalidTimeError, match=r"with its zone.* or a duration of up to 9999d, such as 4h$"):
            parse_window(start_, end_, now)
    for wrong in "0h", "99999999999d":
        for start_, end_ in ((None, wrong), (wrong, None)):
            with pytest.raises((InvalidArgumentError, InvalidTimeError), match=wrong):
                parse_window(start_, end_, now)


# ---- reserve and unreserve


@pytest.mark.quick_on_postgresql
def test_chips_are_promised_once(opened: Fleet) -> None:
    one = _kept(opened, "one", [f"{D}/s0"], 1, 2).reservation
    assert (one.chips, one.place, one.kind, one.from_at, one.until_at) == (16, f"{D}/s0", "job", at(1), at(2))
    message = f"4 chips are reserved for one from {at(1)[:19]}Z until {at(2)[:19]}Z"
    for start, end in (0.5, 1.5), (1, 2), (1.5, 1.6), (0, 9):
        with pytest.raises(ConflictError, match=message):
            _kept(opened, "two", [f"{D}/s0/c0-3"], start, end)
    _kept(opened, "before", [f"{D}/s0"], 0, 1)  # until == from
    _kept(opened, "after", [f"{D}/s0"], 2, 3)  # from == until
    _kept(opened, "beside", [f"{D}/s1"], 1, 2)
    with pytest.raises(ConflictError, match="reservation one is not over"):
        _kept(opened, "one", [f"{D}/s2"], 5, 6)
    opened.unreserve("one", who="you")
    with pytest.raises(UnknownReservationError, match="no reservation one"):
        opened.unreserve("one")
    assert _kept(opened, "two", [f"{D}/s0"], 1, 2).reservation.chips == 16
    assert done(happened(opened))[-3:] == [
        ("reserve", "beside", f"{D}/s1"),
        ("unreserve", "one", f"{D}/s0"),
        ("reserve", "two", f"{D}/s0"),
    ]
    assert {event.job for event in happened(opened, f"{D}/s1")} == {"beside"}
    is_sound(opened.engine)


def test_a_size_is_reserved_where_place_finds_it(opened: Fleet) -> None:
    _kept(opened, "half", [f"{D}/s0", f"{D}/s1"], 1, 2)
    placed = opened.placements(D, servers=2, from_=at(1), until=at(2), k=1).placements[0].places
    assert placed == (f"{D}/s2", f"{D}/s3")
    assert _kept(opened, "rest", [D], 1, 2, servers=2).reservation.chips == 32
    with pytest.raises(ConflictError, match=r"no place for 4 chips .* reserved are 32 chips in .* for half"):
        _kept(opened, "more", [D], 1, 2, chips=4)
    assert _kept(opened, "more", [D], 2, 3, chips=4).reservation.chips == 4
    for arguments, message in (
        ({"chips": 4, "maintenance": True}, "named places"),
        ({"chips": 4, "servers": 1}, "^give only one of --chips and --servers$"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            _kept(opened, "other", [D], 4, 5, **arguments)
    with pytest.raises(InvalidArgumentError, match="one place to search"):
        _kept(opened, "other", [f"{D}/s0", f"{D}/s1"], 4, 5, chips=4)


def test_a_job_has_no_chip_that_is_reserved_while_it_may_run(opened: Fleet) -> None:
    _kept(opened, "one", [f"{D}/s0"], 1, 2)
    for until in None, at(1, 1), at(3):
        with pytest.raises(ConflictError, match="16 chips are reserved for one"):
            opened.allocate("job", [f"{D}/s0"], until=until, who="me")
    with pytest.raises(UnknownReservationError, match="did you mean one"):
        opened.allocate("job", [f"{D}/s0"], reservation="onne", who="me")
    job = opened.allocate("job", [f"{D}/s0"], until=at(1), who="me")  # until == from
    assert job.until_at == at(1)
    opened.release("job", who="me")
    own = opened.allocate("job", [f"{D}/s0"], reservation="one", who="me")
    assert own.until_at == at(2)
    assert opened.allocate("free", [f"{D}/s1"], who="me").until_at is None


def test_a_reservation_waits_for_jobs_that_end_in_time(opened: Fleet) -> None:
    opened.allocate("ends", [f"{D}/s0"], until=at(1), who="me")
    opened.allocate("stays", [f"{D}/s1"], who="me")
    for name, server, start, job in (
        ("a", "s0", 0, f"ends until {at(1)[:19]}Z"),
        ("b", "s1", 5, "stays without an end"),
    ):
        with pytest.raises(ConflictError, match=f"16 chips have job {job}"):
            _kept(opened, name, [f"{D}/{server}"], start, 9)
    with pytest.raises(ConflictError, match="have job ends"):
        opened.reserve("a", [f"{D}/s0"], from_=at(1, -1), until=at(9), who="me")
    assert opened.placements(D, servers=2, until=at(9)).placements[0].places == (f"{D}/s2", f"{D}/s3")
    assert opened.placements(D, servers=1, from_=at(1), k=9).positions == 3
    _kept(opened, "a", [f"{D}/s0"], 1, 9)  # from == until of the job


def test_a_job_that_should_have_ended_still_has_its_chips(opened: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    opened.allocate("late", [f"{D}/s0"], until=at(1), who="me")
    for module in "changes.reserve", "questions.placements", "candidates.reserved_chips":
        monkeypatch.setattr(f"trninv.placement.{module}.current_time", lambda _: _START + timedelta(hours=1))
    with pytest.raises(ConflictError, match="have job late"):
        _kept(opened, "a", [f"{D}/s0"], 2, 3)
    assert opened.placements(D, servers=1, from_=at(2), k=9).positions == 3


def test_maintenance_lists_the_jobs_that_must_end_and_takes_no_reserved_chips(opened: Fleet) -> None:
    opened.allocate("job", [f"{D}/s3"], who="me")
    opened.cordon([f"{D}/s2"], who="me", why="x")
    _kept(opened, "kept", [f"{D}/s0"], 1, 2)
    with pytest.raises(ConflictError, match="reserved for kept"):
        _kept(opened, "patch", [D], 1, 2, maintenance=True)
    patched = _kept(opened, "patch", [f"{D}/s2", f"{D}/s3"], 1, 2, maintenance=True)
    assert patched.jobs == ("16 chips have job job without an end",)
    with pytest.raises(ConflictError, match="reserved for maintenance patch"):
        _kept(opened, "two", [f"{D}/s3"], 1, 2)
    with pytest.raises(ConflictError, match="is cordoned"):
        _kept(opened, "two", [f"{D}/s2"], 3, 4)


# ---- who heeds them


def _clock(monkeypatch: pytest.MonkeyPatch, time: str) -> None:
    for module in "questions.placements", "questions.make_room", "questions.capacity", "candidates.reserved_chips":
        monkeypatch.setattr(f"trninv.placement.{module}.current_time", lambda _: datetime.fromisoformat(time))


def test_place_and_make_room_keep_reserved_chips_until_just_before_their_end(
    opened: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    _kept(opened, "one", [f"{D}/s0"], 1, 2)
    reserved = f"16 chips in {D}/s0 for one from {at(1)[:19]}Z until {at(2)[:19]}Z"
    for ask in opened.placements, opened.make_room:
        answer = ask(scope=D, domains=1)
        assert (answer.is_satisfied(), answer.reservations) == (False, (reserved,))
        assert "reserved for a time from" in answer.definition
        assert ask(scope=D, domains=1, reservation="one").reservations == ()
        assert ask(scope=D, domains=1, reservation="one").is_satisfied()
        assert ask(scope=D, domains=1, until=at(1)).is_satisfied()  # until == from
        assert not ask(scope=D, domains=1, until=at(1, 1)).is_satisfied()
        with pytest.raises(UnknownReservationError):
            ask(scope=D, domains=1, reservation="two")
    for now, fits in ((at(1), False), (at(2, -1), False), (at(2), True)):  # now == from, and now == until
        _clock(monkeypatch, now)
        assert opened.placements(D, domains=1).is_satisfied() is fits
        assert opened.make_room(scope=D, domains=1).is_satisfied() is fits


def test_jobs_do_not_move_to_reserved_chips_and_a_plan_is_stale_once_they_are_reserved(opened: Fleet) -> None:
    opened.allocate("probe", [f"{D}/s3/c0-3"], who="me")
    for index in range(3):
        opened.allocate(f"j{index}", [f"{D}/s{index}/c0-3"], pinned=True, who="me")
    plan = opened.make_room(scope=D, servers=1)
    assert [move.job for move in plan.moves] == ["probe"]
    opened.reserve("rest", [f"{D}/s{index}/c4-15" for index in range(3)], from_=at(1), until=at(2), who="me")
    with pytest.raises(StalePlanError):
        opened.move_jobs(D, plan.moves, plan.revision, who="me")
    after = opened.make_room(scope=D, servers=1)
    assert not after.is_satisfied()
    with pytest.raises(ConflictError, match="reserved for rest"):
        opened.move_jobs(D, plan.moves, after.revision, who="me")


def test_capacity_counts_maintenance_as_down(opened: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    _kept(opened, "patch", [f"{D}/s0"], 1, 2, maintenance=True)
    _kept(opened, "kept", [f"{D}/s1"], 1, 2)
    rates = "[chip]\nmtbf_hours = 50000\nmttr_hours = 24"

    def chips_now(until: str | None = None) -> int:
        return opened.capacity(D, rates, samples=100, until=until).sizes[0].chips

    assert chips_now() == 64
    assert (chips_now(at(1)), chips_now(at(1, 1))) == (64, 48)
    assert len(opened.capacity(D, rates, samples=100, until=at(9)).reservations) == 2
    for now, chips in ((at(1, -1), 64), (at(1), 48), (at(2, -1), 48), (at(2), 64)):
        _clock(monkeypatch, now)
        assert chips_now() == chips


def test_an_incident_names_the_reservations_that_lose_chips(opened: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    _kept(opened, "one", [f"{D}/s0", f"{D}/s1/c0-3"], 1, 2)
    opened.set_state([f"{D}/s0"], "down", why="fan", who="me")
    for now, begun in ((at(1, -1), [False]), (at(1), [True]), (at(2, -1), [True]), (at(2), [])):
        monkeypatch.setattr("trninv.incidents.impact.current_time", lambda _, now=now: datetime.fromisoformat(now))
        (incident,) = opened.incidents()
        affected = opened.impact(incident).reservations
        assert [reservation.has_begun for reservation in affected] == begun
        assert all((item.name, item.affected_chips, item.chips) == ("one", 16, 20) for item in affected)
    opened.unreserve("one")
    monkeypatch.setattr("trninv.incidents.impact.current_time", lambda _: _START)
    assert opened.impact(opened.incidents()[0]).reservations == ()


# ---- the rows


@pytest.mark.quick_on_postgresql
def test_plain_sql_cannot_promise_twice_nor_reopen_or_remove(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        _kept(fleet, "one", [f"{D}/s0/c0"], 1, 2)
        _kept(fleet, "two", [f"{D}/s0/c1"], 1, 2)
        _kept(fleet, "three", [f"{D}/s0/c0"], 2, 3)
        fleet.unreserve("two")
        _kept(fleet, "four", [f"{D}/s0/c1"], 1, 2)
        with fleet.connect() as connection:
            chips = dict(
                connection.execute(
                    select(TABLES["reserved_chip"].c.reservation_id, TABLES["reserved_chip"].c.chip_id)
                ).all()
            )
    for statement in (
        f"INSERT INTO reserved_chip VALUES (99, 1, {chips[2]})",
        "UPDATE reservation SET ended_at = NULL WHERE id = 2",
        f"UPDATE reservation SET until_at = '{at(9)}' WHERE id = 1",
        "UPDATE reserved_chip SET reservation_id = 3 WHERE reservation_id = 1",
        "DELETE FROM reserved_chip",
        "DELETE FROM reservation",
    ):
        with temporary_engine(seeded) as engine, pytest.raises(SqlError), engine.begin() as connection:
            connection.execute(text(statement))
    with temporary_engine(seeded) as engine:
        with engine.begin() as connection:
            connection.execute(text(f"INSERT INTO reserved_chip VALUES (99, 3, {chips[2]})"))  # at another time
        is_sound(engine)


@pytest.mark.quick_on_postgresql
def test_removing_a_cluster_removes_its_reservations_and_a_key_is_never_used_again(seeded: str) -> None:
    cluster = TABLES["cluster"]
    with temporary_engine(seeded) as engine:
        for keys in [1], [2]:
            with write_transaction(engine) as connection:
                place = D if keys == [1] else "trn1.2xlarge/d0"
                reserve(connection, "one", [place], from_=at(1), until=at(2), who="me")
                assert list(connection.scalars(select(TABLES["reservation"].c.id))) == keys
            if keys == [1]:
                with write_transaction(engine) as connection:
                    unseed(
                        connection, connection.scalars(select(cluster.c.id).where(cluster.c.slug == "u-trn2x64")).one()
                    )
                    assert connection.scalar(select(func.count()).select_from(TABLES["reserved_chip"])) == 0
        assert done(happened(engine)) == [
            ("reserve", "one", D),
            ("unreserve", "one", D),
            ("reserve", "one", "trn1.2xlarge/d0/s0/c0"),
        ]
        is_sound(engine)


def test_an_earlier_time_has_its_reservations(opened: Fleet) -> None:
    _kept(opened, "one", [f"{D}/s0"], 1, 2)
    opened.unreserve("one")
    assert not opened.at(1).placements(D, domains=1).is_satisfied()
    assert opened.at(2).placements(D, domains=1).is_satisfied()
    assert opened.at(0).placements(D, domains=1).is_satisfied()


# ---- several at once, and at random


@pytest.mark.quick_on_postgresql
@pytest.mark.parametrize("backend", BACKENDS)
def test_of_two_processes_that_reserve_the_same_chips_one_wins(databases: Databases, backend: str) -> None:
    url = databases.seeded(backend)
    command = [sys.executable, "-P", "-m", "trninv", "--database", url, "reserve"]
    options = ["--servers", "4", "--from", at(1), "--until", at(2)]
    racing = [subprocess.Popen([*command, name, D, *options], stderr=subprocess.PIPE, text=True) for name in ("a", "b")]
    errors = [process.communicate(timeout=120)[1] for process in racing]
    assert sorted(process.returncode for process in racing) == [0, 1], errors
    assert "reserved are" in "".join(errors)
    with trninv.open(url) as fleet:
        assert [event.action for event in happened(fleet)] == ["reserve"]


class _Oracle:
    """Who has each chip when, as plain lists: names with the start and end of each."""

    def __init__(self) -> None:
        self.spans: dict[str, tuple[frozenset[int], float, float, bool]] = {}

    def may(self, chips: frozenset[int], start: float, end: float, *, is_maintenance: bool = False) -> bool:
        for other, first, last, is_job in self.spans.values():
            if chips & other and start < last and first < end and not (is_job and is_maintenance):
                return False
        return True


def _random_run(engine: Engine, seed: int) -> None:
    draw, oracle, servers = random.Random(seed), _Oracle(), range(4)
    for number in range(14):
        chips = frozenset(draw.sample(range(8), draw.choice([1, 2, 4])))
        places = [f"{D}/s{chip % len(servers)}/c{chip // len(servers)}" for chip in chips]
        start, end = draw.choice([(1, 2), (2, 3), (1, 3), (3, 5), (2, 5)])
        name, kind = f"n{number}", draw.choice(["job", "maintenance", "allocate", "cancel"])
        try:
            with write_transaction(engine) as connection:
                if kind == "cancel":
                    kept = [name for name, span in oracle.spans.items() if not span[3]]
                    if kept:
                        unreserve(connection, name := draw.choice(kept), who="me")
                        del oracle.spans[name]
                    continue
                if kind == "allocate":
                    expected = oracle.may(chips, 0, end)
                    allocate(connection, name, places, until=at(end), who="me")
                    oracle.spans[name] = chips, 0, end, True
                else:
                    expected = oracle.may(chips, start, end, is_maintenance=kind == "maintenance")
                    is_maintenance = kind == "maintenance"
                    reserve(
                        connection, name, places, from_=at(start), until=at(end), maintenance=is_maintenance, who="me"
                    )
                    oracle.spans[name] = chips, start, end, False
        except ConflictError:
            assert not expected, (seed, number, kind)
        else:
            assert expected, (seed, number, kind)


@pytest.mark.parametrize("backend", BACKENDS)
@examples(10)
@given(seed=st.integers(0, 10**6))
def test_random_reservations_are_those_of_brute_force(databases: Databases, backend: str, seed: int) -> None:
    with temporary_engine(databases.seeded(backend)) as engine:
        _random_run(engine, seed)
        is_sound(engine)


# ---- the command line


def test_the_commands_say_what_is_reserved(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    status, out, err = run("reserve", "one", D, "--servers", "1", "--from", at(1), "--until", "2h", database=url)
    times = f"from {at(1)[:19]}Z until {at(3)[:19]}Z"
    assert (status, out, err) == (0, f"reserved 16 chips in {D}/s0 for one {times}\n", "")
    run("allocate", "job", f"{D}/s3", database=url)
    arguments = ("patch", f"{D}/s3", "--maintenance", "--until", "4h", "--dry-run")
    assert (
        "must end or move before: 16 chips have job job without an end" in run("reserve", *arguments, database=url)[1]
    )
    out = run("reservations", database=url)[1]
    assert f"{D}/s0" in out
    assert "patch" not in out
    assert f"reserved: 16 chips in {D}/s0 for one {times}" in run("place", D, "--servers", "1", database=url)[1]
    assert run("unreserve", "one", database=url)[1] == f"cancelled: 16 chips in {D}/s0 for one {times}\n"
    assert "one" not in run("reservations", database=url)[1]
    assert "cancelled_at" in run("reservations", "--ended", database=url)[1]


def test_conflicts_after_the_first_few_are_counted() -> None:
    several = [str(number) for number in range(reservations.MAX_CONFLICTS + 1)]
    assert reservations.join_conflicts(several[:-1]) == "; ".join(several[:-1])
    assert reservations.join_conflicts(several) == "; ".join(several[:-1]) + "; 1 more"
