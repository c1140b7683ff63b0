"""What needs a browser runs once more where it fails, on a database that is whole again; its first failure is told."""

from collections.abc import Generator

import pytest

_FAILED = pytest.StashKey[bool]()
_MADE = pytest.StashKey[tuple[pytest.FixtureDef[object], pytest.FixtureRequest]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> None:
    """Remember a module's database, to be dropped before its time."""
    if fixturedef.argname == "service_database":
        request.node.stash[_MADE] = fixturedef, request


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Drop the database that a failed test of a browser has left half changed, with the service that serves it."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    elif report.when == "teardown" and item.stash.get(_FAILED, False):
        made = next((node.stash[_MADE] for node in item.iter_parents() if _MADE in node.stash), None)
        if made and item.get_closest_marker("flaky"):
            made[0].finish(made[1])  # type: ignore[arg-type] # pytest gives its subclass
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell why a test ran again: what the second run fails of may not be what the first did."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first run of {report.nodeid}")
        terminalreporter.line(report.longreprtext)
