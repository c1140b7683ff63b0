"""Compare: places side by side, whose cells come one by one."""

import re

import pytest
from lab_fleet import lab_with_jobs
from playwright.sync_api import Locator, Page, Route, expect

from browsing import Open, settled
from conftest import Databases
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """The lab, and a server of which only a NIC is down."""
    url = lab_with_jobs(databases)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        down = Condition.from_user("down", None)
        set_state(connection, ["trn1.32xlarge/d0/s0/efa0"], down, why="no carrier", who="tests")
    return url


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


@pytest.mark.slow
def test_a_chip_limits_only_what_would_be_more_with_every_part_up(opened: Open) -> None:
    page = opened("#/compare?of=trn1.32xlarge/d0,u-trn2x64/d0")
    expect(page.get_by_role("status").filter(has_text="19 of 19 rows loaded")).to_be_visible(timeout=60_000)
    expect(page.locator(".compare .head").first).to_contain_text("1 NIC down")
    assert re.fullmatch(r"[\d,.]+", cell(page, "All-gather limit", 0))
    assert re.search(r"limited by s\d/c\d+$", cell(page, "All-gather limit", 1))


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
    assert name.evaluate("name => name.getBoundingClientRect().y") < 844
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
