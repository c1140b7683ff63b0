"""Jobs: the table, the maps and the places for the next one."""

import re

import pytest
from lab_fleet import WHY, column, lab_with_jobs, saved
from playwright.sync_api import expect

import trninv
from browsing import Open
from conftest import Databases


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    return lab_with_jobs(databases)


@pytest.mark.slow
def test_jobs_sort_and_filter_as_reports_do(opened: Open) -> None:
    page = opened("#/jobs?in=u-trn2x64&sort=chips")
    expect(page.locator(".data tbody td:first-child a")).to_have_text(["dpo-sweep", "llama-ft"])
    expect(page.get_by_role("columnheader", name="chips", exact=True)).to_have_attribute("aria-sort", "ascending")
    page.get_by_label("Filter").fill("chips>4")
    page.get_by_label("Filter").press("Enter")
    expect(page.locator(".data tbody tr")).to_have_count(1)
    assert [row[0] for row in saved(page)] == ["job", "llama-ft"]
    expect(page.locator(".data time")).to_have_attribute("datetime", re.compile(r"^\d{4}-.*T"))


@pytest.mark.slow
def test_the_table_of_jobs_has_the_letters_of_the_map(opened: Open) -> None:
    page = opened("#/jobs?in=u-trn2x64&sort=chips")
    letters = page.locator(".data .letter")
    expect(letters).to_have_text(["B", "A"])
    color = "each => getComputedStyle(each).backgroundColor"
    assert page.locator(".server .share").all_inner_texts() == ["", "", "A"]  # the first is too low for a letter
    for letter, share in ((letters.first, 0), (letters.last, 2)):
        assert letter.evaluate(color) == page.locator(".server .share").nth(share).evaluate(color)
    page = opened("#/jobs?in=u-trn2x64/d0&sort=chips")
    expect(page.locator(".data .letter")).to_have_text(["B", "A"])
    assert page.locator("[data-address] text").all_text_contents().count("B") == 2


@pytest.mark.slow
def test_all_clusters_means_all_and_equal_places_are_one_group(opened: Open) -> None:
    page = opened("#/jobs?fit=chips:8")
    expect(page.locator(".title")).to_contain_text("2 jobs in all clusters")
    counts = page.locator(".capacity .sum").inner_text().replace(",", "")
    allocated, free, *rest, chips = map(int, re.findall(r"\d+", counts))
    assert allocated == 18
    assert allocated + free + sum(rest) == chips
    for cluster in ("lab", "u-trn2x64", "trn3-gen2"):
        expect(page.get_by_role("region", name=f"Jobs in {cluster}", exact=True)).to_be_visible()
    expect(page.locator(".fits > li").first).to_be_visible()
    expect(page.locator(".place")).to_contain_text("trn3-gen2 was not searched: 8 chips are not legal")
    page = opened("#/jobs?in=lab&fit=chips:8", width=1280, height=720)
    expect(page.locator(".found")).to_contain_text(
        re.compile(r"8 chips: [\d,]+ places among [\d,]+ free chips, the best first\.")
    )
    heads = page.locator(".fits .head").all_inner_texts()
    assert len({*heads}) == len(heads)  # a group is headed by what tells it from the others
    assert page.locator(".fits").inner_text().count("All-gather") <= 1
    more = page.get_by_role("button", name="More places")
    expect(page.locator(".fits > li", has=more).first.locator(".choices button.small")).to_have_count(9)
    choices = page.locator(".fits .choices button.small")
    few = choices.count()
    more.first.click()
    assert choices.count() > few
    act = page.get_by_role("button", name=re.compile("^Allocate 8 chips in "))
    expect(act).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_sizes_of_jobs_say_which_clusters_offer_them(opened: Open, service_database: str) -> None:
    with trninv.open(service_database) as fleet:
        clusters = [cluster["slug"] for cluster in fleet.contents().clusters]
        offered = [(cluster, size) for cluster in clusters for size in fleet.free(cluster).concurrent_jobs]
    jobs = {chips: sum(size.jobs for _, size in offered if size.chips == chips) for chips in (1, 12)}
    of_12 = [cluster for cluster, size in offered if size.chips == 12]
    rows = opened("#/jobs").get_by_role("region", name="Free capacity").get_by_role("row")
    expect(rows.filter(has_text="1 chip").first).to_have_text(f"1 chip{jobs[1]:,}all clusters")
    expect(rows.filter(has_text="12 chips")).to_have_text(f"12 chips{jobs[12]:,}{', '.join(of_12)}")
    alone = opened("#/jobs?in=trn3-gen2").get_by_role("region", name="Free capacity")
    expect(alone.get_by_role("columnheader")).to_have_text(["Job size", "Concurrent jobs"])


