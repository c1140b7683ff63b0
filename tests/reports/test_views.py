"""Views: in a database as in their files, whatever revisions do to the tables below, and however they are run."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from next_release import VERSION, next_release
from queries import run_query
from sqlalchemy import Engine, inspect, text

from conftest import Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.database import migration
from trninv.database.engine import newest_schema_version, temporary_engine
from trninv.database.tables import TABLES
from trninv.errors import DatabaseError
from trninv.reports import views
from trninv.reports.views import READABLE, ROLE, VIEWS, definition
from trninv.settings import resource_directory

ROOT = Path(__file__).parents[2]
OLD_VIEWS = "CREATE VIEW v_cluster AS SELECT slug FROM cluster", "CREATE VIEW v_old AS SELECT slug FROM v_cluster"
"""What an older trninv left; the second has no file any more."""
REBUILD = """
from alembic import op
import sqlalchemy as sa

revision, down_revision = "0900", "{newest}"


def upgrade() -> None:
    for table in ("cluster", "node", "link"):
        recreate = "always" if op.get_context().dialect.name == "sqlite" else "auto"
        with op.batch_alter_table(table, recreate=recreate) as batch:
            batch.add_column(sa.Column("made_up", sa.Text()))


def downgrade() -> None:
    for table in ("cluster", "node", "link"):
        with op.batch_alter_table(table) as batch:
            batch.drop_column("made_up")
"""


def _names(engine: Engine) -> set[str]:
    return set(inspect(engine).get_view_names())


def _outdated(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return views.outdated_views(connection)


def _execute(engine: Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def _run_as_text(engine: Engine, script: str) -> None:
    """Run a script as sqlite3 and psql do: no driver looks for parameters in it."""
    if engine.dialect.name == "sqlite":
        connection = sqlite3.connect(str(engine.url.database))
        connection.executescript(script)
        connection.close()
    else:
        url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(script.encode())


@pytest.fixture
def on_postgresql(databases: Databases) -> str:
    """URL of a seeded PostgreSQL database of one's own; named before what changes the migrations."""
    return databases.seeded("postgresql")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of views that a test may change: the shipped ones and one more, that reads another."""
    made = tmp_path / "views"
    shutil.copytree(ROOT / "trninv" / "reports" / "views", made)
    (made / "v_zone.sql").write_text("SELECT address, 'a:b' AS colon, 7 % 4 AS rest FROM v_cluster\n")
    monkeypatch.setattr(views, "_FOLDER", made)
    monkeypatch.setattr(views, "VIEWS", (*VIEWS, "v_zone"))
    return made


@pytest.fixture
def rebuilding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A revision after the newest one, that makes tables anew which views read."""
    shutil.copytree(resource_directory() / "migrations", tmp_path / "migrations")
    shutil.copy(resource_directory() / "alembic.ini", tmp_path)
    (tmp_path / "migrations" / "versions" / "0900_rebuild.py").write_text(
        REBUILD.format(newest=newest_schema_version())
    )
    monkeypatch.setattr(migration, "resource_directory", lambda: tmp_path)
    monkeypatch.setattr(migration, "newest_schema_version", lambda: "0900")
    return "0900"


def test_the_views_of_a_database_are_those_of_the_files(engine: Engine) -> None:
    with engine.connect() as connection:
        for name in VIEWS:
            if engine.dialect.name == "sqlite":
                found = connection.scalar(text("SELECT sql FROM sqlite_master WHERE name = :name"), {"name": name})
                assert found == definition(name, "sqlite")
            else:
                again = definition(name, "postgresql").replace(
                    f"CREATE VIEW {name} ", f"CREATE TEMP VIEW again_{name} "
                )
                connection.execute(text(again))
                both = text("SELECT pg_get_viewdef(:made\\:\\:regclass) = pg_get_viewdef(:again\\:\\:regclass)")
                assert connection.scalar(both, {"made": name, "again": f"again_{name}"}), name
        assert _names(engine) - {f"again_{name}" for name in VIEWS} == set(VIEWS)
        assert views.check_views(connection) is None


