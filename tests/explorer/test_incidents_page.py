"""The page of incidents: the tree below a root cause, the time around it, and what it says when nothing is open."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import Open, Watched, Window, settled, violations
from conftest import Databases
from forking import forked_service
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate

pytestmark = pytest.mark.slow

SWITCH, SERVER, CHIP = "trn3-gen2/d0/sw37", "u-trn2x64/d0/s2", "trn2-16.48xlarge/d0/s0/c1"
CUBE = 64
"""Chips of an UltraServer of four servers, a torus of 4 × 4 × 4."""
LINKS = 16 * 2 + 16 * 2 + 16
"""Of one of its servers: within it, to the one before and the one after, and to the fabric."""


def change(url: str, address: str, state: str, why: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [address], Condition.from_user(state, None), why=why, who="m.chen")


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """A switch, a server and a chip down; one job at the switch's links, one beside them, one on the server."""
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        allocate(connection, "serve-eu", ["trn3-gen2/d0/s18", "trn3-gen2/d0/s19"], who="tests")
        allocate(connection, "sweep", ["trn3-gen2/d0/s0"], who="tests")
        allocate(connection, "llama-ft", [SERVER], who="tests")
    for address in (SWITCH, SERVER, CHIP):
        change(url, address, "down", f"why {address}")
    return url


def panel(page: Page, cause: str) -> Locator:
    page.locator("table.pick").get_by_role("link", name=cause).click()
    found = page.get_by_role("complementary", name=re.compile("Incident"))
    expect(found).to_contain_text(f"why {cause}")
    settled(page)
    return found


