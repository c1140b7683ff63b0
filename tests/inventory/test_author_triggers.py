"""Who changes something, and why: one limit, whoever writes it."""

from typing import Any

import pytest
from sqlalchemy import Connection, Engine, insert, select, text, update
from sqlalchemy.exc import DBAPIError
from tampering import tamper

from conftest import Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError
from trninv.inventory.state.author import MAX_LENGTH
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.inventory.transfer import copy_database
from trninv.inventory.triggers.guards import AUTHORS

COLUMNS = [(table, column) for table, columns in AUTHORS.items() for column in columns]
LONGEST, TOO_LONG = "ü" * MAX_LENGTH, "ü" * (MAX_LENGTH + 1)
ROWS: dict[str, dict[str, Any]] = {
    "_change": {"at": "2026", "who": "a", "why": "b", "source": "sql"},
    "state_event": {"at": "2026", "who": "a", "why": "b", "address": "u", "before": "up", "state": "down"},
    "history_archive": {"sha256": "x", "at": "2026", "since": "2026", "directory": "x", "who": "a"},
    "job": {
        "cluster_id": 1,
        "name": "a",
        "system": "trninv",
        "external_id": "a",
        "started_at": "2026",
        "pinned": 0,
        "who": "a",
    },
    "cordon": {"server_id": 1, "started_at": "2026", "who": "a", "why": "b"},
    "reservation": {
        "cluster_id": 1,
        "name": "r",
        "kind": "job",
        "from_at": "2026",
        "until_at": "2027",
        "chips": 1,
        "place": "u",
        "chip_ids": "1",
        "started_at": "2026",
        "who": "a",
        "why": "b",
    },
    "incident_note": {"incident": "1", "written_at": "2026", "who": "a", "source": "sql", "text": "t"},
    "binding": {
        "server_id": 1,
        "address": "u",
        "host": "h",
        "started_at": "2026",
        "method": "pin",
        "confidence": "certain",
        "who": "a",
    },
}


def _insert(connection: Connection, table: str, **values: str) -> None:
    connection.execute(insert(TABLES[table]).values({"id": 1} | ROWS[table] | values))


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_plain_sql_writes_as_much_as_the_limit_and_no_more(engine: Engine, table: str, column: str) -> None:
    with engine.connect() as connection:
        _insert(connection, table, **{column: LONGEST})
        assert connection.scalar(select(TABLES[table].c[column]).where(TABLES[table].c.id == 1)) == LONGEST
        connection.rollback()
        with pytest.raises(DBAPIError, match="write at most 1,000 characters"):
            _insert(connection, table, **{column: TOO_LONG})
        connection.rollback()


@pytest.mark.parametrize(("table", "column"), [("_change", "who"), ("_change", "why"), ("binding", "ended_by")])
def test_nor_does_an_update(engine: Engine, table: str, column: str) -> None:
    with engine.connect() as connection:
        _insert(connection, table)
        for value in (LONGEST, TOO_LONG):
            if value == TOO_LONG:
                with pytest.raises(DBAPIError, match="write at most 1,000 characters"):
                    connection.execute(update(TABLES[table]).values({column: value}))
            else:
                connection.execute(update(TABLES[table]).values({column: value}))
        connection.rollback()


def test_character_0_hides_nothing(engine: Engine) -> None:
    """SQLite's length() counts up to it; PostgreSQL keeps none."""
    with engine.connect() as connection, pytest.raises((DBAPIError, ValueError)):
        _insert(connection, "job", who="a\0" + TOO_LONG)


def test_trninv_has_the_same_limit(engine: Engine) -> None:
    for who, why in ((LONGEST, "x"), ("x", LONGEST)):
        with write_transaction(engine) as connection:
            set_state(connection, ["u-trn2x64/d0/s0/c0"], Condition("down"), who=who, why=why)
            set_state(connection, ["u-trn2x64/d0/s0/c0"], Condition("up"), who=who, why=why)
    for who, why in ((TOO_LONG, "x"), ("x", TOO_LONG)):
        with (
            pytest.raises(InvalidArgumentError, match="write 1 to 1,000 characters"),
            write_transaction(engine) as connection,
        ):
            set_state(connection, ["u-trn2x64/d0/s0/c0"], Condition("down"), who=who, why=why)


def test_rows_of_before_the_limit_are_kept_and_copied(engine: Engine, databases: Databases) -> None:
    with engine.begin() as connection:
        for table in AUTHORS.keys() - {"_change", "history_archive", "state_event"}:
            _insert(connection, table)
    for table in ("job", "cordon", "reservation", "binding"):
        tamper(engine, f"UPDATE {table} SET who = '{TOO_LONG}'", table)
    with temporary_engine(databases.migrated(engine.dialect.name)) as other:
        for _ in range(2):
            with read_transaction(engine) as ours, write_transaction(other) as theirs:
                copy_database(ours, theirs, replace=True)
        with read_transaction(other) as connection:
            assert connection.scalar(text("SELECT max(length(who)) FROM job")) == MAX_LENGTH + 1
