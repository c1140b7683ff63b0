"""Backup and restore as docs/how-to/operations.md says: SQLite's online backup, pg_dump and pg_restore."""

import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import postgres
from conftest import Databases, Run, wear
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

_CHIP = "u-trn2x64/d0/s3/c0"


def test_a_file_is_backed_up_while_it_is_written(run: Run, databases: Databases, tmp_path: Path) -> None:
    url = databases.seeded("sqlite")
    wear(url)
    before = run("events", "--format", "json", database=url)[1]
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as source:
        with temporary_engine(url) as engine, write_transaction(engine) as connection:
            set_state(connection, [_CHIP], Condition.from_user("down"), why="not committed", who="tests")
            with closing(sqlite3.connect(tmp_path / "backup.db")) as target:
                source.backup(target)
        assert "not committed" in run("events", database=url)[1]
    restored = f"sqlite:///{tmp_path}/backup.db"
    assert run("events", "--format", "json", database=restored)[1] == before
    assert run("verify", database=restored)[0] == 0


@pytest.mark.slow
def test_a_dump_is_restored_with_all_that_it_needs(run: Run, databases: Databases, tmp_path: Path) -> None:
    url, restored = databases.seeded("postgresql"), databases.empty("postgresql")
    wear(url)
    made = run("token", "create", "grafana", database=url)
    assert made[0] == 0
    dump = str(tmp_path / "fleet.dump")
    postgres.client("pg_dump", "--format=custom", f"--file={dump}", url)
    postgres.client("pg_restore", "--exit-on-error", "--single-transaction", f"--dbname={restored}", dump)
    for question in (["events"], ["token", "list"], ["sql", "SELECT count(*) FROM v_chip"], ["report", "unhealthy"]):
        assert run(*question, database=restored) == run(*question, database=url)
    assert run("verify", database=restored)[0] == 0
    assert run("migrate", "--check", database=restored)[:2] == (0, "the schema is up to date\n")


@pytest.mark.slow
def test_the_role_that_reads_dumps_all_but_tokens(run: Run, databases: Databases, tmp_path: Path) -> None:
    url, restored = databases.seeded("postgresql"), databases.empty("postgresql")
    run("token", "create", "grafana", database=url)
    assert run("allocate", "a", "u-trn2x64/d0/s3", "u-trn2x64/d0/s0", "--who", "me", database=url)[0] == 0
    dump = str(tmp_path / "fleet.dump")
    excluded = (f"--exclude-table={name}" for name in ("_*", "token*", "principal", "alembic_version"))
    words = ("--role=trninv_read", "--data-only", *excluded)
    postgres.client("pg_dump", "--format=custom", *words, f"--file={dump}", url)
    assert run("migrate", database=restored)[0] == 0
    postgres.client("pg_restore", "--exit-on-error", "--single-transaction", f"--dbname={restored}", dump)
    assert run("verify", database=restored)[0] == 0
    assert "grafana" not in run("token", "list", database=restored)[1]


def test_a_file_is_backed_up_into_a_smaller_one(run: Run, databases: Databases, tmp_path: Path) -> None:
    """VACUUM INTO, while another transaction is open."""
    url = databases.seeded("sqlite")
    wear(url)
    before = run("events", "--format", "json", database=url)[1]
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [_CHIP], Condition.from_user("down"), why="not committed", who="tests")
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as source:
            source.execute("VACUUM INTO ?", [str(tmp_path / "backup.db")])
    restored = f"sqlite:///{tmp_path}/backup.db"
    assert run("events", "--format", "json", database=restored)[1] == before
    assert run("verify", database=restored)[0] == 0
    assert run("migrate", "--check", database=restored)[0] == 0


def _set(run: Run, url: str, why: str) -> None:
    assert run("set", _CHIP, "down", "--why", why, database=url)[0] == 0


@pytest.mark.slow
def test_a_server_is_restored_to_a_moment(run: Run, databases: Databases) -> None:
    """Archived write-ahead log on a base backup: what came after the moment is not there."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        directory.chmod(0o755)
        for name in ("wal", "first", "second"):
            (directory / name).mkdir()
        if user := postgres.ordinary_user():
            shutil.chown(directory / "wal", user)
        logged = {"archive_mode": "on", "archive_command": f"'cp %p {directory}/wal/%f'", "wal_level": "replica"}
        first = postgres.Server(directory / "first", **logged)
        first.make()
        first.start()
        try:
            url = first.url.format("fleet")
            with psycopg.connect(first.url.format("postgres"), autocommit=True) as connection:
                connection.execute("CREATE DATABASE fleet")
            assert run("copy", databases.seeded("sqlite"), url)[0] == 0
            targets = {
                "restore_command": f"'cp {directory}/wal/%f %p'",
                "recovery_target_action": "promote",
            }
            second = postgres.Server(directory / "second", **targets)
            second.back_up(first)
            _set(run, url, "kept")
            with psycopg.connect(url, autocommit=True) as connection:
                (moment,) = connection.execute("SELECT clock_timestamp()::text").fetchone() or ("",)
            assert run("unseed", "trn3-gen1", "--yes", database=url)[0] == 0
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("SELECT pg_switch_wal()")
                _wait_for_archive(connection)
        finally:
            first.stop()
        second.set("recovery_target_time", f"'{moment}'")
        second.start()
        try:
            restored = second.url.format("fleet")
            _wait_for_promotion(second.url.format("postgres"))
            assert run("verify", database=restored)[0] == 0
            assert "kept" in run("events", database=restored)[1]
            assert "trn3-gen1" in run("status", database=restored)[1]
            _set(run, restored, "goes on")
        finally:
            second.stop()


def _wait_for_archive(connection: "psycopg.Connection[tuple[object, ...]]") -> None:
    """Until all of the log that has been switched away from is archived."""
    query = "SELECT last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 16777216) FROM pg_stat_archiver"
    for _ in range(600):
        if (connection.execute(query).fetchone() or (False,))[0]:
            return
        time.sleep(0.1)
    pytest.fail("the log was not archived within a minute")


def _wait_for_promotion(url: str) -> None:
    for _ in range(600):
        with psycopg.connect(url) as connection:
            if connection.execute("SELECT pg_is_in_recovery()").fetchone() == (False,):
                return
        time.sleep(0.1)
    pytest.fail("the server did not recover within a minute")
