"""States set in the explorer: by keys alone, with what it would change, never over somebody else's change, and back."""

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, Page, Request, expect
from sqlalchemy import text

from browsing import Open, Watched, documented, settled, violations
from conftest import Databases
from forking import forked_service
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.inventory.access.bearer_tokens import create_token
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.service.explorer import WEB_DIRECTORY

D = "u-trn2x64/d0"
WHY = "row remap failed twice, ticket 4719"
CHUNK = 12_000
"""Bytes of the dialog, compressed."""


def setting(url: str, address: str, state: str, factor: float | None = None, why: str = "before") -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [address], Condition.from_user(state, factor), why=why, who="m.chen")


def asked(url: str, query: str) -> list[tuple[object, ...]]:
    with temporary_engine(url) as engine, read_transaction(engine) as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def states(url: str) -> dict[str, object]:
    """Of all servers, chips and links that are not up; of what is degraded the part that it carries."""
    query = "SELECT address, state, factor FROM {} WHERE state <> 'up'"
    found = (asked(url, query.format(view)) for view in ("v_server", "v_chip", "v_link"))
    return {str(address): factor or state for rows in found for address, state, factor in rows}


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """An UltraServer with a job, a chip that is down and another one that is half as wide."""
    url = databases.migrated("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64"))
        allocate(connection, "dpo-sweep", [f"{D}/s0/c1", f"{D}/s0/c2"], who="tests")
    setting(url, f"{D}/s1/c5", "down", why="HBM errors, ticket 4711")
    setting(url, f"{D}/s2/c1", "degraded", 0.5)
    return url


@contextmanager
def guarded(watched: Watched, url: str, at: str, scope: str, scheme: str = "light") -> Iterator[Page]:
    """A page of a service that asks for tokens, with one of a scope."""
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        token = create_token(connection, f"{scope}-{scheme}", scope, None)
    with forked_service(url, TRNINV_AUTH="tokens") as address:
        page = watched.open(at, url=address, scheme=scheme)
        page.get_by_label(re.compile("requires a token")).first.fill(token)
        page.get_by_role("button", name="Use token").first.click()
        settled(page)
        yield page
        watched.close()
    assert all("401" in each for each in watched.said)
    watched.said.clear()


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Set state")


def previewed(page: Page) -> Locator:
    """What it would change, once that is computed."""
    would = dialog(page).get_by_label("What this would change")
    expect(would).to_be_visible()
    settled(page)
    expect(would.get_by_text("Computing…")).to_have_count(0)
    return would


def sent(page: Page) -> list[str]:
    """The changes that the page asks for from now on."""
    found = list[str]()

    def note(request: Request) -> None:
        if "mutation Set(" in (request.post_data or ""):
            found.append(request.url)

    page.on("request", note)
    return found


def by_keys(page: Page, url: str, chip: str, who: str) -> None:
    """Palette, chip, From, To, suppose down, read, set, undo: no mouse."""

    def find(typed: str) -> None:
        page.keyboard.press("/")
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"sel={typed.removeprefix(D + '/')}"))
        settled(page)

    was = states(url)
    find(f"{D}/s0/c0")
    page.keyboard.press("f")
    find("s2/c10")
    page.keyboard.press("t")
    find(chip)
    page.keyboard.press("d")
    expect(page.locator(".answers")).to_contain_text(re.compile(r"Maximum flow[, a-z]*640( GB/s)? → 512 GB/s"))
    page.keyboard.press("s")
    expect(page.locator("[name=why]")).to_be_focused()
    would = previewed(page)
    bisection = "1,952 → 1,888 GB/snot comparable: 62 chips are halved instead of 63"
    for says in ("63 → 62", "7 → 14", bisection, "640 → 512 GB/s−20 %", "job dpo-sweep uses 1 of these chips"):
        expect(would).to_contain_text(says)
    page.keyboard.type(WHY)
    if not who:
        page.keyboard.press("Tab")
        page.keyboard.type("j.ortiz")
    for _ in range(12):  # the focus goes round within the dialog
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.locator("[name=why]").focus()
    page.keyboard.press("Enter")
    expect(dialog(page)).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="1 chip set to down")).to_be_visible()
    assert states(url) == {**was, f"{D}/{chip}": "down"}
    expect(page.get_by_role("complementary", name=f"About {D}/{chip}")).to_contain_text(WHY)
    page.keyboard.press("Control+z")
    expect(page.get_by_role("status").filter(has_text="Undone")).to_be_visible()
    assert states(url) == was
    last = asked(url, "SELECT who, why, state FROM state_event ORDER BY id DESC LIMIT 2")
    assert last == [(who or "j.ortiz", f"undone: {WHY}", "up"), (who or "j.ortiz", WHY, "down")]


@pytest.mark.slow
def test_a_chip_is_set_down_and_back_by_keys_alone(opened: Open, service_database: str) -> None:
    page = opened()
    page.evaluate("""() => {
        const undone = ({ data }) => JSON.parse(data).why.startsWith("undone")
        window.told = new Promise((told) =>
            new EventSource("changes").addEventListener("chip", (event) => undone(event) && told()))
    }""")
    by_keys(page, service_database, "s0/c1", "")
    page.evaluate("window.told")
    expect(page.get_by_text("item changed")).to_have_count(0)  # of what it changed itself


