"""What needs a browser runs once more where it fails, on a database that is whole again; its first failure is told."""

from collections.abc import Generator

import pytest

_FAILED = pytest.StashKey[bool]()
_MADE = pytest.StashKey[dict[str, tuple[pytest.FixtureDef[object], pytest.FixtureRequest]]]()
_DATABASES = "service_database", "shared_database"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> None:
    """Remember the browser and what it shows, which end before their time."""
    if fixturedef.argname in (*_DATABASES, "browser"):
        request.session.stash.setdefault(_MADE, {})[fixturedef.argname] = fixturedef, request


def has_failed(item: pytest.Item) -> bool:
    """Whether the call of a test failed, once it has ended."""
    return item.stash.get(_FAILED, False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Drop the databases that a failed test of a browser has left half changed, with the services that serve them."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    elif report.when == "teardown" and has_failed(item) and item.get_closest_marker("flaky"):
        _finish(item, *_DATABASES)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """End the browser after the last test in its folder: its event loop is in the way of others."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path.parent != item.path.parent:
            _finish(item, "browser")


def _finish(item: pytest.Item, *names: str) -> None:
    """End fixtures, with those that depend on them; what needs them next makes them again."""
    made = item.session.stash.get(_MADE, {})
    for name in names:
        if name in made:
            fixture, request = made.pop(name)
            fixture.finish(request)  # type: ignore[arg-type] # pytest gives its subclass


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell why a test ran again: what the second run fails of may not be what the first did."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first run of {report.nodeid}")
        terminalreporter.line(report.longreprtext)
