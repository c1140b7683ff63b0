"""Checks that are evaluated again and again: when, on which state, and what stands in the file meanwhile."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hearing import change

import trninv
from conftest import BACKENDS, Databases
from trninv.checks import check_watch
from trninv.checks.check_file import parse_checks
from trninv.checks.check_report import CheckReport, read_report
from trninv.checks.check_watch import MAX_AGE, CheckWatch
from trninv.checks.evaluation import evaluate
from trninv.errors import DatabaseError
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

CHIP = "u-trn2x64/d0/s1/c5"
CHECKS = parse_checks(
    b"""checks:
- {name: nothing down, incidents: {severity: medium}}
- {name: reach, hops: {from: u-trn2x64/d0/s0/c0, to: u-trn2x64/d0/s0/c1, at_most: 1}}
- {name: nowhere, pool: {scope: nowhere/d0/s0/c0, at_least: 1 TiB}}
""",
    "checks.yaml",
)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=BACKENDS)
def own(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    url = databases.seeded(request.param)
    with trninv.open(url) as fleet:
        yield fleet
    databases.drop(url)


def report_of(file: Path) -> CheckReport:
    report = read_report(file)
    assert report
    return report


def test_checks_are_evaluated_after_each_change_and_no_other_time(own: Fleet, tmp_path: Path) -> None:
    file, clock = tmp_path / "results.json", Clock()
    watch = CheckWatch(own, CHECKS, file, clock)
    assert watch.poll()
    first = report_of(file)
    assert [status.verdict for status in first.statuses] == ["PASSED", "PASSED", "ERROR"]
    assert (first.statuses[1].lower, first.statuses[1].upper, first.statuses[1].at_most) == (1, 1, 1)
    clock.now += MAX_AGE - 1
    assert not watch.poll()
    change(own.engine, CHIP, "down")
    change(own.engine, "trn1.32xlarge/d0/s0/c3", "down")
    assert watch.poll()  # once for both
    assert not watch.poll()
    second = report_of(file)
    failed, same, error = second.statuses
    assert (failed.verdict, failed.value) == ("FAILED", "2 incidents")
    assert f"{CHIP} since" in failed.explanation
    assert failed.changed_at > first.statuses[0].changed_at
    assert (same.changed_at, error.changed_at) == (first.statuses[1].changed_at, first.statuses[2].changed_at)


def test_results_are_renewed_at_their_maximum_age(own: Fleet, tmp_path: Path) -> None:
    clock = Clock()
    watch = CheckWatch(own, CHECKS, tmp_path / "results.json", clock)
    watch.poll()
    clock.now += MAX_AGE
    assert watch.poll()
    clock.now += MAX_AGE - 0.1
    assert not watch.poll()


def test_a_change_during_an_evaluation_leads_to_another(
    own: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluate_slowly(fleet: Any, checks: Any) -> Any:
        results = evaluate(fleet, checks)
        change(own.engine, CHIP, "down")
        monkeypatch.setattr(check_watch, "evaluate", evaluate)
        return results

    monkeypatch.setattr(check_watch, "evaluate", evaluate_slowly)
    file = tmp_path / "results.json"
    watch = CheckWatch(own, CHECKS, file)
    watch.poll()
    assert report_of(file).statuses[0].passed
    assert watch.poll()
    assert not report_of(file).statuses[0].passed


def test_results_stay_while_the_database_cannot_be_read(databases: Databases, tmp_path: Path) -> None:
    url, file = databases.seeded("sqlite"), tmp_path / "results.json"
    database = Path(url.removeprefix("sqlite:///"))
    with trninv.open(url) as fleet:
        watch = CheckWatch(fleet, CHECKS, file)
        watch.poll()
        before = report_of(file)
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("ALTER TABLE node RENAME TO lost")
        with pytest.raises(DatabaseError):
            watch.poll()
        assert report_of(file) == before
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("ALTER TABLE lost RENAME TO node")
        assert watch.poll()


def test_a_report_that_is_missing_is_none(tmp_path: Path) -> None:
    assert read_report(None) is read_report(tmp_path / "none.json") is None
    assert list(tmp_path.iterdir()) == []
