"""Backup and restore as docs/how-to/operations.md says: SQLite's online backup, pg_dump and pg_restore."""

import sqlite3
from contextlib import closing
from pathlib import Path

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
    words = ("--role=trninv_read", "--data-only", "--exclude-table=*token*", "--exclude-table=alembic_version")
    postgres.client("pg_dump", "--format=custom", *words, f"--file={dump}", url)
    assert run("migrate", database=restored)[0] == 0
    postgres.client("pg_restore", "--exit-on-error", "--single-transaction", f"--dbname={restored}", dump)
    assert run("verify", database=restored)[0] == 0
    assert "grafana" not in run("token", "list", database=restored)[1]
