"""The Query page: every example answers, errors are in words, and a token learns which scope it lacks."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browsing import Open, Watched, copies
from conftest import Databases
from examples import ROOT
from forking import forked_service
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.access.bearer_tokens import create_token
from trninv.reports.views import VIEWS

EXAMPLES = re.findall(r'name: "(.*)"', (ROOT / "web/src/query/examples.ts").read_text())


@pytest.fixture(scope="module")
def graph_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graph")


@pytest.fixture(scope="module")
def service(shared_database: str, graph_cache: Path) -> Iterator[str]:
    with forked_service(shared_database, TRNINV_GRAPH_CACHE=str(graph_cache)) as url:
        yield url


def answered(page: Page) -> None:
    expect(page.locator(".result[aria-busy=false] .data table, .result[aria-busy=false] p")).not_to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["sql", "cypher"])
def test_every_example_answers(opened: Open, language: str) -> None:
    page = opened(f"#/query?lang={language}")
    examples = page.get_by_role("region", name="Examples").get_by_role("button")
    names = examples.all_inner_texts()
    assert set(names) < set(EXAMPLES)
    assert len(names) >= 6
    for name in names:
        examples.get_by_text(name, exact=True).click()
        answered(page)
        assert page.locator("main .failure").count() == 0, name
    expect(page).to_have_url(re.compile("text="))
    page.get_by_role("link", name=re.compile("reference$")).click()
    expect(page.locator("h1").first).to_be_visible()  # an error would be JSON


@pytest.mark.slow
def test_rows_are_sorted_copied_and_an_error_says_what_is_wrong(watched: Watched) -> None:
    page = watched.open("#/query")
    field = page.get_by_role("textbox", name="SQL query")
    field.fill("SELECT address, chips, 1.0 / 3 AS third FROM v_cluster WHERE address = 'u-trn2x64'")
    field.press("Control+Enter")
    expect(page.locator(".data tbody td")).to_have_text(["u-trn2x64", "64", "0.333"])
    page.get_by_role("button", name="Copy CSV").click()
    copies(page, r"^address,chips,third\nu-trn2x64,64,0\.3333")
    page.get_by_role("columnheader", name="chips").get_by_role("button").click()
    expect(page.locator(".data tbody tr")).to_have_count(1)
    field.fill("DELETE FROM v_cluster")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".result .failure")).to_contain_text("SELECT")
    page.get_by_role("link", name="Cypher", exact=True).click()
    page.get_by_role("textbox", name="Cypher query").fill("CREATE (c:Chip) RETURN c")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".result .failure")).to_contain_text("CREATE")
    assert all("status of 400" in each for each in watched.said)
    watched.said.clear()


@pytest.mark.slow
@pytest.mark.parametrize(("language", "table", "column"), [("sql", "v_chip", "hbm_gib"), ("cypher", "Chip", "hbm_gib")])
def test_what_can_be_queried_is_listed_and_addresses_are_links(
    opened: Open, language: str, table: str, column: str
) -> None:
    page = opened(f"#/query?lang={language}")
    page.get_by_text(re.compile("and their (columns|properties)$")).click()
    entry = page.locator(".tables div", has=page.get_by_role("button", name=table, exact=True))
    expect(entry.locator("dd")).to_contain_text(column)
    entry.get_by_role("button").click()
    answered(page)
    assert page.locator("main .failure").count() == 0
    if language == "sql":
        first = page.locator(".data tbody tr").first
        expect(first.get_by_role("link").first).to_have_attribute("href", re.compile(r"^#/(at|cluster)/"))


@pytest.mark.slow
def test_every_view_of_sql_is_listed(opened: Open) -> None:
    names = opened("#/query").locator(".tables dt button").all_text_contents()
    assert set(names) == set(VIEWS)


@pytest.mark.slow
def test_on_a_phone_a_query_and_its_rows_are_in_view(opened: Open) -> None:
    page = opened("#/query", width=390, height=844)
    answered(page)
    page.get_by_label("Example").select_option("Unhealthy parts by change")
    answered(page)
    field = page.get_by_role("textbox", name="SQL query")
    expect(field).to_have_value(re.compile("FROM v_unhealthy"))
    assert field.evaluate("each => each.scrollHeight <= each.clientHeight && each.scrollWidth <= each.clientWidth")
    expect(page.get_by_role("button", name="Run")).to_be_in_viewport(ratio=1)
    expect(page.locator(".data tbody tr").first).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    field.fill("SELECT 1 AS one")
    expect(page.get_by_label("Example").locator(":checked")).to_have_text("none: your own query")


@pytest.mark.slow
def test_a_query_of_an_address_waits_for_its_reader(opened: Open) -> None:
    page = opened("#/query?text=SELECT+count(*)+FROM+v_chip")
    expect(page.get_by_role("textbox", name="SQL query")).to_have_value("SELECT count(*) FROM v_chip")
    expect(page.locator(".result")).to_have_text("The rows will be here.")


@pytest.mark.slow
def test_without_the_extra_the_cypher_tab_says_what_to_install(watched: Watched) -> None:
    page = watched.open("#/query?lang=cypher")
    body = '{"errors":[{"message":"Cypher needs the packages ladybug and pyarrow","extensions":{"code":"BAD_USE"}}]}'
    page.route("**/cypher", lambda route: route.fulfill(status=400, content_type="application/json", body=body))
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".result")).to_contain_text("install the extra graph")
    expect(page.locator(".result a")).to_have_attribute("href", "docs/how-to/deploy.html#extras")
    watched.said.clear()


@pytest.mark.slow
def test_a_token_without_the_scope_is_told_which_one_it_needs(watched: Watched, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        token = create_token(connection, "reader", "read", None)
    with forked_service(url, TRNINV_AUTH="tokens") as guarded:
        page = watched.open("#/sources", url=guarded)
        page.evaluate("token => sessionStorage.setItem('trninv token', token)", token)
        page.goto(f"{guarded}/#/query")
        page.reload()
        expect(page.locator("main .warned")).to_contain_text("scope sql")
        expect(page.get_by_role("button", name="Run")).to_be_disabled()
        watched.close()
    watched.said.clear()
