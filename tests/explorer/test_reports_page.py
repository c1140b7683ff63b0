"""Reports and the timeline: tables and charts that an address says in full."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from lab_fleet import WHY, column, lab_with_jobs, saved
from playwright.sync_api import Route, expect

import trninv
from browsing import Open, settled
from conftest import Databases
from forking import forked_service


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    return lab_with_jobs(databases)


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