def test_no_file_keeps_a_placeholder_and_an_unknown_one_is_refused(folder: Path) -> None:
    assert not any("{{" in definition(name, dialect) for name in VIEWS for dialect in ("sqlite", "postgresql"))
    (folder / "v_zone.sql").write_text("SELECT {{ nothing }} AS nothing")
    with pytest.raises(KeyError, match="nothing"):
        definition("v_zone", "sqlite")


def test_a_revision_may_rebuild_a_table_that_views_read(seeded: str, rebuilding: str) -> None:
    with temporary_engine(seeded) as engine:
        migration.migrate(engine)
        with engine.connect() as connection:
            assert migration.schema_version(connection) == rebuilding
            assert connection.scalar(text("SELECT count(*) FROM v_link")) == connection.scalar(
                text("SELECT count(*) FROM link")
            )
        assert (_names(engine), _outdated(engine)) == (set(VIEWS), [])
        migration.migrate(engine, newest_schema_version())
        assert _names(engine) == set()
        migration.migrate(engine)
        assert _names(engine) == set(VIEWS)


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize(
    "plain", [pytest.param(True, id="alembic", marks=pytest.mark.slow), pytest.param(False, id="trninv")]
)
def test_a_database_with_the_views_of_an_older_trninv_is_upgraded(empty: str, plain: bool) -> None:
    with temporary_engine(empty) as engine:
        with next_release():
            migration.migrate(engine)
            migration.migrate(engine, "-1")
        _execute(engine, *OLD_VIEWS)
        if plain:
            environment = {**os.environ, "TRNINV_DATABASE_URL": empty}
            command = [
                sys.executable,
                "-m",
                "alembic",
                "-c",
                str(resource_directory() / "alembic.ini"),
                "upgrade",
                "head",
            ]
            subprocess.run(command, env=environment, check=True, capture_output=True, cwd=ROOT)
        else:
            migration.migrate(engine)
        assert (_names(engine), _outdated(engine)) == (set(VIEWS), [])


@pytest.mark.slow_on_postgresql
def test_older_revisions_have_no_views(seeded: str) -> None:
    with temporary_engine(seeded) as engine, next_release():
        for to, expected in (("head", set(VIEWS)), ("-1", set()), ("+1", set(VIEWS)), ("base", set())):
            migration.migrate(engine, to)
            assert _names(engine) == expected, to


def test_the_role_of_readers_may_read_no_private_table_after_a_rebuild(on_postgresql: str, rebuilding: str) -> None:
    with temporary_engine(on_postgresql) as engine:
        with engine.begin() as connection:  # as earlier versions did
            connection.execute(text(f"GRANT SELECT ON _change TO {ROLE}"))
        migration.migrate(engine, rebuilding)
        may = text("SELECT has_table_privilege(:role, :name, 'SELECT')")
        with engine.connect() as connection:
            granted = {
                name
                for name in {*TABLES, *VIEWS, "alembic_version"}
                if connection.scalar(may, {"role": ROLE, "name": name})
            }
    assert granted == READABLE == {*TABLES, *VIEWS} - {"principal", "token", "_token_digest", "token_event", "_change"}


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize("is_new", [True, False])
def test_the_printed_script_runs_on_a_real_database(empty: str, folder: Path, is_new: bool) -> None:
    assert folder.is_dir()
    start = "" if is_new else f"{newest_schema_version()}:"
    with temporary_engine(empty) as engine:
        if start:
            migration.migrate(engine)
        with next_release():
            script = migration.upgrade_sql(engine, f"{start}head")
        assert "7 % 4" in script
        _run_as_text(engine, script)
        assert (_names(engine), _outdated(engine)) == ({*VIEWS, "v_zone"}, [])
        with engine.connect() as connection:
            assert migration.schema_version(connection) == VERSION


