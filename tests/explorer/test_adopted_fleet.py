"""The explorer of an adopted fleet: domains of several models, a slot without an instance, a fabric as it is."""

import json
from io import BytesIO

import pytest
from playwright.sync_api import expect
from seen import fleet

from browsing import Open, browser, opened, service, watched  # noqa: F401 # fixtures
from conftest import Databases
from trninv.catalog.facts import catalog
from trninv.catalog.models import systems
from trninv.importers.observation import File, observe
from trninv.inventory.database import connect, writing
from trninv.live.adopt import adopt

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """A mixed fleet that was imported; d8 is an UltraServer of which three instances were seen."""
    url = databases.migrated("sqlite")
    with connect(url) as engine, writing(engine) as connection:
        observe(
            connection,
            "ec2",
            [File(f"{at}.json", BytesIO(json.dumps(page).encode())) for at, page in enumerate(fleet())],
        )
        adopt(connection, catalog(), systems(), "prod")
    return url


def test_a_mixed_fleet_and_a_domain_with_an_empty_slot_are_drawn(opened: Open) -> None:  # noqa: F811
    page = opened("#/cluster/prod?fabric=yes")
    expect(page.get_by_text("9 domains in 10 racks, adopted from what was imported")).to_be_visible()
    expect(page.locator("canvas")).to_be_visible()
    expect(page.get_by_text("up: 257")).to_be_visible()
    expect(page.get_by_text("down: 16")).to_be_visible()
    page.evaluate("location.hash = '#/domain/prod/d8'")
    expect(page.locator(".wiring .chip")).to_have_count(64)
    expect(page.locator(".wiring .chip.down")).to_have_count(16)
    expect(page.locator('.wiring .chip.down[data-at^="prod/d8/s3/"]')).to_have_count(16)
