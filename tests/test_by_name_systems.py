"""Systems that are seeded by name go through everything that the others do, on both databases."""

import pytest
from graphql_sums import adds_up
from queries import run_query
from sqlalchemy import text

from conftest import Run, both_ways
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction
from trninv.errors import InvalidArgumentError
from trninv.exporters.format import format_names
from trninv.inventory.seeding.totals import cluster_totals
from trninv.inventory.seeding.verification import verify
from trninv.reports.report_library import find_report
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

GIB, GB = 2**30, 10**9
SLUGS = ("inf2.xlarge", "inf2.8xlarge", "inf2.24xlarge", "inf2.48xlarge", "trn1n.32xlarge", "trn2.3xlarge")
TOTALS = {  # chips, vCPUs, host memory, device memory, its bandwidth, EFA bandwidth
    "inf2.xlarge": (1, 4, 16 * GIB, 32 * GIB, 820 * GB, None),
    "inf2.8xlarge": (1, 32, 128 * GIB, 32 * GIB, 820 * GB, None),
    "inf2.24xlarge": (6, 96, 384 * GIB, 192 * GIB, 4_920 * GB, None),
    "inf2.48xlarge": (12, 192, 768 * GIB, 384 * GIB, 9_840 * GB, None),
    "trn1n.32xlarge": (16, 128, 512 * GIB, 512 * GIB, 13_120 * GB, 200 * GB),
    "trn2.3xlarge": (1, 12, 128 * GIB, 96 * GIB, 2_900 * GB, 25 * GB),
}
LINKS = {"inf2.24xlarge": (5, 48), "inf2.48xlarge": (12, 48), "trn1n.32xlarge": (32, 96)}
HALVES = {"inf2.24xlarge": 48, "inf2.48xlarge": 96, "trn1n.32xlarge": 768}  # 1, 2 and 8 links
FARTHEST = {"inf2.24xlarge": 5, "inf2.48xlarge": 6, "trn1n.32xlarge": 4}


def test_these_are_all_that_a_plain_seed_leaves_out_by_name() -> None:
    assert {system.slug for system in default_systems().systems if system.is_by_name} == set(SLUGS)


def test_what_is_seeded_is_as_documents_say(named: BaseFleet) -> None:
    names = ("chips", "vcpus", "host_memory", "device_memory", "device_memory_bandwidth", "efa_bandwidth")
    with read_transaction(named.engine) as connection:
        assert list(verify(connection, default_catalog(), default_systems())) == []
        found = connection.execute(text("SELECT slug, id FROM cluster")).all()
        assert {row.slug: tuple(map(cluster_totals(connection, row.id).get, names)) for row in found} == TOTALS


@pytest.mark.parametrize("slug", LINKS)
def test_links_bisection_and_collectives_follow_from_the_documents_by_hand(named: BaseFleet, slug: str) -> None:
    query = """
        SELECT count(*), min(link.bandwidth_bytes_per_s), max(link.bandwidth_bytes_per_s) FROM link
        JOIN domain ON domain.id = link.domain_id JOIN cluster ON cluster.id = domain.cluster_id
        WHERE cluster.slug = :slug AND link.scope <> 'host'"""
    with read_transaction(named.engine) as connection:
        links, rate = LINKS[slug]
        assert tuple(connection.execute(text(query), {"slug": slug}).one()) == (links, rate * GB, rate * GB)
    half = named.bisection(slug)
    assert (int(half.lower), int(half.upper), half.exact) == (HALVES[slug] * GB, HALVES[slug] * GB, True)
    assert half.side_a == half.side_b == TOTALS[slug][0] // 2
    rings = named.memory_pool(f"{slug}/d0/s0/c0").by_hops
    assert max(ring.hops for ring in rings) == FARTHEST[slug]
    assert sum(ring.chips for ring in rings) == TOTALS[slug][0] - 1


