"""Who changes states, jobs, what they hold or closings at once waits for the others, and none for each other."""

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from job_events import CLUSTER, D, done, happened, is_sound
from sqlalchemy import Engine, func, select, text

from conftest import Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import ConflictError
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.uncordon import uncordon

WRITERS, TURNS = 4, 12


def test_writers_at_once_wait_for_each_other_and_none_for_ever(databases: Databases) -> None:
    """Jobs, closings and states of one domain, on PostgreSQL: no deadlock, one chain, numbers without gaps."""
    with temporary_engine(databases.seeded("postgresql")) as engine:
        failed, start = list[BaseException](), threading.Barrier(WRITERS)

        def write(number: int) -> None:
            try:
                start.wait(60)
                for turn in range(TURNS):
                    with suppress(ConflictError), write_transaction(engine) as connection:
                        if (turn + number) % 4 == 0:
                            set_state(
                                connection, [f"{D}/s1"], Condition.from_user(("down", "up")[turn % 2]), why="x", who="w"
                            )
                        else:
                            server = [f"{D}/s{turn % 4}"]
                            if turn % 2:
                                cordon(connection, server, who="me", why="x")
                            else:
                                uncordon(connection, server, who="me")
                        allocate(connection, f"j{number}-{turn}", [f"{D}/s{turn % 4}/c{turn}"], who="w")
            except BaseException as error:  # noqa: BLE001 # of a thread: told below
                failed.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert failed == []
        is_sound(engine)
        with read_transaction(engine) as connection:
            count, last = connection.execute(select(func.count(), func.max(TABLES["state_event"].c.id))).one()
            assert count == last
            held = connection.scalar(select(func.count()).select_from(TABLES["job"]))
            assert held == len([each for each in happened(connection) if each.action == "allocate"])


def _one_waits_or_is_done(engine: Engine, other: threading.Thread) -> None:
    with engine.connect() as connection:
        waits = text(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        while other.is_alive() and not connection.scalar(waits):
            connection.rollback()


@pytest.fixture
def held(databases: Databases) -> Iterator[Engine]:
    """On PostgreSQL, with a job."""
    with temporary_engine(databases.seeded("postgresql")) as engine:
        with write_transaction(engine) as connection:
            allocate(connection, "a", [f"{D}/s0"], who="me")
        yield engine


def test_plain_sql_that_holds_waits_for_trninv_and_not_also_the_other_way_round(held: Engine) -> None:
    """Its job's cluster is looked at while trninv is about to change something."""
    failed = list[BaseException]()

    def insert() -> None:
        values = "9, 'b', 'x', 'b', '2026-01-01T00:00:00+00:00', 0, 'me', id FROM cluster"
        into = "job (id, name, system, external_id, started_at, pinned, who, cluster_id)"
        try:
            with held.begin() as connection:
                connection.execute(text(f"INSERT INTO {into} SELECT {values} WHERE slug = '{CLUSTER}'"))
        except BaseException as error:  # noqa: BLE001 # of a thread: told below
            failed.append(error)

    by_hand = threading.Thread(target=insert)
    with write_transaction(held) as connection:
        by_hand.start()
        _one_waits_or_is_done(held, by_hand)
        release(connection, "a")
    by_hand.join(60)
    assert failed == []
    assert {each.job for each in happened(held)} == {"a", "b"}


def test_trninv_waits_for_plain_sql_that_gives_chips_back_and_not_also_the_other_way_round(held: Engine) -> None:
    """Chips first, then their job."""
    failed = list[BaseException]()

    def release_in_thread() -> None:
        try:
            with write_transaction(held) as connection:
                release(connection, "a")
        except BaseException as error:  # noqa: BLE001 # of a thread: told below
            failed.append(error)

    other = threading.Thread(target=release_in_thread)
    with held.begin() as connection:
        connection.execute(text("UPDATE allocation SET ended_at = '2026-01-01T00:00:00+00:00'"))
        other.start()
        _one_waits_or_is_done(held, other)
        connection.execute(text("UPDATE job SET ended_at = '2026-01-01T00:00:00+00:00'"))
    other.join(60)
    assert failed == []
    assert done(happened(held)) == [("allocate", "a", f"{D}/s0"), ("release", "a", f"{D}/s0")]
