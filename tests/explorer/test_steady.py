"""Pages keep still while they load, a shared address names its time, and tables keep their first column on a phone."""

import re

import pytest
from playwright.sync_api import expect

from browsing import Open, Watched, copies, settled

SHIFTS = """() => {
    if ('shifted' in window) return  // an earlier test of this page listens, too
    window.shifted = 0
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value
    }).observe({ type: 'layout-shift', buffered: true })
}"""
PAGES = ["", "#/jobs", "#/jobs?in=lab", "#/reports", "#/reports/unhealthy", "#/sources", "#/disagreements", "#/query"]
MOST = 0.002
"""The digits of the clock count, too."""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_a_page_loads(opened: Open, service: str, width: int) -> None:
    page = opened(width=width, height=844)
    page.add_init_script(f"({SHIFTS})()")
    for at in PAGES:
        page.goto("about:blank")
        page.goto(f"{service}/{at}")
        settled(page)
        assert page.evaluate("shifted") < MOST, at


@pytest.mark.slow
def test_little_moves_while_a_path_is_computed(opened: Open, service: str) -> None:
    page = opened(width=1280, height=844)
    page.add_init_script(f"({SHIFTS})()")
    for at in ("u-trn2x64/d0?from=s0/c0&to=s3/c10", "lab/d150?from=s0/c0&to=s0/c5"):
        page.goto("about:blank")
        page.goto(f"{service}/#/domain/{at}")
        settled(page)
        assert page.evaluate("shifted") < 10 * MOST, at


@pytest.mark.slow
def test_share_copies_the_address_with_time_and_revision(opened: Open) -> None:
    page = opened("#/reports/unhealthy?sort=-address")
    page.get_by_role("button", name="Share").click()
    copies(page, r"/#/reports/unhealthy\?(?=.*asof=20\d\d-)(?=.*sort=-address)(?=.*revision=\w+)")
    page.goto(page.evaluate("navigator.clipboard.readText()"))
    settled(page)
    expect(page.locator(".clock")).to_have_class(re.compile("past"))
    assert page.locator("main .failure").count() == 0


@pytest.mark.slow
def test_addresses_of_a_report_stand_in_natural_order(opened: Open) -> None:
    page = opened("#/reports/unhealthy?where=lab/d150&rows=parts")
    chips = page.locator(".data tbody a").all_inner_texts()
    chips = [chip for chip in chips if re.fullmatch(r"lab/d150/s0/c\d+", chip)]
    assert chips == [f"lab/d150/s0/c{chip}" for chip in range(16)]


@pytest.mark.slow
def test_a_table_keeps_the_names_of_its_rows_on_a_phone(opened: Open) -> None:
    for report in ("capacity", "unhealthy?rows=parts"):  # whole, and drawn as it comes into view
        page = opened(f"#/reports/{report}", width=390, height=844)
        table, name = page.locator(".data"), page.locator(".data tbody td:first-child").first
        expect(name.get_by_role("link")).to_have_count(1)
        table.evaluate("box => box.scrollTo(400, 0)")
        settled(page)
        frame, box = table.bounding_box(), name.bounding_box()
        assert frame is not None
        assert box is not None
        assert box["x"] == pytest.approx(frame["x"], abs=2)
        assert box["width"] < frame["width"] / 2


CUT = """() => [...document.querySelectorAll('.data :is(th, td)')]
    .filter(cell => cell.scrollWidth > cell.clientWidth + 1)
    .map(cell => cell.textContent)"""
"""Cells whose text is cut."""


@pytest.mark.slow
def test_a_report_on_a_phone_begins_with_what_answers_its_question(opened: Open) -> None:
    page = opened("#/reports/capacity", width=390, height=844)
    for title in ("cluster", "chips", "chips up or degraded", "chips free"):
        expect(page.get_by_role("columnheader", name=title, exact=True)).to_be_in_viewport(ratio=1)
    assert page.locator(".data tbody tr").first.bounding_box()["y"] < 600  # type: ignore[index]
    expect(page.locator("#plot")).to_be_hidden()
    page.locator(".chart summary").click()
    expect(page.locator("#plot")).to_be_visible()
    for report in ("capacity", "unhealthy", "ratios", "disputed", "availability"):
        page.evaluate(f"location.hash = '#/reports/{report}'")
        settled(page)
        assert page.evaluate(CUT) == [], report
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_zoom_buttons_cover_no_chip(watched: Watched) -> None:
    page = watched.open("#/cluster/lab")
    stage, buttons = (page.locator(name).bounding_box() for name in (".stage", ".zoom"))
    assert stage is not None
    assert buttons is not None
    assert buttons["y"] >= stage["y"] + stage["height"]
