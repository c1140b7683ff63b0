"""Jobs held, moved and released in the explorer, and servers closed: by keys alone, step by step, and back."""

import gzip
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tampering import tamper

import trninv
from browsing import Open, Watched, settled, violations
from conftest import Databases
from forking import forked_service
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.access.bearer_tokens import create_token
from trninv.inventory.seeding import cluster_seeding
from trninv.service.explorer import WEB_DIRECTORY

D = "u-trn2x64/d0"
FULL = "trn2-16.48xlarge/d0"
CHUNK = 20_800
"""Bytes of what is fetched to carry a plan out, compressed: the Jobs page, which names what failed in each job and
the reservations in the way, its table, and the dialog."""


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """An UltraServer with three jobs that leave no server free as a whole but one."""
    url = databases.migrated("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for name in ("u-trn2x64", "trn2-16.48xlarge"):
            cluster_seeding.seed(connection, default_catalog(), default_systems().get(name))
    fill(url)
    return url


def fill(url: str) -> None:
    """Have those three jobs and a small one hold what they do, and no other, on servers that take jobs."""
    with trninv.open(url) as fleet:
        for job in fleet.jobs():
            fleet.release(job.name)
        if closed := [each.server for each in fleet.cordons()]:
            fleet.uncordon(closed)
        fleet.allocate("llama-ft", [f"{D}/s0"], who="tests")
        fleet.allocate("dpo-sweep", [f"{D}/s1/c0-3"], who="tests")
        fleet.allocate("emb", [f"{D}/s2/c0-3"], who="tests")
        fleet.allocate("small", [f"{D}/s3/c0-3"], who="tests")


def held(url: str) -> dict[str, int]:
    with trninv.open(url) as fleet:
        return {job.name: job.chips for job in fleet.jobs()}


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


def confirm(page: Page, **given: str) -> None:
    """Fill the dialog's fields, by keys."""
    box = dialog(page)
    expect(box).to_be_visible()
    expect(box.locator("[aria-busy=true]")).to_have_count(0)
    for name, value in given.items():
        box.locator(f"[name={name}]").fill(value)
    expect(box.locator(":focus")).to_have_count(1)
    page.keyboard.press("Enter")


@pytest.mark.slow
def test_a_fit_is_held_by_keys_alone_and_undo_releases_it(opened: Open, service_database: str) -> None:
    page = opened(f"#/jobs?in={D}&fit=chips:4")
    first = page.locator(".fits button.small").first
    first.focus()
    page.keyboard.press("ArrowDown")
    second = page.locator(".fits button.small").nth(1)
    expect(second).to_be_focused()
    expect(second).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name=re.compile("^Allocate 4 chips in ")).focus()
    page.keyboard.press("Enter")
    expect(dialog(page).get_by_label("Job name")).to_be_focused()
    expect(dialog(page)).to_contain_text(re.compile(r"Free chips in u-trn2x64/d0.*36.*→.*32", re.DOTALL))
    ringed = page.locator(".proposed title").all_text_contents()
    assert len(ringed) == 4
    confirm(page, job="llama-ft", who="kim")
    expect(dialog(page).get_by_role("alert")).to_contain_text("job llama-ft has other chips")
    confirm(page, job="eval", who="kim")
    expect(dialog(page)).to_have_count(0)
    assert held(service_database)["eval"] == 4
    expect(page.locator(".data tbody")).to_contain_text("eval")
    with trninv.open(service_database) as fleet:
        of = next(job for job in fleet.jobs() if job.name == "eval")
    assert of.who == "kim"
    assert all(title.startswith(f"{of.first_server}/") for title in ringed)
    page.keyboard.press("Control+z")
    expect(page.get_by_role("status").filter(has_text="Undone")).to_be_visible()
    assert "eval" not in held(service_database)
    expect(page.locator(".data tbody")).not_to_contain_text("eval")
    assert violations(page) == ""


