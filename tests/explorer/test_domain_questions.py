"""What is asked of a domain and what is supposed of it: by mouse, by keyboard, by address; read, heard and seen."""

import re
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from playwright.sync_api import Page, expect

from browsing import Open, held_back, settled, violations
from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate

U = "#/domain/u-trn2x64/d0"
MODES = {
    "path": "Path",
    "widest": "Widest",
    "cut": "Cut",
    "bisection": "Bisection",
    "pool": "Memory pool",
    "jobs": "Jobs",
}
ENDS = "from=s0/c0&to=s2/c10"
WIDTHS = 1280, 390


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """An UltraServer that is known for two hours, with a job on a server, and a chip that is down since."""
    url = databases.migrated("sqlite")
    with (
        temporary_engine(url) as engine,
        write_transaction(engine) as connection,
        patch("trninv.units.datetime") as clock,
    ):
        clock.now.return_value = datetime.now(UTC) - timedelta(hours=2)
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64"))
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        allocate(connection, "train-7b", ["u-trn2x64/d0/s2"], who="tests")
        set_state(connection, ["u-trn2x64/d0/s1/c5"], Condition.from_user("down", None), why="test", who="tests")
    return url


def figure(page: Page, name: str) -> str:
    return " ".join(
        page.locator(".figures div", has=page.get_by_text(name, exact=True)).locator("dd").inner_text().split()
    )


def at(page: Page) -> str:
    found: str = page.evaluate("location.hash")
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "name", "marked"),
    [
        ("show=shortest&", "Path", ".wire.path"),
        ("", "Path", ".wire.path"),
        ("show=nothing&", "Path", ".wire.path"),
        ("show=widest&", "Widest", ".wire.path"),
        ("show=cut&", "Cut", ".wire.cut"),
        ("show=bisection&", "Bisection", ".wiring .chip.side"),
        ("show=pool&", "Memory pool", ".wiring .chip.hop"),
        ("show=jobs&", "Jobs", ".wiring .chip.allocated"),
    ],
)
def test_every_address_asks_its_question(opened: Open, options: str, name: str, marked: str) -> None:
    page = opened(f"{U}?{options}{ENDS}")
    expect(page.get_by_role("tab", selected=True)).to_have_text(name)
    expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
    expect(page.locator(marked).first).to_be_attached()


@pytest.mark.slow
def test_the_answer_is_the_largest_text_and_says_what_limits_it(opened: Open) -> None:
    page = opened(f"{U}?{ENDS}")
    settled(page)
    assert figure(page, "Narrowest at") == "s0/c10 – s1/c10 and 1 more"
    assert figure(page, "Limited by") == "the links of s2/c10"
    sizes = page.locator(".answers .figures strong").evaluate_all(
        "all => all.map(each => [each.textContent, parseFloat(getComputedStyle(each).fontSize)])"
    )
    most = max(size for _, size in sizes)
    assert [text for text, size in sizes if size == most] == ["6 hops", "640 GB/s"]


@pytest.mark.slow
def test_an_idle_link_is_as_clear_with_an_answer_as_without(opened: Open) -> None:
    page = opened(f"{U}?{ENDS}")
    expect(page.locator(".wire.path")).to_have_count(6)
    expect(page.locator(".wiring .quiet .wire")).not_to_have_count(0)
    expect(page.locator(".wire.off")).to_have_count(6)
    expect(page.locator(".wiring .quiet .wire.off")).to_have_count(0)


