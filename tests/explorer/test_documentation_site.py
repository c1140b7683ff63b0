"""The site in a browser, from the service, without a network: search, dark mode, the way there from the explorer."""

import re

import pytest
from documentation import built_site
from playwright.sync_api import expect

from browsing import Open

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def site() -> None:
    built_site()


def test_the_explorer_leads_to_a_site_whose_search_finds_pages(opened: Open, service: str) -> None:
    page = opened()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Docs").click()
    expect(page).to_have_url(f"{service}/docs/")
    page.get_by_role("button", name=re.compile("Search")).click()
    page.keyboard.type("bisection")
    expect(page.get_by_role("option").filter(has_text="Routing methods").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/docs/.+\.html"))
    expect(page.locator("article").get_by_text("bisection").first).to_be_visible()


def test_the_site_is_dark_if_the_system_is(opened: Open, service: str) -> None:
    page = opened(scheme="dark")
    page.goto(f"{service}/docs/reference/cli.html")
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", background)[:3])) < 60