@pytest.mark.slow
def test_who_was_faster_is_said_and_nothing_is_held(opened: Open, service_database: str) -> None:
    page = opened(f"#/jobs?in={FULL}&fit=chips:16")
    page.get_by_role("button", name=re.compile("^Allocate 16 chips in ")).click()
    expect(dialog(page)).to_be_visible()
    with trninv.open(service_database) as fleet:
        fleet.allocate("quick", [f"{FULL}/s0/c3"], who="others")
    confirm(page, job="late", who="kim")
    expect(dialog(page).get_by_role("alert")).to_contain_text("quick")
    assert "late" not in held(service_database)
    page.keyboard.press("Escape")
    expect(page.get_by_text("No placement:")).to_be_visible()
    page.evaluate("to => { location.hash = to }", f"#/jobs?in={FULL}&sel=quick")
    page.get_by_role("button", name="Release…").click()
    confirm(page)
    expect(page.get_by_role("status").filter(has_text="quick is released")).to_be_visible()
    assert "quick" not in held(service_database)


@pytest.mark.slow
def test_a_reservation_in_the_way_of_a_job_is_named(opened: Open, service_database: str) -> None:
    with trninv.open(service_database) as fleet:
        fleet.release("small")
        fleet.allocate("full", [FULL], who="tests")
        fleet.reserve("firmware", [f"{D}/s3"], from_="2h", until="4h", who="tests", maintenance=True)
        fleet.reserve("next", [f"{D}/s1/c4-15", f"{D}/s2/c4-15"], from_="2h", until="4h", who="tests")
    try:
        firmware = f"Reserved: 16 chips in {D}/s3 for maintenance firmware from "
        page = opened(f"#/jobs?in={D}/s3&fit=servers:1")
        expect(page.get_by_text("No placement:")).to_be_visible()
        expect(page.get_by_text(firmware)).to_be_visible()
        page.get_by_role("button", name="Make room…").click()
        expect(page.get_by_text(firmware)).to_have_count(2)
        page = opened(f"#/jobs?in={D}&drain={D}/s0")
        plan = page.get_by_role("region", name="Drain impact")
        expect(plan).to_contain_text("llama-ft loses 16 of 16 chips has nowhere to go")
        expect(plan).to_contain_text(firmware)
        expect(plan).to_contain_text("for next from ")
    finally:
        with trninv.open(service_database) as fleet:
            fleet.unreserve("firmware", who="tests")
            fleet.unreserve("next", who="tests")


@pytest.mark.slow
def test_room_is_made_by_moves_and_a_stale_plan_is_refused(opened: Open, service_database: str) -> None:
    page = opened(f"#/jobs?in={D}&fit=servers:2")
    page.get_by_role("button", name="Make room…").click()
    page.get_by_role("button", name="Move and allocate…").click()
    expect(dialog(page)).to_be_visible()
    with trninv.open(service_database) as fleet:
        fleet.allocate("between", [f"{D}/s3/c15"], who="others")
    confirm(page, job="wide", who="kim")
    expect(dialog(page).get_by_role("alert")).to_contain_text("make a new plan")
    expect(dialog(page).get_by_role("button", name=re.compile("^Move"))).to_have_count(0)
    page.keyboard.press("Escape")
    with trninv.open(service_database) as fleet:
        assert fleet.release("between").ended_at
    before = held(service_database)
    page.reload()
    settled(page)
    page.get_by_role("button", name="Make room…").click()
    page.get_by_role("button", name="Move and allocate…").click()
    confirm(page, job="wide", who="kim")
    expect(page.get_by_role("status").filter(has_text="32 chips allocated to wide")).to_be_visible()
    assert held(service_database) == before | {"wide": 32}
    page.keyboard.press("Control+z")
    expect(page.get_by_role("status").filter(has_text="Undone")).to_be_visible()
    assert held(service_database) == before


