"""Copying a database: between both kinds and back, whole or not at all, never over what nobody gave up."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import Engine, select, text

from apart import copy_half, killed_half_way
from conftest import BACKENDS, Databases, seed_everything, wear
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import DatabaseError, UsageError
from trninv.inventory.access import bearer_tokens
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify
from trninv.inventory.transfer import copy_database


def _use(url: str) -> None:
    seed_everything(url)
    wear(url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        bearer_tokens.create_token(connection, "grafana", "read", "90d")


@pytest.fixture
def used(databases: Databases, request: pytest.FixtureRequest) -> str:
    """URL of a database with clusters, states, events and a token."""
    return databases.copied(request.param, _use)


def _everything(engine: Engine) -> dict[str, list[tuple[object, ...]]]:
    with engine.connect() as connection:
        return {
            name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for name, table in TABLES.items()
        }


def _copy(source: Engine, target: Engine, *, replace: bool = False) -> int:
    migration.create_tables_if_missing(target)
    with read_transaction(source) as found, write_transaction(target, foreign_keys=False) as made:
        return copy_database(found, made, replace=replace)


@pytest.mark.slow
@pytest.mark.parametrize("used", BACKENDS, indirect=True)
def test_a_copy_has_every_row_and_so_has_the_copy_of_it(used: str, databases: Databases) -> None:
    with temporary_engine(used) as first:
        before = _everything(first)
        assert all(before[name] for name in ("fact", "cluster", "link", "state_event", "token"))
        for backend in BACKENDS:
            with (
                temporary_engine(databases.migrated(backend)) as second,
                temporary_engine(databases.migrated("sqlite")) as third,
            ):
                assert _copy(first, second) == _copy(second, third) == sum(map(len, before.values()))
                assert _everything(second) == _everything(third) == before
                assert migration.schema_differences(second) is None


@pytest.mark.parametrize("used", ["sqlite"], indirect=True)
def test_a_copy_goes_on_as_its_original(used: str, tables: str) -> None:
    with temporary_engine(used) as source, temporary_engine(tables) as target:
        _copy(source, target)
        with write_transaction(target) as connection:
            assert cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1"), "lab")
            bearer_tokens.revoke_token(connection, "grafana")
        with read_transaction(target) as connection:
            assert list(verify(connection, default_catalog(), default_systems())) == []
        with pytest.raises(Exception, match="append only"), target.begin() as connection:
            connection.execute(text("DELETE FROM state_event"))


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize("used", ["sqlite"], indirect=True)
def test_rows_that_are_there_are_removed_only_if_told(used: str, seeded: str) -> None:
    wear(seeded)
    with temporary_engine(used) as source, temporary_engine(seeded) as target:
        before = _everything(target)
        with pytest.raises(UsageError, match=r"has [\d,]+ rows: name an empty database, or add --replace"):
            _copy(source, target)
        assert _everything(target) == before
        _copy(source, target, replace=True)
        assert _everything(target) == _everything(source) != before
        with pytest.raises(Exception, match="append only"), target.begin() as connection:
            connection.execute(text("DELETE FROM state_event"))


def test_a_database_is_not_copied_to_itself(seeded: str) -> None:
    with temporary_engine(seeded) as source, temporary_engine(seeded) as target:
        before = _everything(source)
        with pytest.raises(UsageError, match="both FROM and TO"):
            _copy(source, target, replace=True)
        assert _everything(source) == before


_CHANGING = {
    "sqlite": ["CREATE TRIGGER t AFTER INSERT ON rack BEGIN UPDATE rack SET rack_units = 1 WHERE id = new.id; END"],
    "postgresql": [
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN new.rack_units = 1; RETURN new; END'",
        "CREATE TRIGGER t BEFORE INSERT ON rack FOR EACH ROW EXECUTE FUNCTION f()",
    ],
}


@pytest.mark.parametrize("used", ["sqlite"], indirect=True)
def test_a_row_that_differs_afterwards_undoes_everything(used: str, tables: str) -> None:
    with temporary_engine(used) as source, temporary_engine(tables) as target:
        with target.begin() as connection:
            for statement in _CHANGING[target.dialect.name]:
                connection.execute(text(statement))
        with pytest.raises(DatabaseError, match="did not keep the rows of rack"):
            _copy(source, target)
        assert not any(_everything(target).values())


def test_a_row_that_the_target_cannot_hold_undoes_everything(databases: Databases) -> None:
    with (
        temporary_engine(databases.seeded("sqlite")) as source,
        temporary_engine(databases.migrated("postgresql")) as target,
    ):
        with source.begin() as connection:
            connection.execute(text("UPDATE source SET title = 'a' || char(0) WHERE id = 1"))
        with pytest.raises(DatabaseError, match="refused rows of source"):
            _copy(source, target)
        assert not any(_everything(target).values())


@pytest.mark.parametrize(
    ("statement", "refusal"),
    [
        ("UPDATE rack SET rack_units = 0", "rows of rack: CHECK constraint ck_rack_rack_units"),
        ("UPDATE chip SET tray_id = 999999", "rows of chip: a foreign key to a row that tray does not have"),
    ],
)
def test_rows_that_sqlite_only_checks_afterwards_undo_everything(
    databases: Databases, statement: str, refusal: str
) -> None:
    with (
        temporary_engine(databases.seeded("sqlite")) as source,
        temporary_engine(databases.migrated("sqlite")) as target,
    ):
        with closing(sqlite3.connect(str(source.url.database), isolation_level=None)) as file:
            file.execute("PRAGMA ignore_check_constraints = ON")
            file.execute(statement)
        with pytest.raises(DatabaseError, match=refusal):
            _copy(source, target)
        assert not any(_everything(target).values())
        with write_transaction(target) as connection:  # the next one checks them again
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
            assert connection.exec_driver_sql("PRAGMA ignore_check_constraints").scalar() == 0


@pytest.mark.parametrize(
    ("tables", "at"),
    [
        pytest.param("sqlite", "writing fact", marks=pytest.mark.slow),
        ("sqlite", "writing link"),
        pytest.param("sqlite", "comparing token", marks=pytest.mark.slow),
        ("postgresql", "comparing token"),
    ],
    indirect=["tables"],
)
@pytest.mark.parametrize("used", ["sqlite"], indirect=True)
def test_a_kill_leaves_nothing_and_the_next_copy_is_whole(used: str, tables: str, at: str) -> None:
    killed_half_way(copy_half, used, tables, at)
    with temporary_engine(used) as source, temporary_engine(tables) as target:
        assert not any(_everything(target).values())
        _copy(source, target)
        assert _everything(target) == _everything(source)


@pytest.mark.slow
def test_many_rows_are_loaded_before_their_keys_are_made(databases: Databases) -> None:
    with (
        temporary_engine(databases.empty("sqlite")) as source,
        temporary_engine(databases.empty("postgresql")) as target,
    ):
        migration.migrate(source)
        with write_transaction(source) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("rainier").resized(60), "large")
        progress: list[tuple[str, int, int]] = []
        migration.create_tables_if_missing(target)
        with read_transaction(source) as found, write_transaction(target) as made:
            rows = copy_database(found, made, lambda *at: progress.append(at))
        assert rows > 50_000
        assert progress[-1][1:] == (2 * rows, 2 * rows)
        assert [done for _, done, _ in progress] == sorted(done for _, done, _ in progress)
        assert migration.schema_differences(target) is None
        assert _everything(target) == _everything(source)
