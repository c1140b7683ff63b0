"""Migrations: up, down and up again, with data in the tables, to the declared schema."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.exc import IntegrityError

from conftest import Databases, seed_everything
from trninv.errors import NotMigratedError, NotReachableError, UsageError
from trninv.inventory import migrate
from trninv.inventory.database import connect, newest_revision, reading
from trninv.inventory.schema import METADATA, TABLES
from trninv.settings import bundle

REVISIONS = [
    script.revision
    for script in reversed(list(ScriptDirectory.from_config(Config(bundle() / "alembic.ini")).walk_revisions()))
]


def _tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names()) - {"alembic_version"}


def test_the_stairway(empty: str) -> None:
    with connect(empty) as engine:
        for before, revision in zip(["base", *REVISIONS], REVISIONS, strict=False):
            migrate.migrate(engine, revision)
            migrate.migrate(engine, before)
            migrate.migrate(engine, revision)
        assert _tables(engine) == set(TABLES)
        assert migrate.check(engine) is None
        migrate.migrate(engine, "base")
        assert _tables(engine) == set()


def test_the_stairway_with_data_in_the_tables(empty: str) -> None:
    seed_everything(empty)
    with connect(empty) as engine:
        for revision in [*reversed(REVISIONS[:-1]), "base"]:
            migrate.migrate(engine, revision)
    seed_everything(empty)
    with connect(empty) as engine, engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM chip")) == 305
        assert migrate.current(connection) == REVISIONS[-1] == newest_revision()


def test_a_second_migration_changes_nothing(seeded: str) -> None:
    with connect(seeded) as engine:
        migrate.migrate(engine)
        with engine.connect() as connection:
            assert connection.scalar(text("SELECT count(*) FROM chip")) == 305


def _ddl(engine: Engine) -> dict[str, list[str]]:
    """Columns and constraints of each table, whether they were declared with it or added later, and indexes."""
    query = (
        "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index') AND name NOT LIKE 'sqlite%' "
        "AND name <> 'alembic_version'"
    )
    with engine.connect() as connection:
        rows = connection.execute(text(query)).all()
    parts = {name: re.split(r",(?![^(]*\))|(?=CONSTRAINT)", " ".join(sql.rstrip(" )").split())) for name, sql in rows}
    return {name: sorted(part.strip(" ,)") for part in listed if part.strip(" ,)")) for name, listed in parts.items()}


def test_migrations_make_what_the_classes_declare_checks_and_names_included(tmp_path: Path) -> None:
    declared = create_engine("sqlite://")
    METADATA.create_all(declared)
    with connect(f"sqlite:///{tmp_path / 'migrated.db'}") as migrated:
        migrate.migrate(migrated)
        assert _ddl(migrated) == _ddl(declared)
    declared.dispose()


def test_check_tells_of_a_column_too_many(seeded: str) -> None:
    with connect(seeded) as engine:
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE rack ADD COLUMN colour INTEGER"))
        assert "colour" in (migrate.check(engine) or "")


def test_sql_is_printed_for_either_backend() -> None:
    for url, column in (
        ("sqlite://", "device_memory_bytes INTEGER"),
        ("postgresql://h/d", "device_memory_bytes BIGINT"),
    ):
        with connect(url) as engine:
            printed = migrate.sql(engine)
        assert column in printed
        assert re.search(r"UPDATE alembic_version SET version_num='0003'", printed)


def test_an_unknown_revision_is_refused(seeded: str) -> None:
    with connect(seeded) as engine, pytest.raises(UsageError, match="nowhere"):
        migrate.migrate(engine, "nowhere")


def test_no_server_is_one_line() -> None:
    with (
        connect("postgresql://nobody@127.0.0.1:1/none") as engine,
        pytest.raises(NotReachableError, match="no database at"),
    ):
        migrate.migrate(engine)


def test_foreign_keys_hold_after_a_migration(databases: Databases) -> None:
    with connect(databases.empty("sqlite")) as engine:
        migrate.migrate(engine)
        with pytest.raises(IntegrityError), engine.begin() as connection:
            connection.execute(text("INSERT INTO rack (id, cluster_id, ordinal, rack_units) VALUES (1, 999, 0, 42)"))


@pytest.mark.parametrize("revision", ["0001", "9999"])
def test_another_revision_is_not_asked(engine: Engine, revision: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": revision})
    with pytest.raises(NotMigratedError, match=f"is at revision {revision}"), reading(engine):
        pass


def test_a_newer_database_is_not_migrated(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NotMigratedError, match="upgrade trninv"):
        migrate.migrate(engine)


def test_migrations_at_once_follow_each_other(empty: str) -> None:
    command = [sys.executable, "-m", "trninv", "--database", empty, "migrate"]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [(process.communicate()[1], process.returncode) for process in started] == [("", 0)] * 4
