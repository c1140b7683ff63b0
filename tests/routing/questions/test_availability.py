"""Shares of time and repairs, against a simulation that looks at every second."""

import json
import random
from calendar import timegm
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from time import sleep
from xml.etree.ElementTree import fromstring

import pytest
from sqlalchemy import event, literal, select, text
from tampering import tamper

import trninv
from conftest import Databases, Run, both_ways
from trninv.database.engine import temporary_engine
from trninv.database.tables import STATES
from trninv.errors import InvalidArgumentError, InvalidTimeError
from trninv.history import availability
from trninv.history.epoch_time import EpochSeconds, Microseconds
from trninv.routing.questions.availability import InherentAvailability, MeanTime

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

T0 = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
"""Half an hour before Europe's clocks go forward."""
U, SPAN, CHIPS = "u-trn2x64", 60, 64
SAID = (
    "INSERT INTO _change (id, at, who, why, source) VALUES (1, :at, 'dice', 'chance', 'command')",
    "DELETE FROM _change",
)


def _at(second: float) -> str:
    return (T0 + timedelta(seconds=second)).isoformat(timespec="microseconds")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, databases: Databases) -> str:
    return databases.seeded(request.param)


def _lived(url: str, seed: int, back: bool) -> list[tuple[float, int, str]]:
    """Give chips a random history of whole seconds, told as (second, chip, state) in the order of events."""
    dice = random.Random(seed)
    times = sorted(dice.sample(range(1, SPAN + 15), 25))
    if back:
        times[15:] = [time - 8 for time in times[15:]]
    with temporary_engine(url) as engine, engine.begin() as connection:
        connection.execute(text("UPDATE node SET state = 'up' WHERE state <> 'up'"))
        last = connection.scalar(text("SELECT coalesce(max(id), 0) FROM state_event"))
        connection.execute(
            text("UPDATE cluster SET known_from = :last, known_since = :at"), {"last": last, "at": _at(0)}
        )
        first = connection.scalar(
            text("SELECT min(chip.id) FROM chip JOIN cluster ON first_server_id = server_id WHERE slug = 'u-trn2x64'")
        )
        found = []
        for time in times:
            chip, state = dice.randrange(4), dice.choice(STATES)
            connection.execute(text(SAID[0]), {"at": _at(time)})
            changed = connection.execute(
                text("UPDATE node SET state = :state WHERE id = :id AND state <> :state"),
                {"state": state, "id": first + chip},
            )
            connection.execute(text(SAID[1]))
            if changed.rowcount:
                found.append((float(time), chip, state))
    return found


def _simulated(history: list[tuple[float, int, str]], begin: int, end: int) -> tuple[dict[str, float], int, int]:
    """Shares of the states of all chips, second by second; failures and repairs between the two."""

    def states(second: int) -> list[str]:
        known = max((at for at, (time, *_) in enumerate(history) if time <= second), default=-1)
        now = ["up"] * CHIPS
        for _, chip, state in history[: known + 1]:
            now[chip] = state
        return now

    seen = [state for second in range(begin, end) for state in states(second)]
    shares = {state: seen.count(state) / len(seen) for state in STATES}
    steps = [
        pair for one, other in pairwise(map(states, range(begin, end + 1))) for pair in zip(one, other, strict=True)
    ]
    failed = sum(one != "down" and other == "down" for one, other in steps)
    return shares, failed, sum(one == "down" and other != "down" for one, other in steps)


@pytest.mark.parametrize(("seed", "back"), [(1, False), (2, False), (3, True)])
def test_it_is_what_a_simulation_of_every_second_finds(url: str, seed: int, back: bool) -> None:
    history = _lived(url, seed, back)
    for begin, end in ((0, SPAN), (13, 44)):
        with trninv.open(url) as fleet:
            answer = fleet.availability(U, _at(begin), _at(end))
        (chips,) = (each for each in answer.kinds if each.kind == "chip")
        shares, failed, repaired = _simulated(history, begin, end)
        assert {state: getattr(chips, state) for state in STATES} == pytest.approx(shares)
        if not back:  # within one second, several changes of a chip may be seen there as one
            assert (chips.failures, chips.repairs) == (failed, repaired)
            assert (chips.mttr.seconds or 0) * repaired == pytest.approx(
                shares["down"] * CHIPS * (end - begin) * (repaired > 0)
            )
            assert chips.down_at_start + chips.failures - chips.repairs == chips.ongoing