def test_a_chain_ends_where_a_ring_goes_on(named: BaseFleet) -> None:
    for slug in ("inf2.24xlarge", "inf2.48xlarge"):
        assert named.path(f"{slug}/d0/s0/c0", f"{slug}/d0/s0/c5").paths[0].hops == 5
    assert named.path("inf2.48xlarge/d0/s0/c0", "inf2.48xlarge/d0/s0/c11").paths[0].hops == 1
    assert int(named.bandwidth("inf2.48xlarge/d0/s0/c0", "inf2.48xlarge/d0/s0/c6").maximum_flow) == 96 * GB
    assert int(named.bandwidth("inf2.24xlarge/d0/s0/c0", "inf2.24xlarge/d0/s0/c5").maximum_flow) == 48 * GB


@pytest.mark.parametrize(
    "words", [("collectives",), ("distances",), ("free",), ("fragmentation",), ("draw", "-o", "-")]
)
@pytest.mark.parametrize("slug", SLUGS)
def test_commands_answer(named: BaseFleet, run: Run, slug: str, words: tuple[str, ...]) -> None:
    url = named.engine.url.render_as_string(hide_password=False)
    command, *options = words
    status, out, error = run(command, slug, *options, database=url)
    assert (status, error) == (0, "")
    assert out


@pytest.mark.parametrize("slug", SLUGS)
def test_what_a_system_is_said_to_add_up_to_is_what_is_seeded(named: BaseFleet, slug: str) -> None:
    adds_up(both_ways(named), slug)


@pytest.mark.parametrize("slug", SLUGS)
def test_the_explorer_has_a_place_for_every_chip(named: BaseFleet, slug: str) -> None:
    for narrow in ("false", "true"):
        document = f'{{ layout(place: "{slug}/d0", narrow: {narrow}) {{ places {{ address x y }} }} }}'
        parts = both_ways(named)(document)["data"]["layout"]["places"]
        assert len({(part["x"], part["y"]) for part in parts}) == len(parts) == TOTALS[slug][0]


@pytest.mark.parametrize("name", format_names())
@pytest.mark.parametrize("slug", SLUGS)
def test_exports_are_read_back_or_refused_in_a_sentence(named: BaseFleet, run: Run, slug: str, name: str) -> None:
    url = named.engine.url.render_as_string(hide_password=False)
    status, _, error = run("topology", slug, "--as", name, "--check", database=url)
    refused = {"aws"} | ({"astra-sim"} if slug == "inf2.24xlarge" else set())
    refused |= {"astra-sim", "booksim"} if TOTALS[slug][0] == 1 else set()
    assert (status, "Traceback" in error) == (2 if name in refused else 0, False), error


def test_what_links_sum_to_stands_beside_what_documents_say(named: BaseFleet, fleet: BaseFleet) -> None:
    def columns(of: BaseFleet) -> dict[str, tuple[object, object]]:
        rows = run_query(of.engine, find_report("ratios").sql(of.engine.dialect.name, {}), seconds=60).records()
        return {str(row["wired_in"]): (row["neuronlink_gb_per_s"], row["wired_gb_per_s"]) for row in rows}

    assert columns(fleet)["trn3-gen1"] == columns(fleet)["trn3-gen2"] == (1024.0, 704.0)
    assert columns(fleet)["trn2-16.48xlarge"] == (640.0, 512.0)
    assert columns(named)["trn1n.32xlarge"] == (384.0, 384.0)
    assert columns(named)["inf2.24xlarge"] == (96.0, 96.0)
    assert columns(named)["trn2.3xlarge"] == (640.0, None)


def test_nothing_joins_two_domains_without_efa() -> None:
    assert default_systems().get("trn1n").resized(2).chips == 32
    with pytest.raises(InvalidArgumentError, match=r"inf2.48xlarge has no EFA devices to connect 2 domains"):
        default_systems().get("inf2.48xlarge").resized(2)
