"""Pages on paper: light, whole, and on few sheets."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browsing import Open

pytestmark = pytest.mark.slow

SHEETS = {
    "#/domain/u-trn2x64/d0?from=s0/c0&to=s2/c10&down=s0/c1": 2,
    "#/domain/trn3-gen1/d0?show=bisection": 2,
    "#/domain/trn3-gen2/d0?from=s0/c0&to=s35/c3": 1,
    "#/incidents?sel=1": 2,
    "#/at/lab/d0/s0/c3": 1,
    "#/cluster/lab": 2,
    "": 2,
    "#/reports/bandwidth": 2,
    "#/rack/u-trn2x64/r0": 2,
    "#/sources": 6,
}
"""Addresses, and how many sheets they may take."""
WIDTHS = {"A4": 718, "Letter": 740}
"""Pixels between the margins."""
OVER = """() => [...document.querySelectorAll('main *')].flatMap(each => {
    const box = each.getBoundingClientRect()
    const reads = [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    if (!reads || !box.width || getComputedStyle(each).clipPath !== 'none') return []
    let edge = innerWidth
    for (let frame = each.parentElement; frame; frame = frame.parentElement)
        if (getComputedStyle(frame).overflowX !== 'visible')
            edge = Math.min(edge, frame.getBoundingClientRect().right)
    return box.left < -1 || box.right > edge + 1 ? [each.textContent] : []
})"""
"""Texts that are beyond the sheet, or beyond a frame that would scroll."""


SMALL = """() => [...document.querySelectorAll('main *')].flatMap(each => {
    const reads = [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    const seen = each.getBoundingClientRect().width && getComputedStyle(each).clipPath === 'none'
    return reads && seen && parseFloat(getComputedStyle(each).fontSize) < 11.99 && !each.closest('svg')
        ? [each.outerHTML] : []
})"""
"""Texts of less than 9 points, but for those of pictures, whose size is that of the picture."""


def sheets(page: Page, paper: str) -> int:
    printed: bytes = page.pdf(format=paper, print_background=True)
    return len(re.findall(rb"/Type\s*/Page\b", printed))


@pytest.mark.parametrize("at", SHEETS)
def test_a_page_is_printed_whole_on_few_sheets(opened: Open, at: str) -> None:
    page = opened(at, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    for paper, width in WIDTHS.items():
        assert sheets(page, paper) <= SHEETS[at]
        page.set_viewport_size({"width": width, "height": 1040})
        assert page.evaluate(OVER) == []
        assert page.evaluate(SMALL) == []
    heads = page.locator("thead").evaluate_all("all => all.map(each => getComputedStyle(each).display)")
    assert set(heads) <= {"table-header-group", "none"}
    assert heads.count("none") <= page.locator(".numbers.sparse").count()
    for hidden in (".bar", ".rail", ".tools", "main button:not(.plain, .keys button)", "select"):
        assert page.locator(hidden).filter(visible=True).count() == 0
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    ink: Any = page.evaluate("getComputedStyle(document.body).color.match(/[0-9]+/g).map(Number)")
    assert max(ink[:3]) < 64


def test_a_sheet_says_where_it_is_from_and_of_when(opened: Open) -> None:
    page = opened("#/domain/u-trn2x64/d0?asof=1")
    foot = page.locator("footer.printed")
    expect(foot).to_be_hidden()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(foot).to_have_text(
        re.compile(r"^http://127.*#/domain/u-trn2x64/d0\?asof=1as of event 1printed \d{4}-\d\d-\d\d \S+ UTC$")
    )
    picture = page.locator("#wiring").bounding_box()
    legend = page.locator("ul.legend").first.bounding_box()
    card = page.locator(".answers .card:not(.hint)").first.bounding_box()
    assert picture
    assert legend
    assert card
    assert picture["y"] + picture["height"] <= legend["y"] < card["y"]


def test_of_a_table_too_wide_for_a_sheet_each_number_has_its_name(opened: Open) -> None:
    page = opened("#/sources/links")
    row = page.get_by_role("region", name="Links").locator("tr", has=page.get_by_text("Bandwidth, GB/s", exact=True))
    cells = row.locator("td:not(:empty)")
    page.emulate_media(media="print")
    told = cells.evaluate_all("all => all.map(each => [getComputedStyle(each, '::before').content, each.dataset.of])")
    assert len(told) > 4
    assert {label for label, _ in told} <= {'attr(data-of) ": "', *(f'"{of}: "' for _, of in told)}
    assert page.locator(".numbers.sparse td:empty").filter(visible=True).count() == 0
