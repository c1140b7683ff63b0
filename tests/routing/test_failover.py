"""After a fail-over nothing is answered from what another server said."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

import trninv
from conftest import seed_everything
from postgres import Server
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import TrninvError
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

pytestmark = pytest.mark.slow  # a standby is a server of its own to start

A, B = "trn2-16.48xlarge/d0/s0/c0", "trn2-16.48xlarge/d0/s0/c5"
LOST, WRITTEN = "trn2-16.48xlarge/d0/s0/c1", ["trn2-16.48xlarge/d0/s0/c4", "trn2-16.48xlarge/d0/s0/c3"]
NAME = "fleet"
XID = "SELECT pg_current_xact_id()::text"
SNAPSHOT = "SELECT pg_current_snapshot()::text"


def _asked(url: str, question: str) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(question.encode()).fetchone()
        return row and row[0]


def _down(url: str, chip: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [chip], Condition("down"), why="test", who="test")


@contextmanager
def _pair() -> Iterator[tuple[Server, Server]]:
    """A server with every system, and its standby with the same, stopped before more is written."""
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as name, ExitStack() as stop:
        places = [Path(name) / each for each in "ab"]
        Path(name).chmod(0o755)
        for place in places:
            place.mkdir()
        primary = Server(places[0])
        primary.make()
        primary.start()
        stop.callback(primary.stop)
        with psycopg.connect(primary.url.format("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {NAME}".encode())
        seed_everything(primary.url.format(NAME))
        standby = Server(places[1])
        standby.follow(primary)
        stop.callback(standby.stop)
        standby.start()
        written = _asked(primary.url.format(NAME), "SELECT pg_current_wal_flush_lsn()::text")
        while not _asked(standby.url.format(NAME), f"SELECT pg_last_wal_replay_lsn() >= '{written}'"):
            time.sleep(0.05)
        standby.stop()
        yield primary, standby


def test_a_promoted_standby_repeats_a_snapshot_for_another_history() -> None:
    """The primary loses a transaction with its machine; the standby in its place gives its number to another."""
    with _pair() as (primary, standby):
        one, other = (server.url.format(NAME) for server in (primary, standby))
        with trninv.open(one) as fleet:
            whole = fleet.bandwidth(A, B).maximum_flow
            _down(one, LOST)
            for _ in range(5):
                _asked(one, XID)
            lost, known = fleet.bandwidth(A, B).maximum_flow, fleet.revision()
            snapshot = _asked(one, SNAPSHOT)
            primary.stop()
            standby.start()
            standby.promote()
            for chip in WRITTEN:
                _down(other, chip)
            while _asked(other, SNAPSHOT) != snapshot:
                assert int(_asked(other, XID)) < int(snapshot.partition(":")[0])

            @event.listens_for(fleet.engine, "do_connect")
            def move(_dialect: object, _entry: object, _args: object, options: dict[str, Any]) -> None:
                options["host"] = str(standby.sockets)

            with trninv.open(other) as fresh:
                expected = fresh.bandwidth(A, B).maximum_flow
            assert len({whole, lost, expected}) == len((whole, lost, expected))
            with suppress(TrninvError):  # connections to the server that is gone
                fleet.bandwidth(A, B)
            assert fleet.bandwidth(A, B).maximum_flow == expected
            fleet.revision()  # finds that its connection is gone
            assert fleet.revision() not in (known, None)


def test_states_of_a_standby_are_not_told_apart() -> None:
    """Its snapshots don't say which transactions they see, so nothing is remembered, and all is answered."""
    with _pair() as (_, standby):
        standby.start()
        with trninv.open(standby.url.format(NAME)) as fleet, fleet.snapshot() as one:
            assert fleet.revision() is None
            assert one.bandwidth(A, B) == fleet.bandwidth(A, B)
            assert (as_of := one.as_of()) is not None
            assert as_of.revision is None
