"""A migration ends no request: it gives its locks back before PostgreSQL would look for a deadlock."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from conftest import Databases
from trninv.database import migration, migration_lock
from trninv.database.engine import temporary_engine
from trninv.database.migration_lock import lock_migrations, lock_schema
from trninv.database.tables import TABLES
from trninv.inventory.triggers import registry
from trninv.reports import grants

_WAITS = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = CAST('node' AS regclass)"


def _read_all_tables_while_it_waits(connection: Connection) -> None:
    connection.execute(text("SELECT 1 FROM node LIMIT 1"))
    end = time.monotonic() + 60
    with connection.engine.connect() as watcher:
        while not watcher.scalar(text(_WAITS)):
            assert time.monotonic() < end, "the migration does not wait"
    for name in TABLES:
        connection.execute(text(f'SELECT 1 FROM "{name}" LIMIT 1'))


def test_a_request_that_reads_in_another_order_is_in_no_deadlock_with_a_migration(databases: Databases) -> None:
    with temporary_engine(databases.migrated("postgresql")) as engine, ThreadPoolExecutor(1) as threads:
        with engine.begin() as connection:  # so that there is something to do
            for statement in registry.drop_statements("postgresql"):
                connection.execute(text(statement.replace(":", r"\:")))
        with engine.connect() as request:
            migrating = threads.submit(migration.migrate, engine)
            _read_all_tables_while_it_waits(request)
        migrating.result(60)
        with engine.connect() as connection:
            assert not registry.outdated(connection)


def test_after_many_attempts_it_waits_for_each_lock(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration_lock, "_ATTEMPTS", 1)
    monkeypatch.setattr(migration_lock, "_ATTEMPT_SECONDS", 0.01)
    with (
        temporary_engine(databases.migrated("postgresql")) as engine,
        engine.connect() as request,
        engine.connect() as connection,
        engine.connect() as other,
    ):
        request.execute(text("SELECT 1 FROM node"))
        lock_schema(connection)
        held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND pid = pg_backend_pid()"
        assert connection.scalar(text(held)) == 0
        assert connection.scalar(text("SHOW lock_timeout")) == "0"
        request.rollback()
        lock_schema(connection)
        assert connection.scalar(text(held)) >= len(TABLES)
        other.execute(text("SET lock_timeout = 10"))
        with pytest.raises(OperationalError, match="lock timeout"):
            other.execute(text("SELECT 1 FROM node"))


def test_a_grant_waits_for_a_migration_and_for_another_grant(databases: Databases) -> None:
    """PostgreSQL would refuse it: "tuple concurrently updated"."""
    with (
        temporary_engine(databases.migrated("postgresql")) as engine,
        engine.connect() as migrating,
        engine.connect() as granting,
    ):
        lock_migrations(migrating)
        granting.execute(text("SET lock_timeout = 10"))
        with pytest.raises(OperationalError, match="lock timeout"):
            grants.grant(granting)
        granting.rollback()
        migrating.rollback()
        assert grants.grant(granting) == []
        migrating.execute(text("SET lock_timeout = 10"))
        with pytest.raises(OperationalError, match="lock timeout"):
            lock_migrations(migrating)


def test_what_is_not_of_trninv_is_not_locked(databases: Databases) -> None:
    """Another application's table in the same schema, which may even belong to somebody else."""
    with (
        temporary_engine(databases.migrated("postgresql")) as engine,
        engine.connect() as owner,
        engine.connect() as connection,
    ):
        owner.execute(text("CREATE TABLE theirs (id int)"))
        owner.commit()
        owner.execute(text("LOCK TABLE theirs IN ACCESS EXCLUSIVE MODE"))
        lock_schema(connection)
        is_locked = "SELECT count(*) FROM pg_locks WHERE relation = CAST('{}' AS regclass) AND pid = pg_backend_pid()"
        assert [connection.scalar(text(is_locked.format(name))) > 0 for name in ("theirs", "node")] == [False, True]