@pytest.mark.slow
def test_on_a_phone_the_picture_is_in_the_first_screen_and_the_answer_above_it(opened: Open) -> None:
    def top(name: str) -> float:
        box = page.locator(name).first.bounding_box()
        assert box
        return box["y"]

    page = opened(U, width=390, height=844)
    settled(page)
    controls = [page.get_by_label(name, exact=True).bounding_box() for name in ("Question", "From", "To", "More")]
    assert len({round(box["y"] + box["height"] / 2, -1) for box in controls if box}) == 1
    assert top(".cause-bands") < top(".cost") < top(".wiring") < 560
    page.get_by_label("From", exact=True).select_option("s0/c0")
    page.get_by_label("To", exact=True).select_option("s2/c10")
    expect(page.locator(".wire.path")).to_have_count(6)
    assert top(".answers .answer") < top(".wiring") < 500 < top(".cause-bands")
    page.get_by_label("Question").select_option("cut")
    expect(page.locator(".wire.cut")).to_have_count(6)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_questions_are_tabs_that_arrows_go_through_and_back_returns(opened: Open) -> None:
    page = opened(f"{U}?{ENDS}")
    page.get_by_role("tab", name="Path").focus()
    seen = list[str]()
    for key in ["ArrowRight"] * 6 + ["ArrowLeft", "Home", "End"]:
        page.keyboard.press(key)
        expect(page.locator("[role=tab]:focus")).to_have_attribute("aria-selected", "true")
        seen.append(re.findall(r"show=(\w+)", at(page))[0])
    assert seen == ["widest", "cut", "bisection", "pool", "jobs", "path", "jobs", "path", "jobs"]
    assert page.locator("[role=tab][tabindex='0']").count() == 1
    page.go_back()
    expect(page.get_by_role("tab", selected=True)).to_have_text("Path")


@pytest.mark.slow
def test_ends_are_chosen_and_swapped_by_mouse_and_keys(opened: Open) -> None:
    page = opened(U)
    page.get_by_label("From", exact=True).select_option("s0/c0")
    page.get_by_label("To", exact=True).select_option("s2/c10")
    page.get_by_role("button", name="Swap From and To").click()
    expect(page.get_by_role("heading", name="s2/c10 to s0/c0")).to_be_visible()
    page.locator("main").focus()
    page.keyboard.press("x")
    expect(page.get_by_role("heading", name="s0/c0 to s2/c10")).to_be_visible()
    assert at(page) == f"{U}?{ENDS}"
    expect(page.locator("article > [role=status]")).to_have_text("s0/c0 to s2/c10: 6 hops, maximum flow 640 GB/s")
    page.keyboard.press("Escape")
    assert at(page) == U


@pytest.mark.slow
def test_what_is_supposed_is_taken_back_changed_and_cleared(opened: Open) -> None:
    page = opened(f"{U}?{ENDS}")
    page.locator('.wiring [data-at="u-trn2x64/d0/s0/c1"]').click(modifiers=["Shift"])
    bar = page.get_by_role("region", name="What if")
    expect(bar).to_contain_text("s0/c1")
    expect(page.locator(".answers .pill").first).to_have_text("what if 1 down")
    settled(page)
    assert figure(page, "Maximum flow") == "before 640 → 512 GB/s −20 %"
    assert figure(page, "Minimum cut") == "before 6 → 5 links −1"
    expect(page.locator(".wire.before")).to_have_count(2)
    expect(page.locator("article > [role=status]")).to_contain_text("maximum flow 640 GB/s, then 512 GB/s")
    page.get_by_role("button", name="Take down s0/c6 – s0/c10").click()
    expect(bar.get_by_role("listitem")).to_have_count(2)
    bar.get_by_label("State of s0/c6 – s0/c10 in this scenario").select_option("0.5")
    page.wait_for_url(re.compile(r"down=s0/c1&derate=s0/c6--s0/c10%3D0.5$"))
    expect(page.locator(".wire.degraded")).to_have_count(1)
    page.reload()
    expect(bar.get_by_label("State of s0/c6 – s0/c10 in this scenario")).to_have_value("0.5")
    bar.get_by_role("button", name="Restore s0/c1").click()
    expect(bar.get_by_role("listitem")).to_have_count(1)
    bar.get_by_role("button", name="Clear").click()
    expect(bar).to_have_count(0)
    page.go_back()
    expect(bar.get_by_role("listitem")).to_have_count(1)


@pytest.mark.slow
def test_old_numbers_are_pale_until_the_new_ones_are_there(opened: Open) -> None:
    page = opened(f"{U}?{ENDS}")
    with held_back(page):
        page.locator('.wiring [data-at="u-trn2x64/d0/s0/c1"]').click(modifiers=["Shift"])
        hops = page.get_by_role("region", name="Path, link by link")
        expect(hops).to_have_class(re.compile("stale"))
        expect(page.locator(".answers .stale dl")).to_have_count(4)
        assert page.locator(".wire.path").count() == 0
    expect(page.locator(".answers .stale")).to_have_count(0)
    expect(page.locator(".wire.path")).to_have_count(6)
    expect(hops.locator("tbody tr").first).to_contain_text("s0/c0 – s0/c3")


