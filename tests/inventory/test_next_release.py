"""What a migration of the next release means for services of this one that run on meanwhile."""

from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from next_release import write_next_release
from sqlalchemy import Engine, inspect, text

from conftest import Run
from trninv.database import engine as engine_module
from trninv.database import migration
from trninv.database.engine import newest_schema_version, read_transaction, temporary_engine, write_transaction
from trninv.errors import SchemaOutdatedError
from trninv.settings import resource_directory

Release = Callable[[str, str], None]


@pytest.fixture
def next_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """Migrate the database of a URL as a release does that has one more migration, with such a declaration."""

    def migrate(url: str, declaration: str) -> None:
        write_next_release(tmp_path, declaration)
        with monkeypatch.context() as release:
            for module in (migration, engine_module):
                release.setattr(module, "resource_directory", lambda: tmp_path)
            newest_schema_version.cache_clear()
            with temporary_engine(url) as engine:
                migration.migrate(engine)
        newest_schema_version.cache_clear()

    return migrate


def test_this_release_goes_on_reading_after_a_migration_that_keeps_readers(seeded: str, next_release: Release) -> None:
    next_release(seeded, "KEEPS_READERS = True")
    with temporary_engine(seeded) as engine:
        with read_transaction(engine) as connection:
            assert connection.scalar(text("SELECT count(*) FROM v_chip")) == 305
        with pytest.raises(SchemaOutdatedError, match="upgrade trninv"), write_transaction(engine):
            pass
        with pytest.raises(SchemaOutdatedError, match="upgrade trninv"):
            migration.migrate(engine)


def test_this_release_stops_after_any_other_migration(seeded: str, next_release: Release) -> None:
    next_release(seeded, "")
    with (
        temporary_engine(seeded) as engine,
        pytest.raises(SchemaOutdatedError, match="upgrade trninv"),
        read_transaction(engine),
    ):
        pass


@pytest.mark.parametrize(
    ("keeps_readers", "says"), [(True, "go on reading, but their changes are refused"), (False, "stop services of")]
)
def test_migrate_says_what_it_means_for_running_services(
    empty: str, run: Run, monkeypatch: pytest.MonkeyPatch, *, keeps_readers: bool, says: str
) -> None:
    before = str(_script().get_revision("head").down_revision)
    assert run("migrate", "--to", before, database=empty)[0] == 0
    oldest_reader = before if keeps_readers else newest_schema_version()
    monkeypatch.setattr(migration, "oldest_reader", lambda _: oldest_reader)
    assert says in " ".join(run("migrate", database=empty)[2].split())
    assert says not in run("migrate", database=empty)[2]


def _script() -> ScriptDirectory:
    return ScriptDirectory.from_config(Config(resource_directory() / "alembic.ini"))


def _columns(engine: Engine) -> dict[tuple[str, str], str]:
    tables = inspect(engine).get_multi_columns().items()
    return {(str(name), column["name"]): str(column["type"]) for (_, name), columns in tables for column in columns}


def test_migrations_that_keep_readers_remove_and_rename_nothing(empty: str) -> None:
    revisions = [each for each in _script().walk_revisions() if getattr(each.module, "KEEPS_READERS", False)]
    assert not any(revision.down_revision is None for revision in revisions)
    with temporary_engine(empty) as engine:
        for revision in reversed(revisions):
            migration.migrate(engine, str(revision.down_revision))
            before = _columns(engine)
            migration.migrate(engine, revision.revision)
            assert before.items() <= _columns(engine).items()