@pytest.mark.slow_on_postgresql
def test_a_file_that_changes_is_taken_over_by_the_next_migration(seeded: str, folder: Path) -> None:
    query = "SELECT colon, rest FROM v_zone LIMIT 1"
    with temporary_engine(seeded) as engine:
        assert _outdated(engine) == ["v_zone"]
        migration.migrate(engine)
        with engine.connect() as connection:
            assert connection.execute(text(query)).all() == [("a:b", 3)]
        (folder / "v_zone.sql").write_text("SELECT 'other' AS colon, 1 AS rest FROM v_cluster\n")
        assert _outdated(engine) == ["v_zone"]
        migration.migrate(engine)
        with engine.connect() as connection:
            assert connection.execute(text(query)).all() == [("other", 1)]


def test_a_migration_that_changes_nothing_leaves_the_views_alone(on_postgresql: str) -> None:
    with temporary_engine(on_postgresql) as engine:
        _execute(engine, "CREATE VIEW mine AS SELECT address FROM v_chip")
        migration.migrate(engine)
        with pytest.raises(DatabaseError, match="depend on them"):
            migration.migrate(engine, "base")
        assert "mine" in _names(engine)
        assert _outdated(engine) == []


@pytest.mark.slow_on_postgresql
def test_check_names_views_that_are_not_as_they_should_be(seeded: str, run: Run) -> None:
    with temporary_engine(seeded) as engine:
        _execute(engine, "DROP VIEW v_rack", "CREATE VIEW v_mine AS SELECT 1 AS one")
    status, out, _ = run("migrate", "--check", database=seeded)
    assert (status, out) == (1, "views that differ from this version of trninv: v_mine, v_rack: run trninv migrate\n")
    run("migrate", database=seeded)
    assert run("migrate", "--check", database=seeded)[:2] == (0, "the schema is up to date\n")


def test_conflicts_are_those_of_the_catalog(engine: Engine) -> None:
    expected = {(conflict.subject, conflict.attribute) for conflict in default_catalog().conflicts}
    found = run_query(engine, "SELECT subject, attribute FROM v_conflict", seconds=10)
    assert set(found.rows) == expected
    kept = run_query(engine, "SELECT DISTINCT subject, attribute FROM fact WHERE differs_in IS NOT NULL", seconds=10)
    assert set(kept.rows) == expected
    others = run_query(engine, "SELECT subject, attribute, others FROM v_conflict", seconds=10)
    assert set(others.rows) == {
        (conflict.subject, conflict.attribute, "; ".join(default_catalog().other_values(conflict.picked)) or None)
        for conflict in default_catalog().conflicts
    }
    by_unit = run_query(engine, "SELECT subject, attribute FROM v_conflict WHERE differs_in = 'unit'", seconds=10)
    assert set(by_unit.rows) == {
        (of.subject, of.attribute) for of in default_catalog().conflicts if of.differ_in == "unit"
    }


@pytest.mark.slow_on_postgresql
def test_switches_have_their_model(engine: Engine) -> None:
    wanted = [("trn3-gen1", "NeuronSwitch-v1", 6), ("trn3-gen2", "NeuronSwitch-v1", 38)]
    counted = "SELECT cluster, model, count(*) FROM v_switch GROUP BY cluster, model ORDER BY cluster"
    assert run_query(engine, counted, seconds=10).rows == wanted


def test_a_dimension_has_one_unit_in_all_views(engine: Engine) -> None:
    """What a column is measured in stands at the end of its name."""
    with engine.connect() as connection:
        columns = {column["name"] for view in VIEWS for column in inspect(connection).get_columns(view)}
    ends = (re.search("(?:^|_)([a-z]+_per_s|[kmgt]i?b|bytes|[a-z]*flops)$", name) for name in columns)
    assert {end[1] for end in ends if end} == {"gb_per_s", "gib", "tflops"}
