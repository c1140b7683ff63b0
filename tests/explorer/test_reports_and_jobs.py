"""Reports, Compare, Jobs and the timeline: tables and plans that an address says in full."""

import csv
import gzip
import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from playwright.sync_api import Locator, Page, Route, expect

import trninv
from browsing import Open, settled
from conftest import Databases
from forking import forked_service
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.reserve import reserve
from trninv.service.explorer import WEB_DIRECTORY

WHY = '=HYPERLINK("http://x"), <img src=x onerror=alert(1)>'
CHUNK = 15_500
"""Bytes of a page that is fetched when it is opened, compressed."""


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """All small systems and 300 servers of which each has a chip down; two jobs on u-trn2x64, two reservations."""
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(300), name="lab")
        down = Condition.from_user("down", None)
        chips = [f"lab/d{domain}/s0/c{12 if domain == 2 else 3}" for domain in range(300)]
        set_state(connection, chips, down, why=WHY, who="tests")
        set_state(connection, ["u-trn2x64/d0/s1/c5"], down, why="HBM errors", who="tests")
        allocate(connection, "llama-ft", ["u-trn2x64/d0/s2"], who="tests")
        allocate(connection, "dpo-sweep", ["u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s0/c1"], who="tests")
        reserve(connection, "next", ["lab/d5/s0/c0"], who="tests", from_="2126-12-01T08:00:00Z", until="48h")
        reserve(connection, "firmware", ["lab/d6/s0"], who="tests", until="4h", maintenance=True, why=WHY)
    return url


def column(page: Page, at: int) -> list[str]:
    return [text.strip() for text in page.locator(f".data tbody tr:not(.space) td:nth-child({at})").all_inner_texts()]


def saved(page: Page) -> list[list[str]]:
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    return list(csv.reader(io.StringIO(download.value.path().read_text())))


@pytest.mark.slow
def test_rows_of_a_report_link_sort_and_filter_and_csv_has_the_same(opened: Open) -> None:
    page = opened("#/reports/capacity")
    header = page.get_by_role("columnheader", name="chips", exact=True)
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "ascending")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "descending")
    assert page.evaluate("location.hash") == "#/reports/capacity?sort=-chips"
    page.get_by_label("Filter").fill("chips<200 cluster~trn")
    page.get_by_label("Filter").press("Enter")
    expect(page.get_by_role("status").filter(has_text="rows of")).to_be_visible()
    page.reload()
    settled(page)
    chips = [int(text.replace(",", "")) for text in column(page, 2)]
    assert chips == sorted(chips, reverse=True)
    assert 2 <= len(chips) < 8
    clusters = column(page, 1)
    assert [row[0] for row in saved(page)[1:]] == clusters
    same = [name for name, count in zip(clusters, chips, strict=True) if count == 64]
    assert same == ["trn3-gen1", "u-trn2x64"]  # as the report has them: a sort is stable
    page.get_by_role("link", name="trn3-gen1", exact=True).click()
    page.wait_for_url("**/#/cluster/trn3-gen1")


@pytest.mark.slow
def test_many_rows_are_drawn_as_they_come_into_view_and_every_address_is_a_link(opened: Open) -> None:
    page = opened("#/reports/unhealthy?sort=address")
    table = page.locator(".data table")
    expect(table).to_have_attribute("aria-rowcount", "302")
    assert page.locator(".data tbody tr:not(.space)").count() < 100
    first = page.locator(".data tbody tr:not(.space)").first
    expect(first).to_have_attribute("aria-rowindex", "2")
    page.locator(".data").evaluate("box => box.scrollTo(0, box.scrollHeight)")
    last = page.locator(".data tbody tr:not(.space)").last
    expect(last).to_have_attribute("aria-rowindex", "302")
    expect(last.get_by_role("link", name="u-trn2x64/d0/s1/c5", exact=True).first).to_be_visible()
    shown = page.locator(".data tbody td")
    texts = shown.filter(has_text=re.compile(r"^[\w.-]+/d\d+/s\d+/c\d+$"))
    assert texts.count() == texts.filter(has=page.get_by_role("link")).count() > 5
    assert page.locator("main img").count() == 0
    rows = saved(page)
    assert len(rows) == 302
    assert f"'{WHY}" in rows[1]  # which a spreadsheet does not run
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("checkbox", name="why", exact=True).uncheck()
    assert "why" not in saved(page)[0]
    assert page.get_by_role("columnheader", name="why", exact=True).count() == 0


