"""What pages show while they load, where something fails, when the service is away, and when something changes."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, Route, expect

from browsing import Open, Watched, held_back, settled
from conftest import Databases
from forking import forked_service, port_of
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

pytestmark = pytest.mark.slow

ASKING = {
    "#/": ("HomeIncidents", "Clusters"),
    "#/incidents?sel=1": ("Impact", "why not"),
    "#/domain/u-trn2x64/d0": ("Bisection", "NeuronLink"),
    "#/jobs?in=u-trn2x64/d0": ("Jobs(", "all clusters"),
    "#/reports/capacity": ("Report(", "generation"),
}
"""Pages: a document that fails, and what is there in spite of it."""
ELSEWHERE = "#/measured/u-trn2x64"
"""A small page, which asks none of that."""


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    url = databases.seeded("sqlite")
    down(url, "trn3-gen1/d0/s0/c1")
    return url


def down(url: str, address: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [address], Condition.from_user("down", None), why="why not", who="tests")


@contextmanager
def failing(page: Page, document: str) -> Iterator[None]:
    """A document that is answered by a gateway, for a while."""

    def fail(route: Route) -> None:
        if f"query {document}" in (route.request.post_data or ""):
            route.fulfill(status=502, body="<h1>Bad Gateway</h1>")
        else:
            route.fallback()

    page.context.route("**/graphql", fail)
    yield
    page.context.unroute("**/graphql", fail)


@pytest.mark.parametrize("at", ASKING)
def test_what_fails_says_so_in_its_place_and_can_be_tried_again(
    watched: Watched,
    at: str,
) -> None:
    document, stays = ASKING[at]
    page = watched.open(ELSEWHERE)
    with failing(page, document):
        page.evaluate("to => { location.hash = to }", at)
        failure = page.locator(".failure")
        expect(failure).to_have_count(1)
        expect(failure).to_contain_text("502 Bad Gateway")
        expect(page.locator("main")).to_contain_text(stays)
        failure.get_by_role("button", name="Copy as curl").click()
        expect(failure.get_by_role("button", name="Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert re.match(r"curl 'http://127\.0\.0\.1:\d+/graphql' -H .*query", copied)
    answer = subprocess.run(["sh", "-c", f"{copied} -sS"], capture_output=True, text=True, check=True)
    assert '"data"' in answer.stdout
    assert '"errors"' not in answer.stdout
    failure.get_by_role("button", name="Try again").click()
    settled(page)
    expect(failure).to_have_count(0)
    watched.close()
    assert all("502" in each for each in watched.said)
    watched.said.clear()


@pytest.mark.parametrize("at", ASKING)
def test_the_frame_is_there_at_once_and_says_that_it_loads(opened: Open, at: str) -> None:
    page = opened(ELSEWHERE)
    with held_back(page):
        page.evaluate("to => { location.hash = to }", at)
        expect(page.locator("main [aria-busy=true]").first).to_have_css("opacity", "1")
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()
        expect(page.locator(".bar .trail")).to_be_visible()
    settled(page)
    assert page.locator(".failure").count() == 0


def test_what_is_shown_stays_while_the_service_is_away_and_is_live_again_after(
    watched: Watched,
    databases: Databases,
) -> None:
    url = databases.seeded("sqlite")
    with forked_service(url) as first:
        page = watched.open(url=first)
    toast = page.get_by_role("status").filter(has_text=re.compile(r"not responding.*\d\d:\d\d:\d\d UTC"))
    expect(toast).to_be_visible()
    expect(page.locator("tr", has_text="u-trn2x64")).to_contain_text("all up")
    page.evaluate("location.hash = '#/incidents'")
    expect(page.locator(".failure").first).to_contain_text("not responding")
    with forked_service(url, port_of(first)):
        expect(page.locator(".clock")).to_have_class(re.compile("live"))
        expect(page.get_by_text("No open incidents")).to_be_visible()
        expect(page.locator(".failure")).to_have_count(0)
        watched.close()
    watched.said.clear()


def test_a_page_that_does_not_follow_says_how_much_changed(watched: Watched, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with forked_service(url) as short:
        page = watched.open("#/reports/unhealthy", url=short)
        for chip in range(3):
            down(url, f"u-trn2x64/d0/s1/c{chip}")
        expect(page.locator(".toasts")).to_contain_text("3 items changed")
        assert page.locator("tbody tr", has_text="u-trn2x64").count() == 0
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.locator("tbody tr", has_text="u-trn2x64")).to_contain_text("3 chips")
        watched.close()


def test_a_row_that_changes_lights_up_unless_motion_is_reduced(watched: Watched, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with forked_service(url) as short:
        page = watched.open(url=short)
        page.evaluate(
            """() => {
                window.lit = []
                const animate = Element.prototype.animate
                Element.prototype.animate = function (...how) {
                    window.lit.push(this.innerText.split('\\n')[0])
                    return animate.apply(this, how)
                }
            }"""
        )
        page.emulate_media(reduced_motion="reduce")
        down(url, "u-trn2x64/d0/s1/c5")
        expect(page.locator("tr", has_text="u-trn2x64")).to_contain_text("1 chip down")
        assert page.evaluate("window.lit") == []
        page.emulate_media(reduced_motion="no-preference")
        down(url, "u-trn2x64/d0/s1/c6")
        expect(page.locator("tr", has_text="u-trn2x64")).to_contain_text("2 chips down")
        assert page.evaluate("window.lit") == ["u-trn2x64"]
        watched.close()
