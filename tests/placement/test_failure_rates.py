"""Rates from the recorded events and from a report, and the ETTR that follows: against counts by hand."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chi2
from sqlalchemy import text

import trninv
from conftest import Run, both_ways
from trninv.database.engine import temporary_engine
from trninv.errors import InvalidArgumentError, InvalidTimeError
from trninv.placement.candidates.placement_model import placement_model
from trninv.placement.placement_fleet import Fleet
from trninv.placement.questions.training_time_ratio import parts_of_job
from trninv.placement.rate_presets import PRESETS
from trninv.solvers.checkpointing import daly_interval, training_time_ratio

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

U, HOURS = "u-trn2x64", 100
TIMES: dict[str, Any] = {"checkpoint_seconds": 60, "restart_seconds": 600}


def live(url: str, *events: tuple[float, int, str]) -> datetime:
    """Let the history start HOURS ago; each event is its hour, a chip's number and the chip's new state."""
    start = datetime.now(UTC) - timedelta(hours=HOURS)

    def time(hour: float) -> str:
        return (start + timedelta(hours=hour)).isoformat(timespec="microseconds")

    with temporary_engine(url) as engine, engine.begin() as connection:
        last = connection.scalar(text("SELECT coalesce(max(id), 0) FROM state_event"))
        connection.execute(
            text("UPDATE cluster SET known_from = :last, known_since = :at"), {"last": last, "at": time(0)}
        )
        first = connection.scalar(
            text("SELECT min(chip.id) FROM chip JOIN cluster ON first_server_id = server_id WHERE slug = :slug"),
            {"slug": U},
        )
        for hour, chip, state in sorted(events):
            connection.execute(
                text("INSERT INTO _change (id, at, who, why, source) VALUES (1, :at, 'me', 'test', 'command')"),
                {"at": time(hour)},
            )
            connection.execute(
                text("UPDATE node SET state = :state WHERE id = :id"), {"state": state, "id": first + chip}
            )
            connection.execute(text("DELETE FROM _change"))
    return start


@pytest.fixture
def lived(seeded: str) -> Iterator[Fleet]:
    """Three failures; two were repaired after 4 and 6 hours, and one is open for an hour now."""
    live(seeded, (10, 0, "down"), (14, 0, "up"), (50, 1, "down"), (56, 1, "degraded"), (99, 2, "down"))
    with trninv.open(seeded) as fleet:
        yield fleet


def test_rates_of_history_are_those_counted_by_hand(lived: Fleet) -> None:
    answer = lived.capacity(U, "history", samples=100)
    (chip,) = answer.rates
    carried, repairing = 64 * HOURS - 11, 11
    assert (chip.kind, chip.failures, chip.parts) == ("chip", 3, 64)
    assert chip.mtbf_hours == pytest.approx(carried / 3, rel=1e-4)
    assert chip.mttr_hours == pytest.approx(repairing / 2, rel=1e-3)
    assert chip.probability == pytest.approx(5.5 / (5.5 + carried / 3), rel=1e-3)
    limits = [2 * carried / chi2.ppf(0.975, 8), 2 * carried / chi2.ppf(0.025, 6)]
    assert [(limit or 0) / 3600 for limit in (chip.mtbf.lower, chip.mtbf.upper)] == pytest.approx(limits, rel=1e-4)
    limits = [2 * repairing / chi2.ppf(0.975, 6), 2 * repairing / chi2.ppf(0.025, 4)]
    assert [(limit or 0) / 3600 for limit in (chip.mttr.lower, chip.mttr.upper)] == pytest.approx(limits, rel=1e-3)
    assert answer.source.name == "history"
    assert [rate.split()[0] for rate in answer.uncounted] == ["server", "nic", "link"]
    worse = lived.capacity(U, "history", samples=100, pessimistic=True, repair_hours=2)
    assert [rate.kind for rate in worse.rates] == ["chip", "server", "nic", "link"]
    assert worse.rates[0].mttr_hours == pytest.approx(limits[1], rel=1e-3)
    assert (worse.rates[1].mttr_hours, worse.uncounted) == (2, ())
    assert worse.domain_probability is not None
    assert answer.domain_probability is not None
    assert worse.domain_probability < answer.domain_probability


def test_ettr_of_history_has_the_limits_of_its_rates(lived: Fleet) -> None:
    answer = lived.training_time_ratio(U, "history", **TIMES)
    job = (64 * HOURS - 11) / 3 / 64
    assert answer.mtbf_hours == pytest.approx(job, rel=1e-4)
    assert answer.mtbf_lower_hours is not None
    assert answer.mtbf_upper_hours is not None
    assert answer.mtbf_lower_hours < job / 2 < job < answer.mtbf_upper_hours
    best = answer.intervals[-1]
    assert best.seconds == pytest.approx(daly_interval(60, job * 3600), rel=1e-3)
    assert best.ratio == pytest.approx(training_time_ratio(best.seconds, 60, 600, job * 3600), rel=1e-4)
    assert (best.ratio_lower or 0) < best.ratio < (best.ratio_upper or 0) < 1
    lower = lived.training_time_ratio(U, "history", pessimistic=True, **TIMES)
    assert lower.mtbf_hours == pytest.approx(answer.mtbf_lower_hours, rel=1e-3)


def test_a_later_start_counts_later_failures_and_a_scenario_has_the_same_history(seeded: str) -> None:
    start = live(seeded, (10, 0, "down"), (14, 0, "up"), (50, 1, "down"), (56, 1, "up"))
    with trninv.open(seeded) as fleet:
        at = {hour: (start + timedelta(hours=hour)).isoformat() for hour in (10, 20, 101)}
        counted = [fleet.capacity(U, "history", samples=100, rates_since=at[hour]).rates[0] for hour in (10, 20)]
        assert [rate.failures for rate in counted] == [1, 1]  # the failure at the very start was before it
        assert counted[1].mttr_hours == pytest.approx(6, rel=1e-3)
        with pytest.raises(InvalidTimeError):
            fleet.capacity(U, "history", rates_since=at[101])
        scenario = fleet.what_if([f"{U}/d0/s0/c0"])
        assert isinstance(scenario, Fleet)
        assert scenario.capacity(U, "history", samples=100).rates[0].failures == 2
        assert fleet.capacity(f"{U}/d0/s1", " HISTORY ", samples=100).rates[0].failures == 2  # of its cluster


def test_without_a_failure_there_is_only_a_limit(seeded: str) -> None:
    live(seeded, (10, 0, "maintenance"), (20, 0, "up"), (30, 1, "degraded"))
    with trninv.open(seeded) as fleet:
        with pytest.raises(InvalidArgumentError, match=r"nothing failed .*--pessimistic .*chip > 1,73\d h"):
            fleet.capacity(U, "history")
        with pytest.raises(InvalidArgumentError, match="nothing failed"):
            fleet.training_time_ratio(U, "history", **TIMES)
        with pytest.raises(InvalidArgumentError, match="--repair-hours"):
            fleet.capacity(U, "history", pessimistic=True)
        worst = fleet.capacity(U, "history", pessimistic=True, mission=24, samples=100)
        assert worst.rates[0].mtbf_hours == pytest.approx((64 * HOURS - 10) / 3.6889, rel=1e-3)  # -ln 0.025
        bounded = fleet.training_time_ratio(U, "history", pessimistic=True, **TIMES)
        assert bounded.mtbf_upper_hours is None
        assert bounded.intervals[0].ratio_upper == pytest.approx(1 / (1 + 60 / bounded.intervals[0].seconds))


def test_one_failure_that_is_open_has_no_time_to_repair(seeded: str) -> None:
    live(seeded, (90, 0, "down"))
    with trninv.open(seeded) as fleet:
        with pytest.raises(InvalidArgumentError, match="rates of chip: no repair time is known"):
            fleet.capacity(U, "history")
        answer = fleet.capacity(U, "history", repair_hours=8, samples=100)
        assert (answer.rates[0].failures, answer.rates[0].mttr_hours) == (1, 8)
        assert answer.rates[0].mttr.lower == pytest.approx(10 * 3600 / 3.6889, rel=1e-3)


def test_llama3_counts_what_the_paper_counts(lite_fleet: Fleet) -> None:
    preset = PRESETS["llama3"]
    assert sum(cause.count for cause in preset.causes) == 419
    assert [preset.interruptions(kind) for kind in ("chip", "server", "other")] == [268, 53, 98]
    shares = {cause.cause: round(100 * cause.count / 419, 1) for cause in preset.causes}
    assert (shares["GPU HBM3 Memory"], shares["Network Switch/Cable"], shares["Faulty GPU"]) == (17.2, 8.4, 35.3)
    answer = lite_fleet.training_time_ratio(U, "llama3", chips=16_384, **TIMES)
    counts = {"chip": 268, "server": 53 * 1_024 / 2_048, "other": 98}  # a server of Trn2 has 16 chips
    assert {rate.kind: rate.per_day * 54 for rate in answer.rates} == pytest.approx(counts)
    assert answer.mtbf_hours == pytest.approx(54 * 24 / sum(counts.values()))
    assert "419 were unexpected" in str(answer.source.quote)
    assert "not Trainium" in str(answer.source.note)
    with pytest.raises(InvalidArgumentError, match="--repair-hours"):
        lite_fleet.capacity(U, "llama3")
    capacity = lite_fleet.capacity(U, "llama3", repair_hours=24, samples=100)
    assert {rate.kind: rate.mtbf_hours for rate in capacity.rates} == pytest.approx(
        {"chip": 16_384 * 54 * 24 / 268, "server": 2_048 * 54 * 24 / 53}
    )


@pytest.mark.parametrize(
    ("rates", "options", "says"),
    [
        ("llama2", {}, "'llama2' is no source; use history or llama3"),
        ("[chip]\nmtbf_hours = 1", {"pessimistic": True}, "have no limits"),
        ("llama3", {"rates_since": "2026-01-01T00:00:00Z"}, "--rates history"),
        ("[switch]\nmtbf_hours = 1", {}, "has none of these parts"),
        ("llama3", {"checkpoint_seconds": 0}, "--interval-seconds"),
        ("llama3", {"chips": 0}, "chips 0 is out of range"),
        ("llama3", {"restart_seconds": -1}, "out of range"),
    ],
)
def test_what_is_refused(lite_fleet: Fleet, rates: str, options: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        lite_fleet.training_time_ratio(U, rates, **TIMES | options)


def test_a_job_that_fails_all_the_time_never_trains(lite_fleet: Fleet) -> None:
    answer = lite_fleet.training_time_ratio(U, "[chip]\nmtbf_hours = 1e-9", **TIMES | {"chips": 100_000_000})
    assert {interval.ratio for interval in answer.intervals} == {0.0}


def test_a_checkpoint_without_waiting_needs_an_interval(lite_fleet: Fleet) -> None:
    answer = lite_fleet.training_time_ratio(
        U, "[chip]\nmtbf_hours = 6400", checkpoint_seconds=0, restart_seconds=0, interval_seconds=3600
    )
    (interval,) = answer.intervals
    assert (answer.mtbf_hours, answer.mtbf_lower_hours) == (100, None)
    assert interval.ratio == pytest.approx(training_time_ratio(1, 0, 0, 100))
    assert interval.ratio_upper is None
    assert interval.approximation == pytest.approx(1 - 0.5 / 100)


def test_a_job_has_its_share_of_the_parts() -> None:
    model = placement_model(U)
    wanted = {"chip": 65, "server": 5, "rack": 3, "nic": 65, "link": 195, "switch": 0, "other": 65}
    assert {kind: parts_of_job(model, kind, 65) for kind in wanted} == wanted
    assert parts_of_job(model, "rack", 64) == 2
    assert parts_of_job(placement_model("trn2-16.48xlarge"), "rack", 16) == 1


def test_command_and_graphql_say_what_python_says(lived: Fleet, run: Run, tmp_path: Path) -> None:
    url = lived.engine.url.render_as_string(hide_password=False)
    status, printed, error = run("capacity", U, "--rates", "history", "--samples", "100", database=url)
    assert status == 0, error
    assert re.search(r"\nchip +3 +2,130 h \(728.7 to 10,3\d\d\) +5.5\d* h \(1.5\d* to 45.4\d*\)", printed)
    assert "± standard error" in printed
    assert "counted as never failing: server > " in printed
    document = (
        f'{{ trainingTimeRatio(scope: "{U}", rates: "llama3", checkpointSeconds: 60, restartSeconds: 600) '
        "{ mtbfHours source { causes { cause count } } intervals { choice seconds ratio } } }"
    )
    answer = both_ways(lived)(document)["data"]["trainingTimeRatio"]
    options = "--checkpoint-seconds", "60", "--restart-seconds", "600"
    written = json.loads(run("ettr", U, "--rates", "llama3", *options, "--format", "json", database=url)[1])
    assert answer["mtbfHours"] == written["mtbfHours"]
    assert [interval["choice"] for interval in answer["intervals"]] == ["YOUNG", "DALY"]
    assert [interval["ratio"] for interval in answer["intervals"]] == [each["ratio"] for each in written["intervals"]]
    assert answer["source"]["causes"][0] == {"cause": "Faulty GPU", "count": 148}
    (tmp_path / "history").write_text("[chip]\nmtbf_hours = 1\n")  # a path is a file, a name is a source
    status, printed, _ = run("ettr", U, "--rates", str(tmp_path / "history"), *options, database=url)
    assert "every 0.01562 h" in printed
    assert run("ettr", U, "--rates", "nothing", *options, database=url)[0] == 2
