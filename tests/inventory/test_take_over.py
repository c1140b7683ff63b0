"""A database of the last schema version before the first release is taken over as it is; older ones are refused."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from former import ARCHIVE, FORMER_SEALS, LATER_TABLES, make_former
from next_release import VERSION, next_release
from sqlalchemy import Engine, inspect, text

from apart import at_once, killed_half_way, migrate_half
from archives import at
from archives import run as archived
from conftest import BACKENDS, Databases, Run
from trninv.database.engine import newest_schema_version, read_transaction, temporary_engine, write_transaction
from trninv.database.migration import data_loss, migrate, schema_differences, schema_version
from trninv.errors import DatabaseError, SchemaOutdatedError
from trninv.history.archive.archive_pruner import prune_events
from trninv.history.archive.archive_store import open_for_writing
from trninv.history.events import list_events
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.seals import anchor_problems
from trninv.inventory.state.state_change import set_state

pytestmark = pytest.mark.slow_on_postgresql
RECOMPUTED = dict.fromkeys(("rack", "part_count", "event_seal"))
"""Tables that any migration fills anew."""


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    made = databases.copied(request.param, make_former)
    yield made
    databases.drop(made)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with temporary_engine(url) as made:
        yield made


def _rows(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    with engine.connect() as connection:
        names = set(inspect(connection).get_table_names()) - {"alembic_version", *LATER_TABLES}
        return {name: sorted(map(tuple, connection.execute(text(f"SELECT * FROM {name}"))), key=repr) for name in names}


def _version(engine: Engine) -> tuple[str, str]:
    with engine.connect() as connection:
        row = connection.execute(text("SELECT version_num, oldest_reader FROM alembic_version")).one()
        return row.version_num, row.oldest_reader


def test_all_rows_seals_and_events_stay(run: Run, url: str, engine: Engine) -> None:
    before = _rows(engine)
    assert {name for name, rows in before.items() if rows} >= {"seal_restart", "job", "token", "binding", "reservation"}
    for command in (["status"], ["migrate", "--check"]):
        status, _, error = run(*command, database=url)
        assert (status, "has schema version 0048" in error, "run trninv" in error) == (1, True, True)
    assert _version(engine) == ("0048", "0048"), "a check changes nothing"
    status, out, error = run("migrate", database=url)
    assert status == 0, error
    assert out.split()[-1] == newest_schema_version()
    assert "services of schema version 0048 go on reading" in " ".join(error.split())
    assert _rows(engine) | RECOMPUTED == before | RECOMPUTED
    assert _version(engine) == (newest_schema_version(), "0048")
    assert run("migrate", "--check", database=url) == (0, "the schema is up to date\n", "")
    status, out, _ = run("verify", database=url)
    assert (status, f"events up to 8 were sealed by {FORMER_SEALS[8]}" in " ".join(out.split())) == (0, True)
    with read_transaction(engine) as connection:
        for seal in FORMER_SEALS.items():
            assert list(anchor_problems(connection, seal)) == []
        assert [problem.kind for problem in anchor_problems(connection, (7, FORMER_SEALS[8]))] == ["changed"]
    with write_transaction(engine) as connection:
        set_state(connection, ["one/d0/s0/c9"], Condition.from_user("down"), why="a test", who="me")
    assert run("verify", database=url)[0] == 0
    assert run("migrate", database=url)[::2] == (0, "")


@pytest.mark.parametrize(
    ("version", "words"), [("0047", ()), ("0049", ()), ("0001", ("--to", "base", "--yes")), ("", ("--to", "0100"))]
)
def test_an_older_database_is_told_which_commit_to_go_through(
    run: Run, url: str, engine: Engine, version: str, words: tuple[str, ...]
) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    before = _rows(engine)
    status, out, error = run("migrate", *words, database=url)
    assert (status, out) == (1, "")
    assert f"has schema version {version}".strip() in error
    assert "git checkout ff8707bd" in error
    assert (_rows(engine), _version(engine)) == (before, (version, "0048"))
    with pytest.raises(SchemaOutdatedError, match="run trninv migrate"), read_transaction(engine):
        pass


def test_a_database_that_lacks_a_column_is_not_taken_over(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE token_event DROP COLUMN detail"))
    with pytest.raises(DatabaseError, match=r"lacks token_event\.detail: restore a backup"):
        migrate(engine)
    assert _version(engine) == ("0048", "0048")


def test_triggers_that_are_gone_come_back(engine: Engine) -> None:
    with engine.begin() as connection:
        where = " ON node" if engine.dialect.name == "postgresql" else ""
        connection.execute(text(f"DROP TRIGGER node_state_event{where}"))
        connection.execute(text("DROP VIEW v_fact"))
    migrate(engine)
    assert schema_differences(engine) is None
    with write_transaction(engine) as connection:
        set_state(connection, ["one/d0/s0/c9"], Condition.from_user("down"), why="a test", who="me")
        assert next(list_events(connection, limit=1)).address == "one/d0/s0/c9"


@pytest.mark.quick_on_postgresql
def test_a_kill_leaves_it_as_it_was(url: str, engine: Engine) -> None:
    before = _rows(engine)
    engine.dispose()
    killed_half_way(migrate_half, url, "head", "UPDATE alembic_version")
    assert (_rows(engine), _version(engine)) == (before, ("0048", "0048"))
    migrate(engine)
    assert _rows(engine) | RECOMPUTED == before | RECOMPUTED
    assert _version(engine) == (newest_schema_version(), "0048")


@pytest.mark.slow
def test_two_at_once_take_it_over_once(url: str, engine: Engine) -> None:
    before = _rows(engine)
    assert [status for status, _ in at_once(2, "--database", url, "migrate")] == [0, 0]
    assert _rows(engine) | RECOMPUTED == before | RECOMPUTED
    assert _version(engine) == (newest_schema_version(), "0048")


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
def test_its_tables_can_be_removed_at_once(run: Run, url: str, engine: Engine) -> None:
    assert {"chip (18 rows)", "seal_restart (1 row)", "token (1 row)"} <= set(data_loss(engine, "base"))
    status, _, error = run("migrate", "--to", "base", database=url)
    assert (status, "would lose" in error) == (2, True)
    assert _version(engine) == ("0048", "0048")
    assert run("migrate", "--to", "base", "--yes", database=url)[0] == 0
    assert _rows(engine) == {}
    assert run("migrate", database=url)[0] == 0


@pytest.mark.parametrize(("declaration", "oldest_reader"), [("", VERSION), ("KEEPS_READERS = True", "0048")])
def test_a_later_release_takes_it_over_too(engine: Engine, declaration: str, oldest_reader: str) -> None:
    before = _rows(engine)
    with next_release(declaration):
        migrate(engine)
    assert _version(engine) == (VERSION, oldest_reader)
    assert _rows(engine) | RECOMPUTED == before | RECOMPUTED


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
def test_an_archive_with_former_actions_is_still_read(run: Run, url: str, engine: Engine, tmp_path: Path) -> None:
    """It is added to, and compared with the seals before events are removed."""
    migrate(engine)
    archive = tmp_path / "archive"
    shutil.copytree(ARCHIVE, archive)
    assert archived(engine, archive, at(5, 0)).rows["events"] == 2
    with open_for_writing(archive) as store:
        assert prune_events(engine, store, "me").last_event == 4
    assert run("verify", database=url)[0] == 0
    assert run("verify", "--sealed", f"8:{FORMER_SEALS[8]}", database=url)[0] == 0
    status, out, _ = run("verify", "--sealed", f"7:{FORMER_SEALS[7]}", database=url)
    advice = "schema version 0033 restarted the chain at event 8: an older seal can be checked only against an archive"
    assert (status, advice in " ".join(out.split())) == (1, True)
    with read_transaction(engine) as connection:
        assert {event.action for event in list_events(connection, limit=99)} == {
            None,
            "allocate",
            "release",
            "cordon",
            "reserve",
        }
        assert schema_version(connection) == newest_schema_version()
