"""The site in a browser, from the service, without a network: search, dark mode, the way there from the explorer."""

import pytest
from documentation import built_site
from playwright.sync_api import expect

from browsing import Open

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def site() -> None:
    built_site()


def test_a_search_finds_a_page(opened: Open, service: str) -> None:
    page = opened()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Docs").click()
    expect(page).to_have_url(f"{service}/docs/")
    page.keyboard.press("/")
    page.keyboard.type("bisection")
    hit = page.get_by_role("link", name="routing methods").first
    expect(hit).to_be_visible()
