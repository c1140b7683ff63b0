"""What the palette finds: sixteen things that people type, with and without typing errors, and the times they mean."""

import re

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import insert, select

import trninv
from browsing import Open, settled
from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.bindings import ProposedBinding, bind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate

READ_AT, LATE_AT = "2026-01-01T00:00:00Z", "2026-01-01T00:02:00Z"
HOST = "ip-10-4-1-17"
FINDS = {
    "4711": ("prod-a/d1/s0/c5", r"#/incidents\?sel="),
    "4699": ("prod-a/d2/s1/c4", "#/at/prod-a/d2/s1/c4"),  # of a closed incident
    "uncorrectable": ("HBM uncorrectable errors, ticket 4711", r"#/incidents\?sel="),
    "uncorectable": ("HBM uncorrectable errors, ticket 4711", r"#/incidents\?sel="),
    "help": ("Documentation", "/docs/$"),
    "docs": ("Documentation", "/docs/$"),
    "drain": ("Plan a drain…", None),
    "csv": ("Download CSV", "#/reports"),
    "set state": ("Set state…", None),
    "yesterday 14:00": ("14:00:00 UTC", "asof=20..-..-..T14%3A00%3A00Z"),
    "prod a": ("prod-a", "#/cluster/prod-a"),
    "d7 s2": ("prod-a/d7/s2", r"#/domain/prod-a/d7\?sel=s2"),
    "prod a d7 s2": ("prod-a/d7/s2", r"#/domain/prod-a/d7\?sel=s2"),
    "what is down": ("prod-a/d1/s0/c5", r"#/incidents\?sel="),
    HOST: (HOST, r"#/domain/prod-a/d1\?sel=s0"),
    "llama": ("llama-ft", r"#/jobs\?sel=llama-ft"),
    "lama-ft": ("llama-ft", r"#/jobs\?sel=llama-ft"),
    "capacity": ("Capacity", "#/reports/capacity"),
    "rack 3": ("prod-a/r3", "#/rack/prod-a/r3"),
    "dark": ("Theme: dark", None),
}


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """Eight UltraServers with a host, a job, an open and a closed incident."""
    url = databases.migrated("sqlite")
    with temporary_engine(url) as engine:
        with write_transaction(engine) as connection:
            system = default_systems().get("u-trn2x64").resized(8)
            cluster_seeding.seed(connection, default_catalog(), system, name="prod-a")
            server = TABLES["server"]
            first = connection.scalars(select(server.c.id).order_by(server.c.id).limit(5)).all()[4]
            bind(
                connection,
                [ProposedBinding(first, "prod-a/d1/s0", "i-0123456789abcdef0", HOST, "pin", "certain")],
                who="tests",
            )
            allocate(connection, "llama-ft", ["prod-a/d3"], who="tests")
            connection.execute(
                insert(TABLES["discovery"]),
                {
                    "id": 1,
                    "target": "aws:us-east-2",
                    "every_seconds": 60,
                    **dict.fromkeys(("started_at", "read_at"), READ_AT),
                }
                | {"late_at": LATE_AT, "clusters": "prod-a"},
            )
        for part, state, why in [
            ("prod-a/d2/s1/c4", "down", "PCIe link lost, ticket 4699"),
            ("prod-a/d2/s1/c4", "up", "replaced"),
            ("prod-a/d1/s0/c5", "down", "HBM uncorrectable errors, ticket 4711"),
        ]:
            with write_transaction(engine) as connection:
                set_state(connection, [part], Condition.from_user(state, None), why=why, who="tests")
    return url


def typed(page: Page, text: str) -> None:
    page.keyboard.press("Control+k")
    page.locator("dialog input").fill(text)
    expect(page.locator("#options[aria-busy=false]"), text).to_be_visible()


@pytest.mark.slow
def test_it_finds_what_people_type(opened: Open) -> None:
    page = opened("#/sources")
    for text, (name, leads) in FINDS.items():
        typed(page, text)
        first = page.locator("dialog [role=option][aria-selected=true]")
        expect(first).to_contain_text(name)
        if leads is None or leads == "/docs/$":
            page.keyboard.press("Escape")
            continue
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(leads))
        page.evaluate("location.hash = '#/sources'")
    for text, leads in {
        "upgrade": "/docs/how-to/(deploy|operations).html#upgrade$",
        "reservation": "/docs/how-to/hand-to-a-scheduler.html#reservations$",
        "reserve chips": "/docs/placement.html#reserve-chips-for-later$",
    }.items():
        typed(page, text)
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(leads))
        expect(page.locator("h2:target")).to_be_visible()
        page = opened("#/sources")
    for text, path, heading in (  # sections that name a command
        ("drain", "placement", "Take a server out of service"),
        ("reservation", "placement", "Reserve chips for later"),
    ):
        typed(page, text)
        docs = page.get_by_role("group", name="Docs").get_by_role("option", name=heading)
        expect(docs).to_contain_text(path)
        page.keyboard.press("Escape")
    typed(page, "glossary")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/docs/explanation/glossary.html$"))
    expect(page.locator("h1").first).to_be_visible()  # an error would be JSON