@pytest.mark.slow
def test_a_step_that_fails_after_another_asks_for_a_new_plan(opened: Open, service_database: str) -> None:
    fill(service_database)
    page = opened(f"#/jobs?in={D}&fit=servers:2")
    taken: list[str] = []

    def be_faster(route: Route) -> None:
        asked = route.request.post_data_json or {}
        if "mutation Allocate" in asked.get("query", "") and not taken:
            taken.append(asked["variables"]["input"]["places"][0])
            with trninv.open(service_database) as fleet:
                fleet.allocate("between", [f"{taken[-1]}/c0"], who="others")
        route.fallback()

    page.route("**/graphql", be_faster)
    page.get_by_role("button", name="Make room…").click()
    page.get_by_role("button", name="Move and allocate…").click()
    confirm(page, job="wide", who="kim")
    expect(dialog(page).get_by_role("alert")).to_contain_text("Step 1 succeeded, step 2 failed: ")
    expect(dialog(page).get_by_role("alert")).to_contain_text(". The page now shows a new plan.")
    expect(dialog(page).get_by_role("button", name=re.compile("^(Move|Go on|Cancel)"))).to_have_count(0)
    dialog(page).locator("[name=who]").press("Enter")
    expect(dialog(page)).to_have_count(0)
    assert len(taken) == 1
    assert "wide" not in held(service_database)
    settled(page)
    page.get_by_role("button", name="Move and allocate…").click()
    confirm(page, job="wide", who="kim")
    expect(page.get_by_role("status").filter(has_text="32 chips allocated to wide")).to_be_visible()
    assert held(service_database)["wide"] == 32
    fill(service_database)


def _plans_late(route: Route) -> None:
    """Whatever else the page asks is answered before a plan is."""
    if "drainImpact" in str(route.request.post_data_json):
        time.sleep(1)
    route.fallback()


@pytest.mark.slow
def test_a_place_is_drained_step_by_step(opened: Open, service_database: str) -> None:
    with trninv.open(service_database) as fleet:
        place = next(str(job.first_server) for job in fleet.jobs() if job.name == "llama-ft")
        page = opened(f"#/jobs?in=u-trn2x64&drain={place}")
        impact, plan = fleet.drain_impact(place), page.get_by_role("region", name="Drain impact")
        assert [move.job for move in impact.moves][1:] == ["llama-ft"]
        steps = plan.locator("h3 + .steps").get_by_role("link")
        expect(steps).to_have_text([move.job for move in impact.moves])
        block = f"Largest free block, chips.*{impact.largest_block}.*{impact.largest_block_after}"
        expect(plan.locator(".figures")).to_contain_text(re.compile(block, re.DOTALL))
        page.route("**/graphql", _plans_late)
        page.get_by_role("button", name="1. Cordon…").click()
        confirm(page, why="cooling, ticket 12", who="kim")
        expect(page.get_by_role("button", name="Uncordon…")).to_be_visible()
        assert [(each.server, each.why) for each in fleet.cordons()] == [(place, "cooling, ticket 12")]
        page.get_by_role("button", name=re.compile(r"^2. Move \d jobs?…")).click()
        confirm(page, who="kim")
        expect(plan).to_contain_text("no jobs disrupted")
        assert fleet.free("u-trn2x64").largest_block == impact.largest_block_after
        assert held(service_database)["llama-ft"] == 16
        page.get_by_role("button", name="Uncordon…").click()
        confirm(page)
        expect(page.get_by_role("button", name="1. Cordon…")).to_be_visible()
        assert fleet.cordons() == []


def _plans_part(route: Route) -> None:
    """A plan has two jobs fewer than are disrupted."""
    if "drainImpact" not in str(route.request.post_data_json):
        route.fallback()
        return
    answer = route.fetch()
    plan = answer.json()
    plan["data"]["drainImpact"]["unplanned"] = 2
    route.fulfill(response=answer, json=plan)


