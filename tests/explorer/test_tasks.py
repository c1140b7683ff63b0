"""Ten things that operators do, from the first page on, each within so many clicks; prints how many it took."""

import re
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import Watched, settled
from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate

pytestmark = pytest.mark.slow

SERVER, WHY = "u-trn2x64/d0/s1", "no power, ticket 4711"
DOMAIN = "u-trn2x64/d0"


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """Two systems that are known for two hours, one with a job, of which a server has been down for minutes."""
    url = databases.migrated("sqlite")
    with (
        temporary_engine(url) as engine,
        write_transaction(engine) as connection,
        patch("trninv.units.datetime") as clock,
    ):
        clock.now.return_value = datetime.now(UTC) - timedelta(hours=2)
        for name in ("u-trn2x64", "trn3-gen2"):
            cluster_seeding.seed(connection, default_catalog(), default_systems().get(name))
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        allocate(connection, "train-7b", [SERVER], who="tests")
        set_state(connection, [SERVER], Condition.from_user("down", None), why=WHY, who="m.chen")
    return url


class Hand:
    """Clicks, and counts them; a name that is typed counts as one."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def click(self, of: Locator, **how: object) -> None:
        of.click(**how)  # type: ignore[arg-type] # as Locator.click takes them
        self.clicks += 1
        settled(self.page)

    def open(self, address: str) -> None:
        """What `/` finds."""
        self.page.keyboard.press("/")
        self.page.keyboard.type(address)
        self.page.keyboard.press("Enter")
        self.clicks += 1
        settled(self.page)

    def link(self, name: str | re.Pattern[str], within: str = "main") -> Locator:
        return self.page.locator(within).get_by_role("link", name=name, exact=isinstance(name, str)).first

    def incident(self) -> Locator:
        return self.page.get_by_role("complementary").get_by_role("link", name=SERVER).first

    def chip(self, short: str) -> Locator:
        return self.page.locator(f'.wiring [data-at="{DOMAIN}/{short}"]')

    def reads(self, *texts: str | re.Pattern[str]) -> None:
        for text in texts:
            expect(self.page.locator("main")).to_contain_text(text, timeout=60_000)


def what_is_not_up(hand: Hand) -> None:
    hand.reads(re.compile("1 server.* down"), re.compile("16( chips)? down"))


def why_since_when_and_by_whom(hand: Hand) -> None:
    hand.click(hand.incident())
    hand.reads(WHY, "m.chen", re.compile(r"\d (s|min)\b"))


def what_it_costs_and_whose_job_it_is(hand: Hand) -> None:
    hand.click(hand.incident())
    hand.reads(re.compile(r"All-gather limit.*→.*GB/s", re.DOTALL), "train-7b")


def cause_cost_and_what_it_was_like_an_hour_ago(hand: Hand) -> None:
    what_it_costs_and_whose_job_it_is(hand)
    hand.reads(WHY)
    hand.click(hand.page.locator(".clock summary"))
    hand.click(hand.page.get_by_role("button", name="An hour ago"))
    hand.reads("As of", "No open incidents")


def how_two_chips_are_linked(hand: Hand) -> None:
    hand.click(hand.link(re.compile("^u-trn2x64 ")))
    hand.click(hand.chip("s0/c0"))
    hand.click(hand.chip("s2/c10"))
    hand.reads(re.compile(r"\d hops"), re.compile(r"\d+ GB/s"))


def what_if_a_chip_fails(hand: Hand) -> None:
    hand.click(hand.link(re.compile("^u-trn2x64 ")))
    hand.click(hand.chip("s0/c1"), modifiers=["Shift"])
    hand.reads(re.compile(r"Bisection bandwidth\s*before [\d, ]*→"))


def what_a_domain_bisects_at(hand: Hand) -> None:
    hand.click(hand.link(re.compile("^trn3-gen2 ")))
    hand.reads(re.compile(r"Bisection bandwidth\s*9,216 GB/s"))


def where_a_chip_is_and_what_its_links_carry(hand: Hand) -> None:
    hand.open(f"{DOMAIN}/s2/c5")
    hand.reads("Trainium2", "128 GB/s")


def who_documents_a_number_and_who_disagrees(hand: Hand) -> None:
    hand.click(hand.link("Sources", ".rail"))
    hand.click(hand.page.locator("main a.mark").nth(1))
    expect(hand.page.locator("main .wanted")).to_be_visible()


def a_report_as_csv(hand: Hand) -> None:
    hand.click(hand.link("Reports", ".rail"))
    hand.click(hand.link(re.compile("^Unhealthy parts")))
    with hand.page.expect_download() as download:
        hand.click(hand.page.get_by_role("button", name=re.compile("CSV")).first)
    assert WHY in download.value.path().read_text()


TASKS: dict[Callable[[Hand], None], int] = {
    what_is_not_up: 0,
    why_since_when_and_by_whom: 1,
    what_it_costs_and_whose_job_it_is: 1,
    cause_cost_and_what_it_was_like_an_hour_ago: 3,
    how_two_chips_are_linked: 3,
    what_if_a_chip_fails: 2,
    what_a_domain_bisects_at: 1,
    where_a_chip_is_and_what_its_links_carry: 1,
    who_documents_a_number_and_who_disagrees: 2,
    a_report_as_csv: 3,
}
"""Tasks, and the clicks that each may take."""


@pytest.fixture(scope="module")
def table() -> Iterator[list[str]]:
    lines = list[str]()
    yield lines
    sys.stdout.write("\n".join(["", "clicks  task", *lines, ""]))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_a_task_takes_few_clicks(watched: Watched, task: Callable[[Hand], None], table: list[str]) -> None:
    hand = Hand(watched.open())
    task(hand)
    table.append(f"{hand.clicks:6}  {task.__name__.replace('_', ' ')}")
    assert hand.clicks <= TASKS[task]