@pytest.mark.slow
def test_jobs_come_before_the_maps_and_what_has_failed_first(opened: Open, service_database: str) -> None:
    with trninv.open(service_database) as fleet:
        for number in range(13):
            fleet.allocate(f"small-{number}", [f"lab/d{20 + number}/s0/c0"], who="tests")
        try:
            page = opened("#/jobs", width=390, height=844)
            rows = page.locator(".data tbody tr")
            expect(rows).to_have_count(10)
            expect(rows.first).to_contain_text("llama-ft")
            regions = page.get_by_role("region", name=re.compile("^Jobs in "))
            expect(regions.first).to_have_accessible_name("Jobs in lab")  # its jobs and chips that are down
            expect(regions.last).to_contain_text("no job, all ")
            tops = [each.evaluate("each => each.getBoundingClientRect().top") for each in (rows.last, regions.first)]
            assert tops == sorted(tops)
            box = page.locator(".data")
            assert box.evaluate("each => each.scrollWidth <= each.clientWidth")
            assert rows.first.evaluate("each => each.getBoundingClientRect().height") < 70
            page.get_by_role("button", name="Show 5 more rows").click()
            expect(rows).to_have_count(15)
            small = page.locator(".domains.small").first.get_by_role("link")
            expect(small).to_have_count(300)
            corners = page.locator(".domains.small .corner")
            expect(corners).to_have_count(300)
            look = (
                "each => { const { width, backgroundColor } = getComputedStyle(each); return width + backgroundColor }"
            )
            assert len({corners.nth(domain).evaluate(look) for domain in (5, 20)}) == 1  # without a job, and with one
            assert small.first.evaluate("each => each.getBoundingClientRect().width") <= 32
        finally:
            for number in range(13):
                fleet.release(f"small-{number}")


@pytest.mark.slow
def test_on_a_phone_the_button_that_allocates_is_above_the_navigation(opened: Open) -> None:
    page = opened("#/jobs?in=u-trn2x64&fit=chips:8", width=390, height=600)
    expect(page.get_by_role("region", name="Place a job in u-trn2x64")).to_be_visible()
    button = page.get_by_role("button", name="Allocate 8 chips")
    page.locator(".choices").first.scroll_into_view_if_needed()
    expect(button).to_be_in_viewport()
    boxes = button.bounding_box(), page.locator(".rail").bounding_box()
    assert boxes[0]
    assert boxes[1]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]


@pytest.mark.slow
def test_a_place_beside_unhealthy_chips_says_so(opened: Open) -> None:
    page = opened("#/jobs?in=u-trn2x64&fit=chips:8")
    place = page.locator(".choices button", has_text="d0/s3").first
    expect(place).to_contain_text("1 chip down in its domain")
    place.click()
    expect(page.locator(".fits .picked")).to_contain_text("u-trn2x64/d0 has 1 chip down; a repair may disturb the job.")
    expect(page.locator(".choices .glyph:not(.warning)")).to_have_count(0)  # a red cross on a button reads as "remove"


