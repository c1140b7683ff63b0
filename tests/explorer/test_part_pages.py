"""The pages of a server, a chip, a rack and a fabric: which part, why, whose doing, and what it costs."""

import html
import json
import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

import trninv
from browsing import Open, settled, violations
from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate

pytestmark = pytest.mark.slow
SERVER, RACK = "lab/d7/s2", "lab/r15"
WHY = "Power supply, ticket 4720"
SMALLEST = """() => Math.min(...[...document.querySelectorAll('main svg text')]
    .filter(text => text.getBoundingClientRect().width)
    .map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))"""
"""The height of the smallest text of a page's pictures, in pixels."""
SHIFTS = """new PerformanceObserver(list => {
    for (const entry of list.getEntries()) window.shifted = (window.shifted || 0) + entry.value
}).observe({type: 'layout-shift', buffered: true})"""


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """16 UltraServers below two network nodes, with a chip that was repaired, a server that is down, and two jobs."""
    url = databases.migrated("sqlite")
    with temporary_engine(url) as engine:
        with write_transaction(engine) as connection:
            system = default_systems().get("u-trn2x64").resized(16)
            cluster_seeding.seed(connection, default_catalog(), system, name="lab")
            allocate(connection, "wide", ["lab/d0/s0", "lab/d9/s1"], who="tests")
            allocate(connection, "rag-embed", ["lab/d7/s3"], who="tests")
        for address, state, why, who in (
            (f"{SERVER}/c11", "degraded", "Thermal throttling", "monitor"),
            (f"{SERVER}/c11", "up", "Fan replaced", "m.chen"),
            (SERVER, "down", WHY, "night-shift"),
            ("lab/d5/s1/c2", "degraded", "Thermal throttling", "monitor"),
        ):
            with write_transaction(engine) as connection:
                condition = Condition.from_user(state, 0.5 if state == "degraded" else None)
                set_state(connection, [address], condition, why=why, who=who)
    return url


def cell(page: Page, name: str) -> Locator:
    return page.locator(".figures div", has=page.locator("dt", has_text=name)).locator("dd")


def test_a_server_names_the_part_of_each_change(opened: Open) -> None:
    page = opened(f"#/at/{SERVER}", width=1440)
    band = page.get_by_role("region", name="State")
    expect(band).to_contain_text(WHY)
    expect(band).to_contain_text("Set down by night-shift at ")
    expect(band).to_contain_text("16 chips and 16 NICs are down with it")
    rows = page.get_by_role("region", name="History").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("33: 16 chips, 16 NICs, 1 server")
    expect(rows.nth(1).get_by_role("link", name="c11")).to_have_attribute("href", f"#/at/{SERVER}/c11")
    expect(rows.last).to_contain_text("up → degraded")
    expect(page.locator(".wiring .chip")).to_have_count(16)
    boxes = [box for chip in page.locator(".wiring .chip .body").all() if (box := chip.bounding_box())]
    assert len({round(box["x"]) for box in boxes}) == 4  # upright, as the torus of one server is
    expect(cell(page, "Between its chips")).to_contain_text(re.compile(r"4,096.*0 GB/s.*−100 %"))
    expect(page.get_by_role("region", name="NICs and links")).to_contain_text("96 of 96 idle")
    expect(cell(page, "EFA, 16 NICs, 32 links")).to_contain_text(re.compile(r"400.*0 GB/s"))
    expect(cell(page, "Working chips")).to_contain_text(re.compile(r"64.*48"))
    expect(page.locator(".miniature [aria-current]")).to_contain_text("s2")
    expect(band).to_contain_text("Hits no job")
    expect(band).to_contain_text("Lost 16 chips, 6,544 GB/s of its NeuronLinks and EFA links")
    expect(page.locator(".legend")).not_to_contain_text("within a server")  # no link of it carries anything
    assert violations(page) == ""
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(SMALLEST) >= 11


