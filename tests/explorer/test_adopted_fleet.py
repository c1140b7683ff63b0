"""The explorer of an adopted fleet: domains of several models, a slot without an instance, a fabric as it is."""

import json
import re
from typing import Any

import pytest
from adopting import keep
from playwright.sync_api import Locator, Page, Route, expect
from seen import nodes

from browsing import Open, held_back
from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.reconcile.adoption import adopt

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """A mixed fleet that was imported; d8 is an UltraServer of which three instances were seen, d9 and d10 are Trn3."""
    url = databases.migrated("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        keep(connection, "kubernetes", nodes())
        adopt(connection, default_catalog(), default_systems(), "prod")
        keep(connection, "kubernetes", few())
        adopt(connection, default_catalog(), default_systems(), "small")
    return url


def few() -> dict[str, Any]:
    """An UltraServer and a server of 16 chips, other ones than in the mixed fleet."""
    listed: dict[str, Any] = json.loads(json.dumps(nodes()).replace("i-0", "i-a").replace("cb-", "cb-a"))
    return listed | {"items": [*listed["items"][:4], listed["items"][11]]}


def figure(page: Page, name: str) -> Locator:
    return page.locator(".figures div", has=page.get_by_text(name, exact=True)).locator("dd")


def test_a_mixed_fleet_and_a_domain_with_an_empty_slot_are_drawn(opened: Open) -> None:
    page = opened("#/cluster/prod?color=free")
    expect(page.get_by_text("11 domains in 14 racks, adopted from imported data")).to_be_visible()
    expect(page.get_by_text("Free blocks are unavailable")).to_be_visible()
    page.get_by_role("radio", name="State").check()
    expect(page.get_by_role("button", name="333 chips up")).to_be_visible()
    expect(page.get_by_role("button", name="148 chips down")).to_be_visible()
    page.get_by_role("radio", name="Fabric tiers").check()
    expect(page.locator("#fabric")).to_be_visible()
    page.evaluate("location.hash = '#/domain/prod/d8'")
    expect(page.locator(".wiring .chip")).to_have_count(64)
    expect(page.locator(".wiring .chip.down")).to_have_count(16)
    expect(page.locator('.wiring .chip.down[data-at^="prod/d8/s3/"]')).to_have_count(16)


def test_compare_has_means_of_several_models_and_names_the_chip_of_a_pool(opened: Open) -> None:
    """With switches and without."""
    page = opened("#/compare?of=prod,small,prod/d9")
    expect(page.get_by_role("status").filter(has_text="19 of 19 rows loaded")).to_be_visible(timeout=60_000)

    def cells(metric: str) -> list[str]:
        row = page.locator(".compare tr", has=page.get_by_role("rowheader", name=re.compile(f"^{metric}")))
        return [" ".join(cell.split()) for cell in row.locator("td").all_inner_texts()]

    links = cells("Scale-up links")
    chips = {0: 1, 192: 16, 512: 4 * 16, 640: 3 * 64, 704: 64 + 144}
    mean = sum(bandwidth * count for bandwidth, count in chips.items()) / sum(chips.values())
    # in the second, 64 chips have 640 and 16 have 512
    assert [cell.split()[0] for cell in links] == [f"{mean:.2f}", "614.4", "704"]
    compute = cells("BF16 compute")
    assert "sources disagree: trainium1: 210" in compute[0]
    assert "sources disagree" not in compute[1] or "trainium" not in compute[1]  # of one model
    assert [pool.split(" from ")[1] for pool in cells("Memory pool")] == ["d0/s0/c0", "d0/s0/c0", "s0/c0"]


@pytest.mark.parametrize(
    ("domain", "ends", "hops", "bisection"),
    [
        ("d2", ("s0/c0", "s0/c5"), 2, "1,024 GB/s"),
        ("d6", ("s0/c0", "s2/c10"), 6, "2,048 GB/s"),
        ("d9", ("s0/c0", "s3/c1"), 3, "4,096 GB/s"),
        ("d10", ("s0/c0", "s2/c3"), 2, "2,432 GB/s"),
    ],
)
def test_paths_and_bisections_of_its_domains_are_those_of_their_models(
    opened: Open,
    domain: str,
    ends: tuple[str, str],
    hops: int,
    bisection: str,
) -> None:
    one, other = ends
    page = opened(f"#/domain/prod/{domain}?from={one}&to={other}")
    expect(figure(page, "Shortest path")).to_have_text(f"{hops} hops")
    expect(figure(page, "Bisection bandwidth")).to_contain_text(bisection)
    expect(page.locator(".wire.path")).to_have_count(hops)
    table = page.get_by_role("table").filter(has=page.get_by_role("columnheader", name="instances"))
    expect(table.get_by_role("row").nth(1)).to_contain_text(re.compile("i-[0-9a-f]+|ip-|compute"))


def test_its_free_chips_are_those_of_a_domain(opened: Open) -> None:
    page = opened("#/jobs?in=prod")
    capacity = page.get_by_role("region", name="Free capacity")
    expect(capacity).to_contain_text("several models, which are placed separately")
    assert page.locator(".failure").count() == 0
    assert page.get_by_role("region", name="Chips of prod").count() == 0
    with held_back(page):
        capacity.get_by_role("link", name="d0", exact=True).click()
        expect(page.get_by_role("heading", name="Free capacity in prod/d0")).to_be_visible()
        assert page.locator(".failure").count() == 0  # the cluster's refusal is not the domain's
    expect(capacity).to_contain_text("Largest free block")
    expect(page.get_by_role("region", name="Chips of prod/d0")).to_contain_text("free")
    page.evaluate("location.hash = '#/jobs'")
    expect(capacity).to_contain_text("The domains of prod have several models")


def test_a_place_for_a_job_is_looked_for_in_a_domain(opened: Open) -> None:
    for scope in ("", "in=prod&"):
        page = opened(f"#/jobs?{scope}fit=chips:8")
        place = page.get_by_role("region", name="Place a job")
        expect(place).to_contain_text("The domains of prod have several models")
        expect(place).not_to_contain_text("trninv list")
        assert page.locator(".failure").count() == 0
    place.get_by_role("link", name="d6", exact=True).click()
    expect(place).to_contain_text("8 chips: ")


@pytest.mark.parametrize("refusing", ["prod", "small"])
def test_what_a_cluster_refuses_is_said_beside_the_domains_of_another(opened: Open, refusing: str) -> None:
    page = opened("#/")
    error = {"message": "too many chips", "extensions": {"code": "BAD_ARGUMENT"}}

    def answer(route: Route) -> None:
        query = route.request.post_data or ""
        if "query Fits" in query and f'"{refusing}"' in query:
            route.fulfill(json={"data": None, "errors": [error]})
        else:
            route.fallback()

    page.route("**/graphql", answer)
    page.evaluate("location.hash = '#/jobs?fit=chips:8'")
    place = page.get_by_role("region", name="Place a job")
    mixed = {"prod": "small", "small": "prod"}[refusing]
    expect(place).to_contain_text(f"The domains of {mixed} have several models")
    expect(place).to_contain_text(f"{refusing} was not searched: too many chips.")
    expect(place).not_to_contain_text(f"The domains of {refusing}")
    page.evaluate("to => { location.hash = to }", f"#/jobs?in={refusing}&fit=chips:8")
    expect(place.locator(".failure")).to_have_text("too many chips")


def test_a_cluster_of_several_models_says_which_and_has_a_small_picture(opened: Open) -> None:
    page = opened("#/")
    clusters = page.locator("section[aria-label=Clusters]")
    small = clusters.get_by_role("row").filter(has=page.get_by_role("link", name="small"))
    expect(small).to_contain_text("small 1 × Trn2-16.48xlarge1 × Trn2 UltraServer")
    prod = clusters.get_by_role("row").filter(has=page.get_by_role("link", name="prod"))
    expect(prod).to_contain_text("prod 11 domains of 6 models")
    expect(prod.get_by_title("4 × Trn2-16.48xlarge, 1 × Trn3 Gen1 UltraServer")).to_have_count(1)
    assert drawn(small) == 16 + 64, "a square is a chip"
    assert drawn(prod) == 11, "a square is a domain"
    page.evaluate("location.hash = '#/cluster/small'")
    expect(page.locator("main header")).to_contain_text("1 × Trn2-16.48xlarge, 1 × Trn2 UltraServer")
    page.evaluate("location.hash = '#/compare?of=small,prod'")
    heads = page.locator(".compare .head")
    assert [drawn(heads.nth(0)), drawn(heads.nth(1))] == [80, 11]


def drawn(place: Locator) -> int:
    """Count the squares of a small picture."""
    expect(place.locator(".cluster-miniature path")).to_have_count(1)
    return (place.locator(".cluster-miniature path").get_attribute("d") or "").count("z")