@pytest.mark.slow
def test_jobs_have_the_unhealthy_parts_that_incidents_say(opened: Open, service_database: str) -> None:
    link = "u-trn2x64/d0/s2/c0--u-trn2x64/d0/s2/c1"
    worn = {link: "degraded", "u-trn2x64/d0/s0/c0": "degraded"}
    with trninv.open(service_database) as fleet:
        for address, state in worn.items():
            fleet.set_state([address], state, factor=0.5, why="worn", who="tests")
        try:
            page = opened("#/jobs?in=u-trn2x64")
            expect(page.locator(".title")).to_contain_text("2 jobs hit")
            expect(page.locator(".title .glyph:not(.warning)")).to_have_count(0)  # a job has no state
            assert column(page, 3) == ["1 link degraded: d0/s2/c0 – s2/c1", "1 chip degraded: d0/s0/c0"]
            expect(page.locator(".data").get_by_role("link", name="1 chip degraded: d0/s0/c0")).to_have_attribute(
                "href", re.compile(r"^#/incidents\?sel=\d+")
            )
            expect(page.locator('.server[title*="link degraded"] .glyph.degraded')).to_have_count(1)
            expect(page.locator(".legend")).to_contain_text("degraded")
            page = opened()
            expect(page.locator(".tile").nth(2)).to_contain_text("2 jobs hit")
            page = opened("#/incidents")
            expect(page.locator(".jobs-hit a")).to_have_count(2)
            assert {*page.locator(".jobs-hit a").all_inner_texts()} == {"llama-ft", "dpo-sweep"}
        finally:
            for address in worn:
                fleet.set_state([address], "up", why="repaired", who="tests")


@pytest.mark.slow
def test_an_address_stays_in_one_line_and_leaves_out_the_chosen_cluster(opened: Open, service_database: str) -> None:
    chip = "u-trn2x64/d0/s0/c0"
    with trninv.open(service_database) as fleet:
        fleet.set_state([chip], "down", why="worn", who="tests")
        try:
            for scope, place, width in (("", "u-trn2x64/d0/s0", 1280), ("u-trn2x64", "d0/s0", 1440)):
                page = opened(f"#/jobs?in={scope}", width=width, height=900)
                where = page.locator('.data td[data-label="where"] a')
                expect(where).to_have_text([place, place[:-1] + "2"])
                lines = where.evaluate_all("all => all.map(each => each.getClientRects().length)")
                assert lines == [1, 1]
                expect(page.locator('.data td[data-label="health"]').first).to_contain_text(f"{place}/c0")
                expect(page.get_by_role("columnheader", name="who")).to_have_count(int(width > 1400))
            page.locator('.data td[data-label="health"] a').first.click()
            cause = page.locator(".tree a", has_text=chip)
            expect(cause).to_be_visible()
            cause.locator("..").evaluate("each => { each.style.width = '10rem' }")
            assert cause.evaluate("each => each.getBoundingClientRect().height") < 30
        finally:
            fleet.set_state([chip], "up", why="repaired", who="tests")


@pytest.mark.slow
def test_the_legend_of_jobs_says_what_the_picture_shows(opened: Open, service_database: str) -> None:
    letter, name = "the job with this letter", "the name of its job"
    page = opened("#/jobs?in=u-trn2x64", width=1280, height=900)
    legend = page.locator(".legend")
    expect(legend.get_by_text(letter)).to_be_visible()
    expect(legend.get_by_text(name)).to_be_hidden()
    with trninv.open(service_database) as fleet:
        fleet.allocate("pretrain", ["trn3-gen2/d0"], who="tests")
        try:
            page = opened("#/jobs?in=trn3-gen2", width=1280, height=900)
            expect(page.locator(".legend").get_by_text(name)).to_be_visible()
            expect(page.locator(".legend").get_by_text(letter)).to_be_hidden()
            band, servers = (page.locator(each).bounding_box() for each in (".job-name", ".has-name"))
            first = page.locator(".has-name .server").first
            corner = first.bounding_box()
            assert band
            assert servers
            assert corner
            assert band["x"] >= corner["x"]
            assert band["x"] + band["width"] <= servers["x"] + servers["width"] - (corner["x"] - servers["x"])
            # the gap between servers is of the job, so that the name does not bridge it
            ground = page.locator(".has-name").evaluate("each => getComputedStyle(each).backgroundColor")
            assert ground not in ("rgba(0, 0, 0, 0)", "transparent")
        finally:
            fleet.release("pretrain")


