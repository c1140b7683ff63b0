"""Migrations: up, down and up again, with data in the tables, to the declared schema."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from next_release import next_release
from queries import run_query
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.exc import IntegrityError

import postgres
from apart import at_once, killed_half_way, migrate_half
from conftest import Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import newest_schema_version, read_transaction, temporary_engine, write_transaction
from trninv.database.tables import METADATA, TABLES
from trninv.errors import SchemaOutdatedError, UnreachableError, UsageError
from trninv.inventory.access import bearer_tokens
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify
from trninv.placement.allocations.job_allocations import list_jobs
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.release import release
from trninv.reports import views
from trninv.settings import resource_directory

REVISIONS = [
    script.revision
    for script in reversed(
        list(ScriptDirectory.from_config(Config(resource_directory() / "alembic.ini")).walk_revisions())
    )
]


def _tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names()) - {"alembic_version"}


def test_the_stairway(empty: str) -> None:
    with temporary_engine(empty) as engine:
        for before, revision in zip(["base", *REVISIONS], REVISIONS, strict=False):
            migration.migrate(engine, revision)
            migration.migrate(engine, before)
            migration.migrate(engine, revision)
        assert _tables(engine) == set(TABLES)
        assert migration.schema_differences(engine) is None
        migration.migrate(engine, "base")
        assert _tables(engine) == set()


def _seed_a_server(engine: Engine) -> None:
    migration.migrate(engine)
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1"))


@pytest.mark.slow_on_postgresql
def test_the_stairway_with_data_in_the_tables(seeded: str) -> None:
    with temporary_engine(seeded) as engine:
        for revision in [*reversed(REVISIONS[:-1]), "base"]:
            migration.migrate(engine, revision)
        _seed_a_server(engine)
        with engine.connect() as connection:
            assert connection.scalar(text("SELECT count(*) FROM chip")) == 16
            assert migration.schema_version(connection) == REVISIONS[-1] == newest_schema_version()


def test_a_kill_while_tables_are_removed_leaves_all_as_it_was(seeded: str) -> None:
    with temporary_engine(seeded) as engine:
        with write_transaction(engine) as connection:
            job = allocate(connection, "kept", ["u-trn2x64/d0/s1"], who="me")
        engine.dispose()
        killed_half_way(migrate_half, seeded, "base", "DROP TABLE job")
        assert _tables(engine) == set(TABLES)
        assert migration.schema_differences(engine) is None
        with write_transaction(engine) as connection:
            assert list_jobs(connection, None, 10) == [job]
            assert list(verify(connection, default_catalog(), default_systems())) == []


@pytest.mark.slow_on_postgresql
def test_a_kill_while_tables_are_created_leaves_none(empty: str) -> None:
    killed_half_way(migrate_half, empty, "head", "CREATE TABLE allocation")
    with temporary_engine(empty) as engine:
        assert _tables(engine) == set()
        _seed_a_server(engine)


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize("release", [next_release, nullcontext])
def test_facts_of_an_older_trninv_are_as_the_catalog_says_after_an_upgrade(
    seeded: str, release: Callable[[], AbstractContextManager[object]]
) -> None:
    """Also if the releases have the same schema."""
    with temporary_engine(seeded) as engine:
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM fact WHERE id > 100"))
            connection.execute(text("UPDATE fact SET quote = 'once' WHERE id = 7"))
            connection.execute(text("DELETE FROM legal_set WHERE id > 100"))
        with release():
            migration.migrate(engine)
            with read_transaction(engine) as connection:
                assert list(verify(connection, default_catalog(), default_systems())) == []


@pytest.mark.slow_on_postgresql
def test_each_revision_is_told_of_and_how_many_there_are(empty: str) -> None:
    told: list[tuple[str, int, int]] = []
    with temporary_engine(empty) as engine:
        migration.migrate(engine, progress=lambda *step: told.append(step))
        total = len([*ScriptDirectory(resource_directory() / "migrations").walk_revisions()])
        assert told == [("schema versions", at, total) for at in range(1, total + 1)]
        migration.migrate(engine, progress=lambda *step: told.append(step))
    assert len(told) == total


def test_a_second_migration_changes_nothing(seeded: str) -> None:
    with temporary_engine(seeded) as engine:
        migration.migrate(engine)
        with engine.connect() as connection:
            assert connection.scalar(text("SELECT count(*) FROM chip")) == 305


def _ddl(engine: Engine) -> dict[str, list[str]]:
    """Columns and constraints of each table, whether they were declared with it or added later, and indexes.

    The column of a foreign key is left out: one that was added later has it in front.
    """
    query = (
        "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index') AND name NOT LIKE 'sqlite%' "
        "AND name <> 'alembic_version'"
    )
    with engine.connect() as connection:
        rows = connection.execute(text(query)).all()
    texts = {name: re.sub(r"\)\s*(STRICT|WITHOUT ROWID)\s*$", r", \1", sql) for name, sql in rows}
    parts = {
        name: re.split(
            r",(?![^(]*\))|(?=CONSTRAINT)", re.sub(r"FOREIGN KEY\(\w+\) ", "", " ".join(sql.rstrip(" )").split()))
        )
        for name, sql in texts.items()
    }
    return {name: sorted(part.strip(" ,)") for part in listed if part.strip(" ,)")) for name, listed in parts.items()}


def test_migrations_make_what_the_classes_declare_checks_and_names_included(tmp_path: Path) -> None:
    declared = create_engine("sqlite://")
    METADATA.create_all(declared)
    with temporary_engine(f"sqlite:///{tmp_path / 'migrated.db'}") as migrated:
        migration.migrate(migrated)
        assert _ddl(migrated) == _ddl(declared)
    declared.dispose()


def test_check_tells_of_a_column_too_many(seeded: str) -> None:
    with temporary_engine(seeded) as engine:
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE rack ADD COLUMN colour INTEGER"))
        assert "colour" in (migration.schema_differences(engine) or "")


def test_sql_is_printed_for_either_backend() -> None:
    for url, column in (
        ("sqlite://", "device_memory_bytes INTEGER"),
        ("postgresql://h/d", "device_memory_bytes BIGINT"),
    ):
        with temporary_engine(url) as engine:
            printed = migration.upgrade_sql(engine)
        assert column in printed
        assert f"version_num='{newest_schema_version()}'" in printed


def test_what_is_printed_runs_as_a_script_and_makes_what_migrate_makes(empty: str, tmp_path: Path) -> None:
    script = tmp_path / "trninv.sql"
    with temporary_engine(empty) as engine:
        script.write_text(migration.upgrade_sql(engine))
        if engine.dialect.name == "postgresql":
            postgres.client("psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={script}", empty)
        else:
            with closing(sqlite3.connect(empty.removeprefix("sqlite:///"))) as lite:
                lite.executescript(script.read_text())
        assert migration.schema_differences(engine) is None
        with read_transaction(engine) as connection:
            assert views.check_views(connection) is None
        _seed_a_server(engine)
        assert run_query(engine, "SELECT count(*) FROM v_chip", seconds=60).rows == [(16,)]


@pytest.mark.slow_on_postgresql
def test_going_back_names_what_would_be_lost(engine: Engine) -> None:
    this = newest_schema_version()
    assert migration.data_loss(engine, "head") == migration.data_loss(engine, this) == []
    lost = migration.data_loss(engine, "base")
    assert "chip (305 rows)" in lost
    assert not any(name.startswith(("part_count", "job", "alembic_version")) for name in lost)
    with next_release():
        migration.migrate(engine)
        assert migration.data_loss(engine, this) == []
        with engine.begin() as connection:
            connection.execute(text("UPDATE rack SET colour = 'red' WHERE id < 3"))
        assert migration.data_loss(engine, this) == ["rack.colour (2 values)"]
        assert migration.data_loss(engine, "head") == []
        assert "rack (" in str(migration.data_loss(engine, "base"))


@pytest.mark.slow
def test_going_back_loses_only_what_is_new(run: Run, seeded: str) -> None:
    this = newest_schema_version()
    _, out, _ = run("token", "create", "grafana", database=seeded)
    with temporary_engine(seeded) as engine:
        with write_transaction(engine) as connection:
            job = allocate(connection, "kept", ["u-trn2x64/d0/s1"], who="me")
        with next_release():
            assert run("migrate", database=seeded)[0] == 0
            with engine.begin() as connection:
                connection.execute(text("UPDATE rack SET colour = 'red'"))
            status, _, error = run("migrate", "--to", this, database=seeded)
            assert (status, "would lose rack.colour" in " ".join(error.split())) == (2, True)
            assert run("migrate", "--to", this, "--yes", database=seeded)[0] == 0
        assert run("migrate", database=seeded)[0] == 0
        assert migration.schema_differences(engine) is None
        with write_transaction(engine) as connection:
            assert bearer_tokens.find_principal(connection, out.splitlines()[0]).name == "grafana"
            assert list_jobs(connection, None, 10) == [job]
            assert release(connection, "kept").chips == 16


@pytest.mark.slow_on_postgresql
def test_an_empty_database_has_nothing_to_lose(empty: str) -> None:
    with temporary_engine(empty) as engine:
        assert migration.data_loss(engine, "base") == []
        migration.migrate(engine)
        assert migration.data_loss(engine, "base") == []


def test_an_unknown_revision_is_refused(seeded: str) -> None:
    with temporary_engine(seeded) as engine, pytest.raises(UsageError, match="nowhere"):
        migration.migrate(engine, "nowhere")


def test_no_server_is_one_line() -> None:
    with (
        temporary_engine("postgresql://nobody:secret@127.0.0.1:1/none") as engine,
        pytest.raises(UnreachableError) as raised,
    ):
        migration.migrate(engine)
    assert str(raised.value).startswith("no database at postgresql://nobody:***@127.0.0.1:1/none: ")
    assert str(raised.value).endswith("; check that PostgreSQL runs there and the URL is right")
    assert "\n" not in str(raised.value)


def test_foreign_keys_hold_after_a_migration(databases: Databases) -> None:
    with temporary_engine(databases.empty("sqlite")) as engine:
        migration.migrate(engine)
        with pytest.raises(IntegrityError), engine.begin() as connection:
            connection.execute(text("INSERT INTO rack (id, cluster_id, ordinal, rack_units) VALUES (1, 999, 0, 42)"))


@pytest.mark.parametrize("revision", ["0001", "9999"])
def test_another_revision_is_not_asked(engine: Engine, revision: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :to, oldest_reader = :to"), {"to": revision})
    with pytest.raises(SchemaOutdatedError, match=f"has schema version {revision}"), read_transaction(engine):
        pass


def test_a_newer_database_is_not_migrated(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999', oldest_reader = '9999'"))
    with pytest.raises(SchemaOutdatedError, match="upgrade trninv"):
        migration.migrate(engine)


def test_migrations_at_once_follow_each_other(empty: str) -> None:
    assert at_once(3, "--database", empty, "migrate") == [(0, "")] * 3
