"""Measurements are drawn by message size against the limit of the wiring; what is above it is called impossible."""

import pytest
from measuring import ALGORITHM_GB, SIZES, measure, report
from measuring import run as describe
from playwright.sync_api import expect

from browsing import Open
from conftest import Databases

PLACE = "trn2-16.48xlarge/d0/s0"


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """The public sweeps, and one run that reports bits as bytes."""
    url = databases.seeded("sqlite")
    for (operation, data_type), speeds in ALGORITHM_GB.items():
        content = report(operation, data_type, 64, zip(SIZES, speeds, strict=True))
        measure(url, (content, describe(PLACE, operation)))
    measure(url, (report("all-gather", "bf16", 64, [(2**30, 700.0)]), describe(PLACE, "all-gather")))
    return url


@pytest.mark.slow
def test_a_page_draws_measurements_and_says_what_is_impossible(opened: Open) -> None:
    page = opened("#/domain/trn2-16.48xlarge/d0")
    page.get_by_role("link", name="Measured").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("trn2-16.48xlarge/d0: measured")
    circles = page.locator("#measurements circle")
    expect(circles).to_have_count(25)
    expect(page.locator("#measurements polyline")).to_have_count(6)
    expect(circles.filter(has_text="128.2% of 512 GB/s")).to_have_count(1)
    expect(page.get_by_role("region", name="Impossible")).to_contain_text("1 measurement above the limit: impossible")
    expect(page.get_by_role("region", name="Impossible")).to_contain_text("direction (1)")
    rows = page.get_by_role("region", name="Measurements").locator("tbody tr")
    expect(rows).to_have_count(25)
    expect(rows.first).to_contain_text("1 GiB")
    expect(rows.filter(has_text="impossible")).to_have_count(1)
    empty = opened("#/measured/u-trn2x64")
    expect(empty.locator("main")).to_contain_text("No measurement is stored")
