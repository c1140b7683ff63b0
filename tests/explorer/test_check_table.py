"""The table of checks on the page of incidents: one row a check, the worst first, and new results without a click."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browsing import Open, settled, violations
from forking import forked_service
from trninv.checks.check_report import CheckReport, CheckStatus, write_report
from trninv.checks.evaluation import Verdict

pytestmark = pytest.mark.slow

PASSED = CheckStatus("reach", 2, "hops", Verdict.PASSED, "1 hop", "at most 2 hops", "over a", "hops", 1, 1, None, 2)
FAILED = CheckStatus("halves <b>", 3, "pool", Verdict.FAILED, "9 GB/s", "at least 10 GB/s", "cut: a--b")
UNPROVEN = CheckStatus("ring", 4, "pool", Verdict.UNPROVEN, "1 to 2 GB/s", "at least 2 GB/s", "limited by c--d")
ERROR = CheckStatus("gone", 5, "pool", Verdict.ERROR, None, "at least 2 GB/s", "no cluster gone")


def show(file: Path, *statuses: CheckStatus) -> None:
    dated = [replace(status, changed_at="2026-11-22T02:00:00.000000+00:00") for status in statuses]
    write_report(file, CheckReport(time.time(), 0.1, dated))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checks") / "results.json"


@pytest.fixture(scope="module")
def service(shared_database: str, results: Path) -> Iterator[str]:
    with forked_service(shared_database, TRNINV_CHECK_RESULTS=str(results)) as url:
        yield url


def test_checks_are_listed_with_their_cause_and_follow_the_service(opened: Open, results: Path) -> None:
    show(results, PASSED, FAILED, UNPROVEN, ERROR)
    page = opened("#/incidents")
    table = page.get_by_role("region", name="Results of checks")
    rows = [row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr").all()]
    assert [cells[:5] for cells in rows] == [
        ["halves <b>", "failed", "9 GB/s", "at least 10 GB/s", "cut: a--b"],
        ["ring", "unproven", "1 to 2 GB/s", "at least 2 GB/s", "limited by c--d"],
        ["gone", "error", "none", "at least 2 GB/s", "no cluster gone"],
        ["reach", "passed", "1 hop", "at most 2 hops", ""],
    ]
    expect(page.get_by_role("heading", name="Checks: 1 of 4 passed")).to_be_visible()
    assert violations(page) == ""
    show(results, PASSED)
    expect(page.get_by_role("heading", name="Checks: 1 of 1 passed")).to_be_visible()
    page.evaluate("location.hash += '?asof=2026-11-22T02:00:00Z'")
    settled(page)
    assert table.count() == 0
    results.unlink()
    page = opened("#/incidents")
    assert page.get_by_role("heading", name="Checks").count() == 0
    show(results, PASSED)  # the first evaluation ends after the page was opened
    expect(page.get_by_role("heading", name="Checks: 1 of 1 passed")).to_be_visible()