def test_a_chip_says_which_server_took_it_down_and_what_its_links_carry(opened: Open) -> None:
    page = opened(f"#/at/{SERVER}/c3", width=1440)
    band = page.get_by_role("region", name="State")
    expect(band).to_contain_text("Server s2 was set down by night-shift at ")
    expect(band.get_by_role("link", name="Server s2")).to_have_attribute("href", f"#/at/{SERVER}")
    expect(band).to_contain_text("Lost 8 cores, 96 GiB HBM, all 640 GB/s of its NeuronLinks")
    expect(cell(page, "All-gather limit")).to_contain_text("−10 %")
    links = page.get_by_role("region", name="Links", exact=True).locator("tbody tr")
    expect(links.first).to_contain_text(re.compile(r"7 idle links.*s2/c3 is down.*665 → 0 GB/s"))
    links.get_by_role("button", name="7 idle links").click()
    expect(links).to_have_count(8)
    expect(links.nth(1)).to_contain_text(re.compile(r"s1/c3NeuronLink-v3.*idle.*s2/c3 is down.*64 → 0 GB/s"))
    hub = page.get_by_role("region", name="Picture of its links")
    expect(hub.get_by_role("link")).to_have_count(7)  # each link, also to the NIC and to other servers
    expect(hub.get_by_role("link").first).to_have_text(re.compile(r"s1/c3other server\s*idle"))
    expect(page.locator(".miniature i.chosen")).to_have_count(1)
    assert violations(page) == ""


def test_the_links_of_a_degraded_chip_say_how_much_they_carry_and_why(opened: Open) -> None:
    page = opened("#/at/lab/d5/s1/c2", width=1280)
    band = page.get_by_role("region", name="State")
    expect(band).to_contain_text("Lost 320 of 640 GB/s of its NeuronLinks")
    expect(page.get_by_role("region", name="Picture of its links")).to_contain_text("64 of 128")
    links = page.get_by_role("region", name="Links", exact=True).locator("tbody tr")
    expect(links.locator(".glyph.degraded")).to_have_count(links.count())
    expect(links.first).to_contain_text(re.compile(r"at 50 %.*c2 is degraded.*128 → 64 GB/s|64 → 32 GB/s"))
    band.get_by_role("link", name="Incident").click()
    expect(page.locator(".incidents .panel .summary")).to_contain_text("320 GB/s of NeuronLinks")
    page = opened("#/at/lab/d5/s1/c2", width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    table = page.locator('[aria-label="Links"] table')
    assert table.evaluate("table => table.getBoundingClientRect().right") <= 378


def test_a_server_that_is_up_names_its_parts_that_are_not(opened: Open) -> None:
    page = opened("#/at/lab/d7/s3")
    expect(page.get_by_role("region", name="State")).to_contain_text("No change since this cluster was made")
    expect(page.get_by_role("region", name="History").locator("tbody tr")).to_contain_text(["job rag-embed started"])
    expect(page.get_by_role("region", name="Instance and job")).to_contain_text("rag-embed")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 800)])
def test_a_rack_fits_the_window_and_says_why(opened: Open, width: int, height: int) -> None:
    page = opened("#/sources", width=width, height=height)
    page.evaluate(SHIFTS)
    page.evaluate("address => { location.hash = `#/rack/${address}` }", RACK)
    expect(page.locator("#rack")).to_be_visible()
    expect(page.locator(".title .states")).to_contain_text("1 server, 16 chips, 16 NICs down")
    expect(page.locator(".title .states")).to_contain_text("16 chips up")
    expect(page.get_by_role("region", name="Causes")).to_contain_text(WHY)
    expect(cell(page, "Working chips")).to_contain_text(re.compile(r"64.*48"))
    expect(cell(page, "s3")).to_contain_text("rag-embed")
    box = page.locator("#rack").bounding_box()
    assert box
    assert box["y"] + box["height"] <= height
    expect(page.locator("#rack [stroke-dasharray]")).to_have_count(0)  # a dashed outline is what a scenario assumes
    expect(page.locator(".neighbors [aria-current]")).to_contain_text("r15 down")
    assert violations(page) == ""
    assert page.evaluate("window.shifted || 0") < 0.05