@pytest.mark.slow
def test_an_incident_is_found_by_its_number(opened: Open, service_database: str) -> None:
    with trninv.open(service_database) as fleet:
        (incident,), (closed,) = fleet.incidents(), fleet.closed_incidents()
    page = opened("#/sources")
    for number, group, place in (
        (incident.id, "Open incidents", "prod-a/d1/s0/c5"),
        (closed.id, "Closed incidents", "prod-a/d2/s1/c4"),
    ):
        for text in (number, f"incident {number}"):
            typed(page, text)
            expect(page.get_by_role("group", name=group).get_by_role("option")).to_contain_text(place)
            page.keyboard.press("Enter")
            expect(page).to_have_url(re.compile(rf"#/incidents\?sel={number}$"))
            expect(page.get_by_role("complementary", name=f"Incident {number}")).to_contain_text(place)
            page.evaluate("location.hash = '#/sources'")


@pytest.mark.slow
def test_fleet_says_which_source_is_late(opened: Open) -> None:
    page = opened()
    page.clock.set_fixed_time("2025-01-01T00:00:00Z")  # the service's clock counts
    page.reload()
    expect(page.locator(".tiles .warned")).to_contain_text("aws:us-east-2: late, ")
    row = page.locator("tr", has=page.get_by_role("link", name=re.compile("^prod-a( |$)")))
    expect(row).to_contain_text("late, 1 of 32 bound")
    expect(row.locator(".cluster-miniature rect.down")).to_have_count(1)
    bottom = "all => all.map(each => each.getBoundingClientRect().bottom)"
    ends, texts = (page.locator(at).evaluate_all(bottom) for at in (".tile", ".tile > :last-child"))
    assert max(end - text for end, text in zip(ends, texts, strict=True)) < 70  # pixels below what a tile says
    expect(page.locator(".tile").nth(2)).to_contain_text("no job hit")


@pytest.mark.slow
def test_sources_begin_with_what_is_late(opened: Open) -> None:
    page = opened("#/sources")
    row = page.get_by_role("region", name="What feeds the inventory").locator("tbody tr")
    expect(row).to_have_text(re.compile(r"aws:us-east-2\s*late\s*[\d,]+ d ago\s*every 1 min\s*prod-a"))
    expect(row.get_by_role("link")).to_have_attribute("href", "#/cluster/prod-a")


@pytest.mark.slow
def test_an_errand_asks_for_its_place(opened: Open) -> None:
    page = opened()
    typed(page, "drain")
    page.keyboard.press("Enter")
    expect(page.locator("dialog input")).to_have_attribute("placeholder", re.compile("Which place"))
    page.keyboard.type("d7 s2")
    expect(page.locator("dialog [role=option][aria-selected=true]")).to_contain_text("prod-a/d7/s2")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#/jobs\?in=prod-a&drain=prod-a/d7/s2"))
    settled(page)
    typed(page, "set state")
    page.keyboard.press("Enter")
    page.keyboard.type("prod-a/d1/s0/c5")
    expect(page.locator("dialog [role=option][aria-selected=true]")).to_contain_text("prod-a/d1/s0/c5")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name=re.compile("state"))).to_be_visible()


TIMES = {
    "yesterday 14:00": "2026-11-27T14:00:00.000Z",
    "yesterday at 14:00 UTC": "2026-11-27T14:00:00.000Z",
    "yesterdya 14:00": "2026-11-27T14:00:00.000Z",
    "yesterday": "2026-11-27T00:00:00.000Z",
    "09:30": "2026-11-28T09:30:00.000Z",
    "09:31": "2026-11-27T09:31:00.000Z",
    "saturday 10:00": "2026-11-21T10:00:00.000Z",
    "friday 10:00": "2026-11-27T10:00:00.000Z",
    "2026-11-22 4:05:06": "2026-11-22T04:05:06.000Z",
    "2026-11-22T04:05": "2026-11-22T04:05:00.000Z",
    "3 h ago": "2026-11-28T06:30:00.000Z",
    "an hour ago": "2026-11-28T08:30:00.000Z",
    "2026-11-29": None,
    "2026-02-30": None,
    "today 10:00": None,
    "25:00": None,
    "4711": None,
    "s1/c5": None,
}


@pytest.mark.slow
def test_a_time_is_the_last_one_of_that_name(opened: Open) -> None:
    page = opened("#/sources")
    page.clock.set_fixed_time("2026-11-28T09:30:00Z")  # a Saturday
    for text, meant in TIMES.items():
        page.keyboard.press("Control+k")
        page.locator("dialog input").fill(text)
        option = page.locator("dialog [role=option]", has_text="this page at that time")
        if meant is None:
            expect(page.locator("#options[aria-busy=false], .none:not(:empty)").first).to_be_attached()
            expect(option).to_have_count(0)
        else:
            expect(option).to_contain_text(f"As of {meant[:10]} {meant[11:19]} UTC")
        page.keyboard.press("Escape")