@pytest.mark.parametrize("back", [False, True])
def test_it_is_the_same_in_whatever_slices_events_are_read(
    url: str, back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lived(url, 4, back)
    with trninv.open(url) as fleet:

        def answers() -> list[object]:
            return [fleet.availability(U, _at(13), _at(44), by).kinds for by in ("kind", "model", "rack")]

        whole = answers()
        for events in (1, 7):
            monkeypatch.setattr(availability, "_SLICE_EVENTS", events)
            assert answers() == whole


@pytest.mark.quick_on_postgresql
def test_the_oldest_events_have_no_fraction_of_a_second(url: str) -> None:
    _lived(url, 7, back=False)
    with trninv.open(url) as fleet:

        def answers() -> tuple[object, object]:
            return fleet.availability(U, _at(0), _at(SPAN)), fleet.timeline(U, _at(0), _at(SPAN), buckets=7).buckets

        before = answers()
        last = _at(SPAN)
        tamper(
            fleet.engine,
            "UPDATE state_event SET at = replace(at, '.000000', '') WHERE at < :last",
            "state_event",
            last=last,
        )
        assert answers() == before


def test_command_and_graphql_say_what_python_says(url: str, run: Run) -> None:
    _lived(url, 5, back=False)
    with trninv.open(url) as fleet:
        answer = fleet.availability(U, "2026-03-28T00:00:00Z", _at(SPAN), "rack")
        field = f'availability(scope: "{U}", since: "2026-03-28T00:00:00Z", until: "{_at(SPAN)}", by: RACK)'
        found = both_ways(fleet)(
            f"{{ {field} {{ since requestedSince kinds {{ kind name up failures inherent {{ upper }} mtbf {{ "
            f"lower }} }} }} }}"
        )
    said = found["data"]["availability"]
    assert (said["since"], said["requestedSince"]) == (T0.isoformat(), "2026-03-28T00:00:00+00:00")
    times = "--since", "2026-03-28T00:00:00Z", "--until", _at(SPAN)
    _, out, _ = run("availability", U, *times, "--by", "rack", "--format", "json", database=url)
    written = json.loads(out)["kinds"]
    for one, other, of in zip(said["kinds"], written, answer.kinds, strict=True):
        assert (one["kind"], one["name"], one["up"], one["failures"]) == (of.kind, of.name, of.up, of.failures)
        assert one["inherent"]["upper"] == other["inherent"]["upper"] == of.inherent.upper
        assert (other["kind"], other["up"], other["mtbf"]["lower"]) == (of.kind, of.up, one["mtbf"]["lower"])


def test_the_report_says_what_the_question_says(url: str, run: Run) -> None:
    _lived(url, 8, back=False)
    for begin, end in ((0, SPAN), (13, 44)):
        with trninv.open(url) as fleet:
            wanted = fleet.availability(U, _at(begin), _at(end)).kinds
        given = [word for of in (f"cluster={U}", f"since={_at(begin)}", f"until={_at(end)}") for word in ("--set", of)]
        found = json.loads(run("report", "availability", *given, "--format", "json", database=url)[1])["rows"]
        assert [row["share_up"] for row in found] == sorted(row["share_up"] for row in found)
        found.sort(key=lambda row: [of.kind.replace("_", " ") for of in wanted].index(row["kind"]))
        for row, of in zip(found, wanted, strict=True):
            counts = (row["cluster"], row["parts"], row["failures"], row["repairs"], row["ongoing"])
            assert counts == (U, of.parts, of.failures, of.repairs, of.ongoing)
            shares = [row[f"share_{state}"] for state in STATES]
            assert shares == pytest.approx([getattr(of, state) for state in STATES], abs=1e-9)
            for name, mean in (("mtbf_hours", of.mtbf), ("mttr_hours", of.mttr)):
                assert row[name] == (mean.seconds and pytest.approx(mean.seconds / 3600, abs=1e-6))
    assert sum(row["failures"] for row in found)


@pytest.mark.parametrize("seed", [8, 9])
def test_the_report_has_the_mean_of_the_repairs_that_ended(url: str, run: Run, seed: int) -> None:
    history = _lived(url, seed, back=False)
    means = []
    for begin, end in ((0, SPAN), (13, 44), (30, SPAN)):
        since, ended = dict[int, float](), list[float]()
        for second, chip, state in history:
            if chip in since and state != "down":
                began = since.pop(chip)
                if begin < second <= end:
                    ended.append(second - began)  # all of it, also what is before the period
            elif state == "down":
                since[chip] = second
        given = [word for of in (f"cluster={U}", f"since={_at(begin)}", f"until={_at(end)}") for word in ("--set", of)]
        found = json.loads(run("report", "availability", *given, "--format", "json", database=url)[1])["rows"]
        hours = {row["kind"]: row["ended_repair_hours"] for row in found}
        mean = sum(ended) / len(ended) / 3600 if ended else None
        assert hours.pop("chip") == (mean and pytest.approx(mean, abs=1e-6))
        assert set(hours.values()) == {None}
        means.append(mean)
    assert len(set(means)) > 1


def test_what_its_server_took_along_has_not_failed_itself(url: str, run: Run) -> None:
    with temporary_engine(url) as engine, engine.begin() as connection:
        connection.execute(text("UPDATE node SET state = 'up' WHERE state <> 'up'"))
    with trninv.open(url) as fleet:
        before = {each.kind: each for each in fleet.availability(f"{U}/d0/s3").kinds}
        start = datetime.now(UTC)
        sleep(1.1)  # events are of whole seconds
        assert run("set", f"{U}/d0/s3", "down", "--why", "a test", database=url)[0] == 0
        after = {each.kind: each for each in fleet.availability(f"{U}/d0/s3").kinds}
    for end, count in ((datetime.now(UTC) + timedelta(hours=1), 16), (start, 0)):
        given = ["report", "availability", "--set", f"cluster={U}", "--set", f"until={end.isoformat()}"]
        rows = {row["kind"]: row for row in json.loads(run(*given, "--format", "json", database=url)[1])["rows"]}
        counts = {kind: row["ongoing_with_server"] for kind, row in rows.items() if row["ongoing_with_server"]}
        assert counts == ({"chip": count, "nic": count} if count else {})
    assert (after["server"].failures, after["server"].ongoing) == (1, 1)
    assert (
        (after["chip"].failures, after["chip"].ongoing) == (before["chip"].failures, before["chip"].ongoing) == (0, 0)
    )
    assert after["chip"].down > 0


def test_times_that_can_not_be(url: str) -> None:
    with trninv.open(url) as fleet:
        for since, until in (("2026-03-29", None), ("2999-01-01T00:00Z", None), (_at(5), _at(5)), (_at(6), _at(5))):
            with pytest.raises(InvalidTimeError):
                fleet.availability(U, since, until)
        with pytest.raises(InvalidArgumentError, match="scenario"):
            fleet.what_if([f"{U}/d0/s0/c0"]).availability(U)


def test_nothing_that_failed_leaves_a_lower_limit() -> None:
    none, five = MeanTime.from_total(100 * 10**6, 0), MeanTime.from_total(100 * 10**6, 5)
    assert (none.seconds, none.upper) == (None, None)
    assert none.lower == pytest.approx(2 * 100 / 7.3778, rel=1e-4)  # tables: chi-square 0.975, 2
    assert (five.lower, five.upper) == pytest.approx((2 * 100 / 23.3367, 2 * 100 / 3.2470), rel=1e-4)
    assert str(MeanTime.from_total(0, 0)) == "-"


def test_groups_add_up_to_their_kinds_and_a_rack_is_what_asking_of_it_says(url: str) -> None:
    _lived(url, 6, back=True)
    with trninv.open(url) as fleet:
        whole = fleet.availability(U, _at(0), _at(SPAN))
        for by, names in (("model", {"trainium2", None}), ("rack", {f"{U}/r0", f"{U}/r1"}), ("cluster", {U})):
            groups = fleet.availability(U, _at(0), _at(SPAN), by).kinds
            assert {of.name for of in groups if of.kind in ("chip", "nic")} - {None} == names - {None}
            for total in whole.kinds:
                ours = [of for of in groups if of.kind == total.kind]
                counts = sum(
                    (Counter(parts=of.parts, failures=of.failures, repaired=of.repairs) for of in ours), Counter()
                )
                assert (counts["parts"], counts["failures"]) == (total.parts, total.failures)
                assert sum(of.up * of.parts for of in ours) == pytest.approx(total.up * total.parts)
        racks = fleet.availability(U, _at(0), _at(SPAN), "rack").kinds
        (alone,) = (of for of in fleet.availability(f"{U}/r0", _at(0), _at(SPAN)).kinds if of.kind == "chip")
        (chips,) = (of for of in racks if (of.kind, of.name) == ("chip", f"{U}/r0"))
        assert (chips.parts, chips.up, chips.failures, chips.mttr) == (
            alone.parts,
            alone.up,
            alone.failures,
            alone.mttr,
        )
        assert chips.failures


@pytest.mark.quick_on_postgresql
@pytest.mark.parametrize("by", ["kind", "rack"])
def test_one_statement_counts_all_parts(url: str, by: str) -> None:
    seen = []
    with trninv.open(url) as fleet:
        event.listen(fleet.engine, "before_cursor_execute", lambda *of: seen.append(of[2]))
        fleet.availability(U, by=by)
    reading = [each for each in seen if "state_event" in each]
    counted = [False] * url.startswith("sqlite")  # PostgreSQL hands over the events past SQLAlchemy
    assert ["clock_went_back" in each for each in reading] == [True, False, *counted]  # the second: the last time
    assert not [each for each in seen if "FROM node" in each and each not in reading]


def test_a_chart_has_a_bar_a_group_and_says_it_in_words(url: str, run: Run, tmp_path: Path) -> None:
    _lived(url, 7, back=False)
    done = run("availability", U, "--until", _at(SPAN), "--by", "rack", "--svg", str(tmp_path / "a.svg"), database=url)
    assert done[0] == 0, done
    svg = fromstring((tmp_path / "a.svg").read_text("utf-8"))  # noqa: S314 # our own picture
    space = "{http://www.w3.org/2000/svg}"
    groups = {
        each.findtext(f"{space}title"): each for each in svg.iter(f"{space}g") if each.find(f"{space}title") is not None
    }
    with trninv.open(url) as fleet:
        kinds = fleet.availability(U, until=_at(SPAN), by="rack").kinds
    assert len(groups) == len(kinds)
    for (title, group), of in zip(groups.items(), kinds, strict=True):
        assert str(title).startswith(of.kind if of.name is None else f"{of.kind}, {of.name}: ")
        assert len(group.findall(f"{space}rect")) == (of.inherent.share is not None)
        assert len(group.findall(f"{space}line")) == 3
    assert "confidence interval" in "".join(svg.itertext())
    assert (svg.findtext(f"{space}title"), svg.find(f".//{space}desc") is None) == (
        f"Availability of {U} by rack",
        False,
    )
    assert run("availability", U, "--svg", str(tmp_path / "no" / "a.svg"), database=url)[0] == 2


def test_limits_of_inherent_availability() -> None:
    some = InherentAvailability.from_counts(1_000, 5, 50, 5)
    assert some.share == pytest.approx(1_000 / 1_050)
    assert some.lower == pytest.approx(1 / (1 + 50 / 1_000 * 12 / 10 * 3.6209), rel=1e-4)  # tables: F 0.975, 12, 10
    assert some.upper == pytest.approx(1 / (1 + 50 / 1_000 * 10 / 12 / 3.3736), rel=1e-2)  # F 0.975, 12, 10 turned over
    assert InherentAvailability.from_counts(1_000, 0, 0, 0) == InherentAvailability(None, 0.0, 1.0)
    assert InherentAvailability.from_counts(1_000, 1, 50, 0).lower == 0.0


@pytest.mark.quick_on_postgresql
def test_seconds_and_microseconds_of_times_are_exact(url: str) -> None:
    dice, span = random.Random(9), timedelta(days=36_500)
    drawn = [datetime(1990, 1, 1, tzinfo=UTC) + dice.random() * span for _ in range(300)]
    edges = [time.replace(microsecond=micros) for time in drawn[:20] for micros in (0, 1, 499, 500, 999_499, 999_999)]
    texts = [time.isoformat(timespec="microseconds") for time in (*drawn, *edges)]
    texts += [time.isoformat() for time in edges if not time.microsecond]  # as the oldest events have them
    with temporary_engine(url) as engine, engine.connect() as connection:
        for written in texts:
            time = literal(written)
            seconds, micros = connection.execute(select(EpochSeconds(time), Microseconds(time))).one()
            exact = datetime.fromisoformat(written)
            assert (int(seconds), int(micros)) == (timegm(exact.timetuple()), exact.microsecond), written
