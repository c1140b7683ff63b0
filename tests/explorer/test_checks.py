"""What the explorer says of each kind of part that is not up, wherever it says so."""

import re

import pytest
from playwright.sync_api import Route, expect

import trninv
from browsing import Open, settled
from conftest import Databases
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

pytestmark = pytest.mark.slow

PARTS = {
    "link": "trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1",
    "NIC": "trn2-16.48xlarge/d0/s0/efa3",
    "server": "trn3-gen1/d0/s2",
    "switch": "trn3-gen2/d0/sw37",
    "chip": "u-trn2x64/d0/s1/c5",
}
"""A part of each kind, each in a cluster of its own."""


def why(kind: str) -> str:
    return f"the {kind} of ticket 4711"


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """Small systems, of each of which one part is down."""
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine:
        for kind, address in PARTS.items():
            with write_transaction(engine) as connection:
                set_state(
                    connection, [address], Condition.from_user("down", None), why=why(kind), who=f"keeper-of-{kind}"
                )
    return url


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_that_is_down_is_named_with_reason_who_and_since(opened: Open, kind: str) -> None:
    says: list[str | re.Pattern[str]] = [why(kind), f"keeper-of-{kind}", re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")]
    page = opened()
    cluster = PARTS[kind].split("/", maxsplit=1)[0]
    row = page.locator("tr", has=page.get_by_role("link", name=re.compile(rf"^{cluster}( |$)")))
    one_down = re.compile(rf"1 {kind}\b.* down")
    expect(row).to_contain_text(one_down)
    expect(row).not_to_contain_text("all up")
    expect(page.locator(".tiles")).not_to_contain_text("all up")
    page.evaluate("to => { location.hash = to }", f"#/compare?of={cluster}")
    expect(page.get_by_role("columnheader", name=cluster)).to_contain_text(one_down)
    page.evaluate("to => { location.hash = to }", f"#/at/{PARTS[kind]}")
    settled(page)
    for text in says:
        expect(page.locator("main")).to_contain_text(text)
    page.evaluate("location.hash = '#/incidents'")
    settled(page)
    page.locator("tr", has_text=why(kind)).get_by_role("link").first.click()
    for text in says:
        expect(page.get_by_role("complementary", name=re.compile("Incident"))).to_contain_text(text)
    page.evaluate("location.hash = '#/reports/unhealthy'")
    settled(page)
    line = page.locator("tbody tr", has_text=why(kind)).first
    for text in says[:2]:
        expect(line).to_contain_text(text)
    expect(line.locator("time")).to_have_text(re.compile(r"^\d\d:\d\d$"))
    expect(line.locator("time")).to_have_attribute("datetime", re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"))
    expect(line.locator("time")).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$"))


def test_a_job_leads_to_its_own_incident_though_another_has_the_same_words(opened: Open, service_database: str) -> None:
    servers = {"first": "trn2-16.48xlarge/d0/s0", "second": "u-trn2x64/d0/s0"}
    with trninv.open(service_database) as fleet:
        for job, server in servers.items():
            fleet.allocate(job, [server], who="tests")
            fleet.set_state([f"{server}/c7"], "down", why=job, who="tests")
        try:
            page = opened("#/jobs")
            found = []
            for job in servers:
                row = page.locator(".data tbody tr", has=page.get_by_role("link", name=job, exact=True))
                link = row.get_by_role("link", name=re.compile("1 chip down: .*d0.s0.c7"))
                expect(link).to_be_visible()
                found.append(link.get_attribute("href"))
            assert len({*found}) == len(servers)
        finally:
            for job, server in servers.items():
                fleet.set_state([f"{server}/c7"], "up", why=job, who="tests")
                fleet.release(job)


def test_answers_of_two_states_never_stand_side_by_side(opened: Open, service_database: str) -> None:
    """Incidents are asked for before a change and answered after it: what stood there before is asked anew."""
    page = opened("#/sources")
    held = list[Route]()

    def late(route: Route) -> None:
        if "incidents" in (route.request.post_data or "") and not held:
            held.append(route)
        else:
            route.fallback()

    page.context.route("**/graphql", late)
    page.evaluate("location.hash = '#/'")
    row = page.locator("tr", has=page.get_by_role("link", name=re.compile(r"^u-trn2x64( |$)")))
    expect(row).to_contain_text("1 chip down")
    with temporary_engine(service_database) as engine, write_transaction(engine) as connection:
        set_state(connection, ["u-trn2x64/d0/s3/c9"], Condition.from_user("down", None), why="later", who="tests")
    assert held
    held[0].fallback()
    expect(row).to_contain_text("2 chips down")
    expect(page.locator("main aside").first).to_contain_text("later")
    with temporary_engine(service_database) as engine, write_transaction(engine) as connection:
        set_state(connection, ["u-trn2x64/d0/s3/c9"], Condition.from_user("up", None), why="later", who="tests")