@pytest.mark.slow
def test_unhealthy_parts_of_one_incident_are_one_row(opened: Open) -> None:
    page = opened("#/reports/unhealthy")
    expect(page.get_by_role("status").filter(has_text="301 rows in ")).to_be_visible()
    rows = page.locator(".by-change tbody tr")
    assert rows.count() < 10
    largest = rows.first
    expect(largest.locator("td.parts summary")).to_contain_text("chips")
    largest.locator("summary").click()
    assert largest.get_by_role("listitem").count() > 100
    expect(largest.locator("td.why")).to_contain_text(WHY)
    expect(largest.locator("td.who")).to_have_text("tests")
    expect(largest.locator("td.when")).to_contain_text(re.compile(r"\d\d:\d\d"))
    places = rows.locator("th a").all_inner_texts()
    page.evaluate("location.hash = '#/incidents'")
    expect(page.locator(".incidents a.cause > span:last-child")).to_have_text(places)  # in the same order
    page.go_back()
    assert len(saved(page)) == 302  # the file has every part
    page.get_by_text("Each part", exact=True).click()
    page.wait_for_url("**rows=parts")
    expect(page.locator(".data table")).to_have_attribute("aria-rowcount", "302")


@pytest.mark.slow
def test_on_a_phone_the_lines_of_an_incident_begin_below_its_name(opened: Open) -> None:
    page = opened("#/reports/unhealthy", width=390, height=844)
    row = page.locator(".by-change tbody tr").first
    left = """part => {
        const text = new Range()
        text.selectNodeContents(part)
        return text.getBoundingClientRect().x
    }"""
    assert len({round(row.locator(part).evaluate(left)) for part in ("th a", ".why", ".parts summary")}) == 1


@pytest.mark.slow
def test_an_incident_in_several_clusters_is_one_row(opened: Open, service_database: str) -> None:
    switches = ["trn3-gen1/d0/sw0", "trn3-gen2/d0/sw0"]
    with trninv.open(service_database) as fleet:
        fleet.set_state(switches, "down", why="no power in the hall", who="tests")
        try:
            row = opened("#/reports/unhealthy").locator(".by-change tr", has_text="no power in the hall")
            expect(row.get_by_role("rowheader")).to_have_text("down: several clusters")
            expect(row.get_by_role("rowheader").get_by_role("link")).to_have_attribute(
                "href", re.compile(r"#/incidents\?sel=\d+$")
            )
            expect(row.locator("td.parts summary")).to_have_text("2 switches down")
        finally:
            fleet.set_state(switches, "up", why="power is back", who="tests")


@pytest.mark.slow
def test_a_share_of_less_than_all_is_not_shown_as_all(opened: Open) -> None:
    page = opened("#/reports/availability?where=cluster%3Du-trn2x64+kind%3Dchip")
    up = page.get_by_role("columnheader", name="up, %", exact=True)
    expect(up).to_be_visible()
    (share,) = column(page, 2)
    assert 0 < float(share.lstrip("<>")) < 100
    expect(page.get_by_text("Mean repair: from the failure")).to_contain_text("Measured over the last ")
    page.get_by_text(re.compile("^Columns")).click()
    page.get_by_role("checkbox", name="measured since", exact=True).check()
    expect(page.locator(".data tbody time")).to_contain_text(" ago")
    page.get_by_role("checkbox", name="measured since", exact=True).uncheck()
    expect(page).not_to_have_url(re.compile("cols="))


