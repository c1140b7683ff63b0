"""Seeding: idempotent, one transaction per system, nothing left behind by a kill, the same rows on both databases."""

import threading

import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.schema import CreateTable

from apart import killed_half_way, seed_half
from conftest import BACKENDS, SYSTEMS, Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import ClusterExistsError, DatabaseError, SchemaOutdatedError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify

_TIMES = {("cluster", "known_since"), ("history_start", "at")}


def _everything(engine: Engine) -> dict[str, list[tuple[object, ...]]]:
    """Every row, without the time at which a cluster was seeded."""
    with engine.connect() as connection:
        return {
            name: [
                tuple(row)
                for row in connection.execute(
                    select(*(column for column in table.c if (name, column.name) not in _TIMES)).order_by(
                        *table.primary_key
                    )
                )
                if name != "part_count" or row.number  # a count may have fallen to 0
            ]
            for name, table in TABLES.items()
        }


def test_seeding_again_changes_nothing(engine: Engine) -> None:
    before = _everything(engine)
    for system in SYSTEMS:
        with write_transaction(engine) as connection:
            assert cluster_seeding.seed(connection, default_catalog(), system) is False
    assert _everything(engine) == before


def test_both_databases_hold_the_same_rows(databases: Databases) -> None:
    found = []
    for backend in BACKENDS:
        with temporary_engine(databases.seeded(backend)) as engine:
            found.append(_everything(engine))
    assert found[0] == found[1]
    assert {
        name: len(rows) for name, rows in found[0].items() if name in ("chip", "core", "link", "nic", "switch")
    } == {
        "chip": 305,
        "core": 2 + 32 + 128 + 512 + 512 + 1152,
        "link": 1 + 48 + 48 + 256 + 224 + 504,
        "nic": 1 + 8 + 16 + 64 + 64 + 144,
        "switch": 6 + 38,
    }


@pytest.mark.slow_on_postgresql
def test_the_same_system_twice_under_two_names(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        assert cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64"), "lab")
    with read_transaction(engine) as connection:
        assert list(verify(connection, default_catalog(), default_systems())) == []


def test_a_name_of_another_system_is_refused(engine: Engine) -> None:
    with pytest.raises(ClusterExistsError, match="choose another --name"), write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1.32xlarge"), "u-trn2x64")


def test_unseeding_leaves_the_others_as_they_were(engine: Engine) -> None:
    before = _everything(engine)
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn3-gen1"), "lab")
    with write_transaction(engine) as connection:
        key = connection.scalar(text("SELECT id FROM cluster WHERE slug = 'lab'"))
        cluster_seeding.unseed(connection, int(key or 0))
    after = _everything(engine)
    assert [row[3:5] for row in after["history_start"][len(SYSTEMS) :]] == [("lab", "seed"), ("lab", "unseed")]
    assert after | {"history_start": after["history_start"][: len(SYSTEMS)]} == before


def test_an_error_leaves_nothing(engine: Engine) -> None:
    before = _everything(engine)

    def fail_half_way() -> None:
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64"), "lab")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert _everything(engine) == before


def test_without_tables_it_says_what_to_do(empty: str) -> None:
    with (
        temporary_engine(empty) as engine,
        pytest.raises(SchemaOutdatedError, match="run trninv migrate"),
        write_transaction(engine),
    ):
        pass


@pytest.mark.parametrize(
    ("tables", "filled"),
    [("sqlite", 10), ("postgresql", 10), *(pytest.param("sqlite", most, marks=pytest.mark.slow) for most in (1, 6))],
    indirect=["tables"],
)
def test_a_kill_in_the_middle_leaves_nothing(tables: str, filled: int) -> None:
    with temporary_engine(tables) as engine:
        before = _everything(engine)
    killed_half_way(seed_half, tables, filled)
    with temporary_engine(tables) as engine:
        assert _everything(engine) == before
        with write_transaction(engine) as connection:
            assert cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64"))
        with read_transaction(engine) as connection:
            assert list(verify(connection, default_catalog(), default_systems())) == []


def test_two_at_once_take_turns(tables: str) -> None:
    results: list[bool] = []

    def work() -> None:
        with temporary_engine(tables) as engine:
            for system in SYSTEMS[:3]:
                with write_transaction(engine) as connection:
                    results.append(cluster_seeding.seed(connection, default_catalog(), system))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False] * 3 + [True] * 3
    with temporary_engine(tables) as engine, read_transaction(engine) as connection:
        assert list(verify(connection, default_catalog(), default_systems())) == []


def test_a_changed_catalog_is_refused_beside_older_clusters(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE link_model SET bandwidth_bytes_per_s = 1 WHERE slug = 'neuronlink-v2'"))
    before = _everything(engine)
    with (
        pytest.raises(DatabaseError, match="neuronlink-v2 has different numbers"),
        write_transaction(engine) as connection,
    ):
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1"), "lab")
    assert _everything(engine) == before


@pytest.mark.slow
def test_a_cluster_of_many_domains_with_its_fabric(engine: Engine) -> None:
    """Both ways of loading PostgreSQL: keys made after the rows, and kept while they come."""
    before = _everything(engine)
    system = default_systems().get("rainier").resized(270)
    with write_transaction(engine) as connection:
        assert cluster_seeding.seed(connection, default_catalog(), system, "large")
        assert cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(3), "three")
    with read_transaction(engine) as connection:
        assert list(verify(connection, default_catalog(), default_systems())) == []
        assert connection.scalar(text("SELECT count(*) FROM network_node")) == 34 + 2 + 1 + 3
        over = "SELECT sum(bandwidth_bytes_per_s) FROM link JOIN network_node ON network_node.id = b_id AND tier = 1"
        assert connection.scalar(text(over)) == (270 * 64 + 3 * 16) * 25 * 10**9
    assert migration.schema_differences(engine) is None
    with write_transaction(engine) as connection:
        for slug in ("large", "three"):
            cluster_seeding.unseed(connection, resolve_place(connection, slug).id)
    after = _everything(engine)
    begun = after["history_start"][: len(SYSTEMS)]  # starts are only ever added
    assert after | {"history_start": begun} == before
    assert migration.schema_differences(engine) is None
    assert "CONSTRAINT fk_link_a_id" in str(CreateTable(TABLES["link"]))  # what is declared stays declared


def test_clusters_of_other_sizes_are_told_apart(engine: Engine) -> None:
    with pytest.raises(ClusterExistsError, match="u-trn2x64 of 1 domain"), write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64").resized(2))
