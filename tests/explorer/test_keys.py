"""Single keys do things, are listed, and can be turned off (WCAG 2.1.4)."""

import re

import pytest
from playwright.sync_api import Page, expect

from browsing import Open, settled, violations

pytestmark = pytest.mark.slow

PLACES = {"i": "incidents", "j": "jobs", "c": "compare", "r": "reports", "s": "sources", "f": ""}
DOMAIN = "#/domain/u-trn2x64/d0?sel=s0/c1&from=s0/c0"
MAP = "#/cluster/lab"
LETTERS = "abcdefghijklmnopqrstuvwxyz/?[]+-0"


def hash_of(page: Page) -> str:
    return str(page.evaluate("location.hash"))


def at(page: Page, to: str) -> None:
    page.evaluate("to => { location.hash = to }", to)
    settled(page)


def keys(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("shortcuts")
    expect(page.get_by_role("option", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_single_keys_go_places_and_press_what_names_them(opened: Open) -> None:
    page = opened(DOMAIN)
    for letter, place in PLACES.items():
        page.keyboard.press("g")
        page.keyboard.press(letter)
        page.wait_for_url(re.compile(f"#/{place}$"))
        settled(page)
    page.keyboard.press("y")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_label("As of (UTC)")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("next, previous unhealthy place")
    assert violations(page) == ""
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.querySelector('dialog').scrollWidth <= 390")


def test_turned_off_no_single_key_does_anything_and_ctrl_k_stays(opened: Open) -> None:
    page = opened(DOMAIN)
    page.keyboard.press("?")
    page.get_by_label("Enable single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    settled(page)
    for where, focus in {DOMAIN: '[data-at="u-trn2x64/d0/s0/c1"]', MAP: "canvas.fleet", "#/": "[role=slider]"}.items():
        at(page, where)
        before = page.locator("main").inner_html()
        page.keyboard.type(LETTERS)
        assert page.locator("main").inner_html() == before, where
        page.locator(focus).focus()
        before = page.locator("main").inner_html()
        page.keyboard.type(LETTERS)
        page.wait_for_timeout(600)
        assert hash_of(page) == where
        assert page.get_by_role("dialog").count() == 0, where
        assert page.locator("main").inner_html() == before, where
    page.keyboard.press("Control+k")
    page.keyboard.type("u-trn2x64/d0/s1/c5")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("sel=s1/c5$"))
    settled(page)
    keys(page)
    page.get_by_label("Enable single-key shortcuts").check()
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    page.wait_for_url(re.compile("down=s1/c5"))


def test_a_key_in_the_frame_in_which_a_dialog_closes_acts(opened: Open) -> None:
    page = opened(DOMAIN)
    page.keyboard.press("?")
    page.get_by_label("Enable single-key shortcuts").focus()
    page.evaluate(
        """() => {
            document.querySelector("dialog").close();
            document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "d", bubbles: true }));
        }"""
    )
    page.wait_for_url(re.compile("down=s0/c1"))


def test_a_letter_in_a_field_is_a_letter(opened: Open) -> None:
    page = opened("#/reports/capacity")
    page.get_by_role("textbox", name="generation").press_sequentially("gift?/y")
    expect(page.get_by_role("textbox", name="generation")).to_have_value("gift?/y")
    assert page.get_by_role("dialog").count() == 0
    assert hash_of(page) == "#/reports/capacity"