@pytest.mark.slow
def test_the_keyboard_supposes_and_escape_lets_go_one_by_one(opened: Open) -> None:
    page = opened(f"{U}?{ENDS}&sel=s0/c1")
    page.locator("main").focus()
    page.keyboard.press("d")
    page.wait_for_url(re.compile("down=s0/c1$"))
    button = page.get_by_role("button", name="Restore s0/c1")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="What if")).to_have_count(0)
    page.locator("main").focus()
    page.keyboard.press("d")
    for left in (f"{U}?{ENDS}&down=s0/c1", f"{U}?{ENDS}", U):
        page.keyboard.press("Escape")
        assert at(page) == left


@pytest.mark.slow
def test_set_for_real_proposes_what_is_supposed_but_not_in_the_past(opened: Open) -> None:
    page = opened(f"{U}?down=s0/c1,s0/c2&derate=s0/c6--s0/c10=0.5")
    expect(page.get_by_role("button", name="Apply at 50 %…")).to_be_visible()
    page.get_by_role("button", name="Apply down…").click()
    dialog = page.get_by_role("dialog")
    for place in ("s0/c1", "s0/c2"):
        expect(dialog).to_contain_text(place)
    page = opened(f"{U}?down=s0/c1&asof=1")
    expect(page.get_by_role("region", name="What if")).to_be_visible()
    expect(page.get_by_role("button", name="Apply")).to_have_count(0)


@pytest.mark.slow
def test_bisections_of_other_halves_are_not_compared(opened: Open) -> None:
    page = opened(f"{U}?show=bisection&down=s1")
    assert figure(page, "Bisection bandwidth") == "before 1,984 → 2,048 GB/s not comparable"
    assert figure(page, "Halves") == "31 and 32 chips before, 24 and 24 chips now"
    page.evaluate("to => { location.hash = to }", f"{U}?show=bisection&down=s0/c1--s1/c1")
    expect(page.get_by_text("not comparable")).to_have_count(0)
    settled(page)
    assert re.fullmatch(r"before 1,984 → 1,9\d\d GB/s −\d %", figure(page, "Bisection bandwidth"))


