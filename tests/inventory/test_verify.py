"""verify finds whatever was changed by hand."""

import sqlite3

import pytest
from sqlalchemy import Connection, Engine, select, text

from conftest import Databases, wear
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.seeding.cluster_plan import load_plan
from trninv.inventory.seeding.expected_rows import expected_rows
from trninv.inventory.seeding.verification import verify
from trninv.inventory.state import hash_chain

pytestmark = pytest.mark.slow_on_postgresql


def _found(connection: Connection, slug: str | None = None) -> set[tuple[str, str, str]]:
    return {
        (one.cluster, one.table, one.kind) for one in verify(connection, default_catalog(), default_systems(), slug)
    }


def _differences(engine: Engine, slug: str | None = None) -> set[tuple[str, str, str]]:
    with read_transaction(engine) as connection:
        return _found(connection, slug)


@pytest.mark.quick_on_postgresql
def test_what_was_seeded_is_as_the_catalog_says(engine: Engine) -> None:
    assert _differences(engine) == set()


def test_the_planner_knows_how_small_a_blueprint_is(engine: Engine) -> None:
    if engine.dialect.name == "sqlite":
        pytest.skip("asks no statistics")
    with read_transaction(engine) as connection:
        table = TABLES["cluster"]
        cluster = connection.execute(select(table).where(table.c.slug == U)).mappings().one()
        plan = load_plan(connection, default_catalog(), default_systems(), cluster)
        assert plan
        with expected_rows(connection, default_catalog(), plan, cluster):
            known = text("SELECT reltuples FROM pg_class WHERE oid = 'blueprint_node'::regclass")
            assert connection.scalar(known) == len(plan.domain_groups[0].model.blueprint.nodes)


@pytest.mark.quick_on_postgresql
def test_batches_of_events_are_one_chain(seeded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wear(seeded)
    with temporary_engine(seeded) as engine, read_transaction(engine) as connection:
        whole = hash_chain.verify_chain(connection)
        assert whole.broken is None
        for size in (1, 7, whole.events - 1, whole.events, whole.events + 1):
            monkeypatch.setattr(hash_chain, "_BATCH_SIZE", size)
            monkeypatch.setattr(hash_chain, "_EVENTS", hash_chain._EVENTS.limit(size))
            assert hash_chain.verify_chain(connection) == whole


U = "u-trn2x64"
_FIRST = "(SELECT first_{0}_id FROM cluster WHERE slug = 'u-trn2x64')"


CHANGES = [
    ("rack", f"rack_units = 48 WHERE id = {_FIRST.format('rack')}"),
    ("server", f"ordinal = 9 WHERE id = {_FIRST.format('server')}"),
    ("tray", f"rack_units = 3 WHERE id = {_FIRST.format('tray')}"),
    ("node", f"kind = 'nic' WHERE id = {_FIRST.format('node')}"),
    ("chip", f"tray_id = {_FIRST.format('tray')} WHERE id = {_FIRST.format('node')}"),
    ("nic", f"bandwidth_bytes_per_s = 1 WHERE id = {_FIRST.format('node')} + 64"),
    ("core", f"ordinal = 9 WHERE id = {_FIRST.format('core')}"),
    ("link", f"bandwidth_bytes_per_s = 1 WHERE id = {_FIRST.format('link')}"),
    ("link", f"b_id = b_id + 40 WHERE id = {_FIRST.format('link')}"),
    ("link", f"lanes = NULL WHERE id = {_FIRST.format('link')}"),
    ("link_model", "bandwidth_bytes_per_s = 1 WHERE slug = 'neuronlink-v3-ring'"),
    ("chip_model", "device_memory_bytes = 1 WHERE slug = 'trainium2'"),
    ("domain_model", "chips = 1 WHERE slug = 'u-trn2x64'"),
    ("server_model", "vcpus = 1 WHERE slug = 'trn2-16.48xlarge'"),
]


@pytest.mark.parametrize(
    ("table", "change"), [*CHANGES[:2], *(pytest.param(*each, marks=pytest.mark.slow) for each in CHANGES[2:])]
)
def test_a_changed_row_is_found(lite: str, table: str, change: str) -> None:
    with temporary_engine(lite) as engine, write_transaction(engine) as connection:
        assert connection.execute(text(f"UPDATE {table} SET {change}")).rowcount == 1
        found = _found(connection, U)
        connection.rollback()
    assert {(U, table, "missing"), (U, table, "unexpected")} <= found


@pytest.mark.quick_on_postgresql
def test_changed_rows_of_every_table_are_found(engine: Engine) -> None:
    with engine.begin() as connection:
        for table, change in CHANGES:
            assert connection.execute(text(f"UPDATE {table} SET {change}")).rowcount == 1
    changed = {(U, table, what) for table, _ in CHANGES for what in ("missing", "unexpected")}
    assert changed <= _differences(engine, U)


def test_a_missing_row_is_found(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"DELETE FROM link WHERE id = {_FIRST.format('link')}"))
    assert _differences(engine, U) == {(U, "link", "missing")}


def test_a_row_too_many_is_found(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"INSERT INTO core (id, chip_id, ordinal) VALUES (99999, {_FIRST.format('node')}, 8)"))
    assert _differences(engine, U) == {(U, "core", "unexpected")}


def test_a_changed_fact_is_found(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE fact SET value = 1 WHERE subject = 'trainium2' AND attribute = 'cores'"))
    assert _differences(engine) == {("", "fact", "missing"), ("", "fact", "unexpected")}


def test_a_total_that_no_document_has_is_found(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE chip_model SET bf16_gflops = 1 WHERE slug = 'trainium3'"))
    found = _differences(engine)
    assert {("trn3-gen1", "cluster", "total"), ("trn3-gen2", "cluster", "total")} <= found


def test_a_state_is_no_difference(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE node SET state = 'down' WHERE id = 20"))
        connection.execute(text("UPDATE link SET state = 'maintenance' WHERE id = 20"))
    assert _differences(engine) == set()


@pytest.mark.parametrize(
    ("change", "differences"),
    [
        ("UPDATE cluster SET slug = 'My Lab' WHERE slug = 'trn3-gen1'", {("My Lab", "cluster", "changed")}),
        (
            "UPDATE link_model SET slug = 'string' WHERE slug = 'efa-200'",
            {("u-trn2x64", "link_model", "missing"), ("", "link_model", "unexpected")},
        ),
        *(
            pytest.param(
                f"UPDATE cluster SET {change} WHERE slug = '{U}'", {(U, "cluster", "changed")}, marks=pytest.mark.slow
            )
            for change in ("system = 'trn2u'", "system = 'mine'", "domain_model_id = 1")
        ),
    ],
)
def test_a_cluster_that_is_not_what_it_says(lite: str, change: str, differences: set[tuple[str, str, str]]) -> None:
    with temporary_engine(lite) as engine, write_transaction(engine) as connection:
        connection.execute(text(change))
        found = _found(connection)
        connection.rollback()
    assert differences <= found


def test_rows_of_no_cluster_are_found(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("DELETE FROM cluster WHERE slug = 'trn3-gen1'")
    connection.close()
    with temporary_engine(url) as engine:
        assert ("", "chip", "unexpected") in _differences(engine)