@pytest.mark.slow
def test_availability_is_of_a_period_and_says_kinds_as_people_do(opened: Open) -> None:
    page = opened("#/reports/availability")
    expect(page.get_by_role("radio", name="7 d")).to_be_checked()
    clusters = page.locator(".data .topic a").all_inner_texts()
    assert clusters[0] == "lab"  # the worst
    assert len(clusters) == len(set(clusters)) < len(column(page, 1)) + 1
    still_down = page.locator(".data td.number .state-label.down")
    expect(still_down).to_have_text([re.compile("300$"), re.compile("1$")])
    expect(page.locator(".data tbody tr:not(.topic) td:nth-child(6)").first).to_have_text("—not known")
    page.get_by_role("button", name=re.compile("Show .* more rows, up all the time")).click()
    kinds = column(page, 1)
    assert "NIC" in kinds
    lead = page.get_by_text("Up in all of these clusters: ")
    expect(lead).to_contain_text(re.compile(r"chip [>\d.]+\s%.*Worst first\."))
    above, below = lead.bounding_box(), page.locator(".data").bounding_box()
    assert above
    assert below
    assert above["y"] < below["y"]
    expect(page.get_by_role("columnheader", name="down with server")).to_be_visible()
    assert "nic" not in kinds
    digits = [text.partition(".")[2] for at in (2, 8, 9, 10) for text in column(page, at) if "." in text]
    assert {len(text) for text in digits} <= {1, 2, 3}
    assert len({len(text) for text in digits}) == 1
    page.get_by_text("All", exact=True).click()
    expect(page.locator("input[name=since]")).to_have_value("")
    expect(page).to_have_url(re.compile("since=all"))
    with page.expect_request(lambda request: "query Report(" in (request.post_data or "")) as asked:
        page.get_by_text("24 h", exact=True).click()
    settled(page)
    variables: Any = asked.value.post_data_json
    (since,) = variables["variables"]["values"]
    age = datetime.now(UTC) - datetime.fromisoformat(since["value"])
    assert timedelta(hours=24) <= age < timedelta(hours=24, minutes=5)
    expect(page.locator("input[name=since]")).to_have_value("24 h ago")
    expect(page.get_by_role("radio", name="24 h")).to_be_checked()
    assert page.locator("main .failure").count() == 0


@pytest.mark.slow
def test_a_total_is_of_the_rows_that_are_shown(opened: Open) -> None:
    page = opened("#/reports/capacity?where=chips<200")
    total = page.locator(".data tfoot td").first
    chips = [int(text.replace(",", "")) for text in column(page, 2)]
    assert int(total.inner_text().replace(",", "")) == sum(chips)


@pytest.mark.slow
def test_lost_bandwidth_says_which_incidents_cost_it(opened: Open) -> None:
    page = opened("#/reports/bandwidth?cluster=u-trn2x64")
    causes = page.get_by_role("region", name="Causes").locator("tbody tr")
    expect(causes).to_have_count(1)
    expect(causes).to_contain_text("HBM errors")
    lost = causes.locator("td.number").inner_text()
    assert float(lost) > 0
    expect(page.get_by_text(f"All incidents together: {lost} GB/s.")).to_be_visible()
    causes.get_by_role("link").click()
    expect(page.get_by_role("complementary", name=re.compile("Incident"))).to_contain_text("HBM errors")


