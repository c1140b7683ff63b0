"""Going back to a revision that knows no events of jobs, and on again: nothing else is lost, the history goes on."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from archives import at, happen, state
from archives import run as archived
from conftest import Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.migration import migrate, schema_differences
from trninv.errors import InvalidFileError
from trninv.history.archive.archive_pruner import prune_events
from trninv.history.archive.archive_store import open_for_writing
from trninv.history.events import Event, list_events
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.uncordon import uncordon

pytestmark = [pytest.mark.slow, pytest.mark.slow_on_postgresql]  # migrations over many versions

D = "u-trn2x64/d0"
NEW = {"job": ("place", "moved_at", "first_started_at", "chip_ids"), "state_event": ("action", "job", "chip_ids")}
"""Columns that revision 0022 has not."""


def rows(engine: Engine, table: str) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        found = [dict(row) for row in connection.execute(text(f"SELECT * FROM {table} ORDER BY id")).mappings()]
    return [{name: value for name, value in row.items() if name not in NEW.get(table, ())} for row in found]


def happened(engine: Engine) -> list[Event]:
    with read_transaction(engine) as connection:
        return list(list_events(connection, limit=100))[::-1]


def is_sound(engine: Engine) -> None:
    with read_transaction(engine) as connection:
        found = hash_chain.verify_chain(connection)
        assert (found.broken, found.unsealed, list(verify_history(connection, found))) == (None, 0, [])


def back_and_on(engine: Engine, to: str) -> None:
    for revision in (to, to, "head"):
        migrate(engine, revision)
    as_it_is = rows(engine, "state_event"), rows(engine, "event_seal")
    migrate(engine)
    assert (rows(engine, "state_event"), rows(engine, "event_seal")) == as_it_is
    assert schema_differences(engine) is None
    is_sound(engine)


def held(engine: Engine, day: int, job: str, chip: int) -> None:
    """A chip goes down, a job begins, and the chip comes back, on a day of January 2026."""
    cluster = "(SELECT min(id) FROM cluster)"
    number = f"(SELECT coalesce(max(id), 0) + {day} FROM job)"
    of = f"{number}, {cluster}, '{job}', 'x', '{job}', '2026-01-0{day}T00:00:00+00:00', 0, 'me'"
    happen(engine, at(day, 1), state("down", chip))
    columns = "id, cluster_id, name, system, external_id, started_at, pinned, who"
    happen(engine, at(day, 2), f"INSERT INTO job ({columns}) VALUES ({of})")
    happen(engine, at(day, 3), state("up", chip))


@pytest.mark.parametrize("to", ["0023", "0022"])
def test_only_events_of_jobs_are_lost_and_numbers_have_no_gaps(seeded: str, to: str) -> None:
    with temporary_engine(seeded) as engine:
        with write_transaction(engine) as connection:
            set_state(connection, [f"{D}/s2/c0"], Condition.from_user("down"), why="first", who="eve")
            allocate(connection, "a", [f"{D}/s0/c0-3"], who="ann", spares=[f"{D}/s0/c4"], pinned=True)
            cordon(connection, [f"{D}/s1", f"{D}/s3"], who="ann", why="fw")
            set_state(
                connection, [f"{D}/s2/c0", f"{D}/s2/c1"], Condition.from_user("degraded", 0.5), why="x", who="eve"
            )
            uncordon(connection, [f"{D}/s1"], who="eve")
            allocate(connection, "b", [f"{D}/s1/c7"], who="bob")
            release(connection, "b")
            set_state(connection, [f"{D}/s2/c0"], Condition.from_user("up"), why="y", who="eve")
            allocate(connection, "c", [f"{D}/s1/c7"], who="bob")
        lasting = {table: rows(engine, table) for table in ("job", "allocation", "cordon", "node", "server", "link")}
        states = [each for each in happened(engine) if not each.action]
        back_and_on(engine, to)
        assert {table: rows(engine, table) for table in lasting} == lasting
        found = happened(engine)
        assert [(each.event, each.batch) for each in found] == [(1, 1), (2, 2), (3, 2), (4, 4)]
        assert [row["previous_id"] for row in rows(engine, "state_event")] == [None, 1, None, 2]
        assert [(each.at, each.address, each.after, each.why) for each in found] == [
            (each.at, each.address, each.after, each.why) for each in states
        ]
        with write_transaction(engine) as connection:
            assert release(connection, "c").chips == 1
            uncordon(connection, [f"{D}/s3"], who="eve")
        assert [(each.event, each.action) for each in happened(engine)][4:] == [(5, "release"), (6, "uncordon")]
        is_sound(engine)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_is_left_can_be_archived_and_removed(databases: Databases, kind: str, tmp_path: Path) -> None:
    with temporary_engine(databases.seeded(kind)) as engine:
        held(engine, 1, "a", 1)
        held(engine, 2, "b", 2)
        archived(engine, tmp_path / "later", at(6, 0))
        back_and_on(engine, "0023")
        with pytest.raises(InvalidFileError, match="of a later state of this database"):
            archived(engine, tmp_path / "later", at(6, 0))
        held(engine, 3, "c", 3)
        archived(engine, tmp_path / "new", at(6, 0))
        with open_for_writing(tmp_path / "new") as store:
            assert prune_events(engine, store, "me").events == 6
        assert [each.event for each in happened(engine)] == [7]
        is_sound(engine)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_numbers_go_on_where_only_jobs_came_after_the_archive(databases: Databases, kind: str, tmp_path: Path) -> None:
    with temporary_engine(databases.seeded(kind)) as engine:
        held(engine, 1, "a", 1)
        with write_transaction(engine) as connection:
            allocate(connection, "b", [f"{D}/s0"], who="me")
        archived(engine, tmp_path, at(6, 0))
        with open_for_writing(tmp_path) as store:
            assert prune_events(engine, store, "me").last_event == 3
        with write_transaction(engine) as connection:
            release(connection, "b")
        back_and_on(engine, "0023")
        assert [(each.event, each.kind, each.action, each.job) for each in happened(engine)] == [(4, None, None, None)]
        held(engine, 2, "c", 2)
        assert [each.event for each in happened(engine)] == [4, 5, 6, 7]
        is_sound(engine)


def test_a_clock_that_went_back_is_told_of_what_is_left(seeded: str) -> None:
    with temporary_engine(seeded) as engine:
        happen(engine, at(3, 0), state("down", 1))
        held(engine, 1, "a", 2)
        assert [bool(row["clock_went_back"]) for row in rows(engine, "state_event")] == [False, True, False, False]
        happen(engine, at(2, 0), "UPDATE job SET ended_at = '2026' WHERE name = 'a'")
        happen(engine, at(1, 5), state("up", 1))
        back_and_on(engine, "0023")
        assert [bool(row["clock_went_back"]) for row in rows(engine, "state_event")] == [False, True, False, False]
