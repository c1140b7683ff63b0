"""Clusters of several models under network nodes in no documented shape: stamped, verified, removed."""

from collections import Counter
from collections.abc import Iterator

import pytest
from irregular import MIXED, irregular, make, plan
from sqlalchemy import Engine, func, select, text

from conftest import BACKENDS, Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.cluster_plan import load_plan
from trninv.inventory.seeding.totals import cluster_totals
from trninv.inventory.seeding.verification import verify
from trninv.topology.fabric_tree import FabricTree

PLANS = {
    "mixed": irregular(MIXED, 1),
    "deep": irregular({"trn1.32xlarge": 4}, 3),
    "gen2": irregular({"trn3-gen2": 2}, 5),
}


def _adopt(url: str) -> None:
    make(url, PLANS)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(3), "after")


def _adopt_lab(url: str) -> None:
    make(url, {"lab": irregular({"trn1.32xlarge": 2, "trn2-16.48xlarge": 2}, 7, split=False)})


@pytest.fixture
def adopted(databases: Databases, request: pytest.FixtureRequest) -> Iterator[Engine]:
    with temporary_engine(databases.copied(request.param, _adopt)) as engine:
        yield engine


both = pytest.mark.parametrize("adopted", BACKENDS, indirect=True)
lite = pytest.mark.parametrize("adopted", ["sqlite"], indirect=True)


def _differences(engine: Engine, slug: str | None = None) -> set[tuple[str, str, str]]:
    with read_transaction(engine) as connection:
        return {
            (one.cluster, one.table, one.kind) for one in verify(connection, default_catalog(), default_systems(), slug)
        }


def test_of_an_unchanged_lab_nothing_is_found(databases: Databases) -> None:
    with temporary_engine(databases.copied("sqlite", _adopt_lab)) as engine:
        assert _differences(engine) == set()


@pytest.mark.slow_on_postgresql
@both
def test_what_was_adopted_is_what_its_plan_says(adopted: Engine) -> None:
    assert _differences(adopted) == set()
    assert _differences(adopted, "mixed") == set()
    with read_transaction(adopted) as connection:
        for slug, wanted in PLANS.items():
            cluster = connection.execute(select(TABLES["cluster"]).where(TABLES["cluster"].c.slug == slug)).mappings()
            found = load_plan(connection, default_catalog(), default_systems(), cluster.one())
            assert found == wanted
        place = resolve_place(connection, "mixed")
        assert cluster_totals(connection, place.id)["chips"] == sum(
            part.domains * part.model.blueprint.chips for part in PLANS["mixed"].domain_groups
        )


def _tiers(engine: Engine, slug: str) -> dict[str, tuple[int, str | None, int, int]]:
    """Of each network node: its tier, the one above it, and bandwidth and cables of its uplink."""
    query = """
        SELECT low.vendor_id, low.tier, high.vendor_id, link.bandwidth_bytes_per_s, link.cables
        FROM network_node AS low JOIN node ON node.id = low.id JOIN cluster ON cluster.id = node.cluster_id
        LEFT JOIN link ON link.a_id = low.id LEFT JOIN network_node AS high ON high.id = link.b_id
        WHERE cluster.slug = :slug"""
    with engine.connect() as connection:
        return {row[0]: tuple(row[1:]) for row in connection.execute(text(query), {"slug": slug})}


@lite
def test_an_uplink_carries_what_all_nics_below_it_do(adopted: Engine) -> None:
    below = """
        SELECT network_node.vendor_id, sum(nic.bandwidth_bytes_per_s), count(*)
        FROM nic JOIN link ON link.a_id = nic.id JOIN network_node ON network_node.id = link.b_id
        JOIN node ON node.id = nic.id JOIN cluster ON cluster.id = node.cluster_id AND cluster.slug = :slug
        GROUP BY network_node.vendor_id"""
    for slug in PLANS:
        tiers = _tiers(adopted, slug)
        carried, cables = Counter[str](), Counter[str]()
        with adopted.connect() as connection:
            for name, bandwidth, count in connection.execute(text(below), {"slug": slug}):
                carried[name], cables[name] = bandwidth, count
        for name, (tier, above, bandwidth, count) in sorted(tiers.items(), key=lambda item: -item[1][0]):
            assert (above is None) == (tier == 1)
            if above is not None:
                assert (bandwidth, count) == (carried[name], cables[name])
                carried[above] += bandwidth
                cables[above] += count