@pytest.mark.slow
def test_the_key_of_undo_is_heard_as_soon_as_it_is_offered(opened: Open, service_database: str) -> None:
    was = states(service_database)
    page = opened(f"#/domain/{D}?sel=s3/c7")
    page.evaluate("""() => new MutationObserver((_, seen) => {
        if (!document.querySelector(".toast [aria-keyshortcuts='Control+Z']")) return
        seen.disconnect()
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "z", ctrlKey: true, bubbles: true }))
    }).observe(document.body, { childList: true, subtree: true })""")
    page.get_by_role("button", name="Set state…").click()
    page.locator("[name=why]").fill(WHY)
    dialog(page).locator("[name=who]").fill("j.ortiz")
    page.get_by_role("button", name="Set 1 chip to down").click()
    expect(page.get_by_role("status").filter(has_text="Undone")).to_be_visible()
    assert states(service_database) == was


@pytest.mark.slow
def test_with_a_token_the_change_is_its_own(watched: Watched, service_database: str) -> None:
    with guarded(watched, service_database, "#/", "operate", "dark") as page:
        by_keys(page, service_database, "s0/c1", "operate-dark")


@pytest.mark.slow
def test_who_may_only_read_has_no_control_that_writes(watched: Watched, service_database: str) -> None:
    with guarded(watched, service_database, f"#/domain/{D}?sel=s1/c5", "read") as page:
        panel = page.get_by_role("complementary", name=f"About {D}/s1/c5")
        expect(panel).to_contain_text("requires a token with scope operate. read-light has scope read")
        expect(panel.get_by_role("link", name="Path from it")).to_be_visible()
        page.keyboard.press("s")
        page.keyboard.press("/")
        page.keyboard.type("s1/c6")
        expect(page.get_by_role("option", name="Path from s1/c6 to …")).to_be_visible()
        expect(page.get_by_role("option", name=re.compile("Set state"))).to_have_count(0)
        page.keyboard.press("Escape")
        page.evaluate("location.hash = '#/incidents'")
        settled(page)
        page.locator("td", has_text="ticket 4711").locator("..").get_by_role("link").first.click()
        expect(page.get_by_text("requires a token with scope operate")).to_be_visible()
        assert page.locator("[data-writes], dialog").count() == 0


@pytest.mark.slow
def test_nothing_of_the_past_can_be_changed(opened: Open) -> None:
    page = opened(f"#/domain/{D}?sel=s1/c5")
    expect(page.locator("[data-writes]")).to_have_count(1)
    for address in [*documented(), f"#/domain/{D}?sel=s1/c5", f"#/at/{D}/s1/c5"]:
        at = address.replace("trn3-gen1", "u-trn2x64")
        page.evaluate("to => { location.hash = to }", f"{at}{'&' if '?' in at else '?'}asof=1")
        settled(page)
        expect(page.locator(".bygone")).to_be_visible()
        page.keyboard.press("s")
        page.keyboard.press("/")
        page.keyboard.type("u-trn2x64/d0/s1/c6")
        expect(page.locator("dialog [role=option]").first).to_contain_text("s1/c6")
        assert page.locator("[data-writes], dialog.change").count() == 0, address
        expect(page.get_by_role("option", name=re.compile("Set state"))).to_have_count(0)
        page.keyboard.press("Escape")


@pytest.mark.slow
def test_what_somebody_else_has_changed_is_shown_and_asked_again(opened: Open, service_database: str) -> None:
    page = opened(f"#/domain/{D}?sel=s3/c3")
    page.keyboard.press("s")
    previewed(page)
    page.locator("[name=why]").fill(WHY)
    dialog(page).locator("[name=who]").fill("j.ortiz")
    setting(service_database, f"{D}/s3/c3", "maintenance", why="<b>fans</b>")
    page.get_by_role("button", name="Set 1 chip to down").click()
    alert = dialog(page).get_by_role("alert")
    expect(alert).to_contain_text("was up, now in maintenance")
    expect(alert).to_contain_text("m.chen: <b>fans</b>")
    assert alert.count() == 1
    assert states(service_database)[f"{D}/s3/c3"] == "maintenance"
    asked_for = sent(page)
    page.get_by_role("button", name="Set 1 chip to down").click()  # not before that is agreed to
    page.get_by_label("Set anyway").check()
    page.get_by_role("button", name="Set 1 chip to down").click()
    expect(dialog(page)).to_have_count(0)
    assert len(asked_for) == 1
    assert states(service_database)[f"{D}/s3/c3"] == "down"
    setting(service_database, f"{D}/s3/c3", "up")
    page.get_by_role("button", name="Undo Ctrl Z").click()
    expect(page.get_by_role("status").filter(has_text=re.compile("Undo failed: .*down to up"))).to_be_visible()
    assert f"{D}/s3/c3" not in states(service_database)


