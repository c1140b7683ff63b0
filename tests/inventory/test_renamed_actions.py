"""Schema version 0033 renames tables, columns and actions, and seals the events again: nothing else changes."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, insert, select, text

from archives import at, happen, state
from archives import run as archived
from conftest import Databases, Run
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.migration import data_loss, migrate, schema_differences, schema_version
from trninv.database.tables import TABLES
from trninv.errors import DatabaseError
from trninv.history.archive.archive_pruner import prune_events
from trninv.history.archive.archive_store import open_for_writing
from trninv.history.events import list_events
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain
from trninv.inventory.state.bindings import ProposedBinding, bind, resolve_slot, unbind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.inventory.triggers import registry
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.uncordon import uncordon
from trninv.reports.views import check_views

pytestmark = [pytest.mark.slow, pytest.mark.slow_on_postgresql]  # migrations over many versions
D = "u-trn2x64/d0"
BEFORE = "0032"
RENAMED = ("job", "allocation", "binding", "finding", "cordon", "domain_allocated")
FORMER = {"allocate": "hold", "cordon": "close", "uncordon": "open"}


@pytest.fixture
def engine(seeded: str) -> Iterator[Engine]:
    """A database with everything that 0033 renames; its last event is of plain SQL, and not sealed."""
    with temporary_engine(seeded) as made:
        with write_transaction(made) as connection:
            set_state(connection, [f"{D}/s2/c0"], Condition.from_user("down"), why="first", who="eve")
            allocate(connection, "a", [f"{D}/s0/c0-3"], who="ann", spares=[f"{D}/s0/c4"])
            cordon(connection, [f"{D}/s1", f"{D}/s3"], who="ann", why='the "hold" of "close"')
            uncordon(connection, [f"{D}/s1"], who="eve")
            allocate(connection, "b", [f"{D}/s1/c7"], who="bob")
            release(connection, "b")
            slot = resolve_slot(connection, f"{D}/s0")
            for instance in ("i-0a", "i-0b"):
                proposal = ProposedBinding(slot.id, slot.address, instance, None, "pin", "certain")
                bind(connection, [proposal], who="ann")
            unbind(connection, slot.address, who="ann")
            finding = {"id": 1, "rule": "stale", "severity": "high", "observed": "x", "first_seen": "2026"}
            connection.execute(insert(TABLES["finding"]).values(**finding, last_seen="2026"))
        with made.begin() as connection:
            for table in ("job", "allocation"):
                connection.execute(text(f"UPDATE {table} SET ended_at = '2027' WHERE ended_at IS NULL"))
        yield made


def _rows(engine: Engine, table: str) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(f"SELECT * FROM {table} ORDER BY id"))]


def _noted(engine: Engine) -> list[tuple[int, str]]:
    with engine.connect() as connection:
        return [(row.id, row.sha256) for row in connection.execute(text("SELECT * FROM event_seal ORDER BY id"))]


def _actions(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        query = "SELECT action FROM state_event WHERE action IS NOT NULL ORDER BY id"
        return list(connection.scalars(text(query)))


def _sealed_by_hand(engine: Engine) -> list[tuple[int, str]]:
    """Every seal, computed from the rows as they stand."""
    digest, covered, seals = "", 0, []
    with engine.connect() as connection:
        starts = [tuple(row) for row in connection.execute(select(TABLES["history_start"]).order_by(text("id")))]
        query = select(*hash_chain.SEALED_COLUMNS).order_by(text("id"))
        events = [tuple(row) for row in connection.execute(query)]
        last = 0
        for end, _, covers in connection.execute(text("SELECT id, sha256, starts FROM event_seal ORDER BY id")):
            for row in [*starts[covered : covers or 0], *events[last:end]]:
                if len(row) == len(hash_chain.SEALED_COLUMNS):
                    row = row[: -1 if row[-3] else -3] if row[-1] is None else row  # noqa: PLW2901
                line = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
                digest = sha256(f"{digest}\n{line}".encode()).hexdigest()
            covered, last = covers or covered, end
            seals.append((end, digest))
    return seals


def _leave_old_triggers(engine: Engine) -> None:
    """Triggers that trninv of 0032 had and has no more; they would refuse or miss what is done now."""
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            refuse = "BEGIN SELECT RAISE(ABORT, 'an old trigger'); END"
            connection.exec_driver_sql(f"CREATE TRIGGER closing_not_deleted BEFORE DELETE ON closing {refuse}")
            connection.exec_driver_sql(f"CREATE TRIGGER closing_state_event AFTER UPDATE OF until ON closing {refuse}")
            return
        body = "RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'an old trigger'; END $$"
        for name, table in (("closing_state_event", "closing"), ("merge_held", "domain_held")):
            connection.exec_driver_sql(f"CREATE FUNCTION {name}() {body}")
            connection.exec_driver_sql(
                f"CREATE TRIGGER {name} BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()"
            )


def _is_sound(engine: Engine) -> hash_chain.ChainStatus:
    assert schema_differences(engine) is None
    with read_transaction(engine) as connection:
        assert (check_views(connection), registry.check(connection)) == (None, None)
        found = hash_chain.verify_chain(connection)
        assert (found.broken, list(verify_history(connection, found))) == (None, [])
    return found


def test_a_database_of_before_goes_on_and_back_and_on(engine: Engine, run: Run) -> None:
    now = {name: _rows(engine, name) for name in RENAMED}
    words, sealed, url = _actions(engine), _noted(engine), engine.url.render_as_string(hide_password=False)
    assert set(FORMER) <= set(words)
    assert data_loss(engine, BEFORE) == []
    migrate(engine, BEFORE)
    assert _actions(engine) == [FORMER.get(word, word) for word in words]
    assert _rows(engine, "closing") == now["cordon"]
    assert _rows(engine, "domain_held") == now["domain_allocated"]
    noted = _noted(engine)
    assert noted == _sealed_by_hand(engine)
    assert [row[0] for row in noted] == [row[0] for row in sealed]
    _leave_old_triggers(engine)

    migrate(engine)
    assert _is_sound(engine).restart == hash_chain.ChainRestart(*noted[-1], 0, "0033")
    assert {name: _rows(engine, name) for name in RENAMED} == now
    assert (_actions(engine), _noted(engine)[: len(sealed)]) == (words, sealed)
    status, out, _ = run("verify", database=url)
    assert status == 0
    assert f"before that, events up to {noted[-1][0]} were sealed by {noted[-1][1]}\n" in " ".join(out.split("\n  "))
    for number, digest in (*noted, *sealed):
        assert run("verify", "--sealed", f"{number}:{digest}", database=url)[0] == 0
    assert run("verify", "--sealed", f"{noted[-1][0]}:{noted[0][1]}", database=url)[0] == 1
    with write_transaction(engine) as connection:
        allocate(connection, "c", [f"{D}/s1/c7"], who="bob")
        uncordon(connection, [f"{D}/s3"], who="eve")
    assert _actions(engine)[-2:] == ["allocate", "uncordon"]
    assert _is_sound(engine).restart

    again = _noted(engine)
    migrate(engine, BEFORE)
    assert _noted(engine)[: len(noted)] == noted
    migrate(engine)
    assert _noted(engine) == again
    assert _is_sound(engine).restart == hash_chain.ChainRestart(*_sealed_before(engine), 0, "0033")


def _sealed_before(engine: Engine) -> tuple[int, str]:
    with engine.connect() as connection:
        row = connection.execute(text("SELECT event, sha256 FROM seal_restart")).one()
        return row.event, row.sha256


def test_where_no_action_was_renamed_the_chain_goes_on(seeded: str) -> None:
    with temporary_engine(seeded) as engine:
        with write_transaction(engine) as connection:
            set_state(connection, [f"{D}/s2/c0"], Condition.from_user("down"), why="first", who="eve")
        sealed = _noted(engine)
        migrate(engine, BEFORE)
        assert _noted(engine) == sealed
        migrate(engine)
        assert _noted(engine) == sealed
        assert _is_sound(engine).restart is None


TAMPERED = {  # a statement, and what is said
    "an event": ("UPDATE state_event SET why = 'x' WHERE id = 3", "events 3 to 4 are not as they were sealed"),
    "an action": (
        "UPDATE state_event SET action = 'release' WHERE id = 2",
        "events 2 to 2 are not as they were sealed",
    ),
    "no event": ("DELETE FROM state_event WHERE id = 4", "event 4 is gone"),
    "no start": ("DELETE FROM history_start WHERE id = 1", "start 1 is gone"),
    "a seal": (f"UPDATE event_seal SET sha256 = '{'0' * 64}' WHERE id = 1", "events 1 to 1 are not as they were"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_events_that_are_not_as_they_were_sealed_are_not_sealed_again(engine: Engine, name: str) -> None:
    statement, fault = TAMPERED[name]
    migrate(engine, BEFORE)
    with engine.begin() as connection:
        connection.execute(text(statement))
    before = {table: _rows(engine, table) for table in ("state_event", "event_seal", "job", "closing", "domain_held")}
    with pytest.raises(DatabaseError, match=f"{fault}.*nothing was migrated. Restore a copy"):
        migrate(engine)
    assert {table: _rows(engine, table) for table in before} == before
    with engine.connect() as connection:
        assert schema_version(connection) == BEFORE


@pytest.mark.parametrize("at_statement", ["ALTER TABLE binding", "UPDATE event_seal", "INSERT INTO seal_restart"])
def test_what_is_interrupted_leaves_all_as_it_was_and_is_done_again(engine: Engine, at_statement: str) -> None:
    sealed = _noted(engine)
    migrate(engine, BEFORE)
    names = ("state_event", "event_seal", "job", "binding", "closing", "domain_held")
    before = {table: _rows(engine, table) for table in names}

    def interrupt(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(at_statement):
            raise KeyboardInterrupt

    event.listen(engine, "before_cursor_execute", interrupt)
    with pytest.raises(KeyboardInterrupt):
        migrate(engine)
    event.remove(engine, "before_cursor_execute", interrupt)
    assert {table: _rows(engine, table) for table in before} == before
    migrate(engine)
    assert _noted(engine)[: len(sealed)] == sealed
    assert _is_sound(engine).restart


def test_going_back_refuses_what_is_not_as_it_was_sealed(engine: Engine) -> None:
    with engine.begin() as connection:
        for table in ("state_event",):
            for trigger in registry.declared(engine.dialect.name):
                if trigger.table == table:
                    where = f" ON {table}" if engine.dialect.name == "postgresql" else ""
                    connection.exec_driver_sql(f"DROP TRIGGER {trigger.name}{where}")
        connection.execute(text("UPDATE state_event SET why = 'x' WHERE id = 2"))
    with pytest.raises(DatabaseError, match="events 2 to 2 are not as they were sealed"):
        migrate(engine, BEFORE)
    with engine.connect() as connection:
        assert schema_version(connection) != BEFORE


def _begin_job(engine: Engine, day: int, name: str) -> None:
    number = "(SELECT coalesce(max(id), 0) + 1 FROM job)"
    values = f"{number}, (SELECT min(id) FROM cluster), '{name}', 'x', '{name}', '{at(day, 1)}', 0, 'me'"
    names = "id, cluster_id, name, system, external_id, started_at, pinned, who"
    happen(engine, at(day, 1), f"INSERT INTO job ({names}) VALUES ({values})".replace(":", r"\:"))


@pytest.mark.parametrize("until", [2, 6])
def test_an_archive_of_before_is_still_read(
    databases: Databases, run: Run, tmp_path: Path, until: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is added to, and compared with the seals before events are removed."""
    seeded = databases.seeded("sqlite")
    with temporary_engine(seeded) as engine:
        _begin_job(engine, 1, "a")
        happen(engine, at(2, 1), state("down", 1))
        _begin_job(engine, 3, "b")
        happen(engine, at(4, 1), state("up", 1))
        migrate(engine, BEFORE)
        noted = _noted(engine)
        with monkeypatch.context() as before:  # as trninv of then, for which nothing else differs here
            before.setattr("trninv.database.engine.newest_schema_version", lambda: BEFORE)
            archived(engine, tmp_path, at(until, 0))
        migrate(engine)
        if until == 6:
            _begin_job(engine, 6, "c")
        assert archived(engine, tmp_path, at(until + 1, 0)).rows["events"] == 1
        with open_for_writing(tmp_path) as store:
            assert prune_events(engine, store, "me").last_event == {2: 2, 6: 4}[until]
        assert run("verify", database=seeded)[0] == 0
        assert run("verify", "--sealed", "{}:{}".format(*noted[-1]), database=seeded)[0] == 0
        if until == 2:  # event 3 is after the archive, so that its seal of before cannot be computed any more
            status, out, _ = run("verify", "--sealed", "{}:{}".format(*noted[2]), database=seeded)
            told = "schema version 0033 restarted the chain at event 4: an older seal can be checked only against"
            assert (status, told in " ".join(out.split())) == (1, True)
        with read_transaction(engine) as connection:
            assert all(each.action in {None, "allocate"} for each in list_events(connection, limit=9))
