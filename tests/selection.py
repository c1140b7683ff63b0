"""Choose the tests that run: those of a database, and those that are slow; say which ones a browser is missing for."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from conftest import is_quick
from trninv.units import pluralize

_LONGEST = [
    "test_release.py", "test_rainier.py", "test_aws.py", "test_wheel.py", "test_archived_availability.py",
    "test_random_damage.py", "test_robust.py",
]  # fmt: skip
"""Files whose slow tests take a minute: no worker begins one when the others have nothing left to do."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sqlite", action="store_true", help="leave out the tests on PostgreSQL")
    parser.addoption("--postgresql", action="store_true", help="run only the tests on PostgreSQL")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--sqlite"):
        items[:] = [item for item in items if not _is_on_postgresql(item)]
    if config.getoption("--postgresql"):
        items[:] = [item for item in items if _is_on_postgresql(item)]
    items[:] = list(one_slow_on_postgresql(items))
    for item in items:
        if _is_slow_on_postgresql(item) or (_draws(item) and not is_quick()):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)  # before a worker tells which tests it has
def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin with what takes longest, once it is known which tests run."""
    session.items[:] = longest_first(session.items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")))


def longest_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Divide the longest files among the workers, at the beginning of the share that each starts with."""
    files: dict[Path, list[pytest.Item]] = {}
    others: list[pytest.Item] = []
    for item in items:
        is_long = workers and item.path.name in _LONGEST and _has_marker(item, "slow")
        (files.setdefault(item.path, []) if is_long else others).append(item)
    by_length = sorted(files.values(), key=lambda file: _LONGEST.index(file[0].path.name))
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        size = (len(items) - len(ordered)) // (workers - worker)
        own = [item for file in by_length[worker::workers] for item in file]
        count = max(size - len(own), 0)
        ordered += own + others[:count]
        others = others[count:]
    return ordered + others


def one_slow_on_postgresql(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield all items except, of those slow on PostgreSQL, all but the first of a test and what is slow on both.

    A test marked with ``cases="all"`` keeps both.
    """
    names = set[tuple[Path, str]]()
    for item in items:
        if _is_slow_on_postgresql(item) and not _keeps_all_cases(item):
            name = item.path, item.name.partition("[")[0]
            if _has_marker(item, "slow") or name in names:
                continue
            names.add(name)
        yield item


def _is_slow_on_postgresql(item: pytest.Item) -> bool:
    """Whether a test is slow with PostgreSQL, which it reaches through rooms whose own tests run on both databases."""
    is_slow = _has_marker(item, "slow_on_postgresql") and not _has_marker(item, "quick_on_postgresql")
    return is_slow and _is_on_postgresql(item)


def _keeps_all_cases(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("slow_on_postgresql")
    return marker is not None and marker.kwargs.get("cases") == "all"


def _is_on_postgresql(item: pytest.Item) -> bool:
    return "postgresql" in item.nodeid.partition("[")[2]


def _has_marker(item: pytest.Item, name: str) -> bool:
    return item.get_closest_marker(name) is not None


def _draws(item: pytest.Item) -> bool:
    """Whether a test draws more examples where slow tests are run."""
    return bool(item.get_closest_marker("drawing") or getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """After all else, a line on the tests that a browser is missing for."""
    yield
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:  # a worker of xdist
        return
    if missed := sum("chromium" in str(report.longrepr) for report in terminal.stats.get("skipped", [])):
        terminal.write_line(f"skipped without chromium: {pluralize(missed, 'browser test')} (apt-get install chromium)")