def test_a_server_hangs_below_the_node_that_it_names(databases: Databases) -> None:
    ways = [[["a", "b", "c"], ["a", "b", "d"]], [["a", "e"]], [["a", "b", "c"]]]
    url = make(databases.migrated("sqlite"), {"lab": plan({"u-trn2x64": 2, "trn1.32xlarge": 1}, ways)})
    query = """
        SELECT DISTINCT domain.ordinal, server.ordinal, network_node.vendor_id
        FROM nic JOIN server ON server.id = nic.server_id JOIN domain ON domain.id = server.domain_id
        JOIN link ON link.a_id = nic.id AND link.scope = 'fabric' JOIN network_node ON network_node.id = link.b_id"""
    with temporary_engine(url) as engine, engine.connect() as connection:
        found = {(domain, server): above for domain, server, above in connection.execute(text(query))}
    first = {(0, server): "cd"[server % 2] for server in range(4)}
    assert found == first | {(1, server): "e" for server in range(4)} | {(2, 0): "c"}


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ("UPDATE network_node SET vendor_id = 'x', ordinal = 7 WHERE tier = 1", "network_node"),
        ("UPDATE link SET bandwidth_bytes_per_s = 1 WHERE a_id IN (SELECT id FROM network_node)", "link"),
        ("DELETE FROM link WHERE a_id IN (SELECT id FROM network_node)", "network_node"),
        ("DELETE FROM link WHERE id IN (SELECT max(id) FROM link WHERE scope = 'fabric' AND domain_id > 0)", "link"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (
                ("UPDATE cluster SET domains = domains + 1", "cluster"),
                ("UPDATE cluster SET domain_model_id = 1", "cluster"),
                ("UPDATE cluster SET system = 'trn1.32xlarge'", "cluster"),
                (
                    "UPDATE domain SET domain_model_id = (SELECT min(domain_model_id) FROM domain) WHERE ordinal = 2",
                    "chip",
                ),
                ("UPDATE server SET rack_id = rack_id - 1 WHERE id = (SELECT max(id) FROM server)", "server"),
            )
        ),
    ],
)
def test_what_was_changed_is_found(databases: Databases, change: str, difference: str) -> None:
    with temporary_engine(databases.copied("sqlite", _adopt_lab)) as engine:
        with engine.begin() as connection:
            connection.execute(text(change))
        assert difference in {table for _, table, _ in _differences(engine)}


@pytest.mark.slow_on_postgresql
@both
def test_it_leaves_nothing_behind(adopted: Engine) -> None:
    with write_transaction(adopted) as connection:
        for slug in PLANS:
            cluster_seeding.unseed(connection, resolve_place(connection, slug).id)
    assert _differences(adopted) == set()
    with read_transaction(adopted) as connection:
        assert connection.scalar(select(func.count()).select_from(TABLES["domain"])) == 3


@pytest.mark.parametrize(
    ("ways", "told"),
    [
        ([["a", "b"], ["c", "b"]], "network node b is in tier 2 below a and in tier 2 below c"),
        ([["a", "b"], ["b", "c"]], "network node b is in tier 2 below a and in tier 1"),
        ([["a", "a"]], "network node a is in tier 1 and in tier 2 below a"),
    ],
)
def test_nodes_in_two_places_are_no_tree(ways: list[list[str]], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        FabricTree.from_network_paths({(0, server): way for server, way in enumerate(ways)})


def test_it_is_verified_where_no_table_can_be_made(databases: Databases) -> None:
    url = make(databases.migrated("postgresql"), {"lab": irregular({"trn1.32xlarge": 3, "trn2-16.48xlarge": 2}, 4)})
    with temporary_engine(url) as engine, engine.connect() as connection:
        connection.execute(text("SET TRANSACTION READ ONLY"))
        assert list(verify(connection, default_catalog(), default_systems())) == []
        assert list(verify(connection, default_catalog(), default_systems(), "lab")) == []
