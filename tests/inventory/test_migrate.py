"""Migrations: up, down and up again, with data in the tables, to the schema that the classes declare."""

import re
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect, text

from conftest import seed_everything
from trninv.errors import NotReachableError, UsageError
from trninv.inventory import migrate
from trninv.inventory.database import connect
from trninv.inventory.schema import Base
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
        assert _tables(engine) == set(Base.metadata.tables)
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
        assert migrate.current(connection) == REVISIONS[-1] == migrate.head()


def test_a_second_migration_changes_nothing(seeded: str) -> None:
    with connect(seeded) as engine:
        migrate.migrate(engine)
        with engine.connect() as connection:
            assert connection.scalar(text("SELECT count(*) FROM chip")) == 305


def _ddl(engine: Engine) -> dict[str, list[str]]:
    query = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' AND name <> 'alembic_version'"
    with engine.connect() as connection:
        rows = connection.execute(text(query)).all()
    return {name: sorted(line.strip().rstrip(",") for line in sql.splitlines()) for name, sql in rows}


def test_migrations_make_what_the_classes_declare_checks_and_names_included(tmp_path: Path) -> None:
    declared = create_engine("sqlite://")
    Base.metadata.create_all(declared)
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
        assert re.search(r"UPDATE alembic_version SET version_num='0002'", printed)


def test_an_unknown_revision_is_refused(seeded: str) -> None:
    with connect(seeded) as engine, pytest.raises(UsageError, match="nowhere"):
        migrate.migrate(engine, "nowhere")


def test_no_server_is_one_line() -> None:
    with (
        connect("postgresql://nobody@127.0.0.1:1/none") as engine,
        pytest.raises(NotReachableError, match="no database at"),
    ):
        migrate.migrate(engine)
