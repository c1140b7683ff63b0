"""The explorer's frame: from what is wrong to why, what it costs and what was before; which moment a page shows."""

import re
from collections.abc import Sequence

import pytest
from playwright.sync_api import Page, expect

from browsing import Open, Watched, copies, settled
from conftest import Databases
from forking import forked_service
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

SWITCH = "trn3-gen2/d0/sw37"
WHY = "no carrier <img src=x onerror=alert(1)>"


def change(url: str, addresses: Sequence[str], state: str, why: str = WHY) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, list(addresses), Condition.from_user(state, None), why=why, who="m.chen")


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """All small systems, of which a single switch is down."""
    url = databases.seeded("sqlite")
    change(url, [SWITCH], "down")
    return url


def row(page: Page, cluster: str) -> str:
    return page.locator("tr", has=page.get_by_role("link", name=re.compile(rf"^{cluster}( |$)"))).inner_text()


@pytest.mark.slow
def test_from_a_switch_down_to_its_reason_impact_and_past_in_three_clicks(opened: Open) -> None:
    page = opened()
    assert "1 switch down" in row(page, "trn3-gen2")
    assert "all up" not in row(page, "trn3-gen2")
    assert "all up" in row(page, "u-trn2x64")
    assert "1 switch down" in page.locator(".tiles").inner_text()
    page.get_by_role("complementary").get_by_role("link", name=SWITCH).first.click()
    panel = page.get_by_role("complementary", name=re.compile("Incident"))
    for says in (SWITCH, WHY, "m.chen"):
        expect(panel).to_contain_text(says)
    expect(panel).to_contain_text(re.compile(r"Jobs hit\s*none.*Bisection.*GB/s", re.DOTALL), timeout=60_000)
    panel.get_by_role("heading", level=2).get_by_role("link", name=SWITCH).click()
    thing = page.get_by_role("complementary", name=f"About {SWITCH}")
    expect(thing.locator(".band")).to_contain_text(WHY)
    page.get_by_role("link", name=re.compile("^Incident ")).click()
    page.evaluate("history.back()")
    expect(thing).to_contain_text("up → down")
    assert page.locator("img").count() == 0


@pytest.mark.slow
def test_the_past_is_said_to_be_the_past_on_every_page(opened: Open) -> None:
    page = opened("#/incidents?asof=1")
    expect(page.locator(".clock")).to_have_class(re.compile("past"))
    page.get_by_role("link", name="Fleet", exact=True).click()
    expect(page.locator(".bygone")).to_contain_text("As of event 1")
    assert page.evaluate("location.hash") == "#/?asof=1"
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator(".clock")).to_have_class(re.compile("live"))
    page.evaluate("location.hash = '#/?asof=yesterday'")
    expect(page.locator(".failure").first).to_contain_text("yesterday")


@pytest.mark.slow
def test_what_changes_is_shown_or_told_and_a_service_that_is_gone_too(
    watched: Watched,
    databases: Databases,
) -> None:
    url = databases.seeded("sqlite")
    with forked_service(url) as short:
        still, live = watched.open("#/domain/u-trn2x64/d0", url=short), watched.open(url=short)
        live.bring_to_front()
        change(url, ["u-trn2x64/d0/s1/c5"], "down")
        expect(live.locator("tr", has_text="u-trn2x64")).to_contain_text("1 chip down")
        still.bring_to_front()
        expect(still.locator(".clock")).to_have_class(re.compile("behind"))
        expect(still.locator(".toasts[role=status]")).to_contain_text("1 item changed")
        assert still.locator(".wiring .chip.down").count() == 0
        still.get_by_role("button", name="Show").last.click()
        expect(still.locator(".wiring .chip.down")).to_have_count(1)
        expect(still.locator(".clock")).to_have_class(re.compile("live"))
    expect(still.locator(".clock")).to_have_class(re.compile("gone"))
    watched.close()
    watched.said.clear()


@pytest.mark.slow
def test_an_address_opens_the_view_that_holds_it(opened: Open) -> None:
    page = opened()
    for text, hash_ in {
        "u-trn2x64": "#/cluster/u-trn2x64",
        "u-trn2x64/d0": "#/domain/u-trn2x64/d0",
        "u-trn2x64/r0": "#/rack/u-trn2x64/r0",
        "u-trn2x64/d0/s1/c5": "#/domain/u-trn2x64/d0?sel=s1/c5",
    }.items():
        page.keyboard.press("/")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(re.escape(hash_) + "$"))
        settled(page)
    page.evaluate("location.hash = '#/at/u-trn2x64/d0/s1/c5'")
    settled(page)
    expect(page.get_by_role("region", name="Links", exact=True)).to_contain_text("128 GB/s")
    page.get_by_role("link", name="Show in wiring").click()
    page.wait_for_url(re.compile(r"#/domain/u-trn2x64/d0\?sel=s1/c5"))
    expect(page.get_by_role("complementary")).to_contain_text("Trainium2")
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("complementary")).to_have_count(0)


@pytest.mark.slow
def test_the_theme_is_kept(opened: Open) -> None:
    page = opened()
    for theme, paper in {"light": "rgb(246, 247, 249)", "dark": "rgb(14, 17, 22)"}.items():
        page.get_by_role("button", name=re.compile("^Theme")).click()
        expect(page.get_by_role("button", name=f"Theme: {theme}")).to_be_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()


@pytest.mark.slow
def test_an_empty_database_says_how_to_begin(watched: Watched, databases: Databases) -> None:
    with forked_service(databases.migrated("sqlite")) as empty:
        page = watched.open(url=empty)
        page.get_by_role("button", name="Copy trninv seed u-trn2x64").click()
        copies(page, "^trninv seed u-trn2x64$")
        page.get_by_role("link", name="Incidents").click()
        expect(page.locator("article.incidents").get_by_role("region", name="Get started")).to_be_visible()
        watched.close()  # before what it listens to


@pytest.mark.slow
def test_the_past_says_what_has_changed_since_then_and_where(opened: Open) -> None:
    page = opened("#/?asof=0")
    past = page.get_by_role("region", name="The past")
    for at, says in {
        "#/?asof=0": "1 change since then.",
        "#/domain/trn3-gen2/d0?asof=0": "1 change here since then.",
        "#/domain/u-trn2x64/d0?asof=0": "No changes here since then.",
        "#/domain/trn3-gen2/d0?asof=1": "No changes here since then.",
    }.items():
        page.evaluate("to => { location.hash = to }", at)
        expect(past).to_contain_text(says)
    page.evaluate("location.hash = '#/?asof=0'")
    past.get_by_text("Show changes").click()
    expect(past.get_by_role("listitem")).to_contain_text(re.compile(rf"{SWITCH} up → down.*m\.chen"))
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