def test_a_rack_names_the_other_racks_with_unhealthy_links(opened: Open, service_database: str) -> None:
    link = "lab/d9/s0/c0--lab/d9/s1/c0"
    with trninv.open(service_database) as fleet:
        fleet.set_state(link, "degraded", factor=0.5, why="retimer", who="tests")
        try:
            elsewhere = opened(f"#/rack/{RACK}", width=1440).locator(".elsewhere li")
            expect(elsewhere.filter(has_text="1 link")).to_have_text(re.compile(r"r18\s*1 link degraded"))
        finally:
            fleet.set_state(link, "up", why="replaced", who="tests")


def test_a_rack_is_read_on_a_phone(opened: Open) -> None:
    page = opened(f"#/rack/{RACK}", width=390, height=844)
    expect(page.locator("#rack")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(SMALLEST) >= 11
    cause, elevation = (page.get_by_role("region", name=name).bounding_box() for name in ("Causes", "Elevation"))
    assert cause
    assert elevation
    assert cause["y"] < elevation["y"]
    expect(page.locator(".row-of-racks a")).to_have_count(5)
    texts = page.locator("#rack text").all_text_contents()
    assert [text for text in texts if text.endswith("…")] == []
    assert "16 of 16 chips up · B rag-embed" in texts
    assert texts.count("B") == 8  # the letter of its job, on each tray


def test_the_names_of_jobs_are_measured_once(opened: Open) -> None:
    """As many as fit are found by leaving out one after the other, which is seen if it begins again."""
    page = opened("#/", width=390, height=844)
    jobs = [{"name": f"job-{number}-of-many", "address": "lab", "ordinal": number} for number in range(16)]
    summary = html.escape(json.dumps({"all": len(jobs), "crossing": [], "inside": jobs}))

    def answer(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=re.sub('data-jobs="[^"]*"', f'data-jobs="{summary}"', response.text()))

    page.route("**/pictures/fabric*", answer)
    page.evaluate("location.hash = '#/cluster/lab?fabric=yes'")
    key = page.locator(".job-key")
    expect(key.get_by_role("listitem").last).to_have_text(re.compile(r"and \d+ more"))
    settled(page)
    key.evaluate("""key => {
        window.changes = 0
        new MutationObserver(all => { window.changes += all.length }).observe(key, {childList: true, subtree: true})
    }""")
    page.evaluate("location.hash += '&sel=lab/d0'")
    settled(page)
    assert page.evaluate("window.changes") == 0


def test_a_fabric_tells_its_ratios_and_the_jobs_that_cross(opened: Open) -> None:
    page = opened("#/cluster/lab?fabric=yes", width=1440)
    tiers = page.get_by_role("region", name="Over-subscription", exact=True).locator("tbody tr")
    expect(tiers).to_have_count(2)
    expect(tiers.first).to_contain_text(re.compile(r"Tier 3 to 2.*25,200.*25,600.*0\.98 : 1"))
    jobs = page.get_by_role("region", name="Jobs that cross")
    expect(jobs).to_contain_text("1 of 2")
    expect(jobs.get_by_role("listitem")).to_contain_text(re.compile(r"wide.*t3/n0: 400 GB/s, 3\.1 % of uplink"))
    picture = page.locator("#fabric")
    expect(picture.locator("a", has_text=re.compile(r"^lab/d7/s2, down"))).to_have_count(1)
    expect(picture.get_by_text("A wide")).to_be_visible()
    answer, key = page.locator(".answer"), page.locator(".job-key")
    expect(answer).to_have_count(0)  # it is beside the picture
    assert violations(page) == ""
    page.set_viewport_size({"width": 390, "height": 844})
    expect(picture).to_have_attribute("width", re.compile(r"^3\d\d$"))
    expect(answer).to_have_text("Non-blocking. Jobs that cross: 1 of 2. 400 of 25,600 GB/s below tier 3 are down.")
    expect(key.get_by_role("listitem").first).to_have_text("A wide")
    for each in (answer, key):
        expect(each).to_be_in_viewport(ratio=1)
    box = picture.bounding_box()
    assert box
    assert box["y"] >= key.evaluate("key => key.getBoundingClientRect().y")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(SMALLEST) >= 11


def test_in_space_each_server_is_a_sheet_with_its_name(opened: Open) -> None:
    page = opened("#/domain/lab/d0?view=3d", width=1440)
    expect(page.locator(".wiring .plane")).to_have_count(4)
    expect(page.locator(".wiring .label")).to_have_text([f"s{server}" for server in range(4)], use_inner_text=False)
    depths = "[...new Set([...document.querySelectorAll('.wire')].map(wire => getComputedStyle(wire).opacity))].length"
    assert page.evaluate(depths) <= 8  # one for each sheet and for each two of them that are joined
    bodies = page.locator(".wiring .chip:not(.down) .body")
    tints = bodies.evaluate_all("all => [...new Set(all.map(each => getComputedStyle(each).fill))]")
    assert len(tints) == 1  # gray chips are one half of a bisection
    # a line that passes behind a chip is broken there, one that ends at it is not
    expect(page.locator(".wiring .gap")).to_have_count(64)
    page = opened("#/domain/lab/d7?view=3d", width=1440)
    frame = page.locator(".wiring").bounding_box()
    boxes = [box for plane in page.locator(".wiring .plane").all() if (box := plane.bounding_box())]
    assert frame
    width = max(box["x"] + box["width"] for box in boxes) - min(box["x"] for box in boxes)
    height = max(box["y"] + box["height"] for box in boxes) - min(box["y"] for box in boxes)
    assert max(width / frame["width"], height / frame["height"]) > 0.8


def test_a_place_with_nothing_to_repair_beside_it_is_preselected(opened: Open, service_database: str) -> None:
    with trninv.open(service_database) as fleet:
        rest = [f"lab/d{domain}/s{server}" for domain in (0, 9) for server in range(4)]
        fleet.allocate("rest", [place for place in rest if place not in {"lab/d0/s0", "lab/d9/s1"}], who="tests")
        try:
            page = opened("#/jobs?in=lab&fit=chips:8", width=1440)
            beside = page.locator(".fits > li", has_text="lab/d7 has 16 chips down; a repair may disturb the job.")
            expect(beside).to_have_count(1)
            chosen = page.locator(".fits [aria-pressed=true]")
            expect(chosen).to_have_text(re.compile(r"^d1/s\d · c(0–c7|8–c15)$"))
            expect(page.locator(".fits > li").first).to_have_class("picked")
            half, server = page.locator(".server .proposed"), page.locator(".server", has=page.locator(".proposed"))
            heights = [each.evaluate("each => each.offsetHeight") for each in (half, server)]
            assert heights[0] == pytest.approx(heights[1] / 2, abs=2)
            beside.get_by_role("button").first.click()
            expect(beside).to_have_class("picked")
        finally:
            fleet.release("rest")


def test_a_count_that_was_small_has_a_difference(opened: Open, service_database: str) -> None:
    """Not +1371 %."""
    with temporary_engine(service_database) as engine:
        for address in ("lab/d12/s3/c0", "lab/d12/s0"):
            with write_transaction(engine) as connection:
                set_state(connection, [address], Condition.from_user("down", None), why="x", who="tests")
    page = opened("#/at/lab/d12/s0", width=1440)
    expect(cell(page, "Idle links")).to_contain_text(re.compile(r"7\s*→\s*102\s*\+95(?! %)"))
