"""A fleet for pages of reports and jobs, and how their tables are read."""

import csv
import io

from playwright.sync_api import Page

from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.reserve import reserve

WHY = '=HYPERLINK("http://x"), <img src=x onerror=alert(1)>'


def lab_with_jobs(databases: Databases) -> str:
    """All small systems and 300 servers of which each has a chip down; two jobs on u-trn2x64, two reservations."""
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(300), name="lab")
        down = Condition.from_user("down", None)
        chips = [f"lab/d{domain}/s0/c{12 if domain == 2 else 3}" for domain in range(300)]
        set_state(connection, chips, down, why=WHY, who="tests")
        set_state(connection, ["u-trn2x64/d0/s1/c5"], down, why="HBM errors", who="tests")
        allocate(connection, "llama-ft", ["u-trn2x64/d0/s2"], who="tests")
        allocate(connection, "dpo-sweep", ["u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s0/c1"], who="tests")
        reserve(connection, "next", ["lab/d5/s0/c0"], who="tests", from_="2126-12-01T08:00:00Z", until="48h")
        reserve(connection, "firmware", ["lab/d6/s0"], who="tests", until="4h", maintenance=True, why=WHY)
    return url


def column(page: Page, at: int) -> list[str]:
    return [text.strip() for text in page.locator(f".data tbody tr:not(.space) td:nth-child({at})").all_inner_texts()]


def saved(page: Page) -> list[list[str]]:
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    return list(csv.reader(io.StringIO(download.value.path().read_text())))