@pytest.mark.slow
def test_on_a_phone_the_places_that_were_found_come_into_view(opened: Open) -> None:
    page = opened("#/jobs?in=lab", width=390, height=844)
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator(".fits > li").first).to_be_in_viewport()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_the_drain_that_a_link_asks_for_comes_into_view(opened: Open, width: int) -> None:
    page = opened("#/jobs?in=lab&drain=lab/d0/s0", width=width, height=600)
    expect(page.get_by_text("15 working chips")).to_be_in_viewport()


@pytest.mark.slow
def test_what_is_reserved_looks_so_and_counts_are_those_of_the_api(opened: Open, service_database: str) -> None:
    page = opened("#/jobs?in=lab")
    with trninv.open(service_database) as fleet:
        free = fleet.free("lab")
    expected = {"allocated": free.allocated, "free": free.free, "reserved": free.reserved, "unusable": free.unusable}
    assert expected == {"allocated": 0, "free": 4_485, "reserved": 15, "unusable": 300}
    for name, count in expected.items():
        look = {"unusable": "down"}.get(name, name)
        part = page.locator(".capacity .sum > span", has=page.locator(f".key.{look}"))
        expect(part).to_have_text(re.compile(rf"{count:,}\s*{name}"))
        color = page.locator(f".capacity .key.{look}").evaluate("key => getComputedStyle(key).background")
        if count:
            assert page.locator(f".shares .{look}").evaluate("part => getComputedStyle(part).background") == color
    expect(page.locator(".capacity")).to_contain_text("300 chips down: 300 unusable")
    reserved = page.locator(".server", has=page.locator(".share.reserved"))
    expect(reserved).to_have_count(1)
    expect(reserved).to_have_attribute("title", "lab/d6/s0: 15 reserved, 1 down")
    expect(page.get_by_role("link", name="lab/d6: no job, 15 chips reserved, 1 chip down")).to_be_visible()
    key, share = (page.locator(at) for at in (".legend .key.reserved", ".share.reserved"))
    background = "each => getComputedStyle(each).backgroundImage"
    assert key.evaluate(background) == share.evaluate(background) != "none"
    page = opened("#/jobs?in=lab/d6")
    picture = page.get_by_role("group", name="lab/d6: no jobs; 0 free chips")
    expect(picture.get_by_role("link", name="lab/d6/s0/c4, reserved")).to_be_visible()
    expect(picture).to_contain_text("15 reserved")


@pytest.mark.slow
def test_where_a_job_fits_is_ranked_and_ringed(opened: Open) -> None:
    page = opened("#/jobs?in=u-trn2x64/d0&fit=chips:8")
    expect(page.locator(".proposed")).to_have_count(8)
    picture = page.get_by_role("group", name=re.compile("A llama-ft: 16, B dpo-sweep: 2"))
    assert picture.locator("[data-address]").get_by_text("A", exact=True).count() == 16
    chip = picture.get_by_role("link", name="u-trn2x64/d0/s1/c5, down")
    picture.get_by_role("link").first.focus()
    page.keyboard.press("ArrowRight")
    assert "u-trn2x64" in str(page.evaluate("document.activeElement.getAttribute('href')"))
    chip.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"#/(domain|at)/u-trn2x64/d0"))
    page.go_back()
    expect(page.locator(".proposed")).to_have_count(8)
    ranks = page.locator(".fits button")
    expect(ranks.first).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".fits")).to_contain_text("GB/s")
    ranks.last.click()
    expect(ranks.last).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Amount").fill("64")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.get_by_text("no domain has 64 chips usable")).to_be_visible()
    page.get_by_role("button", name="Make room").click()
    expect(page.get_by_text("Moving jobs cannot make room")).to_be_visible()
    page.evaluate("location.hash = '#/jobs?in=u-trn2x64&fit=chips:7'")
    expect(page.locator(".failure")).to_contain_text("7 chips are not legal")
    page.evaluate("location.hash = '#/jobs?in=u-trn2x64&fit=<b>:7'")
    expect(page.locator(".failure")).to_contain_text("<b>:7 is not a valid size")


