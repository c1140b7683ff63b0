"""A page that needs a token, and one whose service has gone."""

import re

import pytest
from playwright.sync_api import expect

from browsing import Watched
from conftest import Databases
from forking import forked_service
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.access.bearer_tokens import create_token, revoke_token


@pytest.mark.slow
def test_a_token_is_asked_for_and_kept(watched: Watched, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        token = create_token(connection, "explorer", "read", None)
    with forked_service(url, TRNINV_AUTH="tokens") as guarded:
        page = watched.open(url=guarded)
        expect(page.locator("form.failure")).not_to_have_count(1)
        expect(page.locator("form.failure").filter(visible=True)).to_have_count(1)
        page.evaluate("location.hash = '#/cluster/u-trn2x64'")
        page.get_by_label(re.compile("requires a token")).first.fill(token)
        page.get_by_role("button", name="Use token").first.click()
        expect(page.get_by_text("Trn2 UltraServer")).to_be_visible()
        expect(page.locator(".bar .viewer")).to_have_text("explorer")
        watched.close()
    assert all("401" in each for each in watched.said)
    watched.said.clear()


@pytest.mark.slow
def test_a_page_whose_token_is_revoked_says_so(watched: Watched, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        tokens = [create_token(connection, name, "read", None) for name in ("first", "second")]
    with forked_service(url, TRNINV_AUTH="tokens") as guarded:
        page = watched.open("#/cluster/u-trn2x64", url=guarded)
        for number, token in enumerate(tokens):
            page.get_by_label(re.compile("revoked or expired" if number else "requires a token")).first.fill(token)
            page.get_by_role("button", name="Use token").first.click()
            expect(page.get_by_text("Trn2 UltraServer")).to_be_visible()
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                revoke_token(connection, "second" if number else "first")
        expect(page.get_by_label(re.compile("revoked or expired")).first).to_be_visible()
        expect(page.get_by_text("Trn2 UltraServer")).to_be_hidden()
        expect(page.locator(".clock summary")).to_have_text("No access token required")
        watched.close()
    assert all("401" in each for each in watched.said)
    watched.said.clear()


@pytest.mark.slow
def test_a_service_that_has_gone_is_told(watched: Watched, databases: Databases) -> None:
    with forked_service(databases.seeded("sqlite")) as short:
        page = watched.open(url=short)
    page.evaluate("location.hash = '#/reports'")
    expect(page.locator(".failure")).to_contain_text("not responding")
    watched.close()
    watched.said.clear()