@pytest.mark.slow
def test_the_kind_of_links_that_lost_the_most_is_first_and_named(opened: Open) -> None:
    page = opened("#/reports/bandwidth")
    row = page.locator(".data tbody tr").first
    expect(row.locator("td").first).to_have_text("Within a server neuronlink-v3-plane")
    shares = [float(text) for text in column(page, 2)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 1
    assert int(column(page, 3)[0].replace(",", "")) > 1000
    now, healthy, cables, rates = (
        [float(re.sub(r"[^\d.].*", "", text.replace(",", ""), flags=re.DOTALL)) for text in column(page, at)]
        for at in range(6, 10)
    )
    assert now[0] < healthy[0]
    assert [count * rate for count, rate in zip(cables, rates, strict=True)] == pytest.approx(
        healthy, rel=0.02
    )  # as printed
    expect(page.get_by_role("columnheader", name="slower", exact=True)).to_be_visible()
    lead = page.get_by_text(re.compile(r"Of [\d,.]+ GB/s lost, [\d,.]+ are of chips to NICs, which Incidents do not"))
    expect(lead).to_be_visible()
    shares = [float(text.lstrip("<")) for text in column(page, 2)]
    total = float(page.locator(".data tfoot td").first.inner_text())
    assert min(shares) < total < max(shares)
    tops = [page.locator(at).evaluate("box => box.offsetTop") for at in (".data", ".losses", ".chart")]
    assert tops == sorted(tops)


@pytest.mark.slow
def test_healthy_less_lost_is_now_as_printed(opened: Open) -> None:
    def halve(route: Route) -> None:
        answer = route.fetch()
        content = answer.json()
        report = content["data"]["report"]
        lost, now, healthy = map(report["columns"].index, ("gb_per_s_lost", "gb_per_s_now", "gb_per_s"))
        row = report["rows"][0]
        row[lost], row[now] = 37.5, row[healthy] - 37.5
        route.fulfill(response=answer, json=content)

    page = opened("#/reports")
    page.route(
        "**/graphql",
        lambda route: halve(route) if "query Report(" in str(route.request.post_data) else route.continue_(),
    )
    page.get_by_role("link", name=re.compile("^Link bandwidth")).click()
    settled(page)
    lost, now, healthy = (column(page, at)[0] for at in (3, 6, 7))
    assert float(lost) == 37.5
    assert float(now.replace(",", "")) == float(healthy.replace(",", "")) - 37.5


@pytest.mark.slow
def test_what_sources_dispute_is_marked_beside_the_number(opened: Open) -> None:
    page = opened("#/reports/capacity?where=u-trn2x64")
    mark = page.get_by_role("link", name=re.compile("^sources disagree: 96 GiB; other sources: 512 GiB"))
    expect(mark).to_have_attribute("href", "#/disagreements")
    assert page.get_by_role("columnheader", name=re.compile("disputed")).count() == 0
    heads = page.locator(".data thead th").count()
    expect(page.locator(".columns-of summary")).to_have_text(f"Columns ({heads} of {heads + 2})")
    page.locator(".columns-of summary").click()
    expect(page.locator(".columns-of").get_by_role("checkbox")).to_have_count(heads + 2)
    page.get_by_role("checkbox", name="HBM", exact=False).first.uncheck()
    expect(page.locator(".columns-of summary")).to_have_text(f"Columns ({heads - 1} of {heads + 2})")
    expect(mark).to_have_count(0)
    page.get_by_role("checkbox", name="HBM", exact=False).first.check()
    assert "hbm_of_a_chip_disputed" in saved(page)[0]


@pytest.mark.slow
def test_parquet_has_all_rows_and_f_goes_to_the_filter(opened: Open) -> None:
    page = opened("#/reports/capacity?generation=trn3&where=gen1")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download Parquet").click()
    table = pyarrow.parquet.read_table(download.value.path())
    assert sorted(table["cluster"].to_pylist()) == ["trn3-gen1", "trn3-gen2"]
    page.locator("h1").click()
    page.keyboard.press("f")
    expect(page.get_by_role("searchbox", name="Filter")).to_be_focused()


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
    expect(page.locator(".place")).to_contain_text("Not searched: ")  # of trn3-gen2, which has no set of 8 chips
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
def test_a_report_of_ones_own_has_the_chart_that_its_header_declares(
    opened: Open,
    service_database: str,
    tmp_path: Path,
) -> None:
    rows = "SELECT 'a' AS name, 1 AS chips, 0 AS jobs UNION ALL SELECT 'b', 3, 0 ORDER BY name"
    for name, chart in {"mine": "chips by name", "flat": "chips, jobs by name", "less": "cores by name"}.items():
        (tmp_path / f"{name}.sql").write_text(f"-- title: {name}\n-- chart: {chart}\n{rows}\n")
    with forked_service(service_database, TRNINV_REPORTS=str(tmp_path)) as url:
        page = opened("#/reports/mine", url=url)
        assert page.locator("#plot title").text_content() == "chips: a 1; b 3"
        page.evaluate("location.hash = '#/reports/flat'")
        expect(page.locator("#plot circle")).to_have_count(2)
        page.evaluate("location.hash = '#/reports/less'")
        expect(
            page.get_by_text("No chart: the report header names cores, which is not a column of the report.")
        ).to_be_visible()
        assert page.locator("#plot").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("options", ["sort=-nothing&where=(((&cols=__proto__", 'where="&sort=-', "where=x%3E&cols=,"])
def test_a_table_bears_any_address(opened: Open, options: str) -> None:
    page = opened(f"#/reports/capacity?{options}")
    expect(page.get_by_role("button", name="Download CSV")).to_be_visible()


def cell(page: Page, metric: str, place: int) -> str:
    row = page.locator(".compare tr", has=page.get_by_role("rowheader", name=re.compile(rf"^{metric}\b(?! per chip)")))
    return row.locator("td").nth(place).inner_text().replace("\n", " ")


@pytest.mark.slow
def test_places_are_compared_as_they_are_and_as_they_were_made(opened: Open) -> None:
    page = opened("#/compare?of=u-trn2x64/d0,trn3-gen1,nothing")
    expect(page.get_by_role("status").filter(has_text="19 of 19 rows loaded")).to_be_visible(timeout=60_000)
    groups = page.locator(".compare .group").all_inner_texts()
    assert groups[0].startswith("Per chip")
    assert "read these last" in groups[-1]
    expect(page.get_by_role("rowheader", name="HBM, GiB capacity")).to_be_visible()  # the unit, once
    assert cell(page, "HBM", 0) == "96 ≠ sources disagree: 96 GiB; other sources: 512 GiB"
    assert cell(page, "HBM", 1) == "144 best 1.50×"
    assert cell(page, "Scale-up links", 0) == "640"
    links = page.locator(".compare tr", has=page.get_by_role("rowheader", name="Scale-up links")).locator("td").nth(1)
    expect(links).to_contain_text("704")
    expect(links.locator("a.mark")).to_have_attribute("href", "#/disagreements?of=trainium3+neuronlink_bandwidth")
    bars = [page.locator(".compare tr", has_text=metric).locator(".track span").first for metric in ("HBM", "Diameter")]
    best_if_long, worst_if_long = [bar.evaluate("bar => getComputedStyle(bar).backgroundColor") for bar in bars]
    assert best_if_long != worst_if_long
    assert cell(page, "Working chips", 0) == "98.44"
    assert "1,984" in cell(page, "Bisection", 0)
    # halves of 63 chips may cut other links than halves of 64, so neither is better
    assert cell(page, "Bisection per chip", 0).endswith("not comparable: of 63, not 64 chips")
    assert re.fullmatch("[0-9.]+", cell(page, "Bisection per chip", 1))
    assert cell(page, "Bisection", 1) == "4,096 2.06×"  # a total: the larger place is not the better one
    assert "best" in cell(page, "Diameter", 1)  # the least
    assert cell(page, "Bisection", 2) == "unknown"
    expect(page.get_by_role("columnheader", name="nothing")).to_contain_text("no cluster nothing")
    page.get_by_role("button", name="Remove nothing").click()
    page.get_by_text("When healthy", exact=True).click()
    expect(page.locator(".compare")).to_contain_text("2,048", timeout=60_000)
    expect(page.get_by_role("status").filter(has_text="19 of 19 rows loaded")).to_be_visible(timeout=60_000)
    assert cell(page, "Working chips", 0) == "100"
    assert "not comparable" not in cell(page, "Bisection per chip", 0)
    assert "limited by" not in page.locator(".compare").inner_text()  # by one chip as much as by any other
    assert page.evaluate("location.hash") == "#/compare?of=u-trn2x64/d0,trn3-gen1&as=healthy"


def left_of(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return box["x"]


@pytest.mark.slow
def test_on_a_phone_names_and_the_first_of_several_places_stay_in_view(opened: Open) -> None:
    page = opened("#/compare?of=u-trn2x64/d0,trn3-gen1,trn3-gen2", width=390, height=844)
    table = page.get_by_role("region", name="Comparison")
    assert table.evaluate("box => box.scrollWidth <= box.clientWidth")  # three fit
    page = opened("#/compare?of=u-trn2x64/d0,trn3-gen1,trn3-gen2,lab", width=390, height=844)
    table = page.get_by_role("region", name="Comparison")
    name = table.get_by_role("rowheader", name="BF16 compute, TFLOPS dense").locator("div")
    first = table.locator("tr", has_text="BF16 compute").locator("td")
    expect(first).to_have_count(4)
    assert name.bounding_box()["y"] < 844  # type: ignore[index]
    before = [left_of(each) for each in (name, first.nth(0), first.nth(1))]
    table.evaluate("box => box.scrollTo(90, 0)")
    after = [left_of(each) for each in (name, first.nth(0), first.nth(1))]
    assert after == pytest.approx([before[0], before[1], before[2] - 90], abs=2)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    names = page.locator(".compare .names").last
    expect(names.locator("td")).to_have_text(["u-trn2x64/d0", "trn3-gen1", "trn3-gen2", "lab"])
    expect(names).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(names).to_be_hidden()


@pytest.mark.slow
def test_a_cell_that_fails_keeps_its_words_and_is_asked_again_alone(opened: Open) -> None:
    page = opened("#/compare")
    asked: list[str] = []

    def refuse(route: Route) -> None:
        query = route.request.post_data or ""
        asked.append(query)
        if "CompareCollectives" in query and "trn3-gen1" in query:
            error = {"message": "it takes too long", "extensions": {"code": "TIME_LIMIT"}}
            route.fulfill(json={"data": None, "errors": [error]})
        else:
            route.fallback()

    page.route("**/graphql", refuse)
    page.evaluate("location.hash = '#/compare?of=u-trn2x64,trn3-gen1'")
    said = page.get_by_role("status").filter(has_text="17 of 19 rows loaded, 2 failed")
    expect(said).to_be_visible(timeout=60_000)
    assert cell(page, "All-gather limit", 1).startswith("Timed out. Other cells are not affected.")
    assert "not known" not in page.locator(".compare").inner_text()
    # nothing is best, and no bar is drawn
    assert re.fullmatch(r"[\d,.]+ limited by d0/s\d+/c\d+", cell(page, "All-gather limit", 0))
    page.unroute("**/graphql")
    before = len(asked)
    page.get_by_role("button", name="Retry").first.click()
    expect(page.get_by_role("status").filter(has_text="18 of 19 rows loaded, 1 failed")).to_be_visible()
    assert "best" in cell(page, "All-gather limit", 0) + cell(page, "All-gather limit", 1)
    assert len(asked) == before


@pytest.mark.slow
def test_a_system_that_is_not_seeded_is_compared_by_its_design(opened: Open) -> None:
    page = opened("#/compare?of=u-trn2x64,rainier")
    head = page.get_by_role("columnheader", name="rainier")
    expect(head).to_contain_text("design only, not seeded: trninv seed rainier")
    assert head.get_by_role("link").count() == 0
    expect(page.get_by_role("status").filter(has_text="19 of 19 rows loaded")).to_be_visible(timeout=60_000)
    assert cell(page, "Chips", 1) == "400,000 6250.00×"
    assert cell(page, "Total HBM", 1).startswith("38,400,000 ")
    assert "known after seeding" in cell(page, "Bisection", 1)
    assert "1,984" in cell(page, "Bisection", 0)


@pytest.mark.slow
def test_what_is_chosen_anywhere_is_compared_by_c_and_seen_in_small(opened: Open) -> None:
    page = opened("#/domain/u-trn2x64/d0?sel=s1/c5")
    page.keyboard.press("c")
    expect(page.get_by_role("status").filter(has_text="u-trn2x64/d0 added, 1 of 4 to compare.")).to_be_visible()
    for at, count in (("cluster/trn3-gen2", 2), ("rack/u-trn2x64/r0", 3), ("cluster/lab", 4)):
        page.evaluate("to => { location.hash = to }", f"#/{at}")
        settled(page)
        page.keyboard.press("c")
        expect(page.get_by_role("status").filter(has_text=f"{count} of 4 to compare.")).to_be_visible()
    page.evaluate("location.hash = '#/cluster/trn1.2xlarge'")
    settled(page)
    page.keyboard.press("c")
    said = page.get_by_role("status").filter(has_text="trn1.2xlarge was not added")
    said.get_by_role("link", name="Compare").click()
    assert page.evaluate("location.hash") == "#/compare?of=u-trn2x64/d0,trn3-gen2,u-trn2x64,lab"
    expect(page.locator(".compare .cluster-miniature")).to_have_count(4, timeout=60_000)
    page.get_by_role("button", name="Remove lab").click()
    page.evaluate("location.hash = '#/compare'")
    settled(page)
    page.locator("h1").click()
    page.keyboard.press("c")
    expect(page.get_by_role("combobox", name="Add")).to_be_focused()
    page.get_by_role("button", name="Compare u-trn2x64/d0, trn3-gen2, u-trn2x64").click()
    assert page.evaluate("location.hash") == "#/compare?of=u-trn2x64/d0,trn3-gen2,u-trn2x64"


@pytest.mark.slow
def test_now_against_an_earlier_time_says_what_does_not_compare(opened: Open) -> None:
    page = opened("#/compare?of=u-trn2x64/d0&as=then&since=300")
    expect(page.locator(".compare")).to_contain_text("not comparable: 64 chips before, 63 now", timeout=60_000)
    assert cell(page, "Working chips", 0) == "100 → 98.44 −2 %"
    expect(page.get_by_text("event 300 → now")).to_be_visible()


@pytest.mark.slow
def test_the_timeline_shows_what_was_and_takes_the_page_there(opened: Open) -> None:
    page = opened("#/?span=all")
    slider = page.get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("301 unhealthy parts"))
    slider.focus()
    page.keyboard.press("[")
    page.wait_for_url(re.compile("asof="))
    expect(page.locator(".bygone")).to_be_visible()
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_url(lambda url: "asof" not in url)
    settled(page)
    page.locator(".timeline .line").scroll_into_view_if_needed()
    box = page.locator(".timeline .line").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    assert "asof" not in page.url  # only when it is let go
    page.mouse.up()
    page.wait_for_url(re.compile("asof="))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 1283])
def test_the_cursor_of_the_timeline_ends_where_its_bars_do(opened: Open, width: int) -> None:
    """Pictures are as wide as a multiple of 8 pixels, which leaves some of the card free."""
    page = opened("#/domain/u-trn2x64/d0", width=width, height=900)
    cursor, bar = page.locator(".line .cursor"), page.locator(".timeline rect[fill*=down]:not([height='6'])").last
    ends = [locator.evaluate("shape => shape.getBoundingClientRect().right") for locator in (cursor, bar)]
    assert abs(ends[0] - ends[1]) <= 2


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


def test_each_page_that_is_fetched_later_is_small() -> None:
    for name in ("compare", "jobs", "reports", "table", "timeline"):
        files = [file for kind in ("js", "css") if (file := WEB_DIRECTORY / "assets" / f"{name}.{kind}").exists()]
        assert files, name
        assert sum(len(gzip.compress(file.read_bytes())) for file in files) < CHUNK, name