@pytest.mark.slow
def test_what_an_incident_cost_is_not_asked_beside_a_scenario(opened: Open) -> None:
    page = opened("#/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    for address, losses in ((f"{U}?show=bisection&down=s0/c1", 0), (f"{U}?show=bisection", 1)):
        page.evaluate("to => { location.hash = to }", address)
        expect(page.get_by_role("region", name="Bisection of u-trn2x64/d0")).to_contain_text("GB/s")
        settled(page)
        assert min(1, sum("query Loss(" in query for query in asked)) == losses


@pytest.mark.slow
def test_a_link_that_carries_nothing_says_whose_fault_that_is(opened: Open) -> None:
    page = opened(f"{U}?down=s0/c0")
    titles = page.locator(".wire.off title").all_text_contents()
    assert len(titles) == 12
    assert sum("0 GB/s" in each and "idle: s1/c5 is down" in each for each in titles) == 6
    assert sum("idle: s0/c0 is down in this scenario" in each for each in titles) == 6
    page = opened(f"{U}?sel=s1/c5--s1/c6")
    panel = page.get_by_role("complementary")
    expect(panel.locator("dl > div", has_text="Cause")).to_contain_text("u-trn2x64/d0/s1/c5 is down")


@pytest.mark.slow
def test_what_an_incident_costs_two_chips_is_told(opened: Open) -> None:
    page = opened(f"{U}?from=s0/c5&to=s2/c5")
    card = page.get_by_role("region", name="Since the worst incident")
    expect(card.get_by_role("heading")).to_contain_text("Since the incident at s1/c5")
    rows = card.locator("dl > div")
    expect(rows.filter(has_text="Tied paths")).to_contain_text(re.compile("before 2\\s*→\\s*1\\s*−1"))
    card.get_by_role("link", name="incident 2").click()
    page.wait_for_url(re.compile(r"#/incidents\?sel=2$"))
    page = opened(f"{U}?from=s0/c5&to=s2/c5&down=s0/c1")
    expect(card).to_have_count(0)


@pytest.mark.slow
def test_a_domain_says_what_its_incident_costs_until_a_scenario_asks_otherwise(opened: Open) -> None:
    page = opened(U)
    cost = page.get_by_role("region", name="What it costs")
    rows = cost.locator("dl > div")
    expect(rows.filter(has_text="Working chips")).to_contain_text(re.compile(r"64\s*→\s*63\s*−1"))
    expect(rows.filter(has_text="Idle links")).to_contain_text(re.compile(r"0\s*→\s*7\s*\+7"))
    expect(rows.filter(has_text="All-gather limit")).to_contain_text(re.compile(r"640\s*→\s*512 GB/s\s*−20 %"))
    expect(rows.filter(has_text="Bisection")).to_contain_text(
        re.compile(r"2,048\s*→\s*1,984 GB/s\s*−3 %\s*of 63, not 64 chips")
    )
    expect(rows.filter(has_text="Memory pool")).to_contain_text(re.compile(r"6,144\s*→\s*6,048 GiB"))
    expect(page.get_by_role("region", name="Causes")).to_contain_text("Hits no job")
    for asked in (f"{U}?show=bisection", f"{U}?{ENDS}", f"{U}?show=jobs"):
        page.evaluate("to => { location.hash = to }", asked)
        expect(cost).to_have_count(1)
    page.evaluate("to => { location.hash = to }", f"{U}?show=bisection&down=s0/c1")
    expect(cost).to_have_count(0)


@pytest.mark.slow
def test_on_a_phone_a_domain_is_flat(opened: Open) -> None:
    page = opened(f"{U}?view=3d", width=390, height=844)
    expect(page.locator(".wiring .chip")).to_have_count(64)
    expect(page.locator(".wiring.turns")).to_have_count(0)
    expect(page.get_by_text("Drawn flat")).to_be_visible()
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Docs")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_a_bisection_asks_for_no_ends(opened: Open) -> None:
    page = opened(f"{U}?show=bisection")
    ends = page.get_by_role("combobox", name="From", exact=True)
    expect(page.get_by_role("region", name="Bisection of u-trn2x64/d0")).to_be_visible()
    expect(ends).to_have_count(0)
    page.get_by_role("tab", name="Cut").click()
    expect(ends).to_have_count(1)


@pytest.mark.slow
def test_who_holds_which_chips_is_told_by_letters(opened: Open) -> None:
    page = opened(f"{U}?show=jobs")
    expect(page.locator(".wiring .chip.allocated")).to_have_count(16)
    expect(page.locator(".wiring .chip.allocated text").first).to_have_text("A")
    expect(page.get_by_role("region", name="Jobs")).to_contain_text("47 free chips")
    page.get_by_role("tabpanel").get_by_role("link", name="train-7b").click()
    page.wait_for_url(re.compile("#/jobs"))


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "rules"), [("light", ()), ("dark", ("color-contrast",))])
def test_every_question_is_accessible_legible_and_within_the_screen(
    opened: Open, scheme: str, rules: tuple[str, ...]
) -> None:
    """In both schemes and on both widths, in turns: a question that is wide in light is narrow in dark."""
    page = opened(U, scheme=scheme, height=720)
    for at, mode in enumerate(MODES):
        width = WIDTHS[(at + (scheme == "dark")) % 2]
        page.set_viewport_size({"width": width, "height": 720})
        page.evaluate("to => { location.hash = to }", f"{U}?{ENDS}&down=s0/c1&derate=s0/c4=0.5&show={mode}")
        settled(page)
        assert violations(page, *rules) == ""
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
        assert page.evaluate(SMALL) == [], page.url


SMALL = """() => [...document.querySelectorAll('article *')].filter(each =>
    [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim()) && !each.closest('svg') &&
    each.checkVisibility() && parseFloat(getComputedStyle(each).fontSize) < 11).map(each => each.textContent)"""
"""Texts of less than 11 pixels."""
