"""`unchangedSince` beside a writer of plain SQL, who takes no lock but that of the events."""

import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, Engine, text

from trninv.database.engine import write_transaction
from trninv.errors import ConflictError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

C = "u-trn2x64/d0/s0/c0"


def test_who_comes_second_waits_and_is_refused(engine: Engine) -> None:
    def second() -> None:
        with write_transaction(engine) as connection:
            set_state(connection, [C], Condition("maintenance"), why="a look", who="other", unchanged_since=0)

    with engine.connect() as connection:
        chip = resolve_place(connection, C).id
    with ThreadPoolExecutor(1) as pool:
        with engine.begin() as first:
            first.execute(text("UPDATE node SET state = 'down' WHERE id = :chip"), {"chip": chip})
            waiting = pool.submit(second)
            _wait(first, waiting)
        with pytest.raises(ConflictError, match="after event 0"):
            waiting.result(20)
    with engine.connect() as connection:
        assert connection.scalars(text("SELECT state FROM state_event")).all() == ["down"]


def _wait(connection: Connection, waiting: "Future[None]") -> None:
    """Until the other writer waits for a lock: SQLite does not tell, so for a moment there."""
    if connection.dialect.name == "sqlite":
        time.sleep(0.2)
        return
    blocked = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    end = time.monotonic() + 20
    while not connection.scalar(blocked):
        assert not waiting.done(), "it did not wait"
        assert time.monotonic() < end
