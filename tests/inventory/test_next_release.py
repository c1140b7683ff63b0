"""What a migration of the next release means for services of this one that run on meanwhile."""

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from next_release import next_release
from sqlalchemy import Engine, inspect, text

from conftest import Run
from trninv.database import migration
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.errors import SchemaOutdatedError
from trninv.settings import resource_directory


def _migrate(url: str, declaration: str) -> None:
    with next_release(declaration), temporary_engine(url) as engine:
        migration.migrate(engine)


def test_this_release_goes_on_reading_after_a_migration_that_keeps_readers(seeded: str) -> None:
    _migrate(seeded, "KEEPS_READERS = True")
    with temporary_engine(seeded) as engine:
        with read_transaction(engine) as connection:
            assert connection.scalar(text("SELECT count(*) FROM v_chip")) == 305
        with pytest.raises(SchemaOutdatedError, match="upgrade trninv"), write_transaction(engine):
            pass
        with pytest.raises(SchemaOutdatedError, match="upgrade trninv"):
            migration.migrate(engine)


@pytest.mark.slow_on_postgresql
def test_this_release_stops_after_any_other_migration(seeded: str) -> None:
    _migrate(seeded, "")
    with (
        temporary_engine(seeded) as engine,
        pytest.raises(SchemaOutdatedError, match="upgrade trninv"),
        read_transaction(engine),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declaration", "effect"),
    [("KEEPS_READERS = True", "go on reading, but their changes are refused"), ("", "stop services of")],
)
def test_migrate_says_what_it_means_for_running_services(tables: str, run: Run, declaration: str, effect: str) -> None:
    with next_release(declaration):
        assert effect in " ".join(run("migrate", database=tables)[2].split())
        assert effect not in run("migrate", database=tables)[2]


def _columns(engine: Engine) -> dict[tuple[str, str], str]:
    tables = inspect(engine).get_multi_columns().items()
    return {(str(name), column["name"]): str(column["type"]) for (_, name), columns in tables for column in columns}


def test_migrations_that_keep_readers_remove_and_rename_nothing(empty: str) -> None:
    script = ScriptDirectory.from_config(Config(resource_directory() / "alembic.ini"))
    revisions = [each for each in script.walk_revisions() if getattr(each.module, "KEEPS_READERS", False)]
    assert not any(revision.down_revision is None for revision in revisions)
    with temporary_engine(empty) as engine:
        for revision in reversed(revisions):
            migration.migrate(engine, str(revision.down_revision))
            before = _columns(engine)
            migration.migrate(engine, revision.revision)
            assert before.items() <= _columns(engine).items()
