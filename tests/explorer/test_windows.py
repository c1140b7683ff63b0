"""Many windows of one browser: they share one stream of changes, whichever of them is closed."""

import re
import urllib.request

import pytest
from playwright.sync_api import Browser, Page, expect

from browsing import settled
from conftest import Databases
from forking import forked_service, port_of
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

pytestmark = pytest.mark.slow

WINDOWS = 7
"""HTTP/1.1 allows six connections to a host."""
SECONDS = 5


def down(url: str, address: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [address], Condition.from_user("down", None), why="test", who="tests")


def listeners(service: str) -> int:
    with urllib.request.urlopen(f"{service}/metrics", timeout=10) as answer:
        found = re.search(rb"^trninv_listeners (\d+)", answer.read(), re.MULTILINE)
    assert found
    return int(found[1])


def shows(page: Page, says: str, seconds: int = SECONDS) -> None:
    expect(page.locator("tr", has_text="u-trn2x64")).to_contain_text(says, timeout=seconds * 1_000)


@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "alone"])
def test_windows_are_all_live_and_a_page_still_loads(
    browser: Browser,
    databases: Databases,
    is_shared: bool,
) -> None:
    url = databases.seeded("sqlite")
    context = browser.new_context()
    if not is_shared:
        context.add_init_script("delete window.SharedWorker")
    with forked_service(url) as service:
        pages = [context.new_page() for _ in range(WINDOWS if is_shared else 2)]
        for page in pages:
            page.goto(service)
            settled(page)
        expect(pages[-1].locator(".clock")).to_have_class(re.compile("live"))
        assert listeners(service) == (1 if is_shared else len(pages))
        down(url, "u-trn2x64/d0/s1/c5")
        for page in pages:
            shows(page, "1 chip down")
        for page in pages[:-1]:
            page.close()
        down(url, "u-trn2x64/d0/s1/c6")
        shows(pages[-1], "2 chips down")
        assert listeners(service) == 1
        context.close()


def test_what_changes_while_the_service_is_away_is_shown_when_it_is_back(
    browser: Browser,
    databases: Databases,
) -> None:
    url = databases.seeded("sqlite")
    context = browser.new_context()
    with forked_service(url) as service:
        pages = [context.new_page() for _ in range(2)]
        for page in pages:
            page.goto(service)
            settled(page)
    for page in pages:
        expect(page.locator(".clock")).to_have_class(re.compile("gone"))
    down(url, "u-trn2x64/d0/s1/c5")
    with forked_service(url, port_of(service)):
        for page in pages:
            shows(page, "1 chip down", 20)
            expect(page.locator(".clock")).to_have_class(re.compile("live"))
        down(url, "u-trn2x64/d0/s1/c6")
        for page in pages:
            shows(page, "2 chips down", 15)
        context.close()
