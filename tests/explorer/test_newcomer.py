"""What a newcomer stumbles over: findings that nobody applied, long reasons, what is over, and an empty database."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import insert

from browsing import Open, settled, violations
from conftest import Databases
from forking import forked_service
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate

pytestmark = pytest.mark.slow

UNREACHABLE, DRAINED, BROKEN = (f"u-trn2x64/d0/s{n}" for n in range(3))
ELSEWHERE = "trn2-16.48xlarge/d0/s0"
REPAIRED = "trn1.32xlarge/d0/s0"
LONG = f"{'the firmware of the baseboard is older than the driver needs, ' * 12}see /{'x' * 120}"
"""A reason with a word that is longer than a line."""
UNAPPLIED = "1 high finding of drift on parts that are up"
SEEN = dict.fromkeys(("first_seen", "last_seen"), "2020-01-01T00:00:00+00:00")
LINES = "element => Math.round(element.clientHeight / parseFloat(getComputedStyle(element).lineHeight))"
"""Lines of a block."""


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """A server that Kubernetes does not reach, one in maintenance under a job, one down, and one repaired."""
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine:
        with write_transaction(engine) as connection:
            allocate(connection, "train", [DRAINED], who="tests")
            allocate(connection, "tune", [REPAIRED], who="tests")
            allocate(connection, "beside", ["trn3-gen1/d0/s0/c0"], who="tests")
            for number, (address, severity) in enumerate(
                ((UNREACHABLE, "high"), (UNREACHABLE, "medium"), (DRAINED, "high"), (ELSEWHERE, "high")), start=1
            ):
                finding = {"id": number, "rule": "health-condition", "severity": severity, "address": address}
                connection.execute(insert(TABLES["finding"]).values(**finding, observed="unreachable", **SEEN))
        for place, state, why in (
            (DRAINED, "maintenance", "firmware"),
            ("trn3-gen1/d0/s0/c1", "down", "no answer"),
            ("trn3-gen1/d0/s0/c0--trn3-gen1/d0/sw0", "down", "no answer"),
            (BROKEN, "down", LONG),
            (REPAIRED, "down", "power"),
            (REPAIRED, "up", "power is back"),
        ):
            with write_transaction(engine) as connection:
                set_state(connection, [place], Condition.from_user(state, None), why=why, who="tests")
    return url


@pytest.fixture(scope="module")
def empty_service(databases: Databases) -> Iterator[str]:
    with forked_service(databases.migrated("sqlite")) as url:
        yield url


def go(page: Page, address: str) -> None:
    page.evaluate("to => { location.hash = to }", address)
    settled(page)


def test_a_finding_that_nobody_applied_is_said_with_the_incidents_and_at_its_part(opened: Open) -> None:
    page = opened("#/incidents")
    rows = page.get_by_role("table").get_by_role("row").filter(has_text="health-condition")
    page.get_by_role("link", name="2 high findings of drift").click()
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(UNREACHABLE)
    expect(rows.last).to_contain_text(ELSEWHERE)
    expect(page.locator("main")).to_contain_text("trninv drift --apply")
    go(page, f"#/at/{DRAINED}")
    expect(page.get_by_role("region", name="State")).to_contain_text("firmware")
    expect(page.locator("main")).not_to_contain_text("finding")
    go(page, f"#/domain/u-trn2x64/d0?sel={UNREACHABLE.rsplit('/', 1)[1]}")
    expect(page.get_by_role("complementary", name=f"About {UNREACHABLE}")).to_contain_text(UNAPPLIED)
    go(page, f"#/at/{UNREACHABLE}")
    state = page.get_by_role("region", name="State")
    expect(state).to_contain_text(UNAPPLIED)
    state.get_by_role("link", name="1 high finding of drift").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(UNREACHABLE)
    expect(rows).to_contain_text("unreachable")
    rows.get_by_role("link", name=UNREACHABLE).click()
    expect(state).to_contain_text(UNAPPLIED)
    for kind, place in (("domain", "u-trn2x64/d0"), ("rack", "u-trn2x64/r0")):
        go(page, f"#/{kind}/{place}")
        expect(page.locator(f"article.{kind}")).to_contain_text(UNAPPLIED)
        page.locator(f"article.{kind}").get_by_role("link", name="1 high finding of drift").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(place)
        expect(page.get_by_role("navigation", name="Breadcrumb")).to_have_text(f"IncidentsFindings{place}")
        expect(page.locator("main")).to_contain_text(UNAPPLIED)
        expect(page.locator("main")).to_contain_text(f"trninv drift {place} --apply")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text(UNREACHABLE)
    go(page, f"#/findings/{DRAINED}")
    expect(page.locator("main")).to_contain_text("0 high findings")
    go(page, f"#/findings/{DRAINED}?asof=1")  # before it was drained
    expect(rows).to_have_count(1)
    go(page, "#/findings/u-trn2x64/d9")
    expect(page.locator("main")).to_contain_text("no u-trn2x64/d9")
    go(page, "#/domain/trn1.32xlarge/d0")
    expect(page.locator("article.domain")).not_to_contain_text("finding")


def test_the_list_of_findings_is_accessible_and_fits_a_phone(opened: Open) -> None:
    page = opened("#/findings")
    assert violations(page) == ""
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("width", [1280, 390])
def test_the_heading_of_a_domain_with_many_states_is_whole(opened: Open, width: int) -> None:
    page = opened("#/domain/u-trn2x64/d0", width=width)
    states = page.locator("header.title .state-label").all()
    assert len(states) == 6
    boxes = [box for state in states if (box := state.bounding_box())]
    assert max(box["x"] + box["width"] for box in boxes) <= width
    words = page.locator("header.title > p").bounding_box()  # a phone has none
    assert words is None or words["height"] < 60


def test_an_incident_that_is_over_has_nothing_to_do(opened: Open) -> None:
    page = opened("#/incidents?show=closed")
    page.get_by_role("link", name=REPAIRED).click()
    panel = page.get_by_role("complementary", name=re.compile("Incident"))
    expect(panel.locator(".summary")).to_contain_text("Jobs hit")
    expect(panel.locator(".summary").get_by_role("link", name="tune")).to_be_visible()
    expect(panel).not_to_contain_text("Where can")


@pytest.mark.parametrize("address", ["#/", "#/incidents", "#/cluster/u-trn2x64", "#/reports/unhealthy"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_reason_takes_four_lines_of_a_list(opened: Open, address: str, width: int) -> None:
    page = opened(address, width=width)
    reasons = page.locator(".brief-reason", has_text="baseboard").and_(page.locator(":visible"))
    expect(reasons.first).to_be_visible()
    for reason in reasons.all():
        assert reason.evaluate(LINES) <= 4
        assert reason.get_attribute("title") == LONG
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_long_reason_is_whole_with_the_incident_and_wraps_in_the_history(opened: Open) -> None:
    page = opened("#/incidents", width=1280)
    row = page.locator("table.pick tr", has=page.get_by_role("link", name=BROKEN))
    row.get_by_role("link", name=BROKEN).click()
    panel = page.get_by_role("complementary", name=re.compile("Incident"))
    expect(panel.locator(".band strong")).to_have_text(LONG)
    assert panel.locator(".band strong").evaluate(LINES) > 4
    go(page, f"#/at/{BROKEN}")
    history = page.get_by_role("region", name="Changes, the newest first")
    expect(history).to_contain_text(LONG)
    assert history.evaluate("element => element.scrollWidth - element.clientWidth") <= 0


def test_when_a_hit_job_began_is_in_view(opened: Open) -> None:
    page = opened("#/jobs?in=u-trn2x64", width=1280)
    expect(page.locator('td[data-label="health"]')).to_contain_text("16 chips in maintenance")
    table = page.locator(".jobs .list .scroll").first
    assert table.evaluate("element => element.scrollWidth - element.clientWidth") <= 0


def test_a_job_that_a_failed_neighbor_hits_names_its_incident(opened: Open) -> None:
    page = opened("#/jobs?in=trn3-gen1", width=1280)
    expect(page.locator('td[data-label="health"]')).to_have_text("incident at d0/s0/c1")


def test_a_dialog_closes_when_its_page_is_left(opened: Open) -> None:
    page = opened("#/incidents")
    go(page, f"#/at/{BROKEN}")
    page.get_by_role("button", name="Set state…").first.click()
    expect(page.get_by_role("dialog", name="Set state")).to_be_visible()
    page.go_back()
    expect(page.locator("article.incidents")).to_be_visible()
    assert page.get_by_role("dialog").count() == 0


def test_the_palette_offers_nothing_for_the_number_of_an_incident(opened: Open) -> None:
    page = opened("#/incidents?sel=3")
    page.keyboard.press("/")
    expect(page.get_by_role("option", name="Plan a drain…")).to_be_visible()
    expect(page.get_by_role("option", name="Set state…")).to_be_visible()
    expect(page.locator("dialog.palette")).not_to_contain_text("/3")


def test_a_page_that_does_not_exist_has_no_name(opened: Open) -> None:
    page = opened("#/nope")
    expect(page).to_have_title("No such page – trninv")
    go(page, "#/incidents")
    expect(page).to_have_title("Incidents – trninv")


@pytest.mark.parametrize("address", ["#/", "#/jobs", "#/incidents"])
def test_an_empty_database_says_how_to_begin(opened: Open, empty_service: str, address: str) -> None:
    page = opened(address, url=empty_service)
    expect(page.get_by_role("region", name="Get started")).to_contain_text("No clusters yet")
    expect(page.get_by_role("region", name="Get started")).to_contain_text("trninv docs adopt-a-fleet")
    expect(page.locator("main")).not_to_contain_text("Every part is up")
    expect(page.locator("main")).not_to_contain_text("no job hit")
    assert page.locator(".card").count() == 1


def test_designs_can_be_compared_before_anything_is_seeded(opened: Open, empty_service: str) -> None:
    page = opened("#/compare", url=empty_service)
    expect(page.get_by_role("region", name="Get started")).to_contain_text("No clusters yet")
    places = page.get_by_role("region", name="Places to compare")
    expect(places).not_to_contain_text("trninv seed")
    places.get_by_role("button", name="rainier").click()
    expect(page.get_by_role("columnheader", name="rainier")).to_contain_text("design only")


def test_differences_stay_within_the_box_of_a_narrow_dialog(opened: Open) -> None:
    page = opened(f"#/at/{UNREACHABLE}", width=390)
    page.get_by_role("button", name="Set state…").first.click()
    box = page.get_by_role("region", name="What this would change")
    expect(box).to_contain_text("−16")
    settled(page)
    edge = box.evaluate(
        "element => element.getBoundingClientRect().right - parseFloat(getComputedStyle(element).paddingRight)"
    )
    for value in box.locator("dd > span:last-child").all():
        assert value.evaluate("element => element.getBoundingClientRect().right") <= edge + 1