@pytest.mark.slow
def test_a_drain_is_a_plan_step_by_step(opened: Open) -> None:
    page = opened("#/jobs?in=u-trn2x64")
    page.get_by_role("textbox", name="Place").fill("u-trn2x64/d0/s2")
    page.get_by_role("button", name="Plan").click()
    plan = page.get_by_role("region", name="Drain impact")
    expect(plan).to_contain_text("1 job disrupted, 1 stopped")
    expect(plan.locator(".steps").first).to_contain_text(re.compile("llama-ft.*moves elsewhere", re.DOTALL))
    page.reload()
    expect(plan).to_contain_text("loses 16 of 16 chips")


@pytest.mark.slow
def test_reservations_are_listed_in_the_order_of_their_start(opened: Open) -> None:
    page = opened("#/jobs?in=lab")
    rows = page.get_by_role("region", name="Reservations").get_by_role("listitem")
    expect(rows).to_have_count(2)
    ends = re.compile(r"firmware \(maintenance\) ends in 3 h 5\d min: 16 chips in lab/d6/s0")
    expect(rows.first).to_contain_text(ends)
    expect(rows.first).to_contain_text(f"by tests: {WHY}")
    expect(rows.first).to_contain_text("1 failed chip")
    expect(rows.last).to_contain_text(re.compile(r"next begins in [\d,]+ d: 1 chip in lab/d5/s0/c0"))
    expect(rows.last.locator("time").first).to_have_attribute("datetime", re.compile("^2126-12-01T08:00:00"))
    expect(rows.last.get_by_role("link")).to_have_attribute("href", "#/at/lab/d5/s0/c0")
    page.evaluate("location.hash = '#/jobs?in=u-trn2x64'")
    expect(page.get_by_role("region", name="Reservations")).to_contain_text("Nothing is reserved")


@pytest.mark.slow
def test_unhealthy_single_servers_are_squares_and_n_goes_through_them(opened: Open) -> None:
    page = opened("#/cluster/lab", width=1280, height=900)
    expect(page.locator(".title")).to_contain_text("300 chips down")
    expect(page.locator(".marker.square.down")).to_have_count(300)
    expect(page.locator(".steps")).to_contain_text("100 places listed")
    sides = [each["width"] for each in (page.locator(".marker.square").first.bounding_box(),) if each]
    assert sides[0] < 20  # a chip of a server, not the server
    boxes = [page.locator(f'.marker[data-at="lab/{chip}"]').bounding_box() for chip in ("d1/s0/c3", "d2/s0/c12")]
    right, left = (box for box in boxes if box)
    assert left["y"] > right["y"] + 10  # each over its own chip: c12 in the last row
    expect(page.locator(".keys")).to_contain_text("300 chips down")
    expect(page.locator(".under .hint")).to_have_text(
        "Each square is a server. Click to select, double-click to open it."
    )
    expect(page.locator(".side")).to_contain_text("In 300 of 300 domains.")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".steps")).to_contain_text("1 of 100 places")
    page.get_by_role("button", name="Next").click()
    page.wait_for_url(re.compile("sel=d1/s0/c3"))
    page = opened("#/cluster/lab", width=390, height=844)
    expect(page.locator(".marker.square")).to_have_count(300)
    page.get_by_label("Color by").select_option("job")
    page.wait_for_url(re.compile("color=job"))
    expect(page.locator(".marker.square")).to_have_count(300)
