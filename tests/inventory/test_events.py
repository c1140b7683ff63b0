"""No change of a state without an event, whoever makes it; and no event that can be edited unnoticed."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from next_release import next_release
from sqlalchemy import Connection, Engine, func, insert, select, text
from sqlalchemy.exc import DBAPIError
from tampering import tamper

from conftest import Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.migration import migrate
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.rows_in import rows_in
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.inventory.triggers import cascade_triggers, registry
from trninv.inventory.triggers.guards import GUARDS
from trninv.placement.changes.allocate import allocate

EVENT = TABLES["state_event"]
U = "u-trn2x64/d0"
_DROP = {
    "sqlite": "DROP TRIGGER {1}",
    "postgresql": "ALTER TABLE {0} DISABLE TRIGGER {1}",
}


def _set(engine: Engine, addresses: Sequence[str], state: str, **more: Any) -> None:
    with write_transaction(engine) as connection:
        set_state(connection, addresses, Condition.from_user(state), why="a test", who="tester", **more)


def _all(engine: Engine) -> list[Any]:
    with read_transaction(engine) as connection:
        return list(connection.execute(select(EVENT).order_by(EVENT.c.id)))


def _id(connection: Connection, address: str) -> int:
    return resolve_place(connection, address).id


def test_plain_sql_leaves_an_event(engine: Engine) -> None:
    with read_transaction(engine) as connection:
        chip, server = _id(connection, f"{U}/s1/c5"), _id(connection, f"{U}/s1")
        link = connection.execute(select(TABLES["link"]).where(TABLES["link"].c.a_id == chip)).first()
        assert link
        node = TABLES["node"]
        query = (
            select(node.c.kind, node.c.id)
            .where(rows_in(resolve_place(connection, f"{U}/s1"), "node"))
            .order_by(node.c.id)
        )
        inside = connection.execute(query).all()
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE node SET state = 'degraded', factor_ppm = 500000 WHERE id = {chip}"))
        connection.execute(text(f"UPDATE node SET factor_ppm = 250000 WHERE id = {chip}"))
        connection.execute(text(f"UPDATE server SET state = 'down' WHERE id = {server}"))
        connection.execute(text(f"UPDATE link SET state = 'maintenance' WHERE id = {link.id}"))
        connection.execute(text("UPDATE node SET state = state, cluster_id = cluster_id"))
    found = _all(engine)
    assert [(row.kind, row.part_id, row.before, row.state, row.factor_ppm) for row in found] == [
        ("chip", chip, "up", "degraded", 500_000),
        ("chip", chip, "degraded", "degraded", 250_000),
        ("server", server, "up", "down", None),
        *((row.kind, row.id, *(("degraded", "down") if row.id == chip else ("up", "down")), None) for row in inside),
        ("link", link.id, "up", "maintenance", None),
    ]
    assert [row.address for row in found][:3] == [f"{U}/s1/c5", f"{U}/s1/c5", f"{U}/s1"]
    assert found[-1].address.startswith(f"{U}/s1/c5--{U}/")
    first = 4 + [row.id for row in inside].index(chip)
    assert [(row.id, row.previous_id) for row in found if row.previous_id] == [(2, 1), (first, 2)]
    assert [row.batch for row in found] == [1, 2, 3, *[3] * len(inside), 4 + len(inside)]
    who = "sqlite3" if engine.dialect.name == "sqlite" else "trninv"
    assert {(row.who, row.why, row.source) for row in found} == {(who, "plain SQL", "sql")}


def test_a_server_and_what_it_takes_along_are_one_change(engine: Engine) -> None:
    _set(engine, [f"{U}/s1"], "down", source="drift")
    _set(engine, [f"{U}/s1/c5"], "maintenance")
    found = _all(engine)
    assert [row.kind for row in found] == ["server", *["chip"] * 16, *["nic"] * 16, "chip"]
    assert [row.batch for row in found] == [*[1] * 33, 34]
    assert {(row.source, row.who, row.why) for row in found[:33]} == {("drift", "tester", "a test")}
    assert len({row.at for row in found[:33]}) == 1
    assert found[0].at[19] == "."  # microseconds
    last = found[33]
    assert (last.before, last.state, last.own_before, last.own_state) == ("down", "down", "up", "maintenance")
    assert (last.source, last.previous_id) == ("command", 1 + 1 + 5)


def test_a_change_is_written_once(engine: Engine) -> None:
    _set(engine, [f"{U}/s0/c0", f"{U}/s0/c0--{U}/s0/c1"], "down")
    assert [row.address for row in _all(engine)] == [f"{U}/s0/c0", f"{U}/s0/c0--{U}/s0/c1"]
    _set(engine, [f"{U}/s0/c0"], "down")
    assert len(_all(engine)) == 2


def test_a_source_is_one_of_those(engine: Engine) -> None:
    with pytest.raises(InvalidArgumentError, match="source 'magic'"):
        _set(engine, [f"{U}/s0/c0"], "down", source="magic")


def test_what_is_said_of_a_change_does_not_outlive_it(engine: Engine) -> None:
    _set(engine, [f"{U}/s0/c0"], "down")
    with engine.begin() as connection:
        connection.execute(text("UPDATE node SET state = 'up' WHERE state = 'down'"))
        assert connection.scalar(select(func.count()).select_from(TABLES["_change"])) == 0
    assert [row.source for row in _all(engine)] == ["command", "sql"]


@pytest.mark.slow_on_postgresql
def test_bulk_loads_leave_none(empty: str) -> None:
    """Nor do they run a trigger a row: those are of UPDATE alone."""
    known = default_systems()
    with temporary_engine(empty) as engine:
        migrate(engine)
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), known.get("u-trn2x64"))
        _set(engine, [f"{U}/s0/c0"], "down")
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), known.get("trn2-16.48xlarge"))
            cluster_seeding.unseed(connection, _id(connection, "u-trn2x64"))
        assert len(_all(engine)) == 1
        with read_transaction(engine) as connection:
            known_from = connection.execute(select(TABLES["cluster"])).one()
            assert (known_from.known_from, known_from.known_since[19]) == (1, ".")
            assert list(verify_history(connection, hash_chain.verify_chain(connection))) == []


def test_a_clock_that_goes_back_is_told_and_numbers_keep_the_order(engine: Engine) -> None:
    with engine.begin() as connection:
        said = {"id": 1, "who": "a", "why": "b", "source": "sql"}
        for at, state in (("2031-01-01", "down"), ("2030-01-01", "up"), ("2030-01-01", "down"), ("2031-01-01", "up")):
            connection.execute(insert(TABLES["_change"]).values(at=f"{at}T00:00:00.000000+00:00", **said))
            connection.execute(text(f"UPDATE node SET state = '{state}' WHERE id = 1"))
            connection.execute(text("DELETE FROM _change"))
    assert [(row.id, row.clock_went_back) for row in _all(engine)] == [(1, False), (2, True), (3, False), (4, False)]


def test_events_and_seals_are_only_ever_added(engine: Engine) -> None:
    _set(engine, [f"{U}/s0/c0"], "down")
    for table in ("state_event", "event_seal"):
        assert not GUARDS[table].end_column
        for statement in (f"UPDATE {table} SET id = 7", f"DELETE FROM {table}"):
            with pytest.raises(DBAPIError, match="append only"), engine.begin() as connection:
                connection.execute(text(statement))


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE state_event SET who = 'nobody' WHERE id = 2", "events 2 to 2 are not as they were sealed"),
        ("UPDATE state_event SET at = '2020' WHERE id = 1", "events 1 to 1 are not as they were sealed"),
        ("DELETE FROM state_event WHERE id = 1", "event 1 is gone"),
        ("DELETE FROM state_event WHERE id = 3", "event 3 is gone"),
        ("UPDATE state_event SET previous_id = 1 WHERE id = 3", "events 3 to 3 are not as they were sealed"),
        ("UPDATE state_event SET job = '' WHERE id = 2", "events 2 to 2 are not as they were sealed"),
    ],
)
def test_a_hand_that_edited_history_is_noticed(engine: Engine, statement: str, told: str) -> None:
    for chip in range(3):
        _set(engine, [f"{U}/s0/c{chip}"], "down")
    with read_transaction(engine) as connection:
        assert list(verify_history(connection, hash_chain.verify_chain(connection))) == []
    tamper(engine, statement, "state_event")
    with read_transaction(engine) as connection:
        assert hash_chain.verify_chain(connection).broken == told


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize("edit", ["job = 'b'", "action = 'move'", "action = NULL, job = NULL", "address = 'x'"])
def test_a_hand_that_edited_what_was_done_to_a_job_is_noticed(engine: Engine, edit: str) -> None:
    with write_transaction(engine) as connection:
        allocate(connection, "a", [U], who="me")
    tamper(engine, f"UPDATE state_event SET {edit}", "state_event")
    with read_transaction(engine) as connection:
        assert hash_chain.verify_chain(connection).broken == "events 1 to 1 are not as they were sealed"


def test_an_edited_seal_is_noticed(engine: Engine) -> None:
    _set(engine, [f"{U}/s0/c0"], "down")
    tamper(engine, "UPDATE event_seal SET sha256 = 'no'", "event_seal")
    with read_transaction(engine) as connection:
        assert hash_chain.verify_chain(connection).broken == "events 1 to 1 are not as they were sealed"


def test_the_next_change_seals_what_plain_sql_left(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE node SET state = 'down' WHERE id = 1"))
    with read_transaction(engine) as connection:
        found = hash_chain.verify_chain(connection)
    assert (found.events, found.sealed, found.unsealed, found.broken) == (1, 0, 1, None)
    _set(engine, [f"{U}/s0/c9"], "down")
    with read_transaction(engine) as connection:
        found = hash_chain.verify_chain(connection)
    assert (found.events, found.sealed, found.unsealed, found.broken) == (2, 2, 0, None)


@pytest.mark.slow_on_postgresql
def test_a_migration_seals_what_plain_sql_left(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE node SET state = 'down' WHERE id = 1"))
    with next_release():
        migrate(engine)
        with read_transaction(engine) as connection:
            found = hash_chain.verify_chain(connection)
            assert (found.sealed, found.unsealed, found.broken) == (1, 0, None)


def test_states_that_changed_without_their_event_are_noticed(engine: Engine) -> None:
    _set(engine, [f"{U}/s0/c0"], "down")
    with engine.begin() as connection:
        connection.execute(text(_DROP[engine.dialect.name].format("node", "node_state_event")))
        connection.execute(text("UPDATE node SET state = 'up'"))
        assert set(registry.outdated(connection)) == {"node_state_event"}
    with read_transaction(engine) as connection:
        found = [(one.table, one.kind) for one in verify_history(connection, hash_chain.verify_chain(connection))]
    assert found == [("state_event", "missing"), ("node", "changed")]


def test_migrate_brings_a_missing_trigger_back(engine: Engine) -> None:
    with engine.begin() as connection:
        for statement in registry.drop_statements(engine.dialect.name):
            connection.execute(text(statement))
        assert registry.check(connection)
    migrate(engine)
    with engine.begin() as connection:
        assert registry.check(connection) is None


@pytest.mark.slow
def test_verify_says_where_the_history_stands(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine:
        _set(engine, [f"{U}/s0/c0"], "down")
        status, out, _ = run("verify", database=url)
        with read_transaction(engine) as connection:
            assert f"history: 1 event, sealed up to 1 by {hash_chain.verify_chain(connection).sha256}\n" in out
        assert status == 0
        with engine.begin() as connection:
            connection.execute(text("UPDATE node SET state = 'up'"))
        assert "; 1 event from plain SQL, to be sealed by the next change" in run("verify", database=url)[1]
        tamper(engine, "UPDATE state_event SET who = 'nobody' WHERE id = 1", "state_event")
        status, out, _ = run("verify", database=url)
    assert status == 1
    assert "catalog: state_event: changed events 1 to 1 are not as they were sealed" in out


WRITERS, TURNS = 4, 12


@pytest.mark.slow
def test_writers_at_once_neither_fork_the_chain_nor_deadlock(databases: Databases) -> None:
    """Some through trninv, some in plain SQL, over the same rows in other orders, several in one transaction."""
    with temporary_engine(databases.seeded("postgresql")) as engine:
        failed: list[BaseException] = []
        start = threading.Barrier(WRITERS)

        def write(number: int) -> None:
            try:
                start.wait(60)
                for turn in range(TURNS):
                    state = ("down", "up")[turn % 2]
                    if number % 2:
                        _set(engine, [f"{U}/s{number}", f"{U}/s0/c{number}"], state)
                        continue
                    with engine.begin() as connection:
                        rows = range(1, 60) if number else range(59, 0, -1)
                        for key in list(rows)[::20]:
                            connection.execute(text(f"UPDATE node SET state = '{state}' WHERE id = {key}"))
                        connection.execute(text(f"UPDATE server SET state = '{state}' WHERE id = {1 + number // 2}"))
            except BaseException as error:  # noqa: BLE001 # told by the test
                failed.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        _set(engine, [f"{U}/s0/c15"], "maintenance")
        found = _all(engine)
        assert [row.id for row in found] == list(range(1, len(found) + 1))
        assert all(row.batch <= row.id for row in found)
        with read_transaction(engine) as connection:
            now = hash_chain.verify_chain(connection)
            assert (now.broken, now.unsealed) == (None, 0)
            assert list(verify_history(connection, now)) == []
            assert cascade_triggers.check(connection) is None
