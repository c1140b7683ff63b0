"""What needs a browser runs once more where it fails, on a database that is whole again; its first failure is told."""

from collections.abc import Generator

import pytest

_FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Drop the database that a failed test of a browser has left half changed, with the service that serves it."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    elif report.when == "teardown" and item.stash.get(_FAILED, False) and item.get_closest_marker("flaky"):
        request: pytest.FixtureRequest = item._request  # type: ignore[attr-defined] # no public way to it
        for fixture in item._fixtureinfo.name2fixturedefs.get("service_database", ()):  # type: ignore[attr-defined]
            fixture.finish(request)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell why a test ran again: what the second run fails of may not be what the first did."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first run of {report.nodeid}")
        terminalreporter.line(report.longreprtext)
