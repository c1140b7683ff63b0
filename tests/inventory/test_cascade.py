"""A server takes its parts along, whoever writes its state: plain SQL does what `trninv set` does."""

import random
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, select, text
from tampering import tamper

from conftest import Run, seeds
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, write_transaction
from trninv.database.tables import STATES, TABLES
from trninv.inventory.address.lookup import resolve
from trninv.inventory.seeding.verification import verify, verify_history
from trninv.inventory.state.condition import PPM, Condition, condition_from_row
from trninv.inventory.state.hash_chain import verify_chain
from trninv.inventory.state.state_change import is_cascaded, set_state
from trninv.inventory.triggers import cascade_triggers
from trninv.inventory.triggers.cascade_triggers import COLUMNS, PARTS

U = "u-trn2x64/d0"
NODE, EVENT = TABLES["node"], TABLES["state_event"]
CONDITIONS = [*(Condition(state) for state in STATES), Condition("degraded", PPM // 2), Condition("degraded", PPM // 4)]
QUICK = Condition("down"), Condition("degraded", PPM // 2)
"""From these, changes are tried where slow tests are left out."""


def _set(engine: Engine, address: str, condition: Condition) -> None:
    with write_transaction(engine) as connection:
        set_state(connection, [address], condition, why="a test", who="tester")


def _write(engine: Engine, address: str, condition: Condition) -> None:
    """Write a condition in plain SQL: where the server leaves a part so anyway, as the part's own."""
    with write_transaction(engine) as connection:
        place = resolve(connection, address)
        table = TABLES[place.level if place.level == "server" else "node"]
        now = connection.execute(select(table).where(table.c.id == place.id)).one()
        is_own = table is NODE and now.own_state is not None and condition_from_row(now) == condition
        own = "own_" if is_own else ""
        values = f"{own}state = '{condition.state}', {own}factor_ppm = {condition.factor_ppm or 'NULL'}"
        connection.execute(text(f"UPDATE {table.name} SET {values} WHERE id = {place.id}"))


def _parts(connection: Connection, server: str) -> list[tuple[Any, ...]]:
    key = resolve(connection, server).id
    ids = " UNION ALL ".join(f"SELECT id FROM {name} WHERE server_id = {key}" for name in PARTS)
    query = select(NODE.c.kind, *(NODE.c[name] for name in COLUMNS)).where(text(f"node.id IN ({ids})"))
    return [tuple(row) for row in connection.execute(query.order_by(NODE.c.id))]


def _events(connection: Connection, server: str) -> list[tuple[Any, ...]]:
    """Return what the events of a server and its parts say, but for who, why and when."""
    names = ("kind", "before", "factor_ppm_before", "own_before", "own_factor_ppm_before", *COLUMNS)
    query = select(EVENT.c.address, is_cascaded(), *(EVENT.c[name] for name in names))
    of_server = (EVENT.c.address == server) | EVENT.c.address.startswith(f"{server}/")
    rows = connection.execute(query.where(of_server).order_by(EVENT.c.id))
    return [(row.address.removeprefix(server), *row[1:]) for row in rows]


def _is_sound(connection: Connection) -> None:
    assert list(verify(connection, default_catalog(), default_systems())) == []
    assert list(verify_history(connection, verify_chain(connection))) == []


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize(
    ("domain", "before"),
    [
        *(pytest.param(U, each, marks=() if each in QUICK else pytest.mark.slow) for each in CONDITIONS),
        ("trn3-gen1/d0", Condition("down")),
    ],
    ids=str,
)
def test_plain_sql_does_to_parts_what_the_command_does(engine: Engine, domain: str, before: Condition) -> None:
    """From each condition to each, with a chip that has one of its own."""
    by_command, by_hand = f"{domain}/s0", f"{domain}/s1"
    for own in (None, Condition("degraded", PPM // 3)):
        for after in CONDITIONS[:-1]:
            for server, write in ((by_command, _set), (by_hand, _write)):
                if own:
                    write(engine, f"{server}/c3", own)
                for condition in (before, after):
                    write(engine, server, condition)
            with read_transaction(engine) as connection:
                assert _parts(connection, by_hand) == _parts(connection, by_command)
            for server, write in ((by_command, _set), (by_hand, _write)):
                for part in (server, f"{server}/c3"):
                    write(engine, part, Condition("up"))
    with read_transaction(engine) as connection:
        assert {row[1:] for row in _parts(connection, by_hand)} == {("up", None, None, None)}
        assert _events(connection, by_hand) == _events(connection, by_command)
        _is_sound(connection)


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize(
    ("one", "other"), [("s0/c3", "s1/c3"), ("s0/efa0", "s1/efa0"), ("sw0", "sw1")], ids=["chip", "nic", "switch"]
)
def test_plain_sql_does_to_a_part_what_the_command_does(engine: Engine, one: str, other: str) -> None:
    by_command, by_hand = (f"trn3-gen1/d0/{name}" for name in (one, other))
    for condition in (*CONDITIONS[1:], Condition("up")):
        _set(engine, by_command, condition)
        _write(engine, by_hand, condition)
        with read_transaction(engine) as connection:
            assert _parts(connection, "trn3-gen1/d0/s1") == _parts(connection, "trn3-gen1/d0/s0")
    with read_transaction(engine) as connection:
        events = _events(connection, by_hand)
        assert len(events) == len(CONDITIONS)
        assert events == _events(connection, by_command)
        _is_sound(connection)


@pytest.mark.parametrize("seed", seeds(3))
def test_whatever_follows_whatever(engine: Engine, seed: int) -> None:
    draw = random.Random(seed)
    names = ["", *(f"/c{chip}" for chip in range(3)), "/efa0"]
    for _ in range(25):
        name, condition = draw.choice(names), draw.choice(CONDITIONS)
        _set(engine, f"{U}/s0{name}", condition)
        _write(engine, f"{U}/s1{name}", condition)
        with read_transaction(engine) as connection:
            assert _parts(connection, f"{U}/s1") == _parts(connection, f"{U}/s0"), (name, condition)
    with read_transaction(engine) as connection:
        assert _events(connection, f"{U}/s1") == _events(connection, f"{U}/s0")
        _is_sound(connection)


@pytest.mark.slow_on_postgresql
def test_a_factor_that_is_left_behind_is_none_of_the_parts(engine: Engine) -> None:
    """`UPDATE server SET state = 'up'` of a degraded server leaves its factor, since nothing clears it."""
    _write(engine, f"{U}/s1/c3", Condition("degraded", PPM // 3))
    _write(engine, f"{U}/s1", Condition("degraded", PPM // 2))
    with write_transaction(engine) as connection:
        key = resolve(connection, f"{U}/s1").id
        connection.execute(text(f"UPDATE server SET state = 'up' WHERE id = {key}"))
        rows = _parts(connection, f"{U}/s1")
        assert {row[1:] for row in rows} == {("up", None, None, None), ("degraded", PPM // 3, None, None)}
        _is_sound(connection)


def test_a_transaction_that_is_rolled_back_leaves_nothing(engine: Engine) -> None:
    def everything(connection: Connection) -> list[Any]:
        tables = (TABLES[name] for name in ("server", "node", "state_event", "_change"))
        return [connection.execute(select(table).order_by(table.c.id)).all() for table in tables]

    with engine.connect().execution_options(writes=True) as connection:
        before = everything(connection)
        connection.rollback()
        connection.execute(text("UPDATE server SET state = 'down'"))
        assert everything(connection) != before
        connection.rollback()
        assert everything(connection) == before
    with read_transaction(engine) as connection:
        _is_sound(connection)


def test_a_part_within_a_server_that_is_down_comes_back_as_it_was_written(engine: Engine) -> None:
    for kind in ("c3", "efa2"):
        _write(engine, f"{U}/s1", Condition("down"))
        _write(engine, f"{U}/s1/{kind}", Condition("maintenance"))
        with read_transaction(engine) as connection:
            rows = _parts(connection, f"{U}/s1")
            assert {row[1] for row in rows} == {"down"}
            assert sorted({row[3] for row in rows}) == ["maintenance", "up"]
        _write(engine, f"{U}/s1", Condition("up"))
        with read_transaction(engine) as connection:
            assert [row[1] for row in _parts(connection, f"{U}/s1")].count("maintenance") == 1
        _write(engine, f"{U}/s1/{kind}", Condition("up"))


def test_one_statement_on_many_servers(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        connection.execute(text("UPDATE server SET state = 'down'"))
    with read_transaction(engine) as connection:
        events = connection.execute(select(EVENT).order_by(EVENT.c.id)).all()
        servers = connection.scalar(text("SELECT count(*) FROM server")) or 0
        outside = "server_id IS NULL"
        parts = sum(
            connection.scalar(text(f"SELECT count(*) FROM {name} WHERE NOT {outside}")) or 0
            for name in ("chip", "nic", "switch")
        )
        assert len(events) == servers + parts
        assert (
            connection.scalar(text("SELECT count(*) FROM node JOIN chip ON chip.id = node.id WHERE state = 'up'")) == 0
        )
        batches = {event.batch for event in events}
        assert len(batches) == (1 if engine.dialect.name == "postgresql" else servers)
        who = "sqlite3" if engine.dialect.name == "sqlite" else "trninv"
        assert {(event.who, event.why, event.source) for event in events} == {(who, "plain SQL", "sql")}
        assert connection.scalar(text("SELECT count(*) FROM _change")) == 0
        _is_sound(connection)


def test_a_state_that_does_not_change_takes_nothing_along(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        connection.execute(text("UPDATE server SET state = state, ordinal = ordinal"))
    with read_transaction(engine) as connection:
        assert connection.execute(select(EVENT)).all() == []


BY_HAND = {
    "server": "UPDATE server SET state = 'maintenance' WHERE id = {}",
    "node": "UPDATE node SET own_state = 'maintenance' WHERE id = (SELECT min(id) FROM chip WHERE server_id = {})",
}


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize(
    ("state", "table"),
    [
        ("up", "server"),
        ("degraded", "node"),
        pytest.param("up", "node", marks=pytest.mark.slow),
        pytest.param("degraded", "server", marks=pytest.mark.slow),
        pytest.param("down", "server", marks=pytest.mark.slow),
    ],
)
def test_verify_finds_parts_that_are_not_as_their_server(
    seeded: str, engine: Engine, run: Run, state: str, table: str
) -> None:
    if state != "up":
        _write(engine, f"{U}/s1", Condition(state))
    with read_transaction(engine) as connection:
        assert cascade_triggers.check(connection) is None
        key = resolve(connection, f"{U}/s1").id
    tamper(engine, BY_HAND[table].format(key), table)
    status, out, _ = run("verify", database=seeded)
    assert status == 1
    assert f"whose state does not match the server's, the first in {U}/s1: set that server to another state" in out
    for repaired in (CONDITIONS[-1], Condition("up")):
        _set(engine, f"{U}/s1", repaired)
    with read_transaction(engine) as connection:
        assert cascade_triggers.check(connection) is None


@pytest.mark.slow_on_postgresql
def test_verify_finds_a_part_that_is_up_in_a_server_that_is_not(seeded: str, engine: Engine, run: Run) -> None:
    _write(engine, f"{U}/s1", Condition("down"))
    tamper(engine, "UPDATE node SET state = 'up' WHERE id = (SELECT min(id) FROM node WHERE state = 'down')", "node")
    assert f"1 part whose state does not match the server's, the first in {U}/s1" in run("verify", database=seeded)[1]