def accessible(page: Page) -> None:
    """Whoever sees a page can use it, in both color schemes; it is in light ones again afterwards."""
    assert violations(page, "wcag2a", "wcag2aa", "wcag21aa") == ""
    page.emulate_media(color_scheme="dark")
    assert violations(page, "color-contrast") == ""
    page.emulate_media(color_scheme="light")


@pytest.mark.slow
def test_many_chips_take_their_number_and_come_back_as_they_were(opened: Open, service_database: str) -> None:
    was = states(service_database)
    page = opened(f"#/at/{D}/s2")
    page.get_by_role("button", name="Set state…").click()
    previewed(page)
    page.get_by_role("button", name="+ Add").click()
    page.keyboard.type(f"{D}/s9")
    page.keyboard.press("Enter")
    expect(dialog(page).get_by_role("alert")).to_contain_text("no u-trn2x64/d0/s9")
    page.get_by_role("button", name=f"Remove {D}/s9").click()
    expect(dialog(page).get_by_role("alert")).to_have_count(0)
    for address in (f"{D}/s3", f"{D}/s2/c1", f"{D}/s0/c0--{D}/s0/c1"):
        previewed(page)
        page.get_by_role("button", name="+ Add").click()
        page.keyboard.type(address)
        page.keyboard.press("Enter")
    page.get_by_role("radio", name="maintenance").check()
    button = page.get_by_role("button", name="Set 2 servers, 1 chip, 1 link to maintenance")
    expect(button).to_be_enabled()
    expect(previewed(page)).to_contain_text("→")
    accessible(page)
    page.locator("[name=why]").fill(WHY)
    dialog(page).locator("[name=who]").fill("j.ortiz")
    asked_for = sent(page)
    for typed in ("", "31", "32"):
        page.get_by_label("Type the number to confirm").fill(typed)
        button.click()
    expect(dialog(page)).to_have_count(0)
    assert len(asked_for) == 1
    assert len(states(service_database)) > 34
    accessible(page)
    page.get_by_role("button", name="Undo Ctrl Z").click()
    expect(page.get_by_role("status").filter(has_text="Undone")).to_be_visible()
    assert states(service_database) == was


@pytest.mark.slow
def test_a_panel_asks_about_its_chip_and_the_palette_sets_its_state(opened: Open) -> None:
    page = opened(f"#/domain/{D}?sel=s0/c0")
    for chip, name in (
        ("s0/c0", "Path from it"),
        ("s2/c10", "Path to it"),
        ("s0/c1", "What if down?"),
        ("s0/c1", "Remove from scenario"),
    ):
        page.evaluate("to => { location.hash = location.hash.replace(/sel=[^&]*/, `sel=${to}`) }", chip)
        panel = page.get_by_role("complementary", name=f"About {D}/{chip}")
        panel.get_by_role("link", name=name, exact=True).click()
        settled(page)
        flow = re.compile(r"640( GB/s)? → 512 GB/s" if name == "What if down?" else r"640 GB/s\s*$")
        if chip != "s0/c0":
            expect(page.locator(".figures div", has_text="Maximum flow").first).to_have_text(flow)
    page.keyboard.press("/")
    page.keyboard.type("set state")
    page.get_by_role("option", name=f"Set state of {D}/s0/c1…").click()
    expect(page.get_by_role("radio", name="down")).to_be_checked()
    previewed(page)
    page.get_by_role("button", name="+ Add").click()
    expect(dialog(page).get_by_label("Another address")).to_be_focused()
    page.keyboard.type("x")
    page.keyboard.press("Escape")
    expect(dialog(page)).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type(f"{D}/s1/c5")
    page.get_by_role("option", name=f"Set state of {D}/s1/c5…").click()
    expect(page.get_by_role("radio", name="up")).to_be_checked()
    assert violations(page) == ""


@pytest.mark.slow
def test_an_incident_is_brought_back_with_a_reason(opened: Open, service_database: str) -> None:
    page = opened("#/incidents")
    page.locator("td", has_text="ticket 4711").locator("..").get_by_role("link").first.click()
    page.get_by_role("button", name="Restore…").click()
    expect(previewed(page)).to_contain_text(re.compile(r"Working chips in u-trn2x64/d0\s*63 → 64"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Restore…")).to_be_focused()
    page.keyboard.press("Enter")
    asked_for = sent(page)
    page.get_by_role("button", name="Set 1 chip to up").click()  # without a reason nothing is set
    dialog(page).locator("[name=why]").fill("replaced")
    dialog(page).locator("[name=who]").fill("j.ortiz")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="1 chip set to up")).to_be_visible()
    assert len(asked_for) == 1
    assert f"{D}/s1/c5" not in states(service_database)
    setting(service_database, f"{D}/s1/c5", "down", why="HBM errors, ticket 4711")


def test_the_dialog_is_a_chunk_of_its_own() -> None:
    files = [WEB_DIRECTORY / "assets" / name for name in ("setstate.js", "confirmation.js", "confirmation.css")]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < CHUNK
    assert "confirmation.css" not in (WEB_DIRECTORY / "index.html").read_text()