@pytest.mark.slow
def test_a_plan_that_can_not_be_carried_out_says_who_must_move_a_job_first(opened: Open, service_database: str) -> None:
    fill(service_database)
    with trninv.open(service_database) as fleet:
        fleet.release("small")
        fleet.allocate("small", [f"{D}/s3/c0-3"], pinned=True, who="tests")
        page = opened(f"#/jobs?in=u-trn2x64&drain={D}/s3")
        plan = page.get_by_role("region", name="Drain impact")
        expect(plan).to_contain_text("Jobs move all or none: job small is pinned and can't move; release it, ")
        expect(plan.get_by_role("button", name="1. Cordon…")).to_be_visible()
        expect(plan.get_by_role("button", name=re.compile("Move"))).to_have_count(0)
        expect(plan).not_to_contain_text("Not in this plan")
        page.route("**/graphql", _plans_part)
        page.reload()
        expect(plan).to_contain_text("Not in this plan: 2 more jobs. Plan again once the others have moved.")
        with_slurm = "UPDATE job SET system = 'slurm' WHERE name <> 'llama-ft' AND ended_at IS NULL"
        tamper(fleet.engine, with_slurm, "job")
        page.goto("about:blank")
        page = opened(f"#/jobs?in={D}&fit=servers:2")
        page.get_by_role("button", name="Make room…").click()
        expect(
            page.get_by_text(re.compile(r"Jobs move all or none: job slurm:\S+ is run by slurm; move it there, "))
        ).to_be_visible()
        expect(page.get_by_role("button", name="Move and allocate…")).to_have_count(0)
        tamper(fleet.engine, with_slurm.replace("'slurm'", "'trninv'"), "job")
    fill(service_database)


@contextmanager
def guarded(watched: Watched, url: str, at: str, scope: str) -> Iterator[Page]:
    """A page of a service that asks for tokens, with one of a scope."""
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        token = create_token(connection, f"jobs-{scope}", scope, None)
    with forked_service(url, TRNINV_AUTH="tokens") as address:
        page = watched.open(at, url=address)
        page.get_by_label(re.compile("requires a token")).first.fill(token)
        page.get_by_role("button", name="Use token").first.click()
        settled(page)
        yield page
        watched.close()
    assert all("401" in each for each in watched.said)
    watched.said.clear()


@pytest.mark.slow
def test_who_may_not_write_and_who_looks_at_the_past_have_no_button_that_does(
    watched: Watched,
    service_database: str,
) -> None:
    at = f"#/jobs?in={D}&fit=chips:4&sel=llama-ft&drain={D}/s0"
    page = watched.open(f"{at}&asof={datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    expect(page.locator(".fits button.small").first).to_be_visible()
    assert page.locator("[data-writes]").count() == 0
    with guarded(watched, service_database, at, "read") as reader:
        expect(reader.locator(".fits button").first).to_be_visible()
        expect(reader.get_by_text("trninv allocate NAME")).to_be_visible()
        assert reader.locator("[data-writes]").count() == 0
    with guarded(watched, service_database, at, "operate") as keeper:
        keeper.get_by_role("button", name=re.compile("^Allocate 4 chips in ")).click()
        expect(dialog(keeper)).to_contain_text("As jobs-operate")
        assert dialog(keeper).locator("[name=who]").count() == 0


@pytest.mark.slow
def test_the_dialog_is_accessible_and_fits_a_phone(opened: Open) -> None:
    page = opened(f"#/jobs?in={D}&fit=chips:4&sel=llama-ft", width=390, height=844)
    page.get_by_role("button", name=re.compile("^Allocate 4 chips in ")).click()
    expect(dialog(page)).to_contain_text("Free chips in")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert violations(page) == ""
    page.emulate_media(color_scheme="dark")
    assert violations(page, "color-contrast") == ""


def test_what_carries_a_plan_out_is_small() -> None:
    files = [WEB_DIRECTORY / "assets" / name for name in ("confirm.js", "jobs.js", "jobs.css", "table.js")]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < CHUNK
