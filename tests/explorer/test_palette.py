"""The palette: found and done by the keyboard alone."""

import gzip
import re

import pytest
from playwright.sync_api import Page, expect

from browsing import Open, copies, settled, violations
from trninv.service.explorer import WEB_DIRECTORY

U = "#/domain/u-trn2x64/d0"
CHUNK = 12_000
"""Bytes of the palette, compressed."""


def found(page: Page, text: str) -> None:
    page.keyboard.press("Control+k")
    expect(page.locator("dialog input")).to_be_focused()
    page.keyboard.type(text)
    expect(page.locator("#options:not([aria-busy=true])")).to_be_visible()


@pytest.mark.slow
def test_from_a_few_letters_to_a_chip_a_path_and_what_if_by_keys(opened: Open) -> None:
    page = opened()
    page.keyboard.press("/")
    field = page.locator("dialog [role=combobox]")
    expect(field).to_be_focused()
    page.keyboard.type("u-trn2x64/d0/s1/c5")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{page.url.split('#')[0]}{U}?sel=s1/c5")
    expect(page.get_by_role("complementary", name="About u-trn2x64/d0/s1/c5")).to_contain_text("Chip")
    expect(page.locator("dialog")).to_have_count(0)
    found(page, "s0/c3")
    chosen = page.locator("dialog [role=option][aria-selected=true]")
    expect(chosen).to_have_text("s0/c3chip")
    groups = page.locator("dialog [role=group]")
    assert [groups.nth(at).get_attribute("aria-label") for at in (0, -1)] == ["In u-trn2x64/d0", "Actions"]
    page.keyboard.press("ArrowUp")
    expect(chosen).to_have_text("What if s0/c3 is down?")
    page.keyboard.press("Enter")
    expect(page.locator(".whatif")).to_contain_text("s0/c3")
    expect(page).to_have_url(re.compile("sel=s1/c5"))
    page.keyboard.press("f")
    found(page, "s0/c0")
    page.keyboard.press("Enter")
    for at, key in [("sel=s0/c0", "t"), ("to=s0/c0", "x")]:
        expect(page).to_have_url(re.compile(at))
        settled(page)
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="s0/c0 to s1/c5")).to_be_visible()
    page.keyboard.press("d")
    expect(page.locator(".whatif li")).to_have_count(2)
    page.keyboard.press("d")
    expect(page.locator(".whatif li")).to_have_count(1)
    settled(page)
    expect(page.locator(".answers s").first).to_be_visible()


@pytest.mark.slow
def test_it_is_accessible_and_hostile_text_is_text(opened: Open) -> None:
    page = opened(U)
    found(page, "s1/c")
    assert violations(page, "wcag2a", "wcag2aa", "wcag21aa") == ""
    page.emulate_media(color_scheme="dark")
    assert violations(page, "color-contrast") == ""
    page.locator("dialog input").fill("<img src=x onerror=alert(1)>")
    expect(page.locator("dialog").get_by_role("status")).to_contain_text("No match for <img")
    assert page.locator("img").count() == 0
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)


@pytest.mark.slow
def test_themes_and_queries_are_a_word_away(opened: Open) -> None:
    page = opened("#/reports")
    found(page, "theme dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    found(page, "curl")
    page.keyboard.press("Enter")
    copies(page, r"curl 'http://127\.0\.0\.1:.*query Reports")


def test_it_is_a_chunk_of_its_own() -> None:
    assert len(gzip.compress((WEB_DIRECTORY / "assets" / "palette.js").read_bytes())) < CHUNK