def test_the_tree_says_what_carries_nothing_and_what_is_reached_and_the_head_whose_job_is_hit(opened: Open) -> None:
    page = opened("#/incidents")
    expect(page.locator("header.title")).to_contain_text("3 open: 1 server, 17 chips, 1 switch, 16 NICs down")
    for cause, jobs, says in (
        (SWITCH, r"Jobs hit\s+serve-eu(?!.*sweep)", ["72 links idle", "144 of 144 chips still reachable"]),
        (
            SERVER,
            r"Jobs hit\s+llama-ft, 16 of ",
            [f"{LINKS} links idle", f"{CUBE - 16} of {CUBE} chips still reachable"],
        ),
        (CHIP, r"Jobs hit\s+none", ["5 links idle", "15 of 16 chips still reachable"]),
    ):
        found = panel(page, cause)
        for text in says:
            expect(found.locator(".tree").first).to_contain_text(text)
        expect(found.locator(".summary")).to_contain_text(re.compile(jobs, re.DOTALL), use_inner_text=True)
        expect(found.locator(".tree").first).not_to_contain_text(re.compile("job", re.IGNORECASE))


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_an_incident_says_first_which_parts_since_when_whose_jobs_and_what_is_lost(
    opened: Open, width: int, height: int
) -> None:
    page = opened("#/incidents", width=width, height=height)
    found = panel(page, SERVER)
    expect(found.locator(".band span")).to_have_text(
        [re.compile(r"^since \d{4}-\d\d-\d\d \d\d:\d\d UTC, \d+ (s|min)"), "set by m.chen"]
    )
    summary = found.locator(".summary div")
    expect(summary).to_have_text(
        [
            "Parts1 server, 16 chips, 16 NICs down",
            re.compile(r"Jobs hitllama-ft, 16 of \d+ chips"),
            re.compile(r"Lost16 chips, [\d,]+ GB/s of NeuronLinks and EFA links"),
        ]
    )
    expect(found.get_by_role("heading").first).to_contain_text("Incident 5")
    for name in ("Restore…", "Add a note"):
        expect(found.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    row = page.locator("table.pick tbody tr", has_text=SERVER)
    assert row.locator(".id").inner_text() == "5"
    columns = page.locator("table.pick").first
    assert columns.evaluate("table => table.parentElement.scrollWidth - table.parentElement.clientWidth") <= 0
    found.get_by_role("link", name="Where can it go?").click()
    page.wait_for_url(re.compile(r"#/jobs\?"))
    expect(page.get_by_role("region", name="Drain impact")).to_contain_text("llama-ft")


def rows(page: Page) -> list[str]:
    return page.locator("table.pick tbody tr:not(.total)").all_inner_texts()


def test_the_worst_loss_is_first_and_what_is_searched_is_what_is_saved(opened: Open) -> None:
    page = opened("#/incidents")
    shown = rows(page)
    assert [next(place for place in (SERVER, CHIP, SWITCH) if place in row) for row in shown] == [SWITCH, SERVER, CHIP]
    assert re.search(r"16\s+6,144\s+llama-ft", shown[1])
    expect(page.locator("tr.total")).to_contain_text(re.compile(r"17\s*29,696\s*2 jobs"))
    page.get_by_label("Search").fill("LLAMA")
    page.get_by_label("Search").press("Enter")
    expect(page.locator("table.pick tbody tr:not(.total)")).to_have_count(1)
    assert "where=LLAMA" in page.url
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    header, row = csv.reader(io.StringIO(download.value.path().read_text()))
    assert dict(zip(header, row, strict=True)).items() >= {
        ("place", SERVER),
        ("chips_lost", "16"),
        ("gb_per_s_lost", "6144"),
        ("jobs", "llama-ft"),
    }
    page.get_by_label("Severity").select_option("low")
    expect(page.get_by_text("No incident matches.")).to_be_visible()
    page.get_by_role("button", name="Clear filters").click()
    expect(page.locator("table.pick tbody tr:not(.total)")).to_have_count(3)


def test_what_is_below_the_cause_does_not_move_as_time_passes(watched: Watched, window: Window) -> None:
    tops = []
    for later in (timedelta(seconds=2), timedelta(hours=23, minutes=59)):
        window.take().clock.set_fixed_time(datetime.now(UTC) + later)
        below = panel(watched.open("#/incidents", width=1200), CHIP).locator(".band + *")
        tops.append(below.evaluate("element => element.getBoundingClientRect().top"))
        watched.close()
    assert tops[0] == tops[1]


def test_a_ticket_is_not_broken_over_lines(watched: Watched, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    change(url, CHIP, "down", "no power at all in two racks, ticket OPS-123, OPS-456, OPS-789, waits for DC-12")
    with forked_service(url) as address:
        page = watched.open("#/incidents?sel=1", url=address, width=390, height=844)
        tickets = page.locator("main .nowrap", has_text=re.compile(r"^(OPS|DC)-\d+$"))
        expect(tickets).to_have_count(8)  # of the list and of the panel
        assert set(tickets.evaluate_all("all => all.map(each => each.getClientRects().length)")) == {1}
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        row = page.locator(".pick tbody tr").first  # nothing of it is cut
        assert page.locator(".list .scroll").evaluate("each => each.scrollWidth <= each.clientWidth")
        assert row.locator(".why").evaluate("each => each.scrollWidth <= each.clientWidth")
        expect(row.locator(".number").first).to_be_visible()
        watched.close()


def test_a_note_is_added_and_kept_also_of_one_that_has_closed(watched: Watched, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    change(url, CHIP, "down", "hot, ticket 12")
    with forked_service(url) as address:
        page = watched.open("#/incidents?sel=1", url=address)
        notes = page.get_by_role("region", name="Notes")
        expect(notes).to_contain_text("No notes yet.")
        page.get_by_role("button", name="Add a note").click()
        expect(notes.get_by_label("Note", exact=True)).to_be_focused()
        opened_at = page.locator("table.pick .when time").get_attribute("datetime")
        notes.get_by_label("Note", exact=True).fill("<b>spare</b>\nordered")
        notes.get_by_label("Your name").fill("kim")
        notes.get_by_role("button", name="Add note").click()
        expect(notes).to_contain_text(re.compile(r"kim \d{4}-\d\d-\d\d \d\d:\d\d UTC <b>spare</b> ordered"))
        expect(notes.get_by_label("Note", exact=True)).to_have_value("")
        assert violations(page) == ""
        change(url, CHIP, "up", "swapped")
        page.goto(f"{address}/#/incidents")
        page.reload()
        expect(page.get_by_text("No open incidents")).to_be_visible()
        page.get_by_text("Closed 1", exact=True).click()
        since, closed = page.get_by_role("table").locator(".when time").all()
        assert str(since.get_attribute("datetime")) < str(closed.get_attribute("datetime"))
        assert since.get_attribute("datetime") == opened_at
        page.get_by_role("table").get_by_role("link", name=CHIP).click()
        panel = page.get_by_role("complementary", name="Incident 1")
        expect(panel).to_contain_text(re.compile(r"hot, ticket 12.*m\.chen.*swapped", re.DOTALL))
        expect(panel.locator(".summary")).to_contain_text(
            re.compile(r"Parts1 chip down.*Jobs hitnone.*Lost1 chip, \d+ GB/s of NeuronLinks")
        )
        expect(panel.get_by_role("region", name="Notes")).to_contain_text("kim")
        watched.close()


def test_the_timeline_and_before_it_lead_to_how_it_was(opened: Open) -> None:
    page = opened("#/incidents")
    expect(page.get_by_role("region", name="Timeline").get_by_role("link").first).to_be_visible()
    since = panel(page, SWITCH).locator(".band time").get_attribute("datetime")
    assert since
    page.get_by_role("link", name="View before").click()
    page.wait_for_url(re.compile(r"asof="))
    asof = re.search(r"T(\d\d:\d\d:\d\d)", page.evaluate("decodeURIComponent(location.hash)"))
    assert asof
    assert asof[1] < re.findall(r"\d\d:\d\d:\d\d", since)[0]
    expect(page.locator(".clock")).to_have_class(re.compile("past"))
    assert page.get_by_role("button", name=re.compile("Restore")).count() == 0
    page.evaluate("location.hash = '#/incidents' + location.hash.slice(location.hash.indexOf('?'))")
    settled(page)
    assert page.locator("table.pick", has_text=SWITCH).count() == 0


def test_a_domain_has_its_own_timeline(opened: Open) -> None:
    page = opened("#/domain/u-trn2x64/d0")
    marks = page.get_by_role("region", name="Timeline").get_by_role("link")
    expect(marks).to_have_count(1)
    expect(marks).to_have_accessible_name(re.compile(f"{SERVER}: up → down.*why {SERVER}"))
    marks.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("#/domain/u-trn2x64/d0.*asof="))
    expect(page.locator(".clock")).to_have_class(re.compile("past"))


def test_when_nothing_is_open_the_last_one_that_closed_is_named(watched: Watched, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    change(url, CHIP, "down", "hot")
    change(url, CHIP, "up", "swapped")
    with forked_service(url) as short:
        page = watched.open("#/incidents", url=short)
        card = page.locator(".card", has_text="No open incidents")
        expect(card).to_contain_text(re.compile(rf"Last resolved: {CHIP}, \d{{4}}-.*m\.chen: swapped"))
        watched.close()
